"""Tuning: data made with known parameters, data that do not decide, and nothing evaluated on what it was fitted on."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import rankdev as rd
from rankdev import studies
from rankdev.statistics.tuning import RIDGE, fitted_scales

MADE = studies.simulate(300, seed=1, models={"a": 1.0, "b": 1.3}, settings={"s": 1.0})


def verdicts(measure, scale, seed=0):
    """People who follow a measure, the more surely the larger its difference."""
    scores = rd.evaluate(MADE.references, dict(MADE.runs), measure)
    apart = scores.values[0, :, 0] - scores.values[1, :, 0]
    first = np.random.default_rng(seed).random(len(apart)) < 1 / (1 + np.exp(-scale * apart))
    names = scores.systems
    return [
        {"query": query, "a": names[0], "b": names[1], "winner": names[0] if yes else names[1]}
        for query, yes in zip(scores.queries, first, strict=True)
    ]


def tuned(said, **options):
    return rd.tune("RDQ@5", MADE.references, dict(MADE.runs), said, resamples=200, **options)


def test_clear_verdicts_find_the_kind_of_parameters_that_made_them():
    found = tuned(verdicts("RDQ(alpha=0.25,lam=0)@5", 80), grid={"alpha": [0.25, 1, 8], "lam": [0]})
    assert found.best == "RDQ(alpha=0.25,lam=0)@5"
    rows = found.to_polars()
    assert rows.filter(rows["alpha"] == 8)["plausible"].to_list() == [False]
    assert found.summary()["gain"][1] > 0


def test_verdicts_by_chance_cannot_choose_and_choosing_is_not_advised():
    found = tuned(verdicts("RDQ@5", 0))
    assert found.plausible.sum() > 1
    assert any("the data do not decide" in line for line in found.remarks)
    assert any("keep it" in line for line in found.remarks)
    assert found.summary()["loss"].min() == pytest.approx(np.log(2), abs=0.02)


def test_scales_are_those_of_a_general_optimiser():
    rng = np.random.default_rng(0)
    toward = rng.normal(0.3, 1, (60, 4)) * [0.01, 1, 30, 1]
    toward[:, 3] = np.abs(toward[:, 3])  # everything is predicted: only the ridge keeps the scale finite
    scale, loss = fitted_scales(toward)
    for column, value, least in zip(toward.T, scale, loss, strict=True):
        size = np.sqrt((column**2).mean())

        def plain(s, column=column, size=size):
            return np.logaddexp(0, -s * column / size).mean() + RIDGE * s**2 / 2

        best = minimize_scalar(plain, bounds=(0, 50), method="bounded", options={"xatol": 1e-9})
        assert least == pytest.approx(best.fun, abs=1e-8)
        assert value * size == pytest.approx(best.x, abs=1e-3)


def test_the_same_seed_gives_the_same_folds_and_ties_are_left_out():
    said = verdicts("RDQ@5", 20)
    said[0]["winner"] = "tie"
    first, again = tuned(said, seed=3), tuned(said, seed=3)
    assert np.array_equal(first.losses, again.losses)
    assert len(first.losses) == 299
    assert "1 tie is left out" in first.remarks


def test_a_query_is_never_judged_by_a_scale_that_saw_it():
    said = verdicts("RDQ@5", 30)
    other = [dict(row) for row in said]
    other[7]["winner"] = other[7]["b"] if other[7]["winner"] == other[7]["a"] else other[7]["a"]
    first, second = (tuned(rows, grid={"alpha": [1]}) for rows in (said, other))
    scores = rd.evaluate(MADE.references, dict(MADE.runs), "RDQ@5")
    apart = abs(scores.values[0, 7, 0] - scores.values[1, 7, 0])
    assert apart > 0
    # of a verdict and its opposite, log(1 + e^−x) and log(1 + e^x): they differ by x, if the scale did not change
    losses = sorted([first.losses[7, 0], second.losses[7, 0]])
    assert np.exp(-losses[0]) + np.exp(-losses[1]) == pytest.approx(1)


@pytest.mark.parametrize(
    ("measure", "options", "message"),
    [
        ("AP@5", {}, "there is no default grid for AP@5"),
        ("RDQ@5", {"grid": {"alfa": [1]}}, "no parameter 'alfa'; did you mean alpha"),
        ("RDQ@5", {"folds": 400}, "400 folds need at least as many"),
    ],
)
def test_what_cannot_be_tuned_is_refused(measure, options, message):
    with pytest.raises(rd.RankdevError, match=message):
        rd.tune(measure, MADE.references, dict(MADE.runs), verdicts("RDQ@5", 5), **options)
