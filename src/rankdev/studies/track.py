"""The study of a track: the paper's Tables 2 to 4 and Figures 1 and 2 for any measures, references and runs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import rankdev as rd
from rankdev._common.arrays import Floats
from rankdev._common.checks import check_flag, check_seed, check_whole
from rankdev._common.result import Tabular
from rankdev._common.work import Progress, part_of
from rankdev.data.files import load_inputs
from rankdev.display.cells import count, interval, number
from rankdev.display.report import Report, Table
from rankdev.display.view import report_of
from rankdev.errors import Note, RankdevWarning, counted
from rankdev.evaluation.scores import Scores
from rankdev.measures import Measure, parse_all
from rankdev.measures.rdq import RDQ
from rankdev.statistics.agreement import Agreement, agreement
from rankdev.statistics.design import PAPER_SIZES
from rankdev.statistics.power import Power, power
from rankdev.statistics.sensitivity import PAPER_GRID, Sensitivity, grid_measures
from rankdev.statistics.stability import Stability, stability
from rankdev.studies.poi import RED, REPORTED, in_ranges, save_figures

FEWEST = 5  # queries of a bucket; with fewer there is nothing to draw from
SMALL = (10, 15, 20)  # a track has few queries and systems far apart: the paper's sizes begin too late
KINDS = ("reference size", "tier size")
TEXTS, NUMBERS = ("collection", "part", "measure", "statistic"), ("value", "low", "high")
SCHEMA = dict.fromkeys(TEXTS, pl.String) | dict.fromkeys(NUMBERS, pl.Float64)
PAPER = 100  # queries at which the paper reports power
STABLE = (25, 50, 100, 200)
Shown = tuple[Table, dict[str, pl.DataFrame]]  # and by part its facts: measure, statistic, value


# how much is simulated, resamples for the intervals of agreement: as in the paper, or for a quick look
FULL = {"subsamples": 300, "permutations": 1000, "resamples": 200}
QUICK = {"subsamples": 40, "permutations": 200, "resamples": 50}


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is drawn: subsamples of ``n`` queries, and of other sizes for the curves."""

    n: int
    sizes: tuple[int, ...]
    grid: Mapping[str, Sequence[Any]] | None
    replacement: bool
    protocol: Mapping[str, int]
    seed: int


@dataclass(frozen=True, eq=False)
class Bucket:
    """Power among the queries whose references are alike in ``kind``."""

    kind: str
    label: str
    queries: int
    power: Power


@dataclass(frozen=True, eq=False, kw_only=True)
class Part:
    """Tables 2 to 4 and Figure 1 of one collection, or of the queries of several with the same systems."""

    name: str
    tiers: Mapping[str, float]
    scores: Scores
    power: Power
    buckets: tuple[Bucket, ...]
    stability: Stability
    grid: Sensitivity | None


@dataclass(frozen=True, eq=False, kw_only=True)
class Track(Tabular):
    """Results of the study: a part for each collection or for all together, and Figure 2 side by side."""

    parts: tuple[Part, ...]
    agreement: Agreement | None
    measures: tuple[str, ...]
    plan: Plan
    notes: tuple[str, ...] = field(repr=False)

    @property
    def families(self) -> tuple[list[str], list[str]]:
        """Columns and rows of Figure 2: the measures with the name of the first one, and the others."""
        own = [text for text in self.measures if rd.parse(text).name == rd.parse(self.measures[0]).name]
        others = [text for text in self.measures if text not in own]
        return (own, others) if others else (own[:1], own[1:])

    def to_polars(self) -> pl.DataFrame:
        """One row per fact: collection, part, measure, statistic, value, low, high."""
        return track_report(self).rows


