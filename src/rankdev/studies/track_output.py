"""Tables and figures of the study of a track."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankdev.display.cells import count, interval, number
from rankdev.display.report import Report, Table
from rankdev.errors import counted
from rankdev.statistics.agreement import Agreement
from rankdev.studies.poi import RED, REPORTED, grid_frame, save_figures
from rankdev.studies.track import KINDS, Part, Track

NAMES = dict.fromkeys(("collection", "part", "measure", "statistic"), pl.String)
SCHEMA = NAMES | dict.fromkeys(("value", "low", "high"), pl.Float64)
PAPER = 100  # queries at which the paper reports power
STABLE = (25, 50, 100, 200)
Fact = tuple[str, str, str, float | None, float | None, float | None]  # without its collection
Shown = tuple[Table, list[Fact]]


def track_report(study: Track) -> Report:
    """Show power, whole and by kind of references, stability, Figure 1 and Figure 2."""
    opening, tables = list[str](), list[Table]()
    rows: list[tuple[Any, ...]] = []
    for part in study.parts:
        prefix = f"{part.name}: " if len(study.parts) > 1 else ""
        opening.append(f"{prefix}{_about(part)}")
        for table, facts in (_power(part, study.plan.n), *_by_kind(part, study.plan.n), _stability(part), *_grid(part)):
            tables.append(replace(table, title=f"{prefix}{table.title}"))
            rows += [(part.name, *fact) for fact in facts]
    if study.agreement is not None:
        for table, found in _agreement(study, study.agreement):
            tables.append(table)
            rows += found
    plan, protocol = study.plan, study.plan.protocol
    drawn = "with" if plan.replacement else "without"
    closing = (
        f"protocol: {protocol.subsamples} subsamples, {protocol.permutations:,} sign flips per test, seed {plan.seed};"
        f" queries are drawn {drawn} replacement, within buckets with replacement, as new ones",
    )
    return Report(
        pl.DataFrame(rows, SCHEMA, orient="row"),
        tables,
        opening=opening,
        closing=closing,
        remarks=study.notes,
        command="study track",
        parameters={"n": plan.n, "replacement": plan.replacement, **vars(protocol), "seed": plan.seed},
    )


def _about(part: Part) -> str:
    pairs = counted(part.power.verdicts()["pairs"], "pair")
    about = part.tiers
    return (
        f"{counted(len(part.scores.systems), 'system')}, {pairs}, {counted(len(part.scores.queries), 'query')};"
        f" {number(about.relevant, 1)} reference items per query, tiers of {number(about.median_tier, 1)} items"
        f" (median; mean {number(about.mean_tier, 1)})"
    )


def _fact(part: str, measure: str, statistic: str, value: float | None) -> Fact:
    known = None if value is None or np.isnan(value) else float(value)
    return part, measure, statistic, known, None, None


def _power(part: Part, n: int) -> Shown:
    """Tables 2 and 4: percentiles of power over pairs, and N80."""
    frame = part.power.summary(n).sort("p50", descending=True, maintain_order=True)
    names = {name: f"{name}@{n}" for name in ("p10", "p50", "p90")} | {"n80": "n80"}
    facts = [
        _fact("power", row["measure"], text, row[name])
        for row in frame.iter_rows(named=True)
        for name, text in names.items()
    ]
    if n != PAPER and PAPER in part.power.sizes:
        more = part.power.summary(PAPER).select("measure", pl.col("p50").alias(f"p50@{PAPER}"))
        facts += [_fact("power", measure, f"p50@{PAPER}", value) for measure, value in more.iter_rows()]
        frame = frame.join(more, on="measure", how="left", maintain_order="left")
    title = f"Tables 2 and 4: power at {n} queries over pairs"
    return Table(frame, title, digits=3, formats={"n80": count}), facts


def _by_kind(part: Part, n: int) -> Iterator[Shown]:
    """The right half of Table 2: median power by kind of references."""
    for kind in KINDS:
        buckets = [bucket for bucket in part.buckets if bucket.kind == kind]
        columns: dict[str, Any] = {"measure": list(part.scores.measures)}
        facts = []
        for bucket in buckets:
            medians = bucket.power.summary(n).select("measure", "p50").rows()
            facts += [_fact(f"{kind} {bucket.label}", measure, f"p50@{n}", value) for measure, value in medians]
            columns[f"{bucket.label}: {bucket.queries}"] = [value for _, value in medians]
        if buckets:
            title = f"Median power at {n} queries by {kind}; after the colon, queries"
            yield Table(pl.DataFrame(columns), title, names=("measure",), digits=2), facts


def _stability(part: Part) -> Shown:
    """Table 3: how well subsamples keep the order of systems."""
    sizes = [n for n in STABLE if n in part.stability.sizes] or list(part.stability.sizes[:1])
    names = [*(f"tau_{n}" for n in sizes), "auc", "n_at_0.8"]
    frame = part.stability.summary(sizes).sort("auc", descending=True, nulls_last=True).select("measure", *names)
    rows = frame.iter_rows(named=True)
    facts = [_fact("stability", row["measure"], name, row[name]) for row in rows for name in names]
    return Table(frame, "Table 3: stability of the order of systems", digits=3, formats={"n_at_0.8": count}), facts


def _grid(part: Part) -> Iterator[Shown]:
    """Figure 1: median power by the parameters of the first measure, one or two of them."""
    grid = part.grid
    if grid is None:
        return
    powers = list(zip(grid.measures, grid.power.tolist(), strict=True))
    facts = [_fact("Figure 1", measure, f"p50@{grid.n}", value) for measure, value in powers]
    ends = (pick(powers, key=lambda entry: entry[1]) for pick in (max, min))
    (best, most), (worst, least) = ends
    note = f"highest {best} {number(most, 3)}, lowest {worst} {number(least, 3)}; apart by {number(most - least, 3)}"
    yield Table(grid_frame(grid), f"Figure 1: median power at {grid.n} queries by parameters", (note,), digits=3), facts


def _agreement(study: Track, found: Agreement) -> Iterator[tuple[Table, list[tuple[Any, ...]]]]:
    """Figure 2: τ of each measure of the first one's family with all others; several collections side by side."""
    own, others = study.families
    cells: dict[tuple[str, str, str], str] = {}
    facts = list[tuple[Any, ...]]()
    for d, dataset in enumerate(found.datasets):
        for a in own:
            for b in others:
                i, j = found.measures.index(a), found.measures.index(b)
                assert found.tau_limits is not None
                low, high = found.tau_limits[:, d, i, j].tolist()
                cells[dataset, a, b] = f"{number(found.tau[d, i, j], 2)} {interval(low, high, 2)}"
                pair, tau, r = f"{a} ~ {b}", found.tau[d, i, j], found.r[d, i, j]
                facts += [(dataset, *_fact("Figure 2", pair, "tau", tau)[:4], low, high)]
                facts += [(dataset, *_fact("Figure 2", pair, "r", r))]
    title = "Figure 2: Kendall τ between orders of systems; in brackets, 95%"
    if len(found.datasets) == 1:
        columns = {a: [cells[found.datasets[0], a, b] for b in others] for a in own}
        yield Table(pl.DataFrame({"measure": others, **columns}), title, right=own), facts
        return
    for place, a in enumerate(own):
        columns = {dataset: [cells[dataset, a, b] for b in others] for dataset in found.datasets}
        table = Table(pl.DataFrame({a: others, **columns}), f"{title}: {a}", right=found.datasets)
        yield table, [] if place else facts


def save_track_figures(study: Track, folder: str | Path) -> list[Path]:
    """Write power, stability and Figure 1 of each part, and Figure 2; return their paths."""
    figures: dict[str, Any] = {}
    for part in study.parts:
        prefix = f"{part.name}-" if len(study.parts) > 1 else ""
        figures |= {f"{prefix}power.png": part.power.plot(), f"{prefix}stability.png": part.stability.plot()}
        if part.grid is not None:
            reported = [one for one in REPORTED if one in part.grid.cells]
            figures[f"{prefix}figure1.png"] = part.grid.plot(chosen=reported, note=RED)
    if study.agreement is not None:
        columns, rows = study.families
        figures["figure2.png"] = study.agreement.plot(rows=rows, columns=columns)
    return save_figures(figures, folder)
