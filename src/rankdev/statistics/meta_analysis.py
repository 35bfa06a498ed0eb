"""Random-effects meta-analysis: differences between systems over several collections."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl
from scipy import special

from rankdev._common.arrays import Floats
from rankdev._common.checks import check_choice, check_number
from rankdev._common.result import Result
from rankdev.errors import DataError, RankdevWarning, UsageError, counted
from rankdev.evaluation.scores import Scores
from rankdev.statistics.bounded_mean import SPARSE, widened
from rankdev.statistics.contrasts import Family, agreeing, families_of, on_clusters, wanted_pairs
from rankdev.statistics.corrections import benjamini_hochberg, holm
from rankdev.statistics.panels import alike, is_several
from rankdev.statistics.significance.result import count_significant

CORRECTIONS = ("holm", "bh", "none")
FEW = 5  # collections below which their heterogeneity is poorly estimated
STEPS = 50
GRID = 60  # steps of the search for the highest likelihood
SECTIONS = 30
GOLDEN = (np.sqrt(5) - 1) / 2
ROUNDING = 1e-20  # variance below which nothing varies


@dataclass(frozen=True, eq=False)
class MetaAnalysis(Result):
    """Differences of pairs of systems over several collections.

    Attributes
    ----------
    columns : dict
        Columns of the table, one entry per pair and measure.
    parts : dict
        Columns of the table by collection.
    collections : tuple of str
        Names of the collections.
    correction : {"holm", "bh", "none"}
        Correction of the p-values over the pairs of a measure.
    alpha : float
        Level of the tests; intervals have confidence 1 − alpha.
    remarks : tuple of str
        Notes on the analysis.

    See Also
    --------
    meta_analysis : Returns it.
    """

    display: ClassVar = "rankdev.display.comparisons"

    columns: dict[str, Any] = field(repr=False)
    parts: dict[str, Any] = field(repr=False)
    collections: tuple[str, ...]
    correction: str
    alpha: float
    remarks: tuple[str, ...] = ()

    made_with = ("collections", "correction", "alpha")

    def to_polars(self) -> pl.DataFrame:
        """Return one row per pair and measure.

        Returns
        -------
        polars.DataFrame
            Columns measure, a, b, difference (mean over collections), low, high, new_low, new_high (interval of the
            true difference in a new collection), tau (standard deviation of the true differences between
            collections), i2 (fraction of the observed scatter that tau explains), q and q_p (Cochran's statistic and
            its p-value), p, p_adjusted.

        Examples
        --------
        >>> import rankdev as rd
        >>> rng = np.random.default_rng(0)
        >>> values = rng.normal([[[0.5]], [[0.4]]], 0.1, (3, 2, 40, 1))
        >>> queries = tuple(map(str, range(40)))
        >>> parts = {f"year {i}": rd.Scores(("new", "old"), queries, ("P@5",), part) for i, part in enumerate(values)}
        >>> with warnings.catch_warnings(action="ignore"):  # three collections are few
        ...     found = rd.meta_analysis(parts)
        >>> found.to_polars()["p"][0] < 0.05
        True
        """
        return pl.DataFrame(self.columns).fill_nan(None)

    def by_collection(self) -> pl.DataFrame:
        """Return one row per pair, measure and collection.

        Returns
        -------
        polars.DataFrame
            Columns measure, a, b, collection, queries, difference, low, high, weight (in the mean).

        Examples
        --------
        >>> import rankdev as rd
        >>> rng = np.random.default_rng(0)
        >>> values = rng.normal([[[0.5]], [[0.4]]], 0.1, (3, 2, 40, 1))
        >>> queries = tuple(map(str, range(40)))
        >>> parts = {f"year {i}": rd.Scores(("new", "old"), queries, ("P@5",), part) for i, part in enumerate(values)}
        >>> with warnings.catch_warnings(action="ignore"):  # three collections are few
        ...     found = rd.meta_analysis(parts)
        >>> found.by_collection()["collection"].to_list()
        ['year 0', 'year 1', 'year 2']
        """
        return pl.DataFrame(self.parts).fill_nan(None)

    def summary(self) -> pl.DataFrame:
        """Count the pairs of each measure that differ significantly.

        Returns
        -------
        polars.DataFrame
            Columns measure, pairs, significant.

        Examples
        --------
        >>> import rankdev as rd
        >>> rng = np.random.default_rng(0)
        >>> values = rng.normal([[[0.5]], [[0.4]]], 0.1, (3, 2, 40, 1))
        >>> queries = tuple(map(str, range(40)))
        >>> parts = {f"year {i}": rd.Scores(("new", "old"), queries, ("P@5",), part) for i, part in enumerate(values)}
        >>> with warnings.catch_warnings(action="ignore"):  # three collections are few
        ...     found = rd.meta_analysis(parts)
        >>> found.summary().row(0)
        ('P@5', 1, 1)
        """
        return count_significant(self.to_polars(), self.alpha)

    @property
    def significant(self) -> list[bool]:
        """Which rows of the table differ significantly."""
        return (self.to_polars()["p_adjusted"] <= self.alpha).fill_null(False).to_list()


def meta_analysis(
    collections: Mapping[str, Scores | Any],
    *,
    measures: Sequence[str] | None = None,
    baselines: str | Sequence[str] | None = None,
    correction: str = "holm",
    alpha: float = 0.05,
    clusters: Mapping[str, Any] | None = None,
) -> MetaAnalysis:
    """Combine the differences in several collections, which may truly differ, by a random-effects meta-analysis.

    REML estimates how far true differences vary between collections; weights allow for the error of that estimate, so
    that a large collection does not decide alone. Where most differences are 0, intervals allow for unseen ones.

    Parameters
    ----------
    collections : dict of str to Scores or table
        Scores of the same systems in each collection; at least two.
    measures : sequence of str, optional
        Measures to compare by. Default: all.
    baselines : str or sequence of str, optional
        Compare every other system with these only. Default: all pairs.
    correction : {"holm", "bh", "none"}
        Correction of the p-values over the pairs of a measure.
    alpha : float, default 0.05
        Level of the tests; intervals have confidence 1 − alpha.
    clusters : dict of str to str, optional
        The cluster of each query, as in :func:`significance`. The error of each collection's mean is then that
        of clusters.

    Returns
    -------
    MetaAnalysis
        Mean difference, heterogeneity and p-value of each pair and measure.

    Examples
    --------
    >>> import rankdev as rd
    >>> rng = np.random.default_rng(0)
    >>> values = rng.normal([[[0.5]], [[0.4]]], 0.1, (5, 2, 40, 1))
    >>> queries = tuple(map(str, range(40)))
    >>> parts = {f"year {i}": rd.Scores(("new", "old"), queries, ("P@5",), part) for i, part in enumerate(values)}
    >>> rd.meta_analysis(parts).summary().row(0)
    ('P@5', 1, 1)
    """
    check_choice("correction", correction, CORRECTIONS)
    if not is_several(collections):
        raise UsageError("a meta-analysis combines collections; give {name: scores}")
    alpha = check_number("alpha", alpha, 0, 1)
    parts = alike(collections, measures)
    if len(parts) < 2:
        raise UsageError("a meta-analysis needs at least two collections; give the scores of one by themselves")
    first = next(iter(parts.values()))
    one, other = wanted_pairs(first, baselines)
    families = [families_of(part, one, other, clusters) for part in parts.values()]  # [collection][measure]
    if min(len(family.values) for row in families for family in row) < 2:
        raise DataError("a meta-analysis needs at least two queries of every collection")
    drawn = [[family.flipped for family in row] for row in families]  # queries, or clusters of them
    mean, error = (
        np.stack([np.concatenate([getattr(family, name) for family in row]) for row in families])
        for name in ("mean", "error")
    )
    ties = np.stack([np.concatenate([family.statistics["ties"] for family in row]) for row in drawn])
    queries, sample = (
        np.array([[len(family.values) for family in row for _ in one] for row in part]) for part in (families, drawn)
    )
    error = _known(error, sample, ties / sample)
    found = combine(mean, error**2)
    joined = [_joined([row[m] for row in families]) for m in range(len(first.measures))]
    remarks = _remarks(len(parts), found)
    for remark in remarks:
        warnings.warn(remark, RankdevWarning, stacklevel=2)
    names = {
        "measure": [name for name in first.measures for _ in one],
        "a": [first.systems[i] for i in one] * len(first.measures),
        "b": [first.systems[i] for i in other] * len(first.measures),
    }
    table = {**names, **_corrected(found, joined, correction, alpha)}
    low, high = (mean + sign * special.stdtrit(sample - 1, 1 - alpha / 2) * error for sign in (-1, 1))
    each = {"queries": queries, "difference": mean, "low": low, "high": high, "weight": found.weight}
    repeated = {name: [word for word in words for _ in parts] for name, words in names.items()}
    rows = {**repeated, "collection": list(parts) * mean.shape[1], **{k: v.T.ravel() for k, v in each.items()}}
    for name, row in zip(parts, families, strict=True):
        remarks += tuple(f"{name}: {line}" for line in on_clusters(row, "the sample"))
    return MetaAnalysis(table, rows, tuple(parts), correction, alpha, remarks)


def _joined(families: Sequence[Family]) -> Family:
    """Join the queries of all collections; what varies is a query, or a cluster of one collection."""
    values = np.concatenate([family.values for family in families])
    members = [family.clusters for family in families if family.clusters is not None]
    starts = np.cumsum([0, *(each.max() + 1 for each in members)])
    clusters = np.concatenate([each + start for each, start in zip(members, starts, strict=False)]) if members else None
    return replace(families[0], values=values, queries=np.arange(len(values)), clusters=clusters).flipped


def _known(error: Floats, queries: Any, equal: Floats) -> Floats:
    """Repair standard errors that follow from too few queries that differ, ``[collection, pair]``.

    A collection in which all differences are equal has the mean variance of the others. Where most differences are 0,
    a collection shows too few of the others for a variance of its own: it has the pooled one.
    """
    spread = error**2 * queries
    varies = spread > 0
    usual = spread.sum(axis=0) / np.maximum(varies.sum(axis=0), 1)
    pooled = (spread * (queries - 1)).sum(axis=0) / (queries - 1).sum(axis=0)
    start, end = SPARSE
    share = np.clip((equal.mean(axis=0) - start) / (end - start), 0, 1)
    return np.sqrt(((1 - share) * np.where(varies, spread, usual) + share * pooled) / queries)


@dataclass(frozen=True, eq=False)
class Combined:
    """Estimates of a random-effects meta-analysis, an entry per pair; ``weight[collection, pair]``."""

    mean: Floats = field(repr=False)
    error: Floats = field(repr=False)
    freedom: Floats = field(repr=False)
    tau2: Floats = field(repr=False)
    i2: Floats = field(repr=False)
    q: Floats = field(repr=False)
    weight: Floats = field(repr=False)
    tau2_of_new: Floats = field(repr=False)

    @property
    def p(self) -> Floats:
        """p of no mean difference; where nothing varies at all, that of the signs."""
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(self.mean == 0, 0.0, np.abs(self.mean) / self.error)
        p = 2 * special.stdtr(self.freedom, -t)
        return np.where(np.isinf(t), 2.0 ** (1 - len(self.weight)), p)

    @property
    def q_p(self) -> Floats:
        """p of Cochran's test that collections do not differ."""
        return special.chdtrc(len(self.weight) - 1, self.q)

    def interval(self, level: Floats | float, new: bool = False) -> tuple[Floats, Floats]:
        """Bound the mean difference, or with ``new`` the true difference in a new collection."""
        spread = np.sqrt(self.error**2 + (self.tau2_of_new if new else 0.0))
        reach = special.stdtrit(self.freedom, 1 - level / 2) * spread
        return self.mean - reach, self.mean + reach


