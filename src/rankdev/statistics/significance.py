"""Significance and discriminative power."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np
import polars as pl

from rankdev._common.checks import FINEST, check_choice, check_flag, check_number, check_seed, check_whole
from rankdev._common.result import Result
from rankdev.errors import DataError, RankdevWarning, UsageError, counted
from rankdev.evaluation.scores import Scores, ScoresLike
from rankdev.statistics.anytime import betting, check_ranges
from rankdev.statistics.assumptions import remarks_on
from rankdev.statistics.bounded_mean import widened
from rankdev.statistics.conclusion import conclusion
from rankdev.statistics.corrections import CORRECTIONS, benjamini_hochberg, holm
from rankdev.statistics.effect_sizes import effect_limits, fraction_won, small_sample
from rankdev.statistics.paired import FEWEST, TESTS, Drawing, Tested
from rankdev.statistics.panels import (
    Family,
    Indices,
    as_scores,
    carried,
    families_of,
    is_several,
    on_clusters,
    wanted_pairs,
)
from rankdev.statistics.randomization import PValue
from rankdev.statistics.replicates import over_runs, replicated
from rankdev.statistics.segments import ALL, PAIRS, TELLING, interaction, named_segments, places

if TYPE_CHECKING:
    from rankdev._common.arrays import Floats


FAMILIES = ("measure", "all")
FEWEST_ROWS = {"t": 2, "bootstrap": FEWEST}  # queries of a segment that a test needs
Perform = Callable[[Family, int, Drawing], Tested]  # a test of a family, by the number of its measure


@dataclass(frozen=True, eq=False, kw_only=True)
class Significance(Result):
    """Significance tests of pairs of systems.

    Attributes
    ----------
    columns : dict
        Columns of the table, one entry per pair and measure.
    test : str
        Name of the test.
    correction : str
        Correction for multiple comparisons.
    family : {"measure", "all"}
        Comparisons that are corrected together.
    permutations : int
        Sign flips, shuffles or resamples that were drawn at random for p-values; 0 where none were.
    p_value : {"plus-one", "paper"}
        How p follows from the b extreme ones of B flips that were drawn: (b + 1)/(B + 1), or b/B.
    alpha : float
        Level of the tests; intervals have confidence 1 − alpha.
    seed : int
        Seed of the flips or resamples.
    enumerated : int
        Rows of the table whose p-values are exact, because all sign flips were enumerated.
    interval_permutations : int
        Sign flips, shuffles or resamples that were drawn at random for intervals; 0 where none were.
    clusters : int, optional
        Clusters of queries that were flipped whole.
    replicates : dict of str to int, optional
        Runs of each system.
    remarks : tuple of str
        Notes on the tests and the scores.
    lower_is_better : tuple of str
        Measures of which a lower value is better: there, a query is won by the lower one.
    needed : ndarray, optional
        For each row of the table, the difference that would just be significant.
    effect_limits : ndarray, optional
        Limits of each row's effect size and of the fraction of queries that a wins, ``[limit, row]``.
    conclusion : str
        For someone who decides: a sentence for each candidate against one baseline, or for one of two systems; empty
        where more systems are compared.
    segments : dict of str to Significance
        Tests of each segment's queries, corrected together over all segments; empty where none were given.
    interaction : polars.DataFrame, optional
        Whether differences depend on the segment: measure, a, b, segments (how many could be tested), p, p_adjusted.

    See Also
    --------
    significance : Returns it.
    """

    display: ClassVar = "rankdev.display.significance"

    columns: dict[str, Any] = field(repr=False)
    test: str
    correction: str
    family: Literal["measure", "all"]
    permutations: int
    p_value: PValue
    alpha: float
    seed: int
    enumerated: int = 0
    interval_permutations: int = 0
    clusters: int | None = None
    replicates: dict[str, int] | None = None
    remarks: tuple[str, ...] = ()
    lower_is_better: tuple[str, ...] = field(default=(), repr=False)
    needed: Floats | None = field(default=None, repr=False)
    effect_limits: Floats | None = field(default=None, repr=False)
    conclusion: str = ""
    segments: dict[str, Significance] = field(default_factory=dict, repr=False)
    interaction: pl.DataFrame | None = field(default=None, repr=False)

    made_with = (
        *("test", "correction", "family", "enumerated", "permutations", "p_value", "interval_permutations"),
        *("alpha", "seed", "clusters", "replicates"),
    )

    @property
    def _unused(self) -> tuple[str, ...]:
        return (
            *(() if self.enumerated else ("enumerated",)),
            *(() if self.permutations else ("permutations", "p_value")),
            *(() if self.interval_permutations else ("interval_permutations",)),
            *(() if self.permutations or self.interval_permutations else ("seed",)),
        )

    @property
    def drawn(self) -> str:
        """How p-values were found, in a few words: ``"exact"``, ``"100,000 sign flips"``; empty where by formula."""
        word = "sign flips" if self.test == "randomization" else "resamples"
        parts = [
            *(["exact"] if self.enumerated else []),
            *([f"{self.permutations:,} {word}"] if self.permutations else []),
        ]
        return " or ".join(parts)

    @property
    def parts(self) -> dict[str, Significance]:
        """The tests of all queries, under the name "all", and those of each segment."""
        return {ALL: replace(self, segments={}, interaction=None), **self.segments}

    def _each(self, table: Callable[[Significance], pl.DataFrame]) -> pl.DataFrame:
        """Join a table of all queries and those of segments, which are named in the first column."""
        named = [table(part).select(pl.lit(name).alias("segment"), pl.all()) for name, part in self.parts.items()]
        return pl.concat(named)

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
        if self.segments:
            return self._each(Significance.summary)
        significant = (pl.col("p_adjusted") <= self.alpha).sum().alias("significant")
        return self.to_polars().group_by("measure", maintain_order=True).agg(pl.len().alias("pairs"), significant)

    @property
    def significant(self) -> list[bool]:
        """Which rows of the table differ significantly."""
        return (self.to_polars()["p_adjusted"] <= self.alpha).fill_null(False).to_list()

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

        The effect is the mean difference in standard deviations of the differences (d_z), too large in small samples
        by Hedges' J. Where all differences are equal it is infinite, and where almost all are, its interval is unknown:
        report the fraction of queries won there. Intervals allow for clusters; with ``replicates`` and ``anytime``
        there are none, because they hold for one run of each system, looked at once.

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

        Sakai's early papers do not correct (``correction="none"``), later ones take ``correction="tukey"``.

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
        half = (self.columns["high"] - self.columns["low"]) / 2
        rows = self.to_polars().with_columns(needed=pl.Series(half if self.needed is None else self.needed))
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


def significance(
    scores: ScoresLike,
    *,
    measures: Sequence[str] | None = None,
    baselines: str | Sequence[str] | None = None,
    test: str | None = None,
    correction: str = "holm",
    family: Literal["measure", "all"] = "measure",
    permutations: int | None = None,
    p_value: PValue = "plus-one",
    alpha: float = 0.05,
    seed: int = 0,
    clusters: Mapping[str, Any] | None = None,
    replicates: Mapping[str, Sequence[str]] | None = None,
    segments: Mapping[str, Any] | None = None,
    anytime: bool = False,
    engine: str = "auto",
    threads: int | None = None,
) -> Significance:
    """Test every pair of systems, or every system against each baseline, two-sided.

    Uncorrected intervals are the test's own; corrected ones hold for all pairs together. They contain 0 exactly where
    the adjusted p-value is above ``alpha``. Where 40% or more of a pair's differences are equal, most often 0, the
    interval is wider: it allows for differences that were not seen, as far as the measure's range does, and may contain
    0 although p, which tests whether the differences are symmetric, is small; a note reports it.

    Parameters
    ----------
    scores : Scores or table
        Scores of the systems; a table has the columns system, query, measure, value.
    measures : sequence of str, optional
        Measures to compare by. Default: all.
    baselines : str or sequence of str, optional
        Compare every other system with these only. Default: all pairs.
    test : {"randomization", "t", "wilcoxon", "bootstrap", "bounded"}, optional
        Paired test. Default: randomization, which enumerates all sign flips where at most 20 differences are not zero,
        and draws ``permutations`` of them otherwise; the bootstrap draws as many resamples. With ``replicates``: t.
        ``bounded`` assumes nothing but the measure's range, and always allows for a rare loss that was not seen: it is
        for small differences that may hide one. Its intervals are wider: 2.4 times for 25 normal differences of .15.
    correction : {"holm", "bh", "max-t", "tukey", "none"}
        Correction for multiple comparisons.
    family : {"measure", "all"}
        Adjust p-values over the pairs of each measure, or over all measures too.
    permutations : int, optional
        Sign flips or resamples. Default: 100,000, or as many as the correction needs to reject anything.
    p_value : {"plus-one", "paper"}
        How p follows from the b extreme ones of B flips: (b + 1)/(B + 1), or b/B as in the RDQ paper.
    alpha : float, default 0.05
        Level of the tests; intervals have confidence 1 − alpha.
    seed : int, default 0
        Seed of the flips or resamples.
    clusters : dict of str to str, optional
        The cluster of each query, such as its user, session or topic: queries of a cluster depend on each other and
        are flipped together. For the randomization test.
    replicates : dict of str to list of str, optional
        Systems with several runs, such as training with several seeds: the names of their runs among the scores. Runs
        that are not named are systems with one run. The test then allows for how far runs vary.
    segments : dict of str to str, or dict of str to list of str, optional
        The segment of each query, or the queries of each segment: test each segment too, corrected over pairs and
        segments, and whether differences depend on the segment (``interaction``).
    anytime : bool, default False
        Test by betting: p-values and intervals hold however often one looks while queries arrive, in the order of the
        scores, and stops when one likes. They assume nothing but the measure's range, and are wider for it.
    engine : {"auto", "numpy", "numba", "torch"}
        What counts the flips; all give the same numbers.
    threads : int, optional
        Default: all cores.

    Returns
    -------
    Significance
        Difference, interval, effect size and p-values of each pair and measure.

    Examples
    --------
    >>> import polars as pl
    >>> import rankdev as rd
    >>> table = pl.DataFrame({"system": ["a"] * 4 + ["b"] * 4, "query": list("1234") * 2, "measure": "P@1",
    ...                       "value": [1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0]})
    >>> rd.significance(table).to_polars().select("a", "b", "difference", "wins", "ties", "losses", "p").row(0)
    ('a', 'b', 0.75, 3, 1, 0, 0.25)
    """
    usual = ("randomization" if replicates is None else "t") if test is None else test
    _check_design(usual, correction, clusters, replicates, segments)
    if check_flag("anytime", anytime):
        _check_anytime(test, correction, permutations, clusters, replicates)
        usual = "betting"
    for what, word, known in (
        ("test", usual, ("betting",) if anytime else TESTS),
        ("correction", correction, CORRECTIONS),
        ("family", family, FAMILIES),
        ("p_value", p_value, get_args(PValue)),
    ):
        check_choice(what, word, known)
    if is_several(scores):
        raise UsageError(
            "these are the scores of several collections; give them to meta_analysis(…), or join their queries with"
            " Scores.pooled(…)"
        )
    single = scores = as_scores(scores, measures)
    runs = None if replicates is None else replicated(scores, replicates)
    if runs is not None:
        scores = runs.averaged
    if anytime or usual == "bounded":
        check_ranges(scores, "anytime" if anytime else "test='bounded'")
    first, second = wanted_pairs(scores, baselines)
    families = families_of(scores, first, second, clusters)
    numbered = list(enumerate(families))
    groups = [numbered] if family == "all" else [[one] for one in numbered]
    drawing = Drawing(
        None if permutations is None else check_whole("permutations", permutations, 1),
        p_value,
        check_number("alpha", alpha, FINEST, 1),
        check_seed(seed),
        engine,
        None if threads is None else check_whole("threads", threads, 1),
        len(first) * len(groups[0]) if CORRECTIONS[correction].multiplies else 1,
    )

    def perform(one: Family, m: int, how: Drawing) -> Tested:
        if anytime:
            return betting(one)
        if runs is None:
            return TESTS[usual](one, how)
        return over_runs(one, single.values[:, one.queries, m].T, list(runs.members.values()))

    found = _correct(groups, perform, correction, drawing, anytime)
    for remark in dict.fromkeys(text for one in found for text in one.warned):
        warnings.warn(remark, RankdevWarning, stacklevel=2)
    made: dict[str, Any] = {
        **{"test": usual, "correction": correction, "family": family, "p_value": p_value},
        **{"alpha": drawing.alpha, "seed": drawing.seed},
        "clusters": None if clusters is None else len(families[0].flipped.values),
        "replicates": None if runs is None else runs.counts,
    }
    whole = _result(scores, families, (first, second), found, **made)
    notes: list[str] = []
    # those notes are about queries taken one by one, and about assumptions that some tests do not make
    if clusters is None and runs is None and not anytime and usual != "bounded":
        by_measure = correction != "none" and family == "measure"
        notes += remarks_on(scores, families, whole.columns, drawing.alpha, by_measure=by_measure)
    notes += [*on_clusters(families), *(() if runs is None else runs.remarks), *carried(single)]
    whole = replace(
        whole,
        remarks=(*whole.remarks, *notes),
        conclusion=conclusion(scores, families, whole.columns, drawing.alpha, baselines is not None),
    )
    if segments is None:
        return whole
    return _with_segments(whole, scores, families, segments, perform, drawing, made)


@dataclass(frozen=True)
class _Corrected:
    """The columns of one family, and how they were found."""

    columns: dict[str, Any]
    drawn: int
    enumerated: int
    drawn_for_intervals: int
    warned: tuple[str, ...]
    note: str


def _correct(
    groups: Sequence[Sequence[tuple[int, Family]]],
    perform: Perform,
    correction: str,
    drawing: Drawing,
    anytime: bool,
) -> list[_Corrected]:
    """Test the families of each group, with the number of their measure, and correct each group."""
    results = []
    draws = CORRECTIONS[correction].draws
    for group in groups:
        families = [one for _, one in group]
        tested = [perform(one, m, drawing) for m, one in group]
        adjusted = CORRECTIONS[correction].correct(families, tested, drawing)
        for one, found, other in zip(families, tested, adjusted, strict=True):
            low, high = other.low, other.high
            if not anytime:  # which knows no less
                low, high = widened(one.flipped, other.level or drawing.alpha / one.pairs, low, high)
            half = (other.high - other.low) / 2
            results.append(
                _Corrected(
                    {**one.statistics, "low": low, "high": high, "needed": half, "p": found.p, "p_adjusted": other.p},
                    max(found.permutations, other.permutations) if draws else found.permutations,
                    0 if draws else found.enumerated,
                    other.permutations,
                    found.warnings,
                    found.note,
                )
            )
    return results


def _result(
    scores: Scores,
    families: Sequence[Family],
    pairs: tuple[Indices, Indices],
    found: Sequence[_Corrected],
    **made: Any,
) -> Significance:
    """Make the result of some families, one per measure."""
    return Significance(
        columns=_table(scores, *pairs, [one.columns for one in found]),
        needed=np.concatenate([one.columns["needed"] for one in found]),
        effect_limits=None
        if made["test"] == "betting" or made["replicates"]
        else _effect_limits(scores, families, made["alpha"]),
        lower_is_better=scores.lower_is_better,
        permutations=max(one.drawn for one in found),
        enumerated=sum(one.enumerated for one in found),
        interval_permutations=max(one.drawn_for_intervals for one in found),
        remarks=tuple(
            dict.fromkeys([*(text for one in found for text in one.warned), *(one.note for one in found if one.note)])
        ),
        **made,
    )


def _effect_limits(scores: Scores, families: Sequence[Family], alpha: float) -> Floats:
    """Return limits of effects, and of the fractions of queries that a wins: ``[limit, row]``."""
    found = []
    for measure, one in zip(scores.measures, families, strict=True):
        low, high = fraction_won(one, alpha)
        won = (1 - high, 1 - low) if measure in scores.lower_is_better else (low, high)
        found.append(np.stack([*effect_limits(one, alpha), *won]))
    return np.concatenate(found, axis=1)


def _with_segments(
    whole: Significance,
    scores: Scores,
    families: Sequence[Family],
    segments: Any,
    perform: Perform,
    drawing: Drawing,
    made: Mapping[str, Any],
) -> Significance:
    """Add the tests of segments, corrected together, and the interaction."""
    located, notes = places(scores.queries, named_segments(segments))
    parts = {name: [one.only(np.isin(one.queries, queries)) for one in families] for name, queries in located.items()}
    for name, own in list(parts.items()):
        few = min(len(one.flipped.values) if len(one.values) else 0 for one in own)
        if few < FEWEST_ROWS.get(whole.test, 1 if whole.clusters is None else 2):
            what = "query" if whole.clusters is None else "cluster"
            notes.append(f"segment {name!r} is left out: {counted(few, what, 'is')} too few for the test")
            del parts[name]
    if not parts:
        raise DataError(f"segments: no segment can be tested; {'; '.join(notes)}")
    each = range(len(families))
    order = [(name, m) for m in each for name in parts]  # those of a measure are corrected together
    size = len(order) if whole.family == "all" else len(parts)
    groups = [[(m, parts[name][m]) for name, m in order[start : start + size]] for start in range(0, len(order), size)]
    over = size * families[0].pairs if CORRECTIONS[whole.correction].multiplies else 1

    def alone(one: Family, m: int, how: Drawing) -> Tested:
        return replace(perform(one, m, how), single=False)  # max-T over unequal segments is as wide as the smallest's

    found = _correct(groups, alone, whole.correction, replace(drawing, comparisons=over), whole.test == "betting")
    pairs = families[0].first, families[0].second
    results = {
        name: _result(scores, own, pairs, [found[order.index((name, m))] for m in each], **made)
        for name, own in parts.items()
    }
    frame, more = _interaction(whole, families, located)
    return replace(whole, segments=results, interaction=frame, remarks=(*whole.remarks, *notes, *more))


def _interaction(
    whole: Significance, families: Sequence[Family], segments: Mapping[str, Any]
) -> tuple[pl.DataFrame | None, list[str]]:
    """Test whether differences depend on the segment, or note why that cannot be tested."""
    why = ""
    if len(segments) < 2:
        why = "there is one segment"
    elif whole.clusters or whole.replicates or whole.test == "betting":
        why = "the test takes queries one by one"
    elif sum(map(len, segments.values())) > len(np.unique(np.concatenate(list(segments.values())))):
        why = "segments share queries"
    elif families[0].pairs > PAIRS:
        why = f"the test is for up to {PAIRS} pairs; name a baseline"
    if why:
        return None, [f"whether differences depend on the segment is not tested: {why}"]
    found = [interaction(one, segments, whole.seed) for one in families]
    p = np.concatenate([part for _, part in found])
    used = np.concatenate([part for part, _ in found])
    adjust = {"holm": holm, "bh": benjamini_hochberg}.get(whole.correction, np.copy)
    adjusted = np.full(len(p), np.nan)
    size = len(p) if whole.family == "all" else families[0].pairs
    for start in range(0, len(p), size):
        known = start + np.flatnonzero(~np.isnan(p[start : start + size]))
        adjusted[known] = adjust(p[known])
    names = {name: whole.columns[name] for name in ("measure", "a", "b")}
    frame = pl.DataFrame({**names, "segments": used, "p": p, "p_adjusted": adjusted}).fill_nan(None)
    few = int((used < len(segments)).sum())
    rows = "" if len(p) == 1 else f" in {few} of {len(p)} rows"
    note = (
        f"segments in which fewer than {TELLING} queries have another difference than most have no part in the"
        f" interaction{rows}"
    )
    return frame, [note] if few else []


def _check_anytime(test: str | None, correction: str, permutations: int | None, clusters: Any, replicates: Any) -> None:
    """Refuse what bets take no account of."""
    given = {"test": test, "permutations": permutations, "clusters": clusters, "replicates": replicates}
    for name, value in given.items():
        if value is not None:
            raise UsageError(f"{name} is not for anytime, which has a test of its own; leave it out")
    if correction in ("max-t", "tukey"):
        raise UsageError(f"correction={correction!r} is not for anytime; choose holm, bh or none")


def _check_design(test: str, correction: str, clusters: Any, replicates: Any, segments: Any) -> None:
    """Refuse tests and corrections that take queries one by one where clusters or runs are given."""
    if segments is not None and correction in ("max-t", "tukey"):
        raise UsageError(f"correction={correction!r} is not for segments; choose holm, bh or none")
    if clusters is not None and replicates is not None:
        raise UsageError("clusters and replicates cannot be combined; give one of them")
    for what, given, only in (("clusters", clusters, "randomization"), ("replicates", replicates, "t")):
        if given is None:
            continue
        if test != only:
            raise UsageError(f"test={test!r} is not for {what}; leave it out")
        if correction in ("max-t", "tukey"):
            raise UsageError(f"correction={correction!r} is not for {what}; choose holm, bh or none")


def _table(scores: Scores, first: Indices, second: Indices, columns: list[dict[str, Any]]) -> dict[str, Any]:
    table: dict[str, Any] = {
        "measure": [name for name in scores.measures for _ in first],
        "a": [scores.systems[i] for i in first] * len(scores.measures),
        "b": [scores.systems[i] for i in second] * len(scores.measures),
    }
    for m, measure in enumerate(scores.measures):
        if measure in scores.lower_is_better:
            columns[m] |= {"wins": columns[m]["losses"], "losses": columns[m]["wins"]}
    for name in ("difference", "low", "high", "effect", "wins", "ties", "losses", "p", "p_adjusted"):
        joined = np.concatenate([column[name] for column in columns])
        table[name] = joined.astype(np.int64) if name in ("wins", "ties", "losses") else joined
    return table


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
        Sign flips, shuffles or resamples that were drawn at random for p-values; 0 where none were.
    seed : int
        Seed of the flips or resamples.
    enumerated : int
        Pairs and measures whose p is exact, because all sign flips were enumerated.
    remarks : tuple of str
        Notes on the tests and the scores.

    See Also
    --------
    Significance.discriminative_power : Returns it.
    """

    display: ClassVar = "rankdev.display.comparisons"

    frame: pl.DataFrame = field(repr=False)
    alpha: float
    test: str
    correction: str
    permutations: int
    seed: int
    enumerated: int = 0
    remarks: tuple[str, ...] = ()

    made_with = ("alpha", "test", "correction", "enumerated", "permutations", "seed")

    @property
    def _unused(self) -> tuple[str, ...]:
        return (
            *(() if self.enumerated else ("enumerated",)),
            *(() if self.permutations else ("permutations", "seed")),
        )

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

    def curve(self, measure: str) -> Floats:
        """Return the p-values of one measure in ascending order.

        Parameters
        ----------
        measure : str
            Label of the measure.

        Returns
        -------
        ndarray
            One p-value per pair.

        Examples
        --------
        >>> import numpy as np
        >>> import rankdev as rd
        >>> values = np.random.default_rng(0).normal([[[0.0]], [[0.1]], [[0.9]]], 1, (3, 40, 1))
        >>> scores = rd.Scores(("a", "b", "c"), tuple(map(str, range(40))), ("P@5",), values)
        >>> len(rd.significance(scores).discriminative_power().curve("P@5"))
        3
        """
        return self.frame.filter(measure=measure)["p"].to_numpy()
