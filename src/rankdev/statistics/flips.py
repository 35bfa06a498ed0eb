"""Counting extreme sign flips, exactly: whole numbers, counter-based random bits, threads.

A sign flip is linear in the scores, so one set of flipped column sums serves every pair of systems: the
flipped difference of a pair is the difference of its two columns.

Whether a flipped sum is at least as extreme as the observed one must not depend on rounding. Scores are
therefore scaled by a power of two and rounded to whole numbers, small enough that every intermediate sum
fits into the 53 bits that a float64 holds exactly. Sums are then exact in any order.
Rounding moves a score by at most half a unit, a difference of two by one, a sum of n differences by n. Sums
that are equal before rounding are therefore recognised as equal within ``slack`` units; at n = 2000 and
scores up to 1 these are 4e-12 of the mean.

The generator is SplitMix64: the i-th word of a stream is a bijective hash of ``key + (i + 1) · GOLDEN``, so that
any part of it can be computed by itself. The keys come from NumPy's Philox, one pair per subsample.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from rankdev._common.arrays import Floats, Ints, Unsigned
from rankdev._common.checks import check_choice
from rankdev._common.work import cores

BITS = 51  # column sums stay below 2^51, so twice a flipped part minus the whole, for two systems, below 2^53
GOLDEN = 0x9E3779B97F4A7C15
FACTORS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
SHIFTS = (30, 27, 31)
AT_ONCE = 1 << 18  # random bytes or sums held at a time, which should stay in a processor's cache
LEAST = 512  # flips at a time at least: subsets are tabulated for all of them
SMALL = 5e8  # comparisons below which loading the compiled loop costs more than it saves
NEAR = 256  # flips whose sums are compared at a time by the compiled loop

PValue = Literal["plus-one", "paper"]
Octets: TypeAlias = npt.NDArray[np.uint8]


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


def stream_keys(seed: int, n: int, count: int) -> Unsigned:
    """Return ``count`` pairs of keys for subsamples of ``n`` queries: one to draw with, one to flip with.

    The first keys stay the same when more are asked for, and other sizes have other keys.
    """
    generator = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, n])))
    return generator.integers(0, 2**64, size=(count, 2), dtype=np.uint64)


def hashed(key: Unsigned, counter: Unsigned) -> Unsigned:
    """Hash counters under a key; both broadcast."""
    z = key + (counter + np.uint64(1)) * np.uint64(GOLDEN)
    for shift, factor in zip(SHIFTS[:2], FACTORS, strict=True):
        z ^= z >> np.uint64(shift)
        z *= np.uint64(factor)
    z ^= z >> np.uint64(SHIFTS[2])
    return z


def flip_words(key: np.uint64, n: int, first: int, count: int, exact: bool = False) -> Unsigned:
    """Return the random words of ``count`` permutations from ``first`` on: one row per permutation.

    Bit j of word w decides over query 64 w + j: flipped where it is set. ``exact`` words count instead.
    """
    width = -(-n // 64)
    if exact:
        return np.arange(first, first + count, dtype=np.uint64)[:, None]
    counter = np.arange(first * width, (first + count) * width, dtype=np.uint64)
    return hashed(np.asarray(key), counter).reshape(count, width)


def all_flips(rows: Floats) -> Floats:
    """Return the sums of rows under all flips up to the sign of the whole, as exact words number them.

    >>> all_flips(np.array([[1.0], [10.0], [100.0]])).tolist()
    [[111.0, 109.0, 91.0, 89.0]]
    """
    return np.asarray(rows.sum(axis=0)[:, None] - 2 * _subset_sums(rows[:-1]).T)


def flipped(rows: Floats, key: np.uint64, count: int, by: Loops, exact: bool = False) -> Iterator[tuple[slice, Floats]]:
    """Yield the sums of rows under flips, a few flips at a time: which these are, ``[column, flip]``.

    No matrix product: the threads of its library spin beside ours, and were measured ten times slower.
    """
    whole = rows.sum(axis=0)[:, None]
    padded = np.pad(rows, ((0, -len(rows) % 32), (0, 0)))
    step = max(LEAST, AT_ONCE // max(rows.shape[1], len(padded) // 8))
    for start in range(0, count, step):
        words = flip_words(key, len(rows), start, min(step, count - start), exact)
        octets = words.astype("<u8").view(np.uint8)[:, : len(padded) // 8]
        changed = np.zeros((rows.shape[1], len(words)))
        by.add_changed(padded, np.ascontiguousarray(octets.T), changed)
        yield slice(start, start + len(words)), whole - 2.0 * changed


def _add_changed(rows: Floats, octets: Octets, sums: Floats) -> None:
    """Add to ``sums[column, flip]`` the rows whose bits are set in ``octets[byte, flip]``, eight at a time.

    The sums of all subsets of eight rows are tabulated, and looked up.
    """
    found = np.empty((octets.shape[1], rows.shape[1]))
    total = np.zeros_like(found)
    for chosen, eight in zip(octets, rows.reshape(len(octets), 8, -1), strict=True):
        total += np.take(_subset_sums(eight), chosen, axis=0, out=found, mode="clip")
    sums += total.T


def _subset_sums(rows: Floats) -> Floats:
    """Return the sums of all subsets of rows: bit i of a subset's number is for row i."""
    sums = np.zeros((1, rows.shape[1]))
    for row in rows:
        sums = np.concatenate([sums, sums + row])
    return sums