def combine(mean: Floats, variance: Floats) -> Combined:
    """Combine means with known variances, ``[collection, pair]``, by REML and weights that allow for its error.

    One large collection among small ones would get nearly all the weight where τ² happens to be estimated as 0: weights
    are those of τ² plus its standard error. The error is Hartung and Knapp's, no less than Wald's, which would be too
    small for collections that agree by chance; the degrees of freedom count the collections that weigh.
    """
    count = len(mean)
    nothing = (variance <= ROUNDING).all(axis=0)
    variance = np.maximum(variance, ROUNDING)
    tau2 = reml(mean, variance)
    uncertain = np.sqrt(2 / _information(1 / (variance + tau2)))
    weight, middle = _weighted(mean, variance, tau2 + uncertain)
    weight = weight / weight.sum(axis=0)
    scatter = (weight * (mean - middle) ** 2).sum(axis=0) / (count - 1)
    error = np.sqrt(np.maximum(scatter, (weight**2 * (variance + tau2)).sum(axis=0)))
    error[nothing & (np.ptp(mean, axis=0) == 0)] = 0.0
    freedom = np.maximum(1 / (weight**2).sum(axis=0) - 1, 1.0)
    fixed, common = _weighted(mean, variance, np.zeros_like(tau2))
    q = np.where(nothing, np.nan, (fixed * (mean - common) ** 2).sum(axis=0))
    typical = (count - 1) * fixed.sum(axis=0) / (fixed.sum(axis=0) ** 2 - (fixed**2).sum(axis=0))
    i2 = np.where(nothing, np.nan, tau2 / (tau2 + typical))
    return Combined(middle, error, freedom, tau2, i2, q, weight, np.maximum(tau2, uncertain))


