"""What the study shows of its worlds: the paper's tables and statements, world by world."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankdev.display.cells import interval
from rankdev.display.report import Report, Table
from rankdev.statistics.rank_correlation import tau_b
from rankdev.studies._published import Comparison, fact, published
from rankdev.studies.city.worlds import DIFFERENCES, PAIR_KINDS, WORLDS, Outcome, Worlds
from rankdev.studies.poi.output import (
    grid_values,
    poi_report,
    power_table,
    save_poi_figures,
    stability_table,
    statements_of,
)
from rankdev.studies.poi.study import LEAST

RDQ = "RDQ@5"
DIGITS = 4
FEW = 25  # queries at which powers are not yet near 1
SHOWN = ("lost_by_cutoff", "lost_by_order", "right", "depth", "in_order")
Fact = dict[str, Any]


def worlds_report(found: Worlds) -> Report:
    """Show the worlds side by side; one world alone is shown with the paper's whole tables."""
    rows = pl.DataFrame([row for outcome in found.outcomes for row in _facts(outcome)], schema=_SCHEMA)
    tables = [
        _overview(found),
        _statements(found),
        _powers(found, LEAST),
        _powers(found, FEW),
        _stabilities(found),
        _counts(found),
    ]
    tables += [_buckets(found), _kinds(found), *_labels(found)]
    if len(found.names) == 1:
        tables += _paper_tables(found.of(found.names[0]))
    size = found.size
    notes = [
        f"places: {found.source}; {size.queries:,} queries, {size.candidates} candidates each, rerankers trained on"
        f" {size.training:,} other queries",
        f"{size.protocol.subsamples} subsamples, {size.protocol.permutations:,} sign flips per test, p = b/B as in the"
        " paper",
        "Numbers are means over seeds; brackets span the seeds' 95% intervals over the choice of queries. A statement"
        " holds, or fails, where all seeds agree; otherwise it cannot be told.",
        *found.notes,
    ]
    return Report(rows, tables, closing=notes)


_SCHEMA = {
    "world": pl.String,
    "seed": pl.Int64,
    "part": pl.String,
    "measure": pl.String,
    "statistic": pl.String,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "published": pl.Float64,
}


def _facts(outcome: Outcome) -> Iterator[Fact]:
    """Yield every number of a world and seed."""
    study = outcome.study
    limits = _limits(outcome)
    rows: list[Fact] = [fact("data", "", "recall", outcome.recall)]
    rows += [
        fact("data", "", name, v) for name, v in zip(("size_p25", "size_p50", "size_p75"), outcome.sizes, strict=True)
    ]
    rows += [fact("data", "", "tau with the paper's powers", order_of_measures(outcome))]
    rows += [
        fact("systems", system["system"], name, system[name])
        for system in outcome.systems.iter_rows(named=True)
        for name in ("score", *DIFFERENCES)
    ]
    rows += poi_report(study).rows.to_dicts()
    rows += [
        fact("statements", ours, text, None if holds is None else float(holds))
        for text, _, ours, holds in statements_of(study)
    ]
    rows += [fact(f"power at {FEW}", m, "p50", value) for m, value in medians(outcome, FEW).items()]
    rows += [fact("effects", m, "p50", value) for m, value in effects(outcome).items()]
    rows += [fact(f"lead of {RDQ} at {n}", m, "p50", lead) for n in (FEW, LEAST) for m, lead, *_ in leads(outcome, n)]
    for label, measure, power, tau in outcome.labels.iter_rows():
        rows += [fact(f"labels, {label}", measure, "p50", power), fact(f"labels, {label}", measure, "tau", tau)]
    rows += [
        fact(f"pairs, {kind['kind']}", kind["best"], name, kind[name])
        for kind in _by_kind([outcome]).iter_rows(named=True)
        for name in (*SHOWN, "power", RDQ)
    ]
    for row in rows:
        low, high = limits.get((row["part"], row["measure"], row["statistic"]), (None, None))
        numbers = {"value": row["value"], "low": low, "high": high, "published": row["published"]}
        rounded = {name: None if v is None else round(float(v), DIGITS) for name, v in numbers.items()}
        yield {"world": outcome.world, "seed": outcome.seed, **row, **rounded}


