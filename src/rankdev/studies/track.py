"""A whole track: the paper's Tables 2 to 4 and Figures 1 and 2 for any runs and judgments, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

import rankdev as rd
from rankdev._common.arrays import Floats
from rankdev._common.checks import check_flag, check_seed, check_whole, is_list
from rankdev._common.tables import Tabular
from rankdev._common.work import Progress, part_of
from rankdev.data.files import load_inputs
from rankdev.errors import Note
from rankdev.evaluation.scores import Scores
from rankdev.statistics.agreement import Agreement, agreement
from rankdev.statistics.power import power
from rankdev.statistics.power_result import Power
from rankdev.statistics.sensitivity import PAPER_GRID, grid_measures
from rankdev.statistics.stability import Stability, stability
from rankdev.statistics.student import PAPER_SIZES
from rankdev.studies._published import warnings_into

FEWEST = 5  # queries of a bucket; with fewer there is nothing to draw from
SMALL = (10, 15, 20)  # a track has few queries and systems far apart: the paper's grid begins too late
KINDS = ("reference size", "tier size")


@dataclass(frozen=True)
class Protocol:
    """How much is simulated: the paper's protocol, or a quick look at the same tables."""

    subsamples: int = 300
    permutations: int = 1000
    resamples: int = 200  # for the intervals of agreement


FULL = Protocol()
QUICK = Protocol(40, 200, 50)


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
    power: Power = field(repr=False)


