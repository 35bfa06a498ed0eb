"""Flipped sums in loops that numba compiles.

For each 4 queries the 16 sums of their subsets are tabulated, for 16 columns at a time; a permutation then
adds one table row for each 4 of its random bits, which are used as they are. One 64-bit word of a
permutation adds 16 rows to 16 columns: the tables of a word take 32 KB and stay in the nearest cache, the
16 sums in registers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.extending import intrinsic

from rankdev._common.arrays import Floats, Words
from rankdev.statistics.flips import FACTORS, GOLDEN, SHIFTS, Sampling, draw, largest_of, slack

TILE = 16  # columns at a time
NIBBLES = 16  # groups of 4 queries in a 64-bit word


@intrinsic
def add_rows(typingctx: Any, sums: Any, table: Any, word: Any) -> Any:
    """Add the rows of ``table[nibble, value, column]`` that the nibbles of a word name to ``sums[column]``.

    Sums and table are given by their addresses. Plain indexing checks for overlapping rows again and again, and was
    measured five times slower.
    """
    signature = types.void(types.uintp, types.uintp, types.uint64)

    def generate(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        sums, table, word = arguments
        lanes, bytes_per_row = 8, TILE * 8
        vector = ir.VectorType(ir.DoubleType(), lanes).as_pointer()
        number = ir.IntType(64)

        def at(base: Any, offset: int) -> Any:
            return builder.inttoptr(builder.add(base, number(offset)), vector)

        offsets = range(0, bytes_per_row, lanes * 8)
        totals = [builder.load(at(sums, offset), align=8) for offset in offsets]
        for nibble in range(NIBBLES):
            row = builder.and_(builder.lshr(word, number(4 * nibble)), number(15))
            base = builder.add(table, builder.mul(row, number(bytes_per_row)))
            for i, offset in enumerate(offsets):
                term = builder.load(at(base, nibble * 16 * bytes_per_row + offset), align=8)
                totals[i] = builder.fadd(totals[i], term)
        for total, offset in zip(totals, offsets, strict=True):
            builder.store(total, at(sums, offset), align=8)
        return context.get_dummy_value()

    return signature, generate


BLOCK = 1024  # permutations at a time: their sums over all columns stay in the second cache
NEAR = 256  # permutations at a time when pairs are compared

_STEP = np.uint64(GOLDEN)
_FACTOR_1, _FACTOR_2 = (np.uint64(factor) for factor in FACTORS)
_SHIFT_1, _SHIFT_2, _SHIFT_3 = (np.uint64(shift) for shift in SHIFTS)


class NumbaEngine:
    """Counts extreme flips for ``values[query, system, measure]``."""

    batch = 10
    chunk = 10_000

    def __init__(self, values: Floats) -> None:
        self.values = values
        self.largest = largest_of(values)
        self._columns: tuple[bytes, Floats] = (b"", np.empty((0, 0)))

    def extremes(
        self, sampling: Sampling, scale: Floats, keys: Words, first: int, permutations: int
    ) -> npt.NDArray[np.int64]:
        """Count, for each key and pair, the flips that are at least as extreme: ``[key, pair, measure]``."""
        pool, systems, measures = self.values.shape
        picks = draw(keys[:, 0], pool, sampling.n, sampling.replace)
        counts = np.zeros((len(keys), systems * (systems - 1) // 2, measures), np.int64)
        columns, flips = self._fixed(scale), np.ascontiguousarray(keys[:, 1])
        _count_extremes(
            columns,
            systems * measures,
            picks,
            flips,
            first,
            permutations,
            sampling.exact,
            slack(sampling.n),
            counts,
        )
        return counts

    def _fixed(self, scale: Floats) -> Floats:
        """Return the scaled columns, padded to whole tiles, and keep them for the next call."""
        name, columns = self._columns
        if name != scale.tobytes():
            flat = np.rint(self.values * scale).reshape(len(self.values), -1)
            columns = np.pad(flat, ((0, 0), (0, -flat.shape[1] % TILE)))
            self._columns = (scale.tobytes(), columns)
        return columns


@njit(cache=True, nogil=True)
def _words(key: Any, width: Any, first: Any, exact: Any, words: Any) -> None:
    """Fill ``words[word, permutation]`` with the random bits of the permutations from ``first`` on."""
    for w in range(words.shape[0]):
        row = words[w]
        for p in range(row.size):
            if exact:
                row[p] = np.uint64(first + p)
                continue
            z = key + (np.uint64((first + p) * width + w) + np.uint64(1)) * _STEP
            z = (z ^ (z >> _SHIFT_1)) * _FACTOR_1
            z = (z ^ (z >> _SHIFT_2)) * _FACTOR_2
            row[p] = z ^ (z >> _SHIFT_3)


@njit(cache=True, nogil=True)
def _aligned(rows: Any) -> Any:
    """Return zeros that start on a cache line: vector loads across two lines take twice as long."""
    space = np.zeros(rows * TILE + 8)
    start = (-space.ctypes.data % 64) // 8
    return space[start : start + rows * TILE].reshape(rows, TILE)


@njit(cache=True, nogil=True)
def _tabulate(rows: Any, table: Any) -> None:
    """Fill the tables with the sums of all subsets of each 4 of 64 rows."""
    for q in range(64):
        size = 1 << (q % 4)
        group = table[q // 4]
        x = rows[q]
        for subset in range(size):
            old, new = group[subset], group[size + subset]
            for c in range(TILE):
                new[c] = old[c] + x[c]


@njit(cache=True, nogil=True)
def _transpose(tile: Any, sums: Any) -> None:
    """Copy ``tile[permutation, column]`` to ``sums[column, permutation]``, in small pieces."""
    for start in range(0, tile.shape[0], 64):
        for c in range(tile.shape[1]):
            for p in range(start, min(start + 64, tile.shape[0])):
                sums[c, p] = tile[p, c]


@njit(cache=True, nogil=True)
def _flip(rows: Any, words: Any, sums: Any) -> None:
    """Sum the flipped queries of a block of permutations: ``sums[column, permutation]``."""
    table = _aligned(NIBBLES * 16).reshape(NIBBLES, 16, TILE)
    tile = _aligned(words.shape[1])
    here, there = np.uintp(tile.ctypes.data), np.uintp(table.ctypes.data)
    for left in range(0, rows.shape[1], TILE):
        for p in range(tile.shape[0]):
            for c in range(tile.shape[1]):
                tile[p, c] = 0.0
        for w in range(words.shape[0]):
            _tabulate(rows[64 * w : 64 * w + 64, left : left + TILE], table)
            line = words[w]
            for p in range(line.size):
                add_rows(here + np.uintp(8 * TILE * p), there, line[p])  # type: ignore[call-arg]
        _transpose(tile, sums[left : left + TILE])


@njit(cache=True, nogil=True)
def _hits(a: Any, b: Any, middle: Any, need: Any) -> Any:
    hits = 0
    for p in range(a.size):
        hits += abs(a[p] - b[p] - middle) >= need
    return hits


@njit(cache=True, nogil=True)
def _compare(sums: Any, observed: Any, block: Any, tolerance: Any, count: Any) -> None:
    """Add to ``count[pair, measure]``; a few permutations at a time, so that one measure's sums stay near."""
    measures = count.shape[1]
    systems = observed.size // measures
    for m in range(measures):
        for start in range(0, block, NEAR):
            stop = min(block, start + NEAR)
            pair = 0
            for lag in range(1, systems):
                for a in range(m, (systems - lag) * measures, measures):
                    b = a + lag * measures
                    # the part that flips, less half of the whole, is half the flipped sum
                    middle = (observed[a] - observed[b]) / 2
                    need = abs(middle) - tolerance / 2
                    count[pair, m] += _hits(sums[a, start:stop], sums[b, start:stop], middle, need)
                    pair += 1


@njit(cache=True, nogil=True)
def _count_extremes(
    columns: Any,
    used: Any,
    picks: Any,
    keys: Any,
    first: Any,
    permutations: Any,
    exact: Any,
    tolerance: Any,
    counts: Any,
) -> None:
    n = picks.shape[1]
    width = (n + 63) // 64
    rows = np.zeros((64 * width, columns.shape[1]))
    observed = np.empty(columns.shape[1])
    sums = np.empty((columns.shape[1], BLOCK))
    words = np.empty((width, BLOCK), np.uint64)
    for k in range(len(picks)):
        for c in range(columns.shape[1]):
            observed[c] = 0.0
        for i in range(n):
            for c in range(columns.shape[1]):
                rows[i, c] = columns[picks[k, i], c]
                observed[c] += rows[i, c]
        for start in range(0, permutations, BLOCK):
            block = min(BLOCK, permutations - start)
            _words(keys[k], width, first + start, exact, words[:, :block])
            _flip(rows, words[:, :block], sums)
            _compare(sums, observed[:used], block, tolerance, counts[k])
