from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankdev import DataError, RankdevWarning, Reference, References

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


def frames(columns: dict[str, list[Any]]) -> list[Any]:
    return [pl.DataFrame(columns), pl.LazyFrame(columns), pd.DataFrame(columns), pa.table(columns)]


EXPECTED = References.from_tiers({"q1": [["d1", "d3"], ["d2"]], "q2": [["d9"]]})
RANKS = {"query": ["q1", "q1", "q1", "q2"], "item": ["d2", "d1", "d3", "d9"], "rank": [2, 1, 1, 1]}
GRADES = {"query": ["q1", "q2", "q1", "q1", "q1"], "item": ["d2", "d9", "d1", "d3", "d0"], "grade": [1, 1, 3, 3, 0]}


def test_dicts() -> None:
    assert References.from_ranks({"q1": {"d1": 1, "d2": 2, "d3": 1}, "q2": {"d9": 1}}) == EXPECTED
    assert References.from_lists({"q1": ["d1", "d2"]}) == References.from_tiers({"q1": [["d1"], ["d2"]]})
    assert References.of({"q1": [["d1", "d3"], ["d2"]], "q2": ["d9"]}) == EXPECTED
    assert References.of(EXPECTED) is EXPECTED


@pytest.mark.parametrize("table", frames(RANKS), ids=lambda table: type(table).__module__)
def test_tables_of_ranks(table: Any) -> None:
    assert References.from_ranks(table) == References.of(table) == EXPECTED


@pytest.mark.parametrize("table", frames(GRADES), ids=lambda table: type(table).__module__)
def test_tables_of_grades(table: Any) -> None:
    references = References.from_grades(table)
    assert References.of(table) == references
    assert References.from_ranks(references.to_polars()) == EXPECTED
    assert references["q1"].grades == {"d1": 3.0, "d3": 3.0, "d2": 1.0}


