"""Is A really better than B? Tests of all pairs of systems, or of all systems against baselines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rankdev.errors import UsageError, suggestion
from rankdev.evaluation.scores import Floats, Scores
from rankdev.meta import paired
from rankdev.meta.corrections import benjamini_hochberg, holm
from rankdev.meta.panel import Panel, as_scores, check_number, panels
from rankdev.meta.tukey import tukey

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

Test = Literal["randomization", "t", "wilcoxon", "bootstrap"]
Correction = Literal["holm", "bh", "tukey", "none"]
TESTS = ("randomization", "t", "wilcoxon", "bootstrap")
CORRECTIONS = ("holm", "bh", "tukey", "none")
P_VALUES = ("plus-one", "paper")


@dataclass(frozen=True, eq=False)
class Significance:
    """Verdicts on pairs of systems; ``columns`` holds the table, one entry a pair and measure."""

    columns: dict[str, Any] = field(repr=False)
    test: Test
    correction: Correction
    permutations: int
    p_value: paired.PValue
    confidence: float
    seed: int

    def to_polars(self) -> pl.DataFrame:
        """One row a pair and measure: difference a − b, interval, effect, wins, ties, losses, p, p_adjusted."""
        import polars as pl

        return pl.DataFrame(self.columns).fill_nan(None)

    def to_pandas(self) -> pd.DataFrame:
        """Give the table of :meth:`to_polars` as a pandas frame."""
        from rankdev.frames import to_pandas

        return to_pandas(self.to_polars())


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
    ``permutations`` of them otherwise; the bootstrap draws as many resamples. Intervals are Student's, for the
    bootstrap percentiles; the effect is the mean difference in standard deviations of the differences. p-values
    are adjusted over the pairs of a measure.

    >>> import polars as pl
    >>> table = pl.DataFrame({"system": ["a"] * 4 + ["b"] * 4, "query": list("1234") * 2, "measure": "P@1",
    ...                       "value": [1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0]})
    >>> significance(table).to_polars().select("a", "b", "difference", "wins", "ties", "losses", "p").row(0)
    ('a', 'b', 0.75, 3, 1, 0, 0.25)
    """
    _check(test, correction, p_value)
    check_number("permutations", permutations, 1, whole=True)
    check_number("confidence", confidence, 0, 1)
    check_number("seed", seed, 0, whole=True)
    scores = as_scores(scores, measures)
    first, second = _wanted(scores, baselines)
    columns: dict[int, dict[str, Any]] = {}
    for panel in panels(scores):
        found = _describe(panel.values, confidence)
        found["p"] = _tested(panel, found, test, permutations, p_value, confidence, seed, engine, threads)
        if correction == "tukey":
            found["p_adjusted"] = tukey(panel.values, permutations, p_value, seed)
        for m, place in enumerate(panel.places):
            columns[place] = _oriented({name: array[:, m] for name, array in found.items()}, first, second, scores)
    for column in columns.values():
        if correction != "tukey":
            adjust = {"holm": holm, "bh": benjamini_hochberg, "none": lambda p: p}[correction]
            column["p_adjusted"] = adjust(column["p"])
    ordered = [columns[place] for place in range(len(scores.measures))]
    names = [scores.systems[i] for i in first], [scores.systems[i] for i in second]
    table: dict[str, Any] = {
        "measure": [name for name in scores.measures for _ in first],
        "a": names[0] * len(ordered),
        "b": names[1] * len(ordered),
    }
    for name in ("difference", "low", "high", "effect", "wins", "ties", "losses", "p", "p_adjusted"):
        table[name] = np.concatenate([column[name] for column in ordered])
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


def _wanted(scores: Scores, baselines: str | Sequence[str] | None) -> tuple[np.ndarray, np.ndarray]:
    """Give the pairs (a, b) asked for as indices; a baseline is always b."""
    if baselines is None:
        first, second = np.triu_indices(len(scores.systems), 1)
        return first, second
    names = [baselines] if isinstance(baselines, str) else list(baselines)
    scores.select(systems=names)  # refuses unknown names
    targets = [scores.systems.index(name) for name in names]
    others = [i for i in range(len(scores.systems)) if i not in targets]
    if not others:
        raise UsageError("every system is a baseline; leave at least one to compare with them")
    return np.tile(others, len(targets)), np.repeat(targets, len(others))


def _describe(values: Floats, confidence: float) -> dict[str, Floats]:
    """Describe the differences of all pairs: arrays ``[pair, measure]``."""
    from scipy import stats

    queries = len(values)
    a, b = np.triu_indices(values.shape[1], 1)
    found = {
        name: np.empty((len(a), values.shape[2]))
        for name in ("difference", "low", "high", "effect", "wins", "ties", "losses")
    }
    half = stats.t.ppf((1 + confidence) / 2, queries - 1) / np.sqrt(queries) if queries > 1 else np.nan
    for m, units in paired.differences(values):
        apart = np.where(units == 0, 0.0, (values[:, a, m] - values[:, b, m]).T)
        mean = apart.mean(axis=1)
        spread = apart.std(axis=1, ddof=1) if queries > 1 else np.full(len(a), np.nan)
        spread[np.ptp(units, axis=1) <= 2] = 0.0 if queries > 1 else np.nan  # equal but for rounding
        with np.errstate(divide="ignore", invalid="ignore"):
            effect = np.where(mean == 0, 0.0, mean / spread)
        wins, losses = (units > 0).sum(axis=1), (units < 0).sum(axis=1)
        row = (mean, mean - half * spread, mean + half * spread, effect, wins, queries - wins - losses, losses)
        for array, column in zip(found.values(), row, strict=True):
            array[:, m] = column
    return found


def _tested(
    panel: Panel,
    found: dict[str, Floats],
    test: Test,
    permutations: int,
    p_value: paired.PValue,
    confidence: float,
    seed: int,
    engine: str,
    threads: int | None,
) -> Floats:
    if test == "t":
        return paired.student(panel.values)
    if test == "wilcoxon":
        return paired.wilcoxon(panel.values)
    if test == "bootstrap":
        p, found["low"], found["high"] = paired.bootstrap(panel.values, permutations, p_value, seed, confidence)
        return p
    return paired.randomization(panel.values, permutations, p_value, seed, engine, threads)


def _oriented(column: dict[str, Floats], first: np.ndarray, second: np.ndarray, scores: Scores) -> dict[str, Any]:
    """Pick the pairs (first, second) of one measure; a pair that stands the other way round changes its sign."""
    low, high = np.minimum(first, second), np.maximum(first, second)
    place = low * len(scores.systems) - low * (low + 1) // 2 + high - low - 1
    picked: dict[str, Any] = {name: array[place] for name, array in column.items()}
    turned = first > second
    for name in ("difference", "effect"):
        picked[name] = np.where(turned, 0.0 - picked[name], picked[name])
    for one, other in (("low", "high"), ("wins", "losses")):
        sign = -1.0 if one == "low" else 1.0
        x, y = picked[one], picked[other]
        picked[one], picked[other] = np.where(turned, sign * y, x), np.where(turned, sign * x, y)
    for name in ("wins", "ties", "losses"):
        picked[name] = picked[name].astype(np.int64)
    return picked
