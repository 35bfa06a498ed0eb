from collections.abc import Callable
from typing import Any

import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankdev import DataError, Reference, References, Scores
from tests.raising import raises, warns

Tiers = dict[str, list[list[str]]]

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)


@st.composite
def tiers(draw: st.DrawFn) -> Tiers:
    lists = draw(st.dictionaries(names, st.lists(names, min_size=1, max_size=8, unique=True), min_size=1, max_size=5))
    result: Tiers = {}
    for query, items in lists.items():
        cuts = sorted(draw(st.sets(st.integers(1, len(items)))) - {len(items)})
        result[query] = [items[a:b] for a, b in zip([0, *cuts], [*cuts, len(items)], strict=True)]
    return result


EXPECTED = References.from_tiers({"q1": [["d1", "d3"], ["d2"]], "q2": [["d9"]]})
RANKS = {"query": ["q1", "q1", "q1", "q2"], "item": ["d2", "d1", "d3", "d9"], "rank": [2, 1, 1, 1]}
GRADES = {"query": ["q1", "q2", "q1", "q1", "q1"], "item": ["d2", "d9", "d1", "d3", "d0"], "grade": [1, 1, 3, 3, 0]}


def test_dicts() -> None:
    assert References.from_ranks({"q1": {"d1": 1, "d2": 2, "d3": 1}, "q2": {"d9": 1}}) == EXPECTED
    assert References.from_lists({"q1": ["d1", "d2"]}) == References.from_tiers({"q1": [["d1"], ["d2"]]})
    assert References.of({"q1": [["d1", "d3"], ["d2"]], "q2": ["d9"]}) == EXPECTED
    assert References.of(EXPECTED) is EXPECTED
    assert References.from_ranks(iter(pl.DataFrame(RANKS).to_dicts())) == EXPECTED
    assert References.from_ranks(pl.LazyFrame(RANKS)) == References.of(pl.LazyFrame(RANKS)) == EXPECTED


def test_the_reference_of_one_query() -> None:
    tiers = Reference.of([["d1", "d3"], ["d2"]])
    assert (
        tiers == Reference({"d2": 2, "d1": 1, "d3": 1}) == Reference.from_grades({"d1": 3, "d3": 3, "d2": 1, "d4": 0})
    )
    assert Reference.of(["d1", "d2"]) == Reference.of([["d1"], ["d2"]]) == Reference({"d2": 2, "d1": 1})
    assert (Reference.of(tiers) is tiers, Reference.of(["d1"]).nonrelevant) == (True, None)
    assert Reference({"d1": 1}, nonrelevant=["d2", 3]).nonrelevant == {"d2": 0.0, "3": 0.0}
    assert (Reference.from_grades({"d1": 0}).tiers, Reference.from_grades({"d1": -1}).nonrelevant) == ([], {"d1": -1.0})
    wrong: list[tuple[Any, Any, str]] = [(Reference, {}, "no-items"), (Reference, {"d1": 2}, "rank-missing")]
    wrong += [(Reference.of, [1, "1"], "two-values"), (Reference.of, [["d1"], []], "empty-tier")]
    wrong += [(Reference.of, {"d1": 1, "d2": 2}, "grades-or-ranks")]
    wrong += [(Reference.of, value, "wrong-form") for value in (None, 3, "abc")]
    wrong += [(make, value, "wrong-form") for make in (Reference, Reference.from_grades) for value in (None, 3, ["a"])]
    for make, value, kind in wrong:
        with raises(kind, DataError, query=None):
            make(value)


def test_tables_of_tiers() -> None:
    frame = pl.DataFrame({"query": ["q1", "q2"], "tiers": [[["d1", "d3"], ["d2"]], [["d9"]]]})
    assert References.from_tiers(frame) == EXPECTED
    with raises("query-twice", DataError, query="q1"):
        References.from_tiers(pl.concat([frame, frame[:1]]))


def test_columns_may_have_the_names_of_other_tools() -> None:
    frame = pl.DataFrame(GRADES).rename({"query": "qid", "item": "docno", "grade": "label"})
    assert References.of(frame) == References.from_grades(pl.DataFrame(GRADES))
    # PyTerrier: query is the text, and docid and query_id may be internal numbers
    more = frame.with_columns(query_id=pl.lit("9"), query=pl.lit("what is it"), docid=pl.lit("7"), doc_id=pl.lit("8"))
    assert References.of(more) == References.of(frame)
    for same in (more.drop("qid"), frame.rename({"qid": "query_id"}).with_columns(queryId=pl.lit("9"))):
        with raises("two-columns", DataError, name="query"):
            References.of(same)


