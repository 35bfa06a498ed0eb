"""ir_measures and PyTerrier compute our measures, and they are our numbers."""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import rankdev as rd
from rankdev.measures import REGISTRY
from tests.common.one_ranking import rdq
from tests.raising import raises

ir_measures = pytest.importorskip("ir_measures")
from rankdev.integrations.ir_measures import MEASURES, RDQ, Compat, Tau  # noqa: E402

QRELS = {"q1": {"d1": 3, "d2": 2, "d3": 2, "d4": 0}, "q2": {"d1": 1}, "q3": {"d9": 1}}
RUN = {"q1": {"d3": 9.0, "d1": 9.0, "x": 4.0}, "q2": {"y": 2.0, "d1": 1.0}, "other": {"d1": 1.0}}
PAIRS = [
    (RDQ @ 5, "RDQ@5"),
    (RDQ(alpha=4) @ 5, "RDQ(alpha=4)@5"),
    (RDQ(penalty="m1") @ 2, "RDQ(penalty=m1)@2"),
    (RDQ(weights="carousel") @ 5, "RDQ(weights=carousel)@5"),
    (RDQ(weights=np.array([1, 0.5]), tail=np.float64(0.1)) @ np.int64(10), "RDQ(weights=[1,0.5],tail=0.1)@10"),
    (Compat(p=0.8) @ 5, "Compat(p=0.8)@5"),
]


@pytest.mark.parametrize(("theirs", "text"), PAIRS)
def test_values_are_ours_for_every_query(theirs, text):
    ours = rd.evaluate(rd.References.from_grades(QRELS), {"a": RUN}, text)
    got = {entry.query_id: entry.value for entry in ir_measures.iter_calc([theirs], QRELS, RUN)}
    assert got == dict(zip(ours.queries, ours.values[0, :, 0].tolist(), strict=True))
    assert ir_measures.calc_aggregate([theirs], QRELS, RUN)[theirs] == pytest.approx(ours.means.item())


@pytest.mark.parametrize("name", MEASURES)
def test_every_measure_that_it_lacks_gives_our_values(name):
    measure = MEASURES[name] if REGISTRY[name].at is None else MEASURES[name] @ 5
    rng = np.random.default_rng(0)
    qrels = {f"q{q}": {f"d{i}": int(grade) + 1 for i, grade in enumerate(rng.permutation(4))} for q in range(20)}
    run = {
        query: {item: float(rng.integers(0, 9)) for item in [*found][: 4 - i % 2]}
        for i, (query, found) in enumerate(qrels.items())
    }
    scores = rd.evaluate(rd.References.from_grades(qrels), {"a": run}, measure.text)
    got = {entry.query_id: entry.value for entry in ir_measures.iter_calc([measure], qrels, run)}
    assert np.isfinite(scores.values).sum() >= 10  # correlations need all items, which every other query has
    np.testing.assert_array_equal([got[query] for query in scores.queries], scores.values[0, :, 0])
    np.testing.assert_allclose(ir_measures.calc_aggregate([measure], qrels, run)[measure], scores.means.item())


def test_its_own_measures_stay_its_own():
    bare = ir_measures.parse_measure("Compat(p=0.9)")
    found, theirs = (tool.calc_aggregate([bare], QRELS, RUN) for tool in (ir_measures, ir_measures.compat))
    assert found[bare] == theirs[bare]
    both = ir_measures.calc_aggregate([RDQ @ 5, ir_measures.nDCG @ 5], QRELS, RUN)
    assert set(both) == {RDQ @ 5, ir_measures.nDCG @ 5}


def test_what_is_not_available_is_no_zero():
    """Only q2's items are those of its reference, and one item has no order."""
    qrels, run = {"q": {"a": 2, "b": 1}, "other": {"c": 1}}, {"q": {"a": 2.0, "b": 1.0}, "other": {"x": 1.0}}
    assert ir_measures.calc_aggregate([Tau @ 5], qrels, run)[Tau @ 5] == 1.0


