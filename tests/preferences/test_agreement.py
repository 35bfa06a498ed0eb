from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from rankdev.preferences import Preferences, judge_agreement, position_bias
from rankdev.preferences.bias import _Integral
from rankdev.preferences.diagnostics import krippendorff_alphas
from rankdev.preferences.pairs import count_pairs
from tests.raising import kinds, noted


def alpha_of(counts):
    return krippendorff_alphas(counts, np.ones((1, len(counts)))).item()


@given(seed=st.integers(0, 10_000), units=st.integers(2, 30), judges=st.integers(2, 5))
def test_alpha_beside_the_krippendorff_package(seed, units, judges):
    krippendorff = pytest.importorskip("krippendorff")
    counts = np.random.default_rng(seed).multinomial(judges, [0.5, 0.3, 0.2], units)
    turned = np.concatenate([counts, counts[:, [1, 0, 2]]])
    expected = krippendorff.alpha(value_counts=turned, level_of_measurement="nominal")
    assert alpha_of(turned) == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_the_bootstrap_draws_units():
    counts = np.array([[2, 0, 0]] * 150 + [[1, 1, 0]] * 50)
    rows = [("q", f"x{k}", f"y{k}") for k in range(200)] + [("q", f"x{k}", f"y{k}") for k in range(150)]
    found = judge_agreement(rows + [("q", f"y{k}", f"x{k}") for k in range(150, 200)], resamples=2000)
    rng = np.random.default_rng(1)
    drawn = (counts[rng.integers(0, 200, 200)] for _ in range(2000))
    simple = [alpha_of(np.concatenate([units, units[:, [1, 0, 2]]])) for units in drawn]
    limits = [found.krippendorff_low, found.krippendorff_high]
    assert limits == pytest.approx(np.quantile(simple, [0.025, 0.975]), abs=0.04)


def test_facts_by_hand():
    rows = [("q", "x", "y", "ann"), ("q", "x", "y", "bob"), ("q", "y", "z", "ann"), ("q", "z", "y", "bob")]
    rows += [("q", "z", "x", "ann"), ("q", "y", "z", "cem"), ("q", "x", "y", "ann")]
    found = judge_agreement(rows, resamples=50)
    assert found.pairs_judged_twice == 2
    # x–y: 3 judgments alike; y–z: 2 to 1, 4 of 6 ordered pairs differ; of 6 judgments, all first or second
    disagreement, expected = 2 * (2 * 2 * 1 / 2), 2 * 6 * 6 / 11
    assert found.krippendorff == pytest.approx(1 - disagreement / expected)
    assert (found.triads, found.intransitive) == (1, 1.0)
    table = found.workers
    assert table["judgments"].to_list() == [4, 2, 1]
    assert table["agreement"].to_list() == pytest.approx([(1 + 1 + 0.5) / 3, (1 + 0) / 2, 0.5])
    assert table["repeats_alike"].to_list() == [1.0, None, None]
    assert kinds(found.remarks) == ["no-position-bias"]
    assert found.to_polars().columns == ["fact", "value", "low", "high", "chance", "p", "n"]
    assert "intransitive triads" in str(found)


@given(seed=st.integers(0, 10_000), n=st.integers(3, 8), m=st.integers(3, 40))
def test_triads_against_counting_them(seed, n, m):
    rng = np.random.default_rng(seed)
    rows = [("q", *map(str, rng.choice(n, 2, replace=False))) for _ in range(m)]
    judged = Preferences.from_rows(rows)
    lead = np.zeros((n, n))
    for _, winner, loser in rows:
        lead[int(winner), int(loser)] += 1
        lead[int(loser), int(winner)] -= 1
    triads = circles = 0
    for i in range(n):
        for j in range(i):
            for k in range(j):
                signs = np.sign([lead[i, j], lead[j, k], lead[k, i]])
                triads += bool(np.all(signs != 0))
                circles += abs(signs.sum()) == 3
    found = judge_agreement(judged, resamples=1)
    assert found.triads == triads
    assert np.nan_to_num(found.intransitive * triads) == pytest.approx(circles)


def shown(rng, effects, judgments=400, items=6):
    """Judgments by workers who have an order effect each."""
    strength = rng.normal(0, 1, items)
    for worker, effect in effects.items():
        for _ in range(judgments):
            i, j = rng.choice(items, 2, replace=False)
            first = rng.random() < 1 / (1 + np.exp(strength[j] - strength[i] - effect))
            yield {"a": str(i), "b": str(j), "winner": "a" if first else "b", "worker": worker}


