"""Time the whole protocol of the paper's Table 2, in CPU seconds, against matrix products on the same machine.

python -m benchmarks.power [--engine numba|numpy] [--quick] [--keep]
"""

import argparse
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from unittest.mock import patch

import numpy as np

from benchmarks.history import Row, report
from rankdev.evaluation.scores import Scores
from rankdev.statistics import flips
from rankdev.statistics.design import PAPER_SIZES
from rankdev.statistics.power import power

SYSTEMS, MEASURES, QUERIES, SUBSAMPLES, PERMUTATIONS = 12, 13, 5000, 300, 1000
PAIRS = SYSTEMS * (SYSTEMS - 1) // 2
GOALS = {"numba": 4.0, "numpy": 8.0}


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.power")
    options.add_argument("--engine", choices=["numba", "numpy", "all"], default="all")
    options.add_argument("--quick", action="store_true", help="a tenth of the subsamples, extrapolated")
    options.add_argument("--keep", action="store_true", help="add the table to the history")
    chosen = options.parse_args()
    subsamples = SUBSAMPLES // 10 if chosen.quick else SUBSAMPLES
    names = [name for name in ("numba", "numpy") if chosen.engine in (name, "all") and find_spec(name)]
    if not names:
        sys.exit(f"{chosen.engine} is not installed")
    scores = synthetic()
    print(f"{SYSTEMS} systems, {PAIRS} pairs, {MEASURES} measures, {QUERIES} queries, {len(PAPER_SIZES)} sizes,")
    print(f"{SUBSAMPLES} subsamples, {PERMUTATIONS} permutations: {tests():,} tests; extrapolations are marked")
    rows = []
    for name in names:
        unit = products()
        compiling = seconds(lambda name=name: protocol(scores, name, 1, sizes=PAPER_SIZES[:1]))
        rows.append(row(f"{name}, first call", compiling, unit))
        taken = seconds(lambda name=name: protocol(scores, name, subsamples))
        label = f"{name}, extrapolated" if chosen.quick else name
        rows.append(row(label, taken * SUBSAMPLES / subsamples, unit, GOALS.get(name)))
    agree(scores, names)
    rows.append(row("a NumPy loop per test, extrapolated", tests() * per_test(numpy_test), unit))
    rows.append(row("SciPy's permutation_test, extrapolated", tests() * per_test(scipy_test), unit))
    report("Power", rows, keep=chosen.keep)


def tests() -> int:
    return PAIRS * MEASURES * len(PAPER_SIZES) * SUBSAMPLES


def synthetic() -> Scores:
    """Scores with the habits of real ones: queries are hard for all systems, and some measures have few values."""
    rng = np.random.default_rng(0)
    ability = np.linspace(-0.3, 0.3, SYSTEMS)[:, None, None]
    hard, own = rng.normal(0, 1, (1, QUERIES, 1)), rng.normal(0, 1, (SYSTEMS, QUERIES, MEASURES))
    values = 1 / (1 + np.exp(-(ability + hard + own)))
    values[:, :, ::3] = np.rint(values[:, :, ::3] * 5) / 5
    names = tuple(f"system{i}" for i in range(SYSTEMS)), tuple(map(str, range(QUERIES)))
    return Scores(*names, tuple(f"measure{i}" for i in range(MEASURES)), values)


def protocol(scores: Scores, engine: str, subsamples: int, sizes=PAPER_SIZES):
    with patch.object(flips, "SMALL", 0.0 if engine == "numba" else np.inf):
        return power(scores, sizes=sizes, subsamples=subsamples, permutations=PERMUTATIONS)


def products() -> float:
    """Time 758 GFLOP of float32 matrix products: signs @ scores for every subsample, in one shape."""
    rng = np.random.default_rng(0)
    left = rng.random((PERMUTATIONS, sum(PAPER_SIZES)), np.float32)
    right = rng.random((sum(PAPER_SIZES), SYSTEMS * MEASURES), np.float32)
    _ = left @ right
    return seconds(lambda: [left @ right for _ in range(SUBSAMPLES)])


def agree(scores: Scores, names: list[str]) -> None:
    found = {name: protocol(scores, name, 12) for name in dict.fromkeys([*names, "numpy"])}
    same = all(
        np.array_equal(found["numpy"].power, one.power) and np.array_equal(found["numpy"].rejected, one.rejected)
        for one in found.values()
    )
    print(f"same numbers from {', '.join(found)}: {'yes' if same else 'NO'} (12 subsamples of every size)")
    if not same:
        sys.exit(1)


def numpy_test(apart: np.ndarray, rng: np.random.Generator) -> float:
    signs = rng.choice([-1.0, 1.0], size=(PERMUTATIONS, len(apart)))
    return float((np.abs((signs * apart).mean(axis=1)) >= abs(apart.mean()) - 1e-12).mean())


def scipy_test(apart: np.ndarray, rng: np.random.Generator) -> float:
    from scipy import stats

    def mean(x: np.ndarray, axis: int) -> np.ndarray:
        return x.mean(axis=axis)

    found = stats.permutation_test(
        (apart,), mean, permutation_type="samples", vectorized=True, n_resamples=PERMUTATIONS, rng=rng
    )
    return float(found.pvalue)


def per_test(test: Callable[[np.ndarray, np.random.Generator], float]) -> float:
    """Time one test, as the mean over the sizes."""
    rng = np.random.default_rng(0)
    samples = [rng.normal(0.1, 1, n) for n in PAPER_SIZES]
    test(samples[0], rng)
    return seconds(lambda: [test(apart, rng) for apart in samples for _ in range(3)]) / len(samples) / 3


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def row(engine: str, taken: float, unit: float, goal: float | None = None) -> Row:
    return {"engine": engine, "CPU seconds": taken, "matrix products": unit, "ratio": taken / unit, "goal": goal}


if __name__ == "__main__":
    main()
