"""Random-effects meta-analysis: differences between systems over several collections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl
from scipy import special

from rankdev._common.arrays import Floats
from rankdev._common.checks import check_choice, check_number
from rankdev._common.view import Dot, Dots, Tab, View
from rankdev.errors import DataError, Note, UsageError, printable, warn
from rankdev.evaluation.scores import ScoresLike
from rankdev.statistics.decision import refused, with_limits
from rankdev.statistics.design import Design
from rankdev.statistics.inputs import alike, is_several, wanted_pairs
from rankdev.statistics.pairs import Family
from rankdev.statistics.significance import PairTests
from rankdev.statistics.tests import CORRECTIONS, Tested, adjust, fewest_p

FEW = 5  # collections below which their heterogeneity is poorly estimated
GRID = 60  # steps of the search for the highest likelihood
HALVINGS = 100
ROUNDING = 1e-20  # variance below which nothing varies


@dataclass(frozen=True, eq=False)
class MetaAnalysis(PairTests):
    """Differences of pairs of systems over several collections.

    Attributes
    ----------
    frame : polars.DataFrame
        The table of :meth:`to_polars`.
    parts : polars.DataFrame
        The table of :meth:`by_collection`.
    collections : tuple of str
        Names of the collections.
    correction : {"holm", "bh", "none"}
        Correction of the p-values over the pairs of a measure.
    alpha : float
        Level of the tests; intervals have confidence 1 − alpha.
    remarks : tuple of str
        Notes on the analysis.
    problems : tuple of str
        What is wrong with the data, so that nothing is decided.

    See Also
    --------
    meta_analysis : Returns it.
    """

    view: ClassVar = View(
        [
            Tab(
                "Differences in {measure} over {collections:collection}",
                ("a", "b", "difference", "low", "p_adjusted", "new_low", "i2"),
                by="measure",
            )
        ],
        "compare",
        opening=["{conclusion}"],
        closing=["Random effects (REML, weights that allow for its error); correction of p: {correction}."],
        more={"collections": "by_collection"},
        figure=Dots(
            ["a", "b", "collection"],
            [Dot("difference", "difference in {measure}, {level} interval")],
            frame="_forest",
            zero=True,
            group="group",
            facets=False,
        ),
    )

    frame: pl.DataFrame = field(repr=False)
    parts: pl.DataFrame = field(repr=False)
    collections: tuple[str, ...]
    correction: str
    alpha: float
    remarks: tuple[str, ...] = ()
    problems: tuple[Note, ...] = ()

    made_with = ("collections", "correction", "alpha")

    @property
    def conclusion(self) -> str:
        """For each measure the difference of a pair, or how many pairs differ; or why nothing is decided."""
        if self.problems:
            return refused(self.problems)
        parts = self.frame.partition_by("measure", maintain_order=True)
        return "\n".join(f"Over {len(self.collections)} collections, {self._found(part)}." for part in parts)

    def _found(self, rows: pl.DataFrame) -> str:
        row = rows.row(0, named=True)
        if rows.height == 1:
            apart = with_limits(row["difference"], row["low"], row["high"])
            return f"{printable(row['a'])} − {printable(row['b'])} is {apart} in {row['measure']}"
        clear = int((rows["p_adjusted"] <= self.alpha).sum())
        return f"{clear} of {rows.height} pairs differ significantly in {row['measure']}"

    def _forest(self) -> pl.DataFrame:
        """Return the differences of each pair in each collection, and over all."""
        names = ("measure", "a", "b", "difference", "low", "high", "collection", "group")
        over = self.to_polars().with_columns(pl.lit("all").alias("collection"), pl.lit(2).alias("group"))
        each = self.by_collection().with_columns(pl.lit(1).alias("group"))
        rows = pl.concat([each.select(names), over.select(names)], how="vertical_relaxed")
        together = rows.group_by("measure", "a", "b", maintain_order=True).agg(pl.all())
        return together.explode(names[3:]).select(names)

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
        >>> values = rng.normal([[[0.5]], [[0.4]]], 0.1, (5, 2, 40, 1))
        >>> queries = tuple(map(str, range(40)))
        >>> parts = {f"year {i}": rd.Scores(("new", "old"), queries, ("P@5",), part) for i, part in enumerate(values)}
        >>> rd.meta_analysis(parts).to_polars()["p"][0] < 0.05
        True
        """
        return self.frame

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
        >>> values = rng.normal([[[0.5]], [[0.4]]], 0.1, (5, 2, 40, 1))
        >>> queries = tuple(map(str, range(40)))
        >>> parts = {f"year {i}": rd.Scores(("new", "old"), queries, ("P@5",), part) for i, part in enumerate(values)}
        >>> rd.meta_analysis(parts).by_collection()["collection"].to_list()
        ['year 0', 'year 1', 'year 2', 'year 3', 'year 4']
        """
        return self.parts


def meta_analysis(
    collections: Mapping[str, ScoresLike],
    *,
    measures: Sequence[str] | None = None,
    baselines: str | Sequence[str] | None = None,
    correction: str = "holm",
    alpha: float = 0.05,
    clusters: Mapping[str, Any] | None = None,
) -> MetaAnalysis:
    """Combine the differences in several collections, which may truly differ, by a random-effects meta-analysis.

    REML estimates how far true differences vary between collections; weights allow for the error of that estimate, so
    that a large collection does not decide alone. Where few queries differ, intervals allow for unseen ones.

    Parameters
    ----------
    collections : dict of str to Scores, table or path
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
        raise UsageError("bad-value", name="collections", value=collections, expected="{name: scores}")
    if len(collections) < 2:
        raise UsageError("too-few", what="a meta-analysis", least=2, unit="collection", count=len(collections))
    alpha = check_number("alpha", alpha, 0, 1)
    parts = alike(collections, measures)
    scores = next(iter(parts.values()))
    first, second = wanted_pairs(scores, baselines)
    designs = {name: Design.of(part, clusters=clusters) for name, part in parts.items()}
    families = [design.families(baselines) for design in designs.values()]  # [collection][measure]
    for name, row in zip(parts, families, strict=True):
        if (fewest := min(len(family.values) for family in row)) < 2:
            raise DataError("too-few", collection=name, what="a meta-analysis", least=2, unit="query", count=fewest)
    table, rows, remarks = [], [], [Note("few-collections", count=len(parts))] if len(parts) < FEW else []
    for m, measure in enumerate(scores.measures):
        own = [row[m] for row in families]
        mean, (error, freedom) = np.stack([family.mean for family in own]), _errors(own, alpha)
        found = combine(mean, error**2)
        constant = int((np.isnan(found.q) & (found.mean != 0)).sum())
        remarks += [Note("constant-pairs", measure=measure, count=constant)] if constant else []
        names = {
            "measure": [measure] * len(first),
            "a": [scores.systems[i] for i in first],
            "b": [scores.systems[i] for i in second],
        }
        table.append(pl.DataFrame({**names, **_corrected(found, _joined(own), correction, alpha)}))
        half = special.stdtrit(freedom, 1 - alpha / 2) * error
        queries = np.array([[len(family.values)] * len(first) for family in own])
        each = {"queries": queries, "difference": mean, "low": mean - half, "high": mean + half, "weight": found.weight}
        repeated = {name: [word for word in words for _ in parts] for name, words in names.items()}
        columns = {name: values.T.ravel() for name, values in each.items()}
        rows.append(pl.DataFrame({**repeated, "collection": list(parts) * len(first), **columns}))
    for remark in remarks:
        warn(remark)
    for name, design in designs.items():
        remarks += [note.at(collection=name) for note in design.on_clusters("the sample")]
    whole, each_part = (pl.concat(part).fill_nan(None) for part in (table, rows))
    wrong = tuple(note.at(collection=name) for name, design in designs.items() for note in design.problems)
    return MetaAnalysis(whole, each_part, tuple(parts), correction, alpha, tuple(remarks), wrong)


