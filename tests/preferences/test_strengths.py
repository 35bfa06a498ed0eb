import choix
import evalica
import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from rankdev.preferences import Preferences, models, strengths, tiers, uncertainty
from rankdev.preferences.crowd_bt import _Point, _Votes
from tests.common.examples import examples
from tests.raising import kinds

from .simulate import crowd, preferences_of, random_pairs


def centred(values):
    return np.asarray(values) - np.mean(values)


def in_order(fit, values):
    """Values by item number, in the order of the fit's items."""
    return centred(np.asarray(values)[[int(item[1:]) for item in fit.preferences.items]])


seeds = st.integers(0, 2**31)


@given(seed=seeds, items=st.integers(2, 12), judgments=st.integers(5, 200), ridge=st.floats(0.01, 2.0))
@examples(40)
def test_bradley_terry_is_the_maximum_that_choix_finds(seed, items, judgments, ridge):
    winner, loser, _ = random_pairs(items, judgments, np.random.default_rng(seed))
    judged = Preferences.from_rows(
        [("q", f"d{a:03d}", f"d{b:03d}") for a, b in zip(winner, loser, strict=True)],
        items={"q": [f"d{k:03d}" for k in range(items)]},
    )
    assume(not judged.disconnected())
    fit = strengths(judged, ridge=ridge)
    data = list(zip(winner.tolist(), loser.tolist(), strict=True))
    expected = choix.opt_pairwise(items, data, alpha=ridge / 2, tol=1e-10)  # choix penalises alpha · |θ|²
    assert_allclose(fit.values, in_order(fit, expected), atol=2e-5)
    assert fit.converged


def test_without_a_ridge_choix_and_evalica_agree():
    winner, loser, _ = random_pairs(12, 600, np.random.default_rng(1))
    judged = preferences_of(winner, loser)
    fit, ranked = strengths(judged, ridge=0), strengths(judged, "rank-centrality", ridge=0)
    data = list(zip(winner.tolist(), loser.tolist(), strict=True))
    assert_allclose(fit.values, in_order(fit, choix.ilsr_pairwise(12, data, max_iter=1000, tol=1e-12)), atol=1e-6)
    assert_allclose(ranked.values, in_order(ranked, choix.rank_centrality(12, data)), atol=1e-7)
    scores = evalica.bradley_terry(
        winner.tolist(), loser.tolist(), [evalica.Winner.X] * 600, tolerance=1e-12, limit=10_000
    ).scores
    assert_allclose(fit.values, in_order(fit, np.log(scores.sort_index().to_numpy())), atol=1e-6)


def test_ties_are_davidsons():
    rows = {"query": ["q"] * 10, "a": ["x"] * 10, "b": ["y"] * 10, "winner": ["x"] * 5 + ["y"] * 2 + ["tie"] * 3}
    judged = Preferences.from_table(pl.DataFrame(rows))
    # Davidson's maximum reproduces the observed shares: π_x/π_y = 5/2 and ν = 3/√(5 · 2)
    fit = strengths(judged, ridge=0)
    assert_allclose(fit.values[0] * 2, np.log(5 / 2), atol=1e-6)
    assert_allclose(fit.tie_rate, 3 / np.sqrt(10), atol=1e-6)


def test_queries_fitted_together_are_as_fitted_alone():
    rng = np.random.default_rng(4)
    rows = []
    for query in range(6):
        winner, loser, _ = random_pairs(5 + query, 80, rng, scale=query)
        rows += [(f"q{query}", f"d{a}", f"d{b}") for a, b in zip(winner, loser, strict=True)]
    judged = Preferences.from_rows(rows)
    together = strengths(judged)
    for number, query in enumerate(judged.queries):
        block = slice(judged.starts[number], judged.starts[number + 1])
        assert_allclose(together.values[block], strengths(judged.select([query])).values, atol=1e-6)