@dataclass(frozen=True, eq=False, kw_only=True)
class Track(Tabular):
    """Results of the study; parts that an interruption left out are None, and ``complete`` is false."""

    tiers: TierStatistics
    scores: Scores = field(repr=False)
    n: int
    power: Power = field(repr=False)
    buckets: tuple[Bucket, ...] = field(repr=False)
    stability: Stability | None = field(repr=False)
    agreement: Agreement | None = field(repr=False)
    grid: Power | None = field(repr=False)
    cells: tuple[tuple[float, float], ...] = field(repr=False)
    protocol: Protocol
    seed: int
    complete: bool
    notes: tuple[str, ...] = field(repr=False)

    @property
    def measures(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Variants of RDQ, and the others."""
        own = tuple(name for name in self.scores.measures if name.startswith("RDQ"))
        return own, tuple(name for name in self.scores.measures if name not in own)

    def to_polars(self) -> pl.DataFrame:
        """One row per fact: part, measure, statistic, value, low, high."""
        from rankdev.studies._track_output import track_report

        return track_report(self).rows


def run_track(
    runs: Mapping[str, Any],
    references: Any,
    *,
    cutoff: int = 10,
    n: int = 25,
    reference_sizes: Sequence[float] | None = None,
    tier_sizes: Sequence[float] | None = None,
    quick: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
) -> Track:
    """Compare the paper's measures on all pairs of some runs, on all queries and by kind of references.

    ``reference_sizes`` and ``tier_sizes`` are upper edges of buckets: items of a query's reference, and items per
    tier; without them queries are cut into thirds. An interruption returns what is finished.
    """
    protocol = QUICK if check_flag("quick", quick) else FULL
    cutoff, n, seed = check_whole("cutoff", cutoff, 1), check_whole("n", n, 6), check_seed(seed)
    edges = [_edges(name, given) for name, given in zip(KINDS, (reference_sizes, tier_sizes), strict=True)]
    notes: list[str] = []
    with warnings_into(notes):
        known, loaded = load_inputs(references, runs)
        _check_enough(len(loaded), len(known), n)
        native = [] if known.grades is None else [f"nDCG(dcg=exp-log2)@{cutoff}"]
        scores = rd.evaluate(known, loaded, [f"paper@{cutoff}", *native])
        _, cells, texts = grid_measures(f"RDQ@{cutoff}", PAPER_GRID)
        kinds = zip(KINDS, _kinds_of_references(known, scores), edges, strict=True)
        parts = {
            (kind, label): scores.select(queries=places)
            for kind, values, given in kinds
            for label, places in _buckets(kind, values, given, notes)
        }
        steps = _steps(scores, rd.evaluate(known, loaded, texts), parts, n, protocol, seed)
        found, missing = _worked(steps, progress)
    if missing:
        notes.append(Note("unfinished", names=missing))
    buckets = [
        Bucket(kind, label, len(part.queries), found[f"{kind} {label}"])
        for (kind, label), part in parts.items()
        if f"{kind} {label}" in found
    ]
    return Track(
        tiers=tier_statistics(known),
        scores=scores,
        n=n,
        power=found["power"],
        buckets=tuple(buckets),
        stability=found.get("stability"),
        agreement=found.get("agreement"),
        grid=found.get("Figure 1"),
        cells=cells,
        protocol=protocol,
        seed=seed,
        complete=not missing,
        notes=tuple(notes),
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


def _check_enough(systems: int, queries: int, n: int) -> None:
    if systems < 2:
        raise rd.DataError("too-few", what="a study", least=2, unit="system", count=systems)
    if queries < n:
        raise rd.DataError("too-few", what="power", least=n, unit="query", count=queries)


def _steps(
    scores: Scores, grid: Scores, parts: Mapping[tuple[str, str], Scores], n: int, protocol: Protocol, seed: int
) -> dict[str, Callable[..., Any]]:
    """List the steps, the most important first."""
    drawing: dict[str, Any] = {"subsamples": protocol.subsamples, "seed": seed}
    testing = {**drawing, "permutations": protocol.permutations}
    sizes = sorted({n, *(size for size in (*SMALL, *PAPER_SIZES) if size <= len(scores.queries))})
    inside = {
        f"{kind} {label}": partial(power, part, sizes=[n], replacement=True, **testing)
        for (kind, label), part in parts.items()
    }
    return {
        "power": partial(power, scores, sizes=sizes, **testing),
        **inside,
        "stability": partial(_stability, scores, sizes=sizes, **drawing),
        "agreement": partial(_agreement, scores, resamples=protocol.resamples, seed=seed),
        "Figure 1": partial(power, grid, sizes=[n], **testing),
    }


def _worked(steps: Mapping[str, Callable[..., Any]], progress: Progress | None) -> tuple[dict[str, Any], list[str]]:
    """Run the steps until all are done or one is interrupted; return results and the names of missing steps."""
    found: dict[str, Any] = {}
    try:
        for done, (name, work) in enumerate(steps.items()):
            if progress is not None:
                progress(done, len(steps), name)
            result = work(progress=part_of(progress, done, done + 1, len(steps), name))
            if not getattr(result, "complete", True):
                raise KeyboardInterrupt
            found[name] = result
    except KeyboardInterrupt:
        if not found:
            raise
    return found, [name for name in steps if name not in found]


def _stability(scores: Scores, *, progress: Progress | None, **options: Any) -> Stability:
    return stability(scores, **options)


def _agreement(scores: Scores, *, progress: Progress | None, **options: Any) -> Agreement:
    return agreement(scores, **options)


def _edges(name: str, given: Sequence[float] | None) -> tuple[float, ...] | None:
    if given is None:
        return None
    edges = tuple(given) if is_list(given) else ()
    if not edges or list(edges) != sorted(set(edges)):
        expected = "increasing numbers, such as [3, 10, 20]"
        raise rd.UsageError("bad-value", name=f"edges of {name}", value=given, expected=expected)
    return edges


def _kinds_of_references(references: rd.References, scores: Scores) -> tuple[Floats, Floats]:
    """Return the number of items of each query's reference, and of items per tier."""
    place = {name: i for i, name in enumerate(references.queries)}
    rows = np.array([place[name] for name in scores.queries])
    sizes = references.sizes[rows].astype(np.float64)
    return sizes, sizes / np.maximum(references.tier_counts[rows], 1)


def _buckets(
    kind: str, values: Floats, given: tuple[float, ...] | None, notes: list[str]
) -> list[tuple[str, list[int]]]:
    """Cut queries at the edges, or into thirds; buckets with too few queries are left out and noted."""
    thirds = np.quantile(values, [1 / 3, 2 / 3])
    edges = tuple(dict.fromkeys(thirds.round(0 if thirds[0] >= 10 else 1))) if given is None else given
    names = [f"≤{edges[0]:g}", *(f"({a:g},{b:g}]" for a, b in pairwise(edges)), f">{edges[-1]:g}"]
    place = np.searchsorted(edges, values, side="left")
    found = [(name, np.flatnonzero(place == i).tolist()) for i, name in enumerate(names)]
    filled = [(name, rows) for name, rows in found if len(rows) >= FEWEST]
    small = [f"{name} ({len(rows)})" for name, rows in found if 0 < len(rows) < FEWEST]
    if small:
        notes.append(Note("small-buckets", of=kind, least=FEWEST, names=small))
    if len(filled) < 2:
        notes.append(Note("no-buckets", of=kind, median=np.median(values)))
        return []
    return filled