def _joined(families: Sequence[Family]) -> Family:
    """Join the queries of all collections; what varies is a query, or a cluster of one collection."""
    values = np.concatenate([family.values for family in families])
    members = [family.clusters for family in families if family.clusters is not None]
    starts = np.cumsum([0, *(each.max() + 1 for each in members)])
    clusters = np.concatenate([each + start for each, start in zip(members, starts, strict=False)]) if members else None
    return replace(families[0], values=values, queries=np.arange(len(values)), clusters=clusters)


def _errors(families: Sequence[Family], alpha: float) -> tuple[Floats, Floats]:
    """Return standard errors and degrees of freedom, ``[collection, pair]``.

    A collection in which too few queries differ for any sign test to reject, or all by the same, shows no variance of
    its own: it has that of all collections together, weighted by their degrees of freedom.
    """
    error, freedom = (np.stack(part) for part in zip(*(family.student for family in families), strict=True))
    few = (np.stack([fewest_p(family) for family in families]) > alpha) | (error == 0)
    queries = np.array([[len(family.rows.values)] for family in families])
    pooled = (error**2 * queries * freedom).sum(axis=0) / freedom.sum(axis=0)
    return np.where(few, np.sqrt(pooled / queries), error), freedom


def _corrected(found: Combined, joined: Family, correction: str, alpha: float) -> dict[str, Floats]:
    """Adjust p over the pairs of a measure, with intervals that agree with it.

    Where few of all queries differ, limits reach as far as for a single collection of all of them.
    """
    tested = Tested(np.maximum(found.p, fewest_p(joined)), found.interval)
    adjusted, level = adjust(tested.p, correction, alpha)
    low, high = tested.interval(joined, level)
    new_low, new_high = found.interval(level, new=True)
    return {
        "difference": found.mean,
        "low": low,
        "high": high,
        "new_low": np.maximum(np.minimum(new_low, low), -joined.span),
        "new_high": np.minimum(np.maximum(new_high, high), joined.span),
        "tau": np.sqrt(found.tau2),
        "i2": found.i2,
        "q": found.q,
        "q_p": found.q_p,
        "p": tested.p,
        "p_adjusted": adjusted,
    }


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
        return np.where(self.error == 0, np.maximum(self.of_signs, t == 0), 2 * special.stdtr(self.freedom, -t))

    @property
    def of_signs(self) -> float:
        """Smallest p that a sign test of the collections could reach."""
        return float(2.0 ** (1 - len(self.weight)))

    @property
    def q_p(self) -> Floats:
        """p of Cochran's test that collections do not differ."""
        return special.chdtrc(len(self.weight) - 1, self.q)

    def interval(self, level: Floats | float, new: bool = False) -> tuple[Floats, Floats]:
        """Bound the mean difference, or with ``new`` the true difference in a new collection.

        Where nothing varies, and collections are too few for a sign test to reject, there are no limits.
        """
        spread = np.sqrt(self.error**2 + (self.tau2_of_new if new else 0.0))
        unlimited = (self.error == 0) & (self.mean != 0) & (self.of_signs > level)
        reach = np.where(unlimited, np.inf, special.stdtrit(self.freedom, 1 - level / 2) * spread)
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
    error[nothing & (np.ptp(mean, axis=0) ** 2 <= ROUNDING)] = 0.0
    freedom = np.maximum(1 / (weight**2).sum(axis=0) - 1, 1.0)
    fixed, common = _weighted(mean, variance, np.zeros_like(tau2))
    q = np.where(nothing, np.nan, (fixed * (mean - common) ** 2).sum(axis=0))
    typical = (count - 1) * fixed.sum(axis=0) / (fixed.sum(axis=0) ** 2 - (fixed**2).sum(axis=0))
    i2 = np.where(nothing, np.nan, tau2 / (tau2 + typical))
    return Combined(middle, error, freedom, tau2, i2, q, weight, np.maximum(tau2, uncertain))


def reml(mean: Floats, variance: Floats) -> Floats:
    """Return the restricted maximum-likelihood estimate of the variance between collections, the global one.

    The likelihood may have several maxima: a grid finds the highest, halving where its slope turns.
    """
    scale = mean.var(axis=0, ddof=1) + variance.mean(axis=0)
    steps = np.concatenate([[0.0], np.geomspace(1e-6, 4.0, GRID)])
    grid = steps[:, None] * scale
    best = np.argmax([_likelihood(mean, variance, tau2) for tau2 in grid], axis=0)
    columns = np.arange(grid.shape[1])
    low, high = grid[np.maximum(best - 1, 0), columns], grid[np.minimum(best + 1, GRID), columns]
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        rises = _slope(mean, variance, middle) > 0
        low, high = np.where(rises, middle, low), np.where(rises, high, middle)
    return low


def _slope(mean: Floats, variance: Floats, tau2: Floats) -> Floats:
    """Return the derivative of :func:`_likelihood`."""
    weight, middle = _weighted(mean, variance, tau2)
    total, squares = weight.sum(axis=0), (weight**2).sum(axis=0)
    found: Floats = (weight**2 * (mean - middle) ** 2).sum(axis=0) - (total - squares / total)
    return found


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
