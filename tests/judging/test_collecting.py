"""The loop asks few questions, keeps every answer, and stops by rule."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import rankdev as rd
from rankdev import judging
from rankdev.judging.items import Pool
from rankdev.judging.strategies import OrderStrategy
from tests.raising import noted, raises

LETTERS = list("hcafbgde")


def alphabetical(query, a, b):
    return min(a, b)


def noisy(strength, seed):
    """A judge by Bradley and Terry's model."""
    rng = np.random.default_rng(seed)

    def judge(query, a, b):
        return a if rng.random() < 1 / (1 + np.exp(strength[query][b] - strength[query][a])) else b

    return judge


def drawn(queries, items, seed, spread=1.5):
    rng = np.random.default_rng(seed)
    return {f"q{q}": {f"d{k}": float(x) for k, x in enumerate(rng.normal(size=items) * spread)} for q in range(queries)}


def test_a_consistent_judge_gives_the_order():
    found = rd.collect(alphabetical, {"q": LETTERS})
    assert found.references["q"].tiers == [[letter] for letter in sorted(LETTERS)]
    assert found.asked == len(found.preferences) <= 40
    assert found.stopped == "order settled"


def test_the_budget_is_kept_and_no_pair_is_asked_more_often_than_allowed():
    found = rd.collect(alphabetical, {"q": LETTERS, "r": LETTERS[:3]}, budget=12, repeats=1)
    assert (found.asked, found.stopped) == (12, "budget spent")
    pairs = Counter(
        (query, *sorted(pair)) for query, *pair in found.to_polars().select("query", "first", "second").rows()
    )
    assert max(pairs.values()) == 1


def test_repeats_are_limited_and_swapped():
    found = rd.collect(lambda query, a, b: None, {"q": ["x", "y", "z"]}, repeats=2, budget=10)
    assert found.stopped == "no useful pair left to ask"
    shown = found.to_polars().select("first", "second").rows()
    assert sorted(shown) == sorted((a, b) for a in "xyz" for b in "xyz" if a != b)
    assert found.preferences.tie.all()


def test_sides_are_random_but_seeded():
    first = [rd.collect(alphabetical, {"q": LETTERS}, seed=seed).to_polars()["first"].to_list() for seed in (0, 0, 1)]
    assert first[0] == first[1] != first[2]
    order = rd.collect(alphabetical, {f"q{k}": LETTERS for k in range(20)}, budget=200).preferences.winner_first
    assert 0.35 < order.mean() < 0.65


def test_equal_items_are_given_up():
    rng = np.random.default_rng(0)
    found = rd.collect(lambda query, a, b: (a, b)[rng.integers(2)], {"q": LETTERS})
    assert found.stopped == "more answers would hardly help"
    assert found.asked == 48  # 2 · 8 log₂ 8
    assert found.unsettled == ("q",)
    noted(found.remarks, "out-of-reach", count=1, queries=1)
    assert rd.collect(lambda query, a, b: (a, b)[rng.integers(2)], {"q": LETTERS}, budget=28).asked == 28


def test_a_perfect_judge_is_asked_little_more_than_sorting_needs():
    truth = drawn(2, 20, 1)
    found = rd.collect(perfect(truth), {q: list(items) for q, items in truth.items()})
    assert found.stopped == "order settled"
    assert max(found.summary()["asked"]) <= 115
    for query, items in truth.items():
        ordered = rd.References.from_preferences(found.preferences, rule="strict")[query]
        assert wrong_pairs(ordered, items) <= 0.05
        assert len(found.references[query].tiers) >= 8


def perfect(truth):
    return lambda query, a, b: max(a, b, key=truth[query].get)


def wrong_pairs(reference, strength):
    """The share of pairs that a reference has not in their true order."""
    pairs = [(a, b) for a in strength for b in strength if strength[a] > strength[b]]
    return float(np.mean([reference[a] >= reference[b] for a, b in pairs]))


def test_grades_are_a_start():
    grades = {"q": {"x": 2, "y": 2, "z": 0}}
    found = rd.collect(alphabetical, grades, budget=1)
    assert set(found.to_polars().select("first", "second").row(0)) == {"x", "y"}
    ordered = rd.References.from_preferences(found.preferences, rule="strict")
    assert ordered["q"]["z"] > ordered["q"]["x"]
    assert rd.collect(alphabetical, rd.References.from_grades({"q": {"x": 2, "y": 1}}), budget=1).asked == 1


def test_the_judge_sees_ids_as_text_and_may_answer_with_numbers():
    seen = []
    rd.collect(lambda *asked: seen.append(asked) or max(int(asked[1]), int(asked[2])), {1: [10, 9, 8]}, budget=3)
    assert all(isinstance(value, str) for asked in seen for value in asked)


@pytest.mark.parametrize("said", ["z", 1, True, ("x", "y"), "tie", np.array(["x"]), np.array(["v"])])
def test_anything_else_is_refused_and_the_answers_are_kept(said):
    answers = iter(["x", said])
    with raises("not-an-answer", judging.JudgeError, query="q", answers=1) as caught:
        rd.collect(lambda query, a, b: next(answers), {"q": ["x", "y", "v"]})
    assert caught.value.collected.asked == len(caught.value.collected.preferences) == 1


def test_going_on_from_a_file_gives_what_one_call_gives(tmp_path):
    truth = drawn(4, 6, 5)
    items = {q: list(entries) for q, entries in truth.items()}

    def judge(query, a, b):
        return a if truth[query][a] > truth[query][b] else b

    whole = rd.collect(judge, items, budget=20, seed=3)
    path = tmp_path / "answers.sqlite"
    for budget in (7, 20):
        found = rd.collect(judge, items, budget=budget, seed=3, file=path)
    assert found.to_polars().equals(whole.to_polars())
    names = ["query", "winner", "loser", "tie", "first"]
    assert rd.read_preferences(path).to_polars().select(names).equals(found.preferences.to_polars().select(names))


@pytest.mark.parametrize("seed", range(2))
def test_an_answer_taken_back_leaves_the_next_question_as_it_was(seed):
    truth = drawn(1, 7, seed)
    items = {q: list(entries) for q, entries in truth.items()}
    found = rd.collect(noisy(truth, 7), items, budget=13)
    strategies = [OrderStrategy(Pool.of(items), repeats=2, seed=0) for _ in range(2)]
    for strategy in strategies:
        for answer in found.answers:
            strategy.tell(answer)
    last = replace(found.answers[-1], outcome="tie")
    strategies[1].unsettled()
    strategies[1].tell(last)
    strategies[1].unsettled()
    strategies[1].tell(last, -1)
    assert strategies[0].ask() == strategies[1].ask()
