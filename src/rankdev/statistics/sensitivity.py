"""Sensitivity of power to a measure's parameters, over a grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import product
from typing import Any, ClassVar

import polars as pl

from rankdev._common.arrays import Floats
from rankdev._common.result import Result
from rankdev._common.view import Heat, Tab, View
from rankdev._common.work import Progress
from rankdev.data.options import Order, Ties
from rankdev.data.references import ReferencesLike
from rankdev.data.run import RunLike
from rankdev.errors import UsageError, nearest
from rankdev.evaluation.evaluate import Empty, evaluate
from rankdev.evaluation.scores import Scores
from rankdev.measures import parse
from rankdev.statistics.flips import PValue
from rankdev.statistics.power import Power, power

PAPER_GRID: Mapping[str, Sequence[Any]] = {"alpha": (0.5, 1, 2, 4, 8), "lam": (0, 0.05, 0.1, 0.2, 0.4)}


@dataclass(frozen=True, eq=False, kw_only=True)
class Sensitivity(Result):
    """Median power over pairs for every cell of a grid of parameters.

    Attributes
    ----------
    measure : str
        The measure whose parameters vary.
    axes : tuple of str
        Names of the parameters.
    cells : tuple of tuple
        Values of the parameters, one tuple per cell.
    measures : tuple of str
        Text of the measure in each cell.
    simulated : Power
        Power of every cell and pair.

    See Also
    --------
    sensitivity : Returns it.
    """

    view: ClassVar = View(
        [Tab("Median power of {measure} at {n} {simulated.unit}", frame="_grid", digits=3)],
        "sensitivity",
        closing=[
            "Paired randomization tests at level {simulated.alpha:g}, {simulated.permutations:,} sign flips,"
            " {simulated.subsamples} subsamples."
        ],
        figure=Heat(
            "{down}",
            "{across}",
            {"power": "median power at n = {n}"},
            "With its parameters, the median power of {measure} is {spread}",
        ),
    )

    measure: str
    axes: tuple[str, ...]
    cells: tuple[tuple[Any, ...], ...] = field(repr=False)
    measures: tuple[str, ...] = field(repr=False)
    simulated: Power = field(repr=False)

    @property
    def power(self) -> Floats:
        """Median power of each cell."""
        places = [self.simulated.measures.index(text) for text in self.measures]
        return self.simulated.medians[places, 0]

    @property
    def n(self) -> int:
        """Queries per subsample."""
        return self.simulated.n

    @property
    def remarks(self) -> tuple[str, ...]:
        """Notes on the simulation and the scores."""
        return self.simulated.remarks

    @property
    def parameters(self) -> dict[str, Any]:
        """The measure, and parameters of the simulation."""
        made = self.simulated.parameters
        return {"measure": self.measure, "n": self.n} | {name: made[name] for name in made if name != "sizes"}

    @property
    def down(self) -> str:
        """The parameters in the rows of the grid; n where there is one parameter."""
        return ", ".join(self.axes[:-1]) or "n"

    @property
    def across(self) -> str:
        """The parameter in the columns of the grid."""
        return self.axes[-1]

    def _grid(self) -> pl.DataFrame:
        """Return power by one parameter, or by the last one across all others."""
        texts = [[str(value) for value in cell] for cell in self.cells]
        if len(self.axes) == 1:
            return pl.DataFrame({self.across: [value for (value,) in texts], "power": self.power})
        rows, columns = ([", ".join(cell[:-1]) for cell in texts], [f"{self.across}={cell[-1]}" for cell in texts])
        frame = pl.DataFrame({self.down: rows, "column": columns, "power": self.power})
        return frame.pivot("column", index=self.down, values="power", maintain_order=True)

    def to_polars(self) -> pl.DataFrame:
        """Return one row per cell.

        Returns
        -------
        polars.DataFrame
            One column per parameter, n, power (median over pairs).

        Examples
        --------
        >>> import numpy as np
        >>> import rankdev as rd
        >>> rng = np.random.default_rng(0)
        >>> references = {str(q): list("abcdef") for q in range(30)}
        >>> runs = {name: {q: rng.permutation(list("abcdef")).tolist() for q in references} for name in ("x", "y")}
        >>> found = rd.sensitivity(references, runs, grid={"alpha": [1, 4]}, n=20, subsamples=10)
        >>> found.to_polars().columns
        ['alpha', 'n', 'power']
        """
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
    clusters: Mapping[str, Any] | None = None,
    seed: int = 0,
    order: Order | None = None,
    ties: Ties | None = None,
    empty: Empty = "zero",
    progress: Progress | None = None,
    **read: Any,
) -> Sensitivity:
    """Estimate the median power at n queries for every combination of a measure's parameters.

    The runs are matched with the references once, and all cells are tested on the same subsamples with the same flips.

    Parameters
    ----------
    references : References, path, table or dict
        Ideal order of each query.
    runs : dict of str to Run, path, table or dict
        Ranking of each system.
    grid : dict of str to sequence, optional
        Values of a parameter. Default: the paper's 25. These are combinations of alpha and lam.
    measure : str, default "RDQ@5"
        The measure whose parameters vary.
    n : int, default 100
        Queries per subsample.
    subsamples : int, default 300
        Subsamples of n queries.
    permutations : int, default 1000
        Sign flips per test.
    alpha : float, default 0.05
        Level of the tests.
    p_value : {"plus-one", "paper"}
        How p is computed from b extreme flips among B: (b + 1)/(B + 1), or b/B as in the RDQ paper.
    clusters : dict of str to str, optional
        The cluster of each query, as in :func:`significance`. Whole clusters are then drawn and flipped, and
        n counts clusters.
    seed : int, default 0
        Seed of subsamples and flips.
    order : {"score", "rank"}, optional
        What orders a run, as in :func:`rankdev.evaluate`.
    ties : str, optional
        How equal scores are ordered, as in :func:`rankdev.evaluate`.
    empty : {"zero", "skip"}
        Score of queries without relevant items, as in :func:`rankdev.evaluate`.
    progress : callable, optional
        ``progress(done, total, note)``, in additions.
    **read : Any
        How runs are read, as in :func:`rankdev.evaluate`: duplicates, columns, ranks, collapse, strict.

    Returns
    -------
    Sensitivity
        Median power of each cell.

    Examples
    --------
    >>> import numpy as np
    >>> import rankdev as rd
    >>> rng = np.random.default_rng(0)
    >>> references = {str(q): list("abcdef") for q in range(30)}
    >>> runs = {name: {q: rng.permutation(list("abcdef")).tolist() for q in references} for name in ("x", "y")}
    >>> found = rd.sensitivity(references, runs, grid={"alpha": [1, 4], "lam": [0, 0.2]}, n=20, subsamples=10)
    >>> found.cells
    ((1, 0), (1, 0.2), (4, 0), (4, 0.2))
    """
    names, cells, texts = grid_measures(measure, grid)
    scores: Scores = evaluate(references, runs, texts, order=order, ties=ties, empty=empty, **read)
    found = power(
        scores,
        sizes=[n],
        subsamples=subsamples,
        permutations=permutations,
        alpha=alpha,
        p_value=p_value,
        clusters=clusters,
        seed=seed,
        progress=progress,
    )
    return Sensitivity(measure=measure, axes=names, cells=cells, measures=tuple(texts), simulated=found)


def grid_measures(
    measure: str, grid: Mapping[str, Sequence[Any]]
) -> tuple[tuple[str, ...], tuple[tuple[Any, ...], ...], list[str]]:
    """Return the parameters' names, the cells of their grid and the text of the measure in each cell."""
    if not isinstance(grid, Mapping) or not grid or not all(len(values) for values in grid.values()):
        raise UsageError("bad-value", name="grid", value=grid, expected="lists by parameter: {'alpha': [1, 2]}")
    base = parse(measure)
    known = [entry.name for entry in fields(base)]
    for name in grid:
        if name not in known:
            near = nearest(name, known)
            raise UsageError("not-a-choice", measure=measure, name="parameter", value=name, near=near, known=known)
    cells = tuple(product(*map(dict.fromkeys, grid.values())))
    texts = [str(replace(base, **dict(zip(grid, cell, strict=True)))) for cell in cells]
    return tuple(grid), cells, texts
