import numpy as np
from numpy.testing import assert_allclose

from rankdev.preferences import Preferences, strengths
from rankdev.preferences.models import Options
from rankdev.preferences.resampling import resampled_strengths
from rankdev.preferences.strengths import fit_model

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


def test_crowd_resamples_start_at_the_fit_and_end_where_cold_ones_do():
    judged = many_workers(8, 40, 30, np.random.default_rng(3))
    fit = strengths(judged, "crowd-bt")
    warm = list(resampled_strengths(fit, 10, 0))
    cold = [fit_model(again.preferences, "crowd-bt", Options()) for again in warm]
    for one, other in zip(warm, cold, strict=True):
        assert_allclose(one.values, other.values, atol=2e-3)
        assert one.converged
