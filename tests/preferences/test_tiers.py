import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import norm

import rankdev as rd
from rankdev.errors import UsageError
from rankdev.preferences import Preferences, strengths, tiers, tiers_from_preferences
from rankdev.preferences import _separation as separation
from rankdev.preferences import _uncertainty as uncertainty
from rankdev.preferences._separation import Close, _problem, likelihood_ratios, likelihood_separation
from rankdev.preferences.evidence import tier_posterior
from rankdev.preferences.rules import RULES, by_leader, cheapest_cut, partition
from rankdev.preferences.undecided import _needed
from tests.common.examples import examples
from tests.raising import raises

from .simulate import crowd, every_pair, preferences_of, random_pairs

seeds = st.integers(0, 2**31)


def queries_of(strength, times, queries, seed):
    rng = np.random.default_rng(seed)
    rows = [row for query in range(queries) for row in every_pair(strength, times, rng, f"q{query:03d}")]
    return strengths(Preferences.from_rows(rows))


def test_no_difference_is_one_tier():
    fit = queries_of(np.zeros(8), 10, 300, seed=0)
    for rule, low, high in (("partition", 0.88, 0.96), ("leader", 0.93, 0.99)):
        found = tiers(fit, rule=rule).tiers
        assert low < np.mean([len(cut) == 1 for cut in found.values()]) < high  # 92, 96% in the long run


def test_no_difference_is_one_tier_by_default_in_one_query_and_in_all_of_many():
    fit = queries_of(np.zeros(8), 10, 16, seed=0)
    assert all(len(cut) == 1 for cut in tiers(fit).tiers.values())
    alone = [tiers(strengths(fit.preferences.select([query]))).tiers[query] for query in fit.preferences.queries]
    assert np.mean([len(cut) == 1 for cut in alone]) > 0.87  # 97% in the long run


def test_the_weights_of_one_tier_of_some_and_of_a_strict_order_are_those_that_were_simulated():
    """Two and two items, of which those of a pair won two each: set by simulation, so kept as they are."""
    wins = np.array([[0, 2, 4, 5], [2, 0, 3, 4], [0, 1, 0, 2], [0, 1, 2, 0]], float)
    found = tier_posterior(wins)
    assert (found.one, found.some, found.strict) == pytest.approx((0.1104027, 0.5276277, 0.3619696), abs=1e-6)
    assert found.tiers.starts.tolist() == [0, 2]


def test_a_consistent_order_is_separated_fully():
    rows = [("q", f"d{i}", f"d{j}") for i in range(6) for j in range(i + 1, 6) for _ in range(10)]
    for rule in RULES:
        assert tiers_from_preferences(rows, rule=rule).tiers == {"q": [[f"d{i}"] for i in range(6)]}


def test_three_by_three_items_one_unit_apart():
    truth = np.repeat([1.0, 0.0, -1.0], 3)
    upper = np.triu_indices(9, 1)
    wanted = np.sign(truth[upper[0]] - truth[upper[1]])
    right = []
    for cut in tiers(queries_of(truth, 10, 150, seed=1), rule="partition").tiers.values():
        rank = {item: -place for place, tier in enumerate(cut) for item in tier}
        value = np.array([rank[f"d{k:03d}"] for k in range(9)])
        right.append(np.mean(np.sign(value[upper[0]] - value[upper[1]]) == wanted))
    assert 0.90 < np.mean(right) < 0.95  # 92% in the long run


def refitted(problem, i, j):
    """Reference implementation: merge i and j into one and maximise with a general optimiser."""
    from scipy.optimize import minimize

    def loss(x):
        strength = np.insert(x, j, x[i if i < j else i - 1])
        return problem.loss(strength[:, None])[0]

    return 2 * (minimize(loss, np.delete(problem.best, j), tol=1e-9).fun - problem.loss(problem.best[:, None])[0])


@given(seed=seeds, items=st.integers(3, 6), judgments=st.integers(8, 60), scale=st.sampled_from([0.5, 3.0]))
@examples(15)
def test_likelihood_ratios_are_those_of_direct_refits(seed, items, judgments, scale):
    winner, loser, _ = random_pairs(items, judgments, np.random.default_rng(seed), scale)
    fit = strengths(preferences_of(winner, loser), disconnected="largest")
    problem, order, factor = _problem(fit, 0)
    i, j = np.triu_indices(len(order), 1)
    expected = [refitted(problem, a, b) for a, b in zip(i, j, strict=True)]
    for helper in (factor, None):
        assert_allclose(likelihood_ratios(problem, helper, i, j), expected, atol=0.01, rtol=0.01)
        decided = likelihood_ratios(problem, helper, i, j, critical=3.84)
        clear = np.abs(np.array(expected) - 3.84) > 0.01
        assert np.array_equal((decided >= 3.84)[clear], (np.array(expected) >= 3.84)[clear])


