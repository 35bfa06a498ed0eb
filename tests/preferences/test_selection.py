import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import ndtr, ndtri

from rankdev.errors import DataError, UsageError
from rankdev.preferences import Decision, Preferences, next_pairs, strengths
from rankdev.preferences.active_selection import STRATEGIES, Candidates, information
from rankdev.preferences.decision import COMMON
from tests.common.examples import examples

from .simulate import every_pair, names

ITEMS = {"q1": [f"d{k}" for k in range(6)], "q2": [f"e{k}" for k in range(4)]}


def footrules(query, orders):
    """Two systems, one in the order of the items, one in the reverse order, by distance from the true order."""
    ranks = np.argsort(orders, axis=1)
    places = np.arange(orders.shape[1])
    return -np.stack([np.abs(ranks - way).sum(axis=1) for way in (places, places[::-1])], axis=1) / len(places)


GRADES = {"q1": {f"d{k}": k // 2 for k in range(6)}, "q2": {f"e{k}": 0 for k in range(4)}}


@given(mean=st.floats(-5, 5), variance=st.floats(0.0, 9.0))
@examples(40)
def test_information_is_the_mutual_information(mean, variance):
    d = mean + np.sqrt(variance) * np.linspace(-8, 8, 4001)
    density = np.exp(-(np.linspace(-8, 8, 4001) ** 2) / 2)
    p = 1 / (1 + np.exp(-d))

    def entropy(p):
        return -(p * np.log2(p) + (1 - p) * np.log2(1 - p))

    expected = entropy((p * density).sum() / density.sum()) - (entropy(p) * density).sum() / density.sum()
    assert_allclose(information(np.array([mean]), np.array([variance])), expected, atol=5e-3)  # 15 nodes


def some_candidates(strategy, n=7):
    rng = np.random.default_rng(3)
    return Candidates(rng.normal(0, 1, n), rng.normal(0, 0.5, (n, n)), strategy, rng, np.zeros(0, int), None)


@pytest.mark.parametrize("strategy", ["information", "random", "top-heavy"])
def test_a_closed_pair_is_never_the_best_again(strategy):
    pairs, seen = some_candidates(strategy), []
    for _ in range(21):
        _, best = pairs.best()
        seen.append(best)
        pairs.close(np.array([best]))
        pairs.ask(best)
    assert sorted(seen) == list(range(21))
    assert pairs.best()[0] == -np.inf


@pytest.mark.parametrize("strategy", ["information", "top-heavy"])
def test_pairs_are_worth_the_same_however_many_are_evaluated_at_a_time(strategy, monkeypatch):
    whole = some_candidates(strategy).bound
    monkeypatch.setattr("rankdev.preferences.active_selection.CELLS", 40)  # less than 7 × 7: also one row at a time
    assert_allclose(some_candidates(strategy).bound, whole, rtol=1e-12)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_budget_is_spent_on_pairs_of_one_query_each(strategy):
    judged = Preferences.from_rows(items=ITEMS)
    options = {"grades": GRADES, "scores": footrules if strategy == "decide" else None, "seed": 1}
    chosen = next_pairs(judged, 12, strategy, **options)
    assert len(chosen) == 12
    for query, a, b in chosen:
        assert a != b
        assert {a, b} <= set(ITEMS[query])
    assert chosen.to_polars().rows() == next_pairs(judged, 12, strategy, **options).to_polars().rows()


@pytest.mark.parametrize("strategy", ["random", "information"])
def test_no_pair_is_asked_twice_before_all_were_asked_once(strategy):
    chosen = next_pairs(Preferences.from_rows(items=ITEMS), 21, strategy)  # 15 + 6 pairs
    asked = {(query, *sorted(pair)) for query, *pair in chosen}
    assert len(asked) == 21 if strategy == "random" else len(asked) > 15


def test_information_connects_what_is_not_connected():
    judged = Preferences.from_rows([("q", "a", "b")] * 20 + [("q", "x", "y")] * 20)
    ((_, a, b),) = next_pairs(judged, 1)
    assert (a in "ab") != (b in "ab")


def test_grade_prior_starts_inside_the_highest_grade():
    chosen = list(next_pairs(Preferences.from_rows(items={"q1": ITEMS["q1"]}), 3, "grade-prior", grades=GRADES))
    assert chosen[0] == ("q1", "d4", "d5")
    assert set(chosen[1:]) == {("q1", "d2", "d3"), ("q1", "d0", "d1")}


def test_top_heavy_asks_about_the_head():
    rng = np.random.default_rng(0)
    judged = Preferences.from_rows(every_pair(np.linspace(3, -3, 12), 2, rng))
    place = {item: k for k, item in enumerate(strengths(judged).ordered_items()["q"])}
    mean = {
        strategy: np.mean([place[item] for _, *pair in next_pairs(judged, 20, strategy) for item in pair])
        for strategy in ("top-heavy", "information")
    }
    assert mean["top-heavy"] < mean["information"] - 1


def test_what_an_answer_tells_about_the_top_is_what_drawn_orders_say():
    """Reference implementation: draw strengths, and regress each item's credit on the answer to each pair."""
    rng, n, top = np.random.default_rng(3), 7, 3
    strength, factor = np.sort(rng.normal(size=n))[::-1], rng.normal(size=(n, n)) * 0.3 + 0.3 * np.eye(n)
    pairs = Candidates(strength, factor, "top-heavy", np.random.default_rng(0), np.zeros(0, np.int64), None, top)
    drawn = strength + rng.standard_normal((40_000, n)) @ factor.T
    place = np.argsort(np.argsort(-drawn, axis=1), axis=1) + 1
    credit = np.where(place <= top, 1 / np.log2(1 + place), 0.0)
    chance = 1 / (1 + np.exp(drawn[:, pairs.j] - drawn[:, pairs.i]))
    shared = (chance - chance.mean(axis=0)).T @ (credit - credit.mean(axis=0)) / len(drawn)
    expected = (shared**2).sum(axis=1) / (chance.mean(axis=0) * (1 - chance.mean(axis=0)))
    found = pairs.value(np.arange(len(pairs.i)))
    assert np.corrcoef(expected, found)[0, 1] > 0.97  # 400 draws, and a normal approximation
    assert 0.9 < found.sum() / expected.sum() < 1.1


@pytest.mark.slow
def test_asking_for_the_top_knows_it_better_than_asking_for_the_order():
    found = {}
    for strategy in ("top-heavy", "information"):
        right = []
        for seed in range(12):
            rng = np.random.default_rng(seed)
            strength, rows = rng.normal(size=12) * 1.5, []
            for _ in range(20):
                judged = Preferences.from_rows(rows, items={"q": names(12)})
                for _, a, b in next_pairs(judged, 2, strategy, top=3):
                    won = rng.random() < 1 / (1 + np.exp(strength[int(b[1:])] - strength[int(a[1:])]))
                    rows.append(("q", a, b) if won else ("q", b, a))
            first = strengths(Preferences.from_rows(rows), disconnected="largest").ordered_items()["q"][:3]
            right.append(strength[[int(item[1:]) for item in first]].sum() / np.sort(strength)[-3:].sum())
        found[strategy] = np.mean(right)
    assert found["top-heavy"] > found["information"]


def test_the_next_answer_is_reckoned_with():
    """After asking a pair its own gain is what a fit with one more judgment of it would give, nearly."""
    rows = every_pair(np.array([0.5, 0.0, -0.5]), 5, np.random.default_rng(0))
    judged = Preferences.from_rows(rows)
    chosen = next_pairs(judged, 2).to_polars()
    _, a, b, _ = chosen.row(0)
    after = next_pairs(Preferences.from_rows([*rows, ("q", a, b)]), 1).to_polars()
    assert chosen["gain"][1] <= chosen["gain"][0]
    assert_allclose(chosen["gain"][1], after["gain"][0], rtol=0.3)


def test_long_lists_are_sampled():
    rng = np.random.default_rng(3)
    a = rng.integers(400, size=3000)
    b = (a + 1 + rng.integers(399, size=3000)) % 400
    judged = Preferences.from_rows([("q", f"d{x}", f"d{y}") for x, y in zip(a, b, strict=True)])
    assert len(next_pairs(judged, 5)) == 5


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"budget": 0}, UsageError, "budget must be a whole number of at least 1"),
        ({"budget": 1, "strategy": "informaton"}, UsageError, "did you mean information"),
        ({"budget": 1, "strategy": "grade-prior"}, UsageError, "needs grades"),
        ({"budget": 1, "strategy": "grade-prior", "grades": {"q": {"x": 1}}}, DataError, "'y' has no grade"),
    ],
)
def test_wrong_calls(options, error, message):
    with pytest.raises(error, match=message):
        next_pairs([("q", "x", "y")], **options)


def test_single_items_cannot_be_asked_about():
    with pytest.raises(DataError, match="no query has two items"):
        next_pairs(Preferences.from_rows(items={"q": ["x"]}), 1)


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


@pytest.mark.parametrize("scores", [3, lambda query, orders: np.zeros(len(orders))])
def test_decisions_need_scores_of_every_order_and_system(scores):
    with pytest.raises(UsageError, match="scores"):
        next_pairs([("q", "x", "y")], 1, "decide", scores=scores)


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