def drawn_flips(rows: Floats, key: np.uint64, count: int) -> Floats:
    """Return the sums of rows under drawn flips: ``[column, flip]``."""
    found = np.empty((rows.shape[1], count))
    for part, sums in flipped(rows, key, count, loops(0.0)):
        found[:, part] = sums
    return found


def draw(keys: Unsigned, pool: int, n: int, replace: bool = False) -> Ints:
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


def most_extremes(permutations: int, alpha: float, p_value: PValue) -> int:
    """Return the largest count of extreme flips that still rejects at ``alpha``; −1 where none can.

    >>> most_extremes(1000, 0.05, "plus-one"), most_extremes(1000, 0.05, "paper")  # 50/1001 and 50/1000
    (49, 50)
    """
    check_choice("p_value", p_value, get_args(PValue))
    plus = 1 if p_value == "plus-one" else 0
    return int(np.floor(alpha * (permutations + plus) + 1e-9)) - plus


def _compare(sums: Floats, observed: Floats, tolerance: float, measures: int, counts: Ints) -> None:
    """Add to the counts of pairs and measures the flips that are at least as extreme as what was observed.

    Columns of ``sums[column, flip]`` are systems, and within these measures.
    """
    done = 0
    for stop in range(measures, len(sums), measures):
        one, others = slice(stop - measures, stop), observed[stop:].reshape(-1, measures)
        need = np.abs(observed[one] - others) - tolerance
        apart = sums[one] - sums[stop:].reshape(*others.shape, -1)
        hits = np.abs(apart, out=apart) >= need[..., None]
        counts[done : done + need.size] += hits.view(np.uint8).sum(axis=-1, dtype=np.uint32).ravel()
        done += need.size


def _compare_in_loops(sums: Any, observed: Any, tolerance: Any, measures: Any, counts: Any) -> None:
    for start in range(0, sums.shape[1], NEAR):
        stop, pair = min(sums.shape[1], start + NEAR), 0
        for system in range(0, len(sums), measures):
            for b in range(system + measures, len(sums)):
                a = system + b % measures
                one, other = sums[a, start:stop], sums[b, start:stop]
                need = abs(observed[a] - observed[b]) - tolerance
                hits = 0
                for flip in range(one.size):
                    hits += abs(one[flip] - other[flip]) >= need
                counts[pair] += hits
                pair += 1


def _add_changed_in_loops(rows: Any, octets: Any, sums: Any) -> None:
    subsets = np.zeros((4, 256))
    one, two, three, four = subsets
    for column in range(len(sums)):
        total = sums[column]
        for at in range(0, len(octets), 4):
            for part in range(4):
                for bit in range(8):
                    value = rows[8 * (at + part) + bit, column]
                    for subset in range(1 << bit):
                        subsets[part, (1 << bit) + subset] = subsets[part, subset] + value
            a, b, c, d = octets[at], octets[at + 1], octets[at + 2], octets[at + 3]
            for flip in range(total.size):  # four at a time: half of the time of one
                total[flip] += one[a[flip]] + two[b[flip]] + three[c[flip]] + four[d[flip]]


class Loops(NamedTuple):
    """What takes most of the time."""

    add_changed: Callable[[Floats, Octets, Floats], None]
    compare: Callable[[Floats, Floats, float, int, Ints], None]


@cache
def _compiled() -> Loops:
    from numba import njit

    make = njit(cache=True, nogil=True)
    return Loops(make(_add_changed_in_loops), make(_compare_in_loops))


def loops(work: float) -> Loops:
    """Return what does so much work fastest: array by array, or in loops that numba compiles."""
    return _compiled() if work > SMALL and find_spec("numba") else Loops(_add_changed, _compare)


def count_extremes(
    values: Floats, n: int, keys: Unsigned, permutations: int, by: Loops, *, replace: bool = False, exact: bool = False
) -> Ints:
    """Count the extreme flips of a subsample of n queries for every key, on threads: ``[key, pair, measure]``.

    ``replace`` draws queries with replacement. ``exact`` takes the numbers of the permutations themselves as bits: the
    first 2^(n − 1) of them are all flips up to the sign of the whole, which does not matter.
    """
    pool, systems, measures = values.shape
    scale = scale_for(largest_of(values), n)

    def work(pair: Unsigned) -> Ints:
        pick = draw(pair[:1], pool, n, replace)[0]
        rows = np.rint(values[pick] * scale).reshape(n, -1)
        counts = np.zeros(systems * (systems - 1) // 2 * measures, np.int64)
        for _, sums in flipped(rows, pair[1], permutations, by, exact):
            by.compare(sums, rows.sum(axis=0), slack(n), measures, counts)
        return counts.reshape(-1, measures)

    with ThreadPoolExecutor(min(len(keys), cores())) as threads:
        try:
            return np.stack(list(threads.map(work, keys)))
        except BaseException:
            threads.shutdown(cancel_futures=True)
            raise
