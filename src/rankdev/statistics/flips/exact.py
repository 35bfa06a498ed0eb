"""Exact integer sums and counter-based random bits.

Whether a flipped sum is at least as extreme as the observed one must not depend on rounding. Scores are
therefore scaled by a power of two and rounded to whole numbers, small enough that every intermediate sum
fits into the 53 bits that a float64 holds exactly. Sums are then exact in any order and on any device,
matrix products included.

Rounding moves a score by at most half a unit, a difference of two by one, a sum of n differences by n. Sums
that are equal before rounding are therefore recognised as equal within ``slack`` units; at n = 2000 and
scores up to 1 these are 4e-12 of the mean.

The generator is SplitMix64: the i-th word of a stream is a bijective hash of ``key + (i + 1) · GOLDEN``. It
needs only 64-bit additions, multiplications, shifts and exclusive-ors, so NumPy, numba and PyTorch can each
write it down and agree bit for bit. The keys themselves come from NumPy's Philox, one pair per subsample.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rankdev._common.arrays import Floats, Words

BITS = 51  # column sums stay below 2^51, so twice a flipped part minus the whole, for two systems, below 2^53


def largest_of(values: Floats) -> Floats:
    """Return the largest magnitude of each measure (last axis)."""
    largest: Floats = np.abs(values).max(axis=tuple(range(values.ndim - 1)), initial=0.0)
    return largest


def scale_for(largest: Floats, n: int) -> Floats:
    """Return the power of two for each measure that turns scores into whole numbers for sums of n."""
    _, exponent = np.frexp(largest * n)
    scale: Floats = np.ldexp(1.0, np.minimum(BITS - exponent, 1000))
    return scale


def slack(n: int) -> float:
    """Return the units by which two sums over n queries may differ and still count as equal.

    The compared statistics move by 2n at most when scores are rounded to units; as much again is left for the
    rounding that the scores brought with them.
    """
    return 4.0 * n


GOLDEN = 0x9E3779B97F4A7C15
FACTORS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
SHIFTS = (30, 27, 31)


def stream_keys(seed: int, n: int, count: int) -> Words:
    """Return ``count`` pairs of keys for subsamples of ``n`` queries: one to draw with, one to flip with.

    The first keys stay the same when more are asked for, and other sizes have other keys.
    """
    generator = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, n])))
    return generator.integers(0, 2**64, size=(count, 2), dtype=np.uint64)


def hashed(key: Words, counter: Words) -> Words:
    """Hash counters under a key; both broadcast."""
    z = key + (counter + np.uint64(1)) * np.uint64(GOLDEN)
    for shift, factor in zip(SHIFTS[:2], FACTORS, strict=True):
        z ^= z >> np.uint64(shift)
        z *= np.uint64(factor)
    z ^= z >> np.uint64(SHIFTS[2])
    return z


def flip_words(key: np.uint64, n: int, first: int, count: int, exact: bool = False) -> Words:
    """Return the random words of ``count`` permutations from ``first`` on: one row per permutation.

    Bit j of word w decides over query 64 w + j: flipped where it is set. ``exact`` words count instead.
    """
    width = words_for(n)
    if exact:
        return np.arange(first, first + count, dtype=np.uint64)[:, None]
    counter = np.arange(first * width, (first + count) * width, dtype=np.uint64)
    return hashed(np.asarray(key), counter).reshape(count, width)


def subset_sums(rows: Floats) -> Floats:
    """Return the sum of each of the 2^n subsets of rows, along the last axis; bit i of its number is for row i.

    >>> subset_sums(np.array([1.0, 10.0])).tolist()
    [0.0, 1.0, 10.0, 11.0]
    """
    sums = np.zeros((*rows.shape[1:], 1))
    for row in rows:
        sums = np.concatenate([sums, sums + row[..., None]], axis=-1)
    return sums


def all_flips(rows: Floats) -> Floats:
    """Return the sums of rows under all flips up to the sign of the whole, as exact words number them.

    >>> all_flips(np.array([[1.0], [10.0], [100.0]])).tolist()
    [[111.0, 109.0, 91.0, 89.0]]
    """
    flipped: Floats = rows.sum(axis=0)[:, None] - 2 * subset_sums(rows[:-1])
    return flipped


AT_ONCE = 1 << 20  # words held at a time


def flip_balances(key: np.uint64, n: int, count: int, sizes: npt.NDArray[np.int64] | None = None) -> Floats:
    """Return for each of the first permutations how many more of n queries keep their sign than change it.

    Of clusters, each counts as much as its size.
    """
    found = np.empty(count)
    step = max(1, AT_ONCE // words_for(n))
    for start in range(0, count, step):
        words = flip_words(key, n, start, min(step, count - start))
        words[:, -1] &= np.uint64((1 << (n - 1) % 64 + 1) - 1)  # the last word has bits beyond the queries
        if sizes is None:
            found[start : start + step] = n - 2.0 * _ones(words).sum(axis=1)
        else:
            bits = np.unpackbits(words.astype("<u8").view(np.uint8), axis=1, count=n, bitorder="little")
            found[start : start + step] = sizes.sum() - 2.0 * (bits @ sizes)
    return found


def _ones(words: Words) -> Words:
    """Count the bits that are set, in pairs, then in fours, then in eights; NumPy 1 has no function for it."""
    twos = words - ((words >> np.uint64(1)) & np.uint64(0x5555555555555555))
    fours = (twos & np.uint64(0x3333333333333333)) + ((twos >> np.uint64(2)) & np.uint64(0x3333333333333333))
    eights = (fours + (fours >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (eights * np.uint64(0x0101010101010101)) >> np.uint64(56)


def words_for(n: int) -> int:
    """Count the 64-bit words that hold one bit per query."""
    return -(-n // 64)


def draw(keys: Words, pool: int, n: int, replace: bool = False) -> npt.NDArray[np.int64]:
    """Draw ``n`` of ``pool`` queries, one ascending row per key.

    Without replacement each query gets a random number and the n smallest win. The query's own index is in the
    lowest bits, so that no two numbers are equal and the winners can be read off without an argsort.
    """
    if replace:
        words = hashed(keys[:, None], np.arange(n, dtype=np.uint64))
        return np.sort((((words >> np.uint64(32)) * np.uint64(pool)) >> np.uint64(32)).astype(np.int64), axis=1)
    mask = np.uint64((1 << pool.bit_length()) - 1)
    queries = np.arange(pool, dtype=np.uint64)
    tickets = (hashed(keys[:, None], queries) >> np.uint64(1)) & ~mask | queries
    if n < pool:
        tickets = np.partition(tickets, n - 1, axis=1)[:, :n]
    return np.sort((tickets & mask).astype(np.int64), axis=1)
