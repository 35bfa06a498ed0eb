"""Choose an engine and spread its work over threads; the numbers do not depend on either."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from rankdev.arguments import check_choice
from rankdev.arrays import Floats, Words
from rankdev.errors import MissingExtraError
from rankdev.forks import cores
from rankdev.meta.flips.exact_sums import scale_for
from rankdev.meta.flips.pairs import Sampling

Share = TypeVar("Share")
Made = TypeVar("Made")
ENGINES = ("auto", "numpy", "numba", "torch")
SMALL = 2e8  # additions below which loading the compiled engine costs more than it saves


class Engine(Protocol):
    """Counts extreme flips, ``batch`` subsamples and ``share`` permutations of each at a time."""

    batch: int
    share: int
    largest: Floats  # magnitude of each measure

    def extremes(
        self, sampling: Sampling, scale: Floats, keys: Words, first: int, permutations: int
    ) -> npt.NDArray[np.int64]:
        """Count, for each key and pair, the flips that are at least as extreme: ``[key, pair, measure]``."""
        ...


def open_engine(name: str, values: Floats, work: float) -> Engine:
    """Give the engine of that name for ``values[query, system, measure]``; ``work`` counts additions."""
    check_choice("engine", name, ENGINES)
    if name == "auto":
        name = "numba" if work > SMALL and find_spec("numba") else "numpy"
    if name == "numba":
        if not find_spec("numba"):
            raise MissingExtraError("numba", "fast", "engine='numba'")
        from rankdev.meta.flips.numba_engine import NumbaEngine

        return NumbaEngine(values)
    if name == "torch":
        if not find_spec("torch"):
            raise MissingExtraError("PyTorch", "gpu", "engine='torch'")
        from rankdev.meta.flips.torch_engine import TorchEngine

        return TorchEngine(values)
    from rankdev.meta.flips.numpy_engine import NumpyEngine

    return NumpyEngine(values)


def count_extremes(
    engine: Engine, sampling: Sampling, keys: Words, permutations: int, threads: int | None = None
) -> npt.NDArray[np.int64]:
    """Count the extreme flips of every key: ``[key, pair by lag, measure]``."""
    scale = scale_for(engine.largest, sampling.n)

    def work(share: tuple[int, int, int]) -> npt.NDArray[np.int64]:
        start, first, size = share
        return engine.extremes(sampling, scale, keys[start : start + engine.batch], first, size)

    found: dict[int, npt.NDArray[np.int64]] = {}
    for (start, _, _), counts in spread(work, list(_shares(engine, len(keys), permutations)), threads):
        found[start] = found[start] + counts if start in found else counts
    return np.concatenate(list(found.values()))


def spread(work: Callable[[Share], Made], shares: list[Share], threads: int | None) -> Iterator[tuple[Share, Made]]:
    """Do the work of all shares on threads, and give the results in order."""
    with ThreadPoolExecutor(min(len(shares), threads or cores())) as pool:
        try:
            yield from zip(shares, pool.map(work, shares), strict=True)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _shares(engine: Engine, keys: int, permutations: int) -> Iterator[tuple[int, int, int]]:
    for start in range(0, keys, engine.batch):
        for first in range(0, permutations, engine.share):
            yield start, first, min(engine.share, permutations - first)
