"""Flipped sums on a GPU (or wherever PyTorch runs), with the bits and subsamples made there too."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from rankdev._common.arrays import Floats, Words
from rankdev.statistics.flips import Sampling
from rankdev.statistics.flips.exact import FACTORS, GOLDEN, SHIFTS, largest_of, slack, words_for

MEMORY = {"cuda": 16 << 30, "cpu": 256 << 20}  # bytes for the largest arrays of a batch


class TorchEngine:
    """Counts extreme flips for ``values[query, system, measure]``, on the GPU where there is one."""

    batch = chunk = 1 << 30  # all at once: the engine cuts the work to its memory

    def __init__(self, values: Floats) -> None:
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.largest = largest_of(values)
        self.values = torch.as_tensor(np.ascontiguousarray(values), device=self.device)

    def extremes(
        self, sampling: Sampling, scale: Floats, keys: Words, first: int, permutations: int, sums: Floats | None = None
    ) -> npt.NDArray[np.int64]:
        """Count, for each key and pair, the flips that are at least as extreme: ``[key, pair, measure]``."""
        pool, systems, measures = self.values.shape
        n = sampling.n
        columns = torch.round(self.values * torch.as_tensor(scale, device=self.device)).reshape(pool, -1)
        space = MEMORY[self.device.type] // 8
        block = max(1, min(permutations, space // max(n, 4 * columns.shape[1])))
        batch = max(1, space // (block * max(n, 4 * columns.shape[1])))
        signed = torch.as_tensor(keys.view(np.int64), device=self.device)
        counts = torch.zeros(
            (len(keys), systems * (systems - 1) // 2 * measures), dtype=torch.int32, device=self.device
        )
        for start in range(0, len(keys), batch):
            part = signed[start : start + batch]
            rows = columns[_draw(part[:, 0], pool, n, sampling.replace)]
            for at in range(first, first + permutations, block):
                size = min(block, first + permutations - at)
                bits = _bits(part[:, 1], n, at, size, sampling.exact)
                flipped = _count(rows, bits, slack(n), measures, counts[start : start + batch])
                if sums is not None:
                    kept = sums[:, at - first : at - first + size]
                    np.negative(flipped[0, :, : kept.shape[1]].cpu().numpy(), out=kept)
        found: npt.NDArray[np.int64] = counts.cpu().numpy().astype(np.int64)
        return found.reshape(len(keys), -1, measures)


def _signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word


def _shifted(z: Any, shift: int) -> Any:
    """Shift right and fill with zeros; PyTorch's own shift of signed numbers repeats the sign."""
    return (z >> shift) & ((1 << (64 - shift)) - 1)


def _hashed(key: Any, counter: Any) -> Any:
    z = key + (counter + 1) * _signed(GOLDEN)
    for shift, factor in zip(SHIFTS[:2], FACTORS, strict=True):
        z = (z ^ _shifted(z, shift)) * _signed(factor)
    return z ^ _shifted(z, SHIFTS[2])


def _draw(keys: Any, pool: int, n: int, replace: bool) -> Any:
    if replace:
        words = _hashed(keys[:, None], torch.arange(n, device=keys.device))
        return torch.sort(_shifted(_shifted(words, 32) * pool, 32), dim=1).values
    mask = (1 << pool.bit_length()) - 1
    queries = torch.arange(pool, device=keys.device)
    tickets = _shifted(_hashed(keys[:, None], queries), 1) & ~mask | queries
    winners = torch.sort(tickets, dim=1).values[:, :n] & mask
    return torch.sort(winners, dim=1).values


def _bits(keys: Any, n: int, first: int, count: int, exact: bool) -> Any:
    """Return ``bits[key, permutation, query]`` as float64."""
    width = words_for(n)
    counter = torch.arange(first * width, (first + count) * width, device=keys.device)
    words = counter.expand(len(keys), -1).contiguous() if exact else _hashed(keys[:, None], counter)
    octets = words.view(torch.uint8).reshape(len(keys), count, 8 * width, 1)
    bits = (octets >> torch.arange(8, dtype=torch.uint8, device=keys.device)) & 1
    return bits.reshape(len(keys), count, 64 * width)[:, :, :n].to(torch.float64)


def _count(rows: Any, bits: Any, tolerance: float, measures: int, counts: Any) -> Any:
    """Add to the counts, and return the flipped sums ``[key, column, permutation]``, negated."""
    observed = rows.sum(dim=1)
    # whole numbers below 2^53: the product is exact in whatever order it is summed
    sums = torch.baddbmm(observed[:, :, None], rows.transpose(1, 2), bits.transpose(1, 2), beta=-1, alpha=2)
    done = 0
    for shift in range(measures, sums.shape[1], measures):
        width = sums.shape[1] - shift
        need = (observed[:, :-shift] - observed[:, shift:]).abs() - tolerance
        apart = (sums[:, :-shift] - sums[:, shift:]).abs_()
        counts[:, done : done + width] += (apart >= need[:, :, None]).sum(dim=2, dtype=torch.int32)
        done += width
    return sums
