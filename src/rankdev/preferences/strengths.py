"""Strengths of items from pairwise judgments: Bradley–Terry, Rank Centrality, Crowd-BT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from rankdev._common.arrays import Floats
from rankdev._common.checks import check_choice, check_kind, check_number, is_number
from rankdev._common.result import Result
from rankdev._common.view import Dots, Panel, Tab, View
from rankdev.errors import DataError, Note, UsageError
from rankdev.preferences.crowd_bt import CrowdBT, WorkerQuality
from rankdev.preferences.judgments import MAKE_THEM, Preferences
from rankdev.preferences.models import BradleyTerry, Model, Options, RankCentrality
from rankdev.preferences.pairs import Pairs, centred
from rankdev.preferences.uncertainty import (
    Variances,
    counted_once,
    flipped,
    levelled,
    variances,
    workers_by_query,
)

MODELS: dict[str, Model] = {model.name: model for model in (BradleyTerry(), CrowdBT(), RankCentrality())}
METHODS = tuple(MODELS)
TIE_MODELS = ("auto", *dict.fromkeys(ties for model in MODELS.values() for ties in model.ties))
DISCONNECTED = ("largest", "split", "error")
ENOUGH_WORKERS = 5  # for intervals of what several workers think: with fewer they are too narrow, or of any width


@dataclass(frozen=True, eq=False, kw_only=True)
class Strengths(Result):
    """Log-strengths of all items, mean 0 in each query.

    Attributes
    ----------
    preferences : Preferences
        Judgments that were fitted; several answers of one worker to one pair are weighted as one.
    method : str
        Model that was fitted.
    ridge : float
        Regularisation.
    tie_model : str
        How ties were modelled: ``half`` or ``davidson``.
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
            [Panel("strength", "strength, {level} interval")],
            "{item} is preferred most in {query} ({method})",
            zero=True,
        ),
    )

    preferences: Preferences = field(repr=False)
    method: str
    ridge: float
    tie_model: str
    values: Floats = field(repr=False)
    pairs: Pairs = field(repr=False)
    curvature: Floats | None = field(repr=False)
    penalty: Floats = field(repr=False)
    iterations: int
    converged: bool
    tie_rate: float = 0.0
    alpha: float = 0.05
    workers: WorkerQuality | None = field(default=None, repr=False)
    residual: Floats | None = field(default=None, repr=False)
    coupling: Any = field(default=None, repr=False)
    remarks: tuple[str, ...] = ()

    made_with = ("method", "ridge", "tie_model", "alpha")

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
        if not MODELS[self.method].needs_inference_fit:
            return self
        simple = partial(fit_model, method="bradley-terry", options=Options(self.ridge, "davidson"))
        inverted = [] if self.workers is None else self.workers.suspects()["inverted"]
        return simple(flipped(self.preferences, inverted, lambda judged: simple(judged).values))

    @cached_property
    def standard_errors(self) -> Floats:
        """Standard error of each strength, clustered by worker; NaN where the model has no likelihood."""
        own = np.sqrt(self._variances.clustered)
        return own if self.inference_fit is self else np.maximum(own, self.inference_fit.standard_errors)

    @cached_property
    def order(self) -> npt.NDArray[np.int64]:
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
        (low, high), preferences, order = self._limits(), self.preferences, self.order
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
    tie_model: str = "auto",
    disconnected: str = "largest",
    worker_prior: tuple[float, float] = (2.0, 1.0),
    alpha: float = 0.05,
) -> Strengths:
    """Fit strengths of items to pairwise judgments, all queries together.

    Where several workers judged a query, several answers of one of them to one pair weigh as much as one.

    Parameters
    ----------
    preferences : Preferences
        Judgments.
    method : {"bradley-terry", "crowd-bt", "rank-centrality"}
        Model of the strengths. ``crowd-bt`` also estimates the quality of each worker, and needs workers.
    ridge : float, default 0.1
        Regularisation: pulls the strengths of a query towards each other.
    tie_model : {"auto", "half", "davidson"}
        Whether a tie counts as half a win for each, or is modelled by Davidson (1970). ``auto``: Davidson where the
        method supports it.
    disconnected : {"largest", "split", "error"}
        Items that no comparisons connect. They cannot be ordered: keep the largest connected component of each query
        and name the other items in ``remarks``, split the query into one per component, or raise an error.
    worker_prior : tuple of float, default (2, 1)
        Beta prior of the workers' quality (Crowd-BT).
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
    _check(preferences, method, ridge, tie_model, disconnected)
    _check_levels(worker_prior, alpha)
    preferences, remarks = connected(preferences, disconnected)
    if ridge == 0:
        check_maximum_exists(preferences)
    known = MODELS[method].ties[0] if tie_model == "auto" else tie_model
    fit = fit_model(counted_once(preferences), method, Options(ridge, known, worker_prior, alpha))
    workers = workers_by_query(preferences)
    few = int(((workers > 1) & (workers < ENOUGH_WORKERS)).sum()) if fit.curvature is not None else 0
    if few:
        remarks += (Note("few-workers", count=few, queries=len(workers), least=ENOUGH_WORKERS),)
    return replace(fit, remarks=remarks)


def fit_model(preferences: Preferences, method: str, options: Options, pairs: Pairs | None = None) -> Strengths:
    """Fit as :func:`strengths` does, without checking the arguments."""
    fit = MODELS[method].fit(preferences, preferences.pairs if pairs is None else pairs, options)
    return Strengths(
        preferences=preferences,
        method=method,
        ridge=options.ridge,
        tie_model=options.ties,
        alpha=options.alpha,
        values=levelled(centred(fit.strength, fit.pairs.starts), fit.pairs.starts),
        **{name: value for name, value in vars(fit).items() if name != "strength"},
    )


def _check(preferences: Preferences, method: str, ridge: float, tie_model: str, disconnected: str) -> None:
    check_choice("method", method, METHODS)
    check_choice("tie_model", tie_model, TIE_MODELS)
    check_choice("disconnected", disconnected, DISCONNECTED)
    check_number("ridge", ridge, 0, ends=True)
    if tie_model != "auto" and tie_model not in MODELS[method].ties:
        able = [name for name, model in MODELS.items() if tie_model in model.ties]
        raise UsageError("unfit-method", name="tie_model", value=tie_model, able=able, method=method)
    check_kind("preferences", preferences, Preferences, MAKE_THEM)
    if not len(preferences):
        raise DataError("none-given", what="comparisons")


def _check_levels(worker_prior: Any, alpha: Any) -> None:
    numbers = worker_prior if isinstance(worker_prior, Sequence) else ()
    if len(numbers) != 2 or not all(is_number(x) and 1 <= x < np.inf for x in numbers):
        raise UsageError("bad-value", name="worker_prior", value=worker_prior, expected="two numbers, each 1 or more")
    check_number("alpha", alpha, 0, 1)


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
    judged = np.bincount(preferences.item_query[preferences.winner], minlength=len(preferences.queries))
    empty = [preferences.queries[query] for query in np.flatnonzero(judged == 0)]
    if not broken and not empty:
        return preferences, ()
    kept = preferences.select([query for query in preferences.queries if query not in set(empty)]).largest_groups()
    remarks = []
    if empty:
        remarks.append(Note("unjudged-queries", count=len(empty), names=empty))
    there = dict(zip(kept.queries, np.split(np.array(kept.items, object), kept.starts[1:-1]), strict=True))
    left = {
        query: [item for group in groups for item in group if item not in set(there[query])]
        for query, groups in broken.items()
        if query in there
    }
    if left:
        query, names = next(iter(left.items()))
        remarks.append(Note("unconnected-items", count=sum(map(len, left.values())), query=query, names=names))
    return kept, tuple(remarks)


def unlimited(preferences: Preferences) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Mark items whose strengths the likelihood raises, and those whose strengths it lowers, without limit.

    They belong to a group that won against others and never lost to these, directly or by way of more; or lost and
    never won. A group of more than half of a query's items is what the others differ from: its strengths have limits.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    pairs, n = preferences.pairs, len(preferences.items)
    won, lost = pairs.score > 0, pairs.score < pairs.count
    source = np.concatenate([pairs.first[won], pairs.second[lost]])
    target = np.concatenate([pairs.second[won], pairs.first[lost]])
    edges = coo_array((np.ones(len(source), np.int8), (source, target)), shape=(n, n))
    _, label = connected_components(edges, directed=True, connection="strong")
    across, most = label[source] != label[target], np.diff(preferences.starts)[preferences.item_query] / 2
    some = np.bincount(label)[label] <= most
    return some & np.isin(label, label[source[across]]), some & np.isin(label, label[target[across]])


def check_maximum_exists(preferences: Preferences) -> None:
    """Refuse judgments whose likelihood has no maximum: some items never lost to others."""
    without = np.logical_or(*unlimited(preferences))
    if without.any():
        raise DataError("infinite-strengths", query=preferences.queries[preferences.item_query[np.argmax(without)]])
