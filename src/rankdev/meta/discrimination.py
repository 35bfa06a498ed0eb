"""How often does a measure tell systems apart? Discriminative power as the field draws it (Sakai 2006)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from rankdev.arguments import FINEST, check_number
from rankdev.evaluation.scores import ScoresLike
from rankdev.meta.significance import significance
from rankdev.results import Result

if TYPE_CHECKING:
    from rankdev.arrays import Floats


@dataclass(frozen=True, eq=False)
class Discrimination(Result):
    """The p-values of all pairs of systems in ascending order, measure by measure: their curves of achieved levels."""

    frame: pl.DataFrame = field(repr=False)
    alpha: float
    test: str
    correction: str
    permutations: int
    seed: int
    remarks: tuple[str, ...] = ()

    made_with = ("alpha", "test", "correction", "permutations", "seed")

    def to_polars(self) -> pl.DataFrame:
        """One row per measure and pair, smallest p first: measure, place, a, b, difference, needed, p."""
        return self.frame

    def summary(self) -> pl.DataFrame:
        """One row per measure: pairs, how many and which share of them are told apart, and the difference needed.

        ``needed`` is the median over pairs of the difference that would just be significant, given how the
        pair's differences scatter; ``needed_by_all`` is the largest, which suffices for every pair.
        """
        told = pl.col("p") <= self.alpha
        return self.frame.group_by("measure", maintain_order=True).agg(
            pl.len().alias("pairs"),
            told.sum().alias("told_apart"),
            told.mean().alias("share"),
            pl.col("needed").median(),
            pl.col("needed").max().alias("needed_by_all"),
        )

    def curve(self, measure: str) -> Floats:
        """Give a measure's p-values in ascending order."""
        return self.frame.filter(measure=measure)["p"].to_numpy()


def discrimination(
    scores: ScoresLike,
    *,
    measures: Sequence[str] | None = None,
    alpha: float = 0.05,
    test: str = "randomization",
    correction: str = "none",
    permutations: int | None = None,
    seed: int = 0,
) -> Discrimination:
    """Test all pairs of systems under every measure, and order the achieved significance levels.

    ``test`` and ``correction`` are those of :func:`significance`; Sakai's later papers take ``correction="tukey"``.

    >>> import numpy as np
    >>> from rankdev.evaluation.scores import Scores
    >>> values = np.random.default_rng(0).normal([[[0.0]], [[0.1]], [[0.9]]], 1, (3, 40, 1))
    >>> scores = Scores(("a", "b", "c"), tuple(map(str, range(40))), ("P@5",), values)
    >>> discrimination(scores).summary().select("pairs", "told_apart").row(0)
    (3, 3)
    """
    alpha = check_number("alpha", alpha, FINEST, 1)
    found = significance(
        scores,
        measures=measures,
        test=test,
        correction=correction,
        permutations=permutations,
        confidence=1 - alpha,
        seed=seed,
    )
    ordered = found.to_polars().sort("p_adjusted", maintain_order=True)
    names = found.to_polars()["measure"].unique(maintain_order=True)
    frame = pl.concat([ordered.filter(measure=name) for name in names]).select(
        "measure",
        pl.int_range(1, pl.len() + 1).over("measure").alias("place"),
        "a",
        "b",
        "difference",
        ((pl.col("high") - pl.col("low")) / 2).alias("needed"),
        pl.col("p_adjusted").alias("p"),
    )
    return Discrimination(frame, alpha, test, correction, found.permutations, found.seed, found.remarks)
