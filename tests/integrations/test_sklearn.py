"""scikit-learn: the scorer in cross_val_score and GridSearchCV, with queries routed to folds and scores."""

import pickle

import numpy as np
import pytest

import rankdev as rd

sklearn = pytest.importorskip("sklearn")
from sklearn.linear_model import Ridge  # noqa: E402
from sklearn.model_selection import GroupKFold, cross_val_score  # noqa: E402
from sklearn.tree import DecisionTreeRegressor  # noqa: E402

from rankdev.integrations.sklearn import mean_score, scorer  # noqa: E402
from tests.raising import raises  # noqa: E402


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    queries = np.array([f"q{i}" for i in range(30)])[rng.permutation(np.repeat(np.arange(30), 10))]
    x = rng.normal(size=(300, 4))
    labels = np.digitize(x[:, 0] - 0.5 * x[:, 1] + 0.3 * rng.normal(size=300), [0, 0.8, 1.6])
    return x, labels, queries


@pytest.fixture(autouse=True)
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def by_hand(model, rows, measure, folds):
    x, labels, queries = rows
    found = []
    for train, test in folds.split(x, labels, queries):
        predictions = model.fit(x[train], labels[train]).predict(x[test])
        grades, run = {}, {}
        for row, query, score in zip(test, queries[test], predictions, strict=True):
            grades.setdefault(query, {})[f"{row}"] = int(labels[row])
            run.setdefault(query, {})[f"{row}"] = float(score)
        scores = rd.evaluate(rd.References.from_grades(grades), {"model": run}, measure, ties="expected")
        found.append(scores.means[0, 0])
    return found


@pytest.mark.parametrize("measure", ["RDQ@5", "nDCG@10"])
@pytest.mark.parametrize("model", [Ridge(), DecisionTreeRegressor(max_depth=2, random_state=0)])
def test_cross_validation_scores_by_query(rows, model, measure):
    x, labels, queries = rows
    folds = GroupKFold(3)
    found = cross_val_score(model, x, labels, cv=folds, scoring=scorer(measure), params={"groups": queries})
    np.testing.assert_allclose(found, by_hand(model, rows, measure, folds), atol=1e-12)


def test_without_routing_the_remedy_is_named(rows):
    x, labels, queries = rows
    with sklearn.config_context(enable_metadata_routing=False), raises("no-routing", rd.UsageError):
        cross_val_score(Ridge(), x, labels, groups=queries, cv=GroupKFold(3), scoring=scorer(), error_score="raise")


def test_what_cannot_be_scored_is_refused():
    with raises("unknown-measure", rd.MeasureError, name="RQD"):
        scorer("RQD@5")
    with raises("bad-shape", rd.DataError, shapes=((2,), (2, 2), (2,))):
        mean_score([1, 0], [[0.1, 0.9], [0.2, 0.8]], ["q", "q"])
    with pytest.raises(rd.RankdevError, match="Tau"):
        mean_score([1, 0], [0.1, 0.9], ["q", "q"], "Tau@5")
    with raises("no-value", rd.DataError, row=1, name="group"):
        mean_score([1, 0], [0.1, 0.9], [1.0, np.nan])
    with raises("not-an-id", rd.DataError, value=None):
        mean_score([1, 0], [0.1, 0.9], ["q", None])
    with raises("bad-value", rd.DataError, name="labels"):
        mean_score(["good", "bad"], [0.1, 0.9], ["q", "q"])


def test_a_scorer_pickles(rows):
    x, labels, queries = rows
    model = Ridge().fit(x, labels)
    wanted = scorer("RDQ@5")(model, x, labels, groups=queries)
    assert pickle.loads(pickle.dumps(scorer("RDQ@5")))(model, x, labels, groups=queries) == wanted
