"""What the TREC Deep Learning study shows: the paper's numbers beside ours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from rankdev.reporting.report import Report, Table
from rankdev.studies.published import Comparison, fact, facts, published, rows_of
from rankdev.studies.trec_dl.study import BASELINES, RDQ, SIZES, Pool, TrecDl

STATISTICS = ("queries", "relevant", "median_tier", "mean_tier")


def trec_dl_report(study: TrecDl) -> Report:
    """Show tiers, Table 4 for each pool of years, and the ranges of Figure 2."""
    paper = published("trec-dl")
    reports = [_tiers_report(study, paper)]
    records = reports[0].rows.to_dicts()
    for pool in study.pools:
        table = power_table(pool, paper)
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
    return Report(facts(records), [Table(display, "Tiers of equally good items", digits=1)])


def _statistics(tiers: Any) -> dict[str, Any]:
    return {name: getattr(tiers, name) for name in STATISTICS}


def _agreement_report(study: TrecDl, paper: dict[str, Any]) -> Report:
    """The lowest and the highest agreement of an RDQ variant and a baseline, year by year."""
    found = study.agreement
    assert found is not None
    rows = []
    for at, year in enumerate(found.datasets):
        row: dict[str, Any] = {"year": year, "systems": study.systems[year]}
        said = paper["agreement"].get(year, {})
        for name, values in (("tau", found.tau[at]), ("r", found.r[at])):
            block = values[np.ix_(*_places(study))]
            row[name] = _range([float(np.nanmin(block)), float(np.nanmax(block))])
            row[f"{name} (paper)"] = _range(said.get(name))
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


def _range(ends: Any) -> str:
    if not ends:
        return "–"
    return " to ".join("?" if end is None else f"{end:.2f}" for end in ends)
