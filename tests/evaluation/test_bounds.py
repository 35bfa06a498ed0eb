"""Bounds against every completion, tried one by one with evaluate."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankdev as rd
from rankdev.evaluation import _completions, _extremes, _rdq_limits
from tests.common.examples import examples

GRADED = [
    "RDQ@2",
    "RDQ@3",
    "RDQ(penalty=m1)@4",
    "RDQ",
    "nDCG@3",
    "nDCG",
    "nDCG(dcg=exp-log2)@3",
    "nDCG(gains=binary)@2",
    "nDCG(gains=inverse)@3",
    "nDCG(gains=linear,dcg=exp-log2)@2",
    "RBP(p=0.8)@3",
    "AP@3",
    "AP",
    "P@3",
    "R@3",
    "R",
    "Compat(p=0.8)@3",
]
RANKED = [
    "Compat(p=0.9)@3",
    "Compat(p=0.5)@2",
    "RDQ@3",
    "RDQ(alpha=4)@2",
    "RDQ(penalty=m1)@3",
    "RDQ",
    "nDCG(gains=inverse,dcg=exp-log2)@3",
    "nDCG(gains=linear)@3",
    "nDCG(gains=binary)@3",
    "AP@3",
    "RBP@2",
    "R@2",
]
CLOSED = {  # exact however many completions there are
    *("nDCG@3", "nDCG", "nDCG(dcg=exp-log2)@3", "nDCG(gains=binary)@2", "nDCG(gains=binary)@3"),
    *("RBP(p=0.8)@3", "RBP@2", "P@3", "R@2", "R@3", "R", "AP@3", "AP"),
}


def check(references, completed, lists, measures, outer):
    """Compare limits with all completed references, each of them a query; limits that are not exact must hold all."""
    found = rd.bounds(references, {name: {"q": items} for name, items in lists.items()}, measures)
    at = found.scores.queries.index("q")
    runs = {name: dict.fromkeys(completed.queries, items) for name, items in lists.items()}
    scores = rd.evaluate(completed, runs, measures).values  # [system, completion, measure]
    pairs = list(combinations(range(len(lists)), 2))
    apart = np.array([scores[a] - scores[b] for a, b in pairs]).reshape(len(pairs), *scores.shape[1:])
    for values, limits, exact in (
        (scores, found.limits[:, :, at], found.exact[:, at]),
        (apart, found.difference_limits[:, :, at], found.exact_pairs[:, at]),
    ):
        low, high = values.min(axis=1), values.max(axis=1)
        np.testing.assert_array_less(limits[0], low + 1e-9)
        np.testing.assert_array_less(high - 1e-9, limits[1])
        np.testing.assert_allclose(limits[:, exact], np.stack([low, high])[:, exact], atol=1e-9)
    expected = [measure in CLOSED or not outer for measure in measures]
    assert (found.exact[:, at] == expected).all()
    assert (found.exact_pairs[:, at] == expected).all()


ITEMS = ["a", "b", "c", "d", "u", "v", "w", "z"]
LISTS = st.lists(st.sampled_from(ITEMS), min_size=1, max_size=8, unique=True)  # deeper than the cutoffs
SYSTEMS = st.lists(LISTS, min_size=1, max_size=3).map(lambda lists: dict(zip("xyz", lists, strict=False)))


def unjudged(lists, known):
    return sorted({item for items in lists.values() for item in items} - set(known))


@pytest.mark.parametrize("outer", [False, True], ids=["few completions", "many completions"])
@given(st.dictionaries(st.sampled_from("abcd"), st.integers(0, 3), min_size=1), SYSTEMS, st.data())
@examples(25)
def test_with_grades_no_completion_leaves_the_bounds(outer, grades, lists, data):
    judged = {**dict.fromkeys("abcdz", 0), **grades}
    references = rd.References.from_grades({"q": judged, "other": {"o": 1, "p": 3}})  # grades are 1, 3 and q's
    open_ = unjudged(lists, judged)
    levels = (0, 1, 2, 3) if 2 in judged.values() else (0, 1, 3)
    choices = product(levels, repeat=len(open_))
    completed = rd.References.from_grades(
        {f"c{i}": {**judged, **dict(zip(open_, choice, strict=True))} for i, choice in enumerate(choices)}
    )
    measures = data.draw(st.lists(st.sampled_from(GRADED), min_size=4, max_size=6, unique=True))
    with pytest.MonkeyPatch.context() as patch:
        if outer:
            patch.setattr(_completions, "MOST", 0)
        check(references, completed, lists, measures, outer)


def weak_orders(known, unjudged):
    """All ways to put items at or between tiers, one after the other."""
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


@pytest.mark.parametrize("outer", [False, True], ids=["few completions", "many completions"])
@given(st.sampled_from([[["a"]], [["a"], ["b"]], [["a", "b"], ["c"]], [["a"], ["b", "c"]]]), SYSTEMS, st.data())
@examples(20)
def test_without_grades_items_can_stand_at_or_between_all_ranks(outer, tiers, lists, data):
    known = [item for tier in tiers for item in tier]
    nonrelevant = ["w", "z", *(item for item in "abcd" if item not in known)]
    references = rd.References.from_tiers({"q": tiers}, nonrelevant={"q": nonrelevant})
    orders = weak_orders(tiers, unjudged(lists, [*known, *nonrelevant]))
    completed = rd.References.from_tiers({f"c{i}": order for i, order in enumerate(orders)})
    measures = data.draw(st.lists(st.sampled_from(RANKED), min_size=4, max_size=6, unique=True))
    with pytest.MonkeyPatch.context() as patch:
        if outer:
            patch.setattr(_completions, "MOST", 0)
        check(references, completed, lists, measures, outer)


@pytest.mark.parametrize("measure", ["RDQ@4", "RDQ(penalty=m1)@3", "AP@4", "Compat@4", "nDCG@4", "R@4"])
def test_no_random_completion_of_long_lists_leaves_the_bounds(measure):
    rng = np.random.default_rng(1)
    for _ in range(4):
        grades = {f"d{i}": int(grade) for i, grade in enumerate(rng.integers(0, 4, 8))}
        lists = {name: [f"d{i}" for i in rng.permutation(40)[:30]] for name in "xyz"}
        references = rd.References.from_grades({"q": grades, "other": {"d": 1, "e": 2, "f": 3}})
        found = rd.bounds(references, {name: {"q": items} for name, items in lists.items()}, measure)
        open_ = unjudged(lists, grades)
        shares = rng.dirichlet(np.ones(4), 200)
        drawn = {f"c{i}": rng.choice(4, len(open_), p=share) for i, share in enumerate(shares)}
        completed = {c: {**grades, **dict(zip(open_, values.tolist(), strict=True))} for c, values in drawn.items()}
        runs = {name: dict.fromkeys(completed, items) for name, items in lists.items()}
        scores = rd.evaluate(rd.References.from_grades(completed), runs, measure).values[:, :, 0]
        low, high = found.limits[:, :, found.scores.queries.index("q"), 0]
        assert (low[:, None] - 1e-9 <= scores).all()
        assert (scores <= high[:, None] + 1e-9).all()
        low, high = found.difference_limits[:, :, found.scores.queries.index("q"), 0]
        for pair, (a, b) in enumerate(combinations(range(3), 2)):
            assert low[pair] - 1e-9 <= (scores[a] - scores[b]).min()
            assert (scores[a] - scores[b]).max() <= high[pair] + 1e-9


def test_too_many_ways_to_fill_the_first_places_are_looked_at_in_intervals(monkeypatch):
    references = rd.References.from_grades({"q": {"a": 2, "b": 1, "c": 0}, "other": {"o": 3}})
    lists = {"x": {"q": ["u", "a", "v", "b"]}, "y": {"q": ["b", "w", "u", "c"]}}
    exact = rd.bounds(references, lists, "RDQ@3")
    monkeypatch.setattr(_completions, "MOST", 0)
    near = rd.bounds(references, lists, "RDQ@3")
    monkeypatch.setattr(_rdq_limits, "GROUPS", 1)
    far = rd.bounds(references, lists, "RDQ@3")
    for inner, outer in ((exact, near), (near, far)):
        for name in ("limits", "difference_limits"):
            assert (getattr(outer, name)[0] <= getattr(inner, name)[0] + 1e-12).all()
            assert (getattr(outer, name)[1] >= getattr(inner, name)[1] - 1e-12).all()
    assert exact.exact.all()
    assert not near.exact[:, 0].any()


def test_one_unjudged_item_is_of_one_level_or_none():
    """Two relevant items and one unjudged: nothing is added, or one item of one of three levels."""
    case = _completions.Case(
        ranks=np.array([1, 2]),
        grades=np.array([2.0, 1.0]),
        levels=np.array([3.0, 2.0, 1.0]),
        known=np.array([[0, 1]]),
        unjudged=np.array([[2]]),
        hidden=0,
        lengths=np.array([3]),
    )
    assert sorted(_rdq_limits._ways(case, 5).least.tolist()) == [2, 3, 3, 3]


@given(st.dictionaries(st.sampled_from("abcd"), st.integers(0, 1), min_size=1), SYSTEMS)
@examples(15)
def test_subsets_that_are_not_tried_do_not_leave_the_limits_of_ap(grades, lists):
    references = rd.References.from_grades({"q": {**dict.fromkeys("abcdz", 0), **grades}})
    runs = {name: {"q": items} for name, items in lists.items()}
    exact = rd.bounds(references, runs, ["AP@3", "AP"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_completions, "MOST", 0)
        patch.setattr(_extremes, "SUBSETS", -1)
        found = rd.bounds(references, runs, ["AP@3", "AP"])
    assert not found.exact_pairs.any()
    np.testing.assert_allclose(found.limits, exact.limits, atol=1e-12)
    assert (found.difference_limits[0] <= exact.difference_limits[0] + 1e-12).all()
    assert (found.difference_limits[1] >= exact.difference_limits[1] - 1e-12).all()


def test_what_lies_below_the_cutoff_changes_what_is_ideal():
    references = rd.References.from_grades({"q": {"a": 1, "b": 0}})
    row = rd.bounds(references, {"s": {"q": ["a", "b", "u"]}}, "nDCG@2").to_polars().row(0, named=True)
    assert (row["score"], row["high"]) == (1, 1)
    assert row["low"] == pytest.approx(1 / (1 + 1 / np.log2(3)))  # u could be relevant too
    assert row["judged"] == 1  # of what is looked at


def test_an_item_that_only_another_list_returned_counts_too():
    references = rd.References.from_grades({"q": {"a": 1, "b": 0}})
    lists = {"s": {"q": ["a", "b"]}, "other": {"q": ["b", "u"]}}
    low, high = rd.bounds(references, lists, "R@2").limits[:, 0, 0, 0]
    assert (low, high) == (0.5, 1)


def test_counting_unjudged_items_as_nonrelevant_is_no_lower_bound():
    references = rd.References.from_lists({"q": ["d1"]}, nonrelevant={"q": []})
    row = rd.bounds(references, {"s": {"q": ["d1", "x"]}}, "RDQ@2").to_polars().row(0, named=True)
    assert row["score"] == row["high"] == 1
    # x could be better than d1: both are one place off, with tolerances √2 (rank 1) and √2 · 1.2 (rank 2)
    assert row["low"] == pytest.approx((np.exp(-1 / (np.sqrt(2) * 1.2)) + 0.9 * np.exp(-1 / np.sqrt(2))) / 1.9)


def test_a_verdict_is_safe_where_no_completion_overturns_it():
    references = rd.References.from_lists({"q": list("abcd")}, nonrelevant={"q": ["z"]})
    lists = {"good": {"q": list("abcd")}, "poor": {"q": ["z"]}, "open": {"q": ["u", "v", "a", "b"]}}
    found = rd.bounds(references, lists, "RBP@4")
    safe = {(row["a"], row["b"]): row["safe"] for row in found.pairs().iter_rows(named=True)}
    assert safe == {("good", "poor"): True, ("good", "open"): False, ("poor", "open"): True}
    assert found.next_items()["item"].to_list() == ["u", "v"]  # the first position weighs most


@given(SYSTEMS, st.sampled_from(["RDQ@2", "AP@3", "nDCG@2", "Compat@3"]), st.booleans())
@examples(15)
def test_moves_are_the_widths_that_an_item_alone_gives(lists, measure, graded):
    lists = {"x": ["a", "u", "b"], **lists, "y": ["v", "b", "a", "u"]}
    if graded:
        references = rd.References.from_grades({"q": {"a": 2, "b": 1, "c": 0, "d": 0, "z": 0}})
        ways = [{"a": 2, "b": 1, "new": grade} for grade in (0, 1, 2)]
    else:
        references = rd.References.from_tiers({"q": [["a"], ["b"]]}, nonrelevant={"q": list("cdz")})
        ways = weak_orders([["a"], ["b"]], ["new"])
        measure = "RDQ@2" if measure == "nDCG@2" else measure
    found = rd.bounds(references, {name: {"q": items} for name, items in lists.items()}, measure)
    means = found.difference_limits[:, :, 0, 0]
    undecided = ~((means[0] > 1e-9) | (means[1] < -1e-9))
    make = rd.References.from_grades if graded else rd.References.from_tiers
    for (_, item, count), moves in zip(found.items, found.moves, strict=True):
        assert count == sum(item in items for items in lists.values())
        named = [_named(way, item) for way in ways]
        completed = make({f"c{i}": way for i, way in enumerate(named)})
        scores = rd.evaluate(
            completed, {name: dict.fromkeys(completed.queries, items) for name, items in lists.items()}, measure
        ).values[:, :, 0]
        widths = [np.ptp(scores[a] - scores[b]) for a, b in combinations(range(len(lists)), 2)]
        assert moves == pytest.approx(float(np.array(widths)[undecided].sum()), abs=1e-9)


def _named(way, item):
    if isinstance(way, dict):
        return {item if name == "new" else name: grade for name, grade in way.items()}
    return [[item if name == "new" else name for name in tier] for tier in way]


def test_too_many_places_are_not_looked_at_and_said(monkeypatch):
    monkeypatch.setattr(_completions, "MOST", 5)
    references = rd.References.from_lists({"q": list("abcd")}, nonrelevant={"q": []})
    found = rd.bounds(references, {"s": {"q": ["u", "v", "a"]}}, "RDQ@3")
    low, high = found.to_polars().row(0)[3:5]
    assert 0 <= low <= found.scores.means[0, 0] < high <= 1
    assert not found.exact.any()
    assert "not exact" in found.remarks[-1]


def test_everything_judged_leaves_nothing_open():
    references = rd.References.from_grades({"q": {"a": 1, "b": 0}, "none": {"b": 0}})
    lists = {"x": {"q": ["a", "b"], "none": ["b"]}, "y": {"q": ["b", "a"], "none": []}}
    found = rd.bounds(references, lists, ["RDQ@2", "AP", "nDCG@2", "R@1", "P@2", "Compat@2"])
    np.testing.assert_allclose(found.limits[0], found.limits[1])
    np.testing.assert_allclose(found.limits[0], found.scores.values)
    assert found.exact.all()
    assert found.exact_pairs.all()
    assert not found.items


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        ("Compat(depth=9)@5", "leave depth out"),
        ("ERR@5", "ERR.* has no bounds"),
        ("RDQ(judged_only=True)@5", "leave judged_only out"),
        ("AP(rel=2)", "leave rel out"),
        ("RBP(gains=graded)@5", "leave gains out"),
    ],
)
def test_measures_without_bounds_are_refused(measure, message):
    references = rd.References.from_grades({"q": {"a": 1}})
    with pytest.raises(rd.MeasureError, match=message):
        rd.bounds(references, {"s": {"q": ["a"]}}, measure)


def test_what_was_judged_must_be_known():
    with pytest.raises(rd.DataError, match="do not state which items were judged nonrelevant"):
        rd.bounds({"q": ["a"]}, {"s": {"q": ["a"]}}, "RDQ@5")
