"""Where a lower value of a measure is better, every statement about who is better goes by that."""

import numpy as np
import pytest

import rankdev as rd
from rankdev.measures.base import MeasureInfo
from tests.raising import raises
from tests.statistics.conftest import scored

KINDS = (MeasureInfo("misses", "sum", False, (0.0, np.inf)), MeasureInfo("RDQ@5", "mean", True, (0.0, 1.0)))


@pytest.fixture
def scores():
    """The first system misses least and scores best, on every query."""
    rng = np.random.default_rng(0)
    good = rng.random((3, 40)) / 10 + np.array([0.8, 0.5, 0.2])[:, None]
    values = np.stack([10 * (1 - good), good], axis=2)
    return scored(values, ("few", "some", "many"), ("misses", "RDQ@5"), kinds=KINDS)


def test_agreement_between_measures_and_with_people(scores):
    assert rd.agreement(scores).to_polars().row(0)[3:] == pytest.approx((1.0, 1.0))
    preferred = [{"query": f"q{i}", "a": "few", "b": "many", "winner": "few"} for i in range(40)]
    found = rd.agreement_with_people(scores, preferred)
    assert found.agreement.tolist() == [1.0, 1.0]


def test_differences_begin_with_the_worst(scores):
    one, other = (scores.differences("few", "some").to_polars().filter(measure=name) for name in scores.measures)
    assert one["query"].to_list() == other["query"].to_list()
    assert one["difference"].is_sorted(descending=True)
    assert scores.differences("few", "some").plot(measure="misses") is not None


@pytest.mark.parametrize("combine", [rd.leaderboard, rd.meta_analysis, rd.table])
def test_collections_must_agree_on_which_end_is_better(scores, combine):
    """A table has no more than labels: of a measure that is not there, they say nothing."""
    bare = rd.Scores.from_table(scores.to_polars())
    with raises("unlike-measure", rd.DataError, collection="bare", measure="misses"):
        combine({"whole": scores, "bare": bare})
    with raises("unlike-measure", rd.DataError, collection="model"):
        rd.prediction_powered(scores, bare)
