"""Strengths of items from pairwise judgments: Bradley–Terry, Rank Centrality, Crowd-BT."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import ClassVar

import numpy as np
import polars as pl

from rankdev._common.arrays import Bools, Floats, Ints
from rankdev._common.checks import check_choice, check_kind, check_number
from rankdev._common.result import Result
from rankdev._common.view import Dot, Dots, Tab, View
from rankdev.errors import DataError, Note
from rankdev.preferences.crowd_bt import crowd_bt
from rankdev.preferences.judgments import MAKE_THEM, Preferences
from rankdev.preferences.models import bradley_terry, rank_centrality
from rankdev.preferences.pairs import Fitted, centred, linked
from rankdev.preferences.uncertainty import Variances, counted_once, flipped, levelled, variances, workers_by_query

Model = Callable[[Preferences, float, float], Fitted]  # by ridge, and 1 − the level of intervals of its own
MODELS: dict[str, Model] = {"bradley-terry": bradley_terry, "crowd-bt": crowd_bt, "rank-centrality": rank_centrality}
METHODS = tuple(MODELS)
DISCONNECTED = ("largest", "split", "error")
ENOUGH_WORKERS = 5  # for intervals of what several workers think: with fewer they are too narrow, or of any width


@dataclass(frozen=True, eq=False, kw_only=True)
class Strengths(Fitted, Result):
    """Log-strengths of all items, mean 0 in each query.

    Attributes
    ----------
    preferences : Preferences
        Judgments that were fitted; several answers of one worker to one pair are weighted as one.
    method : str
        Model that was fitted.
    ridge : float
        Regularisation.
    values : array of float
        Strength of each item of ``preferences.items``.
    pairs : Pairs
        Counts that the strengths were fitted to.
    curvature : array of float or None
        Information in each pair; None where the model has no likelihood (Rank Centrality).
    penalty : array of float
        Curvature of each item's regulariser.
    iterations : int
        Steps taken.
    converged : bool
        Whether the fit converged.
    tie_rate : float
        Davidson's ν.
    alpha : float
        Intervals are at level 1 − ``alpha``.
    workers : WorkerQuality or None
        Quality of each worker (Crowd-BT).
    residual : array of float or None
        Difference of each judgment from what the strengths predict for its pair's first item.
    coupling : sparse array or None
        K, where −K Kᵀ is the information on strengths that is lost to other parameters.
    remarks : tuple of str
        Notes.

    See Also
    --------
    strengths : Fit them.
    """

    view: ClassVar = View(
        [Tab("Strengths ({method}), {level} intervals", ("query", "item", "strength", "low", "rank"), digits=3)],
        figure=Dots(
            ["query", "item"],
            [Dot("strength", "strength, {level} interval")],
            "{item} is preferred most in {query} ({method})",
            zero=True,
        ),
        opening=[""],
    )

    preferences: Preferences = field(repr=False)
    method: str
    ridge: float
    alpha: float = 0.05
    remarks: tuple[str, ...] = ()

    made_with = ("method", "ridge", "alpha")

    @cached_property
    def _variances(self) -> Variances:
        return variances(self)

    @cached_property
    def inference_fit(self) -> Strengths:
        """The fit that standard errors and tests rest on: this one, or for Crowd-BT simple Bradley–Terry too.

        Worker qualities fitted to the same judgments make the strengths look too certain: on random answers Crowd-BT's
        own standard errors separate a fifth to a half of all pairs. Answers of workers who significantly answer the
        opposite are reversed for it.
        """
        if self.workers is None:
            return self
        simple = partial(fit_model, method="bradley-terry", ridge=self.ridge, alpha=self.alpha)
        inverted = self.workers.suspects()["inverted"]
        return simple(flipped(self.preferences, inverted, lambda judged: simple(judged).values))

    @cached_property
    def standard_errors(self) -> Floats:
        """Standard error of each strength, clustered by worker; NaN where the model has no likelihood."""
        own = np.sqrt(self._variances.clustered)
        return own if self.inference_fit is self else np.maximum(own, self.inference_fit.standard_errors)

    @cached_property
    def order(self) -> Ints:
        """Items by query and decreasing strength; equal strengths keep the order of the data."""
        return np.lexsort((-self.values, self.preferences.item_query))

    def ordered_items(self) -> dict[str, list[str]]:
        """List the items of each query, strongest first.

        Returns
        -------
        dict of str to list of str
            Items by decreasing strength; equal strengths keep the order of the data.

        Examples
        --------
        >>> from rankdev.preferences import Preferences
        >>> strengths(Preferences.from_rows([("q", "y", "x"), ("q", "x", "z")])).ordered_items()
        {'q': ['y', 'x', 'z']}
        """
        names = [self.preferences.items[k] for k in self.order]
        starts = self.pairs.starts
        queries = enumerate(self.preferences.queries)
        return {query: names[starts[k] : starts[k + 1]] for k, query in queries}

    def to_polars(self) -> pl.DataFrame:
        """Tabulate the strengths with their confidence intervals.

        Returns
        -------
        polars.DataFrame
            One row per item: query, item, strength, low, high, rank; best first. Equal strengths share a rank. low and
            high are null where the model has no likelihood, or a query has two to four workers. Items that
            won against others and never lost to them have no upper limit, those that lost and never won no lower one:
            the likelihood has no maximum there, and how large the strength is depends on the ridge.

        Examples
        --------
        >>> from rankdev.preferences import Preferences
        >>> judged = Preferences.from_rows([("q", "x", "y")] * 3 + [("q", "y", "x")])
        >>> strengths(judged).to_polars().select("item", "rank").rows()
        [('x', 1), ('y', 2)]
        """
        (low, high), preferences, order = self._limits, self.preferences, self.order
        table = pl.DataFrame(
            {
                "query": pl.Series(list(preferences.queries), dtype=pl.String).gather(preferences.item_query[order]),
                "item": pl.Series(list(preferences.items), dtype=pl.String).gather(order),
                "strength": self.values[order],
                "low": low[order],
                "high": high[order],
            }
        )
        rank = pl.col("strength").rank("min", descending=True).over("query").cast(pl.Int64)
        return table.with_columns(pl.col("low", "high").fill_nan(None), rank=rank)

    @cached_property
    def _limits(self) -> tuple[Floats, Floats]:
        """Ends of each strength's interval; NaN where there is none."""
        from scipy.special import stdtrit

        simple, _, freedom = self._variances
        raised, lowered = unlimited(self.inference_fit.preferences)
        # where workers agree without exception, what they differ by says nothing
        error = np.where(raised | lowered, np.fmax(self.standard_errors, np.sqrt(simple)), self.standard_errors)
        wide = stdtrit(np.minimum(freedom, 1e9), 1 - self.alpha / 2) * error
        wide[freedom < ENOUGH_WORKERS - 1] = np.nan
        return np.where(lowered, np.nan, self.values - wide), np.where(raised, np.nan, self.values + wide)


