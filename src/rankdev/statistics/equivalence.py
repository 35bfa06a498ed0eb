"""Equivalence, superiority and non-inferiority of systems, for a margin below which differences do not matter."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
from scipy import special

from rankdev._common.arrays import Floats
from rankdev._common.checks import check_choice, check_number
from rankdev._common.result import Result
from rankdev.errors import RankdevWarning, counted
from rankdev.evaluation.scores import ScoresLike
from rankdev.statistics.panels import Family, as_scores, carried, families_of, wanted_pairs

VERDICTS = ("same", "better", "worse", "undecided")
CORRECTIONS = ("bonferroni", "none")
MORE_SKEW = 8.0  # few queries show too little of the skewness; this much ÷ n is added, by simulation


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
) -> Equivalence:
    """Test equivalence and superiority of every pair of systems, or of every system and each baseline.

    - *same*: the 1 − 2α interval of the difference lies between −margin and margin (two one-sided tests at α);
    - *better*, *worse* (a than b): not the same, and the 1 − α interval lies above 0, or below it;
    - *undecided*: none of these.

    ``low`` and ``high`` are the limits of the interval that decides: the 1 − α interval where nothing is decided.

    Parameters
    ----------
    scores : Scores or table
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
    first, second = wanted_pairs(scores, baselines)
    families = families_of(scores, first, second)
    level = alpha / (len(first) if correction == "bonferroni" else 1)
    narrow, wide = (_joined([interval(family, each) for family in families]) for each in (2 * level, level))
    same = (narrow[0] > -margin) & (narrow[1] < margin)
    low, high = np.where(same, narrow, wide)
    remarks = _remarks(families, level)
    for remark in remarks:
        warnings.warn(remark, RankdevWarning, stacklevel=2)
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
        (*remarks, *carried(scores)),
        scores.lower_is_better,
    )


def _joined(limits: list[tuple[Floats, Floats]]) -> Floats:
    return np.concatenate([np.stack(one) for one in limits], axis=1)


def interval(family: Family, level: float) -> tuple[Floats, Floats]:
    """Return intervals each of whose limits is wrong with probability ``level`` ÷ 2, also for skewed differences.

    Each limit is the outer one of Student's and of Hall's (1992), which corrects t for skewness by a cubic. Where all
    differences are equal, the limits are those of the sign-flip test.
    """
    queries = len(family.values)
    if queries < 2:
        return np.full(family.pairs, -np.inf), np.full(family.pairs, np.inf)
    t = float(special.stdtrit(queries - 1, 1 - level / 2))
    skewness = (1 + MORE_SKEW / queries) * _skewness(family)
    below, above = (np.maximum(t, _skewed(sign * t, skewness, queries) * sign) for sign in (1, -1))
    varies = family.statistics["deviation"] > 0
    known = 0.0 if 2.0 ** (1 - queries) <= level else np.inf
    low = family.mean - np.where(varies, below * family.error, known)
    return low, family.mean + np.where(varies, above * family.error, known)


def _skewed(t: float, skewness: Floats, queries: int) -> Floats:
    """Return the t of skewed differences whose corrected value is ``t``: the cubic, solved."""
    root = np.sqrt(queries)
    none = np.abs(skewness) < 1e-6
    g = np.where(none, 1.0, skewness)
    return np.where(none, t, root * 3 / g * (np.cbrt(1 + g * (t / root - g / (6 * queries))) - 1))


def _skewness(family: Family) -> Floats:
    found = np.zeros(family.pairs)
    for pairs, apart in family.differences():
        centred = apart - apart.mean(axis=1, keepdims=True)
        spread = centred.std(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            found[pairs] = np.where(spread > 0, (centred**3).mean(axis=1) / spread**3, 0.0)
    return found


def _remarks(families: list[Family], level: float) -> tuple[str, ...]:
    """Note the pairs with equal differences on too few queries for any decision."""
    undecidable = sum(
        int((family.statistics["deviation"] == 0).sum())
        for family in families
        if 2.0 ** (1 - len(family.values)) > 2 * level
    )
    if not undecidable:
        return ()
    return (f"{counted(undecidable, 'pair', 'has')} the same difference on all queries, which are too few to decide",)
