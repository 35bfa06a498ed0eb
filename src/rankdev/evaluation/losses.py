"""What systems lose: by items they do not return, by items they return too deep, and by the order of the first ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import polars as pl

from rankdev._common.arrays import Bools, Floats
from rankdev._common.result import Result
from rankdev._common.work import Progress
from rankdev.data.options import Order, Ties, check_one_order
from rankdev.data.references import ReferencesLike
from rankdev.data.run import RunLike
from rankdev.errors import Note
from rankdev.evaluation.evaluate import Empty, evaluate_all
from rankdev.evaluation.placings import ROUNDING, BestPlacing, IdealScore, check_cumulative
from rankdev.evaluation.scores import Scores
from rankdev.measures import parse
from rankdev.measures.base import MeasureLike


@dataclass(frozen=True, eq=False)
class Losses(Result):
    """Mean scores of systems, and what keeps them from 1: retrieval, the cutoff or the order.

    With k the cutoff, or the length of the list where that is shorter:

    - ``lost_by_retrieval``: what an ideal list (all relevant items, best first) has more than the best placing of all
      returned items on the first k positions; everything, where a query has no relevant item. Relevant items are not
      returned: improve the retriever.
    - ``lost_by_cutoff``: what that placing has more than the best placing of the first k items. Relevant items are
      returned below k: hand a reranker more items.
    - ``lost_by_order``: what that has more than the score. The first k items are in a poor order: improve the reranker.

    A repeated item counts once.

    Attributes
    ----------
    measure : str
        The measure.
    scores : Scores
        For every query, the score, and the best scores of the first k items, of all returned items and of all items.
    remarks : tuple of str
        Notes on the result.

    See Also
    --------
    rankdev.losses : Returns it.
    """

    display: ClassVar = "rankdev.display.scores"

    measure: str
    scores: Scores = field(repr=False)
    remarks: tuple[str, ...] = ()

    made_with = ("measure",)

    def to_polars(self) -> pl.DataFrame:
        """Return one row per system.

        Returns
        -------
        polars.DataFrame
            Columns system, score, lost_by_retrieval, lost_by_cutoff and lost_by_order; the four numbers add up to 1, or
            to what ideal lists score where that is less (P@10 of queries with 3 relevant items), which a note states.

        Examples
        --------
        >>> losses({"q": ["d1", "d2"]}, {"mine": {"q": ["x", "d1", "d2"]}}, "R@2").to_polars().row(0)
        ('mine', 0.5, 0.0, 0.5, 0.0)
        """
        score, first, returned, ideal = self._means.T
        columns = {
            "score": score,
            "lost_by_retrieval": ideal - returned,
            "lost_by_cutoff": returned - first,
            "lost_by_order": first - score,
        }
        return pl.DataFrame({"system": list(self.scores.systems), **columns})

    @cached_property
    def by_query(self) -> Floats:
        """Score and losses of every list: ``[system, query, (score, retrieval, cutoff, order)]``; NaN where unknown."""
        score, first, returned, ideal = np.moveaxis(self._values, 2, 0)
        return np.stack([score, ideal - returned, returned - first, first - score], axis=2)

    @cached_property
    def _values(self) -> Floats:
        values = self.scores.values.copy()
        if self.scores.kinds[0].range[1] == 1:  # the best score, which no list has where nothing is relevant
            values[:, :, 3] = np.where(values[:, :, 3] > 0, values[:, :, 3], 1.0)
        return values

    @cached_property
    def _means(self) -> Floats:
        """Means over the queries where the measure is available: ``[system, (score, first, returned, ideal)]``."""
        values = self._values
        known: Bools = np.isfinite(values.sum(axis=2))
        means = np.where(known[:, :, None], values, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)[:, None]
        means[~known.any(axis=1)] = np.nan
        return means


def losses(
    references: ReferencesLike,
    runs: Mapping[str, RunLike],
    measure: MeasureLike = "RDQ@10",
    *,
    order: Order | None = None,
    ties: Ties | None = None,
    empty: Empty = "zero",
    progress: Progress | None = None,
    **read: Any,
) -> Losses:
    """Split what each system loses into retrieval, cutoff and order.

    Parameters
    ----------
    references : References, path, table or dict
        Ideal order of each query: lists, tiers or grades.
    runs : dict of str to Run, path, table or dict
        Each system's whole ranking, also what is below the cutoff. A query missing from a run scores 0.
    measure : str or Measure, default "RDQ@10"
        A measure that is a sum over positions, such as RDQ, nDCG, AP, RBP, P or RR, without ``judged_only``.
    order : {"score", "rank"}, optional
        What orders a run. Default: score; a Run keeps its own.
    ties : str, optional
        How ties are broken; see docs/files.md#ties.
    empty : {"zero", "skip"}, default "zero"
        Score of queries without relevant items.
    progress : callable, optional
        ``progress(done, total, system)``, in bytes.
    **read : Any
        How runs are read, as in :func:`evaluate`: duplicates, columns, ranks, collapse, strict.

    Returns
    -------
    Losses
        Mean score of each system, and what it lost by retrieval, by the cutoff and by order.

    Examples
    --------
    >>> found = losses({"q": ["d1", "d2"]}, {"mine": {"q": ["x", "d2", "d1"]}}, "RDQ@2")
    >>> [round(value, 4) for value in found.to_polars().row(0)[1:]]
    [0.4737, 0.0, 0.5263, 0.0]
    """
    check_one_order(ties, "what was lost by order")
    chosen = parse(measure)
    check_cumulative(chosen)
    wanted = (chosen, BestPlacing(chosen, cut=True), BestPlacing(chosen, cut=False), IdealScore(chosen))
    scores = evaluate_all(references, runs, wanted, empty=empty, progress=progress, order=order, ties=ties, **read)
    found = Losses(str(chosen), scores, scores.remarks)
    return replace(found, remarks=(*found.remarks, *_ideals_below_one(found)))


def _ideals_below_one(found: Losses) -> Iterator[Note]:
    ideal = float(np.nanmin(found._means[:, 3], initial=1.0))
    if found.scores.kinds[0].range[1] == 1 and ideal < 1 - ROUNDING:
        yield Note("ideal-below-one", ideal=ideal, measure=found.measure)
