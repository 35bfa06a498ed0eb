"""The points-of-interest study: the paper's Tables 2 and 3 and Figure 1 beside the published numbers."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import rankdev as rd
from rankdev._common.result import Tabular
from rankdev._common.work import Progress, part_of
from rankdev.data.files import load_inputs
from rankdev.display.cells import count
from rankdev.display.report import Report, Table, best_cells
from rankdev.display.style import save
from rankdev.display.view import report_of
from rankdev.errors import Note, RankdevWarning
from rankdev.evaluation.scores import Scores
from rankdev.measures.rdq import RDQ
from rankdev.statistics.design import PAPER_SIZES
from rankdev.statistics.power import Power, power
from rankdev.statistics.sensitivity import Sensitivity, sensitivity
from rankdev.statistics.stability import Stability, stability
from rankdev.studies.simulation import simulate

MEASURES = "paper@5"
LEAST = 100  # queries
EDGES = (3, 10, 20)  # of reference sizes
REPORTED = [(1, 0.2), (4, 0.2)]  # (α, λ) of the paper's experiments, in red frames
RED = "in the paper's experiments"
COUNTS = ("n80", "n_at_0.8")  # queries: the fewer, the better
WHY = (
    "Why simulated values differ: errors of the built-in rankers are normal and alike at all ranks. How far apart the"
    " systems are was chosen for being near the paper's pair counts. Levels are therefore of little use; orders of"
    " measures show how they react to rankers of this kind."
)
SCHEMA = {"part": pl.String, "measure": pl.String, "statistic": pl.String, "value": pl.Float64, "published": pl.Float64}
Row = Sequence[float | None]
Fact = tuple[str, str, str, float | None, float | None]


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
    """Results of the study."""

    simulated: bool
    scores: Scores = field(repr=False)
    power: Power = field(repr=False)
    buckets: dict[str, Power | Note] = field(repr=False)
    stability: Stability = field(repr=False)
    sensitivity: Sensitivity = field(repr=False)
    protocol: Protocol
    seed: int

    def to_polars(self) -> pl.DataFrame:
        """One row per fact: part, measure, statistic, value, published."""
        return poi_report(self).rows


def published() -> dict[str, Any]:
    """Read the numbers of the paper."""
    content: dict[str, Any] = json.loads(files("rankdev").joinpath("data/studies/poi.json").read_text("utf-8"))
    return content


def run_poi(
    references: Any = None,
    runs: Mapping[str, Any] | None = None,
    *,
    quick: bool = False,
    protocol: Protocol | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Poi:
    """Run the experiment on references and runs, or without them on the built-in simulation.

    Parameters
    ----------
    references : References, path, table or dict, optional
        Your references, in any format. See help files.
    runs : dict of str to Run, path, table or dict, optional
        Each system's ranking.
    quick : bool, default False
        Smaller simulations: seconds, not minutes.
    protocol : Protocol, optional
        Sizes of the simulation. Default: the paper's, or smaller ones where it is ``quick``.
    seed : int, default 0
        Seed of random choices.
    progress : callable, optional
        Called as ``progress(done, total, note)``.

    Returns
    -------
    Poi
        The tables and curves.
    """
    if (references is None) != (runs is None):
        name, use = ("runs", "references") if runs is None else ("references", "runs")
        raise rd.UsageError("needed", name=name, use=use)
    protocol = protocol or (QUICK if quick else FULL)
    simulated = references is None
    if simulated:
        made = simulate(protocol.queries, seed=seed)
        references, runs = made.references, made.runs
    drawing: dict[str, Any] = {"subsamples": protocol.subsamples, "seed": seed}
    testing: dict[str, Any] = {**drawing, "permutations": protocol.permutations, "p_value": "paper"}
    known, loaded = load_inputs(references, runs or {})
    if len(known) < LEAST:
        raise rd.DataError("too-few", what="power", least=LEAST, unit="query", count=len(known))
    with warnings.catch_warnings():  # the report has them as notes
        warnings.simplefilter("ignore", RankdevWarning)
        scores = rd.evaluate(known, loaded, MEASURES)
        found = power(scores, sizes=protocol.sizes, progress=part_of(progress, 0, 0.7), **testing)
        if not found.complete:
            raise KeyboardInterrupt
        buckets = dict(_by_size(scores, part_of(progress, 0.7, 0.75), **testing))
        stable = stability(scores, sizes=protocol.sizes, **drawing)
        grid = sensitivity(known, loaded, progress=part_of(progress, 0.75, 1), **testing)
    return Poi(
        simulated=simulated,
        scores=scores,
        power=found,
        buckets=buckets,
        stability=stable,
        sensitivity=grid,
        protocol=protocol,
        seed=seed,
    )


def _by_size(scores: Scores, progress: Progress | None, **testing: Any) -> Iterator[tuple[str, Power | Note]]:
    """Yield the power at 100 queries within each range of reference sizes, or a note where there are too few."""
    assert scores.reference_sizes is not None
    ranges = in_ranges(scores.reference_sizes, EDGES)
    for i, (name, rows) in enumerate(ranges):
        if len(rows) < LEAST:
            yield name, Note("sizes-left-out", count=len(rows), unit="query", sizes=[LEAST])
        else:
            part = part_of(progress, i, i + 1, len(ranges))
            yield name, power(scores.select(queries=rows), sizes=[LEAST], progress=part, **testing)


def in_ranges(values: Any, edges: Sequence[float]) -> list[tuple[str, list[int]]]:
    """Name the ranges between some edges, which belong to the lower one, and list the places of the values in each.

    >>> in_ranges([3, 5, 4], [3, 4])
    [('≤3', [0]), ('(3,4]', [2]), ('>4', [1])]
    """
    names = [f"≤{edges[0]:g}", *(f"({a:g},{b:g}]" for a, b in pairwise(edges)), f">{edges[-1]:g}"]
    place = np.searchsorted(edges, values)
    return [(name, np.flatnonzero(place == i).tolist()) for i, name in enumerate(names)]


def save_poi_figures(study: Poi, folder: str | Path) -> list[Path]:
    """Write figure1.png (sensitivity), power.png and stability.png; return their paths."""
    figures = {
        "figure1.png": study.sensitivity.plot(chosen=REPORTED, note=RED),
        "power.png": study.power.plot(),
        "stability.png": study.stability.plot(),
    }
    return save_figures(figures, folder)


def save_figures(figures: Mapping[str, Any], folder: str | Path) -> list[Path]:
    """Write figures by the names of their files."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    return [save(figure, target / name) for name, figure in figures.items()]


