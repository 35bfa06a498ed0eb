"""The table of a paper: systems × measures, with marks of significance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_lowercase
from typing import Any, Literal

import numpy as np
import polars as pl

from rankdev._common.checks import check_flag, check_whole
from rankdev._common.result import Result
from rankdev.data.tables import check_mapping
from rankdev.errors import Note, UsageError, counted
from rankdev.evaluation.scores import Scores, ScoresLike
from rankdev.statistics.decision import refused
from rankdev.statistics.design import Design, Replicated, crossed, in_words
from rankdev.statistics.inputs import alike, as_scores, complete, is_several, wanted_pairs
from rankdev.statistics.significance import Procedure, Significance, compared
from rankdev.statistics.tests import USUAL

DAGGERS = "†‡§¶"


@dataclass(frozen=True, eq=False, kw_only=True)
class PaperTable(Result):
    """Scores of systems as a paper shows them, with what is best and what differs significantly.

    Attributes
    ----------
    frame : polars.DataFrame
        The table of :meth:`to_polars`.
    marks : dict of str to str
        The mark of each system that others are compared with, by its name.
    tests : dict of str to Significance
        The tests behind the marks, by collection; the only collection has the name "".
    baselines : tuple of str
        Systems that all others are compared with; empty where all pairs are.
    digits : int
        Decimals that are shown; values that agree in all of them are equally good.
    alpha : float
        Level of the tests; intervals have confidence 1 − alpha.
    intervals : bool
        Whether values have intervals.
    replicates : dict of str to int, optional
        Runs of each system.
    remarks : tuple of str
        Notes on the tests and the scores.
    lower_is_better : tuple of str
        Measures of which a lower value is better.
    queries : dict of str to int
        Number of queries, by collection.
    labels : dict of str to str
        How systems, measures and collections are named in the table.

    See Also
    --------
    table : Returns it.
    """

    frame: pl.DataFrame = field(repr=False)
    marks: dict[str, str]
    tests: dict[str, Significance] = field(repr=False)
    baselines: tuple[str, ...]
    digits: int
    alpha: float = 0.05
    intervals: bool = False
    replicates: dict[str, int] | None = None
    remarks: tuple[str, ...] = ()
    lower_is_better: tuple[str, ...] = field(default=(), repr=False)
    queries: dict[str, int] = field(default_factory=dict, repr=False)
    labels: dict[str, str] = field(default_factory=dict, repr=False)

    def label(self, name: str) -> str:
        """Return how a system, a measure or a collection is named in the table."""
        return self.labels.get(name, name)

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of the tests."""
        return next(iter(self.tests.values())).parameters if self.tests else {}

    @property
    def caption(self) -> str:
        """What a reader of the table must know: what the marks mean, and how they were computed."""
        spread = self._spread
        each = ", ".join(f"{self.label(name)}: {count}" for name, count in self.queries.items())
        over = f"queries ({each})" if "" not in self.queries else counted(self.queries[""], "query")
        best = f"Means over {over}; best values are highlighted."
        if not self.tests:
            return f"{best}{spread}"
        if self.baselines:
            named = {self.label(name): mark for name, mark in self.marks.items()}
            meaning = ", ".join(f"{mark} differs significantly from {name}" for name, mark in named.items())
        else:
            meaning = "A letter marks values significantly better than those of the system with that letter"
        made = dict.fromkeys(f"{one.method}, α = {one.alpha:g}" for one in self.tests.values())
        return f"{best} {meaning}. {'; '.join(made)}.{spread}"

    @property
    def problems(self) -> tuple[Note, ...]:
        """What is wrong with the data, so that nothing is decided."""
        return tuple(dict.fromkeys(note for one in self.tests.values() for note in one.problems))

    @property
    def conclusion(self) -> str:
        """Why nothing is marked, where the data have a problem; else empty: the table is the conclusion."""
        return refused(self.problems) if self.problems else ""

    @property
    def _spread(self) -> str:
        """What follows the values."""
        if self.intervals:
            return f" Brackets: {100 * (1 - self.alpha):g}% intervals of the means over queries."
        if self.replicates is None:
            return ""
        runs = f" Means ± standard deviations over runs: {in_words(self.replicates)}"
        return f"{runs}; the test allows for the variance between runs." if self.tests else f"{runs}."

    def to_polars(self) -> pl.DataFrame:
        """Return one row per collection, system and measure.

        Returns
        -------
        polars.DataFrame
            Columns collection, system, measure, value, best (to the decimals that are shown), marks; with
            ``intervals`` also low and high, with ``replicates`` deviation (of the means of runs) and runs.

        Examples
        --------
        >>> import numpy as np
        >>> import rankdev as rd
        >>> values = np.random.default_rng(0).normal([[[0.0]], [[0.9]]], 1, (2, 40, 1))
        >>> scores = rd.Scores(("bm25", "new"), tuple(map(str, range(40))), ("P@5",), values)
        >>> rd.table(scores, baselines="bm25").to_polars().select("system", "best", "marks").rows()
        [('bm25', False, ''), ('new', True, '†')]
        """
        return self.frame


