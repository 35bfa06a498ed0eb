"""Position weights from clicks: known weights are found again, and what cannot be known is refused."""

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

import rankdev as rd
from rankdev.learning._examination import examination_by_em, relative_weights
from rankdev.learning._log import ClickLog
from tests.learning.simulate import position_based_log
from tests.raising import kinds, raises

TRUTH = np.array([1.0, 0.62, 0.46, 0.38, 0.32])


def simple_em(rows, positions, steps=20_000):
    """The position-based model by EM, cell by cell."""
    units = sorted({(row["query"], row["item"]) for row in rows})
    theta = dict.fromkeys(range(1, positions + 1), 0.7)
    gamma = dict.fromkeys(units, 0.3)
    for _ in range(steps):
        seen = {p: [0.0, 0] for p in theta}
        liked = {u: [0.0, 0] for u in units}
        for row in rows:
            unit, p = (row["query"], row["item"]), row["position"]
            t, g = theta[p], gamma[unit]
            examined, attracted = (1, 1) if row["clicked"] else (t * (1 - g) / (1 - t * g), g * (1 - t) / (1 - t * g))
            seen[p] = [seen[p][0] + examined, seen[p][1] + 1]
            liked[unit] = [liked[unit][0] + attracted, liked[unit][1] + 1]
        new = {p: part / whole for p, (part, whole) in seen.items()}
        moved = max(abs(new[p] / new[1] - theta[p] / theta[1]) for p in theta)
        theta, gamma = new, {u: part / whole for u, (part, whole) in liked.items()}
        if moved < 1e-10:
            break
    return np.array([theta[p] for p in sorted(theta)]) / max(theta.values())


def test_accelerated_em_finds_what_simple_em_finds():
    log = position_based_log(np.random.default_rng(3), TRUTH[:3], sessions=150, queries=2, items=4)
    found = examination_by_em(ClickLog.from_table(log))
    assert_allclose(found, simple_em(log.to_dicts(), 3), atol=2e-4)


@pytest.mark.parametrize("method", ["harvesting", "em"])
def test_known_weights_are_found_where_click_rates_mislead(method):
    log = position_based_log(np.random.default_rng(5), TRUTH, sessions=20_000)
    error = np.abs(rd.weights_from_clicks(log, method, resamples=20).weight - TRUTH).mean()
    misled = np.abs(rd.weights_from_clicks(log, "rates", resamples=20).weight - TRUTH).mean()
    assert error < 0.015
    assert misled > 4 * error


def test_one_deterministic_ranker_is_refused():
    log = position_based_log(np.random.default_rng(0), TRUTH, shuffled=False)
    for method in ("harvesting", "em"):
        with raises("unlinked-positions", rd.DataError, groups=5, one=(1,), other=(2,)):
            rd.weights_from_clicks(log, method)


def test_rates_use_propensities():
    log = pl.DataFrame(
        {
            "item": ["x", "y", "x", "y"] * 25,
            "position": [1, 1, 2, 2] * 25,
            "clicked": [1, 0, 1, 0] * 25,
            "propensity": [0.5, 0.5, 0.2, 0.8] * 25,
        }
    )
    found = rd.weights_from_clicks(log, "rates", resamples=20)
    # inverse propensities (mean .5): 1, 1 at the first position; 2.5, .625 at the second
    expected = np.array([(25 + 0.5) / (50 + 1), (62.5 + 0.5) / (78.125 + 1)])
    assert_allclose(found.raw, expected / expected[0])


def test_matched_clicks_meet_as_in_bradley_terry():
    won = np.array([[0.0, 300.0, 0.0], [100.0, 0.0, 200.0], [0.0, 100.0, 0.0]])
    assert_allclose(relative_weights(won, won > 0), [1.0, 1 / 3, 1 / 6], rtol=0.01)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("method", ["harvesting", "em", "rates"])
def test_resamples_that_lose_connections_or_all_clicks_do_no_harm(method):
    log = pl.DataFrame({"item": list("aabb"), "position": [1, 2, 2, 1], "clicked": [1, 0, 1, 1]})
    found = rd.weights_from_clicks(log, method, resamples=50)
    assert np.isfinite([found.low, found.high]).all()
    assert_allclose(relative_weights(np.zeros((3, 3)), ~np.eye(3, dtype=bool)), 1.0)