@given(seed=seeds, items=st.integers(3, 25), per_item=st.integers(2, 40), scale=st.sampled_from([0.3, 1.0, 4.0]))
@examples(25)
def test_what_is_not_refitted_would_have_been_decided_the_same(seed, items, per_item, scale):
    winner, loser, _ = random_pairs(items, items * per_item, np.random.default_rng(seed), scale)
    fit = strengths(preferences_of(winner, loser), disconnected="largest")
    same = []
    for refit in ("auto", "always"):
        close = likelihood_separation(fit, 0, 0.05, refit)
        same.append({(i, j) for i, j, p in zip(close.i, close.j, close.p, strict=True) if p >= 0.05})
    always = likelihood_separation(fit, 0, 0.05, "always")
    near = {(i, j) for i, j, p in zip(always.i, always.j, always.p, strict=True) if abs(p - 0.05) < 0.002}
    assert same[0] - near == same[1] - near


def test_long_lists_are_decided_nearly_as_by_refits(monkeypatch):
    for scale, judgments in ((1.0, 6000), (3.0, 400)):
        winner, loser, _ = random_pairs(60, judgments, np.random.default_rng(8), scale)
        together = []
        for limit, refit in ((300, "always"), (10, "auto")):
            monkeypatch.setattr(uncertainty, "EXACT_UP_TO", limit)
            monkeypatch.setattr(separation, "EXACT_UP_TO", limit)
            close = likelihood_separation(strengths(preferences_of(winner, loser)), 0, 0.05, refit)
            table = np.zeros((60, 60), bool)
            table[close.i, close.j] = close.p >= 0.05
            together.append(table)
        assert np.mean((together[0] == together[1])[np.triu_indices(60, 1)]) > 0.95


def wrongs(together, starts, n):
    place = np.searchsorted(starts, np.arange(n), side="right")
    return sum((place[i] == place[j]) != together[i, j] for i in range(n) for j in range(i + 1, n))


@given(seed=seeds, n=st.integers(1, 8), share=st.floats(0.1, 0.9))
@examples(60)
def test_the_partition_has_the_fewest_wrongs_of_all(seed, n, share):
    rng = np.random.default_rng(seed)
    i, j = np.triu_indices(n, 1)
    close = Close(n, i, j, np.where(rng.random(len(i)) < share, 0.5, 0.01))
    together = np.zeros((n, n), bool)
    together[i, j] = close.p >= 0.05
    cuts = [np.array([0, *(k for k in range(1, n) if mask >> (k - 1) & 1)]) for mask in range(2 ** (n - 1))]
    least = min(wrongs(together, starts, n) for starts in cuts)
    found = partition(close, 0.05)
    assert wrongs(together, found, n) == least
    assert len(found) == min(len(starts) for starts in cuts if wrongs(together, starts, n) == least)


def test_the_leader_opens_tiers_by_hand():
    # Holm over three pairs: .010·3 = .03, .02·2 = .04 and .5: item 1 stays with 0, item 2 leaves 0 (.04)
    i, j = np.triu_indices(3, 1)
    assert by_leader(Close(3, i, j, np.array([0.5, 0.02, 0.01])), 0.05).tolist() == [0, 2]
    assert by_leader(Close(3, i, j, np.array([0.5, 0.03, 0.01])), 0.05).tolist() == [0]
    # pairs that are not listed are separated
    assert by_leader(Close(3, i[:1], j[:1], np.array([0.5])), 0.05).tolist() == [0, 2]


