"""A gate for releases: is a candidate no worse than the baseline by more than a margin?

Every comparison (of a measure, on all queries or on a segment) has three outcomes. All must pass, so each may pass at
level alpha; any may fail, so failures are corrected by Holm's method.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import polars as pl

from rankdev._common.checks import check_flag, check_number, is_list
from rankdev._common.ids import is_integer
from rankdev._common.result import Result
from rankdev.errors import DataError, UsageError, counted, shown, suggestion
from rankdev.evaluation.origin import same_lists, with_system
from rankdev.evaluation.scores import Scores, ScoresLike
from rankdev.statistics._conclusion import Changes, of_gate
from rankdev.statistics._noninferiority import Guards, Verdict, by_segment, comparisons, decide, upper_limits
from rankdev.statistics.contrasts import on_clusters
from rankdev.statistics.panels import as_scores, carried, check_reach
from rankdev.statistics.segments import named_segments


@dataclass(frozen=True, eq=False, kw_only=True)
class Gate(Result):
    """Whether a candidate passes: by each measure's mean, by segments and single queries, and as a whole.

    Attributes
    ----------
    verdict : {"pass", "fail", "undecided"}
        Fails if any measure, segment or query fails; passes if all pass.
    reasons : tuple of str
        What was found, a sentence each.
    decisive : tuple of str
        Those of them that decided.
    conclusion : str
        The decision in a sentence.
    frame : polars.DataFrame
        The table of :meth:`to_polars`.
    worst : polars.DataFrame
        Queries that lost most, by measure: measure, query, baseline, candidate, lost.
    baseline, candidate : str
        The systems.
    release : str, optional
        The pinned system that the candidate was compared with too.
    margin : float
        Loss of the mean that is acceptable.
    query_margin : float, optional
        Loss of a single query that is acceptable.
    unchanged : bool
        Whether both systems return the same lists.
    alpha : float
        Probability of a wrong pass, and of a wrong failure, by the means.
    remarks : tuple of str
        Notes on the scores.

    See Also
    --------
    gate : Returns it.
    """

    display: ClassVar = "rankdev.display.gate"

    verdict: Verdict
    reasons: tuple[str, ...]
    decisive: tuple[str, ...] = field(repr=False)
    conclusion: str
    frame: pl.DataFrame = field(repr=False)
    worst: pl.DataFrame = field(repr=False)
    baseline: str
    candidate: str
    release: str | None
    margin: float
    query_margin: float | None
    unchanged: bool
    alpha: float
    remarks: tuple[str, ...] = ()

    made_with = ("baseline", "candidate", "release", "margin", "query_margin", "alpha")

    @property
    def passed(self) -> bool:
        """Whether the candidate passes."""
        return self.verdict == "pass"

    def to_polars(self) -> pl.DataFrame:
        """Return one row per measure, and also per segment and against the release where there are such.

        Returns
        -------
        polars.DataFrame
            Columns measure, against (a system), segment ("all": all queries), baseline, candidate (means), difference
            (candidate − baseline), low, high, wins, ties, losses (queries), lost (by the worst query), ``verdict``,
            ``reason``.

        Examples
        --------
        >>> import numpy as np
        >>> import rankdev as rd
        >>> values = np.array([[0.2] * 30, [0.4] * 30])[:, :, None] + np.tile([0.0, 0.1], 15)[None, :, None]
        >>> scores = rd.Scores(("old", "new"), tuple(map(str, range(30))), ("RR",), values)
        >>> rd.gate(scores, baseline="old").to_polars().select("measure", "wins", "verdict").row(0)
        ('RR', 30, 'pass')
        """
        return self.frame


def gate(
    scores: ScoresLike,
    *,
    baseline: str | Scores,
    candidate: str | None = None,
    release: str | Scores | None = None,
    measures: Sequence[str] | None = None,
    margin: float = 0.0,
    query_margin: float | None = None,
    required: Collection[str | int] = (),
    segments: Mapping[str, Any] | None = None,
    unchanged: bool = False,
    alpha: float = 0.05,
    clusters: Mapping[str, Any] | None = None,
) -> Gate:
    """Decide whether a candidate is no worse than the baseline by more than a margin (non-inferiority).

    A measure passes if the interval of the mean difference lies above −margin, fails if it lies below −margin, and is
    undecided otherwise. Segments of the queries are decided in the same way. The probability of a wrong pass is at most
    ``alpha`` however many measures and segments there are, because all must pass. So is that of a wrong failure:
    failures are corrected by Holm's method, with half of ``alpha`` for the segments.

    Parameters
    ----------
    scores : Scores, table or path
        Scores of both systems; a table has the columns system, query, measure, value.
    baseline : str or Scores
        The system that is in use: one of the scores, or its own scores, such as :func:`rankdev.read_scores` reads them;
        refused if they were computed with other references or other options.
    candidate : str, optional
        The system that may replace it. Default: the only other one.
    release : str or Scores, optional
        A pinned system that the candidate must not be worse than either, so that small losses do not add up from
        baseline to baseline.
    measures : sequence of str, optional
        Measures that must pass. Default: all.
    margin : float, default 0
        Loss of the mean that is acceptable. At 0 the candidate passes only if it is shown to be better.
    query_margin : float, optional
        Fail if a single query loses more than this. Default: no limit.
    required : list of str or int
        Queries that must not lose anything.
    segments : dict of str to str, or dict of str to list of str, optional
        The segment of each query, or the queries of each segment: none may be worse by more than the margin.
    unchanged : bool, default False
        State that both systems return the same lists, as far as the measures look: then the candidate passes. Not
        needed if the scores record their rankings (``Scores.origin``).
    alpha : float, default 0.05
        Probability of a wrong pass, and of a wrong failure.
    clusters : dict of str to str, optional
        The cluster of each query, as in :func:`significance`. Intervals are then those of flips of whole
        clusters; ``query_margin`` and ``required`` are about single queries as before.

    Returns
    -------
    Gate
        Whether it passes, and why.

    Examples
    --------
    >>> import numpy as np
    >>> import rankdev as rd
    >>> values = np.random.default_rng(0).normal([[0.5], [0.52]], 0.1, (2, 40))[:, :, None]
    >>> scores = rd.Scores(("old", "new"), tuple(map(str, range(40))), ("nDCG@10",), values)
    >>> found = rd.gate(scores, baseline="old", margin=0.05)
    >>> found.verdict
    'pass'
    """
    check_number("margin", margin, 0, ends=True)
    check_number("alpha", alpha, 0, 0.5)
    if query_margin is not None:
        check_number("query_margin", query_margin, 0, ends=True)
    check_flag("unchanged", unchanged)
    known = as_scores(scores, measures)
    check_reach("margin", margin, known)
    if query_margin is not None:
        check_reach("query_margin", query_margin, known)
    known, baseline, release = _joined(known, baseline, release)
    pair = _pair(known, baseline, candidate, release)
    required = _required(pair, required)
    parts = {} if segments is None else named_segments(segments)
    compared = [one for against in pair.systems[1:] for one in comparisons(pair, against, clusters)]
    within, empty = by_segment(compared, parts)
    highest = [
        *upper_limits(compared, margin, alpha / 2 if within else alpha),
        *upper_limits(within, margin, alpha / 2),
    ]
    same = {against for against in pair.systems[1:] if same_lists(pair, against, pair.systems[0])}
    if unchanged:
        same.add(baseline)
    unchanged = baseline in same
    guards = Guards(query_margin, required)
    decided = [
        decide(one, margin, guards, one.against in same, alpha, high)
        for one, high in zip([*compared, *within], highest, strict=True)
    ]
    found = [reason for one in decided for reason in one.reasons]
    words = {word for word, _ in found}
    verdict: Verdict = "fail" if "fail" in words else "undecided" if "undecided" in words else "pass"
    decisive = tuple(reason for word, reason in found if word == verdict)
    changes = [Changes.of(one.family) for one in compared if not one.release]
    return Gate(
        verdict=verdict,
        reasons=tuple(reason for _, reason in found),
        decisive=decisive,
        conclusion=of_gate(verdict, pair.systems[0], baseline, margin, pair.measures, changes, decisive, unchanged),
        frame=pl.DataFrame([one.row for one in decided]),
        worst=pl.concat([one.worst for one in decided[: len(pair.measures)]]),
        baseline=baseline,
        candidate=pair.systems[0],
        release=release,
        margin=margin,
        query_margin=query_margin,
        unchanged=unchanged,
        alpha=alpha,
        remarks=(*on_clusters([one.family for one in compared]), *empty, *_outside(pair, parts), *carried(pair)),
    )


def _joined(scores: Scores, baseline: str | Scores, release: str | Scores | None) -> tuple[Scores, str, str | None]:
    """Add systems that come with scores of their own; return also the names of both."""
    names: list[Any] = [baseline, release]
    for place, role in enumerate(("baseline", "release")):
        if isinstance(names[place], Scores):
            try:
                scores, names[place] = with_system(scores, names[place], role)
            except DataError as error:
                raise DataError(f"{role}: {error}") from None
    return scores, names[0], names[1]


def _pair(scores: Scores, baseline: str, candidate: str | None, release: str | None) -> Scores:
    """Return the scores of the candidate, the baseline and, where there is one, the release, in this order."""
    given = [baseline] if release is None else [baseline, release]
    scores.select(systems=given)  # refuses what is not a system
    others = [name for name in scores.systems if name not in given]
    if candidate is None and len(others) != 1:
        besides = " and ".join(map(repr, given))
        raise UsageError(f"the scores have {counted(len(others), 'system')} besides {besides}; name the candidate")
    chosen = scores.select(systems=[others[0] if candidate is None else candidate, *given])
    if len(chosen.systems) <= len(given):
        names = ", ".join(map(repr, [candidate, *given]))
        raise UsageError(f"candidate, baseline and release must be different systems; got {names}")
    return chosen


def _required(pair: Scores, required: Collection[Any]) -> frozenset[str]:
    """Return the queries that must not lose, all of which have scores."""
    if not is_list(required) or not all(isinstance(query, str) or is_integer(query) for query in required):
        raise UsageError(f"required is {shown(required)}; expected a list of queries")
    for query in map(str, required):
        if query not in pair.queries:
            raise DataError(f"required query {shown(query)} has no score{suggestion(query, pair.queries)}")
    return frozenset(map(str, required))


def _outside(pair: Scores, segments: Mapping[str, frozenset[str]]) -> tuple[str, ...]:
    """Note queries without a segment."""
    outside = len(set(pair.queries).difference(*segments.values())) if segments else 0
    if not outside:
        return ()
    them = "it" if outside == 1 else "them"
    return (f"{counted(outside, 'query', 'has', of=len(pair.queries))} no segment; segments do not guard {them}",)
