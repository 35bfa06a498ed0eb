import numpy as np
import pytest
from scipy import stats

from rankdev.errors import DataError, UsageError
from rankdev.evaluation.scores import Scores
from rankdev.statistics.planning import bounded_effect, heaviness, plan
from rankdev.statistics.t_power import detectable_effect, power_of, queries_for, t_power
from tests.raising import noted, raises, warns


@pytest.fixture
def pilot(make_scores, rng):
    """Fifty queries whose differences have mean .05 and deviation .2 exactly."""
    apart = rng.normal(0, 1, 50)
    apart = 0.05 + 0.2 * (apart - apart.mean()) / apart.std(ddof=1)
    return make_scores([0.3 + apart, np.full(50, 0.3)])


@pytest.mark.parametrize(("effect", "queries"), [(0.2, 199), (0.5, 34), (0.8, 15)])
def test_needed_queries_are_those_of_published_tables(effect, queries):
    # G*Power 3, two dependent means, two tails, power .8, α .05
    assert queries_for(effect, 0.8, 0.05) == queries


@pytest.mark.parametrize("n", [6, 10, 40])
@pytest.mark.parametrize("effect", [0.0, 0.1, 0.5])
def test_power_agrees_with_the_noncentral_distribution(n, effect):
    critical, shift = stats.t.ppf(0.975, n - 1), effect * np.sqrt(n)
    expected = stats.nct.sf(critical, n - 1, shift) + stats.nct.cdf(-critical, n - 1, shift)
    assert t_power(n, effect, 0.05) == pytest.approx(expected, abs=1e-5)
    assert power_of(n, 0.05)(np.array([-effect])) == pytest.approx(expected, abs=1e-4)


def test_a_plan_by_known_numbers(pilot):
    found = plan(pilot, "s0", "s1", "m0", difference=0.1)
    assert (found.observed, found.deviation) == (pytest.approx(0.05), pytest.approx(0.2))
    assert found.queries == queries_for(0.5, 0.8, 0.05) == 34
    assert found.low < found.queries < found.assured < found.high
    assert found.detectable == pytest.approx(0.2 * detectable_effect(50, 0.8, 0.05))
    assert t_power(50, found.detectable / 0.2, 0.05) == pytest.approx(0.8)
    assert found.to_polars().filter(n=34)["analytic"][0] == pytest.approx(0.808, abs=0.001)


def test_without_a_difference_the_interval_carries_its_uncertainty(pilot, make_scores, rng):
    stated, taken = plan(pilot, "s0", "s1", "m0", difference=0.05), plan(pilot, "s0", "s1", "m0")
    assert taken.queries == stated.queries
    assert taken.low < stated.low < stated.high < taken.high
    apart = rng.normal(0, 1, 40)
    unclear = plan(make_scores([apart + 0.1 - apart.mean(), np.zeros(40)]), "s0", "s1", "m0")
    assert unclear.low < unclear.queries < unclear.high == unclear.assured == np.inf


def test_the_order_of_the_systems_does_not_matter(make_scores, rng):
    """Skewed differences must not change sides when the worse system is named first."""
    scores = make_scores([rng.exponential(0.1, 60), np.zeros(60)])
    one, other = plan(scores, "s0", "s1", "m0"), plan(scores, "s1", "s0", "m0")
    assert one.observed == -other.observed
    assert (one.queries, one.low, one.high, one.assured) == (other.queries, other.low, other.high, other.assured)
    assert one.to_polars().equals(other.to_polars())


def test_the_interval_of_a_stated_difference_is_bonett_s():
    # by hand: 12 values, 2 dropped at each end for the centre, kurtosis below its floor of 3 + 2 · 2/15
    apart = np.array([-3.0, -2, -2, -1, -1, 0, 0, 1, 1, 2, 2, 3])
    assert heaviness(apart) == pytest.approx(12 * 230 / 38**2)
    low, high = bounded_effect(apart, 1.0)
    factor = 12 / (12 - 1.959964)
    reach = 1.959964 * factor * np.sqrt((3 + 4 / 15 - 9 / 12) / 11)
    middle = np.log(factor * 38 / 11)
    assert 1 / low == pytest.approx(np.exp((middle + reach) / 2), rel=1e-5)
    assert 1 / high == pytest.approx(np.exp((middle - reach) / 2), rel=1e-5)


def test_heavy_tails_are_told_with_their_number(make_scores, rng):
    apart = np.where(np.arange(50) < 48, rng.normal(0, 0.1, 50), 5.0)
    with warns("heavy-tails"):
        found = plan(make_scores([apart, np.zeros(50)]), "s0", "s1", "m0", difference=0.5)
    assert 20 < noted(found.remarks, "heavy-tails").fields["kurtosis"] < 30


def test_wrong_calls_are_refused(pilot, make_scores):
    with raises("no-difference", DataError, a="s0", b="s1"):
        plan(make_scores(np.full((2, 12), 0.5)), "s0", "s1", "m0")
    with raises("no-deviation", DataError, a="s0", b="s1"):
        plan(make_scores(np.repeat([[0.4], [0.6]], 12, axis=1)), "s0", "s1", "m0", difference=0.1)
    with raises("too-few", DataError, least=10, unit="query", count=2):
        plan(make_scores(np.eye(2)), "s0", "s1", "m0")
    with raises("not-a-choice", UsageError, value="s9"):
        plan(pilot, "s0", "s9", "m0")
    with raises("not-a-number", UsageError, name="difference", value=-1):
        plan(pilot, "s0", "s1", "m0", difference=-1)
    with raises("not-a-number", UsageError, name="power"):
        plan(pilot, "s0", "s1", "m0", power=1.0)
    with raises("not-whole", UsageError, name="systems"):
        plan(pilot, "s0", "s1", "m0", systems=[2, 3])


def test_the_level_is_that_of_all_pairs(pilot):
    one, many = plan(pilot, "s0", "s1", "m0", difference=0.1), plan(pilot, "s0", "s1", "m0", difference=0.1, systems=5)
    assert many.queries == queries_for(0.5, 0.8, 0.05 / 10) > one.queries
    assert many.assured > one.assured
    assert many.detectable > one.detectable


def sparse_pilot(apart):
    values = np.stack([np.maximum(apart, 0), np.maximum(-apart, 0)])[:, :, None]
    return Scores(("a", "b"), tuple(map(str, range(len(apart)))), ("P@1",), values)


@pytest.mark.parametrize(("moved", "systems", "least"), [(0, 2, 6), (1, 2, 6), (5, 2, 6), (6, 4, 8)])
def test_a_pilot_in_which_too_few_queries_differ_cannot_tell(moved, systems, least):
    """At least as many queries as it takes for so many to differ as a test needs, and no upper limit."""
    apart = np.where(np.arange(25) < moved, 1.0, 0.0)
    with warns("equal-pilot", count=moved, all=25, unit="query", least=least):
        found = plan(sparse_pilot(apart), "a", "b", "P@1", difference=0.05, systems=systems)
    often = stats.beta.ppf(0.975, moved + 1, 25 - moved)
    assert found.low == np.ceil(least / often)
    assert found.high == found.assured == np.inf
    assert found.summary()["queries"][0] is None
    assert found.to_polars().rows() == [(int(found.low), None)]
    assert str(found)
    found.plot()
