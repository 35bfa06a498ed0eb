"""XGBoost: training for RDQ raises RDQ, with groups and weights taken from the data."""

import numpy as np
import pytest

import rankdev as rd
from rankdev.integrations import lightgbm
from rankdev.integrations.xgboost import Metric, Objective
from tests.raising import raises

xgb = pytest.importorskip("xgboost")
SETTINGS = {"nthread": 1, "eta": 0.2, "max_depth": 3, "disable_default_eval_metric": True}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    sizes = rng.integers(10, 30, 60)
    x = rng.normal(size=(sizes.sum(), 4))
    labels = np.digitize(x[:, 0] + 0.5 * x[:, 1] * x[:, 2], [0, 0.8, 1.6])
    return xgb.DMatrix(x, labels, qid=np.repeat(np.arange(60), sizes)), sizes


def trained(data, objective):
    seen = {}
    booster = xgb.train(
        SETTINGS,
        data,
        20,
        obj=objective,
        custom_metric=Metric("RDQ@5"),
        evals=[(data, "training")],
        evals_result=seen,
        verbose_eval=False,
    )
    return booster, seen["training"]["RDQ@5"]


def test_training_raises_rdq(data):
    data, sizes = data
    booster, seen = trained(data, Objective("RDQ@5", seed=1))
    assert seen[-1] > seen[0] + 0.1
    predictions = booster.predict(data, output_margin=True)
    wanted = lightgbm.Metric("RDQ@5").of_ranker(data.get_label(), predictions, None, sizes)[1]
    assert seen[-1] == pytest.approx(wanted, abs=1e-5)  # XGBoost keeps six digits


def test_weights_are_those_of_queries(data):
    plain, sizes = data
    weighted = xgb.DMatrix(np.zeros((sizes.sum(), 1)), plain.get_label(), group=sizes, weight=np.full(60, 2.0))
    scores = np.zeros(sizes.sum())
    np.testing.assert_allclose(Objective("RDQ@5")(scores, weighted)[0], 2 * Objective("RDQ@5")(scores, plain)[0])


def test_estimators_that_hide_the_groups_are_refused():
    ranker = xgb.XGBRanker(n_estimators=1, eval_metric=Metric("RDQ@5"), n_jobs=1)
    x, labels, queries = np.zeros((4, 1)), [1, 0, 0, 1], [1, 1, 2, 2]
    with raises("not-a-type", rd.UsageError, expected="a DMatrix with groups"):
        ranker.fit(x, labels, qid=queries, eval_set=[(x, labels)], eval_qid=[queries], verbose=False)
