"""Score runs with pytrec_eval: QRELS RUN…; means to standard output."""

import sys

import pytrec_eval

qrels, *runs = sys.argv[1:]
with open(qrels) as file:
    evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(file), {"ndcg_cut.10", "map_cut.10"})
for path in runs:
    with open(path) as file:
        results = evaluator.evaluate(pytrec_eval.parse_run(file))
    for measure in ("ndcg_cut_10", "map_cut_10"):
        values = [values[measure] for values in results.values()]
        print(path, measure, pytrec_eval.compute_aggregated_measure(measure, values))
