"""The points-of-interest study: power, stability and sensitivity of the paper's measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

import rankdev as rd
from rankdev._common.tables import Tabular
from rankdev._common.work import Progress, part_of
from rankdev.statistics.power import power
from rankdev.statistics.power.result import Power
from rankdev.statistics.power.student import PAPER_SIZES
from rankdev.statistics.sensitivity import Sensitivity, sensitivity
from rankdev.statistics.stability import Stability, stability
from rankdev.studies._published import warnings_into
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
        from rankdev.studies.poi.output import poi_report

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
