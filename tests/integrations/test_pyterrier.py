"""PyTerrier: an Experiment computes RDQ, and its systems become Scores, both without Java."""

import pandas as pd
import pytest

import rankdev as rd
from rankdev.integrations import pyterrier
from tests.common.one_ranking import rdq
from tests.raising import raises

QRELS = pd.DataFrame({"qid": ["1", "1", "2"], "docno": ["d1", "d2", "d3"], "label": [2, 1, 1]})
TOPICS = pd.DataFrame({"qid": ["1", "2"], "query": ["one", "two"]})
RESULTS = pd.DataFrame(
    {"qid": ["1", "1", "2"], "docno": ["d2", "d1", "x"], "score": [2.0, 1.0, 1.0], "rank": [0, 1, 0]}
)


def test_frames_of_results_are_scored():
    got = pyterrier.scores([RESULTS, RESULTS], None, QRELS, "RDQ@5", names=["a", "b"])
    assert got.systems == ("a", "b")
    assert got.values[0, :, 0].tolist() == [rdq(["d1", "d2"], ["d2", "d1"], k=5), 0.0]


def test_only_queries_among_the_topics_count():
    """As in an Experiment: qrels often judge more queries than are asked."""
    few = TOPICS[TOPICS["qid"] == "1"]
    got = pyterrier.scores({"a": RESULTS}, few, QRELS, "RDQ@5")
    assert got.queries == ("1",)
    assert pyterrier.scores({"a": RESULTS}, few, QRELS, "RDQ@5", filter_by_topics=False).queries == ("1", "2")
    with raises("nothing-in-common", rd.DataError, one="topics", other="references"):
        pyterrier.scores({"a": RESULTS}, few.assign(qid="9"), QRELS, "RDQ@5")


@pytest.mark.parametrize(
    ("systems", "topics", "name", "value"),
    [
        (RESULTS, TOPICS, "systems", "DataFrame"),
        (7, TOPICS, "systems", "int"),
        ({"a": RESULTS}, "topics.txt", "topics", "str"),
    ],
)
def test_wrong_systems_and_topics_are_refused(systems, topics, name, value):
    with raises("not-a-type", rd.UsageError, name=name, value=value):
        pyterrier.scores(systems, topics, QRELS, "RDQ@5")


def test_every_system_needs_a_name():
    with raises("not-named", rd.UsageError):
        pyterrier.scores([RESULTS, RESULTS], None, QRELS, "RDQ@5", names=["a", "a"])


MORE = pd.DataFrame({"qid": ["1", "7"], "query": ["one", "seven"]})  # seven is not judged, two is not asked


@pytest.mark.parametrize("topics", [TOPICS, MORE])
@pytest.mark.parametrize("options", [{}, {"batch_size": 1}])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_an_experiment_and_our_verdicts_agree(topics, options):
    pt = pytest.importorskip("pyterrier")
    rdq = pytest.importorskip("rankdev.integrations.ir_measures").RDQ @ 5
    results = pd.concat([RESULTS, pd.DataFrame({"qid": ["7"], "docno": ["x"], "score": [1.0], "rank": [0]})])
    worse = results.assign(docno="y" + results["docno"])
    systems = {"found": pt.Transformer.from_df(results), "worse": pt.Transformer.from_df(worse)}
    theirs = pt.Experiment(list(systems.values()), topics, QRELS, [rdq], names=list(systems), **options)
    ours = pyterrier.scores(systems, topics, QRELS, "RDQ@5")
    assert theirs["RDQ@5"].tolist() == pytest.approx(ours.means[:, 0].tolist())
    by_query = pt.Experiment(systems, topics, QRELS, [rdq], perquery=True, **options)
    assert rd.Scores.from_table(by_query).select(systems=list(systems)).means == pytest.approx(ours.means)
    assert not pt.java.started()
