"""The study of a track: the paper's Tables 2 to 4 and Figures 1 and 2 for any measures, references and runs."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

import rankdev as rd
from rankdev._common.arrays import Floats
from rankdev._common.checks import check_flag, check_seed, check_whole
from rankdev._common.result import Tabular
from rankdev._common.work import Progress, part_of
from rankdev.data.files import load_inputs
from rankdev.errors import Note, RankdevWarning
from rankdev.evaluation.scores import Scores
from rankdev.measures import Measure, parse_all
from rankdev.measures.rdq import RDQ
from rankdev.statistics.agreement import Agreement, agreement
from rankdev.statistics.power import power
from rankdev.statistics.power_result import Power
from rankdev.statistics.sensitivity import PAPER_GRID, Sensitivity, grid_measures
from rankdev.statistics.stability import Stability, stability
from rankdev.statistics.student import PAPER_SIZES

FEWEST = 5  # queries of a bucket; with fewer there is nothing to draw from
SMALL = (10, 15, 20)  # a track has few queries and systems far apart: the paper's sizes begin too late
KINDS = ("reference size", "tier size")


@dataclass(frozen=True)
class Protocol:
    """How much is simulated: the paper's protocol, or a quick look at the same tables."""

    subsamples: int = 300
    permutations: int = 1000
    resamples: int = 200  # for the intervals of agreement


FULL = Protocol()
QUICK = Protocol(40, 200, 50)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is drawn: subsamples of ``n`` queries, and of other sizes for the curves."""

    n: int
    sizes: tuple[int, ...]
    grid: Mapping[str, Sequence[Any]] | None
    replacement: bool
    protocol: Protocol
    seed: int


@dataclass(frozen=True)
class TierStatistics:
    """How many reference items a query has, and how large its tiers are."""

    queries: int
    relevant: float
    median_tier: float
    mean_tier: float


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
    tiers: TierStatistics
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
        from rankdev.studies.track_output import track_report

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

    ``collections`` holds references and runs by name. Collections with the same systems are pooled, as in the paper;
    others are studied one by one. Default of ``measures``: the paper's, and nDCG of native grades. ``grid`` holds the
    parameters of the first measure that Figure 1 varies; default: the paper's where that is RDQ.
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
            asked = [(loaded[one][0], scores[one].queries) for one in members]
            parts.append(_part(name, asked, whole, texts, plan, part_of(progress, i, i + 1, len(pools), name)))
        chosen = {name: entry.select(measures=texts) for name, entry in scores.items()}
        agreed = agreement(chosen, resamples=plan.protocol.resamples, seed=plan.seed) if len(texts) > 1 else None
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
    asked: Sequence[tuple[rd.References, Sequence[str]]],
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
    drawing: dict[str, Any] = {"subsamples": plan.protocol.subsamples, "seed": plan.seed}
    testing = {**drawing, "permutations": plan.protocol.permutations}
    sizes = sorted({plan.n, *(plan.sizes or [size for size in (*SMALL, *PAPER_SIZES) if size <= count])})
    cut = [(kind, *third) for kind, values in _kinds_of_references(asked).items() for third in _thirds(values)]
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
        tiers=tier_statistics(*(references for references, _ in asked)),
        scores=scores,
        power=whole,
        buckets=tuple(buckets),
        stability=stability(scores, sizes=[size for size in sizes if size <= count], **drawing),
        grid=grid,
    )


def tier_statistics(*references: rd.References) -> TierStatistics:
    """Count over all queries of some references.

    >>> tier_statistics(rd.References.from_grades({"q": {"a": 2, "b": 1, "c": 1, "d": 0}}))
    TierStatistics(queries=1, relevant=3.0, median_tier=1.5, mean_tier=1.5)
    """
    sizes = np.concatenate([entry.sizes for entry in references])
    tiers = np.concatenate([_tier_sizes(entry) for entry in references])
    return TierStatistics(len(sizes), float(sizes.mean()), float(np.median(tiers)), float(tiers.mean()))


def _tier_sizes(references: rd.References) -> Any:
    ends = np.flatnonzero(np.diff(references.ranks, append=0) != 0)
    last = references.offsets[1:][references.sizes > 0] - 1  # a query may have none
    return np.diff(np.union1d(ends, last), prepend=-1)


def _kinds_of_references(asked: Sequence[tuple[rd.References, Sequence[str]]]) -> dict[str, Floats]:
    """Return the number of items of each query's reference, and of items per tier."""
    sizes, tiers = [], []
    for references, queries in asked:
        place = {name: i for i, name in enumerate(references.queries)}
        rows = np.array([place[name] for name in queries])
        sizes.append(references.sizes[rows].astype(np.float64))
        tiers.append(np.maximum(references.tier_counts[rows], 1))
    items = np.concatenate(sizes)
    return dict(zip(KINDS, (items, items / np.concatenate(tiers)), strict=True))


def _thirds(values: Floats) -> list[tuple[str, list[int]]]:
    """Cut queries into thirds; where fewer than two have enough queries there are none."""
    thirds = np.quantile(values, [1 / 3, 2 / 3])
    edges = tuple(dict.fromkeys(thirds.round(0 if thirds[0] >= 10 else 1)))
    names = [f"≤{edges[0]:g}", *(f"({a:g},{b:g}]" for a, b in pairwise(edges)), f">{edges[-1]:g}"]
    place = np.searchsorted(edges, values, side="left")
    found = [(name, np.flatnonzero(place == i).tolist()) for i, name in enumerate(names)]
    filled = [(name, rows) for name, rows in found if len(rows) >= FEWEST]
    return filled if len(filled) > 1 else []