def run_track(
    collections: Mapping[str, tuple[Any, Mapping[str, Any]]],
    measures: Sequence[str | Measure] = (),
    *,
    cutoff: int = 10,
    n: int = 25,
    sizes: Sequence[int] = (),
    grid: Mapping[str, Sequence[Any]] | None = None,
    replacement: bool = False,
    quick: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
) -> Track:
    """Compare measures on all pairs of some runs, on all queries and by kind of references.

    Collections with the same systems are pooled, as in the paper; others are studied one by one.

    Parameters
    ----------
    collections : dict of str to tuple
        References and runs of each collection.
    measures : list of str or Measure, optional
        Default: the paper's, and nDCG of native grades.
    cutoff : int, default 10
        That of the usual measures.
    n : int, default 25
        Queries of a comparison.
    sizes : list of int, optional
        Numbers of queries of the curves. Default: the paper's, from 10.
    grid : dict of str to list, optional
        Figure 1 varies this of the first measure. The paper's where that is RDQ.
    replacement : bool, default False
        Draw queries with replacement, as new ones.
    quick : bool, default False
        Smaller simulations: seconds, not minutes.
    seed : int, default 0
        Seed of random choices.
    progress : callable, optional
        Called as ``progress(done, total, note)``.

    Returns
    -------
    Track
        The tables and curves of each part.
    """
    cutoff = check_whole("cutoff", cutoff, 1)
    loaded = {name: load_inputs(*each) for name, each in collections.items()}
    graded = all(references.grades is not None for references, _ in loaded.values())
    usual = [f"paper@{cutoff}", *([f"nDCG(dcg=exp-log2)@{cutoff}"] if graded else [])]
    wanted = parse_all([*measures] or usual)
    texts = tuple(str(measure) for measure in wanted)
    if grid is None and isinstance(wanted[0], RDQ) and wanted[0].penalty == "m2":
        grid = PAPER_GRID
    plan = Plan(
        n=check_whole("n", n, 6),
        sizes=tuple(sizes),
        grid=grid,
        replacement=check_flag("replacement", replacement),
        protocol=QUICK if check_flag("quick", quick) else FULL,
        seed=check_seed(seed),
    )
    every = dict.fromkeys((*texts, *(grid_measures(texts[0], grid)[2] if grid else ())))
    with warnings.catch_warnings():  # the report has them as notes
        warnings.simplefilter("ignore", RankdevWarning)
        scores = {name: rd.evaluate(*each, list(every)) for name, each in loaded.items()}
        pools = _pools(scores)
        parts = []
        for i, (name, members) in enumerate(pools.items()):
            whole = Scores.pooled({one: scores[one] for one in members}) if len(members) > 1 else scores[members[0]]
            asked = [loaded[one][0] for one in members]
            parts.append(_part(name, asked, whole, texts, plan, part_of(progress, i, i + 1, len(pools), name)))
        chosen = {name: entry.select(measures=texts) for name, entry in scores.items()}
        agreed = agreement(chosen, resamples=plan.protocol["resamples"], seed=plan.seed) if len(texts) > 1 else None
    notes = [
        note.at(collection=part.name) if len(parts) > 1 and isinstance(note, Note) else note
        for part in parts
        for note in (*part.scores.remarks, *part.power.remarks)
    ]
    return Track(parts=tuple(parts), agreement=agreed, measures=texts, plan=plan, notes=tuple(dict.fromkeys(notes)))


def _pools(scores: Mapping[str, Scores]) -> dict[str, list[str]]:
    """Name the collections of each part: all together where their systems are the same, else one by one."""
    if len({frozenset(entry.systems) for entry in scores.values()}) == 1:
        return {" + ".join(scores): list(scores)}
    return {name: [name] for name in scores}


def _part(
    name: str,
    asked: Sequence[rd.References],
    every: Scores,
    measures: Sequence[str],
    plan: Plan,
    progress: Progress | None,
) -> Part:
    """Do all that is drawn from the queries of one part."""
    scores = every.select(measures=measures)
    count = len(scores.queries)
    if len(scores.systems) < 2:
        raise rd.DataError("too-few", what="a study", least=2, unit="system", count=len(scores.systems))
    if count < plan.n and not plan.replacement:
        raise rd.DataError("too-few", what="power", least=plan.n, unit="query", count=count)
    drawing: dict[str, Any] = {"subsamples": plan.protocol["subsamples"], "seed": plan.seed}
    testing = {**drawing, "permutations": plan.protocol["permutations"]}
    sizes = sorted({plan.n, *(plan.sizes or [size for size in (*SMALL, *PAPER_SIZES) if size <= count])})
    cut = [(kind, *third) for kind, values in _kinds_of(asked).items() for third in _thirds(values)]
    steps = iter(pairwise(np.linspace(0, 1, len(cut) + 3)))

    def tested(part: Scores, sizes: list[int], replacement: bool) -> Power:
        step = part_of(progress, *next(steps))
        found = power(part, sizes=sizes, replacement=replacement, progress=step, **testing)
        if not found.complete:
            raise KeyboardInterrupt
        return found

    whole = tested(scores, sizes, plan.replacement)
    buckets = [
        Bucket(kind, label, len(rows), tested(scores.select(queries=rows), [plan.n], True)) for kind, label, rows in cut
    ]
    grid = None
    if plan.grid:
        names, cells, texts = grid_measures(measures[0], plan.grid)
        each = tested(every.select(measures=texts), [plan.n], plan.replacement)
        grid = Sensitivity(measure=measures[0], axes=names, cells=cells, measures=tuple(texts), simulated=each)
    return Part(
        name=name,
        tiers=tier_statistics(*asked),
        scores=scores,
        power=whole,
        buckets=tuple(buckets),
        stability=stability(scores, sizes=sizes, **drawing),
        grid=grid,
    )


