"""Scores as tables, and back."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rankdev as rd
from rankdev import DataError, UsageError
from tests.raising import noted, raises

REFS = {"q1": ["d1", "d2"], "q2": ["d3", "d4"]}
RUNS = {"a": {"q1": ["d1", "d2"], "q2": ["d4", "x"]}, "b": {"q1": ["x"], "q2": ["d3", "d4"]}}


@pytest.fixture
def scores():
    return rd.evaluate(REFS, RUNS, ["P@1", "R@2", "Tau"])


def test_means_leave_out_what_is_not_available(scores):
    assert scores.mean().to_dict(as_series=False) == {
        "system": ["a", "b"],
        "P@1": [1.0, 0.5],
        "R@2": [0.75, 0.5],
        "Tau": [1.0, 1.0],
    }


def test_there_and_back(scores):
    for table in (scores.to_polars(), scores.to_pandas(), scores.to_polars().to_arrow()):
        back = rd.Scores.from_table(table)
        assert (back.systems, back.queries, back.measures) == (scores.systems, scores.queries, scores.measures)
        np.testing.assert_array_equal(back.values, scores.values)


@pytest.mark.parametrize(
    ("columns", "kind", "fields"),
    [
        ({"value": ["high"]}, "not-finite", {"row": 0, "name": "value", "value": "high"}),
        ({"value": [float("inf")]}, "not-finite", {"row": 0}),
        ({"value": [0.0, 1.0]}, "two-scores", {"system": "a", "query": "q", "measure": "P@1"}),
        ({"value": []}, "no-rows", {}),
    ],
)
def test_bad_tables(columns, kind, fields):
    table = pl.DataFrame(columns).with_columns(system=pl.lit("a"), query=pl.lit("q"), measure=pl.lit("P@1"))
    with raises(kind, DataError, **fields):
        rd.Scores.from_table(table)


def test_columns_of_other_programs_and_what_is_called_as_a_mean():
    rows = [("a", "q1", "AP", 0.5), ("a", "q2", "AP", 1.0), ("a", "all", "AP", 0.75), ("a", "all", "gm_map", 0.7)]
    rows += [("a", "q1", "num_ret", 3.0), ("a", "q2", "num_ret", 4.0), ("a", "all", "num_ret", 7.0)]
    for names in (("run", "qid", "metric", "value"), ("tag", "Query ID", "Measure", "Value")):
        found = rd.Scores.from_table(pl.DataFrame(rows, schema=list(names), orient="row"))
        assert (found.systems, found.queries, found.measures) == (("a",), ("q1", "q2"), ("AP", "num_ret"))
    seeds = pl.DataFrame({"name": ["a", "b"], "run": 1, "qid": "q", "measure": "AP", "value": 0.5})
    assert rd.Scores.from_table(seeds).systems == ("a", "b")
    other = rd.Scores.from_table(pl.DataFrame([*rows[:2], ("a", "all", "AP", 0.9)], schema=list(names), orient="row"))
    noted(other.remarks, "called-mean", name="all")


@pytest.mark.parametrize("name", ["value", "measure"])
def test_a_column_is_missing(name):
    table = pl.DataFrame({"system": ["a"], "query": ["q"], "measure": ["P@1"], "value": [1.0]})
    with pytest.raises(DataError, match=f"column '{name}' is missing"):
        rd.Scores.from_table(table.drop(name))


def test_select(scores):
    part = scores.select(systems=["b"], measures=["R@2", "P@1"], queries=np.array([False, True]))
    assert (part.systems, part.queries, part.measures) == (("b",), ("q2",), ("R@2", "P@1"))
    assert part.values.tolist() == [[[1.0, 1.0]]]
    assert part.reference_sizes.tolist() == [2]
    assert part.coverage == ()  # it counts all queries
    assert [entry.system for entry in scores.select(systems=["b"]).coverage] == ["b"]
    assert scores.select(systems=[]).values.shape == (0, 2, 3)
    np.testing.assert_array_equal(scores.select().values, scores.values)
    np.testing.assert_array_equal(scores.select(queries=[1, 0]).values, scores.values[:, ::-1])


def test_queries_are_selected_by_name_too(scores):
    assert scores.select(queries=["q2"]).queries == ("q2",)
    np.testing.assert_array_equal(scores.select(queries=pd.Index(["q2", "q1"])).values, scores.values[:, ::-1])
    with raises("not-a-choice", UsageError, name="query", value="q3"):
        scores.select(queries=["q3"])
    for wrong in ("q1", [7]):
        with raises("not-queries", UsageError, count=2):
            scores.select(queries=wrong)


def test_counts_are_added_up_and_labels_from_elsewhere_averaged():
    """Verdicts keep each query's count."""
    rows = [
        ("a", q, m, float(v)) for q, v in (("q1", 3), ("q2", 4)) for m in ("NumRet", "num_ret", "NumOfMine", "Other")
    ]
    table = pl.DataFrame(rows, schema=["system", "query", "measure", "value"], orient="row")
    scores = rd.Scores.from_table(table)
    assert scores.sums == ("NumRet", "num_ret")
    assert scores.means.tolist() == [[7.0, 7.0, 3.5, 3.5]]
    assert scores.of("NumRet").tolist() == [[3.0, 4.0]]
    missing = rd.Scores(("a",), ("q1", "q2"), ("NumRet", "NumQ"), np.array([[[2.0, np.nan], [np.nan, np.nan]]]))
    np.testing.assert_array_equal(missing.means, [[2.0, np.nan]])