def test_a_run_without_a_known_query_is_a_bad_run_and_has_no_correlation_nor_a_mean_without_judgments():
    found = ir_measures.calc_aggregate([RDQ @ 5, Tau @ 5], QRELS, {"elsewhere": {"d1": 1.0}})
    assert found[RDQ @ 5] == 0
    assert np.isnan(found[Tau @ 5])
    assert np.isnan(ir_measures.calc_aggregate([RDQ @ 5], {}, RUN)[RDQ @ 5])


def test_names_may_be_numbers_and_are_given_back_as_such():
    """Frames often have them; every query scored 0 where text was compared with numbers."""
    qrels = pd.DataFrame({"query_id": [1, 1, 2], "doc_id": [7, 8, 9], "relevance": [2, 1, 1]})
    run = pd.DataFrame({"query_id": [1, 1, 2], "doc_id": [8, 7, 9], "score": [2.0, 1.0, 1.0]})
    got = [(entry.query_id, entry.value) for entry in ir_measures.iter_calc([RDQ @ 5], qrels, run)]
    assert got == [(1, rdq(["7", "8"], ["8", "7"], k=5)), (2, 1.0)]


def test_measures_take_what_numpy_makes_and_pickle():
    measure = RDQ(weights=np.array([1, 0.5]), tail=np.float64(0.1)) @ np.int64(10)
    assert measure == RDQ(weights=[1.0, 0.5], tail=0.1) @ 10
    assert pickle.loads(pickle.dumps(measure)) == measure


@pytest.mark.parametrize(
    ("call", "kind", "fields"),
    [
        (lambda: RDQ(alfa=1) @ 5, "not-a-choice", {"measure": "RDQ", "value": "alfa", "near": "alpha"}),
        (lambda: [Compat(normalize=False) @ 5], "not-needed", {"name": "normalize"}),
        (lambda: [RDQ @ 0], "bad-value", {"measure": "RDQ", "name": "cutoff"}),
        (lambda: [RDQ(alpha=-1) @ 5], "bad-value", {"measure": "RDQ", "name": "alpha", "value": -1}),
    ],
)
def test_what_we_cannot_compute_is_refused(call, kind, fields):
    with raises(kind, rd.MeasureError, **fields):
        ir_measures.calc_aggregate(call(), QRELS, RUN)


def test_its_command_knows_them(tmp_path):
    (tmp_path / "qrels").write_text("q1 0 d1 2\nq1 0 d2 1\n")
    (tmp_path / "run").write_text("q1 Q0 d2 1 2.0 t\nq1 Q0 d1 2 1.0 t\n")
    files = [str(tmp_path / "qrels"), str(tmp_path / "run")]
    call = [sys.executable, "-m", "rankdev.integrations.ir_measures", *files, "RDQ@5", "nDCG@5"]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert dict(line.split("\t") for line in done.stdout.splitlines())["RDQ@5"] == "0.5255"


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_an_experiment_of_pyterrier_computes_our_measures_without_java():
    pt = pytest.importorskip("pyterrier")
    qrels = pd.DataFrame({"qid": ["1", "1", "2"], "docno": ["d1", "d2", "d3"], "label": [2, 1, 1]})
    topics = pd.DataFrame({"qid": ["1", "2"], "query": ["one", "two"]})
    results = pd.DataFrame({"qid": ["1", "1", "2"], "docno": ["d2", "d1", "x"], "score": [2.0, 1.0, 1.0]})
    systems = {"found": pt.Transformer.from_df(results)}
    by_query = pt.Experiment(systems, topics, qrels, [RDQ @ 5], perquery=True)
    assert rd.Scores.from_table(by_query).means == pytest.approx(rd.evaluate(qrels, {"a": results}, "RDQ@5").means)
    assert not pt.java.started()