@pytest.mark.parametrize(("wins", "losses", "p", "corrected"), [(4, 0, 0.0299, 0.060), (9, 2, 0.0300, 0.0385)])
def test_the_leader_discounts_few_judgments(wins, losses, p, corrected):
    """z of the likelihood ratio is multiplied by √((n − items + 1) / n): √(3/4) of 4 judgments, √(10/11) of 11."""
    fit = strengths(Preferences.from_rows([("q", "x", "y")] * wins + [("q", "y", "x")] * losses))
    n = wins + losses
    assert tiers(fit, rule="leader").close[0].p == pytest.approx([p], abs=1e-4)
    assert 2 * norm.sf(norm.isf(p / 2) * np.sqrt((n - 1) / n)) == pytest.approx(corrected, abs=1e-3)
    for alpha in (corrected - 0.002, corrected + 0.002):
        assert len(tiers(fit, rule="leader", alpha=alpha).tiers["q"]) == (2 if alpha > corrected else 1)
        assert len(tiers(fit, rule="partition", alpha=alpha).tiers["q"]) == 2  # p itself is below both levels


def test_the_leader_does_not_discount_tests_clustered_by_worker():
    """Student's t with as many degrees of freedom as other workers already takes their number into account."""
    rows = [("q", *("xy" if k % 4 else "yx"), f"w{k // 4}") for k in range(24)]
    result = tiers(strengths(Preferences.from_rows(rows)), rule="leader")
    (p,) = result.close[0].p.tolist()
    for alpha in (p * 0.99, p * 1.01):
        assert len(tiers(result.strengths, rule="leader", alpha=alpha).tiers["q"]) == (2 if alpha > p else 1)


def cut(n, costs):
    """Cut by a table of costs {(a, b): what one tier for both costs more than two}; all others cost nothing."""
    return cheapest_cut(n, lambda b: np.array([float(costs.get((a, b), 0)) for a in range(b)])).tolist()


def test_of_equally_good_cuts_the_one_with_fewest_tiers_is_taken_by_hand():
    assert cut(4, {}) == [0]
    # {0} {1} {2 3} and {0 1 2} {3} both cost −2, and every other cut more
    assert cut(4, {(0, 1): 1, (0, 2): -3, (2, 3): -2, (1, 3): 5, (0, 3): 5}) == [0, 3]
    # as long as the second is as good as the first up to rounding
    assert cut(4, {(0, 1): 1 + 1e-9, (0, 2): -3, (2, 3): -2, (1, 3): 5, (0, 3): 5}) == [0, 3]
    assert cut(4, {(0, 1): 1 + 1e-6, (0, 2): -3, (2, 3): -2, (1, 3): 5, (0, 3): 5}) == [0, 1, 2]


def test_of_as_many_tiers_the_last_one_is_the_longest_by_hand():
    # {0} {1 2} and {0 1} {2} both cost −1; one tier or three cost 0
    assert cut(3, {(0, 1): -1, (1, 2): -1, (0, 2): 2}) == [0, 1]
    assert cut(4, {(0, 1): -1, (1, 2): -1, (2, 3): -1, (0, 2): 2, (1, 3): 2, (0, 3): 2}) == [0, 2]


@pytest.mark.parametrize("method", ["rank-centrality", "crowd-bt"])
def test_methods_without_a_likelihood_are_tested_by_a_bootstrap(method):
    rng = np.random.default_rng(2)
    strength = np.array([2.5, 2.5, 0.0, 0.0])
    rows = [(*row, f"w{k % 12:02d}") for k, row in enumerate(every_pair(strength, 24, rng))]
    result = tiers_from_preferences(rows, method, resamples=60, seed=3)
    assert [sorted(tier) for tier in result.tiers["q"]] == [["d000", "d001"], ["d002", "d003"]]
    again = tiers_from_preferences(rows, method, resamples=60, seed=3)
    assert_allclose(result.close[0].p, again.close[0].p)


def test_clustering_by_worker_counts_a_worker_once():
    # one worker says it 30 times: without workers that is certain, with them it is one opinion against one
    rows = [("q", "x", "y", "loud")] * 30 + [("q", "y", "x", f"w{k}") for k in range(3)]
    options = {"method": "rank-centrality", "resamples": 400}
    assert len(tiers_from_preferences([row[:3] for row in rows], **options).tiers["q"]) == 2
    assert len(tiers_from_preferences(rows, **options).tiers["q"]) == 1


def test_depth_joins_the_rest():
    rows = [("q", f"d{i}", f"d{j}") for i in range(6) for j in range(i + 1, 6) for _ in range(10)]
    cut = tiers_from_preferences(rows, max_depth=3).tiers["q"]
    assert cut == [["d0"], ["d1"], ["d2", "d3", "d4", "d5"]]
    assert tiers_from_preferences(rows, max_depth=3).undecided().queries[0].undecided == 0  # joined, not undecided


