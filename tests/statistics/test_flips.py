from fractions import Fraction
from importlib.util import find_spec
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankdev.statistics.flips import (
    BITS,
    all_flips,
    count_extremes,
    draw,
    flip_words,
    hashed,
    largest_of,
    loops,
    scale_for,
    stream_keys,
)
from tests.common.examples import examples
from tests.statistics.plain import all_extremes, exact_p

COUNTERS = {"numpy": 0.0} | ({"numba": 1e18} if find_spec("numba") else {})  # work, which decides

fractions = st.one_of(
    st.fractions(0, 1, max_denominator=16),
    st.sampled_from([Fraction(0), Fraction(1)]),
    st.integers(0, 999_983).map(lambda i: Fraction(i, 999_983)),
)


def counts(how, values, n, *, subsamples=3, permutations=60, seed=0, **sampling):
    """Counts of extreme flips: ``[subsample, pair, measure]``."""
    keys = stream_keys(seed, n, subsamples)
    return count_extremes(values, n, keys, permutations, loops(COUNTERS[how]), **sampling)


def test_the_first_words_are_those_of_the_published_splitmix64():
    words = hashed(np.uint64(0), np.arange(3, dtype=np.uint64))
    assert [hex(word) for word in words] == ["0xe220a8397b1dcdaf", "0x6e789e6aa1b965f4", "0x6c45d188009454f"]


def test_bits_are_fair_and_queries_independent():
    words = flip_words(np.uint64(7), 128, 0, 20_000)
    bits = np.unpackbits(words.astype("<u8").view(np.uint8), axis=1, bitorder="little").astype(float)
    error = 0.5 / np.sqrt(len(bits))
    assert np.abs(bits.mean(axis=0) - 0.5).max() < 5 * error
    assert np.abs(np.corrcoef(bits.T) - np.eye(128)).max() < 6 / np.sqrt(len(bits))


@pytest.mark.parametrize("n", [1, 2, 7, 12])
def test_all_flips_are_those_of_exact_words(n):
    rows = np.random.default_rng(n).integers(-(2**40), 2**40, (n, 3)).astype(float)
    words = flip_words(np.uint64(0), n, 0, 2 ** (n - 1), exact=True)
    flipped = np.unpackbits(words.astype("<u8").view(np.uint8), axis=1, count=n, bitorder="little")
    assert np.array_equal(all_flips(rows), ((1 - 2.0 * flipped) @ rows).T)


def test_more_subsamples_keep_the_first_keys_and_sizes_differ():
    assert np.array_equal(stream_keys(3, 25, 10), stream_keys(3, 25, 30)[:10])
    assert not np.array_equal(stream_keys(3, 25, 10), stream_keys(3, 50, 10))


def test_subsamples_have_no_repeats_and_take_every_query_alike():
    picks = draw(stream_keys(0, 5, 20_000)[:, 0], 12, 5)
    assert (np.diff(picks, axis=1) > 0).all()
    share = np.bincount(picks.ravel(), minlength=12) / len(picks)
    assert np.abs(share - 5 / 12).max() < 5 * np.sqrt(5 / 12 * 7 / 12 / len(picks))
    together = (picks == 0).any(axis=1) & (picks == 11).any(axis=1)
    assert abs(together.mean() - 5 * 4 / (12 * 11)) < 0.015


@pytest.mark.parametrize("how", COUNTERS)
@examples(25)
@given(data=st.data())
def test_counts_agree_with_exact_fractions(how, data):
    systems, pool = data.draw(st.integers(2, 4)), data.draw(st.integers(2, 14))
    rows = st.lists(fractions, min_size=pool, max_size=pool)
    values = data.draw(st.lists(rows, min_size=systems, max_size=systems))
    n = data.draw(st.integers(2, pool))
    floats = np.array(values, dtype=float).T[:, :, None]
    expected = all_extremes(values, n, seed=1, subsamples=3, permutations=60)
    assert np.array_equal(counts(how, floats, n, seed=1)[:, :, 0], expected)


