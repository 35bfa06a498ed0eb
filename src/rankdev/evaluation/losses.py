"""What systems lose: by items that they do not return, or by the order of those they do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from rankdev._common.arrays import Floats
from rankdev._common.result import Result
from rankdev._common.work import Progress
from rankdev.core.ordering import Order, Ties, check_one_order
from rankdev.core.references import ReferencesLike
from rankdev.core.runs import RunLike
from rankdev.errors import UsageError
from rankdev.evaluation.evaluate import Empty, evaluate_all
from rankdev.evaluation.scores import Scores
from rankdev.measures import parse
from rankdev.measures.base import MeasureLike
from rankdev.measures.rdq import RDQ

if TYPE_CHECKING:
    from rankdev.measures.match import Match


@dataclass(frozen=True, eq=False)
class Losses(Result):
    """Mean scores of systems, and what keeps them from 1: retrieval or order.

    What the best order lacks was lost by retrieval, what it would gain was lost by order. A query without any
    reference item counts as lost by retrieval.

    Attributes
    ----------
    measure : str
        The measure.
    scores : Scores
        For every query, the score and the best score that the returned items could get in another order.
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
            Columns system, score, lost_by_retrieval and lost_by_order; the three numbers add up to 1.

        Examples
        --------
        >>> losses({"q": ["d1", "d2"]}, {"mine": {"q": ["d1", "d2"]}}, "RDQ@2").to_polars().row(0)
        ('mine', 1.0, 0.0, 0.0)
        """
        score, best = self.scores.means.T
        columns = {"score": score, "lost_by_retrieval": 1.0 - best, "lost_by_order": best - score}
        return pl.DataFrame({"system": list(self.scores.systems), **columns})


def losses(
    references: ReferencesLike,
    runs: Mapping[str, RunLike],
    measure: MeasureLike = "RDQ@10",
    *,
    order: Order | None = None,
    ties: Ties | None = None,
    empty: Empty = "zero",
    progress: Progress | None = None,
) -> Losses:
    """Split what each system loses into retrieval and order.

    Parameters
    ----------
    references : References, path, table or dict
        Ideal order of each query: lists, tiers or grades.
    runs : dict of str to Run, path, table or dict
        Each system's ranking. A query missing from a run scores 0.
    measure : str or Measure, default "RDQ@10"
        RDQ with any parameters but ``judged_only``.
    order : {"score", "rank"}, optional
        What orders a run. Default: score; a Run keeps its own.
    ties : str, optional
        How ties are broken; see docs/files.md#ties.
    empty : {"zero", "skip"}, default "zero"
        Score of queries without relevant items.
    progress : callable, optional
        ``progress(done, total, system)``, in bytes.

    Returns
    -------
    Losses
        Mean score of each system, and what it lost by retrieval and by order.

    Examples
    --------
    >>> found = losses({"q": ["d1", "d2"]}, {"mine": {"q": ["x", "d1"]}}, "RDQ@2")
    >>> [round(value, 4) for value in found.to_polars().row(0)[1:]]
    [0.2336, 0.4737, 0.2928]
    """
    check_one_order(ties, "what was lost by order")
    chosen = parse(measure)
    if not isinstance(chosen, RDQ):
        raise UsageError(f"only losses of RDQ can be split; got {chosen}")
    if chosen.judged_only:
        raise UsageError(f"the losses of {chosen} are not those of the lists as returned; leave judged_only out")
    both = (chosen, BestOrder(chosen))
    scores = evaluate_all(references, runs, both, order=order, ties=ties, empty=empty, progress=progress)
    return Losses(str(chosen), scores, scores.remarks)


@dataclass(frozen=True)
class BestOrder:
    """Score of the returned items in their best order: an assignment of items to positions, not a sort."""

    measure: RDQ

    @property
    def reach(self) -> int | None:
        """How many positions of a run the measure looks at; None for all."""
        return self.measure.reach

    def __str__(self) -> str:
        return f"best {self.measure}"

    def score(self, match: Match) -> Floats:
        """Score every query."""
        best = np.maximum(self.measure.score(match), 0.0)
        depth = match.depth(self.measure.cutoff)
        sizes = match.ideals.sizes
        counted = sizes if self.measure.cutoff is None else np.minimum(sizes, self.measure.cutoff)
        weights = self.measure.position_weights.relative(max(depth, int(counted.max(initial=1))))
        filled = np.cumsum(weights)
        ideal = match.ideals.ideal_ranks(depth)
        inside = match.position < depth
        ranks, query = match.ideals.ranks[match.place[inside]], match.query[inside]
        bounds = np.searchsorted(query, np.arange(match.queries + 1))
        for q in np.unique(query):
            length = min(int(match.lengths[q]), depth)
            found = ranks[bounds[q] : bounds[q + 1]]
            credit = self.measure.credit(ideal[q, :length, None], found, sizes[q])
            gained = best_assignment(weights[:length, None] * credit) / filled[counted[q] - 1]
            best[q] = max(best[q], min(1.0, gained))  # the same sum in another order can be a rounding error less
        return best


def best_assignment(gains: Floats) -> float:
    """Return the largest total gain of an assignment of columns (items) to rows (positions)."""
    from scipy.optimize import linear_sum_assignment

    if gains.shape[1] == 1:
        return float(gains.max())
    rows, columns = linear_sum_assignment(gains, maximize=True)
    return float(gains[rows, columns].sum())
