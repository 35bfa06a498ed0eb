"""Which pair is asked next, and when a query is settled."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankdev.judging.items import Pool
from rankdev.judging.store import Answer
from rankdev.judging.strategies import OrderStrategy
from rankdev.preferences import tiers_from_preferences

ITEMS = "abcdefghijkl"


def judged(**rule):
    """Yield the state and the question after each answer of a consistent judge."""
    strategy = OrderStrategy(Pool.of({"q": list(ITEMS)}), **rule, seed=3)
    while strategy.unsettled() and (pair := strategy.ask()):
        strategy.tell(Answer("q", min(pair[1:]), max(pair[1:]), "first", "ann"))
        yield strategy.queries["q"], pair


@pytest.mark.parametrize("rule", [{"error": 0.05}, {"error": 0.1, "probability": 0.7}])
def test_a_query_is_settled_where_little_is_expected_to_be_wrong(rule):
    states = [(state, state.error, state.settled) for state, _ in judged(**rule)]
    assert any(error <= rule["error"] for _, error, _ in states)
    assert [settled for *_, settled in states] == [False] * (len(states) - 1) + [True]
    last = states[-1][0]
    assert last.expected(last.posterior())[1] >= rule.get("probability", 0)


def test_what_is_expected_to_be_wrong_is_what_the_tiers_say():
    states, pairs = zip(*judged(), strict=True)
    rows, state = [("q", min(a, b), max(a, b)) for _, a, b in pairs], states[-1]
    made = tiers_from_preferences(rows, rule="strict")
    assert state.posterior().coin_flips == pytest.approx(made.coin_flips["q"])
    border = min(made.separated["q"])
    assert state.expected(state.posterior())[1] == pytest.approx(border, abs=1e-6)


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.5]))
def test_questions_first_connect_every_item(seed, ties):
    rng = np.random.default_rng(seed)
    strategy = OrderStrategy(Pool.of({"q": list(ITEMS[:7])}), repeats=1, seed=seed, spread=True)
    silent = []
    connected: set[str] = set()
    while len(connected) < 7:
        _, a, b = strategy.ask(silent)
        assert not connected or len(connected & {a, b}) == 1
        if rng.random() < 0.2:  # skipped by the judge: another pair connects
            silent.append(("q", a, b))
            continue
        connected |= {a, b}
        strategy.tell(Answer("q", a, b, "tie" if rng.random() < ties else "first", "ann"))
    assert strategy.queries["q"].count == 6
