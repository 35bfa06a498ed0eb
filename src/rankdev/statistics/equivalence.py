"""Equivalence, superiority and non-inferiority of systems, for a margin below which differences do not matter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl

from rankdev._common.arrays import Bools, Floats
from rankdev._common.checks import check_choice, check_number
from rankdev._common.result import Result
from rankdev.errors import counted, warn
from rankdev.evaluation.scores import ScoresLike
from rankdev.statistics._randomization import USUAL, Flips, inverted
from rankdev.statistics.bounded_values import (
    CAUTIOUS,
    sparse_limits,
    widened,
)
from rankdev.statistics.contrasts import Family, families_of, on_clusters, skewed_interval, wanted_pairs
from rankdev.statistics.panels import as_scores, carried, check_reach

VERDICTS = ("same", "better", "worse", "undecided")
CORRECTIONS = ("bonferroni", "none")


@dataclass(frozen=True, eq=False)
class Equivalence(Result):
    """Equivalence tests of pairs of systems.

    Attributes
    ----------
    columns : dict
        Columns of the table, one entry per pair and measure.
    one_sided : tuple of ndarray
        Limits of the 1 − 2α intervals, which decide on equivalence and non-inferiority.
    margin : float
        Largest difference that does not matter.
    alpha : float
        Level of the tests.
    correction : {"bonferroni", "none"}
        Correction for the number of pairs.
    remarks : tuple of str
        Notes on the tests and the scores.
    lower_is_better : tuple of str
        Measures of which a lower value is better.

    See Also
    --------
    equivalence : Returns it.
    """

    display: ClassVar = "rankdev.display.comparisons"

    columns: dict[str, Any] = field(repr=False)
    one_sided: tuple[Floats, Floats] = field(repr=False)
    margin: float
    alpha: float
    correction: Literal["bonferroni", "none"]
    remarks: tuple[str, ...] = ()
    lower_is_better: tuple[str, ...] = field(default=(), repr=False)

    made_with = ("margin", "alpha", "correction")

    def to_polars(self) -> pl.DataFrame:
        """Return one row per pair and measure.

        Returns
        -------
        polars.DataFrame
            Columns measure, a, b, difference, low and high (the interval that decides), ``verdict``.

        Examples
        --------
        >>> import rankdev as rd
        >>> rng = np.random.default_rng(0)
        >>> values = rng.normal(0.5, 0.05, (1, 50, 1)) + rng.normal(0, 0.02, (2, 50, 1))
        >>> scores = rd.Scores(("a", "b"), tuple(map(str, range(50))), ("P@5",), values)
        >>> rd.equivalence(scores, margin=0.02).to_polars().select("a", "b", "verdict").row(0)
        ('a', 'b', 'same')
        """
        return pl.DataFrame(self.columns)

    def summary(self) -> pl.DataFrame:
        """Count the conclusions of each measure.

        Returns
        -------
        polars.DataFrame
            Columns measure, pairs, same, better, worse, undecided.

        Examples
        --------
        >>> import rankdev as rd
        >>> rng = np.random.default_rng(0)
        >>> values = rng.normal(0.5, 0.05, (1, 50, 1)) + rng.normal(0, 0.02, (2, 50, 1))
        >>> scores = rd.Scores(("a", "b"), tuple(map(str, range(50))), ("P@5",), values)
        >>> rd.equivalence(scores, margin=0.02).summary().row(0)
        ('P@5', 1, 1, 0, 0, 0)
        """
        counts = ((pl.col("verdict") == word).sum().alias(word) for word in VERDICTS)
        return self.to_polars().group_by("measure", maintain_order=True).agg(pl.len().alias("pairs"), *counts)

    def noninferiority(self) -> pl.DataFrame:
        """Test non-inferiority: whether a is no worse than b by more than the margin, and b no worse than a.

        Returns
        -------
        polars.DataFrame
            Columns measure, a, b, low, high, a_no_worse, b_no_worse; one row per pair and measure.

        Examples
        --------
        >>> import rankdev as rd
        >>> rng = np.random.default_rng(0)
        >>> values = rng.normal(0.5, 0.05, (1, 50, 1)) + rng.normal(0, 0.02, (2, 50, 1))
        >>> scores = rd.Scores(("a", "b"), tuple(map(str, range(50))), ("P@5",), values)
        >>> rd.equivalence(scores, margin=0.02).noninferiority().select("a_no_worse", "b_no_worse").row(0)
        (True, True)
        """
        low, high = self.one_sided
        lower = np.isin(self.columns["measure"], self.lower_is_better)
        a, b = np.where(lower, [high < self.margin, low > -self.margin], [low > -self.margin, high < self.margin])
        columns = {"low": low, "high": high, "a_no_worse": a, "b_no_worse": b}
        return (
            self.to_polars().select("measure", "a", "b").with_columns(**{k: pl.Series(v) for k, v in columns.items()})
        )


def equivalence(
    scores: ScoresLike,
    *,
    margin: float,
    measures: Sequence[str] | None = None,
    baselines: str | Sequence[str] | None = None,
    alpha: float = 0.05,
    correction: Literal["bonferroni", "none"] = "bonferroni",
    clusters: Mapping[str, Any] | None = None,
) -> Equivalence:
    """Test equivalence and superiority of every pair of systems, or of every system and each baseline.

    - *same*: the 1 − 2α interval of the difference lies between −margin and margin (two one-sided tests at α);
    - *better*, *worse* (a than b): not the same, and the 1 − α interval lies above 0, or below it;
    - *undecided*: none of these.

    ``low`` and ``high`` are the limits of the interval that decides: the 1 − α interval where nothing is decided. They
    allow for skewed differences and, if 40% or more of them are equal, for unseen differences within the measure's
    range: two systems that are equal on all of 58 queries may still differ by .05 in P@1; on 59 they may not.

    Parameters
    ----------
    scores : Scores, table or path
        Scores of the systems.
    margin : float
        Largest difference that does not matter. Choose it before looking at the scores.
    measures : sequence of str, optional
        Measures to compare by. Default: all.
    baselines : str or sequence of str, optional
        Compare every other system with these only. Default: all pairs.
    alpha : float, default 0.05
        Level of each test.
    correction : {"bonferroni", "none"}
        Bonferroni divides alpha by the number of pairs of a measure.
    clusters : dict of str to str, optional
        The cluster of each query, such as its user: queries of a cluster are not independent. Intervals are then those
        of flips of whole clusters.

    Returns
    -------
    Equivalence
        A conclusion per pair and measure, with the interval it rests on.

    Examples
    --------
    >>> import rankdev as rd
    >>> rng = np.random.default_rng(0)
    >>> values = rng.normal(0.5, 0.05, (1, 50, 1)) + rng.normal(0, 0.02, (2, 50, 1))
    >>> scores = rd.Scores(("a", "b"), tuple(map(str, range(50))), ("P@5",), values)
    >>> rd.equivalence(scores, margin=0.02).to_polars()["verdict"].to_list()
    ['same']
    """
    margin, alpha = check_number("margin", margin, 0), check_number("alpha", alpha, 0, 0.5)
    check_choice("correction", correction, CORRECTIONS)
    scores = as_scores(scores, measures)
    check_reach("margin", margin, scores)
    first, second = wanted_pairs(scores, baselines)
    families = families_of(scores, first, second, clusters)
    level = alpha / (len(first) if correction == "bonferroni" else 1)
    narrow, wide = (_joined([interval(family, each) for family in families]) for each in (2 * level, level))
    same = (narrow[0] > -margin) & (narrow[1] < margin)
    low, high = np.where(same, narrow, wide)
    remarks = _remarks(scores.measures, families, level, margin, same)
    for remark in remarks:
        warn(remark)
    lower = np.repeat([name in scores.lower_is_better for name in scores.measures], len(first))
    better, worse = np.where(lower, [high < 0, low > 0], [low > 0, high < 0])
    table = {
        "measure": [name for name in scores.measures for _ in first],
        "a": [scores.systems[i] for i in first] * len(families),
        "b": [scores.systems[i] for i in second] * len(families),
        "difference": np.concatenate([family.mean for family in families]),
        "low": low,
        "high": high,
        "verdict": np.select([same, better, worse], VERDICTS[:3], VERDICTS[3]).tolist(),
    }
    return Equivalence(
        table,
        (narrow[0], narrow[1]),
        margin,
        alpha,
        correction,
        (*remarks, *on_clusters(families), *carried(scores)),
        scores.lower_is_better,
    )


def _joined(limits: list[tuple[Floats, Floats]]) -> Floats:
    return np.concatenate([np.stack(one) for one in limits], axis=1)


def interval(family: Family, level: float) -> tuple[Floats, Floats]:
    """Return intervals each of whose limits is wrong with probability ``level`` ÷ 2, also for skewed differences.

    For sparse differences they allow for unseen ones, up to the measure's range. Those of clusters are those of the
    sign-flip test, however unequal they are.
    """
    rows = family.flipped
    if family.clusters is not None:
        return widened(rows, level, *inverted(Flips(rows, USUAL, seed=0), level), CAUTIOUS)
    return widened(rows, level, *skewed_interval(rows, level), CAUTIOUS)


def _remarks(measures: Sequence[str], families: list[Family], level: float, margin: float, same: Bools) -> list[str]:
    """Note the pairs that are equal on all queries, but on too few of them for the margin; and unknown ranges."""
    remarks = []
    for m, (measure, family) in enumerate(zip(measures, families, strict=True)):
        here = same[m * family.pairs : (m + 1) * family.pairs]
        equal = (family.statistics["deviation"] == 0) & (np.abs(family.mean) < margin)
        if (equal & ~here).any():
            nearest = float(np.abs(family.mean[equal & ~here]).min())
            share = (margin - nearest) / max(family.reach - nearest, margin)
            needed = int(np.ceil(np.log(level) / np.log1p(-share))) if share < 1 else 2
            pairs = counted(int((equal & ~here).sum()), "pair", "has")
            remarks.append(
                f"{measure}: {pairs} the same difference on all {counted(len(family.values), 'query')}, which are too"
                f" few to exclude unseen ones beyond the margin; {needed:,} such queries would be enough"
            )
        if not np.isfinite(family.span) and len(sparse_limits(family, level)[0]):
            remarks.append(
                f"{measure} has no known range: if most differences are equal, the interval allows for unseen ones only"
                f" up to {family.reach:.3g}, the range of the observed scores"
            )
    return remarks
