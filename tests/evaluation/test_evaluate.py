"""evaluate: what it takes, what it counts and what it refuses."""

import gc
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankdev as rd
from rankdev import UsageError
from tests.common.examples import examples
from tests.raising import kinds, noted, raises, warns

REFS = {"q1": ["d1", "d2"], "q2": ["d3", "d4"]}


def test_systems_queries_and_measures_keep_their_order():
    runs = {"b": {"q2": ["d3", "d4"], "q1": ["d2", "d1"]}, "a": {"q1": ["d1", "d2"], "q2": ["x"]}}
    scores = rd.evaluate(REFS, runs, ["RDQ@5", "P@1"])
    assert (scores.systems, scores.queries, scores.measures) == (("b", "a"), ("q1", "q2"), ("RDQ@5", "P@1"))
    assert scores.values.round(4).tolist() == [[[0.5255, 1], [1, 1]], [[1, 1], [0, 0]]]
    assert scores.reference_sizes.tolist() == [2, 2]


def test_coverage_counts_what_is_missing_on_either_side():
    runs = {"a": {"q1": ["d1"], "q8": ["d1"], "q9": ["d1"]}, "b": REFS}
    scores = rd.evaluate(REFS, runs, "RDQ@5")
    first, second = scores.coverage
    assert (first.system, first.queries, first.missing, first.unreferenced, first.tied) == ("a", 2, 1, 2, 0)
    assert (second.system, second.missing, second.unreferenced) == ("b", 0, 0)
    assert kinds(scores.remarks) == ["missing", "unreferenced"]
    noted(scores.remarks, "missing", runs=(("a", 1),), count=1, queries=2)
    noted(scores.remarks, "unreferenced", runs=(("a", 2),), count=2)


@pytest.mark.parametrize(
    ("scores", "tied"),
    [
        ({"d1": 1, "d2": 1}, 1),
        ({"d1": 1, "x": 1}, 1),
        ({"d1": 2, "d2": 1}, 0),
        ({"x": 1, "y": 1}, 0),
        ({"d1": 50.39120101928711, "d2": 50.39120006561279}, 1),  # one number in single precision
        ({"x": 3, "y": 2, "d1": 1, "d2": 1}, 0),  # below the cutoff
        ({"x": 3, "d1": 1, "d2": 1}, 1),  # across the cutoff
    ],
)
def test_ties_that_could_change_a_result_are_counted(scores, tied):
    result = rd.evaluate({"q": ["d1", "d2"]}, {"a": {"q": scores}}, "RDQ@2")
    assert result.coverage[0].tied == tied
    assert kinds(result.remarks) == ["tied"] * tied


@examples(30)
@given(
    runs=st.dictionaries(
        st.sampled_from(["q1", "q2", "q3"]),
        st.dictionaries(st.sampled_from(["d1", "d2", "d3", "d4", "x1", "x2"]), st.integers(0, 3), min_size=1),
        min_size=1,
    ),
    k=st.integers(1, 4),
    ties=st.sampled_from(["trec_eval", "ascending"]),
)
def test_a_file_cut_as_it_is_read_scores_as_the_whole(tmp_path_factory, runs, k, ties):
    references = {query: ["d1", "d2", "d3"] for query in runs}
    lines = [(item, query, score) for query, scores in runs.items() for item, score in scores.items()]
    path = tmp_path_factory.mktemp("runs") / "a.run"  # rows of a query stand apart, in no order
    path.write_text("".join(f"{query} Q0 {item} 1 {score} a\n" for item, query, score in sorted(lines)))
    cut, whole = (rd.evaluate(references, {"a": run}, [f"RDQ@{k}", f"AP@{k}"], ties=ties) for run in (path, runs))
    np.testing.assert_array_equal(cut.values, whole.values)
    assert cut.coverage == whole.coverage


def test_progress_is_told_after_each_file(tmp_path):
    runs = {name: tmp_path / f"{name}.run" for name in ("mine", "ours", "their")}
    for path in runs.values():
        rd.write_run(rd.Run.from_lists(REFS), path)
    told = []
    rd.evaluate(REFS, {**runs, "held": REFS}, "RDQ@5", progress=lambda *call: told.append(call))
    assert told == [(done, 4, system) for done, system in enumerate([*runs, "held"], 1)]


def test_a_run_that_was_cut_too_shallow(tmp_path):
    path = tmp_path / "a.run"
    rd.write_run(rd.Run.from_lists({"q1": ["d1", "d2", "x"]}), path)
    run = rd.read_run(path, depth=2)
    assert rd.evaluate(REFS, {"a": run}, "RDQ@2").values[0, 0, 0] == 1
    for text in ("RDQ@3", "AP"):
        with raises("truncated-run", UsageError, system="a", depth=2, measure=text):
            rd.evaluate(REFS, {"a": run}, ["RDQ@2", text])


