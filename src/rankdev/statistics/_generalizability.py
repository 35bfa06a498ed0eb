"""Variance components by analysis of variance, and coefficients of generalizability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from rankdev._common.arrays import Floats
from rankdev.statistics.replicates import between_runs

ONE = ("system", "query", "system × query")
RUNS = ("system", "run", "query", "system × query", "run × query")
SEVERAL = ("system", "collection", "query", "system × collection", "system × query")


@dataclass(frozen=True, eq=False, kw_only=True)
class Components:
    """Estimated components of one measure's variance (negative ones are 0), and the design behind them."""

    system: float
    collection: float
    query: float
    system_collection: float
    system_query: float
    sizes: tuple[int, ...]  # queries of each collection
    limits: tuple[float, float]  # 95% interval of Eρ²
    negative: tuple[str, ...] = ()
    run: float = 0.0
    run_query: float = 0.0
    runs: float = np.inf  # of each system: the harmonic mean; without any, nothing is known about runs

    def relative(self, n: Any = None, collections: int | None = None, runs: float | None = None) -> Any:
        """Return Eρ², of the order of systems, with n queries in each of some collections (default: as now)."""
        return _coefficient(self.system, self._noise(n, collections, *self._of_systems(runs)))

    def absolute(self, n: Any = None, collections: int | None = None, runs: float | None = None) -> Any:
        """Return Φ, of the scores themselves."""
        difficulty = self._noise(n, collections, self.collection, self.query)
        return _coefficient(self.system, difficulty + self._noise(n, collections, *self._of_systems(runs)))

    def _of_systems(self, runs: float | None = None) -> tuple[float, float]:
        """Return the variance of a system's mean that queries cannot reduce, and what each query adds."""
        many = runs or self.runs
        return self.system_collection + self.run / many, self.system_query + self.run_query / many

    def _noise(self, n: Any, collections: int | None, by_collection: float, by_query: float) -> Any:
        each = np.mean(1 / np.array(self.sizes)) if n is None else 1 / np.asarray(n, float)
        return (by_collection + by_query * each) / (collections or len(self.sizes))

    def needed(self, reliability: float, system: float | None = None) -> float:
        """Return the queries (of each collection) with which Eρ² reaches a value; infinite where it cannot."""
        signal = self.system if system is None else system
        fixed, each = self._of_systems()
        noise = signal * (1 - reliability) / reliability * len(self.sizes) - fixed
        return float(np.ceil(round(each / noise, 6))) if noise > 0 else np.inf

    def needed_limits(self, reliability: float) -> tuple[float, float]:
        """Return the interval of the queries needed that follows from that of Eρ²; for one collection."""
        noise = self._noise(None, None, *self._of_systems())
        low, high = (noise * limit / (1 - limit) if limit < 1 else np.inf for limit in self.limits)
        return self.needed(reliability, high), self.needed(reliability, low)


def _coefficient(signal: float, noise: Any) -> Any:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(signal + noise > 0, signal / (signal + noise), np.nan)[()]


def components(tables: list[Floats]) -> Components:
    """Estimate the components from tables of systems × queries, one per collection."""
    found, between, noise = estimates(tables)
    sizes = tuple(table.shape[1] for table in tables)
    apart = len(tables[0]) - 1
    limits = _limits(between, noise, apart, apart * (sizes[0] - 1 if len(sizes) == 1 else len(sizes) - 1))
    negative = tuple(name for name, value in zip(SEVERAL, found, strict=True) if value < 0)
    system, collection, query, crossed, residual = (max(float(value), 0.0) for value in found)
    return Components(
        system=system,
        collection=collection,
        query=query,
        system_collection=crossed,
        system_query=residual,
        sizes=sizes,
        limits=limits,
        negative=negative,
    )


def components_of_runs(values: Floats, members: Sequence[Sequence[int]]) -> Components:
    """Estimate the components from scores of single runs, ``[query, run]``, and the runs of each system.

    Means over runs vary as systems do, and as runs do divided by their number; both parts are estimated from runs.
    """
    queries = len(values)
    table = np.stack([values[:, runs].mean(axis=1) for runs in members])
    (system, _, query, _, crossed), between, noise = estimates([table])
    of_means, interaction = between_runs(values, members)
    share = float(np.mean([1 / len(runs) for runs in members]))
    run, single = of_means - interaction, interaction * queries
    free = sum(len(runs) - 1 for runs in members)
    apart = len(members) - 1
    added = max(run, 0.0) * share
    total = noise + added
    part = noise**2 / (apart * (queries - 1)) + ((of_means * share) ** 2 / free if added else 0.0)
    limits = _limits(between, total, apart, total**2 / part if part else np.inf)
    found = {
        "system": system - run * share,
        "query": query,
        "system × query": crossed - single * share,
        "run": run,
        "run × query": single,
    }
    negative = tuple(name for name in RUNS if found[name] < 0)
    kept = {name: max(value, 0.0) for name, value in found.items()}
    return Components(
        system=kept["system"],
        collection=0.0,
        query=kept["query"],
        system_collection=0.0,
        system_query=kept["system × query"],
        sizes=(queries,),
        limits=limits,
        negative=negative,
        run=kept["run"],
        run_query=kept["run × query"],
        runs=1 / share,
    )


def estimates(tables: list[Floats]) -> tuple[tuple[float, ...], float, float]:
    """Return unbiased estimates, which may be negative, the variance of system means, and how much of it is noise.

    Within collections mean squares are pooled by degrees of freedom; between them each collection counts the same,
    which keeps the estimates unbiased for collections of any sizes.
    """
    systems, sizes = len(tables[0]), np.array([table.shape[1] for table in tables])
    freedom = sizes - 1
    residual = sum(_residual(table) for table in tables) / ((systems - 1) * freedom.sum())
    queries = sum(((table.mean(axis=0) - table.mean()) ** 2).sum() for table in tables) / freedom.sum()
    query, each = queries - residual / systems, float(np.mean(1 / sizes))
    means = np.stack([table.mean(axis=1) for table in tables], axis=1)
    between = means.mean(axis=1).var(ddof=1)
    count = len(tables)
    if count == 1:
        noise, collection, crossed = residual * each, 0.0, 0.0
    else:
        mixed = _residual(means) / ((systems - 1) * (count - 1))
        noise, crossed = mixed / count, mixed - residual * each
        collection = means.mean(axis=0).var(ddof=1) - query * each - mixed / systems
    return (between - noise, collection, query, crossed, residual), between, noise


def _residual(table: Floats) -> float:
    """Sum the squares of the residuals from row and column means."""
    left = table - table.mean(axis=1, keepdims=True) - table.mean(axis=0) + table.mean()
    return float((left**2).sum())


def _limits(between: float, noise: float, one: int, other: float, alpha: float = 0.05) -> tuple[float, float]:
    """Bound Eρ² by the F-distribution of the ratio of mean squares (Feldt 1965)."""
    if noise <= 0:
        return (1.0, 1.0) if between > 0 else (np.nan, np.nan)
    tails = (1 - alpha / 2, alpha / 2)
    low, high = (max(0.0, 1 - noise / between * special.fdtri(one, other, tail)) if between else 0.0 for tail in tails)
    return float(low), float(high)