def tier_statistics(*references: rd.References) -> dict[str, float]:
    """Count how many reference items a query has, and how large its tiers are, over all queries of some references.

    >>> tier_statistics(rd.References.from_grades({"q": {"a": 2, "b": 1, "c": 1, "d": 0}}))
    {'relevant': 3.0, 'median': 1.5, 'mean': 1.5}
    """
    sizes = np.concatenate([entry.sizes for entry in references])
    # items of one query and rank
    tiers = np.concatenate(
        [np.unique([entry.codes, entry.ranks], axis=1, return_counts=True)[1] for entry in references]
    )
    return {"relevant": float(sizes.mean()), "median": float(np.median(tiers)), "mean": float(tiers.mean())}


def _kinds_of(asked: Sequence[rd.References]) -> dict[str, Floats]:
    """Return the number of items of each query's reference, and of items per tier."""
    items = np.concatenate([references.sizes for references in asked]).astype(np.float64)
    tiers = np.concatenate([np.maximum(references.tier_counts, 1) for references in asked])
    return dict(zip(KINDS, (items, items / tiers), strict=True))


def _thirds(values: Floats) -> list[tuple[str, list[int]]]:
    """Cut queries into thirds; where fewer than two have enough queries there are none."""
    thirds = np.quantile(values, [1 / 3, 2 / 3])
    edges = tuple(dict.fromkeys(thirds.round(0 if thirds[0] >= 10 else 1)))
    filled = [(name, rows) for name, rows in in_ranges(values, edges) if len(rows) >= FEWEST]
    return filled if len(filled) > 1 else []


def track_report(study: Track) -> Report:
    """Show power, whole and by kind of references, stability, Figure 1 and Figure 2."""
    opening, tables = list[str](), list[Table]()
    rows = [pl.DataFrame(schema=SCHEMA)]
    for part in study.parts:
        prefix = f"{part.name}: " if len(study.parts) > 1 else ""
        opening.append(f"{prefix}{_about(part)}")
        for table, facts in (_power(part, study.plan.n), *_by_kind(part, study.plan.n), _stability(part), *_grid(part)):
            tables.append(replace(table, title=f"{prefix}{table.title}"))
            rows += [
                frame.with_columns(collection=pl.lit(part.name), part=pl.lit(name)) for name, frame in facts.items()
            ]
    if study.agreement is not None:
        found, cells = _agreement(study, study.agreement)
        tables += _side_by_side(study, study.agreement, cells)
        rows.append(found)
    plan, protocol = study.plan, study.plan.protocol
    drawn = "with" if plan.replacement else "without"
    closing = (
        f"protocol: {protocol['subsamples']} subsamples, {protocol['permutations']:,} sign flips per test,"
        f" seed {plan.seed}; queries are drawn {drawn} replacement, within buckets with replacement, as new ones",
    )
    return Report(
        pl.concat(rows, how="diagonal"),
        tables,
        opening=opening,
        closing=closing,
        remarks=study.notes,
        command="study track",
        parameters={"n": plan.n, "replacement": plan.replacement, **protocol, "seed": plan.seed},
    )


def _about(part: Part) -> str:
    pairs = counted(part.power.verdicts()["pairs"], "pair")
    return (
        f"{counted(len(part.scores.systems), 'system')}, {pairs}, {counted(len(part.scores.queries), 'query')};"
        f" {number(part.tiers['relevant'], 1)} reference items per query, tiers of"
        f" {number(part.tiers['median'], 1)} items (median; mean {number(part.tiers['mean'], 1)})"
    )


