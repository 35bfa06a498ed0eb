"""Paired differences between systems: families of pairs, intervals of their means, and one pair query by query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from rankdev._common.arrays import Floats
from rankdev.errors import UsageError
from rankdev.evaluation.scores import Scores, ScoresLike
from rankdev.statistics.flips.exact import largest_of, scale_for
from rankdev.statistics.panels import Indices, as_scores, described, numbered, panels, summed

AT_ONCE = 1 << 22  # differences held at a time
MORE_SKEW = 8.0  # few queries show too little of the skewness; this much ÷ n is added, by simulation


@dataclass(frozen=True, eq=False)
class Family:
    """Some pairs of systems under one measure: ``values[query, system]``, pairs ``first`` − ``second``.

    ``queries`` are indices into all queries of the scores, so that families over other queries can share flips.
    Differences are in whole units (:mod:`rankdev.statistics.flips.exact`), in which equal sums are equal. ``span`` is
    the width of the measure's range, where it is known. ``clusters`` number the cluster of each query. Where rows are
    clusters, ``sizes`` count their queries.
    """

    values: Floats = field(repr=False)
    queries: Indices = field(repr=False)
    first: Indices = field(repr=False)
    second: Indices = field(repr=False)
    span: float = np.inf
    clusters: Indices | None = field(default=None, repr=False)
    sizes: Indices | None = field(default=None, repr=False)

    @cached_property
    def flipped(self) -> Family:
        """What is flipped: single queries, or clusters, whose values are sums over the mean size: the means stay."""
        if self.clusters is None:
            return self
        rows, sizes = summed(self.values, self.clusters)
        span = self.span * sizes.max() / sizes.mean()
        return Family(rows, np.arange(len(sizes)), self.first, self.second, span, sizes=sizes)

    def only(self, kept: npt.NDArray[np.bool_]) -> Family:
        """Keep these queries, and the clusters they are in."""
        clusters = None if self.clusters is None else np.unique(self.clusters[kept], return_inverse=True)[1]
        return replace(self, values=self.values[kept], queries=self.queries[kept], clusters=clusters)

    @property
    def pairs(self) -> int:
        """Count the pairs."""
        return len(self.first)

    @cached_property
    def unit(self) -> float:
        """Score of one whole unit."""
        return float(1 / scale_for(largest_of(self.values[:, :, None]), len(self.values))[0])

    @cached_property
    def reach(self) -> float:
        """Largest difference that a query can show; where the measure has no finite range, that of the scores seen."""
        return self.span if np.isfinite(self.span) else float(np.ptp(self.values))

    @cached_property
    def units(self) -> Floats:
        """The values in whole units: ``[query, system]``."""
        return np.rint(self.values / self.unit)

    def differences(self, wanted: npt.NDArray[Any] | None = None) -> Iterator[tuple[Indices, Floats]]:
        """Yield the differences of (wanted) pairs in whole units, a few pairs at a time: pairs, ``[pair, query]``.

        A difference of a single unit can come from rounding alone and counts as 0.
        """
        columns = np.ascontiguousarray(self.units.T)
        places = np.arange(self.pairs) if wanted is None else np.arange(self.pairs)[wanted]
        step = max(1, AT_ONCE // len(self.values))
        for start in range(0, len(places), step):
            pairs = places[start : start + step]
            apart = columns[self.first[pairs]] - columns[self.second[pairs]]
            apart[np.abs(apart) <= 1] = 0.0
            yield pairs, apart

    @cached_property
    def statistics(self) -> dict[str, Floats]:
        """Describe each pair: difference, deviation, effect, wins, ties, losses, and how many are not zero.

        The effect is the mean in standard deviations (Cohen's d for pairs): 0 without a difference, infinite
        where all differences are equal, NaN with a single query.
        """
        queries = len(self.values)
        names = ("difference", "deviation", "wins", "losses", "moved")
        found: dict[str, Floats] = {name: np.empty(self.pairs) for name in names}
        for pairs, apart in self.differences():
            deviation = apart.std(axis=1, ddof=min(1, queries - 1)) * self.unit
            deviation[np.ptp(apart, axis=1) <= 2] = 0.0  # equal up to rounding
            found["difference"][pairs], found["deviation"][pairs] = apart.mean(axis=1) * self.unit, deviation
            found["wins"][pairs], found["losses"][pairs] = (apart > 0).sum(axis=1), (apart < 0).sum(axis=1)
        found["moved"] = found["wins"] + found["losses"]
        found["ties"] = queries - found["moved"]
        with np.errstate(divide="ignore", invalid="ignore"):
            effect = np.where(found["difference"] == 0, 0.0, found["difference"] / found["deviation"])
        found["effect"] = effect if queries > 1 else effect * np.nan
        return found

    @property
    def mean(self) -> Floats:
        """Mean difference of each pair."""
        return self.statistics["difference"]

    @property
    def error(self) -> Floats:
        """Standard error of each mean difference; with clusters that of a ratio of their sums to their sizes."""
        if self.clusters is None:
            return self.statistics["deviation"] / np.sqrt(len(self.values))
        rows = self.flipped
        assert rows.sizes is not None
        count, sizes = len(rows.values), rows.sizes / rows.sizes.mean()
        found = np.empty(self.pairs)
        for pairs, apart in rows.differences():
            left = apart * rows.unit - self.mean[pairs, None] * sizes
            found[pairs] = np.sqrt((left**2).sum(axis=1) / (count * (count - 1)))
        return found

    @property
    def constant(self) -> npt.NDArray[np.bool_]:
        """Which pairs have equal, nonzero differences on all queries: their standard error is not informative."""
        return (self.statistics["deviation"] == 0) & (self.mean != 0)


def symmetric(family: Family, critical: float, alpha: float) -> tuple[Floats, Floats]:
    """Return the mean ± ``critical`` standard errors; where all differences are equal, the sign-flip interval.

    2 of the 2^n flips of n equal differences are as extreme as they are.
    """
    with np.errstate(invalid="ignore"):
        half = np.where(family.error == 0, 0.0, critical * family.error)
    half[family.constant] = 0.0 if 2.0 ** (1 - len(family.values)) <= alpha else np.inf
    return family.mean - half, family.mean + half


def skewed_interval(family: Family, level: float, more: float = MORE_SKEW) -> tuple[Floats, Floats]:
    """Return intervals each of whose limits is wrong with probability ``level`` ÷ 2, also for skewed differences.

    Each limit is the outer one of Student's and of Hall's (1992), which corrects t for skewness by a cubic; the
    skewness seen is taken 1 + ``more`` ÷ n times. Where all differences are equal, the limits are those of the
    sign-flip test.
    """
    from scipy import special

    queries = len(family.values)
    if queries < 2:
        return np.full(family.pairs, -np.inf), np.full(family.pairs, np.inf)
    t = float(special.stdtrit(queries - 1, 1 - level / 2))
    skew = (1 + more / queries) * skewness(family)
    below, above = (np.maximum(t, _skewed(sign * t, skew, queries) * sign) for sign in (1, -1))
    varies = family.statistics["deviation"] > 0
    known = 0.0 if 2.0 ** (1 - queries) <= level else np.inf
    low = family.mean - np.where(varies, below * family.error, known)
    return low, family.mean + np.where(varies, above * family.error, known)


def skewed_p(family: Family) -> Floats:
    """Return two-sided p-values of no mean difference, the larger of Student's and Hall's, which allows for skewness.

    NaN where all differences are equal, or there is one query.
    """
    from scipy import special

    queries = len(family.values)
    root = np.sqrt(queries)
    skew = (1 + MORE_SKEW / queries) * skewness(family)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = root * family.mean / np.where(family.statistics["deviation"] > 0, family.statistics["deviation"], np.nan)
        hall = t + skew * t**2 / (3 * root) + skew**2 * t**3 / (27 * queries) + skew / (6 * root)
    hall = np.where(np.sign(hall) == np.sign(t), np.abs(hall), 0.0)
    found: Floats = 2 * special.stdtr(queries - 1, -np.minimum(np.abs(t), hall))
    return found


def _skewed(t: float, skew: Floats, queries: int) -> Floats:
    """Return the t of skewed differences whose corrected value is ``t``: the cubic, solved."""
    root = np.sqrt(queries)
    none = np.abs(skew) < 1e-6
    g = np.where(none, 1.0, skew)
    return np.where(none, t, root * 3 / g * (np.cbrt(1 + g * (t / root - g / (6 * queries))) - 1))


def skewness(family: Family) -> Floats:
    """Return the skewness of the differences of each pair."""
    found = np.zeros(family.pairs)
    for pairs, apart in family.differences():
        centred = apart - apart.mean(axis=1, keepdims=True)
        spread = centred.std(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            found[pairs] = np.where(spread > 0, (centred**3).mean(axis=1) / spread**3, 0.0)
    return found


def agreeing(p: Floats, alpha: float, mean: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Let intervals contain 0 exactly where p is above ``alpha``: a limit that disagrees moves to 0, or next to it."""
    kept, tiny = p > alpha, np.nextafter(0.0, 1.0)
    low = np.where(kept, np.minimum(low, 0.0), np.where(mean > 0, np.maximum(low, tiny), low))
    high = np.where(kept, np.maximum(high, 0.0), np.where(mean < 0, np.minimum(high, -tiny), high))
    return low, high


def families_of(
    scores: Scores, first: Indices, second: Indices, clusters: Mapping[str, Any] | None = None
) -> list[Family]:
    """Return a family per measure, in order."""
    found: dict[int, Family] = {}
    for panel in panels(scores):
        members = None if clusters is None else numbered(scores, panel.queries, clusters)
        for m, place in enumerate(panel.places):
            low, high = scores.kinds[place].range
            values = np.ascontiguousarray(panel.values[:, :, m])
            found[place] = Family(values, panel.queries, first, second, high - low, members)
    return [found[place] for place in range(len(scores.measures))]


def on_clusters(families: Sequence[Family], are: str = "flipped") -> tuple[str, ...]:
    """Note which queries are flipped together."""
    return described([family.clusters for family in families if family.clusters is not None], are)


def wanted_pairs(scores: Scores, baselines: str | Sequence[str] | None) -> tuple[Indices, Indices]:
    """Return the requested pairs (a, b) as indices; a baseline is always b."""
    if baselines is None:
        return np.triu_indices(len(scores.systems), 1)
    names = [baselines] if isinstance(baselines, str) else baselines
    # select refuses unknown names, and takes repeated ones once
    targets = [scores.systems.index(name) for name in scores.select(systems=names).systems]
    if not targets:
        raise UsageError("baselines is an empty list; name at least one, or leave it out to compare all pairs")
    others = [i for i in range(len(scores.systems)) if i not in targets]
    if not others:
        raise UsageError("every system is a baseline; leave at least one to compare with them")
    return np.tile(others, len(targets)), np.repeat(targets, len(others))


@dataclass(frozen=True, eq=False)
class PairByQuery:
    """Two systems query by query, largest difference a − b first: ``scores[system, query]``."""

    queries: tuple[str, ...]
    scores: Floats = field(repr=False)
    differences: Floats = field(repr=False)
    mean: float
    wins: int
    ties: int
    losses: int


def pair_by_query(scores: ScoresLike, a: str, b: str, measure: str) -> PairByQuery:
    """Compare two systems on the queries for which both have a value; equal up to rounding is a tie.

    >>> from rankdev.evaluation.scores import Scores
    >>> scores = Scores(("x", "y"), ("q1", "q2"), ("P@1",), np.array([[[0.5], [1.0]], [[0.5], [0.0]]]))
    >>> found = pair_by_query(scores, "x", "y", "P@1")
    >>> found.queries, found.mean, (found.wins, found.ties, found.losses)
    (('q2', 'q1'), 0.5, (1, 1, 0))
    """
    pair = as_scores(scores, [measure]).select(systems=[a, b])
    family = families_of(pair, np.array([0]), np.array([1]))[0]
    values = family.values.T
    order = np.argsort(values[1] - values[0], kind="stable")
    wins, ties, losses = (int(family.statistics[name][0]) for name in ("wins", "ties", "losses"))
    queries = tuple(pair.queries[i] for i in family.queries[order])
    differences = (values[0] - values[1])[order]
    return PairByQuery(queries, values[:, order], differences, float(differences.mean()), wins, ties, losses)
