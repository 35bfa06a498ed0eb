from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankdev as rd
from rankdev.errors import DataError, UsageError
from rankdev.preferences import merge_rankings
from rankdev.preferences.rank_aggregation import kemeny_order, plackett_luce
from tests.raising import raises

rankings = st.integers(2, 5).flatmap(
    lambda n: st.lists(st.permutations([f"d{k}" for k in range(n)]), min_size=1, max_size=6)
)


def distance(order, lists):
    place = {item: k for k, item in enumerate(order)}
    return sum(place[x] > place[y] for ranking in lists for k, x in enumerate(ranking) for y in ranking[k + 1 :])


@given(lists=rankings)
def test_kemeny_is_the_best_of_all_orders(lists):
    found = merge_rankings(lists)
    order = [item for tier in found.tiers["all"] for item in tier]
    costs = sorted(distance(other, lists) for other in permutations(lists[0]))
    assert distance(order, lists) == costs[0]
    tied = np.prod([float(len([*permutations(tier)])) for tier in found.tiers["all"]])
    assert (found.remarks == ()) == (costs.count(costs[0]) == tied)


def test_long_lists_without_circles_are_exact_too():
    order = [f"d{k}" for k in range(60)]
    swapped = [*order[:10], order[11], order[10], *order[12:]]
    assert merge_rankings([order, swapped, order]).references["all"] == rd.Reference.from_list(order)
    rng = np.random.default_rng(0)
    with raises("long-cycle", DataError, query="q", most=14):
        merge_rankings({"q": [rng.permutation(60).tolist() for _ in range(3)]})


def test_groups_come_in_the_order_of_their_majorities():
    ahead = np.zeros((4, 4))
    ahead[2, 0] = ahead[0, 1] = ahead[2, 1] = ahead[3, 2] = ahead[3, 0] = ahead[3, 1] = 1
    assert kemeny_order(ahead)[0].tolist() == [3, 2, 0, 1]


@given(lists=rankings)
def test_borda_by_hand(lists):
    found = merge_rankings(lists, "borda").to_polars()
    for item, score in found.select("item", "score").rows():
        places = [ranking.index(item) for ranking in lists]
        assert score == pytest.approx(np.mean([1 - place / (len(lists[0]) - 1) for place in places]))
    assert found["score"].round(9).is_sorted(descending=True)


@given(seed=st.integers(0, 1000), n=st.integers(3, 7), count=st.integers(20, 40))
def test_plackett_luce_beside_choix(seed, n, count):
    choix = pytest.importorskip("choix")
    rng = np.random.default_rng(seed)
    lists = [rng.permutation(n).tolist() for _ in range(count)]
    ours = plackett_luce([[[item] for item in ranking] for ranking in lists], n, 1e-9)[0]
    assert ours == pytest.approx(choix.ilsr_rankings(n, lists, tol=1e-10), abs=1e-5)


@given(seed=st.integers(0, 1000), n=st.integers(3, 6))
def test_best_of_k_beside_choix(seed, n):
    choix = pytest.importorskip("choix")
    rng = np.random.default_rng(seed)
    best = [rng.permutation(n)[:3].tolist() for _ in range(80)]
    ours = plackett_luce([[[first], rest] for first, *rest in best], n, 1e-9)[0]
    theirs = choix.ilsr_top1(n, [(first, rest) for first, *rest in best], tol=1e-10)
    assert ours == pytest.approx(theirs, abs=1e-4)


def test_every_shape_of_rankings():
    first, second = {"q": ["x", "y"], "r": ["u", "v"]}, {"q": ["x", "y"], "r": ["v", "u"]}
    expected = {"q": [["x"], ["y"]], "r": [["u", "v"]]}
    assert merge_rankings([first, second]).tiers == expected
    assert merge_rankings({query: [first[query], second[query]] for query in first}).tiers == expected
    references = [rd.References.from_lists(lists) for lists in (first, second)]
    assert merge_rankings(references).tiers == expected
    assert merge_rankings([[["x"], ["y", "z"]], ["x", "y", "z"], ["x", "z", "y"]], "borda").tiers["all"] == [
        ["x"],
        ["y", "z"],
    ]


def test_items_that_a_ranking_does_not_name():
    lists = [["x", "y"], ["x", "z"], ["y", "z"]]
    assert merge_rankings([["x", "y"], ["z", "x"]], unranked="unknown").tiers["all"] == [["z"], ["x"], ["y"]]
    last = merge_rankings(lists, "borda", unranked="last").to_polars()
    assert dict(last.select("item", "score").rows()) == pytest.approx({"x": (1 + 1 + 0) / 3, "y": 0.5, "z": 1 / 3})


def test_strengths_come_with_intervals():
    found = merge_rankings([["x", "y", "z"]] * 4 + [["y", "x", "z"]], "plackett-luce").to_polars()
    assert found["item"].to_list() == ["x", "y", "z"]
    assert (found["low"] < found["score"]).all()
    assert (found["score"] < found["high"]).all()


@pytest.mark.parametrize(
    ("wrong", "kind", "fields"),
    [
        ({"q": ["x", "y"]}, "bad-value", {"query": "q", "name": "ranking", "value": "x"}),
        ({"q": "xy"}, "bad-value", {"query": "q", "name": "rankings", "value": "xy"}),
        ({"q": [{"x": 1, "y": 2}]}, "bad-value", {"name": "ranking"}),
        ([], "none-given", {"what": "rankings"}),
    ],
)
def test_refusals(wrong, kind, fields):
    with raises(kind, DataError, **fields):
        merge_rankings(wrong)


@pytest.mark.parametrize("ranking", [["x", "x"], ["x", None]])
def test_items_of_a_ranking_are_different_names(ranking):
    with pytest.raises(DataError):
        merge_rankings({"q": [ranking]})


def test_wrong_options():
    with raises("not-a-choice", UsageError, name="method", near="kemeny"):
        merge_rankings([["x", "y"]], "kemney")
    with raises("not-a-number", UsageError, name="ridge"):
        merge_rankings([["x", "y"]], ridge=0)


def test_agreement_with_the_rankings():
    found = merge_rankings({"q": [["x", "y", "z"], ["x", "z", "y"], ["x", "y", "z"]]})
    assert found.agreement["q"] == pytest.approx(8 / 9)
