"""When a query is settled, and what is asked where only the judge keeps it open."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankdev.judging._strategies import OrderStrategy
from rankdev.judging.items import Pool
from rankdev.judging.progress import (
    SCATTER,
    WAIT,
    Rule,
    _by_part,
    _discordant,
    about_the_statement,
    expected_information,
    foreseen,
)
from rankdev.preferences.expectation_propagation import chances
from rankdev.preferences.posterior import Posteriors

ITEMS = "abcdefghijkl"


def judged(rule):
    """Yield the strategy after each answer of a consistent judge."""
    strategy = OrderStrategy(Pool.of({"q": list(ITEMS)}), rule, repeats=1, seed=3)
    while strategy.unsettled():
        _, a, b = strategy.ask()
        strategy.tell("q", min(a, b), max(a, b))
        yield strategy, strategy.queries["q"]


@pytest.mark.parametrize("rule", [Rule(0.15, top=4), Rule(0.15, 0.8, top=4)])
def test_a_stop_waits_until_the_kind_of_judge_makes_no_difference(rule):
    waited, state = 0, None
    for _, state in judged(rule):
        error, reached, stated, scatter = state._progress()
        assert error == state.error
        if state.by_judge is not None:
            waited += 1
            assert reached
            assert scatter > SCATTER
            assert not state.settled
            assert state.by_judge == pytest.approx(stated)
    assert state.settled
    assert waited > 0
    assert state.count <= 1 + WAIT * state.usual


def test_nothing_is_waited_for_when_every_pair_was_asked():
    strategy = OrderStrategy(Pool.of({"q": list("abcde")}), Rule(0.3, 0.5, top=2), repeats=1, seed=0)
    for k, a in enumerate("abcde"):
        for b in "abcde"[k + 1 :]:
            strategy.tell("q", a, b)
    assert strategy.unsettled() == []


def test_the_top_that_is_stated_is_that_of_the_strengths():
    *_, (strategy, state) = judged(Rule(0.1, top=4))
    best = np.argsort(-strategy.strengths()["q"], kind="stable")[:4]
    drawn = np.zeros((2, len(ITEMS)))
    drawn[0, best], drawn[1, best[:3]] = 1 + np.arange(4), 1.0
    drawn[1, np.setdiff1d(np.arange(len(ITEMS)), best)[0]] = 1.0
    assert state._wrong_at_top(drawn, 4) == pytest.approx([0.0, 0.25])


def test_a_tie_among_consistent_answers_is_foreseen():
    posteriors = Posteriors([10])
    for i, j in zip(*np.triu_indices(10, 1), strict=True):
        posteriors.tell(0, i, j, tie=i == 8)
    assert foreseen(posteriors[0], Rule(0.05), 1, np.random.default_rng(0)) is None  # strengths far apart: in reach


@given(st.integers(0, 10**6), st.integers(2, 9))
def test_pairs_in_another_order_are_counted_equal_strengths_by_the_later_item(seed, n):
    rng = np.random.default_rng(seed)
    drawn, strength = rng.normal(size=(5, n)), rng.integers(0, 4, n) * 1.0
    i, j = np.triu_indices(n, 1)
    plain = ((drawn[:, i] > drawn[:, j]) != (strength[i] > strength[j])).mean(axis=1)
    assert _discordant(drawn, strength) == pytest.approx(plain)


@given(st.integers(0, 10**6))
def test_values_of_parts_are_averaged_and_their_scatter_is_not_that_of_few_draws(seed):
    rng = np.random.default_rng(seed)
    weight = rng.dirichlet(np.ones(3))
    part, values = rng.choice(3, 200, p=weight), rng.random(200)
    means, scatter = _by_part(values, part, weight)
    for k in set(part.tolist()):
        assert means[k] == pytest.approx(values[part == k].mean())
    plain = float(np.sqrt(weight @ (means - weight @ means) ** 2))
    assert 0 <= scatter <= plain
    constant, between = _by_part(part * 1.0, part, weight)  # nothing varies within a part
    assert between == pytest.approx(np.sqrt(weight @ (constant - weight @ constant) ** 2))


@given(st.integers(0, 10**6))
def test_what_an_answer_explains_is_the_variance_that_bayes_rule_takes_away(seed):
    rng = np.random.default_rng(seed)
    posteriors = Posteriors([5])
    for _ in range(6):
        posteriors.tell(0, *rng.choice(5, 2, replace=False))
    mixture = posteriors[0]
    stated, i, j = rng.random(len(mixture.weight)), np.array([0]), np.array([1])
    d, variance = mixture.difference(i, j)
    win = chances(d / np.sqrt(1 + np.pi / 8 * variance), mixture.lapse[:, None], 0.0)[0][:, 0]

    def spread(weight):
        weight = weight / weight.sum()
        return weight @ (stated - weight @ stated) ** 2

    left = sum((mixture.weight @ chance) * spread(mixture.weight * chance) for chance in (win, 1 - win))
    assert about_the_statement(mixture, i, j, stated)[0] == pytest.approx(spread(mixture.weight) - left, abs=1e-12)


def plain_information(mixture, i, j):
    """Mutual information of one pair's answer with strengths and judge, by sums over many small steps."""
    d, variance = mixture.difference(np.array([i]), np.array([j]))
    means, within = [], 0.0
    for part, (centre, width) in enumerate(zip(d[:, 0], np.sqrt(variance[:, 0]), strict=True)):
        x = np.union1d(centre + width * np.linspace(-8, 8, 4001), np.linspace(-40, 40, 4001))
        weight = np.gradient(x) * np.exp(-0.5 * ((x - centre) / width) ** 2)
        weight /= weight.sum()
        chance = np.stack(chances(x, mixture.lapse[part], mixture.tie_rate)[: 3 if mixture.tie_rate else 2])
        means.append(chance @ weight)
        within -= mixture.weight[part] * (weight * chance * np.log2(np.maximum(chance, 1e-300))).sum()
    mean = mixture.weight @ np.array(means)
    return -(mean * np.log2(np.maximum(mean, 1e-300))).sum() - within


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.3]))
def test_information_is_that_of_plain_sums_however_far_strengths_scatter(seed, ties):
    rng = np.random.default_rng(seed)
    posteriors = Posteriors([6])
    for _ in range(rng.integers(0, 9)):
        a, b = sorted(rng.choice(6, 2, replace=False).tolist())
        posteriors.tell(0, a, b, tie=rng.random() < ties)
    mixture = posteriors[0]
    i, j = np.triu_indices(6, 1)
    found = expected_information(mixture, i, j)
    for pair in rng.choice(15, 3, replace=False):
        assert found[pair] == pytest.approx(plain_information(mixture, i[pair], j[pair]), abs=0.002)


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.5]))
def test_questions_about_the_order_first_connect_every_item(seed, ties):
    rng = np.random.default_rng(seed)
    strategy = OrderStrategy(Pool.of({"q": list(ITEMS[:7])}), Rule(), repeats=1, seed=seed, spread=True)
    silent = []
    connected: set[str] = set()
    while len(connected) < 7:
        _, a, b = strategy.ask(silent)
        assert not connected or len(connected & {a, b}) == 1
        if rng.random() < 0.2:  # skipped by the judge: another pair connects
            silent.append(("q", a, b))
            continue
        connected |= {a, b}
        strategy.tell("q", a, b, tie=rng.random() < ties)
    assert strategy.posteriors.count(0) == 6
