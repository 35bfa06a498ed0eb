"""Counting extreme sign flips: engines, and their work spread over threads.

A sign flip is linear in the scores, so one set of flipped column sums serves every pair of systems: the
flipped difference of a pair is the difference of its two columns. Scores are scaled to whole numbers first
(:mod:`.exact`), which makes every sum exact, and the random bits come from a counter, so
that all engines and thread counts give the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal, Protocol, TypeVar, get_args

import numpy as np
import numpy.typing as npt

from rankdev._common.arrays import Floats, Words
from rankdev._common.checks import check_choice
from rankdev._common.work import cores
from rankdev.statistics.flips.exact import scale_for


@dataclass(frozen=True)
class Sampling:
    """Subsamples of ``n`` queries, and their flips.

    ``replace`` draws queries with replacement. ``exact`` takes the numbers of the permutations themselves as
    bits: the first 2^(n − 1) of them are all flips up to the sign of the whole, which does not matter.
    """

    n: int
    replace: bool = False
    exact: bool = False


def lag_order(systems: int) -> npt.NDArray[np.int64]:
    """Return for each pair (a < b, in dictionary order) its position among the pairs ordered by b − a, then a.

    Engines report pairs in that order, so that a whole lag is one difference of two slices.

    >>> lag_order(3).tolist()  # (0, 1), (0, 2), (1, 2) are at these positions of (0, 1), (1, 2), (0, 2)
    [0, 2, 1]
    """
    a, b = np.triu_indices(systems, 1)
    lag = b - a
    before = (lag - 1) * systems - lag * (lag - 1) // 2  # pairs of smaller lags
    places: npt.NDArray[np.int64] = (before + a).astype(np.int64)
    return places


PValue = Literal["plus-one", "paper"]


def most_extremes(permutations: int, alpha: float, p_value: PValue) -> int:
    """Return the largest count of extreme flips that still rejects at ``alpha``; −1 where none can.

    >>> most_extremes(1000, 0.05, "plus-one"), most_extremes(1000, 0.05, "paper")  # 50/1001 and 50/1000
    (49, 50)
    """
    check_choice("p_value", p_value, get_args(PValue))
    plus = 1 if p_value == "plus-one" else 0
    return int(np.floor(alpha * (permutations + plus) + 1e-9)) - plus


Chunk = TypeVar("Chunk")
Made = TypeVar("Made")
SMALL = 2e8  # additions below which loading the compiled engine costs more than it saves


class Engine(Protocol):
    """Counts extreme flips, ``batch`` subsamples and ``chunk`` permutations of each at a time."""

    batch: int
    chunk: int
    largest: Floats  # magnitude of each measure

    def extremes(
        self, sampling: Sampling, scale: Floats, keys: Words, first: int, permutations: int
    ) -> npt.NDArray[np.int64]:
        """Count, for each key and pair, the flips that are at least as extreme: ``[key, pair, measure]``."""
        ...


def open_engine(values: Floats, work: float) -> Engine:
    """Return the fastest engine for ``values[query, system, measure]``; ``work`` counts additions."""
    if work > SMALL and find_spec("numba"):
        from rankdev.statistics.flips.compiled import NumbaEngine

        return NumbaEngine(values)
    from rankdev.statistics.flips._numpy import NumpyEngine

    return NumpyEngine(values)


def count_extremes(engine: Engine, sampling: Sampling, keys: Words, permutations: int) -> npt.NDArray[np.int64]:
    """Count the extreme flips of every key: ``[key, pair by lag, measure]``."""
    scale = scale_for(engine.largest, sampling.n)

    def work(chunk: tuple[int, int, int]) -> npt.NDArray[np.int64]:
        start, first, size = chunk
        return engine.extremes(sampling, scale, keys[start : start + engine.batch], first, size)

    found: dict[int, npt.NDArray[np.int64]] = {}
    for (start, _, _), counts in spread(work, list(_chunks(engine, len(keys), permutations))):
        found[start] = found[start] + counts if start in found else counts
    return np.concatenate(list(found.values()))


def spread(work: Callable[[Chunk], Made], chunks: list[Chunk]) -> Iterator[tuple[Chunk, Made]]:
    """Do the work of all chunks on threads, and yield the results in order."""
    workers = min(len(chunks), cores())
    if workers <= 1:
        yield from ((chunk, work(chunk)) for chunk in chunks)
        return
    with ThreadPoolExecutor(workers) as pool:
        try:
            yield from zip(chunks, pool.map(work, chunks), strict=True)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _chunks(engine: Engine, keys: int, permutations: int) -> Iterator[tuple[int, int, int]]:
    for start in range(0, keys, engine.batch):
        for first in range(0, permutations, engine.chunk):
            yield start, first, min(engine.chunk, permutations - first)


__all__ = ["Engine", "PValue", "Sampling", "count_extremes", "lag_order", "most_extremes", "open_engine"]