@pytest.mark.parametrize("how", COUNTERS)
def test_near_identical_systems_agree_with_exact_fractions(how):
    # of 200 queries a few differ, by multiples of one small step: many flips tie with the observed sum
    rng = np.random.default_rng(2)
    base = [Fraction(int(x), 7) for x in rng.integers(0, 8, 200)]
    other = [
        x + Fraction(int(s), 7 * 720720) if i % 29 == 0 else x
        for (i, x), s in zip(enumerate(base), rng.integers(-3, 4, 200), strict=True)
    ]
    values = np.array([base, other], dtype=float).T[:, :, None]
    expected = all_extremes([base, other], 150, seed=0, subsamples=4, permutations=80)
    assert np.array_equal(counts(how, values, 150, subsamples=4, permutations=80)[:, :, 0], expected)


@pytest.mark.skipif(not find_spec("numba"), reason="numba is not installed")
@pytest.mark.parametrize("n", [63, 64, 65, 4200])
@pytest.mark.parametrize("replace", [False, True])
def test_compiled_loops_agree_on_mixed_measures(n, replace):
    rng = np.random.default_rng(n)
    values = rng.random((4300, 5, 4)) * [1, 1, 1000, 1e-6]
    values[:, :, 1] = np.rint(values[:, :, 1] * 3) / 3
    values[:, 1, 3] = values[:, 0, 3]
    expected = counts("numpy", values, n, subsamples=2, permutations=300, replace=replace)
    assert np.array_equal(counts("numba", values, n, subsamples=2, permutations=300, replace=replace), expected)
    assert (expected[:, 0, 3] == 300).all()  # identical systems: every flip is as extreme


def test_threads_and_shares_change_nothing(monkeypatch):
    values = np.random.default_rng(0).random((100, 4, 2))
    monkeypatch.setattr("rankdev.statistics.flips.cores", lambda: 1)
    expected = counts("numpy", values, 70, subsamples=25, permutations=300)
    monkeypatch.setattr("rankdev.statistics.flips.cores", lambda: 4)
    monkeypatch.setattr("rankdev.statistics.flips.AT_ONCE", 1)
    assert np.array_equal(counts("numpy", values, 70, subsamples=25, permutations=300), expected)


@given(st.integers(1, 200_000), st.floats(1e-300, 1e300))
def test_scaled_sums_fit_into_the_exact_range(n, largest):
    scale = scale_for(largest_of(np.array([[largest]])), n)[0]
    assert np.frexp(scale)[0] == 0.5
    assert np.rint(largest * scale) * n <= 2**BITS + n


@pytest.mark.skipif(not find_spec("numba"), reason="numba is not installed")
def test_numba_counts_where_the_work_is_large_and_it_is_installed(monkeypatch):
    plain, compiled = loops(1e3), loops(1e18)
    assert plain != compiled
    monkeypatch.setattr("rankdev.statistics.flips.find_spec", lambda name: None)
    assert loops(1e18) == plain


@pytest.mark.parametrize("how", COUNTERS)
def test_exact_flips_are_all_flips(how):
    rng = np.random.default_rng(4)
    rows = [[Fraction(int(x), 7) for x in rng.integers(0, 8, 9)] for _ in range(3)]
    values = np.array(rows, dtype=float).T[:, :, None]
    found = counts(how, values, 6, subsamples=4, permutations=2**5, exact=True)
    picks = draw(stream_keys(0, 6, 4)[:, 0], 9, 6)
    for each, pick in zip(found[:, :, 0], picks, strict=True):
        expected = [exact_p([a[q] - b[q] for q in pick]) for a, b in combinations(rows, 2)]
        assert [Fraction(int(count), 2**5) for count in each] == expected


def test_draws_with_replacement_take_every_query_alike_and_repeat():
    picks = draw(stream_keys(0, 5, 20_000)[:, 0], 12, 5, replace=True)
    share = np.bincount(picks.ravel(), minlength=12) / picks.size
    assert np.abs(share - 1 / 12).max() < 5 * np.sqrt(1 / 12 / picks.size)
    distinct = (np.diff(picks, axis=1) > 0).all(axis=1).mean()
    assert abs(distinct - 12 * 11 * 10 * 9 * 8 / 12**5) < 0.02