def table(
    scores: ScoresLike | Mapping[str, ScoresLike],
    *,
    measures: Sequence[str] | None = None,
    baselines: str | Sequence[str] | None = None,
    test: Literal["t", "randomization"] = "t",
    correction: Literal["holm", "bh", "none"] = "holm",
    alpha: float = 0.05,
    intervals: bool = False,
    replicates: Mapping[str, Sequence[str]] | None = None,
    digits: int = 4,
    labels: Mapping[str, str] | None = None,
    permutations: int = USUAL,
    clusters: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> PaperTable:
    """Tabulate systems × measures for a paper: the best in bold, significant differences marked.

    With baselines, †, ‡, § and ¶ mark a value that differs significantly from that of the first, second … baseline.
    Without, every system has a letter, and a value carries the letters of the systems that it significantly exceeds.
    The caption names the test and the correction.

    Parameters
    ----------
    scores : Scores, table, path, or dict of str to these
        Scores of the systems; of several collections, by name, for columns side by side.
    measures : sequence of str, optional
        Measures to show, in this order. Default: all.
    baselines : str or sequence of str, optional
        Up to four systems that all others are compared with. Default: all pairs.
    test : {"t", "randomization"}
        Paired test. See :func:`significance`.
    correction : {"holm", "bh", "none"}
        Correction. Over the pairs of each measure.
    alpha : float, default 0.05
        Level of the tests.
    intervals : bool, default False
        Show the interval of each mean. Over queries, each by itself.
    replicates : dict of str to list of str, optional
        Systems with several runs, such as training with several seeds: show means ± standard deviations over them; the
        tests allow for the variance between runs.
    digits : int, default 4
        Decimals.
    labels : dict of str to str, optional
        Show a name as this text. Of systems, measures and collections.
    permutations : int, default 100000
        Sign flips that are drawn.
    clusters : dict of str to str, optional
        The cluster of each query, as in :func:`significance`.
    seed : int, default 0
        Seed of the flips.

    Returns
    -------
    PaperTable
        Prints as text and shows itself in notebooks; ``rankdev table --format latex`` writes the same for LaTeX.

    Examples
    --------
    >>> import numpy as np
    >>> import rankdev as rd
    >>> values = np.random.default_rng(0).normal([[[0.0]], [[0.1]], [[0.9]]], 1, (3, 40, 1))
    >>> scores = rd.Scores(("bm25", "old", "new"), tuple(map(str, range(40))), ("P@5",), values)
    >>> print(rd.table(scores, baselines="bm25", digits=2))
    system       P@5
    ────────────────
    bm25 †  -0.06
    old      0.40  †
    new      0.90* †
    <BLANKLINE>
    Means over 40 queries; best values are highlighted. † differs significantly from
    bm25. Paired t-tests, Holm over 2 pairs, α = 0.05.
    """
    check_whole("digits", digits, 0)
    known = {} if labels is None else check_mapping(labels, "labels", "{name: text}")
    if check_flag("intervals", intervals) and replicates is not None:
        raise UsageError("not-together", name="intervals", other="replicates")
    single = alike(scores, measures) if is_several(scores) else {"": as_scores(scores, measures, weighted=True)}
    designs = {
        name: Design.of(one, clusters=clusters, replicates=replicates, weighted=True, least=1)
        for name, one in single.items()
    }
    collections = {name: complete(design.scores) for name, design in designs.items()}
    first = next(iter(collections.values()))
    _, second = wanted_pairs(first, baselines)  # refuses what is not a system, and takes repeated ones once
    beside = [] if baselines is None else [first.systems[i] for i in dict.fromkeys(second.tolist())]
    marks = _marks(first.systems, beside)
    asked = Procedure(test, correction, alpha=alpha, permutations=permutations, seed=seed)
    tests = {
        name: compared(design, asked, beside or None)
        for name, design in designs.items()
        if len(design.scores.systems) > 1
    }
    parts = []
    for name, design in designs.items():
        marked = _marked(tests[name], marks, bool(beside)) if name in tests else {}
        rows = _rows(name, collections[name], digits, marked)
        if intervals:
            rows = rows.with_columns(_limits(design, collections[name], alpha))
        if design.runs is not None:
            rows = rows.with_columns(_over_runs(design.runs, complete(design.single)))
        parts.append(rows)
    runs = next(iter(designs.values())).runs
    notes = [
        note.at(collection=name) if name and isinstance(note, Note) else note
        for name, one in tests.items()
        for note in one.remarks
        if getattr(note, "kind", "") != "of-runs"  # the caption says it
    ]
    return PaperTable(
        frame=pl.concat(parts),
        marks=marks,
        tests=tests,
        baselines=tuple(beside),
        digits=digits,
        alpha=alpha,
        intervals=intervals,
        replicates=None if runs is None else runs.counts,
        remarks=tuple(dict.fromkeys(notes)),
        lower_is_better=tuple(dict.fromkeys(label for one in collections.values() for label in one.lower_is_better)),
        queries={name: int(np.isfinite(one.values[0]).any(axis=1).sum()) for name, one in collections.items()},
        labels=dict(known),
    )


def _marks(systems: Sequence[str], baselines: Sequence[str]) -> dict[str, str]:
    """Return the mark of each system that others are compared with."""
    known = baselines or systems
    signs = DAGGERS if baselines else ascii_lowercase
    if len(known) > len(signs):
        raise UsageError("too-many-marks", count=len(known), most=len(signs))
    return dict(zip(known, signs, strict=False)) if len(systems) > 1 else {}


def _marked(found: Significance, marks: Mapping[str, str], by_baseline: bool) -> dict[tuple[str, str], str]:
    """Return the marks of each (system, measure), in the order of the marks."""
    signs: dict[tuple[str, str], list[str]] = {}
    for measure, better in found.better.items():
        marked = better | better.T if by_baseline else better
        for i, j in np.argwhere(marked).tolist():
            if found.systems[j] in marks:
                signs.setdefault((found.systems[i], measure), []).append(marks[found.systems[j]])
    order = list(marks.values())
    return {place: "".join(sorted(found, key=order.index)) for place, found in signs.items()}


def _rows(collection: str, scores: Scores, digits: int, marked: Mapping[tuple[str, str], str]) -> pl.DataFrame:
    shown = scores.means.round(digits) * [-1 if name in scores.lower_is_better else 1 for name in scores.measures]
    best = (shown == np.fmax.reduce(shown)) & (np.isfinite(shown).sum(axis=0) > 1)
    names = crossed({"collection": [collection]}, {"measure": scores.measures}, {"system": scores.systems})
    marks = [marked.get((system, measure), "") for _, measure, system in names.iter_rows()]
    rows = names.with_columns(value=scores.means.T.ravel(), best=best.T.ravel(), marks=pl.Series(marks))
    return rows.select("collection", "system", "measure", "value", "best", "marks").fill_nan(None)


def _limits(design: Design, scores: Scores, alpha: float) -> list[pl.Series]:
    """Return the limits of the mean of each measure and system, in the order of rows."""
    added = [name in scores.sums for name in scores.measures]
    scale = np.where(added, np.isfinite(scores.values).sum(axis=1), 1)  # sums are shown as sums
    limits = zip(("low", "high"), design.mean_limits(alpha), strict=True)
    return [pl.Series(name, (limit * scale).T.ravel()).fill_nan(None) for name, limit in limits]


def _over_runs(found: Replicated, scores: Scores) -> list[pl.Series]:
    """Return the standard deviation of the means of runs, and their number, in the order of rows."""
    rows = [(column[runs], len(runs)) for column in scores.means.T for runs in found.members.values()]
    deviation = [float(means.std(ddof=1)) if count > 1 else None for means, count in rows]
    return [pl.Series("deviation", deviation, pl.Float64), pl.Series("runs", [count for _, count in rows])]
