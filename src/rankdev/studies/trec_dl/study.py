"""The TREC Deep Learning study: the paper's Table 4 and Figure 2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import rankdev as rd
from rankdev._common.tables import Tabular
from rankdev._common.work import Progress
from rankdev.display.agreement import plot_agreement
from rankdev.display.report import Report, Table
from rankdev.display.style import save
from rankdev.evaluation.scores import Scores
from rankdev.statistics.agreement import Agreement, agreement
from rankdev.statistics.power import power
from rankdev.statistics.power.result import Power
from rankdev.studies._published import Comparison, fact, facts, published, rows_of, warnings_into
from rankdev.studies.trec_dl.pipeline import Collection

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
class TierStatistics:
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
    """Results of the study. Without runs there are tiers only."""

    tiers: tuple[TierStatistics, ...]
    pools: tuple[Pool, ...] = ()
    agreement: Agreement | None = field(default=None, repr=False)
    systems: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = field(default=(), repr=False)
    subsamples: int = 300
    permutations: int = 1000
    seed: int = 0

    def to_polars(self) -> pl.DataFrame:
        """One row per fact: part, measure, statistic, value, published."""

        return trec_dl_report(self).rows


def tier_statistics(name: str, references: Sequence[rd.References]) -> TierStatistics:
    """Count over all queries of some references.

    >>> tier_statistics("x", [rd.References.from_grades({"q": {"a": 2, "b": 1, "c": 1, "d": 0}})])
    TierStatistics(name='x', queries=1, relevant=3.0, median_tier=1.5, mean_tier=1.5)
    """
    sizes = np.concatenate([entry.sizes for entry in references])
    tiers = np.concatenate([_tier_sizes(entry) for entry in references])
    return TierStatistics(name, len(sizes), float(sizes.mean()), float(np.median(tiers)), float(tiers.mean()))


def all_tiers(references: Mapping[str, rd.References]) -> tuple[TierStatistics, ...]:
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
    with warnings_into(notes):
        scores = {
            year: rd.evaluate(entry.references, dict(entry.runs), [*RDQ, *BASELINES])
            for year, entry in collections.items()
        }
        for years in _same_systems(scores):
            pooled = Scores.pooled({year: scores[year] for year in years})
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


STATISTICS = ("queries", "relevant", "median_tier", "mean_tier")


def trec_dl_report(study: TrecDl) -> Report:
    """Show tiers, Table 4 for each pool of years, and the ranges of Figure 2."""
    paper = published("trec-dl")
    reports = [_tiers_report(study, paper)]
    records = reports[0].rows.to_dicts()
    for judged in study.pools:
        table = power_table(judged, paper)
        reports.append(table.report())
        records += table.records()
    if study.agreement is not None:
        reports.append(_agreement_report(study, paper))
        records += list(_agreement_records(study))
    notes = list(study.notes)
    if study.pools:
        notes += [
            f"protocol: {study.subsamples} subsamples, {study.permutations:,} sign flips per test, p = b/B as in the"
            f" paper, seed {study.seed}",
            "the paper: 221 queries of 2019 to 2022, documents, four cross-encoders over BM25's top 100",
        ]
    return Report.joined(facts(records), reports, notes)


def power_table(pool: Pool, paper: dict[str, Any]) -> Comparison:
    """Table 4: percentiles of power over pairs at 25 and 100 queries, for years with the same systems."""
    summary = pool.power.summary(pool.power.sizes[0]).select("measure")
    for n in SIZES:
        if n in pool.power.sizes:
            renamed = pool.power.summary(n).drop("n80").rename({f"p{q}": f"p{q}@{n}" for q in (10, 50, 90)})
            summary = summary.join(renamed, on="measure", how="left", maintain_order="left")
    columns = tuple(paper["power_columns"])
    years = "+".join(pool.years)
    counts = f"{len(pool.scores.queries)} queries, {len(pool.scores.systems)} systems"
    title = f"Table 4: power over pairs, {years} ({counts}); * best"
    rows = rows_of(summary, columns, f"p50@{pool.power.sizes[0]}")
    return Comparison(f"Table 4 {years}", title, columns, rows, paper["power"])


def _tiers_report(study: TrecDl, paper: dict[str, Any]) -> Report:
    rows: list[dict[str, Any]] = [{"judgments": tiers.name, **_statistics(tiers)} for tiers in study.tiers]
    rows.append({"judgments": "paper (2019 to 2022)", **{name: float(paper["tiers"][name]) for name in STATISTICS[1:]}})
    rows[-1]["queries"] = paper["tiers"]["queries"]
    records = []
    for tiers in study.tiers:
        for name, value in _statistics(tiers).items():
            known = {"pooled": paper["tiers"].get(name)}
            if name == "queries":
                known |= paper["queries"]
            records.append(fact("tiers", tiers.name, name, value, known.get(tiers.name)))
    names = {"relevant": "relevant per query", "median_tier": "median tier", "mean_tier": "mean tier"}
    display = pl.DataFrame(rows).select("judgments", *STATISTICS).rename(names)
    return Report(facts(records), [Table(display, "Tiers of equally relevant items", digits=1)])


def _statistics(tiers: Any) -> dict[str, Any]:
    return {name: getattr(tiers, name) for name in STATISTICS}


def _agreement_report(study: TrecDl, paper: dict[str, Any]) -> Report:
    """The lowest and the highest agreement of an RDQ variant and a baseline, year by year."""
    found = study.agreement
    assert found is not None
    rows = []
    for at, year in enumerate(found.datasets):
        row: dict[str, Any] = {"year": year, "systems": study.systems[year]}
        expected = paper["agreement"].get(year, {})
        for name, values in (("tau", found.tau[at]), ("r", found.r[at])):
            block = values[np.ix_(*_places(study))]
            row[name] = _range([float(np.nanmin(block)), float(np.nanmax(block))])
            row[f"{name} (paper)"] = _range(expected.get(name))
        rows.append(row)
    title = "Figure 2: agreement of three RDQ variants with nine other measures, lowest to highest"
    return Report(facts(list(_agreement_records(study))), [Table(pl.DataFrame(rows), title)])


def _agreement_records(study: TrecDl) -> Iterator[dict[str, Any]]:
    found = study.agreement
    assert found is not None
    rows, columns = _places(study)
    for at, year in enumerate(found.datasets):
        for i in rows:
            for j in columns:
                pair = f"{found.measures[i]} ~ {found.measures[j]}"
                for name, values in (("tau", found.tau), ("r", found.r)):
                    value = float(values[at, i, j])
                    yield fact(f"Figure 2 {year}", pair, name, None if np.isnan(value) else value)


def _places(study: TrecDl) -> tuple[list[int], list[int]]:
    assert study.agreement is not None
    rows, columns = ([study.agreement.measures.index(text) for text in group] for group in (RDQ, BASELINES))
    return rows, columns


def _range(limits: Any) -> str:
    if not limits:
        return "–"
    return " to ".join("?" if end is None else f"{end:.2f}" for end in limits)


def save_trec_dl_figures(study: TrecDl, folder: str | Path) -> list[Path]:
    """Write figure2.png and return its path; nothing where there are no runs."""
    if study.agreement is None:
        return []
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    return [save(plot_agreement(study.agreement, RDQ, BASELINES), target / "figure2.png")]
