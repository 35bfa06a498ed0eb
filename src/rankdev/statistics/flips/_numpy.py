"""Flipped sums as one matrix product per subsample: NumPy alone."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rankdev._common.arrays import Floats, Words
from rankdev.statistics.flips import Sampling
from rankdev.statistics.flips.exact import draw, flip_words, largest_of, slack, words_for

BLOCK = 2500  # permutations at a time, at most: hits of a block are counted in 16 bits
CELLS = 1 << 18  # their sums or their random words, which should stay in a processor's cache
QUERIES = 512  # queries at a time, for the same reason


class NumpyEngine:
    """Counts extreme flips for ``values[query, system, measure]``."""

    batch = 4
    chunk = 10_000

    def __init__(self, values: Floats) -> None:
        self.values = values
        self.largest = largest_of(values)

    def extremes(
        self, sampling: Sampling, scale: Floats, keys: Words, first: int, permutations: int
    ) -> npt.NDArray[np.int64]:
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


def _count(sums: Floats, observed: Floats, tolerance: float, measures: int, count: npt.NDArray[np.int64]) -> None:
    done = 0
    for shift in range(measures, sums.shape[1], measures):
        width = sums.shape[1] - shift
        need = np.abs(observed[:-shift] - observed[shift:]) - tolerance
        apart = sums[:, :-shift] - sums[:, shift:]
        hits = np.abs(apart, out=apart) >= need
        count[done : done + width] += hits.view(np.uint8).sum(axis=0, dtype=np.uint16)
        done += width
