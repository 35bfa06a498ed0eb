"""Counting extreme sign flips, exactly: whole numbers, counter-based random bits, engines on threads.

A sign flip is linear in the scores, so one set of flipped column sums serves every pair of systems: the
flipped difference of a pair is the difference of its two columns.

Whether a flipped sum is at least as extreme as the observed one must not depend on rounding. Scores are
therefore scaled by a power of two and rounded to whole numbers, small enough that every intermediate sum
fits into the 53 bits that a float64 holds exactly. Sums are then exact in any order, matrix products included.
Rounding moves a score by at most half a unit, a difference of two by one, a sum of n differences by n. Sums
that are equal before rounding are therefore recognised as equal within ``slack`` units; at n = 2000 and
scores up to 1 these are 4e-12 of the mean.

The generator is SplitMix64: the i-th word of a stream is a bijective hash of ``key + (i + 1) · GOLDEN``. It
needs only 64-bit additions, multiplications, shifts and exclusive-ors, so that NumPy and numba agree bit for bit
with any number of threads. The keys themselves come from NumPy's Philox, one pair per subsample.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal, Protocol, get_args

import numpy as np

from rankdev._common.arrays import Floats, Ints, Words
from rankdev._common.checks import check_choice
from rankdev._common.work import cores

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


def flip_balances(key: np.uint64, sizes: Ints, count: int) -> Floats:
    """Return for each of the first permutations how many more queries keep their sign than change it.

    Each row counts as much as its size.
    """
    n = len(sizes)
    found = np.empty(count)
    step = max(1, AT_ONCE // words_for(n))
    for start in range(0, count, step):
        words = flip_words(key, n, start, min(step, count - start))
        bits = np.unpackbits(words.astype("<u8").view(np.uint8), axis=1, count=n, bitorder="little")
        found[start : start + step] = sizes.sum() - 2.0 * (bits @ sizes)
    return found


def words_for(n: int) -> int:
    """Count the 64-bit words that hold one bit per query."""
    return -(-n // 64)


def draw(keys: Words, pool: int, n: int, replace: bool = False) -> Ints:
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


PValue = Literal["plus-one", "paper"]
SMALL = 2e8  # additions below which loading the compiled engine costs more than it saves
BLOCK = 2500  # permutations at a time, at most: hits of a block are counted in 16 bits
CELLS = 1 << 18  # their sums or their random words, which should stay in a processor's cache
QUERIES = 512  # queries at a time, for the same reason


@dataclass(frozen=True)
class Sampling:
    """Subsamples of ``n`` queries, and their flips.

    ``replace`` draws queries with replacement. ``exact`` takes the numbers of the permutations themselves as
    bits: the first 2^(n − 1) of them are all flips up to the sign of the whole, which does not matter.
    """

    n: int
    replace: bool = False
    exact: bool = False


def lag_order(systems: int) -> Ints:
    """Return for each pair (a < b, in dictionary order) its position among the pairs ordered by b − a, then a.

    Engines report pairs in that order, so that a whole lag is one difference of two slices.

    >>> lag_order(3).tolist()  # (0, 1), (0, 2), (1, 2) are at these positions of (0, 1), (1, 2), (0, 2)
    [0, 2, 1]
    """
    a, b = np.triu_indices(systems, 1)
    lag = b - a
    before = (lag - 1) * systems - lag * (lag - 1) // 2  # pairs of smaller lags
    places: Ints = (before + a).astype(np.int64)
    return places


def most_extremes(permutations: int, alpha: float, p_value: PValue) -> int:
    """Return the largest count of extreme flips that still rejects at ``alpha``; −1 where none can.

    >>> most_extremes(1000, 0.05, "plus-one"), most_extremes(1000, 0.05, "paper")  # 50/1001 and 50/1000
    (49, 50)
    """
    check_choice("p_value", p_value, get_args(PValue))
    plus = 1 if p_value == "plus-one" else 0
    return int(np.floor(alpha * (permutations + plus) + 1e-9)) - plus


class Engine(Protocol):
    """Counts extreme flips, ``batch`` subsamples and ``chunk`` permutations of each at a time."""

    batch: int
    chunk: int
    largest: Floats  # magnitude of each measure

    def extremes(self, sampling: Sampling, scale: Floats, keys: Words, first: int, permutations: int) -> Ints:
        """Count, for each key and pair, the flips that are at least as extreme: ``[key, pair, measure]``."""
        ...


class NumpyEngine:
    """Counts extreme flips for ``values[query, system, measure]``."""

    batch = 4
    chunk = 10_000

    def __init__(self, values: Floats) -> None:
        self.values = values
        self.largest = largest_of(values)

    def extremes(self, sampling: Sampling, scale: Floats, keys: Words, first: int, permutations: int) -> Ints:
        """Count, for each key and pair, the flips that are at least as extreme: ``[key, pair, measure]``."""
        pool, systems, measures = self.values.shape
        n = sampling.n
        picks = draw(keys[:, 0], pool, n, sampling.replace)
        counts = np.zeros((len(keys), systems * (systems - 1) // 2 * measures), np.int64)
        most = max(1, min(BLOCK, CELLS // max(systems * measures, words_for(n))))
        for pick, key, count in zip(picks, keys[:, 1], counts, strict=True):
            rows = np.rint(self.values[pick] * scale).reshape(n, -1)
            for start in range(first, first + permutations, most):
                block = min(most, first + permutations - start)
                flipped = _flipped(rows, flip_words(key, n, start, block, sampling.exact))
                _count(flipped, rows.sum(axis=0), slack(n), measures, count)
        return counts.reshape(len(keys), -1, measures)


def _flipped(rows: Floats, words: Words) -> Floats:
    """Sum all rows with flipped signs where a bit is set: one row per permutation, negated."""
    octets = words.astype("<u8").view(np.uint8)
    sums = np.zeros((len(words), rows.shape[1]))
    for start in range(0, len(rows), QUERIES):
        part = rows[start : start + QUERIES]
        bits = np.unpackbits(octets[:, start // 8 :], axis=1, count=len(part), bitorder="little")
        sums += bits.astype(np.float64) @ part
    sums *= 2.0
    sums -= rows.sum(axis=0)
    return sums


def _count(sums: Floats, observed: Floats, tolerance: float, measures: int, count: Ints) -> None:
    done = 0
    for shift in range(measures, sums.shape[1], measures):
        width = sums.shape[1] - shift
        need = np.abs(observed[:-shift] - observed[shift:]) - tolerance
        apart = sums[:, :-shift] - sums[:, shift:]
        hits = np.abs(apart, out=apart) >= need
        count[done : done + width] += hits.view(np.uint8).sum(axis=0, dtype=np.uint16)
        done += width


def open_engine(values: Floats, work: float) -> Engine:
    """Return the fastest engine for ``values[query, system, measure]``; ``work`` counts additions."""
    if work > SMALL and find_spec("numba"):
        from rankdev.statistics.flips.compiled import NumbaEngine

        return NumbaEngine(values)
    return NumpyEngine(values)


def count_extremes(engine: Engine, sampling: Sampling, keys: Words, permutations: int) -> Ints:
    """Count the extreme flips of every key, on threads: ``[key, pair by lag, measure]``."""
    scale = scale_for(engine.largest, sampling.n)

    def work(chunk: tuple[int, int, int]) -> Ints:
        start, first, size = chunk
        return engine.extremes(sampling, scale, keys[start : start + engine.batch], first, size)

    chunks = list(_chunks(engine, len(keys), permutations))
    found: dict[int, Ints] = {}
    with ThreadPoolExecutor(min(len(chunks), cores())) as pool:
        try:
            for (start, _, _), counts in zip(chunks, pool.map(work, chunks), strict=True):
                found[start] = found[start] + counts if start in found else counts
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return np.concatenate(list(found.values()))


def _chunks(engine: Engine, keys: int, permutations: int) -> Iterator[tuple[int, int, int]]:
    for start in range(0, keys, engine.batch):
        for first in range(0, permutations, engine.chunk):
            yield start, first, min(engine.chunk, permutations - first)
