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
from rankdev.errors import DataError, Note, UsageError, warn
from rankdev.evaluation.scores import ScoresLike
from rankdev.statistics._random_effects import Combined, combine
from rankdev.statistics.bounded_values import SPARSE, widened
from rankdev.statistics.contrasts import Family, agreeing, families_of, wanted_pairs
from rankdev.statistics.corrections import benjamini_hochberg, holm
from rankdev.statistics.panels import alike, described, is_several
from rankdev.statistics.significance.result import PairTests

CORRECTIONS = ("holm", "bh", "none")
FEW = 5  # collections below which their heterogeneity is poorly estimated


@dataclass(frozen=True, eq=False)
class MetaAnalysis(PairTests):
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
        >>> values = rng.normal([[[0.5]], [[0.4]]], 0.1, (5, 2, 40, 1))
        >>> queries = tuple(map(str, range(40)))
        >>> parts = {f"year {i}": rd.Scores(("new", "old"), queries, ("P@5",), part) for i, part in enumerate(values)}
        >>> rd.meta_analysis(parts).to_polars()["p"][0] < 0.05
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
        >>> values = rng.normal([[[0.5]], [[0.4]]], 0.1, (5, 2, 40, 1))
        >>> queries = tuple(map(str, range(40)))
        >>> parts = {f"year {i}": rd.Scores(("new", "old"), queries, ("P@5",), part) for i, part in enumerate(values)}
        >>> rd.meta_analysis(parts).by_collection()["collection"].to_list()
        ['year 0', 'year 1', 'year 2', 'year 3', 'year 4']
        """
        return pl.DataFrame(self.parts).fill_nan(None)


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
    that a large collection does not decide alone. Where most differences are 0, intervals allow for unseen ones.

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
    alpha = check_number("alpha", alpha, 0, 1)
    parts = alike(collections, measures)
    if len(parts) < 2:
        raise UsageError("too-few", what="a meta-analysis", least=2, unit="collection", count=len(parts))
    first = next(iter(parts.values()))
    one, other = wanted_pairs(first, baselines)
    families = [families_of(part, one, other, clusters) for part in parts.values()]  # [collection][measure]
    fewest = min(len(family.values) for row in families for family in row)
    if fewest < 2:
        raise DataError("too-few", what="each collection of a meta-analysis", least=2, unit="query", count=fewest)
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
        warn(remark)
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
        members = [family.clusters for family in row if family.clusters is not None]
        remarks += tuple(note.at(collection=name) for note in described(members, "the sample"))
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


def _remarks(count: int, found: Combined) -> tuple[Note, ...]:
    constant = int((np.isnan(found.q) & (found.mean != 0)).sum())
    few = [Note("few-collections", count=count)] if count < FEW else []
    return (*few, *([Note("constant-pairs", count=constant)] if constant else []))
