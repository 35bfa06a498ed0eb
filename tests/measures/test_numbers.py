"""Numbers at the edge: NumPy's own, very large cutoffs, long references."""

import numpy as np
import pytest

import rankdev as rd
from rankdev import MeasureError
from rankdev.measures.orders import Compat
from rankdev.measures.rdq import RDQ
from tests.common.one_ranking import rdq
from tests.raising import raises


def test_numpy_numbers_are_numbers():
    assert RDQ(cutoff=np.int64(5), alpha=np.float32(4), weights=np.array([1, 0.5]), tail=np.int64(0) + 0.25) == RDQ(
        cutoff=5, alpha=4, weights=(1, 0.5), tail=0.25
    )
    assert str(RDQ(cutoff=np.int64(5))) == "RDQ@5"
    assert Compat(depth=np.int64(10)) == Compat(depth=10)


@pytest.mark.parametrize("weights", [5, ["a"], [True, True], [float("nan")], [float("inf")]])
def test_weights_are_numbers(weights):
    with raises("bad-value", MeasureError):
        rdq(["d1"], ["d1"], weights=weights)


@pytest.mark.filterwarnings("error")
def test_a_reference_of_thousands_of_ranks_has_an_ndcg():
    """2^g is past the largest float for g > 1023, the quotient is not."""
    items = [f"d{i}" for i in range(3000)]
    for text in ("nDCG(gains=linear,dcg=exp-log2)", "nDCG(gains=linear,dcg=exp-log2)@5"):
        assert rd.score(items, items, text) == 1
        # 2^2999 / 2^3000, and as much again for each place further down
        assert rd.score(items, items[1:2], text) == pytest.approx(
            0.5 / sum(0.5**i / np.log2(i + 2) for i in range(5 if "@" in text else 100))
        )


@pytest.mark.filterwarnings("error")
def test_the_grades_of_err_may_be_high():
    reference = rd.Reference.from_grades({"d1": 900, "d2": 899})
    assert rd.score(reference, ["d2", "d1"], "ERR(max_grade=900)") == pytest.approx(1 / 2 + 1 / 2 / 2)
    with raises("high-grade", MeasureError, measure="ERR", grade=900, max_grade=4):
        rd.score(reference, ["d2", "d1"], "ERR@5")


def test_a_very_deep_compatibility_is_bounded():
    assert rd.score(["a", "b"], ["a", "b"], "Compat(p=0.99)@1000000000") == 1
    with raises("bad-value", MeasureError, measure="Compat", name="depth"):
        rd.score(["a", "b"], ["a", "b"], "Compat(p=0.9999999)@1000000000")


def test_explanations_and_losses_of_extreme_weights_add_up():
    plain, huge = ({"k": 2, "weights": [weight, weight]} for weight in (1, 1e308))
    expected, got = (rd.explain(["a", "b"], ["b", "a"], **options) for options in (plain, huge))
    assert [entry.gained for entry in got.positions] == [entry.gained for entry in expected.positions]
    lost = rd.losses({"q": ["a", "b"]}, {"s": {"q": ["b", "x"]}}, "RDQ(weights=[1e308,1e308])@2").to_polars()
    assert sum(lost.row(0)[1:]) == pytest.approx(1)
