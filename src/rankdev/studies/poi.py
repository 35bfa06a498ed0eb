"""The points-of-interest study: the paper's Tables 2 and 3 and Figure 1, and which of its statements hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

import rankdev as rd
from rankdev._common.tables import Tabular
from rankdev._common.work import Progress, part_of
from rankdev.display.agreement import plot_sensitivity
from rankdev.display.power import plot_power, plot_stability
from rankdev.display.report import Report, Table
from rankdev.display.style import save
from rankdev.statistics.power import power
from rankdev.statistics.power_result import Power
from rankdev.statistics.sensitivity import Sensitivity, sensitivity
from rankdev.statistics.stability import Stability, stability
from rankdev.statistics.student import PAPER_SIZES
from rankdev.studies._published import Comparison, fact, facts, published, rows_of, warnings_into
from rankdev.studies.simulation import simulate

if TYPE_CHECKING:
    from rankdev.evaluation.scores import Scores


MEASURES = "paper@5"
LEAST = 100


@dataclass(frozen=True)
class Protocol:
    """How much is simulated: the paper's protocol, or a quick look at the same tables."""

    queries: int = 5000  # of the built-in data; one's own are used whole
    sizes: Sequence[int] = PAPER_SIZES
    subsamples: int = 300
    permutations: int = 1000


FULL = Protocol()
QUICK = Protocol(1000, (25, 50, 100, 200, 400), 40, 200)


@dataclass(frozen=True, eq=False, kw_only=True)
class Poi(Tabular):
    """Results of the study; ``source`` names the data."""

    source: str
    simulated: bool
    scores: Scores = field(repr=False)
    power: Power = field(repr=False)
    stability: Stability = field(repr=False)
    sensitivity: Sensitivity = field(repr=False)
    protocol: Protocol
    seed: int
    notes: tuple[str, ...] = field(repr=False)

    def to_polars(self) -> pl.DataFrame:
        """One row per fact: part, measure, statistic, value, published."""
        return poi_report(self).rows


