"""Random-effects meta-analysis: differences between systems over several collections."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import polars as pl
from scipy import special

from rankdev._common.arrays import Floats
from rankdev._common.checks import check_choice, check_number
from rankdev._common.result import Result
from rankdev.errors import DataError, RankdevWarning, UsageError
from rankdev.evaluation.scores import Scores
from rankdev.statistics.corrections import benjamini_hochberg, holm
from rankdev.statistics.panels import agreeing, alike, families_of, is_several, wanted_pairs

CORRECTIONS = ("holm", "bh", "none")
FEW = 5  # collections below which their heterogeneity is poorly estimated
STEPS = 200
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
        significant = (pl.col("p_adjusted") <= self.alpha).sum().alias("significant")
        return self.to_polars().group_by("measure", maintain_order=True).agg(pl.len().alias("pairs"), significant)

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
) -> MetaAnalysis:
    """Combine the differences in several collections, which may truly differ, by a random-effects meta-analysis.

    REML estimates how far true differences vary between collections; the interval is Hartung and Knapp's.

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
    families = [families_of(part, one, other) for part in parts.values()]  # [collection][measure]
    if min(len(family.values) for row in families for family in row) < 2:
        raise DataError("a meta-analysis needs at least two queries of every collection")
    mean = np.stack([np.concatenate([family.mean for family in row]) for row in families])
    queries = np.array([[len(family.values) for family in row for _ in one] for row in families])
    error = _known(np.stack([np.concatenate([family.error for family in row]) for row in families]), queries)
    found = combine(mean, error**2)
    remarks = _remarks(len(parts))
    for remark in remarks:
        warnings.warn(remark, RankdevWarning, stacklevel=2)
    names = {
        "measure": [name for name in first.measures for _ in one],
        "a": [first.systems[i] for i in one] * len(first.measures),
        "b": [first.systems[i] for i in other] * len(first.measures),
    }
    table = {**names, **_corrected(found, len(one), correction, alpha)}
    low, high = (mean + sign * special.stdtrit(queries - 1, 1 - alpha / 2) * error for sign in (-1, 1))
    each = {"queries": queries, "difference": mean, "low": low, "high": high, "weight": found.weight}
    repeated = {name: [word for word in words for _ in parts] for name, words in names.items()}
    rows = {**repeated, "collection": list(parts) * mean.shape[1], **{k: v.T.ravel() for k, v in each.items()}}
    return MetaAnalysis(table, rows, tuple(parts), correction, alpha, remarks)


def _known(error: Floats, queries: Any) -> Floats:
    """Replace the error of a collection in which all differences are equal by that of the others' mean variance."""
    spread = error**2 * queries
    varies = spread > 0
    usual = spread.sum(axis=0) / np.maximum(varies.sum(axis=0), 1)
    return np.sqrt(np.where(varies, spread, usual) / queries)


