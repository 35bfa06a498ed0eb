"""Score runs with ranx: QRELS RUN…; means to standard output, values of each query in ``run.scores``."""

import sys

from ranx import Qrels, Run, evaluate

path, *runs = sys.argv[1:]
qrels = Qrels.from_file(path, kind="trec")
for path in runs:
    run = Run.from_file(path, kind="trec")
    print(path, evaluate(qrels, run, ["ndcg@10", "map@10", "rbp.80"]))