def reml(mean: Floats, variance: Floats) -> Floats:
    """Return the restricted maximum-likelihood estimate of the variance between collections, the global one.

    The likelihood may have several maxima: a grid finds the highest, golden sections and Fisher scoring its top.
    """
    scale = mean.var(axis=0, ddof=1) + variance.mean(axis=0)
    steps = np.concatenate([[0.0], np.geomspace(1e-6, 4.0, GRID)])
    grid = steps[:, None] * scale
    best = np.argmax([_likelihood(mean, variance, tau2) for tau2 in grid], axis=0)
    columns = np.arange(grid.shape[1])
    low, high = grid[np.maximum(best - 1, 0), columns], grid[np.minimum(best + 1, GRID), columns]
    tau2 = _between(low, high, lambda guess: _likelihood(mean, variance, guess))
    for _ in range(STEPS):
        weight, middle = _weighted(mean, variance, tau2)
        total, squares = weight.sum(axis=0), (weight**2).sum(axis=0)
        gain = (weight**2 * (mean - middle) ** 2).sum(axis=0) - (total - squares / total)
        moved = np.clip(tau2 + gain / _information(weight), low, high)
        if (np.abs(moved - tau2) <= 1e-10 * scale).all():
            return moved
        tau2 = moved
    return tau2


