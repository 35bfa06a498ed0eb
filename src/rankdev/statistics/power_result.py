"""Results about power: of simulations, and the p-values of all pairs on all queries (discriminative power)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
import polars as pl

from rankdev._common.arrays import Bools, Floats
from rankdev._common.result import Result
from rankdev._common.view import Curves, Tab, View
from rankdev.errors import UsageError
from rankdev.statistics.design import OfDrawnQueries
from rankdev.statistics.inputs import pairs_of
from rankdev.statistics.student import usual


@dataclass(frozen=True, eq=False, kw_only=True)
class Power(OfDrawnQueries):
    """Power of every measure, pair of systems and number of queries.

    Attributes
    ----------
    systems : tuple of str
        Systems whose pairs were tested.
    measures : tuple of str
        Measures that were compared.
    sizes : tuple of int
        Numbers of queries n.
    power : ndarray
        Fraction of subsamples that reject, ``[measure, pair, size]``; NaN where a measure has fewer queries than n.
    rejected : ndarray
        Pairs that differ significantly on all queries, ``[measure, pair]``.
    queries : tuple of int
        Queries of each measure.
    subsamples, permutations : int
        Subsamples of each size, and sign flips per test.
    alpha : float
        Level of the tests.
    p_value : {"plus-one", "paper"}
        How p is computed from the number of extreme flips.
    seed : int
        Seed of subsamples and flips.
    complete : bool
        False after an interruption.
    remarks : tuple of str
        Notes on the sizes and the scores.
    replacement : bool
        Whether queries were drawn with replacement.
    limits : ndarray
        95% limits of the power of each pair, given the pool, ``[limit, measure, pair, size]``: those of the
        standardised effect (noncentral t), turned into power.
    replaced : ndarray
        Power with replacement at sizes above a quarter of the queries, in the layout of ``power``; else NaN.
    clusters : int, optional
        Clusters of queries that were drawn and flipped whole: n and ``queries`` count clusters then.

    See Also
    --------
    power : Returns it.
    """

    view: ClassVar = View(
        [
            Tab(
                "Power at {n:,} {unit} over {pairs:pair}",
                ("measure", "power", "low", "p10", "p50", "p90", "replaced", "n80"),
                frame="_at_usual",
                digits=3,
                bars=("power", "p50"),
            ),
        ],
        "power",
        closing=[
            "Paired randomization tests at level {alpha:g}, {permutations:,} sign flips, {subsamples:,} subsamples.",
            "Simulation error of one pair's power: at most {largest_error:.2f}.",
        ],
        more={"pairs": "_with_intervals"},
        figure=Curves("n", "power", "median power", frame="_curves", goal=0.8, again="replaced", pool="pool"),
    )

    systems: tuple[str, ...]
    measures: tuple[str, ...]
    sizes: tuple[int, ...]
    power: Floats = field(repr=False)
    rejected: Bools = field(repr=False)
    queries: tuple[int, ...]
    subsamples: int
    permutations: int
    alpha: float
    p_value: Literal["plus-one", "paper"]
    seed: int
    complete: bool
    remarks: tuple[str, ...] = ()
    replacement: bool = False
    limits: Floats = field(repr=False)
    replaced: Floats = field(repr=False)
    clusters: int | None = None

    made_with = (
        *("sizes", "subsamples", "permutations", "alpha", "p_value", "replacement"),
        *("clusters", "seed", "complete"),
    )

    @property
    def error(self) -> Floats:
        """Monte Carlo standard error of each power: ``[measure, pair, size]``."""
        return np.sqrt(self.power * (1 - self.power) / self.subsamples)

    @property
    def largest_error(self) -> float:
        """The largest standard error that any power can have with this number of subsamples."""
        return float(0.5 / np.sqrt(self.subsamples))

    @property
    def medians(self) -> Floats:
        """Median power over pairs: ``[measure, size]``."""
        return np.median(self.power, axis=1)

    @property
    def n(self) -> int:
        """The size that summaries are about."""
        return usual(self.sizes)

    @property
    def pairs(self) -> int:
        """Number of pairs of systems."""
        return self.power.shape[1]

    @property
    def pool(self) -> int:
        """The queries to draw from."""
        return max(self.queries)

    def _with_intervals(self) -> pl.DataFrame:
        return self.to_polars(intervals=True)

    def _at_usual(self) -> pl.DataFrame:
        """Return the percentiles over pairs at the usual size; the power of a single pair with its interval."""
        size = self.sizes.index(self.n)
        frame = self.summary(self.n).with_columns(replaced=np.median(self.replaced[:, :, size], axis=1))
        if self.pairs == 1:  # of several, no interval of a percentile is known to hold
            low, high = self.limits[:, :, 0, size]
            frame = frame.rename({"p50": "power"}).drop("p10", "p90").with_columns(low=low, high=high)
        return frame.fill_nan(None)

    def _curves(self) -> pl.DataFrame:
        """Return the medians over pairs at each size; the power of a single pair with its interval."""
        columns = {"power": self.medians, "replaced": np.median(self.replaced, axis=1)}
        if self.pairs == 1:
            columns |= {"low": self.limits[0, :, 0], "high": self.limits[1, :, 0]}
        names = {"measure": np.repeat(self.measures, len(self.sizes)), "n": np.tile(self.sizes, len(self.measures))}
        return pl.DataFrame(names | {name: values.ravel() for name, values in columns.items()}).fill_nan(None)

    def to_polars(self, intervals: bool = False) -> pl.DataFrame:
        """Return one row per measure, pair and size.

        Parameters
        ----------
        intervals : bool, default False
            Add 95% limits of each power, its Monte Carlo standard error, and power with replacement, which is
            simulated at sizes above a quarter of the queries.

        Returns
        -------
        polars.DataFrame
            Columns measure, a, b, n, power; with ``intervals`` low, high, error, replaced.

        Examples
        --------
        >>> import rankdev as rd
        >>> values = np.random.default_rng(1).random((2, 80, 1)) + [[[0.0]], [[0.5]]]
        >>> scores = rd.Scores(("a", "b"), tuple(map(str, range(80))), ("P@1",), values)
        >>> found = rd.power(scores, sizes=[5, 10, 20], subsamples=50)
        >>> found.to_polars().select("n", "power").rows()
        [(5, 0.0), (10, 0.84), (20, 1.0)]
        """
        pairs = pairs_of(self.systems)
        axes = np.indices(self.power.shape).reshape(3, -1)
        names = {"measure": list(self.measures), "a": [a for a, _ in pairs], "b": [b for _, b in pairs]}
        columns = {
            name: pl.Series(labels, dtype=pl.String).gather(axes[0 if name == "measure" else 1])
            for name, labels in names.items()
        }
        frame = pl.DataFrame({**columns, "n": np.array(self.sizes, np.int64)[axes[2]], "power": self.power.ravel()})
        if intervals:
            more = {"low": self.limits[0], "high": self.limits[1], "error": self.error, "replaced": self.replaced}
            frame = frame.with_columns(pl.Series(name, values.ravel()) for name, values in more.items())
        return frame.fill_nan(None)

    def summary(self, n: int | None = None) -> pl.DataFrame:
        """Summarise power over pairs.

        Parameters
        ----------
        n : int, optional
            Number of queries. Default: 100, or the largest size below.

        Returns
        -------
        polars.DataFrame
            Columns measure, p10, p50, p90 (percentiles of power at n), n80 (median over pairs of the first size with
            power at least 0.8; infinite where no size that was simulated reaches it).

        Examples
        --------
        >>> import rankdev as rd
        >>> values = np.random.default_rng(1).random((2, 80, 1)) + [[[0.0]], [[0.5]]]
        >>> scores = rd.Scores(("a", "b"), tuple(map(str, range(80))), ("P@1",), values)
        >>> found = rd.power(scores, sizes=[5, 10, 20], subsamples=50)
        >>> found.summary(10).select("p50", "n80").row(0)
        (0.84, 10.0)
        """
        size = self._size(n)
        levels = np.quantile(self.power[:, :, size], [0.1, 0.5, 0.9], axis=1)
        columns = {"p10": levels[0], "p50": levels[1], "p90": levels[2], "n80": self.n80()}
        return pl.DataFrame({"measure": list(self.measures), **columns}).fill_nan(None)

    def n80(self) -> Floats:
        """Return the median over pairs of the first size with power at least 0.8, for each measure.

        Returns
        -------
        ndarray
            One number of queries per measure; infinite where no size reaches it.

        Examples
        --------
        >>> import rankdev as rd
        >>> values = np.random.default_rng(1).random((2, 80, 1)) + [[[0.0]], [[0.5]]]
        >>> scores = rd.Scores(("a", "b"), tuple(map(str, range(80))), ("P@1",), values)
        >>> found = rd.power(scores, sizes=[5, 10, 20], subsamples=50)
        >>> found.n80().tolist()
        [10.0]
        """
        reached = self.power >= 0.8
        first = np.where(reached.any(axis=2), np.array(self.sizes)[reached.argmax(axis=2)], np.inf)
        ranked, pairs = np.sort(first, axis=1), first.shape[1]
        middle: Floats = (ranked[:, (pairs - 1) // 2] + ranked[:, pairs // 2]) / 2
        return middle

    def verdicts(self) -> dict[str, int]:
        """Count the pairs that differ significantly on all queries under all, most (over half), any or no measures.

        Returns
        -------
        dict of str to int
            Keys pairs, all, most, any, none.

        Examples
        --------
        >>> import rankdev as rd
        >>> values = np.random.default_rng(1).random((2, 80, 1)) + [[[0.0]], [[0.5]]]
        >>> scores = rd.Scores(("a", "b"), tuple(map(str, range(80))), ("P@1",), values)
        >>> found = rd.power(scores, sizes=[5, 10, 20], subsamples=50)
        >>> found.verdicts()
        {'pairs': 1, 'all': 1, 'most': 1, 'any': 1, 'none': 0}
        """
        votes = self.rejected.sum(axis=0)
        measures = len(self.measures)
        return {
            "pairs": len(votes),
            "all": int((votes == measures).sum()),
            "most": int((votes > measures / 2).sum()),
            "any": int((votes > 0).sum()),
            "none": int((votes == 0).sum()),
        }

    def _size(self, n: int | None) -> int:
        if n is None:
            return self.sizes.index(usual(self.sizes))
        if n not in self.sizes:
            raise UsageError("not-a-choice", name="size", value=n, near=None, known=self.sizes)
        return self.sizes.index(n)


@dataclass(frozen=True, eq=False, kw_only=True)
class DiscriminativePower(Result):
    """Achieved significance levels: the p-values of all pairs of systems in ascending order, for each measure.

    Attributes
    ----------
    frame : polars.DataFrame
        The table of :meth:`to_polars`.
    alpha : float
        Level of the tests.
    test : str
        Name of the test.
    correction : str
        Correction for multiple comparisons.
    permutations : int
        Sign flips that were drawn at random for p-values; 0 where none were.
    seed : int
        Seed of the flips.
    remarks : tuple of str
        Notes on the tests and the scores.

    See Also
    --------
    Significance.discriminative_power : Returns it.
    """

    view: ClassVar = View(
        [Tab("Pairs with p ≤ {alpha:g}", frame="summary", best=("fraction",), bars=("fraction",))],
        "compare --discriminative-power",
        closing=[
            "needed: the difference that would just be significant, median over pairs; needed_by_all: largest",
            "the fractions are those of these queries",
        ],
        figure=Curves(
            "place",
            "p",
            "achieved significance level (p)",
            title="{most} tells most pairs apart: {times}",
            along="pairs of systems, by level",
            line="alpha",
            log=False,
            top=0.15,
        ),
    )

    frame: pl.DataFrame = field(repr=False)
    alpha: float
    test: str
    correction: str
    permutations: int
    seed: int
    remarks: tuple[str, ...] = ()

    made_with = ("alpha", "test", "correction", "permutations", "seed")

    @property
    def _unused(self) -> tuple[str, ...]:
        return () if self.permutations else ("permutations", "seed")

    def to_polars(self) -> pl.DataFrame:
        """Return one row per measure and pair, smallest p first.

        Returns
        -------
        polars.DataFrame
            Columns measure, place, a, b, difference, needed (the difference that would just be significant), p.

        Examples
        --------
        >>> import numpy as np
        >>> import rankdev as rd
        >>> values = np.random.default_rng(0).normal([[[0.0]], [[0.1]], [[0.9]]], 1, (3, 40, 1))
        >>> scores = rd.Scores(("a", "b", "c"), tuple(map(str, range(40))), ("P@5",), values)
        >>> rd.significance(scores).discriminative_power().to_polars()["place"].to_list()
        [1, 2, 3]
        """
        return self.frame

    def summary(self) -> pl.DataFrame:
        """Return the discriminative power of each measure.

        Returns
        -------
        polars.DataFrame
            Columns measure, pairs, significant (their number), fraction, needed (median over pairs of the difference
            that would just be significant, given how the pair's differences scatter), needed_by_all (the largest,
            which suffices for every pair).

        Examples
        --------
        >>> import numpy as np
        >>> import rankdev as rd
        >>> values = np.random.default_rng(0).normal([[[0.0]], [[0.1]], [[0.9]]], 1, (3, 40, 1))
        >>> scores = rd.Scores(("a", "b", "c"), tuple(map(str, range(40))), ("P@5",), values)
        >>> rd.significance(scores).discriminative_power().summary().select("pairs", "significant").row(0)
        (3, 1)
        """
        significant = pl.col("p") <= self.alpha
        return self.frame.group_by("measure", maintain_order=True).agg(
            pl.len().alias("pairs"),
            significant.sum().alias("significant"),
            significant.mean().alias("fraction"),
            pl.col("needed").median(),
            pl.col("needed").max().alias("needed_by_all"),
        )
