from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankdev import DataError, Reference
from tests.raising import raises

UNNAMED: list[Any] = [None, 3, "abc", ["a"]]


def test_builders_agree() -> None:
    tiers = Reference.of([["d1", "d3"], ["d2"]])
    assert dict(tiers) == {"d1": 1, "d3": 1, "d2": 2}
    assert (
        tiers == Reference({"d2": 2, "d1": 1, "d3": 1}) == Reference.from_grades({"d1": 3, "d3": 3, "d2": 1, "d4": 0})
    )
    assert Reference.of(["d1", "d2"]) == Reference.of([["d1"], ["d2"]]) == Reference({"d2": 2, "d1": 1})
    assert Reference.of(tiers) is tiers


def test_nonrelevant_items_are_kept_apart() -> None:
    reference = Reference({"d1": 1}, nonrelevant=["d2", 3])
    assert (dict(reference), reference.nonrelevant) == ({"d1": 1}, {"d2": 0.0, "3": 0.0})
    assert Reference.of(["d1"]).nonrelevant is None
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
    ("build", "value", "kind"),
    [
        (Reference, {}, "no-items"),
        (Reference, {"d1": 2}, "rank-missing"),
        (Reference.of, [1, "1"], "two-values"),
        (Reference.of, [["d1"], ["d2", "d1"]], "two-values"),
        (Reference.of, {"d1": 1, "d2": 2}, "grades-or-ranks"),
        (Reference.of, [["d1"], []], "empty-tier"),
        *((Reference.of, value, "wrong-form") for value in (None, 3, "abc")),
        *((build, value, "wrong-form") for build in (Reference, Reference.from_grades) for value in UNNAMED),
    ],
)
def test_what_is_refused(build: Any, value: Any, kind: str) -> None:
    with raises(kind, DataError, query=None):
        build(value)
