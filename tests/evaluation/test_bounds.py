"""Bounds against every completion, tried one by one with evaluate."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankdev as rd
from rankdev.evaluation import _extremes
from tests.common.examples import examples

GRADED = [
    "RDQ@3",
    "RDQ(penalty=m1)@4",
    "RDQ",
    "nDCG@3",
    "nDCG(dcg=exp-log2)@3",
    "RBP(p=0.8)@3",
    "AP@3",
    "AP",
    "P@3",
    "R@3",
    "Compat(p=0.8)@3",
]
RANKED = [
    "Compat(p=0.9)@3",
    "Compat(p=0.5)@2",
    "RDQ@3",
    "RDQ(alpha=4)@2",
    "RDQ(penalty=m1)@3",
    "nDCG(gains=inverse,dcg=exp-log2)@3",
    "nDCG(gains=linear)@3",
]
BINARY = ["nDCG(gains=binary)@3", "AP@3", "RBP@2"]


def reach(measure):
    return rd.parse(measure).reach


def tried(measures, lists, complete):
    """Lowest and highest of each measure and of the difference, over all completed references."""
    values = []
    for references in complete:
        scores = rd.evaluate(references, {name: {"q": items} for name, items in lists.items()}, measures)
        values.append(scores.values[:, 0, :])
    return np.array(values)


def check(references, lists, measure, complete):
    found = rd.bounds(references, {name: {"q": items} for name, items in lists.items()}, measure)
    for s, (name, items) in enumerate(lists.items()):
        values = tried([measure], {name: items}, complete([items[: reach(measure)]]))[:, 0, 0]
        np.testing.assert_allclose(found.limits[:, s, 0, 0], [values.min(), values.max()], atol=1e-12)
    both = tried([measure], lists, complete([items[: reach(measure)] for items in lists.values()]))[:, :, 0]
    apart = both[:, 0] - both[:, 1]
    np.testing.assert_allclose(found.difference_limits[:, 0, 0, 0], [apart.min(), apart.max()], atol=1e-12)
    assert found.exact.all()


LISTS = st.lists(st.sampled_from(["a", "b", "c", "u", "v", "w"]), min_size=1, max_size=4, unique=True)


@given(st.dictionaries(st.sampled_from(["a", "b", "c"]), st.integers(0, 3), min_size=1), LISTS, LISTS, st.data())
@examples(30)
def test_with_grades_every_completion_was_looked_at(grades, first, second, data):
    references = rd.References.from_grades({"q": grades, "other": {"z": 1, "y": 3}})  # the grades are 1, 3 and q's

    def complete(lists):
        unjudged = sorted({item for items in lists for item in items} - set(grades))
        for choice in product((0, 1, 2, 3) if 2 in grades.values() else (0, 1, 3), repeat=len(unjudged)):
            yield rd.References.from_grades({"q": {**grades, **dict(zip(unjudged, choice, strict=True))}})

    check(references, {"x": first, "y": second}, data.draw(st.sampled_from(GRADED)), complete)


def weak_orders(known, unjudged):
    """All ways to put items at or between tiers, one after the other; tiers may be made more than once."""
    orders = [known]
    for item in unjudged:
        orders = [
            new
            for tiers in orders
            for new in (
                tiers,
                *([*tiers[:i], [item], *tiers[i:]] for i in range(len(tiers) + 1)),
                *([*tiers[:i], [*tiers[i], item], *tiers[i + 1 :]] for i in range(len(tiers))),
            )
        ]
    return orders


@given(st.sampled_from([[["a"]], [["a"], ["b"]], [["a", "b"], ["c"]], [["a"], ["b", "c"]]]), LISTS, LISTS, st.data())
@examples(25)
def test_without_grades_items_can_stand_at_or_between_all_ranks(tiers, first, second, data):
    known = [item for tier in tiers for item in tier]

    def complete(lists):
        unjudged = sorted({item for items in lists for item in items} - {*known, "w"})
        return [rd.References.from_tiers({"q": order}) for order in weak_orders(tiers, unjudged)]

    references = rd.References.from_tiers({"q": tiers}, nonrelevant={"q": ["w"] + [i for i in "abc" if i not in known]})
    lists = {"x": first, "y": second}

    def judged(lists):
        return complete([[item for item in items if item in known or item in "uv"] for items in lists])

    check(references, lists, data.draw(st.sampled_from([*RANKED, *BINARY])), judged)


def test_counting_unjudged_items_as_nonrelevant_is_no_lower_bound():
    references = rd.References.from_lists({"q": ["d1"]}, nonrelevant={"q": []})
    row = rd.bounds(references, {"s": {"q": ["d1", "x"]}}, "RDQ@2").to_polars().row(0, named=True)
    assert row["score"] == row["high"] == 1
    # x could be better than d1: both are one place off, with tolerances √2 (rank 1) and √2 · 1.2 (rank 2)
    assert row["low"] == pytest.approx((np.exp(-1 / (np.sqrt(2) * 1.2)) + 0.9 * np.exp(-1 / np.sqrt(2))) / 1.9)


def test_a_verdict_is_safe_where_no_completion_overturns_it():
    references = rd.References.from_lists({"q": list("abcd")}, nonrelevant={"q": ["z"]})
    lists = {"good": {"q": list("abcd")}, "poor": {"q": list("zzzz")}, "open": {"q": ["u", "v", "a", "b"]}}
    found = rd.bounds(references, {name: {"q": list(dict.fromkeys(run["q"]))} for name, run in lists.items()}, "RBP@4")
    safe = {(row["a"], row["b"]): row["safe"] for row in found.pairs().iter_rows(named=True)}
    assert safe == {("good", "poor"): True, ("good", "open"): False, ("poor", "open"): True}
    assert found.next_items()["item"].to_list() == ["u", "v"]  # the first position weighs most


def test_too_many_places_are_not_looked_at_and_said(monkeypatch):
    monkeypatch.setattr(_extremes, "MOST", 5)
    references = rd.References.from_lists({"q": list("abcd")}, nonrelevant={"q": []})
    found = rd.bounds(references, {"s": {"q": ["u", "v", "a"]}}, "RDQ@3")
    assert found.to_polars().row(0)[3:5] == (0.0, 1.0)
    assert not found.exact.any()
    assert "not exact" in found.remarks[-1]


def test_where_two_lists_have_too_many_completions_their_own_ends_hold_the_difference(monkeypatch):
    references = rd.References.from_lists({"q": list("abc")}, nonrelevant={"q": []})
    lists = {"x": {"q": ["u", "a", "v"]}, "y": {"q": ["w", "b", "a"]}}
    exact = rd.bounds(references, lists, "Compat@3")
    monkeypatch.setattr(_extremes, "MOST", 400)
    found = rd.bounds(references, lists, "Compat@3")
    assert exact.exact_pairs.all()
    assert not found.exact_pairs.any()
    assert found.exact.all()
    assert -1 < found.difference_limits[0].item() <= exact.difference_limits[0].item()
    assert exact.difference_limits[1].item() <= found.difference_limits[1].item() < 1


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        ("Compat(depth=9)@5", "leave depth out"),
        ("ERR@5", "ERR.* has no exact bounds"),
        ("RDQ(judged_only=True)@5", "leave judged_only out"),
        ("AP(rel=2)", "leave rel out"),
        ("RBP(gains=graded)@5", "leave gains out"),
    ],
)
def test_measures_without_exact_bounds_are_refused(measure, message):
    references = rd.References.from_grades({"q": {"a": 1}})
    with pytest.raises(rd.MeasureError, match=message):
        rd.bounds(references, {"s": {"q": ["a"]}}, measure)


def test_what_was_judged_must_be_known():
    with pytest.raises(rd.DataError, match="do not state which items were judged nonrelevant"):
        rd.bounds({"q": ["a"]}, {"s": {"q": ["a"]}}, "RDQ@5")
