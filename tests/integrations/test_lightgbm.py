"""LightGBM: training for RDQ raises RDQ, the same through all its doors, with groups taken from the data."""

import warnings

import numpy as np
import pytest

import rankdev as rd
from rankdev.integrations.lightgbm import Metric, Objective
from rankdev.learning.training import training_labels
from tests.raising import raises

lgb = pytest.importorskip("lightgbm")
SETTINGS = {"num_threads": 1, "verbosity": -1, "num_leaves": 7, "deterministic": True}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    sizes = rng.integers(10, 30, 60)
    x = rng.normal(size=(sizes.sum(), 4))
    worth = x[:, 0] + 0.5 * x[:, 1] * x[:, 2]
    labels = np.concatenate(
        [np.maximum(0, 8 - np.argsort(np.argsort(-w))) for w in np.split(worth, np.cumsum(sizes)[:-1])]
    )
    return x, labels.astype(float), sizes


def trained(rows, objective, rounds=20):
    x, labels, sizes = rows
    seen = {}
    data = lgb.Dataset(x, labels, group=sizes)
    booster = lgb.train(
        {**SETTINGS, "objective": objective},
        data,
        rounds,
        valid_sets=[data],
        feval=Metric("RDQ@5"),
        callbacks=[lgb.record_evaluation(seen)],
    )
    return booster, seen["training"]["RDQ@5"]


def test_training_raises_rdq_and_the_metric_is_ours(rows):
    x, labels, sizes = rows
    booster, seen = trained(rows, Objective("RDQ@5"))
    assert seen[-1] > seen[0] + 0.05
    predictions = booster.predict(x)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    grades = {f"q{q}": {f"{i}": labels[i] for i in np.flatnonzero(owner == q)} for q in range(len(sizes))}
    run = {query: {item: predictions[int(item)] for item in entry} for query, entry in grades.items()}
    scores = rd.evaluate(rd.References.from_grades(grades), {"run": run}, "RDQ@5", ties="expected")
    assert seen[-1] == pytest.approx(scores.means[0, 0], abs=1e-9)


def test_a_ranker_shows_its_groups_to_objectives_of_four_arguments(rows):
    x, labels, sizes = rows
    ranker = lgb.LGBMRanker(objective=Objective("RDQ@5").of_ranker, n_estimators=20, **SETTINGS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the way to give evaluation data changes between versions
        metric = Metric("RDQ@5").of_ranker
        ranker.fit(x, labels, group=sizes, eval_set=[(x, labels)], eval_group=[sizes], eval_metric=metric)
    booster, seen = trained(rows, Objective("RDQ@5"))
    np.testing.assert_array_equal(ranker.predict(x), booster.predict(x))
    assert ranker.evals_result_["training"]["RDQ@5"] == pytest.approx(seen)


def test_references_may_know_more_than_the_rows(rows):
    x, _, _ = rows
    references = rd.References.from_lists({"q1": ["gone", "a", "b"], "q2": ["c", "gone"]})
    labels = training_labels(references, ["q1"] * 3 + ["q2"] * 2, ["b", "a", "x", "c", "y"])
    data = lgb.Dataset(x[:5], labels, group=[3, 2], params={"min_data_in_leaf": 1, "min_data_in_bin": 1})
    objective = Objective("RDQ@5", references=references)
    booster = lgb.train({**SETTINGS, "min_data_in_leaf": 1, "objective": objective}, data, 30)
    name, value, higher = Metric("RDQ@5", references=references)(booster.predict(x[:5]), data)
    best = rd.evaluate(references, {"best": {"q1": ["x", "a", "b"], "q2": ["c", "y"]}}, "RDQ@5").means[0, 0]
    assert (name, higher) == ("RDQ@5", True)
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
@pytest.mark.parametrize("made", [Metric, Objective])
def test_wrong_data_are_refused(made, call, kind, fields):
    with raises(kind, **fields):
        call(made("RDQ@5"))
