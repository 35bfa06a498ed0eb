"""Sensitivity and tuning over parameter grids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import product
from typing import Any, ClassVar

import numpy as np
import polars as pl

from rankdev._common.arrays import Bools, Floats, Ints
from rankdev._common.checks import check_number, check_seed, check_whole
from rankdev._common.result import Result
from rankdev._common.work import Progress
from rankdev.core.ordering import Order, Ties
from rankdev.core.references import ReferencesLike
from rankdev.core.runs import RunLike
from rankdev.errors import DataError, UsageError, counted, shown, suggestion
from rankdev.evaluation.evaluate import Empty, evaluate
from rankdev.evaluation.scores import Scores
from rankdev.measures import parse
from rankdev.statistics.power import power
from rankdev.statistics.randomization import PValue
from rankdev.statistics.side_by_side import Verdicts, concordance

PAPER_GRID: Mapping[str, Sequence[Any]] = {"alpha": (0.5, 1, 2, 4, 8), "lam": (0, 0.05, 0.1, 0.2, 0.4)}


@dataclass(frozen=True, eq=False, kw_only=True)
class Sensitivity(Result):
    """Median power over pairs for every cell of a grid of parameters.

    ``axes`` names the parameters, ``cells`` holds one tuple of their values per cell, ``measures`` the texts and
    ``power`` the median power of the cells.
    """

    display: ClassVar = "rankdev.display.agreement"

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
        measure=measure,
        axes=names,
        cells=cells,
        measures=tuple(texts),
        power=median[places],
        n=found.sizes[0],
        subsamples=found.subsamples,
        permutations=found.permutations,
        alpha=found.alpha,
        p_value=found.p_value,
        seed=found.seed,
        remarks=found.remarks,
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


GRIDS: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "RDQ": {"alpha": (0.25, 0.5, 1, 2, 4, 8), "lam": (0, 0.1, 0.2, 0.4, 1)},
    "RBP": {"p": (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)},
    "Compat": {"p": (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)},
}
RIDGE = 0.01  # keeps a scale finite where a measure predicts every verdict
STEPS = 40


@dataclass(frozen=True, eq=False, kw_only=True)
class Tuning(Result):
    """How well a measure predicts people's verdicts for every cell of a grid of parameters, on held-out queries.

    People prefer a to b with probability 1 / (1 + exp(−scale × difference)). A cell's scale is fitted without the
    queries that it is judged on; ``losses[query, cell]`` is the mean −log of the probability of what people said
    (log 2 is chance). ``chosen[fold]`` is the cell that the other folds would choose, and ``tuned`` and ``usual`` are
    the held-out losses of choosing so and of the measure as given: choosing pays where the first are smaller.
    """

    display: ClassVar = "rankdev.display.agreement"
    made_with = ("measure", "folds", "resamples", "alpha", "seed")

    measure: str
    axes: tuple[str, ...]
    cells: tuple[tuple[Any, ...], ...] = field(repr=False)
    measures: tuple[str, ...] = field(repr=False)
    losses: Floats = field(repr=False)
    agreement: Floats = field(repr=False)
    weights: Floats = field(repr=False)
    draws: Floats = field(repr=False)
    chosen: tuple[str, ...]
    tuned: Floats = field(repr=False)
    usual: Floats = field(repr=False)
    tuned_agreement: float
    usual_agreement: float
    folds: int
    resamples: int
    alpha: float
    seed: int
    remarks: tuple[str, ...] = ()

    @property
    def best(self) -> str:
        """The cell with the smallest held-out loss, as the text of a measure."""
        return self.measures[int(np.argmin(self._mean))]

    @property
    def plausible(self) -> Bools:
        """Which cells are not clearly worse than the best one."""
        return np.asarray(self._behind()[1] <= 0)

    def to_polars(self) -> pl.DataFrame:
        """One row per cell: its parameters, loss (held out), behind (the best one), low, high, plausible, agreement."""
        columns = {name: [cell[i] for cell in self.cells] for i, name in enumerate(self.axes)}
        behind, low, high = self._behind()
        numbers = {"loss": self._mean, "behind": behind, "low": low, "high": high, "plausible": self.plausible}
        return pl.DataFrame(columns, strict=False).with_columns(
            *(pl.Series(name, values) for name, values in {**numbers, "agreement": self.agreement}.items())
        )

    def summary(self) -> pl.DataFrame:
        """Does choosing pay? One row each: what, loss, agreement (held out), low and high of what choosing gains."""
        gains = self._mean_draws(self.usual - self.tuned)
        low, high = np.quantile(gains, self._tails)
        means = [float(part @ self.weights / self.weights.sum()) for part in (self.usual, self.tuned)]
        rows = [
            ("as given", means[0], self.usual_agreement, None, None, None),
            ("chosen without the query", means[1], self.tuned_agreement, means[0] - means[1], low, high),
        ]
        return pl.DataFrame(rows, schema=["what", "loss", "agreement", "gain", "low", "high"], orient="row")

    @property
    def _mean(self) -> Floats:
        return np.asarray(self.weights @ self.losses / self.weights.sum())

    @property
    def _tails(self) -> tuple[float, float]:
        return self.alpha / 2, 1 - self.alpha / 2

    def _behind(self) -> tuple[Floats, Floats, Floats]:
        """Give how far each cell is behind the best one, and the interval over queries."""
        apart = self.losses - self.losses[:, [int(np.argmin(self._mean))]]
        low, high = np.quantile(self._mean_draws(apart), self._tails, axis=0)
        return np.asarray(self.weights @ apart / self.weights.sum()), low, high

    def _mean_draws(self, values: Floats) -> Floats:
        held = self.draws * self.weights
        return np.asarray((held @ values).T / held.sum(axis=1)).T


def tune(
    measure: str,
    references: ReferencesLike,
    runs: Mapping[str, RunLike],
    verdicts: Any,
    *,
    grid: Mapping[str, Sequence[Any]] | None = None,
    folds: int = 5,
    resamples: int = 1000,
    alpha: float = 0.05,
    seed: int = 0,
    order: Order | None = None,
    ties: Ties | None = None,
) -> Tuning:
    """Choose a measure's parameters by how well it predicts people's verdicts on queries that were held out.

    ``verdicts`` are those of :func:`agreement_with_people`; those without a preference are left out. ``grid`` maps
    parameters to values; RDQ, RBP and Compat have one. What is reported was never seen by what was fitted: scales are
    fitted, and for ``summary()`` cells chosen, without the queries they are judged on.
    """
    folds, resamples = check_whole("folds", folds, 2), check_whole("resamples", resamples, 20)
    alpha, seed = check_number("alpha", alpha, 0, 1), check_seed(seed)
    base = parse(measure)
    if grid is None and base.name not in GRIDS:
        raise UsageError(f"there is no default grid for {base}; give one, such as grid={{'p': [0.5, 0.8]}}")
    axes, cells, texts = grid_measures(str(base), GRIDS[base.name] if grid is None else grid)
    scores = evaluate(references, runs, list(dict.fromkeys([str(base), *texts])), order=order, ties=ties)
    said = Verdicts.from_table(verdicts, scores)
    apart = scores.values[said.a, said.query] - scores.values[said.b, said.query]
    kept = np.isfinite(apart).all(axis=1) & (said.preferred != 0)
    names, query = np.unique(said.query[kept], return_inverse=True)
    if len(names) < folds:
        raise DataError(
            f"verdicts with a preference are on {counted(len(names), 'query')}; {folds} folds need at least as many"
        )
    places = [scores.measures.index(text) for text in (str(base), *texts)]
    toward = apart[kept][:, places] * said.preferred[kept][:, None]  # above 0: the measure says what people said
    rng = np.random.default_rng(seed)
    fold = rng.permutation(np.arange(len(names)) % folds)[query]
    losses, picked = _held_out(toward, fold, folds)
    counts = np.bincount(query).astype(np.float64)
    per_query = np.zeros((len(names), losses.shape[1]))
    np.add.at(per_query, query, losses / counts[query][:, None])
    hits = concordance(toward, 1)
    tuned = np.bincount(query, losses[np.arange(len(fold)), picked[fold] + 1], len(names)) / counts
    found = Tuning(
        measure=str(base),
        axes=axes,
        cells=cells,
        measures=tuple(texts),
        losses=per_query[:, 1:],
        agreement=hits[:, 1:].mean(axis=0),
        weights=counts,
        draws=rng.multinomial(len(names), np.full(len(names), 1 / len(names)), size=resamples).astype(float),
        chosen=tuple(texts[place] for place in picked),
        tuned=tuned,
        usual=per_query[:, 0],
        tuned_agreement=float(hits[np.arange(len(fold)), picked[fold] + 1].mean()),
        usual_agreement=float(hits[:, 0].mean()),
        folds=folds,
        resamples=resamples,
        alpha=alpha,
        seed=seed,
    )
    return _with_remarks(found, (*scores.remarks, *said.remarks), int((said.preferred == 0).sum()))


def _held_out(toward: Floats, fold: Ints, folds: int) -> tuple[Floats, Ints]:
    """Give the loss of every verdict by scales fitted without its fold, and the cell that the other folds choose."""
    losses, picked = np.zeros(toward.shape), np.zeros(folds, np.int64)
    for part in range(folds):
        inside = fold == part
        scale, trained = fitted_scales(toward[~inside])
        losses[inside] = np.logaddexp(0, -scale * toward[inside])
        picked[part] = int(np.argmin(trained[1:]))
    return losses, picked


def fitted_scales(toward: Floats) -> tuple[Floats, Floats]:
    """Give each column's scale ≥ 0 with the smallest mean logistic loss and a slight ridge, and that loss."""
    size = np.sqrt(np.maximum((toward**2).mean(axis=0), 1e-24))
    unit = toward / size
    scale = np.zeros(toward.shape[1])
    for _ in range(STEPS):
        right = 1 / (1 + np.exp(np.clip(scale * unit, -500, 500)))  # 1 − the probability of what was said
        slope = -(unit * right).mean(axis=0) + RIDGE * scale
        curve = (unit**2 * right * (1 - right)).mean(axis=0) + RIDGE
        scale = np.clip(scale - slope / curve, 0, np.maximum(2 * scale, 1.0))
    loss = np.logaddexp(0, -scale * unit).mean(axis=0) + RIDGE * scale**2 / 2
    return scale / size, loss


def _with_remarks(found: Tuning, said: Sequence[str], ties: int) -> Tuning:
    lines = list(said)
    if ties:
        lines.append(f"{counted(ties, 'verdict')} without a preference {'is' if ties == 1 else 'are'} left out")
    plausible = int(found.plausible.sum())
    if plausible > 1:
        lines.append(
            f"the data cannot choose: {plausible} of {len(found.cells)} cells are not clearly worse than the best"
        )
    gain = found.summary().row(1, named=True)
    if not gain["low"] > 0:
        lines.append(f"choosing does not clearly predict better than {found.measure} as given: keep it")
    if len(set(found.chosen)) > 1:
        lines.append(f"the {found.folds} folds choose {len(set(found.chosen))} different cells")
    return replace(found, remarks=tuple(lines))
