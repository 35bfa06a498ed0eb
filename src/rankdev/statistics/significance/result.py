"""The tests of pairs of systems, as a result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl

from rankdev._common.arrays import Floats
from rankdev._common.result import Result
from rankdev.statistics._effect_sizes import small_sample
from rankdev.statistics.segments import ALL
from rankdev.statistics.significance.discrimination import DiscriminativePower


class PairTests(Result):
    """Tests of pairs of systems: a table with adjusted p-values, and the level they are compared with."""

    alpha: float

    def summary(self) -> pl.DataFrame:
        """Count the pairs of each measure that differ significantly.

        Returns
        -------
        polars.DataFrame
            Columns measure, pairs, significant; with segments, the segment first.

        Examples
        --------
        >>> import numpy as np
        >>> import rankdev as rd
        >>> values = np.random.default_rng(0).normal([[[0.0]], [[0.1]], [[0.9]]], 1, (3, 40, 1))
        >>> scores = rd.Scores(("a", "b", "c"), tuple(map(str, range(40))), ("P@5",), values)
        >>> rd.significance(scores).summary().row(0)
        ('P@5', 3, 1)
        """
        table = self.to_polars()
        names = ("segment", "measure") if "segment" in table.columns else ("measure",)
        significant = (pl.col("p_adjusted") <= self.alpha).sum().alias("significant")
        return table.group_by(*names, maintain_order=True).agg(pl.len().alias("pairs"), significant)

    @property
    def significant(self) -> list[bool]:
        """Which rows of the table differ significantly."""
        return (self.to_polars()["p_adjusted"] <= self.alpha).fill_null(False).to_list()


@dataclass(frozen=True, eq=False, kw_only=True)
class Significance(PairTests):
    """Significance tests of pairs of systems.

    Attributes
    ----------
    columns : dict
        Columns of the table, one entry per pair and measure.
    needed : ndarray
        For each row of the table, the difference that would just be significant.
    test : str
        Name of the test.
    correction : str
        Correction for multiple comparisons.
    family : {"measure", "all"}
        Comparisons that are corrected together.
    permutations : int
        Sign flips that were drawn at random for p-values; 0 where none were.
    alpha : float
        Level of the tests; intervals have confidence 1 − alpha.
    seed : int
        Seed of the flips.
    enumerated : int
        Rows of the table whose p-values are exact, because all sign flips were enumerated.
    interval_permutations : int
        Sign flips that were drawn at random for intervals; 0 where none were.
    clusters : int, optional
        Clusters of queries that were flipped whole.
    replicates : dict of str to int, optional
        Runs of each system.
    remarks : tuple of str
        Notes on the tests and the scores.
    lower_is_better : tuple of str
        Measures of which a lower value is better: there, a query is won by the lower one.
    effect_limits : ndarray, optional
        Limits of each row's effect size and of the fraction of queries that a wins, ``[limit, row]``.
    conclusion : str
        For someone who decides: a sentence for each candidate against one baseline, or for one of two systems; empty
        where more systems are compared.
    segments : dict of str to Significance
        Tests of each segment's queries, corrected together over all segments; empty where none were given.

    See Also
    --------
    significance : Returns it.
    """

    display: ClassVar = "rankdev.display.significance"

    columns: dict[str, Any] = field(repr=False)
    needed: Floats = field(repr=False)
    test: str
    correction: str
    family: Literal["measure", "all"]
    permutations: int
    alpha: float
    seed: int
    enumerated: int = 0
    interval_permutations: int = 0
    clusters: int | None = None
    replicates: dict[str, int] | None = None
    remarks: tuple[str, ...] = ()
    lower_is_better: tuple[str, ...] = field(default=(), repr=False)
    effect_limits: Floats | None = field(default=None, repr=False)
    conclusion: str = ""
    segments: dict[str, Significance] = field(default_factory=dict, repr=False)

    made_with = (
        *("test", "correction", "family", "enumerated", "permutations", "interval_permutations"),
        *("alpha", "seed", "clusters", "replicates"),
    )

    @property
    def _unused(self) -> tuple[str, ...]:
        return (
            *(() if self.enumerated else ("enumerated",)),
            *(() if self.permutations else ("permutations",)),
            *(() if self.interval_permutations else ("interval_permutations",)),
            *(() if self.permutations or self.interval_permutations else ("seed",)),
        )

    @property
    def drawn(self) -> str:
        """How p-values were found, in a few words: ``"exact"``, ``"100,000 sign flips"``; empty where by formula."""
        parts = [
            *(["exact"] if self.enumerated else []),
            *([f"{self.permutations:,} sign flips"] if self.permutations else []),
        ]
        return " or ".join(parts)

    @property
    def parts(self) -> dict[str, Significance]:
        """The tests of all queries, under the name "all", and those of each segment."""
        return {ALL: replace(self, segments={}), **self.segments}

    def _each(self, table: Callable[[Significance], pl.DataFrame]) -> pl.DataFrame:
        """Join a table of all queries and those of segments, which are named in the first column."""
        named = [table(part).select(pl.lit(name).alias("segment"), pl.all()) for name, part in self.parts.items()]
        return pl.concat(named)

    def to_polars(self) -> pl.DataFrame:
        """Return one row per pair and measure.

        Returns
        -------
        polars.DataFrame
            Columns measure, a, b, difference (a − b), low, high, effect (the mean difference in standard deviations
            of the differences), wins, ties, losses (queries), p, p_adjusted. With segments, the segment comes first;
            "all" denotes all queries.

        Examples
        --------
        >>> import numpy as np
        >>> import rankdev as rd
        >>> values = np.random.default_rng(0).normal([[[0.0]], [[0.1]], [[0.9]]], 1, (3, 40, 1))
        >>> scores = rd.Scores(("a", "b", "c"), tuple(map(str, range(40))), ("P@5",), values)
        >>> rd.significance(scores).to_polars().select("a", "b", "wins", "ties", "losses").row(0)
        ('a', 'b', 14, 0, 26)
        """
        if self.segments:
            return self._each(Significance.to_polars)
        return pl.DataFrame(self.columns).fill_nan(None)

    def effect_sizes(self) -> pl.DataFrame:
        """Return effect sizes that do not depend on the measure's unit, each with its own interval.

        The effect is the mean difference in standard deviations of the differences (d_z), which is too large in small
        samples; ``corrected`` multiplies it by Hedges' J. It is infinite if all differences are equal, and its interval
        is unknown if almost all are: report the fraction of queries won then. Intervals allow for clusters; with
        ``replicates`` there are none, because they hold for one run of each system.

        Returns
        -------
        polars.DataFrame
            Columns measure, a, b, effect, corrected (effect × J), low, high (of corrected), won (the fraction that a
            wins of the queries that one of the two wins; null where none does), won_low, won_high.

        Examples
        --------
        >>> import numpy as np
        >>> import rankdev as rd
        >>> values = np.random.default_rng(0).normal([[[0.0]], [[0.1]], [[0.9]]], 1, (3, 40, 1))
        >>> scores = rd.Scores(("a", "b", "c"), tuple(map(str, range(40))), ("P@5",), values)
        >>> found = rd.significance(scores).effect_sizes().row(2, named=True)
        >>> [round(found[name], 2) for name in ("effect", "corrected", "low", "high", "won")]
        [-0.36, -0.35, -0.65, -0.04, 0.38]
        """
        if self.segments:
            return self._each(Significance.effect_sizes)
        wins, losses = (self.columns[name].astype(np.float64) for name in ("wins", "losses"))
        queries = wins + losses + self.columns["ties"]
        unknown = np.full((4, len(wins)), np.nan)
        low, high, won_low, won_high = unknown if self.effect_limits is None else self.effect_limits
        with np.errstate(invalid="ignore", divide="ignore"):
            corrected = np.where(queries > 1, small_sample(queries), np.nan) * self.columns["effect"]
            won = wins / (wins + losses)
        columns = {"effect": self.columns["effect"], "corrected": corrected, "low": low, "high": high}
        columns |= {"won": won, "won_low": won_low, "won_high": won_high}
        names = {name: self.columns[name] for name in ("measure", "a", "b")}
        return pl.DataFrame({**names, **columns}).fill_nan(None)

    def discriminative_power(self) -> DiscriminativePower:
        """Order the achieved significance levels of every measure (Sakai 2006): the p-values of all pairs, ascending.

        Sakai's early papers do not correct (``correction="none"``).

        Returns
        -------
        DiscriminativePower
            The curves, and how many pairs differ significantly under each measure.

        Examples
        --------
        >>> import numpy as np
        >>> import rankdev as rd
        >>> values = np.random.default_rng(0).normal([[[0.0]], [[0.1]], [[0.9]]], 1, (3, 40, 1))
        >>> scores = rd.Scores(("a", "b", "c"), tuple(map(str, range(40))), ("P@5",), values)
        >>> found = rd.significance(scores, correction="none").discriminative_power()
        >>> found.summary().select("pairs", "significant").row(0)
        (3, 3)
        """
        if self.segments:
            return self.parts[ALL].discriminative_power()
        rows = self.to_polars().with_columns(needed=pl.Series(self.needed))
        ordered = rows.sort("p_adjusted", maintain_order=True)
        frame = pl.concat([ordered.filter(measure=name) for name in rows["measure"].unique(maintain_order=True)])
        frame = frame.select(
            "measure",
            pl.int_range(1, pl.len() + 1).over("measure").alias("place"),
            "a",
            "b",
            "difference",
            "needed",
            pl.col("p_adjusted").alias("p"),
        )
        made = {name: getattr(self, name) for name in DiscriminativePower.made_with}
        return DiscriminativePower(frame=frame, **made, remarks=self.remarks)
