"""Is A really better than B? Tests of all pairs of systems, or of all systems against baselines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from rankdev.errors import UsageError, suggestion
from rankdev.evaluation.scores import Floats, Scores
from rankdev.meta import paired
from rankdev.meta.common_queries import as_scores, check_number, check_whole, panels
from rankdev.meta.corrections import benjamini_hochberg, holm
from rankdev.meta.pair_statistics import Columns, describe, oriented
from rankdev.meta.tukey import tukey
from rankdev.results import Result

if TYPE_CHECKING:
    import polars as pl

Indices = npt.NDArray[np.int64]
Test = Literal["randomization", "t", "wilcoxon", "bootstrap"]
Correction = Literal["holm", "bh", "tukey", "none"]
TESTS = ("randomization", "t", "wilcoxon", "bootstrap")
CORRECTIONS = ("holm", "bh", "tukey", "none")
P_VALUES = ("plus-one", "paper")
ADJUST: dict[str, Callable[[Floats], Floats]] = {"holm": holm, "bh": benjamini_hochberg, "none": np.copy}


@dataclass(frozen=True, eq=False)
class Significance(Result):
    """Verdicts on pairs of systems; ``columns`` holds the table, one entry a pair and measure."""

    columns: dict[str, Any] = field(repr=False)
    test: Test
    correction: Correction
    permutations: int
    p_value: paired.PValue
    confidence: float
    seed: int
    remarks: tuple[str, ...] = ()

    made_with = ("test", "correction", "permutations", "p_value", "confidence", "seed")

    def to_polars(self) -> pl.DataFrame:
        """One row a pair and measure: the difference a − b, its interval, effect, wins and p-values."""
        import polars as pl

        return pl.DataFrame(self.columns).fill_nan(None)


def significance(
    scores: Scores | Any,
    *,
    measures: Sequence[str] | None = None,
    baselines: str | Sequence[str] | None = None,
    test: Test = "randomization",
    correction: Correction = "holm",
    permutations: int = 100_000,
    p_value: paired.PValue = "plus-one",
    confidence: float = 0.95,
    seed: int = 0,
    engine: str = "auto",
    threads: int | None = None,
) -> Significance:
    """Test every pair of systems, or every system against each baseline, two-sided.

    The randomization test enumerates all sign flips where at most 20 differences are not zero, and draws
    ``permutations`` of them otherwise; the bootstrap draws as many resamples. Intervals are Student's, for
    the bootstrap percentiles; the effect is the mean difference in standard deviations of the differences.
    p-values are adjusted over the pairs of a measure.

    >>> import polars as pl
    >>> table = pl.DataFrame({"system": ["a"] * 4 + ["b"] * 4, "query": list("1234") * 2, "measure": "P@1",
    ...                       "value": [1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0]})
    >>> significance(table).to_polars().select("a", "b", "difference", "wins", "ties", "losses", "p").row(0)
    ('a', 'b', 0.75, 3, 1, 0, 0.25)
    """
    _check(test, correction, p_value)
    permutations, seed = check_whole("permutations", permutations, 1), check_whole("seed", seed, 0)
    confidence = check_number("confidence", confidence, 0, 1)
    threads = None if threads is None else check_whole("threads", threads, 1)
    scores = as_scores(scores, measures)
    first, second = _wanted(scores, baselines)
    columns: dict[int, Columns] = {}
    for panel in panels(scores):
        values = panel.values
        drawing: dict[str, Any] = {"p_value": p_value, "seed": seed}
        found = describe(values, confidence)
        if test == "randomization":
            found["p"] = paired.randomization(
                values, permutations=permutations, engine=engine, threads=threads, **drawing
            )
        elif test == "bootstrap":
            found["p"], found["low"], found["high"] = paired.bootstrap(
                values, resamples=permutations, confidence=confidence, **drawing
            )
        else:
            found["p"] = paired.student(values) if test == "t" else paired.wilcoxon(values)
        if correction == "tukey":
            found["p_adjusted"] = tukey(values, permutations=permutations, **drawing)
        for m, place in enumerate(panel.places):
            column = {name: array[:, m] for name, array in found.items()}
            columns[place] = oriented(column, first, second, len(scores.systems))
            if correction != "tukey":
                columns[place]["p_adjusted"] = ADJUST[correction](columns[place]["p"])
    table: dict[str, Any] = {
        "measure": [name for name in scores.measures for _ in first],
        "a": [scores.systems[i] for i in first] * len(scores.measures),
        "b": [scores.systems[i] for i in second] * len(scores.measures),
    }
    for name in ("difference", "low", "high", "effect", "wins", "ties", "losses", "p", "p_adjusted"):
        table[name] = np.concatenate([columns[place][name] for place in range(len(scores.measures))])
    return Significance(table, test, correction, permutations, p_value, confidence, seed)


def _check(test: str, correction: str, p_value: str) -> None:
    for what, word, known in (
        ("test", test, TESTS),
        ("correction", correction, CORRECTIONS),
        ("p_value", p_value, P_VALUES),
    ):
        if word not in known:
            raise UsageError(
                f"unknown {what} {word!r}{suggestion(str(word), known)}; expected one of {', '.join(known)}"
            )


def _wanted(scores: Scores, baselines: str | Sequence[str] | None) -> tuple[Indices, Indices]:
    """Give the pairs (a, b) asked for as indices; a baseline is always b."""
    if baselines is None:
        return np.triu_indices(len(scores.systems), 1)
    names = [baselines] if isinstance(baselines, str) else baselines
    # refuses unknown names, and takes repeated ones once
    targets = [scores.systems.index(name) for name in scores.select(systems=names).systems]
    others = [i for i in range(len(scores.systems)) if i not in targets]
    if not others:
        raise UsageError("every system is a baseline; leave at least one to compare with them")
    return np.tile(others, len(targets)), np.repeat(targets, len(others))
