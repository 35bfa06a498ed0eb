"""Counting extreme sign flips: engines, and their work spread over threads.

A sign flip is linear in the scores, so one set of flipped column sums serves every pair of systems: the
flipped difference of a pair is the difference of its two columns. Scores are scaled to whole numbers first
(:mod:`.exact`), which makes every sum exact, and the random bits come from a counter, so
that all engines and thread counts give the same numbers.
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
from rankdev.statistics.flips.exact import draw, flip_words, largest_of, scale_for, slack, words_for

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
