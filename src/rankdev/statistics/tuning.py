"""Choose a measure's parameters from preferences of users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl

from rankdev._common.arrays import Bools, Floats, Ints
from rankdev._common.checks import check_number, check_seed, check_whole
from rankdev._common.result import Result
from rankdev.core.ordering import Order, Ties
from rankdev.core.references import ReferencesLike
from rankdev.core.runs import RunLike
from rankdev.errors import DataError, UsageError, counted
from rankdev.evaluation.evaluate import evaluate
from rankdev.measures import parse
from rankdev.statistics.panels import described, numbered
from rankdev.statistics.sensitivity import grid_measures
from rankdev.statistics.side_by_side import Verdicts, concordance

GRIDS: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "RDQ": {"alpha": (0.25, 0.5, 1, 2, 4, 8), "lam": (0, 0.1, 0.2, 0.4, 1)},
    "RBP": {"p": (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)},
    "Compat": {"p": (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)},
}
RIDGE = 0.01  # keeps a scale finite where a measure predicts every preference
STEPS = 40


@dataclass(frozen=True, eq=False, kw_only=True)
class Tuning(Result):
    """How well a measure predicts assessors' preferences for every cell of a grid of parameters, on held-out queries.

    The model: assessors prefer a to b with probability 1 / (1 + exp(−scale × difference)). A cell's scale is fitted
    without the queries that it is evaluated on.

    Attributes
    ----------
    measure : str
        The measure as given.
    axes : tuple of str
        Names of the parameters.
    cells : tuple of tuple
        Values of the parameters, one tuple per cell.
    measures : tuple of str
        Text of the measure in each cell.
    losses : ndarray
        Mean negative log-likelihood of the preferences, ``[query, cell]``; log 2 is chance.
    agreement : ndarray
        Fraction of the preferences that each cell predicts.
    weights : ndarray
        Preferences of each query.
    draws : ndarray
        How often each resample holds each query, ``[resample, query]``.
    chosen : tuple of str
        The cell that the other folds would choose, for each fold.
    tuned, usual : ndarray
        Held-out losses by query of the chosen cells, and of the measure as given: tuning helps where the first are
        smaller.
    tuned_agreement, usual_agreement : float
        Fractions of the preferences that each predicts.
    folds : int
        Folds of the cross-validation.
    resamples : int
        Bootstrap resamples of the queries.
    alpha : float
        Intervals have confidence 1 − alpha.
    seed : int
        Seed of folds and resamples.
    remarks : tuple of str
        Notes on the result and the data.

    See Also
    --------
    tune : Returns it.
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
        """Which cells are not significantly worse than the best one."""
        return np.asarray(self._behind()[1] <= 0)

    def to_polars(self) -> pl.DataFrame:
        """Return one row per cell.

        Returns
        -------
        polars.DataFrame
            One column per parameter, loss (held out), behind (how far behind the best cell), low, high, plausible
            (not significantly worse than the best), agreement.

        Examples
        --------
        >>> import rankdev as rd
        >>> rng = np.random.default_rng(0)
        >>> references = {str(q): list("abcdef") for q in range(30)}
        >>> runs = {name: {q: rng.permutation(list("abcdef")).tolist() for q in references} for name in ("x", "y")}
        >>> said = [{"query": q, "a": "x", "b": "y", "winner": "x" if int(q) % 3 else "y"} for q in references]
        >>> found = rd.tune("RDQ@3", references, runs, said, grid={"alpha": [1, 4]}, resamples=20)
        >>> found.to_polars().columns
        ['alpha', 'loss', 'behind', 'low', 'high', 'plausible', 'agreement']
        """
        columns = {name: [cell[i] for cell in self.cells] for i, name in enumerate(self.axes)}
        behind, low, high = self._behind()
        numbers = {"loss": self._mean, "behind": behind, "low": low, "high": high, "plausible": self.plausible}
        return pl.DataFrame(columns, strict=False).with_columns(
            *(pl.Series(name, values) for name, values in {**numbers, "agreement": self.agreement}.items())
        )

    def summary(self) -> pl.DataFrame:
        """Compare tuned parameters with the measure as given, on held-out queries.

        Returns
        -------
        polars.DataFrame
            Columns what, loss, agreement, gain, low, high (interval of the gain by tuning).

        Examples
        --------
        >>> import rankdev as rd
        >>> rng = np.random.default_rng(0)
        >>> references = {str(q): list("abcdef") for q in range(30)}
        >>> runs = {name: {q: rng.permutation(list("abcdef")).tolist() for q in references} for name in ("x", "y")}
        >>> said = [{"query": q, "a": "x", "b": "y", "winner": "x" if int(q) % 3 else "y"} for q in references]
        >>> found = rd.tune("RDQ@3", references, runs, said, grid={"alpha": [1, 4]}, resamples=20)
        >>> found.summary()["what"].to_list()
        ['as given', 'chosen without the query']
        """
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
        """Return how far each cell is behind the best one, and the interval over queries."""
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
    clusters: Mapping[str, Any] | None = None,
    seed: int = 0,
    order: Order | None = None,
    ties: Ties | None = None,
) -> Tuning:
    """Tune a measure's parameters to predict assessors' preferences on held-out queries.

    Everything reported is held out: scales are fitted, and for ``summary()`` cells chosen, without the queries that
    they are evaluated on.

    Parameters
    ----------
    measure : str
        Such as ``"RDQ@5"``.
    references : References, path, table or dict
        Ideal order of each query.
    runs : dict of str to Run, path, table or dict
        Ranking of each system.
    verdicts : table or list of dict
        Side-by-side preferences, as in :func:`rankdev.agreement_with_people`; ties are left out.
    grid : dict of str to sequence, optional
        Values of each parameter. RDQ, RBP and Compat have a default.
    folds : int, default 5
        Folds of the cross-validation, over queries.
    resamples : int, default 1000
        Bootstrap resamples of the queries, for intervals.
    alpha : float, default 0.05
        Intervals have confidence 1 − alpha.
    clusters : dict of str to str, optional
        The cluster of each query, as in :func:`significance`. Whole clusters are then held out and resampled.
    seed : int, default 0
        Seed of folds and resamples.
    order : {"score", "rank"}, optional
        What orders a run, as in :func:`rankdev.evaluate`.
    ties : str, optional
        How equal scores are ordered, as in :func:`rankdev.evaluate`.

    Returns
    -------
    Tuning
        Held-out loss of each cell, and whether tuning helps.

    Examples
    --------
    >>> import rankdev as rd
    >>> rng = np.random.default_rng(0)
    >>> references = {str(q): list("abcdef") for q in range(30)}
    >>> runs = {name: {q: rng.permutation(list("abcdef")).tolist() for q in references} for name in ("x", "y")}
    >>> said = [{"query": q, "a": "x", "b": "y", "winner": "x" if int(q) % 3 else "y"} for q in references]
    >>> found = rd.tune("RDQ@3", references, runs, said, grid={"alpha": [1, 4]}, resamples=20)
    >>> found.plausible.tolist()
    [True, True]
    """
    folds, resamples = check_whole("folds", folds, 2), check_whole("resamples", resamples, 20)
    alpha, seed = check_number("alpha", alpha, 0, 1), check_seed(seed)
    base = parse(measure)
    if grid is None and base.name not in GRIDS:
        raise UsageError(f"there is no default grid for {base}; give one, such as grid={{'p': [0.5, 0.8]}}")
    axes, cells, texts = grid_measures(str(base), GRIDS[base.name] if grid is None else grid)
    scores = evaluate(references, runs, list(dict.fromkeys([str(base), *texts])), order=order, ties=ties).oriented
    judged = Verdicts.from_table(verdicts, scores)
    apart = scores.values[judged.a, judged.query] - scores.values[judged.b, judged.query]
    kept = np.isfinite(apart).all(axis=1) & (judged.preferred != 0)
    names, query = np.unique(judged.query[kept], return_inverse=True)
    unit, grouped = "query", tuple[str, ...]()
    if clusters is not None:
        members = numbered(scores, names, clusters)
        query, names = members[query], np.unique(members)
        unit, grouped = "cluster", described([members], "held out and resampled")
    if len(names) < folds:
        raise DataError(
            f"preferences without ties cover {counted(len(names), unit)}; {folds} folds need at least as many"
        )
    places = [scores.measures.index(text) for text in (str(base), *texts)]
    toward = apart[kept][:, places] * judged.preferred[kept][:, None]  # above 0: measure and assessors agree
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
    return _with_remarks(found, (*grouped, *scores.remarks, *judged.remarks), int((judged.preferred == 0).sum()))