def _between(low: Floats, high: Floats, likelihood: Callable[[Floats], Floats]) -> Floats:
    """Narrow the place of a maximum by golden sections."""
    for _ in range(SECTIONS):
        left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        lower = likelihood(left) >= likelihood(right)
        low, high = np.where(lower, low, left), np.where(lower, right, high)
    return (low + high) / 2


def _likelihood(mean: Floats, variance: Floats, tau2: Floats) -> Floats:
    """Return twice the restricted log-likelihood, up to a constant."""
    weight, middle = _weighted(mean, variance, tau2)
    found: Floats = np.log(weight).sum(axis=0) - np.log(weight.sum(axis=0))
    return found - (weight * (mean - middle) ** 2).sum(axis=0)


def _information(weight: Floats) -> Floats:
    """Return twice the restricted information about the variance between collections."""
    total, squares, cubes = (np.sum(weight**power, axis=0) for power in (1, 2, 3))
    information: Floats = squares - 2 * cubes / total + (squares / total) ** 2
    return information


def _weighted(mean: Floats, variance: Floats, tau2: Floats) -> tuple[Floats, Floats]:
    weight = 1 / (variance + tau2)
    return weight, (weight * mean).sum(axis=0) / weight.sum(axis=0)


def _corrected(found: Combined, joined: Sequence[Family], correction: str, alpha: float) -> dict[str, Floats]:
    """Adjust p over the pairs of each measure, with intervals that agree with it.

    Where most differences are 0, the limits are outside those of all queries together, which allow for unseen ones.
    """
    p = adjusted = found.p
    pairs = joined[0].pairs
    levels = np.full(len(joined), alpha)
    if correction != "none":
        adjust = holm if correction == "holm" else benjamini_hochberg
        adjusted = np.concatenate([adjust(part) for part in p.reshape(-1, pairs)])
        rejected = (adjusted.reshape(-1, pairs) <= alpha).sum(axis=1)
        levels = alpha / pairs * (1 if correction == "holm" else np.maximum(rejected, 1)) * np.ones(len(joined))
    level = levels.repeat(pairs)
    limits = agreeing(adjusted, alpha, found.mean, *found.interval(level))
    low, high = _widened(joined, levels, *limits)
    new_low, new_high = _widened(joined, levels, *found.interval(level, new=True))
    return {
        "difference": found.mean,
        "low": low,
        "high": high,
        "new_low": new_low,
        "new_high": new_high,
        "tau": np.sqrt(found.tau2),
        "i2": found.i2,
        "q": found.q,
        "q_p": found.q_p,
        "p": p,
        "p_adjusted": adjusted,
    }


def _widened(joined: Sequence[Family], levels: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    pairs = joined[0].pairs
    parts = [
        widened(family, float(level), low[m * pairs : (m + 1) * pairs], high[m * pairs : (m + 1) * pairs])
        for m, (family, level) in enumerate(zip(joined, levels, strict=True))
    ]
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def _remarks(count: int, found: Combined) -> tuple[str, ...]:
    few = f"{count} collections are too few to estimate well how much they differ; the intervals are wide"
    constant = int((np.isnan(found.q) & (found.mean != 0)).sum())
    same = (
        f"{counted(constant, 'pair', 'has')} the same difference on all queries of each collection: whether collections"
        " differ by more than their queries explain cannot be tested"
    )
    return (*([few] if count < FEW else []), *([same] if constant else []))