def test_position_bias_is_found_for_all_and_for_each():
    rng = np.random.default_rng(3)
    found = position_bias(Preferences.from_rows([*shown(rng, {"fair": 0.0, "left": 1.5, "right": -1.0})]))
    bias = dict(found.workers.select("worker", "first_if_equal").rows())
    assert bias["left"] == pytest.approx(1 / (1 + np.exp(-1.5)), abs=0.06)
    assert bias["right"] == pytest.approx(1 / (1 + np.exp(1.0)), abs=0.06)
    assert found.workers["p"][1] < 1e-6 < found.workers["p"][0]
    assert found.low < found.bias < found.high
    assert found.to_polars()["worker"].to_list() == [None, "fair", "left", "right"]
    fair = Preferences.from_rows([*shown(rng, {"fair": 0.0})])
    assert position_bias(fair).p > 0.01


def asked_once(rng, queries, spread, effect):
    """One answer to each pair of four items, and the effect of being shown first."""
    for query in range(queries):
        strength = rng.normal(0, spread, 4)
        for i, j in combinations(rng.permutation(4), 2):
            won = rng.random() < expit(strength[i] - strength[j] + effect)
            yield {"query": str(query), "a": str(i), "b": str(j), "winner": "a" if won else "b"}


@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_position_bias_with_one_answer_to_a_pair(spread):
    """Strengths that follow every answer would exaggerate it: .84 instead of .73 where items are equally good."""
    estimates = []
    for seed in range(4):
        found = position_bias(Preferences.from_rows([*asked_once(np.random.default_rng(seed), 60, spread, 1.0)]))
        assert not found.remarks
        estimates.append(found.bias)
    assert np.mean(estimates) == pytest.approx(1 / (1 + np.exp(-1.0)), abs=0.04)


def test_position_bias_notes_that_strengths_explain_every_answer():
    found = position_bias(Preferences.from_rows([*asked_once(np.random.default_rng(0), 20, 1000.0, 0.0)]))
    assert kinds(found.remarks) == ["items-far-apart"]
    noted(found.remarks, "items-far-apart", answers=1.0)


@given(seed=st.integers(0, 1000))
def test_the_integral_over_strengths_is_laplaces(seed):
    rng = np.random.default_rng(seed)
    judged = Preferences.from_rows([*shown(rng, {"w": 0.8}, judgments=30, items=4)])
    integral = _Integral(count_pairs(judged, judged.winner_first))
    effect, log_spread = rng.normal(size=2)
    found, pairs, x = integral.log(effect, log_spread), integral.pairs, integral.strength
    ridge = np.exp(-2 * log_spread)
    bend = ridge * np.eye(len(x))
    for i, j, count in zip(pairs.first, pairs.second, pairs.count, strict=True):
        p = 1 / (1 + np.exp(x[j] - x[i] - effect))
        apart = np.eye(len(x))[i] - np.eye(len(x))[j]
        bend += count * p * (1 - p) * np.outer(apart, apart)
    at = x[pairs.first] - x[pairs.second] + effect
    fits = (pairs.score * at - pairs.count * np.log1p(np.exp(at))).sum() - ridge / 2 * (x @ x)
    plain = fits - len(x) * log_spread - np.linalg.slogdet(bend)[1] / 2
    assert found == pytest.approx(plain + log_spread - 0.1 * np.exp(log_spread), abs=1e-6)


def test_position_bias_notes_that_intervals_of_workers_are_too_narrow():
    rows = [{"a": a, "b": b, "winner": "a", "worker": "ann"} for a, b in ("xy", "yz", "zx")]
    noted(position_bias(Preferences.from_rows(rows)).remarks, "narrow-intervals", answers=1.0)
    assert not position_bias(Preferences.from_rows(rows * 4)).remarks


def test_a_better_item_shown_first_is_no_bias():
    rows = [{"a": "x", "b": "y", "winner": "a"}] * 30 + [{"a": "y", "b": "x", "winner": "b"}] * 10
    found = position_bias(Preferences.from_rows(rows))
    assert found.p > 0.05
    assert (found.swapped, found.changed) == (1, 0)