def poi_report(study: Poi) -> Report:
    """Show Tables 2 and 3, Figure 1 and pair counts, each with the published values."""
    paper, pairs = published(), study.power.verdicts()["pairs"]
    medians = {name: found.medians[:, 0] for name, found in study.buckets.items() if isinstance(found, Power)}
    summary = study.power.summary(LEAST).with_columns(**medians)
    powers = _ours(summary, paper["power_columns"], "p50")
    stable = _ours(study.stability.summary(), paper["stability_columns"], "auc")
    parts = [
        _side_by_side("Table 2", f"power at 100 queries over {pairs} pairs", powers, paper["power"]),
        _side_by_side("Table 3", "stability of the order of systems", stable, paper["stability"]),
        _grid(study, paper),
        _pairs(study, paper),
    ]
    plan = study.protocol
    closing = (
        f"data: {'simulated' if study.simulated else 'given'}: {len(study.scores.queries):,} queries,"
        f" {len(study.scores.systems)} systems, seed {study.seed}",
        f"protocol: {plan.subsamples} subsamples, {plan.permutations:,} sign flips per test, p = b/B as in the paper,"
        f" sizes {study.power.sizes[0]} to {study.power.sizes[-1]}",
        *([WHY] if study.simulated else []),
    )
    rows = pl.DataFrame([fact for _, facts in parts for fact in facts], SCHEMA, orient="row")
    remarks = (*study.scores.remarks, *study.power.remarks, *_on_buckets(study), *study.sensitivity.remarks)
    return Report(rows, [table for table, _ in parts], closing=closing, remarks=tuple(dict.fromkeys(remarks)))


