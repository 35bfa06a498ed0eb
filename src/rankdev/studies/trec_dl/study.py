"""Power pooled over years, agreement per year, and the sizes of tiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

import rankdev as rd
from rankdev.evaluation.scores import Scores
from rankdev.meta.agreement import Agreement, agreement, pool
from rankdev.meta.power import power
from rankdev.meta.power_result import Power
from rankdev.progress import Progress
from rankdev.studies.published import remarks_into
from rankdev.studies.trec_dl.pipeline import Collection
from rankdev.tabular import Tabular

RDQ = ("RDQ(penalty=m1)@10", "RDQ@10", "RDQ(alpha=4)@10")
BASELINES = (
    "AP@10",
    "nDCG(gains=binary)@10",
    "nDCG(dcg=exp-log2)@10",
    "Compat(p=0.95)@10",
    "Compat(p=0.9)@10",
    "Compat(p=0.8)@10",
    "RBP(p=0.9)@10",
    "RBP(p=0.8)@10",
    "RBP(p=0.5)@10",
)
SIZES = (25, 100)


@dataclass(frozen=True)
class Tiers:
    """How many reference items a query has, and how large its tiers are."""

    name: str
    queries: int
    relevant: float
    median_tier: float
    mean_tier: float


@dataclass(frozen=True, eq=False)
class Pool:
    """Years whose runs come from the same systems, and the power on all their queries together."""

    years: tuple[str, ...]
    scores: Scores = field(repr=False)
    power: Power = field(repr=False)


@dataclass(frozen=True, eq=False)
class TrecDl(Tabular):
    """Everything the study found. Without runs there are tiers only."""

    tiers: tuple[Tiers, ...]
    pools: tuple[Pool, ...] = ()
    agreement: Agreement | None = field(default=None, repr=False)
    systems: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = field(default=(), repr=False)
    subsamples: int = 300
    permutations: int = 1000
    seed: int = 0

    def to_polars(self) -> pl.DataFrame:
        """One row per fact: part, measure, statistic, value, published."""
        from rankdev.studies.trec_dl.report import trec_dl_report

        return trec_dl_report(self).rows


def tier_statistics(name: str, references: Sequence[rd.References]) -> Tiers:
    """Count over all queries of some references.

    >>> tier_statistics("x", [rd.References.from_grades({"q": {"a": 2, "b": 1, "c": 1, "d": 0}})])
    Tiers(name='x', queries=1, relevant=3.0, median_tier=1.5, mean_tier=1.5)
    """
    sizes = np.concatenate([entry.sizes for entry in references])
    tiers = np.concatenate([_tier_sizes(entry) for entry in references])
    return Tiers(name, len(sizes), float(sizes.mean()), float(np.median(tiers)), float(tiers.mean()))


def all_tiers(references: Mapping[str, rd.References]) -> tuple[Tiers, ...]:
    """Count for each year and, where there are several, for all together."""
    rows = [tier_statistics(year, [entry]) for year, entry in references.items()]
    return (*rows, *([tier_statistics("pooled", list(references.values()))] if len(rows) > 1 else []))


def run_trec_dl(
    collections: Mapping[str, Collection], *, quick: bool = False, seed: int = 0, progress: Progress | None = None
) -> TrecDl:
    """Analyse years of runs; power is pooled over years that have the same systems."""
    notes: list[str] = []
    empty = TrecDl(all_tiers({year: entry.references for year, entry in collections.items()}))
    settings = replace(empty, subsamples=60, permutations=200, seed=seed) if quick else replace(empty, seed=seed)
    drawing: dict[str, Any] = {"subsamples": settings.subsamples, "permutations": settings.permutations, "seed": seed}
    pools = []
    with remarks_into(notes):
        scores = {
            year: rd.evaluate(entry.references, dict(entry.runs), [*RDQ, *BASELINES])
            for year, entry in collections.items()
        }
        for years in _same_systems(scores):
            pooled = pool({year: scores[year] for year in years})
            found = power(pooled, sizes=SIZES, p_value="paper", progress=progress, **drawing)
            if not found.complete:
                raise KeyboardInterrupt
            pools.append(Pool(years, pooled, found))
        agreed = agreement(scores)
    systems = {year: len(entry.systems) for year, entry in scores.items()}
    return replace(settings, pools=tuple(pools), agreement=agreed, systems=systems, notes=tuple(notes))


def _tier_sizes(references: rd.References) -> Any:
    ends = np.flatnonzero(np.diff(references.ranks, append=0) != 0)
    last = references.offsets[1:][references.sizes > 0] - 1  # a query may have none
    return np.diff(np.union1d(ends, last), prepend=-1)


def _same_systems(scores: Mapping[str, Scores]) -> list[tuple[str, ...]]:
    groups: dict[frozenset[str], list[str]] = {}
    for year, entry in scores.items():
        groups.setdefault(frozenset(entry.systems), []).append(year)
    return [tuple(years) for years in groups.values()]