def test_unknown_names_get_a_suggestion(scores):
    with raises("not-a-choice", UsageError, name="measure", near="P@1"):
        scores.of("P@11")
    with raises("not-a-choice", UsageError, name="system", value="c"):
        scores.select(systems=["c"])


def test_a_shape_that_does_not_fit():
    with raises("bad-shape", DataError, expected=(1, 1, 1), shapes=((1, 2, 1),)):
        rd.Scores(("a",), ("q",), ("P@1",), np.zeros((1, 2, 1)))
    with raises("not-scores", DataError):
        rd.Scores(["a"], ["q"], ["P@1"], [[["x"]]])


@pytest.mark.parametrize(
    ("axes", "kind", "fields"),
    [
        ((("a", "a"), ("q",), ("P@1",)), "appears-twice", {"what": "system", "value": "a"}),
        ((("a",), ("q", "q"), ("P@1",)), "appears-twice", {"what": "query", "value": "q"}),
        ((("a",), ("q",), ("P@1", "P@1")), "appears-twice", {"what": "measure", "value": "P@1"}),
        (("ab", ("q",), ("P@1",)), "not-names", {"name": "systems"}),
        ((("a",), ("q",), "P@1"), "not-names", {"name": "measures"}),
        ((("a",), (None,), ("P@1",)), "not-an-id", {"value": None}),
        (((1.5,), ("q",), ("P@1",)), "not-an-id", {"value": 1.5}),
    ],
)
def test_names_of_scores_are_different(axes, kind, fields):
    with raises(kind, **fields):
        rd.Scores(*axes, np.zeros([len(axis) for axis in axes]))


def test_whole_numbers_name_queries_by_their_text():
    scores = rd.Scores(("a", "b"), np.arange(9, 11), ("P@1",), np.zeros((2, 2, 1)))
    assert scores.queries == ("9", "10")
    assert scores.to_polars()["query"].to_list() == ["9", "10"] * 2


def test_a_selection_of_queries_does_not_count_the_others():
    scores = rd.evaluate({"q1": ["x"], "q2": ["x"]}, {"a": {"q1": ["x"]}}, "P@1")
    noted(scores.remarks, "missing", count=1, queries=2)
    assert scores.select(queries=["q1"]).remarks == ()
    noted(rd.Scores.pooled({"x": scores, "y": scores}).remarks, "missing", collection="x")


def test_scores_record_how_they_were_made(scores):
    assert scores.parameters == {"measures": ("P@1", "R@2", "Tau"), "empty": "zero"}
    told = rd.evaluate(REFS, RUNS, "P@1", order="score", ties="ascending", empty="skip")
    assert told.select(systems=["b"]).parameters == {
        "measures": ("P@1",),
        "order": "score",
        "ties": "ascending",
        "empty": "skip",
    }


def test_values_that_a_measure_cannot_have_are_refused_in_tables_and_files(tmp_path):
    table = pl.DataFrame({"system": "s", "query": ["q", "r"], "measure": "nDCG@10", "value": [0.5, 45.0]})
    table.write_csv(tmp_path / "percent.csv")
    for source in (rd.Scores.from_table, rd.read_scores):
        given = table if source == rd.Scores.from_table else tmp_path / "percent.csv"
        with raises("beyond-range", rd.DataError, query="r", measure="nDCG@10", value=45.0):
            source(given)
    assert rd.Scores.from_table(table.with_columns(measure=pl.lit("clicks"))).means.item() == 22.75
