"""How much does a measure's power depend on its parameters?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import product
from typing import Any

import numpy as np
import polars as pl

from rankdev.arrays import Floats
from rankdev.errors import UsageError, shown, suggestion
from rankdev.evaluation.scores import Scores
from rankdev.evaluation.scoring import Empty
from rankdev.meta.power import power
from rankdev.meta.randomization import PValue
from rankdev.ordering import Order, Ties
from rankdev.progress import Progress
from rankdev.references.references import ReferencesLike
from rankdev.results import Result
from rankdev.runs import RunLike

PAPER_GRID: Mapping[str, Sequence[Any]] = {"alpha": (0.5, 1, 2, 4, 8), "lam": (0, 0.05, 0.1, 0.2, 0.4)}


@dataclass(frozen=True, eq=False)
class Sensitivity(Result):
    """Median power over pairs for every cell of a grid of parameters.

    ``axes`` names the parameters, ``cells`` holds one tuple of their values per cell, ``measures`` the texts and
    ``power`` the median power of the cells.
    """

    measure: str
    axes: tuple[str, ...]
    cells: tuple[tuple[Any, ...], ...] = field(repr=False)
    measures: tuple[str, ...] = field(repr=False)
    power: Floats = field(repr=False)
    n: int
    subsamples: int
    permutations: int
    alpha: float
    p_value: PValue
    seed: int
    remarks: tuple[str, ...] = ()

    made_with = ("measure", "n", "subsamples", "permutations", "alpha", "p_value", "seed")

    def to_polars(self) -> pl.DataFrame:
        """One row per cell: one column per parameter, n, power."""
        columns = {name: [cell[i] for cell in self.cells] for i, name in enumerate(self.axes)}
        frame = pl.DataFrame(columns, strict=False)
        return frame.with_columns(pl.lit(self.n, pl.Int64).alias("n"), pl.Series("power", self.power))


def sensitivity(
    references: ReferencesLike,
    runs: Mapping[str, RunLike],
    *,
    grid: Mapping[str, Sequence[Any]] = PAPER_GRID,
    measure: str = "RDQ@5",
    n: int = 100,
    subsamples: int = 300,
    permutations: int = 1000,
    alpha: float = 0.05,
    p_value: PValue = "plus-one",
    seed: int = 0,
    engine: str = "auto",
    threads: int | None = None,
    order: Order | None = None,
    ties: Ties | None = None,
    empty: Empty = "zero",
    progress: Progress | None = None,
) -> Sensitivity:
    """Give the median power at ``n`` queries for every combination of a measure's parameters.

    The default grid is the paper's 25 values of α and λ. The runs are matched with the references once, and
    all cells are tested on the same subsamples with the same flips. ``order``, ``ties``
    and ``empty`` are those of :func:`evaluate`.
    """
    from rankdev.evaluation import evaluate

    names, cells, texts = grid_measures(measure, grid)
    scores: Scores = evaluate(references, runs, texts, order=order, ties=ties, empty=empty)
    found = power(
        scores,
        sizes=[n],
        subsamples=subsamples,
        permutations=permutations,
        alpha=alpha,
        p_value=p_value,
        seed=seed,
        engine=engine,
        threads=threads,
        progress=progress,
    )
    median = np.median(found.power[:, :, 0], axis=1)
    places = [scores.measures.index(text) for text in texts]
    return Sensitivity(
        measure,
        names,
        cells,
        tuple(texts),
        median[places],
        found.sizes[0],
        found.subsamples,
        found.permutations,
        found.alpha,
        found.p_value,
        found.seed,
        found.remarks,
    )


def grid_measures(
    measure: str, grid: Mapping[str, Sequence[Any]]
) -> tuple[tuple[str, ...], tuple[tuple[Any, ...], ...], list[str]]:
    """Give the parameters' names, the cells of their grid and the text of the measure in each cell."""
    from rankdev.measures import parse

    if not isinstance(grid, Mapping):
        raise UsageError(f"grid must map parameters to values, such as {{'alpha': [1, 2]}}; got {shown(grid)}")
    base = parse(measure)
    known = [entry.name for entry in fields(base)]
    for name in grid:
        if name not in known:
            raise UsageError(f"{measure} has no parameter {name!r}{suggestion(name, known)}; it has {', '.join(known)}")
    if not grid or not all(len(values) for values in grid.values()):
        raise UsageError("grid must name at least one parameter, each with at least one value")
    cells = tuple(product(*grid.values()))
    texts = [str(replace(base, **dict(zip(grid, cell, strict=True)))) for cell in cells]
    return tuple(grid), cells, texts
