"""URisk, TRisk, ZRisk and GeoRisk by hand, from plain loops, and where they do not exist."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats

import rankdev as rd
from rankdev.measures.base import MeasureInfo
from rankdev.statistics._risk import risk_among, risk_to

BASE, NEW = [0.5, 0.2, 0.4, 0.9], [0.7, 0.2, 0.3, 0.6]  # gains .2, 0, −.1, −.3


def scores_of(*systems, label="P@5", kind=None):
    values = np.array(systems, float)[:, :, None]
    names = ("base", "new", "other")[: len(values)]
    queries = tuple(f"q{i}" for i in range(values.shape[1]))
    return rd.Scores(names, queries, (label,), values, kinds=(kind,) if kind else ())


def row(scores, system="new", **options):
    found = rd.leaderboard(scores, resamples=10, **options).to_polars()
    return found.filter(system=system).row(0, named=True)


@pytest.mark.parametrize(("aversion", "urisk"), [(0, (0.2 - 0.4) / 4), (1, (0.2 - 0.8) / 4), (5, (0.2 - 2.4) / 4)])
def test_urisk_and_trisk_by_hand(aversion, urisk):
    found = row(scores_of(BASE, NEW), risk=aversion, baseline="base")
    assert found["urisk"] == pytest.approx(urisk)
    weighted = [0.2, 0.0, -0.1 * (1 + aversion), -0.3 * (1 + aversion)]
    assert found["trisk"] == pytest.approx(stats.ttest_1samp(weighted, 0).statistic)
    assert found["urisk_low"] < urisk < found["urisk_high"]


def test_zrisk_and_georisk_by_hand():
    """Totals of systems 1.4 and .6, of queries 1 and 1: .7 and .3 are expected of each."""
    found = rd.leaderboard(scores_of([0.5, 0.9], [0.5, 0.1]), risk=1, resamples=10).to_polars()
    off = [0.2 / math.sqrt(0.7), 0.2 / math.sqrt(0.3)]
    assert_allclose(found["zrisk"], [-off[0], -off[1]])  # −2 × off + off
    expected = [math.sqrt(mean * stats.norm.cdf(-each / 2)) for mean, each in zip((0.7, 0.3), off, strict=True)]
    assert_allclose(found["georisk"], expected)
    assert "urisk" not in found.columns


@given(st.integers(0, 10_000), st.sampled_from([0.0, 1.0, 5.0]))
def test_risk_from_plain_loops(seed, aversion):
    rng = np.random.default_rng(seed)
    values = np.round(rng.random((6, 3)), 1) * (rng.random((6, 1)) < 0.8)  # some queries without any score
    among, to = risk_among(values, aversion), risk_to(0, values, aversion, 1.0, 0.05)
    for system in range(3):
        z, gain = 0.0, 0.0
        for query in range(6):
            expected = values[:, system].sum() * values[query].sum() / values.sum() if values.sum() else 0.0
            off = (values[query, system] - expected) / math.sqrt(expected) if expected else 0.0
            z += off * (1 + aversion if off < 0 else 1)
            apart = values[query, system] - values[query, 0]
            gain += apart * (1 + aversion if apart < 0 else 1)
        assert among["zrisk"][system] == pytest.approx(z, abs=1e-9)
        expected = math.sqrt(values[:, system].mean() * stats.norm.cdf(z / 6))
        assert among["georisk"][system] == pytest.approx(expected)
        assert to["urisk"][system] == pytest.approx(gain / 6, abs=1e-9)


def test_published_urisk_falls_in_a_line():
    """As in the example of rmit-ir/trisk, .0767, .0615, .0462 … for α = 0, 1, 2: the slope is the mean loss."""
    rng = np.random.default_rng(0)
    scores = scores_of(*rng.random((2, 30)))
    found = [row(scores, risk=alpha, baseline="base")["urisk"] for alpha in (0, 1, 2, 10)]
    apart = scores.of("P@5")[1] - scores.of("P@5")[0]
    assert_allclose(found, apart.mean() + np.array([0, 1, 2, 10]) * np.minimum(apart, 0).mean())


def test_the_baseline_has_no_risk_against_itself():
    found = row(scores_of(BASE, NEW), "base", risk=1, baseline="base")
    assert [found[name] for name in ("urisk", "urisk_low", "urisk_high", "trisk")] == [0, 0, 0, None]


def test_without_any_loss_seen_a_loss_is_possible():
    """All gains are equal: no standard error, and the interval allows for losses up to the measure's range."""
    same = row(scores_of([0.5] * 20, [0.5] * 20), risk=1, baseline="base")
    assert (same["urisk"], same["trisk"]) == (0, None)
    assert same["urisk_low"] < -0.2  # one query in ten may lose all, twice
    assert 0 < same["urisk_high"] <= 1
    ahead = row(scores_of([0.2] * 20, [0.4] * 20), risk=1, baseline="base")
    assert ahead["urisk"] == pytest.approx(0.2)
    assert ahead["urisk_low"] < 0.2 <= ahead["urisk_high"]


