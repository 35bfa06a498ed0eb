import numpy as np
import polars as pl
import pytest
from scipy import stats

import rankdev as rd
from rankdev.statistics.prediction_powered import estimate, least_half
from tests.raising import raises, warns


def made(n=40, total=500, noise=0.1, bias=0.3, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.random((3, total, 1))
    queries = tuple(f"q{i}" for i in range(total))
    people = rd.Scores(tuple("abc"), queries[:n], ("P@5",), truth[:, :n])
    model = rd.Scores(
        tuple("abc"), queries[::-1], ("P@5",), (truth + bias + rng.normal(0, noise, truth.shape))[:, ::-1]
    )
    return people, model, truth


def test_by_hand():
    """λ = Cov(Y, f)/((1 + n/N) Var f); the estimate is mean Y + λ (mean of new f − mean of old f)."""
    rng = np.random.default_rng(1)
    told = rng.random(20)
    said, alone = told + rng.normal(0, 0.2, 20), rng.random(80)
    found = estimate(told, said, alone, 0.1)
    lam = np.cov(told, said)[0, 1] / (np.var([*said, *alone], ddof=1) * 1.25)
    assert found["trust"] == pytest.approx(lam)
    assert found["estimate"] == pytest.approx(told.mean() + lam * (alone.mean() - said.mean()))
    variance = np.var(told - lam * said, ddof=2) / 20 + lam**2 * np.var([*said, *alone], ddof=1) / 80
    assert found["high"] - found["estimate"] == pytest.approx(stats.t.ppf(0.95, 19) * np.sqrt(variance))


def test_a_model_that_tells_nothing_costs_nothing():
    rng = np.random.default_rng(2)
    told = rng.random(30)
    found = estimate(told, np.full(30, 0.5), np.full(100, 0.5), 0.05)
    assert found["trust"] == 0
    assert (found["low"], found["high"]) == pytest.approx(tuple(stats.ttest_1samp(told, 0).confidence_interval()))
    assert estimate(told, -told, -rng.random(100), 0.05)["trust"] == 0  # the opposite gets no weight


def test_means_and_differences():
    people, model, truth = made()
    found = rd.prediction_powered(people, model)
    table = found.to_polars()
    assert table.select("a", "b").rows() == [("a", None), ("b", None), ("c", None), ("b", "a"), ("c", "a"), ("c", "b")]
    for row, true in zip(table.iter_rows(named=True), truth.mean(axis=(1, 2)), strict=False):
        assert row["low"] < true < row["high"]
        assert row["model"] > row["high"]  # the model's bias is gone
    assert (found.summary()["narrower"] < 0.7).all()
    parts = [(side[1] - side[0])[:, 0] for side in (people.values, model.values[:, :-41:-1], model.values[:, :460])]
    pair = estimate(*parts, 0.05 / 3)  # of all three pairs together
    assert table.row(3, named=True)["high"] == pytest.approx(pair["high"])
    assert rd.prediction_powered(people, model, baselines="c").to_polars().height == 5


def test_queries_are_matched_by_name():
    people, model, _ = made()
    strange = rd.Scores(people.systems, tuple(f"x{q}" for q in people.queries), people.measures, people.values)
    with raises("little-overlap", rd.DataError, both=0):
        rd.prediction_powered(strange, model)
    some = rd.Scores(people.systems, (*people.queries[:39], "elsewhere"), people.measures, people.values)
    with warns("unjudged", count=1):
        assert rd.prediction_powered(some, model).both == 39
    with raises("unlike-collection", rd.DataError, collection="model"):
        rd.prediction_powered(people, model.select(systems=["a", "b"]))


def test_scores_that_are_all_the_same_do_not_collapse_the_interval():
    """Ten zeros by humans and by the model: the same limit as for a difference never seen."""
    zeros = np.zeros(10)
    assert estimate(zeros, zeros, np.zeros(100), 0.05)["high"] == 0  # where no range is known
    found = estimate(zeros, zeros, np.zeros(100), 0.05, (0.0, 1.0), least_half(zeros, 0.05, 1.0))
    assert (found["low"], found["high"]) == (0.0, pytest.approx(stats.beta.ppf(0.975, 1, 10), rel=0.02))
    assert (found["human_low"], found["human_high"]) == (found["low"], found["high"])


def test_systems_that_are_alike_on_judged_queries_may_differ_on_others():
    values = np.tile(np.random.default_rng(0).random((1, 60, 1)), (2, 1, 1))
    alike = rd.Scores(("a", "b"), range(60), ("P@5",), values)
    found = rd.prediction_powered(alike.select(queries=slice(0, 20)), alike).to_polars()
    pair = found.filter(pl.col("b").is_not_null())
    assert pair["estimate"].item() == 0
    assert pair["high"].item() == -pair["low"].item() == pytest.approx(least_half(np.zeros(20), 0.05, 1.0))


def test_scores_that_vary_do_not_depend_on_the_range():
    rng = np.random.default_rng(5)
    parts = rng.random(20), rng.random(20), rng.random(50)
    assert estimate(*parts, 0.05) == estimate(*parts, 0.05, (0.0, 1.0))
