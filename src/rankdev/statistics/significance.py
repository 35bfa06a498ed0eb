"""Significance: test pairs of systems, and decide about each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl

from rankdev._common.arrays import Bools, Floats
from rankdev._common.checks import FINEST, check_choice, check_number, check_seed, check_whole
from rankdev._common.result import Result
from rankdev._common.view import Col, Dot, Dots, Tab, View
from rankdev.errors import Note, UsageError, counted
from rankdev.evaluation.coverage import unjudged_share
from rankdev.evaluation.scores import ScoresLike, WeightsLike
from rankdev.statistics.decision import Decision, Verdict, leading, of_losses, refused, remarks_on, verdicts
from rankdev.statistics.design import Design
from rankdev.statistics.discriminative_power import DiscriminativePower
from rankdev.statistics.inputs import ALL, check_reach
from rankdev.statistics.pairs import Family, gains
from rankdev.statistics.tests import CORRECTIONS, USUAL, Tested, adjust, randomization, student

TESTS = ("t", "randomization")
FAMILIES = ("measure", "all")
DETAILS = ("level", "queries", "deviation", "moved", "equal")  # of each decision, beside the columns of the table
NAMES = {"holm": "Holm", "bh": "Benjamini–Hochberg"}
SENTENCES = 6  # pairs and measures that have a sentence each
LISTED = 3  # systems that a cell names; where there are more they are counted: their ranks say which


class PairTests(Result):
    """Tests of pairs of systems: a table with adjusted p-values, and the level they are compared with."""

    alpha: float
    problems: tuple[Note, ...]

    def summary(self) -> pl.DataFrame:
        """Count the pairs of each measure that differ significantly: none where the data have a problem.

        Returns
        -------
        polars.DataFrame
            Columns measure, pairs, significant; with segments, the segment first.

        Examples
        --------
        >>> import rankdev as rd
        >>> values = np.random.default_rng(0).normal([[[0.0]], [[0.1]], [[0.9]]], 1, (3, 40, 1))
        >>> scores = rd.Scores(("a", "b", "c"), tuple(map(str, range(40))), ("P@5",), values)
        >>> rd.significance(scores).summary().row(0)
        ('P@5', 3, 1)
        """
        table = self.to_polars()
        names = ("segment", "measure") if "segment" in table.columns else ("measure",)
        significant = ((pl.col("p_adjusted") <= self.alpha) & (not self.problems)).sum().alias("significant")
        return table.group_by(*names, maintain_order=True).agg(pl.len().alias("pairs"), significant)

    @property
    def significant(self) -> list[bool]:
        """Which rows of the table differ significantly."""
        return (self.to_polars()["p_adjusted"] <= self.alpha).fill_null(False).to_list()


PAIRS = View(
    [Tab(columns=("measure", "a", "b", "difference", "low", "p_adjusted", "verdict", "wins"))],
    "compare",
    opening=["{conclusion}"],
    closing=[("{method}", "w/t/l: queries that a won, tied and lost", "{unjudged}"), "{losses}"],
    brief=True,
    figure=Dots(
        ["a", "b"],
        [Dot("difference", "difference in {measure}, {level} interval; filled: better or worse")],
        zero=True,
    ),
)
CHANGE = (
    Col("mean_b", "{b}", of_system=True),
    Col("mean_a", "{a}", of_system=True),
    Col("difference", "change", "signed"),
)
TWO = replace(
    PAIRS,
    tables=[Tab(columns=("measure", *CHANGE, "low", "p_adjusted", "verdict", "wins"), frame="_with_means")],
    closing=[("{method}", "w/t/l: queries won, tied and lost", "{unjudged}"), "{losses}"],
)
STANDING = replace(
    PAIRS,
    tables=[
        Tab(columns=("rank", "system", "mean", "rank_low", "ahead", "not_told_from"), frame="_standings", by="measure")
    ],
    closing=[("{method}, {drawn}", "--pairs shows them all", "{unjudged}")],
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Significance(PairTests):
    """Tests of pairs of systems, and what is decided about each.

    Attributes
    ----------
    frame : polars.DataFrame
        The table, a row per pair and measure; for each also its level, the number of queries (or clusters) and of those
        that differ, the standard deviation of differences, and whether both systems score the same everywhere.
    systems : tuple of str
        The systems, in order.
    means : array of float
        The mean of each ``[system, measure]``.
    test : {"t", "randomization"}
        The test.
    correction : {"holm", "bh", "none"}
        Correction. Over the pairs of systems.
    family : {"measure", "all"}
        Comparisons that are corrected together.
    alpha : float
        Level of the tests; intervals have confidence 1 − alpha.
    margin : float, optional
        Largest difference that does not matter.
    baselines : bool
        Whether systems were compared with baselines only.
    permutations : int
        Sign flips that were drawn at random; 0 where none were.
    seed : int
        Seed of the flips.
    clusters : int, optional
        Clusters of queries.
    replicates : dict of str to int, optional
        Runs of each system.
    problems : tuple of str
        What is wrong with the data, so that nothing is decided.
    losses : str
        Of two systems, how many queries lost much, and how many of all may.
    unjudged : str
        How much of what the measures look at nobody judged; empty where that is not known.
    remarks : tuple of str
        Notes on the tests and the scores.
    lower_is_better : tuple of str
        Measures of which a lower value is better: there, a query is won by the lower one.
    segments : dict of str to Significance
        Tests of each segment's queries, corrected together over all segments; empty where none were given.

    See Also
    --------
    significance : Returns it.
    """

    view: ClassVar = PAIRS

    frame: pl.DataFrame = field(repr=False)
    systems: tuple[str, ...] = field(repr=False)
    means: Floats = field(repr=False)
    test: str
    correction: str
    family: Literal["measure", "all"]
    alpha: float
    margin: float | None = None
    baselines: bool = False
    permutations: int = 0
    seed: int = 0
    clusters: int | None = None
    replicates: dict[str, int] | None = None
    problems: tuple[Note, ...] = ()
    losses: str = ""
    unjudged: str = ""
    remarks: tuple[str, ...] = ()
    lower_is_better: tuple[str, ...] = field(default=(), repr=False)
    segments: dict[str, Significance] = field(default_factory=dict, repr=False)

    made_with = ("test", "correction", "family", "alpha", "margin", "permutations", "seed", "clusters", "replicates")

    @property
    def _unused(self) -> tuple[str, ...]:
        return () if self.permutations else ("permutations", "seed")

    @property
    def measures(self) -> list[str]:
        """The measures, in order."""
        return self.frame["measure"].unique(maintain_order=True).to_list()

    @property
    def pairs(self) -> int:
        """Number of pairs of each measure."""
        return self.frame.height // len(self.measures)

    @property
    def method(self) -> str:
        """The test and the correction in a few words: ``Paired t-tests, Holm over 15 pairs``."""
        test = "t-test" if self.test == "t" else "randomization test"
        flips = f" ({self.permutations:,} sign flips)" if self.permutations else ""
        of = "" if self.clusters is None else f" of {counted(self.clusters, 'cluster')}"
        text = f"Paired {test}{'s' if self.frame.height > 1 else ''}{flips}{of}"
        together, what = self.pairs, "pair"
        if self.family == "all":
            together, what = self.pairs * len(self.measures), "comparison"
        if together == 1:
            return text
        over = f"{NAMES[self.correction]} over {counted(together, what)}" if self.correction in NAMES else "uncorrected"
        return f"{text}, {over}"

    @property
    def drawn(self) -> str:
        """The number of queries, or of clusters of them."""
        return counted(self.frame["queries"][0], "query" if self.clusters is None else "cluster")

    def view_of(self, pairs: bool = False) -> View:
        """Return how the tests look: two systems by measure, several by their standing, or all ``pairs``."""
        if len(self.systems) == 2:
            return TWO
        return PAIRS if pairs or self.baselines else STANDING

    def _with_means(self) -> pl.DataFrame:
        """Return the table with the means of both systems."""
        b, a = (self.means[self.systems.index(self.frame[side][0])] for side in "ba")
        return self.to_polars().with_columns(mean_b=b, mean_a=a)

    def _standings(self) -> pl.DataFrame:
        """Return the standing under each measure, with the distance to the next, and who cannot be told from whom."""
        tables = []
        for measure in self.measures:
            rows, alike = self.standing(measure), self.not_told_from(measure)
            ahead = (rows["mean"] - rows["mean"].shift(-1)) * (-1 if measure in self.lower_is_better else 1)
            names = [alike[name] for name in rows["system"]]
            close = [", ".join(own) if len(own) <= LISTED else f"{len(own)} systems" for own in names]
            tables.append(rows.with_columns(measure=pl.lit(measure), ahead=ahead, not_told_from=pl.Series(close)))
        return pl.concat(tables)

    @property
    def parts(self) -> dict[str, Significance]:
        """The tests of all queries, under the name "all", and those of each segment."""
        return {ALL: replace(self, segments={}), **self.segments}

    @cached_property
    def decisions(self) -> list[Decision]:
        """The decision about each row of the table."""
        unit, lower = "query" if self.clusters is None else "cluster", self.lower_is_better
        rows = self.frame.drop("effect", "wins", "ties", "losses").iter_rows(named=True)
        more: dict[str, Any] = {"margin": self.margin, "unit": unit}
        return [Decision(**row, **more, lower_is_better=row["measure"] in lower) for row in rows]

    @cached_property
    def better(self) -> dict[str, Bools]:
        """Of each measure, which system (row) is better than which (column)."""
        place = {name: i for i, name in enumerate(self.systems)}
        found = {name: np.zeros((len(place), len(place)), bool) for name in self.measures}
        for measure, a, b, verdict in self.frame.select("measure", "a", "b", "verdict").iter_rows():
            if verdict == "better":
                found[measure][place[a], place[b]] = True
            elif verdict == "worse":
                found[measure][place[b], place[a]] = True
        return found

    @property
    def conclusion(self) -> str:
        """What is decided, a line each: about every pair if they are few, else about the leader of each measure."""
        return refused(self.problems) if self.problems else "\n".join(map(self.concluded, self.measures))

    def concluded(self, measure: str) -> str:
        """Return what is decided in one measure."""
        if self.problems:
            return refused(self.problems)
        if not self.baselines and len(self.systems) > 2:
            return self._leader(measure)
        if self.pairs == 1 or self.frame.height <= SENTENCES:
            return "\n".join(str(one) for one in self.decisions if one.measure == measure)
        return self._counts(measure)

    def order(self, measure: str) -> list[str]:
        """Return the systems, best mean first."""
        return self.standing(measure)["system"].to_list()

    def standing(self, measure: str) -> pl.DataFrame:
        """Return the systems, best first, with the ranks that the decisions about all pairs leave them.

        Columns rank, system, mean, rank_low (1 + the systems that are better), rank_high (that of the last, less the
        systems that are worse), may_be_best (no system is better).
        """
        better, count = self.better[measure], len(self.systems)
        means = self.means[:, self.measures.index(measure)]
        ranked = (-means if measure in self.lower_is_better else means).round(12)
        columns = {
            "rank": 1 + (ranked[:, None] < ranked).sum(axis=1),
            "system": self.systems,
            "mean": means,
            "rank_low": 1 + better.sum(axis=0),
            "rank_high": count - better.sum(axis=1),
            "may_be_best": ~better.any(axis=0),
        }
        return pl.DataFrame(columns).sort("rank", maintain_order=True)

    def not_told_from(self, measure: str) -> dict[str, list[str]]:
        """Return, for each system, those that it cannot be told from, best first."""
        apart = self.better[measure] | self.better[measure].T
        order = self.order(measure)
        place = {name: i for i, name in enumerate(self.systems)}
        return {a: [b for b in order if b != a and not apart[place[a], place[b]]] for a in order}

    def _leader(self, measure: str) -> str:
        better, place = self.better[measure], self.systems.index
        leader, *others = self.order(measure)
        rivals = [name for name in others if not better[place(leader), place(name)]]
        first = [place(name) for name in (leader, *rivals)]
        beaten = [name for name in others if better[first, place(name)].all()]
        leaders = self.standing(measure).filter(pl.col("rank") == 1)["system"].to_list()
        rivals = [name for name in rivals if name not in leaders]
        return leading(measure, leaders, rivals, beaten, len(others))

    def _counts(self, measure: str) -> str:
        own = self.frame.filter(measure=measure)["verdict"].to_list()
        counts = ", ".join(f"{own.count(word)} {word}" for word in dict.fromkeys(own))
        return f"{measure}: of {len(own)} pairs, {counts}."

    def to_polars(self) -> pl.DataFrame:
        """Return one row per pair and measure.

        Returns
        -------
        polars.DataFrame
            Columns measure, a (the candidate), b (the baseline), difference (a − b), low, high, effect (the mean
            difference in standard deviations of the differences), wins, ties, losses (queries of a), p, p_adjusted,
            verdict. With segments, the segment comes first; "all" denotes all queries.

        Examples
        --------
        >>> import rankdev as rd
        >>> values = np.random.default_rng(0).normal([[[0.0]], [[0.1]], [[0.9]]], 1, (3, 40, 1))
        >>> scores = rd.Scores(("a", "b", "c"), tuple(map(str, range(40))), ("P@5",), values)
        >>> rd.significance(scores).to_polars().select("a", "b", "wins", "ties", "losses", "verdict").row(0)
        ('b', 'a', 26, 0, 14, 'cannot tell')
        """
        if self.segments:
            frames = {name: part.to_polars() for name, part in self.parts.items()}
            return pl.concat(frame.select(pl.lit(name).alias("segment"), pl.all()) for name, frame in frames.items())
        return self.frame.drop(DETAILS).fill_nan(None)

    def discriminative_power(self) -> DiscriminativePower:
        """Order the achieved significance levels of every measure (Sakai 2006): the p-values of all pairs, ascending.

        Sakai's early papers do not correct (``correction="none"``).

        Returns
        -------
        DiscriminativePower
            The curves, and how many pairs differ significantly under each measure.

        Examples
        --------
        >>> import rankdev as rd
        >>> values = np.random.default_rng(0).normal([[[0.0]], [[0.1]], [[0.9]]], 1, (3, 40, 1))
        >>> scores = rd.Scores(("a", "b", "c"), tuple(map(str, range(40))), ("P@5",), values)
        >>> found = rd.significance(scores, correction="none").discriminative_power()
        >>> found.summary().select("pairs", "significant").row(0)
        (3, 3)
        """
        if self.segments:
            return self.parts[ALL].discriminative_power()
        rows = self.frame.with_columns(needed=(pl.col("high") - pl.col("low")) / 2).fill_nan(None)
        ordered = rows.sort("p_adjusted", maintain_order=True)
        frame = pl.concat([ordered.filter(measure=name) for name in self.measures])
        frame = frame.select(
            "measure",
            pl.int_range(1, pl.len() + 1).over("measure").alias("place"),
            *("a", "b", "difference", "needed"),
            pl.col("p_adjusted").alias("p"),
        )
        made = {name: getattr(self, name) for name in DiscriminativePower.made_with}
        return DiscriminativePower(frame=frame, **made, remarks=(*self.problems, *self.remarks))


def significance(
    scores: ScoresLike,
    *,
    measures: Sequence[str] | None = None,
    baselines: str | Sequence[str] | None = None,
    test: Literal["t", "randomization"] = "t",
    correction: Literal["holm", "bh", "none"] = "holm",
    family: Literal["measure", "all"] = "measure",
    margin: float | None = None,
    alpha: float = 0.05,
    permutations: int = USUAL,
    seed: int = 0,
    clusters: Mapping[str, Any] | None = None,
    replicates: Mapping[str, Sequence[str]] | None = None,
    segments: Mapping[str, Any] | None = None,
    weights: WeightsLike | None = None,
) -> Significance:
    """Test every pair of systems, or every system against each baseline, and decide about each.

    A system is better or worse than another where the corrected p-value is at most ``alpha``, which is exactly where
    the interval leaves out 0. With a ``margin`` it is the same where the interval lies within ± margin, and not worse
    where it lies above − margin. Where so few queries differ that no sign test could reject, nothing is decided.

    Parameters
    ----------
    scores : Scores, table or path
        Scores of the systems; a table has the columns system, query, measure, value.
    measures : sequence of str, optional
        Measures to compare by. Default: all.
    baselines : str or sequence of str, optional
        Compare every other system with these only. Default: all pairs, of which the later system is the candidate.
    test : {"t", "randomization"}
        Paired test. Student's, or the randomization test, which takes all sign flips where at most 20 queries differ
        and draws ``permutations`` of them otherwise.
    correction : {"holm", "bh", "none"}
        Correction. Over the pairs of systems.
    family : {"measure", "all"}
        Correct over the pairs of each measure, or over all measures too.
    margin : float, optional
        Largest difference that does not matter. Choose it before looking at the scores.
    alpha : float, default 0.05
        Level of the tests. Intervals have confidence 1 − alpha.
    permutations : int, default 100000
        Sign flips that are drawn. Default: 100,000.
    seed : int, default 0
        Seed of the flips.
    clusters : dict of str to str, optional
        The cluster of each query, such as its user, session or topic: queries of a cluster are not independent.
    replicates : dict of str to list of str, optional
        Systems with several runs, such as training with several seeds: the names of their runs among the scores, three
        or more each. Runs that are not named are systems with one run, taken as deterministic.
    segments : dict of str to str, or dict of str to list of str, optional
        The segment of each query, or the queries of each segment: test each segment too, corrected over pairs and
        segments.
    weights : dict of str to float, or table, optional
        Weight of each query, such as how often it is asked, as ``{query: weight}`` or a table with the columns query
        and weight: means are weighted, and the t-test allows for it. Default: those of the scores.

    Returns
    -------
    Significance
        Difference, interval, effect size, p-values and verdict of each pair and measure.

    Examples
    --------
    >>> import rankdev as rd
    >>> values = np.random.default_rng(0).normal([[[0.0]], [[0.9]]], 1, (2, 40, 1))
    >>> scores = rd.Scores(("old", "new"), tuple(map(str, range(40))), ("P@5",), values)
    >>> print(rd.significance(scores).conclusion)
    new is better than old on average in P@5: +1.262 [0.816, 1.707], 40 queries.
    """
    parts_of_queries: dict[str, Any] = {"clusters": clusters, "segments": segments, "weights": weights}
    design = Design.of(scores, measures, **parts_of_queries, replicates=replicates, weighted=True)
    asked = Procedure(test, correction, family, alpha=alpha, margin=margin, permutations=permutations, seed=seed)
    return compared(design, asked, baselines)


@dataclass(frozen=True)
class Procedure:
    """How pairs are tested and corrected, checked; see :func:`significance`."""

    test: str = "t"
    correction: str = "holm"
    family: Literal["measure", "all"] = "measure"
    _: KW_ONLY
    alpha: float = 0.05
    margin: float | None = None
    permutations: int = USUAL
    seed: int = 0

    def __post_init__(self) -> None:
        check_choice("test", self.test, TESTS)
        check_choice("correction", self.correction, CORRECTIONS)
        check_choice("family", self.family, FAMILIES)
        object.__setattr__(self, "alpha", check_number("alpha", self.alpha, FINEST, 1))
        object.__setattr__(self, "seed", check_seed(self.seed))
        object.__setattr__(self, "permutations", check_whole("permutations", self.permutations, 1))
        if self.margin is not None:
            check_number("margin", self.margin, 0)

    def perform(self, family: Family, together: int) -> Tested:
        """Test the pairs of a family, which so many are corrected together with."""
        finest = self.alpha / (1 if self.correction == "none" else together)
        if self.test == "t":
            return student(family, finest)
        return randomization(family, finest, self.permutations, self.seed)


def compared(design: Design, asked: Procedure, baselines: str | Sequence[str] | None = None) -> Significance:
    """Test the pairs of a design as :func:`significance` does."""
    if design.runs is not None and asked.test != "t":
        raise UsageError("test-of-runs", test=asked.test)
    if design.scores.weights is not None and asked.test != "t":
        raise UsageError("weights-of-flips")
    if asked.margin is not None:
        check_reach("margin", asked.margin, design.scores)
    families = design.families(baselines)
    whole = _tested(design, {ALL: families}, asked)[ALL]
    notes = [*design.on_clusters("compared" if asked.test == "t" else "flipped")]
    parts: dict[str, Significance] = {}
    if design.segments:
        within, left_out = design.within(families)
        parts = _tested(design, within, asked)
        notes += left_out
    notes += [] if design.problems else remarks_on(design, families, whole)
    losses = ""
    if families[0].pairs == 1:
        each = zip(design.scores.measures, families, strict=True)
        lower = design.scores.lower_is_better
        losses = of_losses([(name, gains(family, name in lower), family.reach) for name, family in each])
    return replace(
        whole,
        baselines=baselines is not None,
        segments=parts,
        remarks=(*whole.remarks, *notes, *design.notes),
        losses=losses,
        unjudged=unjudged_share(design.single),
    )


def _tested(design: Design, parts: Mapping[str, Sequence[Family]], asked: Procedure) -> dict[str, Significance]:
    """Test the families of parts of the queries, one per measure, corrected together over the parts."""
    names, count = list(parts), len(design.scores.measures)
    together = sum(own[0].pairs for own in parts.values()) * (count if asked.family == "all" else 1)
    tested = {name: [asked.perform(one, together) for one in own] for name, own in parts.items()}
    frames: dict[tuple[str, int], pl.DataFrame] = {}
    groups = [[(name, m) for name in names] for m in range(count)]
    groups = [list(chain(*groups))] if asked.family == "all" else groups
    for group in groups:
        p = np.concatenate([tested[name][m].p for name, m in group])
        adjusted, level = adjust(p, asked.correction, asked.alpha)
        ends = np.cumsum([parts[name][m].pairs for name, m in group])[:-1]
        for place, own, at in zip(group, np.split(adjusted, ends), np.split(level, ends), strict=True):
            name, m = place
            frames[place] = _decided(design, m, parts[name][m], tested[name][m], own, at, asked)
    return {
        name: _result(design, parts[name], tested[name], [frames[name, m] for m in range(count)], asked)
        for name in names
    }


def _decided(
    design: Design, m: int, family: Family, tested: Tested, adjusted: Floats, level: Floats, asked: Procedure
) -> pl.DataFrame:
    """Return the rows of a family of pairs: what was tested, and what is decided from it."""
    scores = design.scores
    measure = scores.measures[m]
    lower = measure in scores.lower_is_better
    low, high = tested.interval(family, level)
    statistics = family.statistics
    wins, losses = (statistics[name].astype(np.int64) for name in (("losses", "wins") if lower else ("wins", "losses")))
    gain, ends = (-family.mean, (-high, -low)) if lower else (family.mean, (low, high))
    decided: list[Verdict] = (
        ["cannot tell"] * family.pairs
        if design.problems
        else verdicts(gain, *ends, (adjusted <= asked.alpha).tolist(), asked.margin)
    )
    columns: dict[str, Any] = {
        "a": [scores.systems[i] for i in family.first],
        "b": [scores.systems[i] for i in family.second],
        **{"difference": family.mean, "low": low, "high": high, "effect": statistics["effect"]},
        **{"wins": wins, "ties": statistics["ties"].astype(np.int64), "losses": losses},
        **{"p": tested.p, "p_adjusted": adjusted, "verdict": decided, "level": level},
        **{"queries": np.full(family.pairs, len(family.rows.values)), "deviation": family.deviation},
        **{"moved": family.moved.astype(np.int64), "equal": statistics["moved"] == 0},
    }
    return pl.DataFrame(columns).select(pl.lit(measure).alias("measure"), pl.all())


def _result(
    design: Design,
    families: Sequence[Family],
    tested: Sequence[Tested],
    frames: Sequence[pl.DataFrame],
    asked: Procedure,
) -> Significance:
    return Significance(
        frame=pl.concat(frames),
        systems=design.scores.systems,
        means=np.stack([one.means for one in families], axis=1),
        clusters=None if design.clusters is None else len(families[0].rows.values),
        replicates=None if design.runs is None else design.runs.counts,
        problems=design.problems,
        lower_is_better=design.scores.lower_is_better,
        remarks=tuple(dict.fromkeys(note for one in tested for note in one.notes)),
        **{**vars(asked), "permutations": max(one.drawn for one in tested)},
    )