def test_queries_without_a_reference_item_score_0_and_are_counted():
    references = rd.References.from_grades({"q1": {"d1": 1}, "q2": {"d1": 0}})
    scores = rd.evaluate(references, {"a": {"q1": ["d1"], "q2": ["d1"]}}, ["RDQ@5", "nDCG", "RR", "Tau"])
    assert scores.values[0, 1, :3].tolist() == [0, 0, 0]
    assert np.isnan(scores.values[0, 1, 3])
    assert scores.means[0, :3].tolist() == [0.5, 0.5, 0.5]
    assert scores.coverage[0].empty == 1
    noted(scores.remarks, "empty-zero", count=1, queries=2)


def test_ties_and_order_apply_to_runs_that_know_their_scores():
    run = rd.Run.from_scores({"q": {"d1": 1.0, "x": 1.0}})
    assert rd.evaluate({"q": ["d1"]}, {"a": run}, "RR").values.item() == 0.5
    assert rd.evaluate({"q": ["d1"]}, {"a": run}, "RR", ties="ascending").values.item() == 1.0
    kept = rd.Run.from_scores({"q": {"d1": 1.0, "x": 1.0}}, ties="ascending")
    scores = rd.evaluate({"q": ["d1"]}, {"a": kept}, "RR")
    assert (scores.values.item(), scores.coverage[0].ties) == (1.0, "ascending")
    assert rd.evaluate({"q": ["d1"]}, {"a": kept}, "RR", ties="trec_eval").values.item() == 0.5


def test_ties_and_order_are_refused_where_a_run_does_not_know_them_any_more(tmp_path):
    (tmp_path / "a.run").write_text("q Q0 d1 2 1 t\nq Q0 x 1 1 t\n")
    cut = rd.read_run(tmp_path / "a.run", depth=1)
    by_rank, by_score = (rd.read_run(tmp_path / "a.run", order=order) for order in ("rank", "score"))
    for run, options, message in [
        (cut, {"ties": "ascending"}, "read-again"),
        (by_score, {"ties": "given"}, "read-again"),
        (by_score, {"order": "rank"}, "read-again"),
        (by_rank, {"order": "score"}, "read-again"),
    ]:
        with raises(message, UsageError):
            rd.evaluate({"q": ["d1"]}, {"a": run}, "RR@1", **options)
    assert rd.evaluate({"q": ["d1"]}, {"a": cut}, "RR@1", ties="trec_eval").values.item() == 0
    assert rd.evaluate({"q": ["d1"]}, {"a": {"q": ["d1"]}}, "RR@1", ties="given").values.item() == 1


def test_a_run_without_any_item_of_the_references():
    with warns("no-shared-item", system="a", one="7", other="d1"):
        rd.evaluate({"q": ["d1"], "r": ["d2"]}, {"a": {"q": [7], "r": [8]}}, "RR")


def test_empty_queries_can_be_left_out():
    references = rd.References.from_grades({"q1": {"d1": 1}, "q2": {"d1": 0}})
    runs = {"a": {"q1": ["d1"], "q2": ["d1"]}, "b": {"q1": ["d1"], "q3": ["d1"]}}
    scores = rd.evaluate(references, runs, "RR", empty="skip")
    assert scores.queries == ("q1",)
    assert [(entry.missing, entry.unreferenced, entry.empty) for entry in scores.coverage] == [(0, 0, 1), (0, 1, 1)]
    noted(scores.remarks, "empty-skipped", count=1, queries=2)


def test_one_tier_has_one_gain():
    """Implicit feedback: a user, items, no grades."""
    tiers = rd.References.from_tiers({"u1": [["a", "b"]], "u2": [["c"]]})
    graded = rd.References.from_grades({"u1": {"a": 7, "b": 7}, "u2": {"c": 1}})
    runs = {"s": {"u1": ["x", "a", "b"], "u2": ["c"]}}
    for text in ("nDCG@2", "nDCG(dcg=exp-log2)"):
        np.testing.assert_array_equal(rd.evaluate(tiers, runs, text).values, rd.evaluate(graded, runs, text).values)


@pytest.mark.parametrize("empty", ["zero", "skip"])
def test_references_and_runs_are_freed_with_their_last_name(empty):
    references, run = rd.References.from_grades({"q": {"a": 1}, "p": {"b": 0}}), rd.Run.from_lists({"q": ["a"]})
    seen = [weakref.ref(references), weakref.ref(run)]
    gc.disable()
    try:
        scores = rd.evaluate(references, {"s": run}, ["nDCG@2", "RDQ@2"], empty=empty)
        del references, run
        assert [one() for one in seen] == [None, None]
    finally:
        gc.enable()
    assert scores.means.tolist() == [[0.5, 0.5] if empty == "zero" else [1.0, 1.0]]
