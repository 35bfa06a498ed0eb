import numpy as np
import pytest

from rankdev.preferences import Preferences, strengths
from rankdev.preferences.resampling import resample_weights, resampled_strengths
from rankdev.preferences.strengths import fit_weighted

from .simulate import names


def many_workers(items, workers, each, rng):
    strength, item, rows = np.linspace(2, -2, items), names(items), []
    for worker in range(workers):
        for _ in range(each):
            a, b = rng.choice(items, 2, replace=False)
            right = rng.random() < 1 / (1 + np.exp(strength[b] - strength[a]))
            meant = rng.random() < 0.8 + 0.2 * (worker % 2)
            rows.append(("q", *((item[a], item[b]) if right == meant else (item[b], item[a])), f"w{worker}"))
    return Preferences.from_rows(rows)


# many judgments end at a step of 0.02, few at one of 0.0001
@pytest.mark.parametrize(("loose_from", "spreads"), [(1, 0.15), (10_000, 0.05)])
def test_crowd_resamples_start_at_the_fit_and_end_where_cold_ones_do(monkeypatch, loose_from, spreads):
    monkeypatch.setitem(fit_weighted.__globals__, "LOOSE_FROM", loose_from)
    judged = many_workers(8, 40, 30, np.random.default_rng(3))
    fit = strengths(judged, "crowd-bt")
    cold = [fit_weighted(judged, "crowd-bt", weight) for weight in resample_weights(judged, 20, 0)]
    warm = list(resampled_strengths(fit, 20, 0))
    draws, wanted = np.stack([again.values for again in warm]), np.stack([again.values for again in cold])
    off = np.sqrt(((draws - wanted) ** 2).mean(axis=0))
    assert np.all(off < spreads * wanted.std(axis=0))
    assert all(again.converged for again in warm)
    if loose_from == 1:
        assert sum(again.iterations for again in warm) < 0.5 * sum(again.iterations for again in cold)
