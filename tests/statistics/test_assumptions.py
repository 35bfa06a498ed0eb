"""Remarks where assumptions fail, each with its number; and none where they hold."""

import numpy as np
import pytest

import rankdev as rd
from tests.raising import kinds, noted


def remarks_on(apart, measure="P@5", **options):
    """Test two systems whose differences are these, by query."""
    apart = np.asarray(apart)[:, None]
    values = np.stack([0.5 - apart / 2, 0.5 + apart / 2])
    scores = rd.Scores(("a", "b"), tuple(f"q{i}" for i in range(len(apart))), (measure,), values)
    return rd.significance(scores, **options).remarks


def test_well_behaved_differences_have_no_remark():
    rng = np.random.default_rng(1)
    assert remarks_on(rng.normal(0.3, 0.3, 40)) == ()
    assert remarks_on(rng.normal(0, 0.3, 40)) == ()


@pytest.mark.parametrize("test", ["t", "randomization"])
def test_skewed_differences_that_are_significant(test):
    """Small wins and larger losses, of which a sample may show too few."""
    apart = np.append(np.linspace(0.05, 0.2, 18), [-0.3, -0.2])
    note = noted(remarks_on(apart, test=test), "skewed", measure="P@5", count=1)
    assert note.fields["skewness"] > 2
    assert "skewed" not in kinds(remarks_on(apart - apart.mean(), test=test))
    assert "skewed" not in kinds(remarks_on(np.tile(apart, 10), test=test))  # of many queries, it matters little


def test_one_query_that_dominates():
    apart = np.append(np.tile([0.02, -0.02], 10), -0.9)
    note = noted(remarks_on(apart), "one-query-decides", query="q20", a="b", b="a")
    assert (note.fields["mean"], note.fields["without"]) == pytest.approx((-0.9 / 21, 0.0))


def test_almost_identical_pairs():
    apart = np.append(np.zeros(30), [0.1, 0.2])
    assert noted(remarks_on(apart), "few-differ", count=1, pairs=1)
    assert "range-seen" not in kinds(remarks_on(apart))
    assert noted(remarks_on(apart, "mine"), "range-seen", measure="mine")
