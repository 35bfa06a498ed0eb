"""What does not hold, with the numbers of the definitions page (α = 1, λ = 0.2, default weights)."""

from itertools import permutations

import rankdev as rd
from tests.common.one_ranking import rdq

THREE = ["d1", "d2", "d3"]
FIVE = ["d1", "d2", "d3", "d4", "d5"]


def test_an_item_outside_the_reference_on_top_can_beat_moving_everything_up():
    above = rdq(FIVE, ["x", "d2", "d3", "d4", "d5"], k=5, penalty="m1")
    below = rdq(FIVE, ["d2", "d3", "d4", "d5", "x"], k=5, penalty="m1")
    # (0.9 + 0.8 + 0.8 + 0.7) / 4.2 and (1/2 + 0.9·2/3 + 0.8·3/4 + 0.8·4/5) / 4.2
    assert (round(above, 4), round(below, 4)) == (0.7619, 0.5571)


def test_complete_reversal_is_not_the_worst_order():
    worst = min(permutations(THREE), key=lambda order: rdq(THREE, order, k=5))
    assert worst != ("d3", "d2", "d1")


def test_m2_a_better_item_can_lower_the_score_far_from_its_place():
    # 0.9 / 1.9, and 0.9 · exp(−1/√2) / 1.9
    assert round(rdq(["d1", "d2"], ["x", "d2"], k=2), 4) == 0.4737
    assert round(rdq(["d1", "d2"], ["x", "d1"], k=2), 4) == 0.2336


def test_m2_a_longer_reference_raises_the_score_of_the_same_list():
    # Exp7 and Exp8 of the paper
    run = ["x", "d1", "d2", "d3", "d4"]
    short, long = (rdq([f"d{i}" for i in range(1, size + 1)], run, k=5) for size in (6, 20))
    assert (round(short, 4), round(long, 4)) == (0.5494, 0.6367)


def test_the_best_order_of_returned_items_is_not_a_sort_by_rank():
    # sorted and on top, d4 and d5 stand three places from their own; below x they are nearer, d4 at one place
    explanation = rd.explain(FIVE, ["d4", "d5", "x"], k=5)
    assert explanation.best_order == ("x", "d5", "d4")
    assert explanation.best_score > rdq(FIVE, ["x", "d4", "d5"], k=5) > rdq(FIVE, ["d4", "d5", "x"], k=5)