def _held_out(toward: Floats, fold: Ints, folds: int) -> tuple[Floats, Ints]:
    """Return the loss of every preference by scales fitted without its fold, and each fold's choice by the others."""
    losses, picked = np.zeros(toward.shape), np.zeros(folds, np.int64)
    for part in range(folds):
        inside = fold == part
        scale, trained = fitted_scales(toward[~inside])
        losses[inside] = np.logaddexp(0, -scale * toward[inside])
        picked[part] = int(np.argmin(trained[1:]))
    return losses, picked


def fitted_scales(toward: Floats) -> tuple[Floats, Floats]:
    """Return each column's scale ≥ 0 with the smallest mean logistic loss and a slight ridge, and that loss."""
    size = np.sqrt(np.maximum((toward**2).mean(axis=0), 1e-24))
    unit = toward / size
    scale = np.zeros(toward.shape[1])
    for _ in range(STEPS):
        missed = 1 / (1 + np.exp(np.clip(scale * unit, -500, 500)))  # 1 − the probability of the preference
        slope = -(unit * missed).mean(axis=0) + RIDGE * scale
        curve = (unit**2 * missed * (1 - missed)).mean(axis=0) + RIDGE
        scale = np.clip(scale - slope / curve, 0, np.maximum(2 * scale, 1.0))
    loss = np.logaddexp(0, -scale * unit).mean(axis=0) + RIDGE * scale**2 / 2
    return scale / size, loss


def _with_remarks(found: Tuning, notes: Sequence[str], ties: int) -> Tuning:
    lines = list(notes)
    if ties:
        lines.append(f"{counted(ties, 'tie', 'is')} left out")
    plausible = int(found.plausible.sum())
    if plausible > 1:
        lines.append(
            f"the data do not decide: {plausible} of {len(found.cells)} cells are not significantly worse than the best"
        )
    gain = found.summary().row(1, named=True)
    if not gain["low"] > 0:
        lines.append(f"tuning does not predict significantly better than {found.measure} as given: keep it")
    if len(set(found.chosen)) > 1:
        lines.append(f"the {found.folds} folds choose {len(set(found.chosen))} different cells")
    return replace(found, remarks=tuple(lines))