@pytest.mark.parametrize(
    ("change", "kind", "fields"),
    [
        ({"clicked": 2}, "bad-value", {"row": 0, "name": "clicked", "value": 2}),
        ({"position": 0}, "bad-value", {"row": 0, "name": "position", "value": 0}),
        ({"position": 1}, "one-position", {"position": 1}),
        ({"clicked": 0}, "no-clicks", {}),
        ({"session": 1}, "one-session", {"session": 1}),
        ({"item": None}, "no-value", {"row": 0, "name": "item"}),
        ({"query": None}, "no-value", {"row": 0, "name": "query"}),
        ({"session": None}, "no-value", {"row": 0, "name": "session"}),
        ({"shown": 1}, "counts-of-sessions", {}),
    ],
)
def test_wrong_logs_are_refused(change, kind, fields):
    log = position_based_log(np.random.default_rng(0), TRUTH, sessions=50)
    with raises(kind, rd.DataError, **fields):
        rd.weights_from_clicks(log.with_columns(**{name: pl.lit(value) for name, value in change.items()}))


def test_columns_can_be_named():
    log = position_based_log(np.random.default_rng(0), TRUTH, sessions=500)
    renamed = log.rename({"clicked": "was", "item": "doc"})
    found = rd.weights_from_clicks(renamed, columns={"clicked": "was", "item": "doc"}, resamples=20)
    assert found.weight.tolist() == rd.weights_from_clicks(log, resamples=20).weight.tolist()
    with raises("no-column", rd.UsageError, role="columns", name="wass"):
        rd.weights_from_clicks(renamed, columns={"clicked": "wass"})


def test_counts_give_what_their_impressions_give():
    log = position_based_log(np.random.default_rng(5), TRUTH, sessions=3000)
    counts = log.group_by("query", "item", "position").agg(shown=pl.len(), clicked=pl.col("clicked").sum())
    for method in ("harvesting", "em"):
        whole, counted = (rd.weights_from_clicks(part, method, resamples=50) for part in (log, counts))
        assert_allclose(counted.weight, whole.weight, rtol=1e-5)
        width, other = (part.high - part.low for part in (whole, counted))
        assert_allclose(other, width, atol=0.05)


def test_views_by_position_are_weights():
    views = pl.DataFrame({"position": [1, 2, 3], "shown": [1000, 1000, 500], "views": [900, 450, 90]})
    found = rd.weights_from_clicks(views, "rates", resamples=50)
    assert_allclose(found.weight, [1, 0.5, 0.2], atol=0.002)
    assert found.low[1] < 0.5 < found.high[1]
    many = views.with_columns(pl.col("shown", "views") * 10**10)
    assert_allclose(rd.weights_from_clicks(many.with_columns(item=1), resamples=5).weight, [1, 0.5, 0.2], atol=1e-4)
    with raises("no-column", rd.DataError, name="item"):
        rd.weights_from_clicks(views)
    with raises("no-rows", rd.DataError):
        rd.weights_from_clicks(views.with_columns(session=1).clear())


@pytest.mark.parametrize(("shown", "clicked"), [(3, 4), (1.5, 1), (-1, 0)])
def test_impossible_counts_are_refused(shown, clicked):
    log = pl.DataFrame({"item": ["a", "a"], "position": [1, 2], "shown": [9.0, shown], "clicked": [1, clicked]})
    with raises("bad-counts", rd.DataError, row=1, shown=shown, clicked=clicked):
        rd.weights_from_clicks(log)


def trusting(rng, trust, items=400, often=6):
    """Counts of users who click at the top on what does not attract them, as far as they trust."""
    attraction, item = rng.beta(1, 2, items), np.repeat(np.arange(items), len(TRUTH))
    place = np.tile(np.arange(len(TRUTH)), items)
    chance = attraction[item] + (1 - attraction[item]) * trust * 0.6 * 0.5**place
    shown = 1 + rng.poisson(often, len(item))
    columns = {"item": item, "position": place + 1, "shown": shown}
    return pl.DataFrame({**columns, "clicked": rng.binomial(shown, chance * np.array(TRUTH)[place])})


@pytest.mark.parametrize(("trust", "noticed"), [(0.0, False), (1.0, True)])
def test_trust_in_the_top_results_is_noticed(trust, noticed):
    for seed in range(3):
        found = rd.weights_from_clicks(trusting(np.random.default_rng(seed), trust), resamples=10)
        assert ("trust-bias" in kinds(found.remarks)) == noticed
        assert ("poor-fit" in kinds(found.remarks)) == noticed
