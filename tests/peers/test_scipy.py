"""Tau and Rho are SciPy's."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

import rankdev as rd
from tests.common import draws


@draws.quick
@given(draws.references(), st.data())
def test_correlations(reference, data):
    assume(len(reference.tiers) > 1)
    run = data.draw(st.permutations(list(reference)))
    positions, ranks = range(len(run)), [reference[item] for item in run]
    assert rd.score(reference, run, "Tau") == pytest.approx(stats.kendalltau(positions, ranks).statistic, abs=1e-12)
    assert rd.score(reference, run, "Rho") == pytest.approx(stats.spearmanr(positions, ranks).statistic, abs=1e-12)