@given(tiers(), st.randoms(use_true_random=False))
def test_equality_ignores_order(value: Tiers, random: Any) -> None:
    references = References.from_tiers(value)
    table = references.to_polars()
    rows = list(range(len(table)))
    random.shuffle(rows)
    assert References.of(table[rows]) == References.of(references.to_pandas()) == references
    first, (best, *others) = next(iter(value.items()))
    assert References.from_tiers({**value, first: [["a different item", *best], *others]}) != references


grades = st.dictionaries(
    names,
    st.dictionaries(names, st.sampled_from([-2, 0, 0.25, 0.5, 1, 2, 3]), min_size=1, max_size=8),
    min_size=1,
    max_size=5,
)


@given(grades)
def test_grades_become_tiers_as_a_plain_loop_makes_them(values: dict[str, dict[str, float]]) -> None:
    references = References.from_grades(values)
    assert list(references) == list(values)
    assert references.empty == sum(max(items.values()) <= 0 for items in values.values())
    for query, items in values.items():
        levels = sorted({grade for grade in items.values() if grade > 0}, reverse=True)
        tiers = [{item for item, grade in items.items() if grade == level} for level in levels]
        assert [set(tier) for tier in references[query].tiers] == tiers
        assert references[query].grades == {item: grade for item, grade in items.items() if grade > 0}
        assert references[query].nonrelevant == {item: grade for item, grade in items.items() if grade <= 0}
    assert References.of({query: Reference.from_grades(items) for query, items in values.items()}) == references
    assert References.of(references.to_polars(nonrelevant=True)) == references
    filled = {query: items for query, items in values.items() if max(items.values()) > 0}
    assert not filled or references.without_empty() == References.from_grades(filled)


@given(tiers(), st.data())
def test_nonrelevant_items_survive_a_table(value: Tiers, data: st.DataObject) -> None:
    spare = names.map(lambda name: f"a nonrelevant {name}")
    nonrelevant = data.draw(st.dictionaries(st.sampled_from([*value, "another"]), st.sets(spare)))
    references = References.from_tiers(value, nonrelevant=nonrelevant)
    assert {query: set(items) for query, items in nonrelevant.items() if items} == {
        query: set(reference.nonrelevant or ()) for query, reference in references.items() if reference.nonrelevant
    }
    assert References.of(references.to_polars(nonrelevant=True)) == references
    assert References.of(dict(references)) == references
    assert (references == References.from_tiers(value)) is False


def test_a_query_with_nothing_but_nonrelevant_items() -> None:
    made = References.from_lists({"q1": ["d1"], "q2": []}, nonrelevant={"q2": ["d2"]})
    assert (made.sizes.tolist(), made.tier_counts.tolist(), made.empty) == ([1, 0], [1, 0], 1)
    assert made["q2"].nonrelevant == {"d2": 0.0}
    assert made.without_empty() == References.from_lists({"q1": ["d1"]}, nonrelevant={})
    assert made == References.of(
        pl.DataFrame({"query": ["q1", "q2"], "item": ["d1", "d2"], "rank": ["1", ""], "nonrelevant": ["", "true"]})
    )


def rank_table(*rows: tuple[object, object, object], name: str = "rank") -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["query", "item", name], orient="row")