@given(seed=seeds, items=st.integers(2, 10), judgments=st.integers(20, 200), ridge=st.sampled_from([0.1, 1.0]))
@examples(30)
def test_rank_centrality_is_the_eigenvector(seed, items, judgments, ridge):
    winner, loser, _ = random_pairs(items, judgments, np.random.default_rng(seed))
    judged = preferences_of(winner, loser)
    assume(not judged.disconnected())
    n, counted = len(judged.items), judged.pairs
    walk, degree = np.zeros((n, n)), np.zeros(n)
    for i, j, score, count in zip(counted.first, counted.second, counted.score, counted.count, strict=True):
        share = (score + ridge) / (count + 2 * ridge)
        walk[j, i], walk[i, j] = share, 1 - share
        degree[[i, j]] += 1
    walk /= degree.max()
    walk[np.diag_indices(n)] = 1 - walk.sum(axis=1)
    values, vectors = np.linalg.eig(walk.T)
    stationary = np.abs(np.real(vectors[:, np.argmax(np.real(values))]))
    expected = centred(np.log(stationary))
    assert_allclose(strengths(judged, "rank-centrality", ridge=ridge).values, expected, atol=1e-6)


def test_standard_errors_are_the_inverse_information():
    winner, loser, _ = random_pairs(8, 300, np.random.default_rng(6))
    fit = strengths(preferences_of(winner, loser))
    information = np.eye(8) * 0.1
    for i, j, count in zip(fit.pairs.first, fit.pairs.second, fit.pairs.count, strict=True):
        p = 1 / (1 + np.exp(fit.values[j] - fit.values[i]))
        h = count * p * (1 - p)
        information[[i, j], [i, j]] += h
        information[[i, j], [j, i]] -= h
    centre = np.eye(8) - 1 / 8
    expected = np.sqrt(np.diag(centre @ np.linalg.inv(information) @ centre))
    assert_allclose(fit.standard_errors, expected, rtol=1e-4)
    table = fit.to_polars()
    width = (table["high"] - table["low"]).to_numpy()
    both = np.isfinite(width)
    assert both.tolist() == [True] * 7 + [False]  # the last lost to all others
    assert_allclose(width[both], 2 * 1.959964 * expected[fit.order][both], rtol=1e-4)
    assert table["rank"].to_list() == list(range(1, 9))


def test_very_long_lists_have_no_intervals(monkeypatch):
    monkeypatch.setattr(uncertainty, "EXACT_UP_TO", 10)
    winner, loser, _ = random_pairs(60, 3000, np.random.default_rng(7))
    table = strengths(preferences_of(winner, loser)).to_polars()
    assert table["low"].null_count() == table["high"].null_count() == 60
    assert table["strength"].null_count() == 0


@pytest.mark.parametrize("limit", [2000, 1])  # by iteration; directly
@pytest.mark.parametrize("items", [8, 10, 30, 100])
def test_rank_centrality_is_exact_for_weak_items(items, limit, monkeypatch):
    # a chain's balance holds pair by pair, so each step is worth log((20 + ridge) / ridge)
    rows = [("q", f"d{k:03d}", f"d{k + 1:03d}") for k in range(items - 1) for _ in range(20)]
    monkeypatch.setattr(models, "LIMIT", limit)
    fit = strengths(Preferences.from_rows(rows), "rank-centrality", ridge=0.1)
    assert fit.converged
    assert_allclose(np.diff(fit.values), -np.log(20.1 / 0.1), rtol=1e-8)


# judgments that hang together
def test_an_answer_repeated_counts_once():
    rows = [("q", "x", "y", "ann"), ("q", "y", "z", "ann"), ("q", "z", "x", "bob"), ("q", "x", "y", "bob")]
    once, often = Preferences.from_rows(rows), Preferences.from_rows([*rows, *[rows[0]] * 5])
    assert_allclose(strengths(once).values, strengths(often).values, atol=1e-8)
    assert_allclose(strengths(once).standard_errors, strengths(often).standard_errors, rtol=1e-6)


def test_a_worker_who_always_says_equal_is_no_spammer():
    judged, _ = crowd([0.95, 0.95, 0.95], 8, 60, np.random.default_rng(0))
    table = judged.to_polars().select("query", "winner", "loser", "tie", "worker")
    shy = table.head(50).with_columns(tie=True, worker=pl.lit("shy"))
    fit = strengths(Preferences.from_table(pl.concat([table, shy])), "crowd-bt")
    assert fit.workers.to_polars().filter(worker="shy")["verdict"].item() == "unclear"
    assert fit.workers.suspects() == {"spammer": [], "inverted": []}