class Interchanged:
    """A table of which nothing is known but that it can be interchanged."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame = frame

    def __dataframe__(self, *args: Any, **options: Any) -> Any:
        return self._frame.__dataframe__(*args, **options)


def test_tables_of_the_interchange_protocol_and_records() -> None:
    assert References.of(Interchanged(pd.DataFrame(RANKS))) == EXPECTED
    assert References.of(pl.DataFrame(RANKS).to_dicts()) == EXPECTED
    assert References.from_ranks(iter(pl.DataFrame(RANKS).to_dicts())) == EXPECTED


def test_tables_of_tiers() -> None:
    frame = pl.DataFrame({"query": ["q1", "q2"], "tiers": [[["d1", "d3"], ["d2"]], [["d9"]]]})
    assert References.from_tiers(frame) == EXPECTED
    with pytest.raises(DataError, match="query 'q1' appears twice"):
        References.from_tiers(pl.concat([frame, frame[:1]]))


def test_columns_may_have_the_names_of_other_tools() -> None:
    frame = pl.DataFrame(GRADES).rename({"query": "qid", "item": "docno", "grade": "label"})
    assert References.of(frame) == References.from_grades(pl.DataFrame(GRADES))
    # PyTerrier: query is the text, and docid and query_id may be internal numbers
    more = frame.with_columns(query_id=pl.lit("9"), query=pl.lit("what is it"), docid=pl.lit("7"), doc_id=pl.lit("8"))
    assert References.of(more) == References.of(frame)
    assert list(References.of(more.drop("qid"))) == ["what is it"]


def test_whole_numbers_name_queries_and_items() -> None:
    expected = References.from_ranks({"7": {"1": 1, "2": 2}})
    assert References.from_ranks({7: {1: 1, 2: 2}}) == expected
    assert References.from_lists({np.int64(7): [np.int32(1), 2]}) == expected
    for frame in frames({"query": [7, 7], "item": [2, 1], "rank": [2, 1]}):
        assert References.of(frame) == expected


@given(tiers())
def test_tiers_survive_a_table(value: Tiers) -> None:
    references = References.from_tiers(value)
    assert References.from_ranks(references.to_polars()) == references
    assert References.of(references.to_pandas()) == references
    assert {query: [set(tier) for tier in reference.tiers] for query, reference in references.items()} == {
        query: [set(tier) for tier in levels] for query, levels in value.items()
    }


@given(tiers(), st.randoms(use_true_random=False))
def test_equality_ignores_order(value: Tiers, random: Any) -> None:
    references = References.from_tiers(value)
    table = references.to_polars()
    rows = list(range(len(table)))
    random.shuffle(rows)
    assert References.of(table[rows]) == references
    first = next(iter(value))
    assert (
        References.from_tiers({**value, first: [["a different item", *value[first][0]], *value[first][1:]]})
        != references
    )


grades = st.dictionaries(
    names,
    st.dictionaries(names, st.sampled_from([-2, 0, 0.25, 0.5, 1, 2, 3]), min_size=1, max_size=8),
    min_size=1,
    max_size=5,
)


@given(grades)
def test_grades_become_tiers_as_one_query_at_a_time(values: dict[str, dict[str, float]]) -> None:
    references = References.from_grades(values)
    assert list(references) == list(values)
    assert references.empty == sum(max(items.values()) <= 0 for items in values.values())
    for query, items in values.items():
        assert references[query] == Reference.from_grades(items)
        assert references[query].grades == Reference.from_grades(items).grades
        assert references[query].nonrelevant == Reference.from_grades(items).nonrelevant
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
    columns = zip(*rows, strict=True)
    return pl.DataFrame({key: pl.Series(column) for key, column in zip(("query", "item", name), columns, strict=True)})


BAD = [
    (References.from_lists, {}, "at least one query"),
    (References.from_lists, ["d1"], r"lists must be {query: \[item, …\]}; got list"),
    (References.from_lists, {"q1": "d1"}, "query 'q1': expected a list, best first; got 'd1'"),
    (References.from_lists, {"q1": {"d1", "d2"}}, "query 'q1': expected a list, best first; got {"),
    (References.from_lists, {"q1": {"d1": 1}}, "query 'q1': expected a list, best first; got {'d1': 1}"),
    (References.from_lists, {"q1": []}, "query 'q1': a reference needs at least one item"),
    (References.from_lists, {"q1": ["d1", "d1"]}, "query 'q1': item 'd1' has two ranks, 1 and 2; keep one"),
    (References.from_lists, {"q1": ["d1", None]}, "query 'q1': an item .* text or a whole number; got None"),
    (References.from_lists, {"q1": [True]}, "query 'q1': an item .* text or a whole number; got True"),
    (References.from_lists, {"q1": [["d1"]]}, r"query 'q1': an item .* text or a whole number; got \['d1'\]"),
    (References.from_lists, {"q1": ["\ud800"]}, "'.ud800' is not valid text"),
    (References.from_lists, {1: ["d1"], "1": ["d1"]}, "query '1' appears twice, as a number and as text"),
    (References.from_tiers, {"q1": [["d1"], []]}, "query 'q1': tier 2 is empty; every rank needs an item"),
    (References.from_tiers, {"q1": ["d1"]}, "query 'q1': tier 1 must be a list of items; got 'd1'"),
    (References.from_tiers, {"q1": [["d1"], ["d1"]]}, "query 'q1': item 'd1' has two ranks, 1 and 2"),
    (References.from_ranks, {"q1": ["d1"]}, "query 'q1' must be {item: rank}; got list"),
    (References.from_ranks, {"q1": {"d1": 0, "d2": 1}}, "query 'q1': ranks start at 0; they must start at 1"),
    (References.from_ranks, {"q1": {"d1": -1}}, "query 'q1': ranks start at -1; they must start at 1"),
    (
        References.from_ranks,
        {"q1": {"d1": 1, "d2": 3}},
        "query 'q1': rank 1 is followed by 3; ranks must be consecutive",
    ),
    (References.from_ranks, {"q1": {"d1": 1, "d2": 1.5}}, "query 'q1': item 'd2' has the rank 1.5; ranks are whole"),
    (References.from_ranks, {"q1": {"d1": "first"}}, "query 'q1', item 'd1': the rank is 'first'; expected a finite"),
    (References.from_ranks, {"q1": {"d1": None}}, "query 'q1', item 'd1': the rank is None; expected a finite number"),
    (References.from_ranks, {"q1": {"d1": float("nan")}}, "query 'q1', item 'd1': the rank is nan; expected a finite"),
    (References.from_ranks, {"q1": {"d1": 10**400}}, "query 'q1', item 'd1': the rank is '1000.*; expected a finite"),
    (
        lambda value: References.from_lists(value, nonrelevant={"q1": ["d1"]}),
        {"q1": ["d1"]},
        "query 'q1': item 'd1' has a rank and is nonrelevant too; keep one",
    ),
    (
        References.of,
        pl.DataFrame({"query": ["q1"], "item": ["d1"], "rank": [1], "nonrelevant": [True]}),
        "query 'q1': item 'd1' has a rank and is nonrelevant too; keep one",
    ),
    (
        lambda value: References.from_lists(value, nonrelevant={"q1": "d2"}),
        {"q1": ["d1"]},
        "query 'q1': nonrelevant must be a list of items; got 'd2'",
    ),
    (
        References.from_grades,
        {"q1": {"d1": float("inf")}},
        "query 'q1', item 'd1': the grade is inf; expected a finite",
    ),
    (References.from_grades, {"q1": {}}, "query 'q1': a reference needs at least one item"),
    (References.from_ranks, pl.DataFrame({"query": ["q1"], "rank": [1]}), "'item' is missing; found query, rank"),
    (References.from_ranks, pl.DataFrame(), "'query' is missing; found no columns"),
    (References.from_ranks, rank_table(("q1", "d1", 1))[:0], "at least one row"),
    (References.from_ranks, rank_table(("q1", "d1", 1), ("q1", "d1", 2)), "item 'd1' has two ranks, 1 and 2; keep one"),
    (References.from_ranks, rank_table(("q1", "d1", 1), ("q1", None, 2)), "row 1 has no item; every row needs one"),
    (References.from_ranks, rank_table(("q1", "d1", 1), ("", "d2", 2)), "row 1 has no query; every row needs one"),
    (References.from_ranks, rank_table(("q1", 1.5, 1)), "'item' holds Float64; expected text or whole numbers"),
    (References.from_ranks, rank_table(("q1", b"d1", 1)), "'item' holds Binary; expected text or whole numbers"),
    (References.from_ranks, rank_table(("q1", ["d1"], 1)), "'item' holds List"),
    (References.from_ranks, rank_table(("q1", "d1", [1])), "'rank' holds List.*; expected numbers"),
    (
        References.from_grades,
        rank_table(("q1", "d1", 0.1), ("q1", "d1", 0.1 + 1e-12), name="grade"),
        "two grades, 0.1 and 0.1000",
    ),
    (References.of, pl.DataFrame({"query": ["q"], "item": ["d"]}), "'rank' is missing; found query, item"),
    (References.of, {"q1": 3}, "query 'q1': a reference is a list of items or tiers, best first; got 3"),
    (References.of, {"q1": {"d1": 2}}, "query 'q1': .* could mean grades or ranks; .* References.from_grades or Refer"),
    (References.of, {"q1": [{"item": "d1"}]}, "query 'q1': expected items; got the record {'item': 'd1'}"),
    (
        References.of,
        [{"query": "q", "winner": "a", "loser": "b"}],
        "'item' is missing; found query, winner, loser",
    ),
    (References.of, [("q", "d")], "references must be References, .* got list"),
    (References.of, [{"query": "q", "item": 1.5, "rank": 1}], "text or a whole number; got 1.5"),
    (References.of, [{"query": "q", "item": b"d", "rank": 1}], "text or a whole number; got b'd'"),
    (References.of, pd.DataFrame({"query": ["q", "q"], "item": ["d", 7.0], "rank": [1, 2]}), "whole number; got 7.0"),
    (References.of, pd.DataFrame({"query": ["q", "q"], "item": ["d", True], "rank": [1, 2]}), "whole number; got True"),
    (References.of, pd.DataFrame([["q", "q"]], columns=["query"] * 2), "the column 'query' appears twice"),
    (References.of, pd.DataFrame({"query": ["q"], "item": [1j], "rank": [1]}), "'item' holds Object|got 1j"),
    (References.of, 3, "got int"),
]


@pytest.mark.parametrize(("build", "value", "message"), BAD)
def test_bad_input(build: Callable[[Any], References], value: Any, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        build(value)
    assert "\n" not in str(caught.value)


def test_ranks_beside_grades_must_agree() -> None:
    table = pl.DataFrame({"query": ["q1", "q1"], "item": ["d1", "d2"], "rank": [1, 2], "grade": [3, 1]})
    assert References.of(table)["q1"].grades == {"d1": 3.0, "d2": 1.0}
    with pytest.raises(DataError, match="query 'q1': item 'd1' has the rank 2, but its grade 3 makes it 1; keep one"):
        References.of(table.with_columns(rank=pl.Series([2, 1])))


def test_rows_that_say_the_same_twice_are_reported() -> None:
    table = rank_table(("q1", "d1", 1), ("q1", "d2", 2), ("q1", "d1", 1))
    with pytest.warns(RankdevWarning, match="1 row is ignored .* the first for query 'q1', item 'd1'"):
        assert References.of(table) == References.from_lists({"q1": ["d1", "d2"]})