def _facts(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the cells of a frame as facts on its measures."""
    return frame.unpivot(index="measure", variable_name="statistic").cast({"value": pl.Float64}).fill_nan(None)


def _power(part: Part, n: int) -> Shown:
    """Tables 2 and 4: percentiles of power over pairs, and N80."""
    frame = part.power.summary(n).sort("p50", descending=True, maintain_order=True)
    if n != PAPER and PAPER in part.power.sizes:
        more = part.power.summary(PAPER).select("measure", pl.col("p50").alias(f"p50@{PAPER}"))
        frame = frame.join(more, on="measure", how="left", maintain_order="left")
    title = f"Tables 2 and 4: power at {n} queries over pairs"
    facts = _facts(frame.rename({name: f"{name}@{n}" for name in ("p10", "p50", "p90")}))
    return Table(frame, title, digits=3, formats={"n80": count}), {"power": facts}


def _by_kind(part: Part, n: int) -> Iterator[Shown]:
    """The right half of Table 2: median power by kind of references."""
    for kind in KINDS:
        buckets = [bucket for bucket in part.buckets if bucket.kind == kind]
        frame, facts = pl.DataFrame({"measure": part.scores.measures}), {}
        for bucket in buckets:
            medians = bucket.power.summary(n).select("measure", pl.col("p50").alias(f"p50@{n}"))
            facts[f"{kind} {bucket.label}"] = _facts(medians)
            frame = frame.with_columns(medians[f"p50@{n}"].alias(f"{bucket.label}: {bucket.queries}"))
        if buckets:
            title = f"Median power at {n} queries by {kind}; after the colon, queries"
            yield Table(frame, title, names=("measure",), digits=2), facts


def _stability(part: Part) -> Shown:
    """Table 3: how well subsamples keep the order of systems."""
    sizes = [n for n in STABLE if n in part.stability.sizes] or list(part.stability.sizes[:1])
    names = [*(f"tau_{n}" for n in sizes), "auc", "n_at_0.8"]
    frame = part.stability.summary(sizes).sort("auc", descending=True, nulls_last=True).select("measure", *names)
    table = Table(frame, "Table 3: stability of the order of systems", digits=3, formats={"n_at_0.8": count})
    return table, {"stability": _facts(frame)}


def _grid(part: Part) -> Iterator[Shown]:
    """Figure 1: median power by the parameters of the first measure, one or two of them."""
    grid = part.grid
    if grid is None:
        return
    powers = list(zip(grid.measures, grid.power.tolist(), strict=True))
    facts = {"Figure 1": _facts(pl.DataFrame({"measure": grid.measures, f"p50@{grid.n}": grid.power}))}
    ends = (pick(powers, key=lambda entry: entry[1]) for pick in (max, min))
    (best, most), (worst, least) = ends
    note = f"highest {best} {number(most, 3)}, lowest {worst} {number(least, 3)}; apart by {number(most - least, 3)}"
    title = f"Figure 1: median power at {grid.n} queries by parameters"
    yield replace(report_of(grid).tables[0], title=title, notes=(note,)), facts


def _agreement(study: Track, found: Agreement) -> tuple[pl.DataFrame, dict[tuple[str, str, str], str]]:
    """Figure 2: τ and r of each measure of the first one's family with all others, and what to show of each τ."""
    own, others = study.families
    facts, cells = list[tuple[Any, ...]](), dict[tuple[str, str, str], str]()
    for (d, dataset), a, b in product(enumerate(found.datasets), own, others):
        i, j = found.measures.index(a), found.measures.index(b)
        assert found.tau_limits is not None
        low, high = found.tau_limits[:, d, i, j].tolist()
        tau, r = (float(values[d, i, j]) for values in (found.tau, found.r))
        cells[dataset, a, b] = f"{number(tau, 2)} {interval(low, high, 2)}"
        facts += [(dataset, "Figure 2", f"{a} ~ {b}", *one) for one in (("tau", tau, low, high), ("r", r, None, None))]
    return pl.DataFrame(facts, SCHEMA, orient="row").with_columns(pl.col("value").fill_nan(None)), cells


def _side_by_side(study: Track, found: Agreement, cells: Mapping[tuple[str, str, str], str]) -> Iterator[Table]:
    """Show Figure 2 by numbers; of several collections, a table for each measure of the first one's family."""
    own, others = study.families
    title = "Figure 2: Kendall τ between orders of systems, with 95% intervals"
    if len(found.datasets) == 1:
        columns = {a: [cells[found.datasets[0], a, b] for b in others] for a in own}
        yield Table(pl.DataFrame({"measure": others, **columns}), title, right=own, titled=own)
        return
    for a in own:
        columns = {dataset: [cells[dataset, a, b] for b in others] for dataset in found.datasets}
        shown = pl.DataFrame({"measure": others, **columns})
        yield Table(shown, f"{title}: {a} and others", right=found.datasets, titled=found.datasets)


def save_track_figures(study: Track, folder: str | Path) -> list[Path]:
    """Write power, stability and Figure 1 of each part, and Figure 2; return their paths."""
    figures: dict[str, Any] = {}
    for part in study.parts:
        prefix = f"{part.name}-" if len(study.parts) > 1 else ""
        figures |= {f"{prefix}power.png": part.power.plot(), f"{prefix}stability.png": part.stability.plot()}
        if part.grid is not None:
            varied = rd.parse(part.grid.measure)
            usual = isinstance(varied, RDQ) and varied.weights == "vertical"
            of_paper = usual and part.grid.axes == tuple(PAPER_GRID)
            reported = [one for one in REPORTED if of_paper and one in part.grid.cells]
            figures[f"{prefix}figure1.png"] = part.grid.plot(chosen=reported, note=RED)
    if study.agreement is not None:
        columns, rows = study.families
        figures["figure2.png"] = study.agreement.plot(rows=rows, columns=columns)
    return save_figures(figures, folder)
