import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankdev as rd
from rankdev.preferences import Preferences, merge_rankings, strengths

rankings = st.integers(2, 5).flatmap(
    lambda n: st.lists(st.permutations([f"d{k}" for k in range(n)]), min_size=1, max_size=6)
)


@given(lists=rankings)
def test_scores_by_hand_and_the_order_of_bradley_and_terry(lists):
    found = merge_rankings(lists)
    table = found.to_polars()
    for item, score in table.select("item", "score").rows():
        places = [ranking.index(item) for ranking in lists]
        assert score == pytest.approx(np.mean([1 - place / (len(lists[0]) - 1) for place in places]))
    assert table["score"].is_sorted(descending=True)
    pairs = [("all", x, y) for ranking in lists for k, x in enumerate(ranking) for y in ranking[k + 1 :]]
    strict = rd.tiers(strengths(Preferences.from_rows(pairs)), rule="strict").tiers["all"]
    assert [sorted(tier) for tier in found.tiers["all"]] == [sorted(tier) for tier in strict]


def test_every_shape_of_rankings():
    first, second = {"q": ["x", "y"], "r": ["u", "v"]}, {"q": ["x", "y"], "r": ["v", "u"]}
    expected = {"q": [["x"], ["y"]], "r": [["u", "v"]]}
    assert merge_rankings([first, second]).tiers == expected
    assert merge_rankings({query: [first[query], second[query]] for query in first}).tiers == expected
    references = [rd.References.from_lists(lists) for lists in (first, second)]
    assert merge_rankings(references).references == rd.References.from_tiers(expected)
    assert merge_rankings([[["x"], ["y", "z"]], ["x", "y", "z"], ["x", "z", "y"]]).tiers["all"] == [["x"], ["y", "z"]]


def test_items_that_a_ranking_does_not_name():
    lists = [["x", "y"], ["x", "z"], ["y", "z"]]
    assert merge_rankings([["x", "y"], ["z", "x"]], unranked="unknown").tiers["all"] == [["z"], ["x"], ["y"]]
    last = merge_rankings(lists, unranked="last").scores["all"]
    assert last == pytest.approx({"x": (1 + 1 + 0) / 3, "y": 0.5, "z": 1 / 3})
    assert merge_rankings([["x"]]).tiers == {"all": [["x"]]}