def _limits(outcome: Outcome) -> dict[tuple[str, str, str], tuple[float, float]]:
    found: dict[tuple[str, str, str], tuple[float, float]] = {}
    for part, n, names in (("Table 2", LEAST, ("p10", "p50", "p90", "n80")), (f"power at {FEW}", FEW, ("p50",))):
        for row in outcome.study.power.summary(n).iter_rows(named=True):
            found |= {(part, row["measure"], name): (row[f"{name}_low"], row[f"{name}_high"]) for name in names}
    for n in (FEW, LEAST):
        found |= {(f"lead of {RDQ} at {n}", m, "p50"): (low, high) for m, _, low, high in leads(outcome, n)}
    return found


def leads(outcome: Outcome, n: int) -> Iterator[tuple[str, float, float, float]]:
    """Yield how much more median power RDQ@5 has than each other measure, with a 95% interval over queries."""
    for a, b, apart, low, high, _ in outcome.study.power.differences(n).iter_rows():
        if a == RDQ:
            yield b, apart, low, high
        elif b == RDQ:
            yield a, -apart, -high, -low


def order_of_measures(outcome: Outcome) -> float:
    """Return how well the order of measures by median power agrees with the paper's."""
    paper = published("poi")
    at = paper["power_columns"].index("p50")
    ours = medians(outcome)
    theirs = np.array([paper["power"][measure][at] for measure in ours])
    return float(tau_b(theirs, np.array(list(ours.values()))))


def medians(outcome: Outcome, n: int = LEAST) -> dict[str, float]:
    """Return each measure's median power at some queries."""
    return dict(outcome.study.power.summary(n).select("measure", "p50").iter_rows())


def effects(outcome: Outcome) -> dict[str, float]:
    """Return each measure's median size of a difference, in standard deviations: as power, but without a ceiling."""
    table = outcome.pairs
    return {m: float(np.median(np.abs(table[f"effect {m}"]))) for m in outcome.study.power.measures}


def leaders(powers: Mapping[str, float]) -> str:
    """Return the measure with the largest value, or all that share it."""
    most = max(powers.values())
    return " = ".join(measure for measure, value in powers.items() if value == most)


def verdict(holding: Sequence[bool | None]) -> str:
    """State whether a statement holds in all seeds, in none or in some; where measures tie (None) it cannot be told.

    >>> verdict([True, True]), verdict([True, False]), verdict([False])
    ('holds', 'cannot tell', 'fails')
    """
    return "holds" if all(holding) else "cannot tell" if any(one is not False for one in holding) else "fails"


def _overview(found: Worlds) -> Table:
    rows = []
    for world in found.names:
        outcomes = found.of(world)
        powers = [medians(outcome) for outcome in outcomes]
        first = [leaders(power) for power in powers]
        largest = [leaders(effects(outcome)) for outcome in outcomes]
        places = [1 + sum(value > power[RDQ] for value in power.values()) for power in powers]
        holds = [sum(row[3] is True for row in statements_of(outcome.study)) for outcome in outcomes]
        rows.append(
            (
                f"{world}: {WORLDS[world]['what']}",
                float(np.mean([outcome.recall for outcome in outcomes])),
                ", ".join(dict.fromkeys(first)),
                ", ".join(dict.fromkeys(largest)),
                _listed(places),
                _listed(holds),
                float(np.mean([order_of_measures(outcome) for outcome in outcomes])),
            )
        )
    names = [
        "world",
        "recall",
        "most power",
        "largest effect",
        f"place of {RDQ}",
        "statements that hold",
        "τ with paper",
    ]
    frame = pl.DataFrame(rows, schema=names, orient="row")
    seeds = _listed([outcome.seed for outcome in found.of(found.names[0])])
    statements = len(statements_of(found.outcomes[0].study))
    title = f"Worlds: power at {LEAST} queries over 66 pairs, seeds {seeds}; {statements} statements"
    return Table(frame, title, digits=2, prose=("world", "most power", "largest effect"), names=("world",))


def _listed(values: Sequence[int]) -> str:
    return ", ".join(map(str, values))


