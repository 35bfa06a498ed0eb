from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankdev import DataError, Reference
from tests.raising import raises


def test_builders_agree() -> None:
    tiers = Reference.from_tiers([["d1", "d3"], ["d2"]])
    assert dict(tiers) == {"d1": 1, "d3": 1, "d2": 2}
    assert (
        tiers == Reference({"d2": 2, "d1": 1, "d3": 1}) == Reference.from_grades({"d1": 3, "d3": 3, "d2": 1, "d4": 0})
    )
    assert Reference.from_list(["d1", "d2"]).tiers == [["d1"], ["d2"]]
    assert (
        Reference.of(["d1", "d2"])
        == Reference.of([["d1"], ["d2"]])
        == Reference.from_ranks({"d2": 2, "d1": 1})
        == Reference.of(Reference.from_list(["d1", "d2"]))
    )


def test_nonrelevant_items_are_kept_apart() -> None:
    reference = Reference({"d1": 1}, nonrelevant=["d2", 3])
    assert (dict(reference), reference.nonrelevant) == ({"d1": 1}, {"d2": 0.0, "3": 0.0})
    assert Reference.from_list(["d1"]).nonrelevant is None
    assert (Reference.from_grades({"d1": 0}).tiers, Reference.from_grades({"d1": -1}).nonrelevant) == ([], {"d1": -1.0})
    with raises("ranked-and-nonrelevant", DataError, item="d1"):
        Reference({"d1": 1}, nonrelevant=["d1"])


@given(st.dictionaries(st.text(min_size=1).filter(str.isprintable), st.sampled_from([-1, 0, 0.5, 1, 2, 3]), min_size=1))
def test_grades_become_tiers_as_a_plain_loop_makes_them(grades: dict[str, float]) -> None:
    levels = sorted({grade for grade in grades.values() if grade > 0}, reverse=True)
    tiers = [{item for item, grade in grades.items() if grade == level} for level in levels]
    reference = Reference.from_grades(grades)
    assert [set(tier) for tier in reference.tiers] == tiers
    assert reference.nonrelevant == {item: grade for item, grade in grades.items() if grade <= 0}


@pytest.mark.parametrize(
    ("ranks", "kind"),
    [
        ({}, "no-items"),
        ({"d1": 0}, "not-a-rank"),
        ({"d1": 1.5}, "not-a-rank"),
        ({"d1": float("nan")}, "not-finite"),
        ({"d1": float("inf")}, "not-finite"),
        ({"d1": 1, "d2": 3}, "rank-missing"),
        ({"d1": 2}, "rank-missing"),
        ({1.5: 1}, "not-an-id"),
        ({"": 1}, "not-an-id"),
    ],
)
def test_bad_ranks(ranks: dict[object, object], kind: str) -> None:
    with raises(kind, DataError) as caught:
        Reference(ranks, query="q7")
    assert str(caught.value).startswith("query 'q7': ")


def test_an_item_with_two_ranks() -> None:
    with raises("two-values", DataError, query="q7", item="d1", what="rank", a=1, b=2):
        Reference.from_tiers([["d1"], ["d2", "d1"]], query="q7")
    with raises("two-values", DataError, item="1", what="rank", a=1, b=2):
        Reference.from_list([1, "1"])


def test_numbers_by_item_could_be_grades_or_ranks() -> None:
    with raises("grades-or-ranks", DataError):
        Reference.of({"d1": 1, "d2": 2})


def test_tiers_are_tiers_wherever_a_reference_is_taken() -> None:
    assert Reference.of([["d1", "d3"], "d2"]).tiers == [["d1", "d3"], ["d2"]]
    with raises("empty-tier", DataError, tier=2):
        Reference.of([["d1"], []])


@pytest.mark.parametrize("value", [None, 3, "abc", {"a", "b"}, {"a": 1}])
def test_an_order_is_a_list(value: Any) -> None:
    with raises("wrong-form", DataError):
        Reference.from_list(value)
    with raises("wrong-form", DataError):
        Reference.from_tiers(value)


@pytest.mark.parametrize("value", [None, 3, "abc", ["a"]])
def test_ranks_and_grades_are_by_item(value: Any) -> None:
    for build, name in ((Reference, "rank"), (Reference.from_ranks, "rank"), (Reference.from_grades, "grade")):
        with raises("wrong-form", DataError, expected=f"{{item: {name}}}"):
            build(value)
