"""Judgments that hang together: tests keep their level, repeated answers count once, ties are no faults."""

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from rankdev.preferences import Preferences, strengths, tiers
from rankdev.preferences._separation import bootstrap_separation
from rankdev.preferences.models import MODELS, Options
from rankdev.preferences.models.crowd_bt import _Point, _Votes

from .simulate import crowd, names


def tasteful(workers, items, each, taste, rng, query):
    """Workers with tastes of their own and no common one."""
    liking, item, rows = rng.normal(size=(workers, items)) * taste, names(items), []
    for worker in range(workers):
        for _ in range(each):
            a, b = rng.choice(items, 2, replace=False)
            if rng.random() > 1 / (1 + np.exp(liking[worker, b] - liking[worker, a])):
                a, b = b, a
            rows.append((query, item[a], item[b], f"w{worker}"))
    return rows


def separated(fit):
    closes = MODELS[fit.method].separation(fit, 0.05, 200, 0, "auto")
    pairs = sum(close.size * (close.size - 1) // 2 for close in closes)
    return 1 - sum((close.p >= 0.05).sum() for close in closes) / pairs


@pytest.mark.parametrize("method", ["bradley-terry", "crowd-bt"])
@pytest.mark.parametrize("workers", [4, 12])
def test_tastes_do_not_separate_what_is_equal(workers, method):
    rng = np.random.default_rng(workers)
    rows = [row for q in range(40) for row in tasteful(workers, 8, 240 // workers, 1.0, rng, f"q{q}")]
    share = separated(strengths(Preferences.from_rows(rows), method))
    low, high = (0.025, 0.08) if method == "bradley-terry" else (0.005, 0.05)  # .05 meant, or less
    assert low < share < high
    if method == "bradley-terry":
        alone = strengths(Preferences.from_rows([row[:3] for row in rows]))
        assert separated(alone) > 0.08  # what independence would have said


@pytest.mark.parametrize("ties", [0.0, 0.25, 0.5])
def test_ties_leave_the_level_alone(ties):
    rng = np.random.default_rng(3)
    first, second = (side.repeat(15) for side in np.triu_indices(6, 1))
    rows = []
    for query in range(60):
        outcome = np.where(rng.random(len(first)) < ties, "tie", np.where(rng.random(len(first)) < 0.5, "a", "b"))
        rows += [(f"q{query}", f"d{a}", f"d{b}", won) for a, b, won in zip(first, second, outcome, strict=True)]
    table = pl.DataFrame(rows, schema=["query", "a", "b", "winner"], orient="row")
    share = separated(strengths(Preferences.from_table(table, values="position")))
    assert 0.025 < share < 0.08  # half wins: .005 at 50% ties


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


def test_crowd_bt_is_at_the_top_and_its_information_is_the_expected_curvature():
    judged, _ = crowd([0.9, 0.8, 0.95, 0.3], 6, 50, np.random.default_rng(5))
    options = Options(ridge=0.5)
    fit = strengths(judged, "crowd-bt", ridge=0.5)
    judged = fit.preferences
    votes, odds = _Votes.of(judged, judged.pairs), np.log(fit.workers.quality / (1 - fit.workers.quality))
    best = _Point(votes, options, fit.values, odds).objective
    for k in range(6):
        for step in (-0.02, 0.02):
            moved = fit.values + step * (np.arange(6) == k)
            assert _Point(votes, options, moved, odds).objective <= best + 1e-6
    # the regulariser: ridge wins and losses against an item of strength 0, ridge · 2 p (1 − p) of information
    p = 1 / (1 + np.exp(-fit.values))
    assert_allclose(fit.penalty, 2 * 0.5 * p * (1 - p), rtol=0.02)  # strengths are shifted to mean 0 after the fit


def test_bootstrap_p_values_are_two_sided():
    # 10 resamples, 2 of which turn the pair: 2 · (2 + 1) / (10 + 1)
    draws = np.array([[1.0, 0.0]] * 8 + [[0.0, 1.0]] * 2)
    assert_allclose(bootstrap_separation(draws, np.array([1.0, 0.0])).p, 6 / 11)


def test_bootstrap_p_values_of_few_workers_are_student_s_and_two_sided():
    # no resample turns the pair, but the spread of 100 is 1.5 around 3, and of 3 workers √(3/2) times as much
    draws = np.array([[1.5, 0.0], [4.5, 0.0]] * 50)
    error = 1.5 * np.sqrt(3 / 2)
    assert_allclose(bootstrap_separation(draws, np.array([3.0, 0.0]), 3).p, 2 * stats.t.sf(3 / error, 2))


def merge_sorted(items, ask):
    if len(items) < 2:
        return items
    half = len(items) // 2
    left, right = merge_sorted(items[:half], ask), merge_sorted(items[half:], ask)
    merged = []
    while left and right:
        merged.append((left if ask(left[0], right[0]) else right).pop(0))
    return merged + left + right


def test_consistent_judges_are_never_contradicted():
    rng = np.random.default_rng(1)
    truth = {item: k for k, item in enumerate(rng.permutation(names(50)).tolist())}
    rows = []

    def ask(a, b):
        rows.append(("q", *((a, b) if truth[a] < truth[b] else (b, a))))
        return truth[a] < truth[b]

    merge_sorted(names(50), ask)
    found = tiers(strengths(Preferences.from_rows(rows), "consistent"))
    assert found.tiers["q"] == [[item] for item in sorted(truth, key=truth.get)]


def test_consistent_judges_leave_open_what_they_do_not_imply_and_tie_a_cycle():
    rows = [("q", "a", "x"), ("q", "x", "y"), ("q", "y", "z"), ("q", "z", "x"), ("q", "z", "e"), ("q", "a", "b")]
    rows += [("q", "b", "e")]
    found = tiers(strengths(Preferences.from_rows(rows), "consistent")).tiers["q"]
    assert found[0] == ["a"]
    assert found[-1] == ["e"]
    assert any({"x", "y", "z"} <= set(tier) for tier in found)


def test_a_perfect_cycle_is_named():

    rows = [("q", "x", "y"), ("q", "y", "z"), ("q", "z", "x")] * 10
    text = " ".join(str(tiers(strengths(Preferences.from_rows(rows))).undecided()).split())
    assert "x > y > z > x" in text
    assert "nearly equal" not in text


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
    assert len(tiers(fit, rule="partition").tiers["q"]) == 3
    assert len(tiers(strengths(judged), rule="partition").tiers["q"]) < 3
    random = [(q, *(pair if rng.random() < 0.5 else pair[::-1]), w) for q, *pair, w in rows]
    noise = strengths(Preferences.from_rows(random), "crowd-bt")
    assert (noise.inference_fit.preferences.winner == noise.preferences.winner).all()


def test_crowd_bt_is_never_more_certain_than_bradley_terry():
    """Qualities fitted to random answers make Crowd-BT's own errors up to four times too small."""
    separated = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        rows = [("q", *(f"d{k}" for k in rng.choice(4, 2, replace=False)), f"w{n % 3}") for n in range(45)]
        judged = Preferences.from_rows(rows)
        fit, simple = strengths(judged, "crowd-bt"), strengths(judged)
        assert (fit.inference_fit.preferences.winner == judged.winner).all()
        assert (fit.standard_errors >= simple.standard_errors * (1 - 1e-9)).all()
        table = fit.to_polars().sort("item")
        width = simple.to_polars().sort("item").select(pl.col("high") - pl.col("low")).to_series()
        assert (table["high"] - table["low"] >= width * (1 - 1e-9)).all()
        p, simple_p = (tiers(found, rule="partition").close[0].p for found in (fit, simple))
        separated += [*(p < 0.05)]
        assert p.min() >= simple_p.min() * (1 - 1e-9)
    assert np.mean(separated) < 0.05