def _statements(found: Worlds) -> Table:
    by_world = {world: [statements_of(outcome.study) for outcome in found.of(world)] for world in found.names}
    texts = {text: paper for listed in by_world.values() for rows in listed for text, paper, *_ in rows}
    columns: dict[str, list[str]] = {"statement": list(texts), "paper": list(texts.values())}
    for world, listed in by_world.items():
        columns[world] = []
        for text in texts:
            rows = [row for rows in listed for row in rows if row[0] == text]
            said = dict.fromkeys(row[2] for row in rows)
            columns[world].append(f"{verdict([row[3] for row in rows])}: {'; '.join(said)}")
    title = "Statements of the paper, and what was found instead"
    return Table(pl.DataFrame(columns), title, prose=tuple(columns), names=("statement",))


def _powers(found: Worlds, n: int) -> Table:
    paper = published("poi")
    at, part = paper["power_columns"].index("p50"), "Table 2" if n == LEAST else f"power at {n}"
    measures = list(paper["power"])
    columns: dict[str, Any] = {"measure": measures}
    if n == LEAST:
        columns["paper"] = [paper["power"][m][at] for m in measures]
    for world in found.names:
        outcomes = found.of(world)
        limits = [_limits(outcome) for outcome in outcomes]
        columns[world] = [float(np.mean([medians(outcome, n)[m] for outcome in outcomes])) for m in measures]
        hulls = [[limit[part, m, "p50"] for limit in limits] for m in measures]
        columns[f"{world} 95%"] = [interval(min(a for a, _ in hull), max(b for _, b in hull), 2) for hull in hulls]
    best = {
        (i, name)
        for name, values in columns.items()
        if name in (*found.names, "paper")
        for i, value in enumerate(values)
        if round(value, 3) == round(max(values), 3)
    }
    right = tuple(name for name in columns if name.endswith("95%"))
    title = f"{'Table 2: m' if n == LEAST else 'M'}edian power at {n} queries; * best"
    return Table(pl.DataFrame(columns), title, best=best, digits=3, right=right)


def _stabilities(found: Worlds) -> Table:
    paper = published("poi")
    at = paper["stability_columns"].index("auc")
    measures = list(paper["stability"])
    columns: dict[str, Any] = {"measure": measures, "paper": [paper["stability"][m][at] for m in measures]}
    best = {(int(np.argmax(columns["paper"])), "paper")}
    for world in found.names:
        tables = [dict(o.study.stability.summary().select("measure", "auc").iter_rows()) for o in found.of(world)]
        columns[world] = [float(np.mean([table[m] for table in tables])) for m in measures]
        best.add((int(np.argmax(columns[world])), world))
    return Table(pl.DataFrame(columns), "Table 3: stability of the order of systems (auc); * best", best=best, digits=3)


def _counts(found: Worlds) -> Table:
    """Figure 1 and the pair counts."""
    paper = published("poi")
    labels = {f"Figure 1: {name}": name for name in paper["grid"]}
    pairs = {f"pairs significant by {name}": name for name in ("all", "most", "any", "none")}
    columns: dict[str, Any] = {"": [*labels, *pairs]}
    columns["paper"] = [*paper["grid"].values(), *(paper["pairs"][name] for name in pairs.values())]
    for world in found.names:
        studies = [outcome.study for outcome in found.of(world)]
        grids, counts = [grid_values(study) for study in studies], [study.power.verdicts() for study in studies]
        values = [np.mean([grid[name] for grid in grids]) for name in labels.values()]
        columns[world] = [float(v) for v in (*values, *(np.mean([c[name] for c in counts]) for name in pairs.values()))]
    return Table(pl.DataFrame(columns), "Figure 1, and pairs with a significant difference on all queries", digits=3)


