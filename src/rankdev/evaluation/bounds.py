"""Bounds of scores under incomplete judgments, and which comparisons they cannot change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import ClassVar

import numpy as np
import polars as pl

from rankdev._common.arrays import Bools, Floats, Ints
from rankdev._common.checks import check_whole
from rankdev._common.result import Result
from rankdev.core.ordering import Order, Ties, check_one_order
from rankdev.core.references import References, ReferencesLike
from rankdev.core.runs import Run, RunLike
from rankdev.errors import DataError
from rankdev.evaluation._completions import FAR, Case
from rankdev.evaluation._extremes import Extremes, check_bounded, moves_alone
from rankdev.evaluation.evaluate import evaluate_all
from rankdev.evaluation.scores import Scores
from rankdev.io.loading import load_inputs
from rankdev.measures import Measure, parse_all
from rankdev.measures.base import MeasureLike
from rankdev.measures.match import NOT_STATED

ROUNDING = 1e-9


@dataclass(frozen=True, eq=False, kw_only=True)
class Bounds(Result):
    """How low and how high scores could be if every returned item had been judged.

    Attributes
    ----------
    scores : Scores
        The scores with unjudged items taken as nonrelevant.
    limits : numpy.ndarray
        ``[limit, system, query, measure]``: the lowest and the highest score over all that the unjudged items of all
        lists, at any depth, could be.
    difference_limits : numpy.ndarray
        ``[limit, pair, query, measure]``: those of the difference of two systems.
    exact : numpy.ndarray
        ``[system, query, measure]``: false where the limits are outer ones, which no completion leaves and perhaps none
        reaches: there were too many completions to try, and there is no formula.
    exact_pairs : numpy.ndarray
        ``[pair, query, measure]``: the same for differences.
    judged : numpy.ndarray
        ``[system, measure]``: fraction of the items looked at that were judged.
    items : tuple of (str, str, int)
        The unjudged items that lists returned at any depth: query, item, number of lists that hold it.
    moves : numpy.ndarray
        What each of them alone could move.
    remarks : tuple of str
        Notes on the result.

    See Also
    --------
    rankdev.bounds : Returns it.
    """

    display: ClassVar = "rankdev.display.scores"

    scores: Scores = field(repr=False)
    limits: Floats = field(repr=False)
    difference_limits: Floats = field(repr=False)
    exact: Bools = field(repr=False)
    exact_pairs: Bools = field(repr=False)
    judged: Floats = field(repr=False)
    items: tuple[tuple[str, str, int], ...] = field(repr=False)
    moves: Floats = field(repr=False)
    remarks: tuple[str, ...] = ()

    def to_polars(self) -> pl.DataFrame:
        """Return one row per system and measure.

        Returns
        -------
        polars.DataFrame
            Columns system, measure, score, low, high, judged (fraction of items) and exact.

        Examples
        --------
        >>> known = References.from_grades({"q": {"d1": 1, "d2": 0}})
        >>> bounds(known, {"mine": {"q": ["d1", "x"]}}, "P@2").to_polars().row(0)
        ('mine', 'P@2', 0.5, 0.5, 1.0, 0.5, True)
        """
        systems, measures = self.scores.systems, self.scores.measures
        low, high = self.limits.mean(axis=2)
        names = {"system": np.repeat(systems, len(measures)), "measure": measures * len(systems)}
        values = {"score": self.scores.means.ravel(), "low": low.ravel(), "high": high.ravel()}
        more = {"judged": self.judged.ravel(), "exact": self.exact.all(axis=1).ravel()}
        return pl.DataFrame({**names, **values, **more})

    def pairs(self) -> pl.DataFrame:
        """Return one row per measure and pair of systems.

        A comparison is safe where every completion of the judgments gives the mean difference the same sign.

        Returns
        -------
        polars.DataFrame
            Columns measure, a, b, difference, low, high, safe and exact.

        Examples
        --------
        >>> known = References.from_grades({"q": {"d1": 1, "d2": 0}})
        >>> found = bounds(known, {"mine": {"q": ["d1", "x"]}, "other": {"q": ["d2", "x"]}}, "P@2")
        >>> found.pairs()["safe"].to_list()
        [True]
        """
        rows = []
        for m, measure in enumerate(self.scores.measures):
            for pair, (a, b) in enumerate(combinations(range(len(self.scores.systems)), 2)):
                difference = self.scores.means[a, m] - self.scores.means[b, m]
                low, high = self.difference_limits[:, pair, :, m].mean(axis=1)
                safe = bool(low > ROUNDING or high < -ROUNDING)
                names = (measure, self.scores.systems[a], self.scores.systems[b])
                rows.append((*names, difference, low, high, safe, bool(self.exact_pairs[pair, :, m].all())))
        columns = ["measure", "a", "b", "difference", "low", "high", "safe", "exact"]
        return pl.DataFrame(rows, schema=columns, orient="row", infer_schema_length=None)

    def next_items(self, count: int = 10) -> pl.DataFrame:
        """Return the items to judge next, those that could change comparisons most first.

        ``moves`` is the width that the item alone, the others taken as nonrelevant, gives to the mean differences
        between systems, summed over the pairs and measures whose comparison is not safe. It is a heuristic order to
        judge in.

        Parameters
        ----------
        count : int, default 10
            The largest number of items.

        Returns
        -------
        polars.DataFrame
            Columns query, item, lists and moves.

        Examples
        --------
        >>> known = References.from_grades({"q": {"d1": 1, "d2": 0}})
        >>> found = bounds(known, {"mine": {"q": ["d1", "d2"]}, "other": {"q": ["x", "d2"]}}, "P@2")
        >>> found.next_items().rows()
        [('q', 'x', 1, 0.5)]
        """
        chosen = np.argsort(-self.moves, kind="stable")[: check_whole("count", count, 1)]
        alone = len(self.difference_limits[0]) == 0
        rows = [(*self.items[i], float(self.moves[i])) for i in chosen if self.moves[i] > 0 or alone]
        schema = {"query": pl.String, "item": pl.String, "lists": pl.Int64, "moves": pl.Float64}
        return pl.DataFrame(rows, schema=schema, orient="row")


def bounds(
    references: ReferencesLike,
    runs: Mapping[str, RunLike],
    measures: MeasureLike | Iterable[MeasureLike] = "RDQ@10",
    *,
    order: Order | None = None,
    ties: Ties | None = None,
) -> Bounds:
    """Return the lowest and highest score over all ranks that returned unjudged items could have.

    With grades, an unjudged item could have any grade of the collection; without, it could share any rank or come
    between two. Counting it as nonrelevant does not give a lower bound: a relevant item far from its place costs more,
    and one below the cutoff, or in another list, changes the ideal list. Every item that any list returned
    counts, at any depth: pass shorter lists to limit that. Unjudged items that no list returned are taken as
    nonrelevant.

    P, R, RBP and nDCG (gains native or binary) have exact bounds, and so has AP of single systems. Others are exact
    if few completions are possible, and outer bounds otherwise.

    Parameters
    ----------
    references : References, path, table or dict
        Ideal order of each query. They must state which items were judged nonrelevant.
    runs : dict of str to Run, path, table or dict
        Each system's ranking.
    measures : str, Measure or list of them, default "RDQ@10"
        RDQ, nDCG, RBP, AP, Compat, P or R.
    order : {"score", "rank"}, optional
        What orders a run. Default: score; a Run keeps its own.
    ties : str, optional
        How ties are broken; see docs/files.md#ties.

    Returns
    -------
    Bounds
        Limits of each score and of the difference of each pair of systems.

    Examples
    --------
    >>> known = References.from_lists({"q": ["d1"]}, nonrelevant={"q": ["d9"]})
    >>> found = bounds(known, {"mine": {"q": ["d1", "x"]}, "other": {"q": ["d9", "d1"]}}, "RDQ@2")
    >>> [round(value, 4) for value in found.to_polars().row(0)[2:5]]
    [1.0, 0.5255, 1.0]
    """
    wanted = parse_all(measures)
    for measure in wanted:
        check_bounded(measure)
    known, loaded = load_inputs(references, runs, order, ties)
    if known.nonrelevant is None:
        raise DataError(NOT_STATED)
    for run in loaded.values():
        check_one_order(run.ordering.ties, "a bound")
    scores = evaluate_all(known, loaded, wanted, order=None, ties=None, empty="zero", progress=None)
    return _Work(known, loaded, tuple(wanted), scores).done()


class _Work:
    """Goes through queries; every list is cut where the measure stops looking."""

    def __init__(self, known: References, runs: Mapping[str, Run], measures: tuple[Measure, ...], scores: Scores):
        self.known, self.runs, self.measures, self.scores = known, list(runs.values()), measures, scores
        levels = None if known.grades is None else np.unique(known.grades)[::-1]
        self.levels = np.ones(1) if levels is not None and not len(levels) else levels
        pairs = len(runs) * (len(runs) - 1) // 2
        shape = (len(scores.queries), len(measures))
        self.limits, self.exact = np.zeros((2, len(runs), *shape)), np.ones((len(runs), *shape), bool)
        self.difference_limits, self.exact_pairs = np.zeros((2, pairs, *shape)), np.ones((pairs, *shape), bool)
        self.counts: Ints = np.zeros((2, len(runs), len(measures)), np.int64)  # judged items, and all

    def done(self) -> Bounds:
        for q, query in enumerate(self.scores.queries):
            case, _ = self._case(query)
            for m, measure in enumerate(self.measures):
                seen = case.within(measure.reach)
                found = Extremes.of(measure, seen)
                self.limits[:, :, q, m], self.exact[:, q, m] = found.lists, found.exact
                self.difference_limits[:, :, q, m], self.exact_pairs[:, q, m] = found.pairs, found.exact_pairs
                unjudged = (seen.unjudged < FAR).sum(axis=1)
                looked_at = self._looked_at(query, measure.reach)
                self.counts[:, :, m] += looked_at - unjudged, looked_at
        items, moves = self._items()
        inexact = [int((~exact).sum()) for exact in (self.exact, self.exact_pairs)]
        note = (
            f"{inexact[0]:,} of {self.exact.size:,} score ranges and {inexact[1]:,} of {self.exact_pairs.size:,}"
            " difference ranges, query by query, are not exact: no completion exceeds them, but they may be too wide"
        )
        return Bounds(
            scores=self.scores,
            limits=self.limits,
            difference_limits=self.difference_limits,
            exact=self.exact,
            exact_pairs=self.exact_pairs,
            judged=self.counts[0] / np.maximum(self.counts[1], 1),
            items=items,
            moves=moves,
            remarks=(*self.scores.remarks, *([note] if any(inexact) else [])),
        )

    def _looked_at(self, query: str, reach: int | None) -> Ints:
        """Count the different items of each list as far as a measure looks."""
        return np.array([len(set(run.get(query, [])[:reach])) for run in self.runs])

    def _case(self, query: str) -> tuple[Case, list[str]]:
        """Return a query with all that lists returned, at any depth, and the names of the unjudged items."""
        reference = self.known[query]
        nonrelevant = reference.nonrelevant or {}
        ranked = list(reference)
        column = {item: i for i, item in enumerate(ranked)}
        returned = [run.get(query, []) for run in self.runs]
        for items in returned:
            for item in items:
                if item not in column and item not in nonrelevant:
                    column[item] = len(column)
        positions = np.full((len(returned), len(column)), FAR)
        for row, items in zip(positions, returned, strict=True):
            for i in range(len(items) - 1, -1, -1):  # the first occurrence is written last
                if items[i] in column:
                    row[column[items[i]]] = i
        size = len(ranked)
        grades = reference.grades
        case = Case(
            np.array([reference[item] for item in ranked], np.int64),
            None if grades is None else np.array([grades[item] for item in ranked], float),
            self.levels,
            positions[:, :size],
            positions[:, size:],
            0,
            np.array([len(items) for items in returned], np.int64),
        )
        return case, list(column)[size:]

    def _items(self) -> tuple[tuple[tuple[str, str, int], ...], Floats]:
        """Return the unjudged items, and how far each alone moves the mean differences that are not safe."""
        means = self.difference_limits.mean(axis=2)
        undecided = ~((means[0] > ROUNDING) | (means[1] < -ROUNDING))
        items: list[tuple[str, str, int]] = []
        moves: list[Floats] = []
        for query in self.scores.queries:
            case, names = self._case(query)
            lists = (case.unjudged < FAR).sum(axis=0)
            items += [(query, name, int(count)) for name, count in zip(names, lists, strict=True)]
            moved = np.zeros(len(names))
            for m, measure in enumerate(self.measures):
                if len(names) and undecided[:, m].any():
                    moved += moves_alone(measure, case, undecided[:, m])
            moves.append(moved / len(self.scores.queries))
        return tuple(items), np.concatenate(moves) if moves else np.zeros(0)
