"""LightGBM and XGBoost: training for RDQ raises RDQ through every door, with groups and weights taken from the data."""

import warnings

import numpy as np
import pytest

import rankdev as rd
from rankdev.integrations import lightgbm, xgboost
from rankdev.learning.training import training_labels
from tests.raising import raises

LIGHT = {"num_threads": 1, "verbosity": -1, "num_leaves": 7, "deterministic": True}
EXTREME = {"nthread": 1, "eta": 0.2, "max_depth": 3, "disable_default_eval_metric": True}
RNG = np.random.default_rng(0)
SIZES = RNG.integers(10, 30, 60)
X = RNG.normal(size=(SIZES.sum(), 4))
WORTH = X[:, 0] + 0.5 * X[:, 1] * X[:, 2]
OWNER = np.repeat(np.arange(len(SIZES)), SIZES)
PARTS = np.split(WORTH, np.cumsum(SIZES)[:-1])
LABELS = np.concatenate([np.maximum(0, 8.0 - np.argsort(np.argsort(-part))) for part in PARTS])
METRIC = "RDQ@5"


@pytest.fixture(scope="module")
def lgb():
    return pytest.importorskip("lightgbm")


@pytest.fixture(scope="module")
def xgb():
    return pytest.importorskip("xgboost")


def score(predictions):
    """RDQ of predictions for all rows, as evaluate computes it."""
    grades = {f"q{q}": {f"{i}": LABELS[i] for i in np.flatnonzero(q == OWNER)} for q in range(len(SIZES))}
    run = {query: {item: float(predictions[int(item)]) for item in entry} for query, entry in grades.items()}
    return rd.evaluate(rd.References.from_grades(grades), {"run": run}, METRIC, ties="expected").means[0, 0]


def light(lgb):
    """Train with LightGBM; return the predictions and what its metric was after each round."""
    seen, data = {}, lgb.Dataset(X, LABELS, group=SIZES)
    settings = {**LIGHT, "objective": lightgbm.Objective(METRIC)}
    shown, metric = [lgb.record_evaluation(seen)], lightgbm.Metric(METRIC)
    booster = lgb.train(settings, data, 20, valid_sets=[data], feval=metric, callbacks=shown)
    return booster.predict(X), seen["training"][METRIC]


def test_training_with_lightgbm_raises_rdq_and_the_metric_is_ours(lgb):
    predictions, seen = light(lgb)
    assert seen[-1] > seen[0] + 0.05
    assert seen[-1] == pytest.approx(score(predictions), abs=1e-9)


def test_training_with_xgboost_raises_rdq_and_the_metric_is_ours(xgb):
    seen, data = {}, xgb.DMatrix(X, LABELS, qid=OWNER)
    options = {"obj": xgboost.Objective(METRIC, seed=1), "custom_metric": xgboost.Metric(METRIC), "verbose_eval": False}
    booster = xgb.train(EXTREME, data, 20, evals=[(data, "training")], evals_result=seen, **options)
    values = seen["training"][METRIC]
    assert values[-1] > values[0] + 0.05
    # XGBoost keeps six digits
    assert values[-1] == pytest.approx(score(booster.predict(data, output_margin=True)), abs=1e-5)


def test_a_ranker_shows_its_groups_to_objectives_of_four_arguments(lgb):
    ranker = lgb.LGBMRanker(objective=lightgbm.Objective(METRIC).of_ranker, n_estimators=20, **LIGHT)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the way to give evaluation data changes between versions
        metric = lightgbm.Metric(METRIC).of_ranker
        ranker.fit(X, LABELS, group=SIZES, eval_set=[(X, LABELS)], eval_group=[SIZES], eval_metric=metric)
    predictions, seen = light(lgb)
    np.testing.assert_array_equal(ranker.predict(X), predictions)
    assert ranker.evals_result_["training"][METRIC] == pytest.approx(seen)


def test_weights_are_those_of_queries(xgb):
    plain = xgb.DMatrix(X, LABELS, group=SIZES)
    weighted = xgb.DMatrix(X, LABELS, group=SIZES, weight=np.full(len(SIZES), 2.0))
    twice, once = (xgboost.Objective(METRIC)(np.zeros(len(X)), data)[0] for data in (weighted, plain))
    np.testing.assert_allclose(twice, 2 * once)


def test_references_may_know_more_than_the_rows(lgb):
    references = rd.References.from_lists({"q1": ["gone", "a", "b"], "q2": ["c", "gone"]})
    labels = training_labels(references, ["q1"] * 3 + ["q2"] * 2, ["b", "a", "x", "c", "y"])
    data = lgb.Dataset(X[:5], labels, group=[3, 2], params={"min_data_in_leaf": 1, "min_data_in_bin": 1})
    objective = lightgbm.Objective(METRIC, references=references)
    booster = lgb.train({**LIGHT, "min_data_in_leaf": 1, "objective": objective}, data, 30)
    name, value, higher = lightgbm.Metric(METRIC, references=references)(booster.predict(X[:5]), data)
    best = rd.evaluate(references, {"best": {"q1": ["x", "a", "b"], "q2": ["c", "y"]}}, METRIC).means[0, 0]
    assert (name, higher) == (METRIC, True)
    assert 0.3 < value <= best + 1e-12


@pytest.mark.parametrize(
    ("call", "kind", "fields"),
    [
        (lambda m: m.of_ranker([1, 0], [0.1, 0.2], [1, -1], [2]), "bad-value", {"name": "weights"}),
        (lambda m: m.of_ranker([1, 0], [0.1, 0.2], [0, 0], [2]), "bad-value", {"name": "weights"}),
        (lambda m: m.of_ranker([1, 0], [0.1, 0.2], [1, np.nan], [2]), "bad-value", {"name": "weights"}),
        (lambda m: m.of_ranker([1, 0], [0.1, 0.2], [1, 1, 1], [2]), "unequal", {"counts": (3, 2)}),
        (lambda m: m.of_ranker([1, 0, 1], [1, 2, 3], None, [2.7, 1.3]), "bad-value", {"name": "a group", "value": 2.7}),
        (lambda m: m.of_ranker([1, 0], [1, 2], None, [3, -1]), "bad-value", {"name": "a group", "value": -1}),
        (lambda m: m.of_ranker([1, 0], [1, 2], None, [1]), "unequal", {"counts": (1, 2)}),
        (lambda m: m([1, 0], [0.1, 0.2]), "not-a-type", {"expected": "a Dataset with groups"}),
    ],
)
@pytest.mark.parametrize("made", [lightgbm.Metric, lightgbm.Objective])
def test_wrong_data_are_refused(made, call, kind, fields):
    with raises(kind, **fields):
        call(made(METRIC))


def test_estimators_that_hide_the_groups_are_refused(xgb):
    ranker = xgb.XGBRanker(n_estimators=1, eval_metric=xgboost.Metric(METRIC), n_jobs=1)
    x, labels, queries = np.zeros((4, 1)), [1, 0, 0, 1], [1, 1, 2, 2]
    with raises("not-a-type", rd.UsageError, expected="a DMatrix with groups"):
        ranker.fit(x, labels, qid=queries, eval_set=[(x, labels)], eval_qid=[queries], verbose=False)