def _buckets(found: Worlds) -> Table:
    paper = published("poi")
    rows = []
    for at, bucket in enumerate(paper["bucket_queries"], 4):
        ours = {m: row[at] for m, row in paper["power"].items()}
        row = {"reference size": bucket, "paper": _leader(ours)}
        for world in found.names:
            tables = [_bucket(outcome, bucket) for outcome in found.of(world)]
            means = {m: float(np.mean([table[m] for table in tables])) for m in tables[0]} if all(tables) else {}
            row[world] = _leader(means)
        rows.append(row)
    title = f"Most power at {LEAST} queries by size of the reference, and that of {RDQ}"
    return Table(pl.DataFrame(rows), title, prose=tuple(rows[0])[1:])


def _bucket(outcome: Outcome, bucket: str) -> dict[str, float]:
    table = outcome.study.power.bucket_summary(LEAST).filter(pl.col("bucket") == bucket).drop_nulls("p50")
    return dict(table.select("measure", "p50").iter_rows())


def _leader(powers: Mapping[str, float]) -> str:
    if not powers:
        return "too few queries"
    return f"{leaders(powers)} {max(powers.values()):.3f}; {powers[RDQ]:.3f}"


def _by_kind(outcomes: Sequence[Outcome]) -> pl.DataFrame:
    """Return what pairs of each kind differ in, at the median, and which measure has the most power there."""
    rows = []
    for kind in PAIR_KINDS:
        tables = [outcome.pairs.filter(pl.col("kind") == kind) for outcome in outcomes]
        sizes, powers = (
            {
                m: float(np.mean([np.median(np.abs(table[f"{name} {m}"])) for table in tables]))
                for m in outcomes[0].study.power.measures
            }
            for name in ("effect", "power")
        )
        best = max(sizes, key=sizes.__getitem__)
        apart = [float(np.mean([table[name].abs().median() for table in tables])) for name in SHOWN]
        rows.append((kind, tables[0].height, *apart, best, powers[best], powers[RDQ]))
    return pl.DataFrame(rows, schema=["kind", "pairs", *SHOWN, "best", "power", RDQ], orient="row")


def _kinds(found: Worlds) -> Table:
    parts = [_by_kind(found.of(world)).insert_column(0, pl.lit(world).alias("world")) for world in found.names]
    frame = pl.concat(parts).rename({"best": "largest effect"})
    note = (
        "median absolute difference of two systems: two losses in RDQ@5 (they rerank the same candidates, so nothing is"
        " lost by retrieval), the fraction of the first five that is in the reference (right), how deep in it those are"
        " (depth), and the fraction of their pairs in its order. Largest effect: the measure with the largest median"
        " difference in standard deviations, which is power without its ceiling"
    )
    return Table(frame, "What systems differ in, by kind of pair", [note], digits=3, names=("world", "kind"))


def _labels(found: Worlds) -> Iterator[Table]:
    whole = pl.concat([outcome.labels for outcome in found.outcomes])
    means = whole.group_by("labels", "measure", maintain_order=True).agg(pl.col("power", "tau").mean())
    kinds = list(dict.fromkeys(means["labels"]))
    titles = {
        "power": f"Worse references: median power at {LEAST} queries, mean over worlds and seeds",
        "tau": "Worse references: τ with the order of systems by the complete references",
    }
    for name, title in titles.items():
        frame = means.pivot("labels", index="measure", values=name, maintain_order=True)
        frame = frame.select("measure", *(kind for kind in kinds if name == "power" or kind != "complete"))
        yield Table(frame, title, digits=3)


def _paper_tables(outcomes: Sequence[Outcome]) -> list[Table]:
    """Return Tables 2 and 3 of one world, means over seeds, with the paper's numbers."""
    paper = published("poi")
    tables = []
    for make in (power_table, stability_table):
        parts = [make(outcome.study, paper) for outcome in outcomes]
        first = parts[0]
        ours = {m: [_mean([part.ours[m][i] for part in parts]) for i in range(len(first.columns))] for m in first.ours}
        mean = Comparison(first.part, first.title, first.columns, ours, first.published, first.counts)
        tables += list(mean.report().tables)
    return tables


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if len(known) == len(values) else None


def save_worlds_figures(found: Worlds, folder: str | Path) -> list[Path]:
    """Write figure1.png, power.png and stability.png of each world's first seed into a folder of its own."""
    return [path for world in found.names for path in save_poi_figures(found.of(world)[0].study, Path(folder) / world)]
