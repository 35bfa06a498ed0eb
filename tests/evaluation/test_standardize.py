"""Standardized scores: by hand, by plain loops, and what is refused."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats

import rankdev as rd
from rankdev.measures.base import MeasureInfo
from tests.evaluation.test_files import saved


def scores_of(values, label="AP@5", kind=None):
    values = np.array(values, float)[:, :, None]
    systems, queries = values.shape[:2]
    names = tuple(f"s{i}" for i in range(systems)), tuple(f"q{i}" for i in range(queries))
    return rd.Scores(*names, (label,), values, kinds=(kind,) if kind else ())


RAW = scores_of([[0.9, 0.0], [0.8, 0.1], [0.7, 0.2]])  # z = 1, 0, −1 and the opposite


@pytest.mark.parametrize(
    ("method", "label", "up"), [("normal", "std(AP@5)", stats.norm.cdf(1)), ("linear", "std-AB(AP@5)", 0.65)]
)
def test_by_hand(method, label, up):
    found = RAW.standardize(method=method)
    assert found.measures == (label,)
    assert_allclose(found.of(label), [[up, 1 - up], [0.5, 0.5], [1 - up, up]])
    assert found.kinds == (MeasureInfo(label, "mean", True, (0.0, 1.0)),)
    assert any("standardized by query" in remark for remark in found.remarks)


@given(st.integers(0, 10_000))
def test_by_plain_loops(seed):
    rng = np.random.default_rng(seed)
    own, others = np.round(rng.random((2, 5)), 1), np.round(rng.random((6, 5)), 1)
    own[rng.random(own.shape) < 0.2] = np.nan
    others[rng.random(others.shape) < 0.3] = np.nan
    found = scores_of(own).standardize(scores_of(others)).values[:, :, 0]
    for q in range(5):
        known = [x for x in others[:, q] if not math.isnan(x)]
        for s in range(2):
            x = own[s, q]
            if len(known) < 3 or math.isnan(x) or (len(set(known)) == 1 and x != known[0]):
                assert math.isnan(found[s, q])
            elif len(set(known)) == 1:
                assert found[s, q] == 0.5
            else:
                z = (x - np.mean(known)) / np.std(known, ddof=1)
                assert found[s, q] == pytest.approx(stats.norm.cdf(z))


def test_queries_on_which_all_are_equal_have_one_half_and_a_note():
    found = scores_of([[0.1 + 0.2, 0.1], [0.3, 0.2], [0.3, 0.3]]).standardize()
    assert found.of("std(AP@5)")[:, 0].tolist() == [0.5] * 3
    assert any("AP@5: 1 query on which all of them are equal, set to .5" in remark for remark in found.remarks)
    other = scores_of([[0.4, 0.1]]).standardize(scores_of([[0.3, 0.1], [0.3, 0.2], [0.3, 0.3]]))
    assert np.isnan(other.values[0, 0, 0])
    assert any("1 other score cannot be standardized there" in remark for remark in other.remarks)


def test_where_lower_is_better_it_stays_so():
    kind = MeasureInfo("miss", "mean", False, (0.0, math.inf))
    found = scores_of([[1, 2], [2, 4], [3, 9]], "miss", kind).standardize()
    assert found.lower_is_better == ("std(miss)",)
    assert found.sorted_by("std(miss)").systems == ("s0", "s1", "s2")


def test_files_keep_what_standardized_scores_are(tmp_path):
    found = scores_of(np.random.default_rng(0).random((4, 12))).standardize()
    for name in ("scores.csv", "scores.parquet"):
        saved(found, tmp_path / name)
        read = rd.read_scores(tmp_path / name)
        assert (read.kinds, read.notes) == (found.kinds, found.notes)
        compared = rd.significance(tmp_path / name)
        assert any("standardized by query" in remark for remark in compared.remarks)


def test_reference_systems_from_a_file_or_table(tmp_path):
    expected = RAW.select(systems=["s0"]).standardize(RAW)
    path = tmp_path / "reference.csv"
    RAW.to_polars().write_csv(path)
    for reference in (path, str(path), RAW.to_polars()):
        assert RAW.select(systems=["s0"]).standardize(reference).values.tolist() == expected.values.tolist()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: RAW.select(systems=["s0", "s1"]).standardize(), "3 systems or more; got s0, s1"),
        (lambda: RAW.standardize(RAW.select(systems=["s0", "s1"])), "3 systems or more"),
        (lambda: RAW.standardize().standardize(), r"std\(AP@5\) is standardized already"),
        (lambda: scores_of([[1, 2], [2, 4], [3, 9]], "NumRet").standardize(), "NumRet is added up over queries"),
        (lambda: scores_of([[1, 2], [2, 4], [3, 9]], "GMAP").standardize(), "GMAP is summarized by a geometric mean"),
        (lambda: RAW.standardize(RAW.select(queries=["q1"])), "1 of 2 queries is not among .* such as 'q0'"),
        (lambda: RAW.standardize(scores_of(RAW.of("AP@5"), "P@5")), "no scores of AP@5, only of P@5"),
        (lambda: RAW.standardize(method="z"), "unknown method 'z'"),
        (lambda: RAW.standardize("nowhere.csv"), "nowhere.csv: there is no such file"),
    ],
)
def test_nonsense_is_refused(call, message):
    with pytest.raises(rd.RankdevError, match=message):
        call()