BAD = [
    (References.from_lists, {}, "no-queries"),
    (References.from_lists, ["d1"], "wrong-form"),
    (References.from_lists, {"q1": "d1"}, "wrong-form"),
    (References.from_lists, {"q1": {"d1", "d2"}}, "wrong-form"),
    (References.from_lists, {"q1": {"d1": 1}}, "wrong-form"),
    (References.from_lists, {"q1": []}, "no-items"),
    (References.from_lists, {"q1": ["d1", "d1"]}, "two-values"),
    (References.from_lists, {"q1": ["d1", None]}, "not-an-id"),
    (References.from_lists, {"q1": [True]}, "not-an-id"),
    (References.from_lists, {"q1": [["d1"]]}, "not-an-id"),
    (References.from_lists, {"q1": ["\ud800"]}, "not-text"),
    (References.from_lists, {1: ["d1"], "1": ["d1"]}, "number-and-text"),
    (References.of, {"query": [1, 2], "item": [3, 4], "rank": [1, 2]}, "dict-of-columns"),
    (References.from_tiers, {"q1": [["d1"], []]}, "empty-tier"),
    (References.from_tiers, {"q1": ["d1"]}, "not-a-tier"),
    (References.from_ranks, {"q1": ["d1"]}, "wrong-form"),
    (References.from_ranks, {"q1": {"d1": 0, "d2": 1}}, "not-a-rank"),
    (References.from_ranks, {"q1": {"d1": 1, "d2": 3}}, "rank-missing"),
    (References.from_ranks, {"q1": {"d1": 1, "d2": 1.5}}, "not-a-rank"),
    (References.from_ranks, {"q1": {"d1": "first"}}, "not-finite"),
    (lambda value: References.from_lists(value, nonrelevant={"q1": ["d1"]}), {"q1": ["d1"]}, "ranked-and-nonrelevant"),
    (References.of, [{"query": "q1", "item": "d1", "rank": 1, "nonrelevant": True}], "ranked-and-nonrelevant"),
    (lambda value: References.from_lists(value, nonrelevant={"q1": "d2"}), {"q1": ["d1"]}, "wrong-form"),
    (References.from_grades, {"q1": {"d1": float("inf")}}, "not-finite"),
    (References.from_grades, {"q1": {}}, "no-items"),
    (References.from_ranks, pl.DataFrame({"query": ["q1"], "rank": [1]}), "no-column"),
    (References.from_ranks, pl.DataFrame(), "no-column"),
    (References.from_ranks, rank_table(("q1", "d1", 1))[:0], "no-rows"),
    (References.from_ranks, rank_table(("q1", 1.5, 1)), "bad-column"),
    (References.from_ranks, rank_table(("q1", b"d1", 1)), "bad-column"),
    (References.from_ranks, rank_table(("q1", ["d1"], 1)), "bad-column"),
    (References.from_ranks, rank_table(("q1", "d1", [1])), "bad-column"),
    (References.from_grades, rank_table(("q1", "d1", 0.1), ("q1", "d1", 0.1 + 1e-12), name="grade"), "two-values"),
    (References.of, pl.DataFrame({"query": ["q"], "item": ["d"]}), "not-references"),
    (References.of, {"q1": 3}, "wrong-form"),
    (References.of, {"q1": {"d1": 2}}, "grades-or-ranks"),
    (References.of, {"q1": [{"item": "d1"}]}, "record-for-items"),
    (References.of, [{"query": "q", "winner": "a", "loser": "b"}], "not-references"),
    (References.of, [("q", "d")], "wrong-form"),
    (References.of, [{1: "a", None: "b"}], "not-references"),
    (References.of, [{"query": "q", "item": "a", "rank": range(1, 2)}, {"query": "q", "item": "b"}], "not-finite"),
    (References.from_ranks, [{"query": "q", "item": "a", "rank": 1, "nonrelevant": ["x"]}], "bad-column"),
    (References.of, [{"query": "q", "tiers": [["a"], []], 1: 2}], "empty-tier"),
    (References.of, [{"query": "q", "item": 1.5, "rank": 1}], "not-an-id"),
    (References.of, [{"query": "q", "item": b"d", "rank": 1}], "not-an-id"),
    (References.of, pd.DataFrame({"query": ["q", "q"], "item": ["d", 7.0], "rank": [1, 2]}), "not-an-id"),
    (References.of, pd.DataFrame({"query": ["q", "q"], "item": ["d", True], "rank": [1, 2]}), "not-an-id"),
    (References.of, pd.DataFrame([["q", "q"]], columns=["query"] * 2), "column-twice"),
    (References.of, pd.DataFrame({"query": ["q"], "item": [1j], "rank": [1]}), "bad-column"),
    (References.of, 3, "wrong-form"),
    (References.of, [{"query": "q", "items": ["a"]}, 3], "wrong-form"),
    (References.of, pd.DataFrame({"query": [], "items": []}), "no-rows"),
    (
        References.of,
        pl.DataFrame({"query": "q", "item": "a", "rating": pl.Series([pd.NA], dtype=pl.Object)}),
        "not-finite",
    ),
    (Scores.from_table, {"query": [["q"]], "system": "a", "measure": "P@1", "value": 1}, "bad-column"),
]


@pytest.mark.parametrize(("build", "value", "kind"), BAD)
def test_bad_input(build: Callable[[Any], References], value: Any, kind: str) -> None:
    with raises(kind, DataError) as caught:
        build(value)
    assert "\n" not in str(caught.value)


def test_rows_that_say_the_same_twice_are_reported() -> None:
    table = rank_table(("q1", "d1", 1), ("q1", "d2", 2), ("q1", "d1", 1))
    with warns("repeated-rows", count=1, query="q1", item="d1"):
        assert References.of(table) == References.from_lists({"q1": ["d1", "d2"]})
    with warns("repeated-rows", count=1, item="x"):
        References.from_ranks(pl.DataFrame(RANKS), nonrelevant={"q1": ["x", "x"]})
