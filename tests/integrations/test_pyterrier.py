"""PyTerrier: an Experiment computes RDQ, and its systems become Scores, both without Java."""

import pandas as pd
import pytest

import rankdev as rd
from rankdev.integrations import pyterrier

QRELS = pd.DataFrame({"qid": ["1", "1", "2"], "docno": ["d1", "d2", "d3"], "label": [2, 1, 1]})
TOPICS = pd.DataFrame({"qid": ["1", "2"], "query": ["one", "two"]})
RESULTS = pd.DataFrame(
    {"qid": ["1", "1", "2"], "docno": ["d2", "d1", "x"], "score": [2.0, 1.0, 1.0], "rank": [0, 1, 0]}
)


def test_frames_of_results_are_scored():
    got = pyterrier.scores([RESULTS, RESULTS], None, QRELS, "RDQ@5", names=["a", "b"])
    assert got.systems == ("a", "b")
    assert got.values[0, :, 0].tolist() == [rd.rdq(["d1", "d2"], ["d2", "d1"], k=5), 0.0]


def test_every_system_needs_a_name():
    with pytest.raises(rd.UsageError, match="every system needs a name of its own"):
        pyterrier.scores([RESULTS, RESULTS], None, QRELS, "RDQ@5", names=["a", "a"])


def test_an_experiment_and_our_verdicts_agree():
    pt = pytest.importorskip("pyterrier")
    rdq = pytest.importorskip("rankdev.integrations.ir_measures").RDQ @ 5
    systems = {"found": pt.Transformer.from_df(RESULTS), "frame": RESULTS}
    theirs = pt.Experiment(list(systems.values()), TOPICS, QRELS, [rdq], names=list(systems))
    ours = pyterrier.scores(systems, TOPICS, QRELS, "RDQ@5")
    assert theirs["RDQ@5"].tolist() == pytest.approx(ours.means[:, 0].tolist())
    assert not pt.java.started()