def strengths(
    preferences: Preferences,
    method: str = "bradley-terry",
    *,
    ridge: float = 0.1,
    disconnected: str = "largest",
    alpha: float = 0.05,
) -> Strengths:
    """Fit strengths of items to pairwise judgments, all queries together.

    Where several workers judged a query, several answers of one of them to one pair weigh as much as one.

    Parameters
    ----------
    preferences : Preferences
        Judgments.
    method : {"bradley-terry", "crowd-bt", "rank-centrality"}
        Model of the strengths. ``bradley-terry`` has Davidson's ties (1970); elsewhere a tie is half a win for each.
        ``crowd-bt`` also estimates the quality of each worker, and needs workers.
    ridge : float, default 0.1
        Regularisation: pulls the strengths of a query towards each other.
    disconnected : {"largest", "split", "error"}
        Items that no comparisons connect. They cannot be ordered: keep the largest connected component of each query
        and name the other items in ``remarks``, split the query into one per component, or raise an error.
    alpha : float, default 0.05
        Intervals are at level 1 − ``alpha``.

    Returns
    -------
    Strengths
        Log-strength of each item, mean 0 in each query.

    Examples
    --------
    >>> from rankdev.preferences import Preferences
    >>> judged = Preferences.from_rows([("q", "x", "y")] * 3 + [("q", "y", "x")])
    >>> strengths(judged).values.round(2).tolist()
    [0.52, -0.52]
    """
    check_choice("method", method, METHODS)
    check_choice("disconnected", disconnected, DISCONNECTED)
    check_number("ridge", ridge, 0, ends=True)
    check_number("alpha", alpha, 0, 1)
    check_kind("preferences", preferences, Preferences, MAKE_THEM)
    if not len(preferences):
        raise DataError("none-given", what="comparisons")
    preferences, remarks = connected(preferences, disconnected)
    if ridge == 0 and (without := np.logical_or(*unlimited(preferences))).any():  # the likelihood has no maximum
        raise DataError("infinite-strengths", query=preferences.queries[preferences.item_query[np.argmax(without)]])
    fit = fit_model(counted_once(preferences), method, ridge, alpha)
    workers = workers_by_query(preferences)
    few = int(((workers > 1) & (workers < ENOUGH_WORKERS)).sum()) if fit.curvature is not None else 0
    if few:
        remarks += (Note("few-workers", count=few, queries=len(workers), least=ENOUGH_WORKERS),)
    return replace(fit, remarks=remarks)


