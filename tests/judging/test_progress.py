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
    expected_information,
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