def _on_buckets(study: Poi) -> Iterator[Note]:
    """Note the buckets with too few queries, and those with exactly as many: every subsample is the whole bucket."""
    for name, found in study.buckets.items():
        for note in [found] if isinstance(found, Note) else found.remarks:
            if isinstance(note, Note) and note.kind in ("sizes-left-out", "size-of-all"):
                yield note.at(role=f"bucket {name}")


def _ours(frame: pl.DataFrame, columns: Sequence[str], order_by: str) -> dict[str, dict[str, Any]]:
    """Return the rows of a summary by measure, best first; a column that is not there is not available."""
    ranked = frame.sort(order_by, descending=True, nulls_last=True, maintain_order=True)
    rows = ranked.iter_rows(named=True)
    return {row["measure"]: {column: row.get(column) for column in columns} for row in rows}


def _side_by_side(
    part: str, title: str, ours: Mapping[str, Mapping[str, Any]], paper: Mapping[str, Row]
) -> tuple[Table, list[Fact]]:
    """Make a table of two lines per measure, ours and the paper's, with the best of our values marked."""
    facts: list[Fact] = []
    lines: list[dict[str, Any]] = []
    for measure, row in ours.items():
        values = [*row.values()]
        known = paper.get(measure, [None] * len(values))
        facts += [(part, measure, *cell) for cell in zip(row, values, known, strict=True)]
        lines.append({"measure": measure, "": "rankdev", **row})
        lines.append({"measure": "", "": "paper", **dict(zip(row, known, strict=True))})
    columns = list(next(iter(ours.values())))
    schema = {"measure": pl.String, "": pl.String, **dict.fromkeys(columns, pl.Float64)}
    frame = pl.DataFrame(lines, schema)
    best = best_cells(frame.gather_every(2), columns, 3, COUNTS)
    marked = {(2 * row, column) for row, column in best}
    look: dict[str, Any] = {"digits": 3, "formats": {name: count for name in COUNTS if name in columns}}
    return Table(frame, f"{part}: {title}; * best", best=marked, **look), facts


def _grid(study: Poi, paper: Mapping[str, Any]) -> tuple[Table, list[Fact]]:
    """Figure 1: median power of every (α, λ), and what the paper says about it."""
    found, known = study.sensitivity, paper["sensitivity"]
    cells = zip(found.measures, found.power.tolist(), strict=True)
    facts: list[Fact] = [("Figure 1", text, "p50", value, known.get(text)) for text, value in cells]
    medians = dict(study.power.summary(found.n).select("measure", "p50").iter_rows())
    other = max(value for measure, value in medians.items() if rd.parse(measure).name != RDQ.name)
    values = {
        "lowest": float(found.power.min()),
        "median": float(sorted(found.power.tolist())[len(found.power) // 2]),
        "highest": float(found.power.max()),
        "above the best other": int((found.power > other).sum()),
        "above RBP(p=0.8)@5": int((found.power > medians["RBP(p=0.8)@5"]).sum()),
    }
    facts += [("Figure 1", "grid", name, value, paper["grid"][name]) for name, value in values.items()]
    notes = [f"{name}: {value:.3g} (paper {paper['grid'][name]:.3g})" for name, value in values.items()]
    named = ", ".join(f"{text} {value:.3f}" for text, value in known.items())
    title = f"Figure 1: median power at {found.n} queries"
    return replace(report_of(found).tables[0], title=title, notes=(*notes, f"cells the paper names: {named}")), facts


def _pairs(study: Poi, paper: Mapping[str, Any]) -> tuple[Table, list[Fact]]:
    """Count the pairs with a significant difference on all queries."""
    counts, known = study.power.verdicts(), paper["pairs"]
    measures = len(study.power.measures)
    labels = {
        "pairs": "pairs of systems",
        "all": f"significant by all {measures} measures",
        "most": f"by at least {measures // 2 + 1}",
        "any": "by at least one",
        "none": "by none",
    }
    columns = {"on all queries": list(labels.values()), "rankdev": [counts[name] for name in labels]}
    frame = pl.DataFrame({**columns, "paper": [known[name] for name in labels]})
    title = "Pairs with a significant difference on all queries (p ≤ .05, uncorrected)"
    return Table(frame, title), [("pairs", "", name, counts[name], known[name]) for name in labels]
