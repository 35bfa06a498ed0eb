import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri

from rankdev.errors import UsageError
from rankdev.preferences import Decision, Preferences
from rankdev.preferences.decision import COMMON
from tests.common.examples import examples
from tests.raising import raises

ITEMS = {"q1": [f"d{k}" for k in range(6)], "q2": [f"e{k}" for k in range(4)]}


def footrules(query, orders):
    """Two systems, one in the order of the items, one in the reverse order, by distance from the true order."""
    ranks = np.argsort(orders, axis=1)
    places = np.arange(orders.shape[1])
    return -np.stack([np.abs(ranks - way).sum(axis=1) for way in (places, places[::-1])], axis=1) / len(places)


def judgments_until_decided(strategy, seed):
    """Ask about 8 queries of 6 items until which of two systems is better is decided with probability .95."""
    rng = np.random.default_rng(seed)
    truth = {f"q{k}": rng.normal(size=6) * 1.5 for k in range(8)}
    ways = {
        query: [np.argsort(np.argsort(-(strength + rng.normal(size=6) * noise))) for noise in (0.5, 4.0)]
        for query, strength in truth.items()
    }

    def scores(query, orders):
        ranks = np.argsort(orders, axis=1)
        return -np.stack([np.abs(ranks - way).sum(axis=1) for way in ways[query]], axis=1)

    decision = Decision(Preferences.from_rows(items={query: [f"d{k}" for k in range(6)] for query in truth}), scores)
    true = {query: scores(query, np.argsort(-strength)[None])[0] for query, strength in truth.items()}
    for asked in range(300):
        verdict = decision.verdict()
        if verdict.probability >= 0.95:
            return asked, verdict.best == int(np.argmax(sum(true.values())))
        if strategy == "decide":
            query, a, b = decision.ask()
        else:
            query = f"q{rng.integers(8)}"
            a, b = (f"d{k}" for k in rng.choice(6, 2, replace=False))
        lead = truth[query][int(a[1:])] - truth[query][int(b[1:])]
        decision.tell(query, *((a, b) if rng.random() < 1 / (1 + np.exp(-lead)) else (b, a)))
    return 300, False


@pytest.mark.parametrize("trials", [2, pytest.param(12, marks=pytest.mark.slow)])
def test_deciding_pairs_decide_sooner(trials):
    asked = {
        strategy: [judgments_until_decided(strategy, seed) for seed in range(trials)]
        for strategy in ("decide", "random")
    }
    mean = {strategy: np.mean([number for number, _ in runs]) for strategy, runs in asked.items()}
    assert mean["decide"] < 0.8 * mean["random"]
    assert np.mean([right for _, right in asked["decide"]]) >= 0.8


@pytest.mark.parametrize(
    ("scores", "kind"), [(3, "bad-value"), (lambda query, orders: np.zeros(len(orders)), "scores-of-orders")]
)
def test_decisions_need_scores_of_every_order_and_system(scores, kind):
    with raises(kind, UsageError):
        Decision(Preferences.from_rows([("q", "x", "y")]), scores)


@pytest.mark.parametrize(
    ("values", "best", "difference", "probability"),
    [((2.0, 1.0), 0, 1.0, 1.0), ((1.0, 3.0), 1, 2.0, 1.0), ((1.0, 1.0), 0, 0.0, 0.5)],
)
def test_a_difference_that_no_order_changes_is_certain(values, best, difference, probability):
    """Scores that do not depend on the order of items have variance 0: one system is better, or both are equal."""
    judged = Preferences.from_rows(items={"q1": ["x", "y"], "q2": ["x", "y", "z"]})
    decision = Decision(judged, lambda query, orders: np.tile(values, (len(orders), 1)))
    found = decision.verdict()
    assert (found.best, found.other) == (best, 1 - best)
    assert (found.difference, found.probability) == (difference, probability)
    assert decision.left(0.95) == 0.0


def test_a_difference_that_orders_change_is_not_certain():
    """x or y first decides; before any answer both are equally likely, and after one the winner's system leads."""
    decision = Decision(
        Preferences.from_rows(items={"q": ["x", "y"]}),
        lambda query, orders: np.stack([orders[:, 0] == 0, orders[:, 0] == 1], axis=1),
    )
    assert decision.verdict().probability == pytest.approx(0.5, abs=1e-9)
    decision.tell("q", "x", "y")
    assert decision.verdict().best == 0
    assert 0.5 < decision.verdict().probability < 0.95