@dataclass(frozen=True, eq=False)
class Combined:
    """Estimates of a random-effects meta-analysis, an entry per pair; ``weight[collection, pair]``."""

    mean: Floats = field(repr=False)
    error: Floats = field(repr=False)
    tau2: Floats = field(repr=False)
    i2: Floats = field(repr=False)
    q: Floats = field(repr=False)
    weight: Floats = field(repr=False)
    tau2_of_new: Floats = field(repr=False)

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the mean."""
        return len(self.weight) - 1

    @property
    def p(self) -> Floats:
        """p of no mean difference; where nothing varies at all, that of the signs."""
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(self.mean == 0, 0.0, np.abs(self.mean) / self.error)
        p = 2 * special.stdtr(self.freedom, -t)
        return np.where(np.isinf(t), 2.0**-self.freedom, p)

    def interval(self, level: Floats | float, new: bool = False) -> tuple[Floats, Floats]:
        """Bound the mean difference, or with ``new`` the true difference in a new collection."""
        spread = np.sqrt(self.error**2 + (self.tau2_of_new if new else 0.0))
        reach = special.stdtrit(self.freedom, 1 - level / 2) * spread
        return self.mean - reach, self.mean + reach


def combine(mean: Floats, variance: Floats) -> Combined:
    """Combine means with known variances, ``[collection, pair]``, by REML and Hartung and Knapp's standard error."""
    count = len(mean)
    variance = np.maximum(variance, ROUNDING)
    tau2 = reml(mean, variance)
    weight, middle = _weighted(mean, variance, tau2)
    total = weight.sum(axis=0)
    # Hartung and Knapp's; no less than Wald's, which would be too small for collections that agree by chance
    error = np.sqrt(np.maximum((weight * (mean - middle) ** 2).sum(axis=0) / (count - 1), 1.0) / total)
    error[(variance <= ROUNDING).all(axis=0) & (np.ptp(mean, axis=0) == 0)] = 0.0
    fixed, common = _weighted(mean, variance, np.zeros_like(tau2))
    q = (fixed * (mean - common) ** 2).sum(axis=0)
    typical = (count - 1) * fixed.sum(axis=0) / (fixed.sum(axis=0) ** 2 - (fixed**2).sum(axis=0))
    # uncertainty of an estimated variance near 0; half its standard error suffices in simulations
    floor = np.sqrt(2 / _information(weight)) / 2
    return Combined(middle, error, tau2, tau2 / (tau2 + typical), q, weight / total, np.maximum(tau2, floor))


def reml(mean: Floats, variance: Floats) -> Floats:
    """Return the restricted maximum-likelihood estimate of the variance between collections, by Fisher scoring."""
    tau2 = np.maximum(mean.var(axis=0, ddof=1) - variance.mean(axis=0), 0.0)
    scale = mean.var(axis=0, ddof=1) + variance.mean(axis=0)
    for _ in range(STEPS):
        weight, middle = _weighted(mean, variance, tau2)
        total, squares = weight.sum(axis=0), (weight**2).sum(axis=0)
        gain = (weight**2 * (mean - middle) ** 2).sum(axis=0) - (total - squares / total)
        moved = np.maximum(tau2 + gain / _information(weight), 0.0)
        if (np.abs(moved - tau2) <= 1e-10 * scale).all():
            return moved
        tau2 = moved
    return tau2


def _information(weight: Floats) -> Floats:
    """Return twice the restricted information about the variance between collections."""
    total, squares, cubes = (np.sum(weight**power, axis=0) for power in (1, 2, 3))
    information: Floats = squares - 2 * cubes / total + (squares / total) ** 2
    return information


def _weighted(mean: Floats, variance: Floats, tau2: Floats) -> tuple[Floats, Floats]:
    weight = 1 / (variance + tau2)
    return weight, (weight * mean).sum(axis=0) / weight.sum(axis=0)


def _corrected(found: Combined, pairs: int, correction: str, alpha: float) -> dict[str, Floats]:
    """Adjust p over the pairs of each measure, with intervals that agree with it."""
    p = adjusted = found.p
    level: Any = alpha
    if correction != "none":
        adjust = holm if correction == "holm" else benjamini_hochberg
        adjusted = np.concatenate([adjust(part) for part in p.reshape(-1, pairs)])
        rejected = (adjusted.reshape(-1, pairs) <= alpha).sum(axis=1).repeat(pairs)
        level = alpha / pairs * (1 if correction == "holm" else np.maximum(rejected, 1))
    low, high = agreeing(adjusted, alpha, found.mean, *found.interval(level))
    new_low, new_high = found.interval(level, new=True)
    return {
        "difference": found.mean,
        "low": low,
        "high": high,
        "new_low": new_low,
        "new_high": new_high,
        "tau": np.sqrt(found.tau2),
        "i2": found.i2,
        "q": found.q,
        "q_p": special.chdtrc(found.freedom, found.q),
        "p": p,
        "p_adjusted": adjusted,
    }


def _remarks(count: int) -> tuple[str, ...]:
    if count >= FEW:
        return ()
    return (f"{count} collections are too few to estimate well how much they differ; the intervals are wide",)
