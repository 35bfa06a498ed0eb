"""Repeated runs: the variance between runs is part of the error of a difference."""

import numpy as np
import pytest
from scipy import stats

import rankdev as rd
from rankdev.errors import UsageError
from tests.raising import noted, raises
from tests.statistics.conftest import scored

RUNS = {"a": ["a-1", "a-2", "a-3"], "b": ["b-1", "b-2", "b-3"]}
NAMES = ("a-1", "b-1", "a-2", "c", "b-2", "a-3", "b-3")


def by_hand(a, b):
    """Test two systems' runs, ``[run, query]``: each with its own variance between runs, Satterthwaite's degrees."""
    n = a.shape[1]
    apart = a.mean(axis=0) - b.mean(axis=0)
    parts = [(apart.var(ddof=1) / n, n - 1)]
    parts += [(runs.mean(axis=1).var(ddof=1) / len(runs), len(runs) - 1) for runs in (a, b) if len(runs) > 1]
    variance = sum(part for part, _ in parts)
    freedom = variance**2 / sum(part**2 / free for part, free in parts)
    half = stats.t.ppf(0.975, freedom) * np.sqrt(variance)
    return 2 * stats.t.sf(abs(apart.mean()) / np.sqrt(variance), freedom), apart.mean() - half, apart.mean() + half


@pytest.mark.parametrize("effect", [0.0, 1.0])
def test_p_and_interval_follow_from_the_variance_of_queries_and_runs(effect):
    rng = np.random.default_rng(3)
    values = rng.normal(0, 1, (7, 30, 2)) + effect * rng.normal(0, 1, (7, 1, 2))
    found = rd.significance(scored(values, NAMES), replicates=RUNS, correction="none")
    a, b, c = values[[0, 2, 5]], values[[1, 4, 6]], values[[3]]
    expected = [by_hand(x[:, :, m], y[:, :, m]) for m in range(2) for x, y in ((b, a), (c, a), (c, b))]
    rows = found.to_polars()
    assert rows.select("p", "low", "high").to_numpy() == pytest.approx(np.array(expected))
    assert rows.select("a", "b").rows() == [("b", "a"), ("c", "a"), ("c", "b")] * 2
    assert found.replicates == {"a": 3, "b": 3, "c": 1}
    noted(found.remarks, "single-run", count=1)


def test_wrong_replicates_are_refused():
    scores = scored(np.random.default_rng(7).normal(0, 1, (7, 30)), NAMES)
    for replicates, kind, fields in (
        ({"a": ["a-1"], "b": ["b-1"]}, "too-few", {"unit": "run", "count": 1}),
        ({"a": ["a-1", "a-9"]}, "not-a-choice", {"value": "a-9"}),
        ({"a": ["a-1", "a-2"], "b": ["a-2", "b-1"]}, "appears-twice", {"value": "a-2"}),
        ({"c": ["a-1", "a-2"]}, "unlisted-run", {"run": "c"}),
        ({"a": "a-1"}, "bad-value", {"name": "replicates"}),
        ({"a": []}, "bad-value", {"name": "replicates"}),
        ({"all": list(NAMES)}, "too-few", {"unit": "system", "count": 1}),
    ):
        with raises(kind, UsageError, **fields):
            rd.significance(scores, replicates=replicates)
    with raises("too-few", UsageError, least=3, unit="run", count=2):
        rd.significance(scores, replicates={"a": ["a-1", "a-2"]})
    for options in ({"test": "randomization"}, {"clusters": {}}):
        with pytest.raises(UsageError):
            rd.significance(scores, replicates=RUNS, **options)
