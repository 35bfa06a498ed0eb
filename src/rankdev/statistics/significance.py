"""Significance and discriminative power."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args, overload

import numpy as np
import polars as pl

from rankdev._common.checks import FINEST, check_choice, check_number, check_seed, check_whole
from rankdev._common.result import Result
from rankdev.errors import RankdevWarning, UsageError
from rankdev.evaluation.scores import Scores, ScoresLike
from rankdev.statistics.agreement import pool
from rankdev.statistics.corrections import CORRECTIONS
from rankdev.statistics.meta_analysis import AcrossCollections, across_collections, alike, is_several
from rankdev.statistics.paired import TESTS, Drawing
from rankdev.statistics.panels import Indices, as_scores, carried, families_of, wanted_pairs
from rankdev.statistics.randomization import PValue

if TYPE_CHECKING:
    from rankdev._common.arrays import Floats


OVER = ("measure", "all")


@dataclass(frozen=True, eq=False)
class Significance(Result):
    """Verdicts on pairs of systems; ``columns`` holds the table, one entry per pair and measure."""

    display: ClassVar = "rankdev.display.significance"

    columns: dict[str, Any] = field(repr=False)
    test: str
    correction: str
    correction_over: Literal["measure", "all"]
    permutations: int
    p_value: PValue
    confidence: float
    seed: int
    remarks: tuple[str, ...] = ()

    made_with = ("test", "correction", "correction_over", "permutations", "p_value", "confidence", "seed")

    @property
    def level(self) -> float:
        """The level at which a difference is believed: what the confidence leaves."""
        return round(1 - self.confidence, 10)

    def summary(self) -> pl.DataFrame:
        """One row per measure: measure, pairs, and how many of them are told apart at the level."""
        told = (pl.col("p_adjusted") <= self.level).sum().alias("told_apart")
        return self.to_polars().group_by("measure", maintain_order=True).agg(pl.len().alias("pairs"), told)

    def to_polars(self) -> pl.DataFrame:
        """One row per pair and measure: the difference a − b, its interval, effect, wins and p-values."""
        return pl.DataFrame(self.columns).fill_nan(None)


@overload
def significance(
    scores: Mapping[str, Any],
    *,
    measures: Sequence[str] | None = None,
    baselines: str | Sequence[str] | None = None,
    correction: str = "holm",
    confidence: float = 0.95,
    pooled: Literal[False] = False,
) -> AcrossCollections: ...


@overload
def significance(
    scores: Scores | Any,
    *,
    measures: Sequence[str] | None = None,
    baselines: str | Sequence[str] | None = None,
    test: str = "randomization",
    correction: str = "holm",
    correction_over: Literal["measure", "all"] = "measure",
    permutations: int | None = None,
    p_value: PValue = "plus-one",
    confidence: float = 0.95,
    pooled: bool = False,
    seed: int = 0,
    engine: str = "auto",
    threads: int | None = None,
) -> Significance: ...


def significance(
    scores: Scores | Mapping[str, Scores | Any] | Any,
    *,
    measures: Sequence[str] | None = None,
    baselines: str | Sequence[str] | None = None,
    test: str = "randomization",
    correction: str = "holm",
    correction_over: Literal["measure", "all"] = "measure",
    permutations: int | None = None,
    p_value: PValue = "plus-one",
    confidence: float = 0.95,
    pooled: bool = False,
    seed: int = 0,
    engine: str = "auto",
    threads: int | None = None,
) -> Significance | AcrossCollections:
    """Test every pair of systems, or every system against each baseline, two-sided.

    The randomization test enumerates all sign flips where at most 20 differences are not zero, and draws
    ``permutations`` of them otherwise: by default 100,000, or as many as the correction needs to reject anything.
    The bootstrap draws as many resamples. p-values are adjusted over the pairs of a measure, or with
    ``correction_over="all"`` over all measures too. Uncorrected intervals are the test's own, corrected ones hold for
    all pairs together; they hold 0 exactly where the adjusted p-value is above 1 − ``confidence``. The effect
    is the mean difference in standard deviations of the differences.

    ``{name: scores}`` takes several collections with the same systems and gives the verdict of a random-effects
    meta-analysis (REML, Hartung and Knapp), which has no other ``test`` and the corrections holm, bh and none. With
    ``pooled`` all their queries are tested together, so that large collections dominate.

    >>> import polars as pl
    >>> table = pl.DataFrame({"system": ["a"] * 4 + ["b"] * 4, "query": list("1234") * 2, "measure": "P@1",
    ...                       "value": [1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0]})
    >>> significance(table).to_polars().select("a", "b", "difference", "wins", "ties", "losses", "p").row(0)
    ('a', 'b', 0.75, 3, 1, 0, 0.25)
    """
    for what, word, known in (
        ("test", test, TESTS),
        ("correction", correction, CORRECTIONS),
        ("correction_over", correction_over, OVER),
        ("p_value", p_value, get_args(PValue)),
    ):
        check_choice(what, word, known)
    remarks: list[str] = []
    if is_several(scores):
        if not pooled:
            _check_meta(test, correction_over)
            return across_collections(
                scores, measures=measures, baselines=baselines, correction=correction, confidence=confidence
            )
        parts = alike(scores, measures)
        scores = pool(parts)
        sizes = ", ".join(f"{name} {len(part.queries)}" for name, part in parts.items())
        remarks.append(f"queries are pooled, so that large collections dominate: {sizes}")
    scores = as_scores(scores, measures)
    first, second = wanted_pairs(scores, baselines)
    families = families_of(scores, first, second)
    groups = [families] if correction_over == "all" else [[family] for family in families]
    drawing = Drawing(
        None if permutations is None else check_whole("permutations", permutations, 1),
        p_value,
        round(1 - check_number("confidence", confidence, 0, 1 - FINEST), 12),
        check_seed(seed),
        engine,
        None if threads is None else check_whole("threads", threads, 1),
        len(first) * len(groups[0]) if CORRECTIONS[correction].multiplies else 1,
    )
    columns, drawn = [], drawing.permutations or CORRECTIONS[correction].draws
    warned: list[str] = []
    notes: list[str] = []
    for group in groups:
        tested = [TESTS[test](family, drawing) for family in group]
        adjusted = CORRECTIONS[correction].correct(group, tested, drawing)
        for family, one, other in zip(group, tested, adjusted, strict=True):
            columns.append(
                {**family.statistics, "low": other.low, "high": other.high, "p": one.p, "p_adjusted": other.p}
            )
            drawn = max(drawn, one.permutations)
            warned += [remark for remark in one.warnings if remark not in warned]
            notes += [one.note] if one.note and one.note not in notes else []
    for remark in warned:
        warnings.warn(remark, RankdevWarning, stacklevel=2)
    return Significance(
        _table(scores, first, second, columns),
        test,
        correction,
        correction_over,
        drawn,
        p_value,
        confidence,
        drawing.seed,
        (*remarks, *warned, *notes, *carried(scores)),
    )


def _table(scores: Scores, first: Indices, second: Indices, columns: list[dict[str, Any]]) -> dict[str, Any]:
    table: dict[str, Any] = {
        "measure": [name for name in scores.measures for _ in first],
        "a": [scores.systems[i] for i in first] * len(scores.measures),
        "b": [scores.systems[i] for i in second] * len(scores.measures),
    }
    for name in ("difference", "low", "high", "effect", "wins", "ties", "losses", "p", "p_adjusted"):
        joined = np.concatenate([column[name] for column in columns])
        table[name] = joined.astype(np.int64) if name in ("wins", "ties", "losses") else joined
    return table


def _check_meta(test: str, correction_over: str) -> None:
    if test != "randomization" or correction_over != "measure":
        raise UsageError(
            "a meta-analysis of several collections has a test of its own and corrects over the pairs of a measure;"
            " leave test and correction_over out, or say pooled=True"
        )


@dataclass(frozen=True, eq=False)
class Discrimination(Result):
    """The p-values of all pairs of systems in ascending order, measure by measure: their curves of achieved levels."""

    display: ClassVar = "rankdev.display.comparisons"

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
