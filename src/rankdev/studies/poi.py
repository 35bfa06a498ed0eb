"""Points of interest: the paper's Tables 2 and 3, Figure 1 and pair counts, on simulated data or on one's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

import rankdev as rd
from rankdev.meta.power import power
from rankdev.meta.power_result import Power
from rankdev.meta.sensitivity import Sensitivity, sensitivity
from rankdev.meta.sizes import PAPER_SIZES
from rankdev.meta.stability import Stability, stability
from rankdev.progress import Progress, part_of
from rankdev.studies.map import power_map
from rankdev.studies.paper_place import PaperPlace, place_of
from rankdev.studies.published import published, remarks_into
from rankdev.studies.simulation import simulate
from rankdev.tabular import Tabular

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


@dataclass(frozen=True, eq=False)
class Poi(Tabular):
    """Everything the study found; ``source`` says on which data."""

    source: str
    simulated: bool
    scores: Scores = field(repr=False)
    power: Power = field(repr=False)
    stability: Stability = field(repr=False)
    sensitivity: Sensitivity = field(repr=False)
    protocol: Protocol
    seed: int
    notes: tuple[str, ...] = field(repr=False)
    place: PaperPlace | None = field(default=None, repr=False)

    def to_polars(self) -> pl.DataFrame:
        """One row per fact: part, measure, statistic, value, published."""
        from rankdev.studies.poi_report import poi_report

        return poi_report(self).rows


def run_poi(
    references: Any = None,
    runs: Mapping[str, Any] | None = None,
    *,
    quick: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
) -> Poi:
    """Run the experiment on references and runs, or without them on the built-in simulation."""
    if (references is None) != (runs is None):
        raise rd.UsageError("references and runs belong together; give both, or neither for the built-in data")
    protocol = QUICK if quick else FULL
    simulated = references is None
    if simulated:
        made = simulate(protocol.queries, seed=seed)
        references, runs = made.references, made.runs
    notes: list[str] = []
    drawing: dict[str, Any] = {"subsamples": protocol.subsamples, "seed": seed}
    testing: dict[str, Any] = {**drawing, "permutations": protocol.permutations, "p_value": "paper"}
    with remarks_into(notes):
        known = references if isinstance(references, rd.References) else rd.read_references(references)
        loaded = {name: run if isinstance(run, rd.Run) else rd.read_run(run) for name, run in (runs or {}).items()}
        if len(known) < LEAST:
            raise rd.DataError(f"power at {LEAST} queries needs at least as many; the references have {len(known)}")
        scores = rd.evaluate(known, loaded, MEASURES)
        found = power(scores, sizes=protocol.sizes, buckets=True, progress=part_of(progress, 0, 0.75), **testing)
        if not found.complete:
            raise KeyboardInterrupt
        stable = stability(scores, sizes=protocol.sizes, **drawing)
        grid = sensitivity(known, loaded, progress=part_of(progress, 0.75, 0.8 if simulated else 1), **testing)
    kind = "simulated" if simulated else "given"
    source = f"{kind}: {len(scores.queries):,} queries, {len(scores.systems)} systems, seed {seed}"
    place = _paper_place(quick, seed, part_of(progress, 0.8, 1, name="the map")) if simulated else None
    return Poi(source, simulated, scores, found, stable, grid, protocol, seed, tuple(notes), place)


def _paper_place(quick: bool, seed: int, progress: Progress | None) -> PaperPlace:
    """Find the place of the paper's median powers on the map."""
    paper = published("poi")
    at = paper["power_columns"].index("p50")
    with remarks_into([]):
        found = power_map(MEASURES, n=LEAST, quick=quick, seed=seed, progress=progress)
        return place_of(found, {measure: row[at] for measure, row in paper["power"].items()})


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
