import numpy as np
import pytest
from numpy.testing import assert_allclose

from rankdev.preferences import Preferences, strengths
from rankdev.preferences._uncertainty import resampled_strengths
from rankdev.preferences.models import Options
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


@pytest.mark.parametrize("method", ["rank-centrality", "crowd-bt"])
def test_a_resample_is_fitted_as_its_weighted_judgments_are(method):
    judged = many_workers(8, 40, 30, np.random.default_rng(3))
    fit = strengths(judged, method)
    for again in resampled_strengths(fit, 3, 0):
        counted = fit_model(again.preferences, method, Options(ties="half"))
        assert_allclose(again.values, counted.values, atol=1e-9)
        assert again.converged
        drawn = (again.preferences.weight / fit.preferences.weight).reshape(40, 30)
        assert_allclose(drawn, drawn[:, [0] * 30])  # a worker's judgments stand or fall together