def run_poi(
    references: Any = None,
    runs: Mapping[str, Any] | None = None,
    *,
    quick: bool = False,
    protocol: Protocol | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Poi:
    """Run the experiment on references and runs, or without them on the built-in simulation."""
    if (references is None) != (runs is None):
        name, use = ("runs", "references") if runs is None else ("references", "runs")
        raise rd.UsageError("needed", name=name, use=use)
    protocol = protocol or (QUICK if quick else FULL)
    simulated = references is None
    if simulated:
        made = simulate(protocol.queries, seed=seed)
        references, runs = made.references, made.runs
    notes: list[str] = []
    drawing: dict[str, Any] = {"subsamples": protocol.subsamples, "seed": seed}
    testing: dict[str, Any] = {**drawing, "permutations": protocol.permutations, "p_value": "paper"}
    with warnings_into(notes):
        known = references if isinstance(references, rd.References) else rd.read_references(references)
        loaded = {name: run if isinstance(run, rd.Run) else rd.read_run(run) for name, run in (runs or {}).items()}
        if len(known) < LEAST:
            raise rd.DataError("too-few", what="power", least=LEAST, unit="query", count=len(known))
        scores = rd.evaluate(known, loaded, MEASURES)
        whole = {"buckets": True, "progress": part_of(progress, 0, 0.75), **testing}
        found = power(scores, sizes=protocol.sizes, **whole)
        if not found.complete:
            raise KeyboardInterrupt
        stable = stability(scores, sizes=protocol.sizes, **drawing)
        grid = sensitivity(known, loaded, progress=part_of(progress, 0.75, 1), **testing)
    kind = "simulated" if simulated else "given"
    source = f"{kind}: {len(scores.queries):,} queries, {len(scores.systems)} systems, seed {seed}"
    return Poi(
        source=source,
        simulated=simulated,
        scores=scores,
        power=found,
        stability=stable,
        sensitivity=grid,
        protocol=protocol,
        seed=seed,
        notes=tuple(notes),
    )


REPORTED = [(1, 0.2), (4, 0.2)]  # (α, λ) of the main experiments, in red frames
Statement = tuple[str, str, str, bool | None]  # None: other measures are as extreme
WHY = (
    "Why simulated values differ: errors of the built-in rankers are normal and alike at all ranks. How far apart the"
    " systems are was chosen from four tried sets of factors for being near the paper's pair counts; the other"
    " parameters were not varied. Levels are therefore of little use; orders of measures show how they react to rankers"
    " of this kind."
)


def system_grid(systems: Sequence[str]) -> tuple[list[str], list[str]] | None:
    """Read models and settings out of names such as v72-mp3; None where the names do not form a grid.

    >>> system_grid(["a-x", "a-y", "b-x", "b-y"])
    (['a', 'b'], ['x', 'y'])
    """
    parts = [name.rpartition("-") for name in systems]
    models = list(dict.fromkeys(model for model, _, _ in parts))
    settings = list(dict.fromkeys(setting for _, _, setting in parts))
    whole = {f"{model}-{setting}" for model in models for setting in settings} == set(systems)
    return (models, settings) if whole and all(model for model in models) else None


def save_poi_figures(study: Poi, folder: str | Path) -> list[Path]:
    """Write figure1.png (sensitivity), power.png and stability.png; return their paths."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    figures = {
        "figure1.png": plot_sensitivity(study.sensitivity, REPORTED),
        "power.png": plot_power(study.power),
        "stability.png": plot_stability(study.stability),
    }
    return [save(figure, target / name) for name, figure in figures.items()]


def poi_report(study: Poi) -> Report:
    """Show systems, Tables 2 and 3, Figure 1, pair counts and statements, each with the published values."""
    paper = published("poi")
    power, stability = power_table(study, paper), stability_table(study, paper)
    grid, pairs = _grid_report(study, paper), _pairs_report(study, paper)
    statements = _statements_report(study, power, stability)
    records = [*power.records(), *stability.records(), *grid.rows.to_dicts(), *pairs.rows.to_dicts()]
    notes = [
        f"data: {study.source}",
        f"protocol: {_protocol(study)}",
        *study.notes,
        *([WHY] if study.simulated else []),
    ]
    reports = [_systems_report(study), power.report(), stability.report(), grid, pairs, statements]
    return Report.joined(facts(records), reports, notes)


def power_table(study: Poi, paper: dict[str, Any]) -> Comparison:
    """Table 2: percentiles of power@100, N80, and the median within each range of reference sizes."""
    buckets = study.power.bucket_summary(100).pivot("bucket", index="measure", values="p50")
    summary = study.power.summary(100).join(buckets, on="measure", how="left", maintain_order="left")
    columns = tuple(paper["power_columns"])
    title = f"Table 2: power at 100 queries over {study.power.verdicts()['pairs']} pairs; * best"
    return Comparison("Table 2", title, columns, rows_of(summary, columns, "p50"), paper["power"], ("n80",))


def stability_table(study: Poi, paper: dict[str, Any]) -> Comparison:
    """Table 3: how well subsamples keep the order of systems."""
    columns = tuple(paper["stability_columns"])
    rows = rows_of(study.stability.summary(), columns, "auc")
    title = "Table 3: stability of the order of systems; * best"
    return Comparison("Table 3", title, columns, rows, paper["stability"], ("n_at_0.8",))


def _systems_report(study: Poi) -> Report:
    """Means of the first measure: a table of models and settings where the names form one."""
    means = dict(zip(study.scores.systems, study.scores.means[:, 0].tolist(), strict=True))
    measure = study.scores.measures[0]
    grid = system_grid(study.scores.systems)
    if grid is None:
        display = pl.DataFrame({"system": list(means), measure: list(means.values())})
    else:
        models, settings = grid
        columns = {setting: [means[f"{model}-{setting}"] for model in models] for setting in settings}
        display = pl.DataFrame({"model": models, **columns})
    return Report.of_table(display, f"Systems: mean {measure}")


def _grid_report(study: Poi, paper: dict[str, Any]) -> Report:
    """Figure 1: median power of every (α, λ), the paper's four known cells, and its statements about the grid."""
    found = study.sensitivity
    cells = dict(zip(found.measures, found.power.tolist(), strict=True))
    records = [fact("Figure 1", text, "p50", value, paper["sensitivity"].get(text)) for text, value in cells.items()]
    values = grid_values(study)
    records += [fact("Figure 1", "grid", name, values[name], paper["grid"][name]) for name in values]
    frame = found.to_polars().pivot("lam", index="alpha", values="power", maintain_order=True)
    display = frame.rename({name: f"lam={float(name):g}" for name in frame.columns[1:]})
    display = display.with_columns(alpha=pl.Series([f"{value:g}" for value in frame["alpha"]]))
    notes = [f"{name}: {_written(values[name])} (paper {_written(paper['grid'][name])})" for name in values]
    known = ", ".join(f"{text} {value:.3f}" for text, value in paper["sensitivity"].items())
    title = f"Figure 1: median power at {found.n} queries"
    table = Table(display, title, (*notes, f"cells the paper names: {known}"), digits=3)
    return Report(facts(records), [table])


def grid_values(study: Poi) -> dict[str, float]:
    """Return what the paper states about Figure 1: its range, and how many cells beat other measures."""
    cells = study.sensitivity.power
    medians = dict(study.power.summary(study.sensitivity.n).select("measure", "p50").iter_rows())
    other = max(value for measure, value in medians.items() if not measure.startswith("RDQ"))
    return {
        "lowest": float(cells.min()),
        "median": float(sorted(cells.tolist())[len(cells) // 2]),
        "highest": float(cells.max()),
        "above the best other": int((cells > other).sum()),
        "above RBP(p=0.8)@5": int((cells > medians["RBP(p=0.8)@5"]).sum()),
    }


def _pairs_report(study: Poi, paper: dict[str, Any]) -> Report:
    """Count the pairs with a significant difference on all queries."""
    counts = study.power.verdicts()
    measures = len(study.power.measures)
    labels = {
        "pairs": "pairs of systems",
        "all": f"significant by all {measures} measures",
        "most": f"by at least {measures // 2 + 1}",
        "any": "by at least one",
        "none": "by none",
    }
    records = [fact("pairs", "", name, counts[name], paper["pairs"][name]) for name in labels]
    columns = {"on all queries": list(labels.values()), "rankdev": [counts[name] for name in labels]}
    display = pl.DataFrame({**columns, "paper": [paper["pairs"][name] for name in labels]})
    title = "Pairs with a significant difference on all queries (p ≤ .05, uncorrected)"
    return Report(facts(records), [Table(display, title)])


def statements_of(study: Poi) -> list[Statement]:
    """Return the paper's statements, its value, ours, and whether each holds here."""
    paper = published("poi")
    return list(_statements(study, power_table(study, paper), stability_table(study, paper)))


def _statements_report(study: Poi, power: Comparison, stability: Comparison) -> Report:
    rows = list(_statements(study, power, stability))
    names = ("statement", "paper", "rankdev", "holds here")
    said = {True: "yes", False: "no", None: "tied"}
    display = pl.DataFrame([(*row[:3], said[row[3]]) for row in rows], schema=list(names), orient="row")
    title = "Statements of the paper, and whether they hold on these data"
    return Report.of_table(display, title, prose=names[:3])


def _statements(study: Poi, power: Comparison, stability: Comparison) -> Iterator[Statement]:
    yield _extreme("highest median power", power, "p50", max)
    yield _extreme("fewest queries for power .8", power, "n80", min)
    yield _extreme("most stable order (auc)", stability, "auc", max)
    yield _extreme("least stable order (auc)", stability, "auc", min)
    for family in ("RBP", "Compat"):
        yield _extreme(f"strongest {family} (median power)", power, "p50", max, family)
    growing = sum(_grows(row[4:]) for row in power.ours.values())
    theirs = sum(_grows(row[4:]) for row in power.published.values())
    yield ("power grows with reference size", f"{theirs} of 13", f"{growing} of {len(power.ours)}", growing == theirs)
    if any(row[4] is not None for row in power.ours.values()):
        paper, ours = (_above_zero(rows) for rows in (power.published, power.ours))
        yield (
            "above 0 with ≤3 reference items",
            ", ".join(sorted(paper)),
            ", ".join(sorted(ours)) or "none",
            paper == ours,
        )
    above = grid_values(study)["above the best other"]
    yield ("most of 25 cells beat the best other measure", "16", str(above), above > 12)


def _extreme(text: str, table: Comparison, column: str, pick: Any, family: str = "") -> Statement:
    at = table.columns.index(column)
    found = []
    for rows in (table.published, table.ours):
        values = {m: row[at] for m, row in rows.items() if m.startswith(family) and row[at] is not None}
        extreme = pick(values.values())
        found.append(([m for m, value in values.items() if value == extreme], extreme))
    ((paper, *_), value), (ours, mine) = found
    holds = None if paper in ours and len(ours) > 1 else paper in ours
    return (text, f"{paper} {_written(value)}", f"{' = '.join(ours)} {_written(mine)}", holds)


def _grows(values: Any) -> bool:
    return all(a <= b for a, b in pairwise(value for value in values if value is not None))


def _above_zero(rows: Any) -> set[str]:
    return {measure for measure, row in rows.items() if row[4]}


def _written(value: float) -> str:
    if value == float("inf"):
        return "∞"
    return f"{value:g}" if float(value).is_integer() or value > 1 else f"{value:.3f}"


def _protocol(study: Poi) -> str:
    plan = study.protocol
    return (
        f"{plan.subsamples} subsamples, {plan.permutations:,} sign flips per test, p = b/B as in the paper,"
        f" sizes {study.power.sizes[0]} to {study.power.sizes[-1]}"
    )
