"""Strengths of items from pairwise judgments: Bradley–Terry, Rank Centrality, Crowd-BT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rankdev.errors import DataError, UsageError, shown, suggestion
from rankdev.preferences.centrality import rank_centrality
from rankdev.preferences.crowd import WorkerQuality, crowd_bt, worker_quality
from rankdev.preferences.newton import Fit, centred, maximise
from rankdev.preferences.pairs import Pairs
from rankdev.preferences.preferences import Preferences
from rankdev.preferences.uncertainty import factors
from rankdev.results import Result

if TYPE_CHECKING:
    import polars as pl

Floats = npt.NDArray[np.float64]

METHODS = ("bradley-terry", "rank-centrality", "crowd-bt")
TIES = ("half", "davidson")
DISCONNECTED = ("error", "split", "largest")
LOOSE_FROM = 10_000  # judgments from which Crowd-BT's refits to resamples end sooner; below they are quick
LOOSE = 1e-3  # the step after which they end; a larger one leaves refits nearer to the fit than they belong


@dataclass(frozen=True, eq=False)
class Strengths(Result):
    """Log-strengths of all items, mean 0 in each query, and how they came about.

    ``pairs`` are the counts they were fitted to, ``curvature`` the information in each pair (None for
    Rank Centrality, which has no likelihood), ``tie_rate`` Davidson's ν.
    """

    preferences: Preferences = field(repr=False)
    method: str
    ridge: float
    ties: str
    values: Floats = field(repr=False)
    pairs: Pairs = field(repr=False)
    curvature: Floats | None = field(repr=False)
    penalty: Floats = field(repr=False)
    iterations: int
    converged: bool
    tie_rate: float = 0.0
    confidence: float = 0.95
    workers: WorkerQuality | None = field(default=None, repr=False)
    remarks: tuple[str, ...] = ()

    made_with = ("method", "ridge", "ties", "confidence")

    @cached_property
    def factors(self) -> list[Floats]:
        """For each query a factor F of the covariance F Fᵀ of its strengths."""
        if self.curvature is None:
            raise UsageError("rank-centrality has no likelihood; use a bootstrap for its uncertainty")
        return factors(self.pairs, self.curvature, self.penalty)

    @cached_property
    def standard_errors(self) -> Floats:
        """Standard error of each strength; NaN for Rank Centrality."""
        if self.curvature is None:
            return np.full(len(self.values), np.nan)
        return np.concatenate([np.sqrt((factor**2).sum(axis=1)) for factor in self.factors])

    @cached_property
    def order(self) -> npt.NDArray[np.int64]:
        """Items by query and falling strength; equal strengths keep the order of the data."""
        return np.lexsort((-self.values, self.preferences.item_query))

    def ordered_items(self) -> dict[str, list[str]]:
        """Give the items of each query, strongest first."""
        names = [self.preferences.items[k] for k in self.order]
        starts = self.pairs.starts
        queries = enumerate(self.preferences.queries)
        return {query: names[starts[k] : starts[k + 1]] for k, query in queries}

    def to_polars(self) -> pl.DataFrame:
        """One row an item: query, item, strength, low, high, rank; best first, equal strengths share a rank."""
        import polars as pl
        from scipy.special import ndtri

        wide = ndtri(0.5 + self.confidence / 2) * self.standard_errors
        preferences, order = self.preferences, self.order
        table = pl.DataFrame(
            {
                "query": pl.Series(list(preferences.queries), dtype=pl.String).gather(preferences.item_query[order]),
                "item": pl.Series(list(preferences.items), dtype=pl.String).gather(order),
                "strength": self.values[order],
                "low": (self.values - wide)[order],
                "high": (self.values + wide)[order],
            }
        )
        rank = pl.col("strength").rank("min", descending=True).over("query").cast(pl.Int64)
        return table.with_columns(pl.col("low", "high").fill_nan(None), rank=rank)


def strengths(
    preferences: Preferences,
    method: str = "bradley-terry",
    *,
    ridge: float = 0.1,
    ties: str = "half",
    disconnected: str = "error",
    worker_prior: tuple[float, float] = (2.0, 1.0),
    confidence: float = 0.95,
) -> Strengths:
    """Fit strengths to judgments, all queries together.

    ``method`` is ``bradley-terry``, ``rank-centrality`` or ``crowd-bt`` (needs workers). ``ridge`` pulls
    strengths towards each other; ``ties`` counts a tie as ``half`` a win each or by ``davidson``'s model.
    Items that no chain of comparisons connects cannot be ordered: ``disconnected`` makes that an ``error``,
    ``split``s the query into one per group, or keeps the ``largest`` group.

    >>> from rankdev.preferences import Preferences
    >>> judged = Preferences.from_rows([("q", "x", "y")] * 3 + [("q", "y", "x")])
    >>> strengths(judged).values.round(2).tolist()
    [0.52, -0.52]
    """
    _check(preferences, method, ridge, ties, disconnected)
    _check_levels(worker_prior, confidence)
    preferences = connected(preferences, disconnected)
    if ridge == 0:
        _check_maximum_exists(preferences)
    return fit_weighted(
        preferences, method, None, ridge=ridge, ties=ties, worker_prior=worker_prior, confidence=confidence
    )


def fit_weighted(
    preferences: Preferences,
    method: str,
    weight: Floats | None,
    *,
    ridge: float = 0.1,
    ties: str = "half",
    worker_prior: tuple[float, float] = (2.0, 1.0),
    confidence: float = 0.95,
    near: Strengths | None = None,
) -> Strengths:
    """Fit as :func:`strengths` does, each judgment with a weight of its own, to checked arguments.

    ``near`` is the fit that a resample is drawn around: Crowd-BT starts there, and for many judgments ends sooner.
    """
    pairs = preferences.pairs if weight is None else preferences.pairs.weighted(preferences, weight)
    workers, tie_rate = None, 0.0
    if method == "rank-centrality":
        values, iterations, converged = rank_centrality(pairs, ridge)
        fit = Fit(values, np.zeros(0), np.zeros(0), iterations, converged)
    elif method == "crowd-bt":
        start: dict[str, Any] = {}
        if near is not None and near.workers is not None:
            start = {"near": (near.values, near.workers.quality)}
            if len(preferences) >= LOOSE_FROM:
                start["tolerance"] = LOOSE
        fit, quality = crowd_bt(preferences, pairs, ridge, weight=weight, prior=worker_prior, **start)
        if weight is None:
            workers = worker_quality(
                preferences, pairs, fit.strength, quality, prior=worker_prior, confidence=confidence
            )
    elif ties == "davidson" and pairs.ties.any():
        fit, tie_rate = _davidson(pairs, ridge)
    else:
        fit = maximise(pairs, ridge)
    curvature = None if method == "rank-centrality" else fit.curvature
    return Strengths(
        preferences,
        method,
        ridge,
        ties,
        centred(fit.strength, pairs.starts),
        pairs,
        curvature,
        fit.penalty,
        fit.iterations,
        fit.converged,
        tie_rate,
        confidence,
        workers,
    )


def connected(preferences: Preferences, disconnected: str) -> Preferences:
    """Make sure that the items of every query are connected, by the rule the user chose."""
    if disconnected == "largest":
        return preferences.largest_groups()
    broken = preferences.disconnected()
    if not broken:
        return preferences
    if disconnected == "split":
        return preferences.split_groups()
    query, groups = next(iter(broken.items()))
    more = f" ({len(broken) - 1} more queries are like that)" if len(broken) > 1 else ""
    named = "; ".join(_name_group(group) for group in groups[:5]) + (" …" if len(groups) > 5 else "")
    raise DataError(
        f"query {query!r}: its items fall into {len(groups)} groups that were never compared with each other,"
        f" so no order of all exists: {named}{more}. Add comparisons between the groups, or choose"
        " disconnected='split' (one reference a group) or 'largest'"
    )


def _name_group(group: list[str]) -> str:
    return "{" + ", ".join(group[:5]) + (f", … {len(group)} items" if len(group) > 5 else "") + "}"


def _davidson(pairs: Pairs, ridge: float) -> tuple[Fit, float]:
    """Alternate between strengths and the one rate of ties, which all queries share."""
    log_rate, start = 0.0, None
    for _ in range(200):
        fit = maximise(pairs, ridge, tie_rate=float(np.exp(log_rate)), start=start)
        start = fit.strength
        d = np.abs(start[pairs.first] - start[pairs.second])
        tie = np.exp(log_rate - d / 2)
        chance = tie / (1 + np.exp(-d) + tie)
        change = (pairs.ties.sum() - pairs.count @ chance) / (pairs.count @ (chance * (1 - chance)))
        log_rate = min(log_rate + float(np.clip(change, -1, 1)), 12.0)  # all ties would go to infinity
        if abs(change) < 1e-8:
            break
    return maximise(pairs, ridge, tie_rate=float(np.exp(log_rate)), start=start), float(np.exp(log_rate))


def _check(preferences: Preferences, method: str, ridge: float, ties: str, disconnected: str) -> None:
    for name, value, known in (
        ("method", method, METHODS),
        ("ties", ties, TIES),
        ("disconnected", disconnected, DISCONNECTED),
    ):
        if value not in known:
            raise UsageError(f"unknown {name} {value!r}{suggestion(str(value), known)}: {', '.join(known)}")
    check_ridge(ridge)
    if ties == "davidson" and method != "bradley-terry":
        raise UsageError("ties='davidson' belongs to method='bradley-terry'")
    if not isinstance(preferences, Preferences):
        remedy = "make them with Preferences.from_rows, Preferences.from_table or read_preferences"
        raise UsageError(f"strengths takes Preferences; got {type(preferences).__name__}; {remedy}")
    if not len(preferences):
        raise DataError("no comparisons: strengths need at least one")


def check_ridge(ridge: Any) -> None:
    """Refuse a ridge that is no number, or below 0."""
    if not (_is_number(ridge) and 0 <= ridge < np.inf):
        raise UsageError(f"ridge must be a number, 0 or more; got {shown(ridge)}")


def _is_number(value: object) -> bool:
    return isinstance(value, Real)


def _check_levels(worker_prior: Any, confidence: Any) -> None:
    numbers = worker_prior if isinstance(worker_prior, Sequence) else ()
    if len(numbers) != 2 or not all(_is_number(x) and 1 <= x < np.inf for x in numbers):
        raise UsageError(f"worker_prior must be two numbers, each 1 or more; got {shown(worker_prior)}")
    if not (_is_number(confidence) and 0 < confidence < 1):
        raise UsageError(f"confidence must lie between 0 and 1; got {shown(confidence)}")


def _check_maximum_exists(preferences: Preferences) -> None:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    pairs, n = preferences.pairs, len(preferences.items)
    won, lost = pairs.score > 0, pairs.score < pairs.count
    source = np.concatenate([pairs.first[won], pairs.second[lost]])
    target = np.concatenate([pairs.second[won], pairs.first[lost]])
    edges = coo_array((np.ones(len(source), np.int8), (source, target)), shape=(n, n))
    _, label = connected_components(edges, directed=True, connection="strong")
    groups = np.unique(np.stack([preferences.item_query, label]), axis=1)[0]
    broken = np.flatnonzero(np.bincount(groups) > 1)
    if len(broken):
        raise DataError(
            f"query {preferences.queries[broken[0]]!r}: some items never lost to others, so that without a"
            " ridge their strengths are infinite; use ridge=0.1"
        )
