"""Score runs with ir_measures: MEASURES QRELS RUN…; means to standard output."""

import sys

import ir_measures

measures, qrels, *runs = sys.argv[1:]
wanted = [ir_measures.parse_measure(text) for text in measures.split()]
evaluator = ir_measures.evaluator(wanted, ir_measures.read_trec_qrels(qrels))
for path in runs:
    aggregated, per_query = evaluator.calc(ir_measures.read_trec_run(path))
    print(path, aggregated)
