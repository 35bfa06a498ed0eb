"""Score runs with ir_measures: QRELS RUN…; means to standard output."""

import sys

import ir_measures
from ir_measures import AP, nDCG

qrels, *runs = sys.argv[1:]
evaluator = ir_measures.evaluator([nDCG @ 10, AP @ 10], ir_measures.read_trec_qrels(qrels))
for path in runs:
    aggregated, per_query = evaluator.calc(ir_measures.read_trec_run(path))
    print(path, aggregated)
