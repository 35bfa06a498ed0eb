"""Discriminative power: the p-values of all pairs on all queries."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import polars as pl

from rankdev._common.result import Result
from rankdev._common.view import Curves, Tab, View


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
        [Tab("Pairs with p ≤ {alpha:g}", frame="summary", best=("fraction",))],
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