def test_tables_and_references_say_the_same():
    from rankdev.preferences import references_from_preferences

    fit = queries_of(np.array([3.0, 0.0, 0.0]), 12, 2, seed=5)
    result = tiers(fit)
    table = result.to_polars()
    assert table.columns == ["query", "item", "strength", "low", "high", "rank"]
    references = references_from_preferences(fit.preferences)
    assert references.to_polars().sort("query", "item").rows() == sorted(table.select("query", "item", "rank").rows())


def test_the_summary_counts_what_is_open():
    fit = queries_of(np.array([3.0, 0.0, 0.3]), 12, 1, seed=5)
    result = tiers(fit)
    undecided = result.undecided()
    text, row = str(undecided), undecided.queries[0]
    assert result.tiers["q000"][0] == ["d000"]
    assert (row.items, row.comparisons, row.tiers, row.undecided) == (3, 36, 2, 1)
    assert text.startswith("1 query, 3 items, 36 comparisons, 2 tiers.\n1 pair of neighbours")


def test_the_summary_names_bad_workers_and_repeated_rows():
    quality = np.r_[np.full(10, 0.97), 0.5, 0.02]
    judged, _ = crowd(quality, 24, 80, np.random.default_rng(1))
    rows = judged.to_polars().select("query", "winner", "loser", "worker").rows()
    text = str(tiers_from_preferences([*rows, rows[0]], "crowd-bt", resamples=20).undecided())
    assert "1 worker seems to answer the opposite: w11." in text
    assert "judgments repeat one of the same worker; together they count once" in text


@pytest.mark.parametrize(
    ("options", "kind", "name"),
    [
        ({"alpha": 0}, "not-a-number", "alpha"),
        ({"rule": "leaders"}, "not-a-choice", "rule"),
        ({"max_depth": 0}, "not-whole", "max_depth"),
        ({"method": "rank-centrality", "resamples": 0}, "not-whole", "resamples"),
    ],
)
def test_wrong_calls(options, kind, name):
    with raises(kind, UsageError, name=name):
        tiers_from_preferences([("q", "x", "y")], **options)


def test_the_leader_rule_says_how_many_resamples_it_needs():
    rows = [("q", f"d{i}", f"d{j}") for i in range(4) for j in range(i + 1, 4) for _ in range(30)]
    with raises("few-resamples", UsageError, needed=240):
        tiers_from_preferences(rows, "rank-centrality", rule="leader")
    enough = tiers_from_preferences(rows, "rank-centrality", rule="leader", resamples=240)
    assert enough.tiers == {"q": [[f"d{i}"] for i in range(4)]}


def test_bic_asks_half_the_logarithm_of_the_judgments_for_a_tier():
    wins = np.arange(51, 70)
    gain = wins * np.log(wins / 50) + (100 - wins) * np.log((100 - wins) / 50)  # in log-likelihood, over a tie
    found = [
        rd.References.from_preferences([("q", "x", "y")] * n + [("q", "y", "x")] * (100 - n), rule="bic")
        for n in wins.tolist()
    ]
    assert [len(set(dict(one["q"]).values())) for one in found] == np.where(gain > np.log(100) / 2, 2, 1).tolist()


@pytest.mark.parametrize(("d", "variance", "prior"), [(0.3, 0.6, 0.5), (1.0, 1.5, 4.0), (0.1, 0.1, 0.1)])
def test_half_of_simulated_pairs_are_separated_by_as_many_more_judgments_as_estimated(d, variance, prior):
    critical, rng, trials = 1.96, np.random.default_rng(1), 200_000
    per_judgment = np.exp(d) / (1 + np.exp(d)) ** 2

    def separated(n):
        s2 = 1 / (1 / variance + 1 / prior)
        truth = rng.normal(d * s2 / variance, np.sqrt(s2), trials)
        seen = rng.normal(truth, 1 / np.sqrt(n * per_judgment))
        after = 1 / variance + n * per_judgment
        return np.mean(np.abs(d / variance + n * per_judgment * seen) > critical * np.sqrt(after))

    n = _needed(d, variance, prior, critical, 0.0)
    assert separated(n) + 0.005 >= 0.5
    assert separated(0.9 * n) < 0.5