def preferring(items):
    """Score systems by the true place of the item that each returns first, given by its number."""
    return lambda query, orders: -np.argsort(orders, axis=1)[:, items].astype(float)


@given(seed=st.integers(0, 10**6), queries=st.integers(1, 6))
@examples(60, deadline=None)
def test_what_queries_have_in_common_is_that_of_normal_differences(seed, queries):
    """The probability is that of correlated normal differences, by their whole covariance matrix."""
    rng = np.random.default_rng(seed)
    first = {f"q{k}": rng.choice(5, 2, replace=bool(k == 0)) for k in range(queries)}  # may be equal in one query
    scores = lambda query, orders: preferring(first[query])(query, orders)  # noqa: E731
    decision = Decision(Preferences.from_rows(items={query: list("abcde") for query in first}), scores)
    for _ in range(rng.integers(0, 4 * queries)):
        a, b = rng.choice(5, 2, replace=False)
        decision.tell(f"q{rng.integers(queries)}", "abcde"[a], "abcde"[b])
    now = np.array([query.scores[:, 0] - query.scores[:, 1] for query in decision._queries])
    before = np.array([query.unjudged[:, 0] - query.unjudged[:, 1] for query in decision._queries])
    fixed, kept = now[before.var(axis=1) < 1e-9].mean(axis=1).sum(), before.var(axis=1) > 1e-9
    now, before = now[kept], before[kept]
    if not len(now):
        return
    spread, variance = before.std(axis=1), np.clip(now.var(axis=1), 1e-12, before.var(axis=1))
    told = now.mean(axis=1) / variance - before.mean(axis=1) / spread**2  # by the answers, besides the prior
    prior = np.linalg.inv(np.diag(spread**2) + COMMON * np.outer(spread, spread))
    covariance = np.linalg.inv(prior + np.diag(1 / variance - spread**-2))
    mean = fixed + (covariance @ (prior @ before.mean(axis=1) + told)).sum()
    deviation = np.sqrt(covariance.sum() + (now.var(axis=1) - variance).sum())
    found = decision.verdict()
    assert found.probability == pytest.approx(float(ndtr(abs(mean) / deviation)))
    assert found.best == int(mean < 0)
    assert found.difference == pytest.approx(abs(mean) / queries)


def test_a_lead_in_some_queries_counts_in_others_and_for_either_system():
    """The first item of each system is compared in 6 of 12 queries: the winners' system leads in the others too."""
    items = {f"q{k}": list("xyabc") for k in range(12)}
    chances = []
    for winner, loser in ("xy", "yx"):
        decision = Decision(Preferences.from_rows(items=items), preferring([0, 1]))
        assert decision.verdict().probability == pytest.approx(0.5, abs=0.1)
        for k in range(6):
            decision.tell(f"q{k}", winner, loser)
        found = decision.verdict()
        assert found.best == "xy".index(winner)
        alone = np.mean([query.scores[:, found.best] - query.scores[:, found.other] for query in decision._queries])
        assert found.difference > 1.3 * alone
        chances.append(found.probability)
    assert chances[0] == pytest.approx(chances[1], abs=0.05)


def test_what_is_left_counts_what_a_query_tells_of_others():
    """An answer takes a query's gain times what it explains there off the variance of the whole difference."""
    decision = Decision(Preferences.from_rows(items={f"q{k}": list("xyabc") for k in range(8)}), preferring([0, 1]))
    for query, winner, loser in (("q0", "x", "y"), ("q1", "x", "a"), ("q2", "b", "y"), ("q3", "y", "x")):
        decision.tell(query, winner, loser)
    *_, apart, variance, gain = decision._lead()
    for number, query in enumerate(decision._queries):
        kept, centre = query.scores, query.scores.mean(axis=0)
        query.scores = centre + (kept - centre) * (1 - 1e-5)
        fallen = [np.var(scores[:, 0] - scores[:, 1]) for scores in (kept, query.scores)]
        assert (variance - decision._lead()[3]) / (fallen[0] - fallen[1]) == pytest.approx(gain[number], rel=1e-3)
        query.scores = kept
    number, _, value = decision._best()
    excess = variance - (apart / float(ndtri(0.95))) ** 2
    assert decision.left(0.95) == pytest.approx(excess / (value * gain[number]))
