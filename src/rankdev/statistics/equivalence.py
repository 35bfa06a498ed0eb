"""Are two systems the same for all that matters? Equivalence, superiority and non-inferiority within a margin."""

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
    """Verdicts on pairs of systems; ``columns`` holds the table, one entry per pair and measure.

    ``one_sided`` are the ends of the intervals that decide about sameness and non-inferiority.
    """

    display: ClassVar = "rankdev.display.comparisons"

    columns: dict[str, Any] = field(repr=False)
    one_sided: tuple[Floats, Floats] = field(repr=False)
    margin: float
    alpha: float
    correction: Literal["bonferroni", "none"]
    remarks: tuple[str, ...] = ()

    made_with = ("margin", "alpha", "correction")

    def to_polars(self) -> pl.DataFrame:
        """One row per pair and measure: measure, a, b, difference, the interval that decides, and the verdict."""
        return pl.DataFrame(self.columns)

    def summary(self) -> pl.DataFrame:
        """One row per measure: measure, pairs, and how many of them got each verdict."""
        counts = ((pl.col("verdict") == word).sum().alias(word) for word in VERDICTS)
        return self.to_polars().group_by("measure", maintain_order=True).agg(pl.len().alias("pairs"), *counts)

    def noninferiority(self) -> pl.DataFrame:
        """One row per pair and measure: measure, a, b, low, high, and whether a is no worse than b, and b than a."""
        low, high = self.one_sided
        columns = {"low": low, "high": high, "a_no_worse": low > -self.margin, "b_no_worse": high < self.margin}
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
    """Judge every pair of systems, or every system against each baseline, by a margin below which nothing matters.

    - *same*: the 1 − 2α interval of the difference lies between −margin and margin (two one-sided tests at α);
    - *better*, *worse* (a than b): not the same, and the 1 − α interval lies above 0, or below it;
    - *undecided*: none of these.

    ``low`` and ``high`` are the ends of the interval that decided, of the 1 − α one where nothing is decided.
    Bonferroni's correction divides α by the number of pairs of a measure. The margin must be chosen before looking.

    >>> from rankdev.evaluation.scores import Scores
    >>> rng = np.random.default_rng(0)
    >>> values = rng.normal(0.5, 0.05, (1, 50, 1)) + rng.normal(0, 0.02, (2, 50, 1))
    >>> scores = Scores(("a", "b"), tuple(map(str, range(50))), ("P@5",), values)
    >>> equivalence(scores, margin=0.02).to_polars()["verdict"].to_list()
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
    table = {
        "measure": [name for name in scores.measures for _ in first],
        "a": [scores.systems[i] for i in first] * len(families),
        "b": [scores.systems[i] for i in second] * len(families),
        "difference": np.concatenate([family.mean for family in families]),
        "low": low,
        "high": high,
        "verdict": np.select([same, low > 0, high < 0], VERDICTS[:3], VERDICTS[3]).tolist(),
    }
    return Equivalence(table, (narrow[0], narrow[1]), margin, alpha, correction, (*remarks, *carried(scores)))


def _joined(ends: list[tuple[Floats, Floats]]) -> Floats:
    return np.concatenate([np.stack(one) for one in ends], axis=1)


def interval(family: Family, level: float) -> tuple[Floats, Floats]:
    """Give intervals whose every end is wrong with probability ``level`` ÷ 2, for skewed differences too.

    Each end is the outer one of Student's and of Hall's (1992), which corrects t for skewness by a cubic. Where all
    differences are equal, what sign flips can say.
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
    """Give the t of skewed differences whose corrected value is ``t``: the cubic, solved."""
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
    """Say where equal differences of few queries decide nothing."""
    silent = sum(
        int((family.statistics["deviation"] == 0).sum())
        for family in families
        if 2.0 ** (1 - len(family.values)) > 2 * level
    )
    if not silent:
        return ()
    return (f"{counted(silent, 'pair', 'has')} the same difference on all of too few queries to decide anything",)