def test_where_lower_is_better_gains_are_falls_and_georisk_has_no_meaning():
    kind = MeasureInfo("misses", "sum", False, (0.0, np.inf))
    scores = scores_of([3, 2, 4, 5], [1, 2, 5, 2], label="misses", kind=kind)
    board = rd.leaderboard(scores, risk=1, baseline="base", resamples=10)
    found = board.to_polars().filter(system="new").row(0, named=True)
    assert found["urisk"] == pytest.approx((2 + 0 - 2 + 3) / 4)
    assert (found["zrisk"], found["georisk"]) == (None, None)
    assert any("higher being better" in remark for remark in board.remarks)


def test_counts_have_risk_in_their_own_unit():
    found = row(scores_of([3, 2, 4, 5, 1], [1, 2, 5, 9, 1], label="NumRet"), risk=1, baseline="base")
    assert found["urisk"] == pytest.approx((-4 + 0 + 1 + 4 + 0) / 5)
    assert found["georisk"] > 0


def test_negative_scores_have_no_georisk():
    kind = MeasureInfo("tau", "mean", True, (-1.0, 1.0))
    assert row(scores_of([0.1, -0.2], [0.3, 0.1], label="tau", kind=kind), risk=1)["georisk"] is None


def test_scores_of_0_throughout():
    assert row(scores_of([0, 0, 0], [0, 0, 0]), risk=1)["georisk"] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"baseline": "base"}, "baseline is for risk"),
        ({"risk": -1}, "risk must be a number of at least 0"),
        ({"risk": math.inf}, "risk must be a number"),
        ({"risk": 1, "baseline": "bas"}, "unknown system 'bas'"),
        ({"risk": 1, "clusters": {f"q{i}": i // 2 for i in range(4)}}, "without clusters or replicates"),
        ({"risk": 1, "replicates": {"x": ["base", "new"]}}, "without clusters or replicates"),
    ],
)
def test_what_does_not_go_together_is_refused(options, message):
    with pytest.raises(rd.RankdevError, match=message):
        rd.leaderboard(scores_of(BASE, NEW, BASE), **options)


def test_risk_of_several_tasks_is_refused():
    with pytest.raises(rd.UsageError, match="single collection"):
        rd.leaderboard({"x": scores_of(BASE, NEW), "y": scores_of(NEW, BASE)}, risk=1)


def test_the_report_says_who_gains_and_who_loses():
    rng = np.random.default_rng(1)
    base = rng.uniform(0.3, 0.5, 40)
    board = rd.leaderboard(scores_of(base, base + rng.uniform(0.1, 0.3, 40), base - 0.1), risk=1, baseline="base")
    shown = str(board)
    assert "P@5: risk against base, losses count 2 times" in shown
    words = {line.split()[0]: line for line in shown.split("losses count")[1].splitlines() if line[:1].isalpha()}
    assert "gains" in words["new"]
    assert "loses" in words["other"]
    assert "baseline" in words["base"]