def fit_model(preferences: Preferences, method: str, ridge: float, alpha: float) -> Strengths:
    """Fit as :func:`strengths` does, without checking the arguments."""
    fit = MODELS[method](preferences, ridge, alpha)
    values = levelled(centred(fit.values, fit.pairs.starts), fit.pairs.starts)
    made = {"preferences": preferences, "method": method, "ridge": ridge, "alpha": alpha}
    return Strengths(**{**vars(fit), **made, "values": values})


def connected(preferences: Preferences, disconnected: str) -> tuple[Preferences, tuple[str, ...]]:
    """Make the items of every query connected, in the way the caller chose; and name what was left out."""
    broken = preferences.disconnected()
    if disconnected == "largest":
        return _largest(preferences, broken)
    if not broken:
        return preferences, ()
    if disconnected == "split":
        return preferences.split_groups(), ()
    query, groups = next(iter(broken.items()))
    raise DataError("unconnected", query=query, groups=len(groups), one=groups[0], other=groups[1])


def _largest(preferences: Preferences, broken: dict[str, list[list[str]]]) -> tuple[Preferences, tuple[str, ...]]:
    """Keep the largest component of each query, and no query without a judgment."""
    judged = {preferences.queries[query] for query in np.unique(preferences.item_query[preferences.winner])}
    remarks: list[Note] = []
    if empty := [query for query in preferences.queries if query not in judged]:
        preferences = preferences.select(judged)
        remarks.append(Note("unjudged-queries", count=len(empty), names=empty))
    left = {query: [item for group in groups[1:] for item in group] for query, groups in broken.items()}
    if left := {query: items for query, items in left.items() if query in judged}:
        query, names = next(iter(left.items()))
        remarks.append(Note("unconnected-items", count=sum(map(len, left.values())), query=query, names=names))
    return preferences.largest_groups() if left else preferences, tuple(remarks)


def unlimited(preferences: Preferences) -> tuple[Bools, Bools]:
    """Mark items whose strengths the likelihood raises, and those whose strengths it lowers, without limit.

    They belong to a group that won against others and never lost to these, directly or by way of more; or lost and
    never won. A group of more than half of a query's items is what the others differ from: its strengths have limits.
    """
    pairs = preferences.pairs
    won, lost = pairs.score > 0, pairs.score < pairs.count
    source = np.concatenate([pairs.first[won], pairs.second[lost]])
    target = np.concatenate([pairs.second[won], pairs.first[lost]])
    label = linked(source, target, len(preferences.items), both_ways=True)
    across, most = label[source] != label[target], np.diff(preferences.starts)[preferences.item_query] / 2
    some = np.bincount(label)[label] <= most
    return some & np.isin(label, label[source[across]]), some & np.isin(label, label[target[across]])