@pytest.mark.parametrize("seed", range(4))
def test_crowd_bt_is_where_another_optimiser_finds_the_maximum(seed):
    judged, _ = crowd([0.9, 0.8, 0.95, 0.3], 6, 50, np.random.default_rng(seed))
    fit = strengths(judged, "crowd-bt")
    votes, odds = _Votes.of(fit.preferences), np.log(1 / (1 / fit.workers.quality - 1))
    start = np.concatenate([fit.values, odds]) + 0.1
    found = minimize(lambda x: -_Point(votes, 0.1, x[:6], x[6:]).objective, start, method="BFGS", tol=1e-8)
    assert_allclose(found.x[:6] - found.x[:6].mean(), fit.values, atol=1e-4)
    assert_allclose(1 / (1 + np.exp(-found.x[6:])), fit.workers.quality, atol=1e-4)


def test_workers_who_answer_the_opposite_are_reversed_for_the_tests():
    truth = np.array([2.0, 2.0, 0.0, 0.0, -2.0, -2.0])
    rng, rows = np.random.default_rng(5), []
    for worker in range(10):
        for _ in range(60):
            a, b = rng.choice(6, 2, replace=False)
            better = rng.random() < 1 / (1 + np.exp(truth[b] - truth[a]))
            a, b = (a, b) if better == (worker < 8) else (b, a)  # two of ten say the opposite
            rows.append(("q", f"d{a}", f"d{b}", f"w{worker}"))
    judged = Preferences.from_rows(rows)
    fit = strengths(judged, "crowd-bt")
    reversed_ = fit.inference_fit.preferences.winner != judged.winner
    assert {f"w{k}" for k in np.unique(judged.worker[reversed_])} == {"w8", "w9"}
    assert min(tiers(fit).separated["q"]) > min(tiers(strengths(judged), rule="strict").separated["q"])
    random = [(q, *(pair if rng.random() < 0.5 else pair[::-1]), w) for q, *pair, w in rows]
    noise = strengths(Preferences.from_rows(random), "crowd-bt")
    assert (noise.inference_fit.preferences.winner == noise.preferences.winner).all()


def test_crowd_bt_is_never_more_certain_than_bradley_terry():
    """Qualities fitted to random answers make Crowd-BT's own errors up to four times too small."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        rows = [("q", *(f"d{k}" for k in rng.choice(4, 2, replace=False)), f"w{n % 3}") for n in range(45)]
        judged = Preferences.from_rows(rows)
        fit, simple = strengths(judged, "crowd-bt"), strengths(judged)
        assert (fit.inference_fit.preferences.winner == judged.winner).all()
        assert (fit.standard_errors >= simple.standard_errors * (1 - 1e-9)).all()
        assert tiers(fit).coin_flips == pytest.approx(tiers(simple).coin_flips)


@pytest.mark.parametrize(("workers", "given"), [(1, True), (2, False), (4, False), (5, True)])
def test_intervals_by_worker_need_five_workers(workers, given):
    rng = np.random.default_rng(2)
    rows = [("q", *(f"d{k}" for k in rng.choice(4, 2, replace=False)), f"w{n % workers}") for n in range(60)]
    fit = strengths(Preferences.from_rows(rows))
    assert fit.to_polars()["low"].is_null().any() != given
    assert kinds(fit.remarks) == ([] if given else ["few-workers"])


def test_unanimous_workers_are_no_more_certain_than_as_many_judgments():
    """The workers differ by nothing; that is no reason for a narrow interval (the exact test of five: p = .06)."""
    rows = [("q", "x", "y", f"w{k}") for k in range(5)]
    (_, _, _, low, high, _), _ = strengths(Preferences.from_rows(rows)).to_polars().rows()
    assert low < 0
    assert high is None


def test_where_the_likelihood_has_no_maximum_the_interval_has_one_end():
    rows = [("q", "a", "b"), ("q", "b", "c"), ("q", "c", "b"), ("q", "c", "d")]
    fit = strengths(Preferences.from_rows(rows))
    limits = {item: (low, high) for item, low, high in fit.to_polars()[:, [1, 3, 4]].rows()}
    assert f"[–, {limits['d'][1]:.3f}]" in str(fit)
    known = [tuple(end is not None for end in limits[item]) for item in "abcd"]
    assert known == [(True, False), (False, False), (False, False), (False, True)]
    whole = strengths(Preferences.from_rows([*rows, ("q", "d", "a")])).to_polars()
    assert whole["low"].null_count() == whole["high"].null_count() == 0
    few = Preferences.from_rows([("q", "x", "y", "ann"), ("q", "x", "z", "bob"), ("q", "x", "z", "cem")])
    assert np.isnan(strengths(few, "crowd-bt", ridge=1e-9).standard_errors).all()  # not the errors of what has none
