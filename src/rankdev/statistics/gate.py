"""A gate for releases: is a candidate no worse than the baseline by more than a margin?

Every comparison (of a measure, on all queries or on a segment) has three outcomes. All must pass, so each may pass at
level alpha; any may fail, so failures are corrected by Holm's method.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl

from rankdev._common.checks import check_flag, check_number, is_list
from rankdev._common.ids import is_integer
from rankdev._common.result import Result
from rankdev.errors import DataError, UsageError, counted, shown, suggestion
from rankdev.evaluation.origin import same_lists, with_system
from rankdev.evaluation.scores import Scores, ScoresLike
from rankdev.statistics.conclusion import Changes, of_gate
from rankdev.statistics.contrasts import Family, families_of, on_clusters
from rankdev.statistics.equivalence import interval
from rankdev.statistics.panels import as_scores, carried
from rankdev.statistics.segments import ALL, named_segments

Verdict = Literal["pass", "fail", "undecided"]
ROUNDING = 1e-9  # a smaller loss is none


@dataclass(frozen=True, eq=False, kw_only=True)
class Gate(Result):
    """Whether a candidate passes: by each measure's mean, by segments and single queries, and as a whole.

    Attributes
    ----------
    verdict : {"pass", "fail", "undecided"}
        Fails where any measure, segment or query fails, passes where all pass.
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

    By the mean of each measure it passes where the interval of the difference is above −margin, fails where the
    interval is below −margin, and is undecided otherwise. Segments of the queries are decided in the same way. The
    chance of a wrong pass is at most ``alpha`` however many measures and segments there are, because all must pass;
    that of a wrong failure too: failures are corrected by Holm's method, with half of ``alpha`` for the segments.

    Parameters
    ----------
    scores : Scores or table
        Scores of both systems; a table has the columns system, query, measure, value.
    baseline : str or Scores
        The system that is in use: one of the scores, or its own scores, such as :func:`rankdev.read_scores` reads them;
        refused where they were made with other references or in another way.
    candidate : str, optional
        The system that may replace it. Default: the only other one.
    release : str or Scores, optional
        A pinned system that the candidate must not be worse than either, so that small losses do not add up from
        baseline to baseline.
    measures : sequence of str, optional
        Measures that must pass. Default: all.
    margin : float, default 0
        Loss of the mean that is acceptable. At 0 the candidate passes only where it is shown to be better.
    query_margin : float, optional
        Fail where a single query loses more than this. Default: single queries may lose anything.
    required : list of str or int
        Queries that must not lose anything.
    segments : dict of str to str, or dict of str to list of str, optional
        The segment of each query, or the queries of each segment: none may be worse by more than the margin.
    unchanged : bool, default False
        State that both systems return the same lists, as far as the measures look: then the candidate passes. Not
        needed where the scores know their lists (``Scores.origin``).
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
    known, baseline, release = _joined(known, baseline, release)
    pair = _pair(known, baseline, candidate, release)
    required = _required(pair, required)
    parts = {} if segments is None else named_segments(segments)
    compared = [one for against in pair.systems[1:] for one in _comparisons(pair, against, clusters)]
    within, empty = _within(compared, parts)
    highest = [*_upper(compared, margin, alpha / 2 if within else alpha), *_upper(within, margin, alpha / 2)]
    same = {against for against in pair.systems[1:] if same_lists(pair, against, pair.systems[0])}
    if unchanged:
        same.add(baseline)
    unchanged = baseline in same
    guards = _Guards(query_margin, required)
    decided = [
        _decide(one, margin, guards, one.against in same, alpha, high)
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
    scores.select(systems=given)  # refuses what is no system
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
    return (f"{counted(outside, 'query', 'has', of=len(pair.queries))} no segment, and no guard by one",)


@dataclass(frozen=True)
class _Comparison:
    """The candidate and another system under one measure, on all queries or on those of a segment.

    More is better in the family's values, and not in the ``scores``, whose queries it numbers.
    """

    scores: Scores
    family: Family
    against: str
    release: bool
    segment: str = ALL

    @property
    def queries(self) -> list[str]:
        return [self.scores.queries[i] for i in self.family.queries]

    def limits(self, level: float) -> tuple[float, float]:
        """Return limits of the difference, each of which is wrong with this probability."""
        low, high = interval(self.family, 2 * level)
        return float(low[0]), float(high[0])

    @property
    def label(self) -> str:
        where = f" in segment {self.segment}" if self.segment != ALL else ""
        return f"{self.scores.measures[0]}{where}{f' against release {self.against}' if self.release else ''}"


def _comparisons(chosen: Scores, against: str, clusters: Mapping[str, Any] | None) -> list[_Comparison]:
    """Compare the first system with another one, by each measure."""
    pair = chosen.select(systems=[against, chosen.systems[0]])
    families = families_of(pair.oriented, np.array([1]), np.array([0]), clusters)
    return [
        _Comparison(pair.select(measures=[measure]), family, against, against != chosen.systems[1])
        for measure, family in zip(pair.measures, families, strict=True)
    ]


def _within(
    compared: Sequence[_Comparison], segments: Mapping[str, frozenset[str]]
) -> tuple[list[_Comparison], list[str]]:
    """Compare on the queries of each segment; note those that have none."""
    found, empty = [], []
    for segment, queries in segments.items():
        for whole in compared:
            kept = np.array([query in queries for query in whole.queries])
            if not kept.any():
                measure = whole.scores.measures[0]
                empty.append(f"segment {segment!r} has no query with a value of {measure}, and guards nothing")
                continue
            family = whole.family.only(kept)
            if family.clusters is not None and not family.clusters.any():
                raise DataError(
                    f"segments: all queries of {shown(segment)} are in one cluster, which cannot show what others would"
                )
            found.append(replace(whole, family=family, segment=segment))
    return found, empty


def _upper(compared: Sequence[_Comparison], margin: float, alpha: float) -> list[float]:
    """Return the upper limit of each difference, at the level at which Holm's method decides whether it fails."""
    limits, kept, before = [0.0] * len(compared), list(range(len(compared))), 0
    while len(kept) != before:
        before = len(kept)
        for i in kept:
            limits[i] = compared[i].limits(alpha / len(kept))[1]
        kept = [i for i in kept if limits[i] >= -margin]
    return limits


@dataclass(frozen=True)
class _Guards:
    """What single queries may lose."""

    margin: float | None = None
    required: frozenset[str] = frozenset()


@dataclass(frozen=True)
class _Decided:
    """What one comparison decides: its row, reasons by what they are for, and the queries by what they lost."""

    row: dict[str, Any]
    reasons: list[tuple[Verdict, str]]
    worst: pl.DataFrame


def _decide(one: _Comparison, margin: float, guards: _Guards, unchanged: bool, alpha: float, high: float) -> _Decided:
    """Decide one comparison, whose upper limit is known."""
    scores, family, measure = one.scores, one.family, one.scores.measures[0]
    low = one.limits(alpha)[0]
    verdict: Verdict = "pass" if low > -margin or unchanged else "fail" if high < -margin else "undecided"
    gained = family.values[:, 1] - family.values[:, 0]
    known = {name: values[0] for name, values in family.statistics.items()}
    turned = measure in scores.lower_is_better
    values = scores.values[:, family.queries, 0]
    compared = scores if len(family.queries) == len(scores.queries) else scores.select(queries=family.queries)
    means = compared.means[:, 0]
    row = {
        "measure": measure,
        "against": one.against,
        "segment": one.segment,
        "baseline": float(means[0]),
        "candidate": float(means[1]),
        "difference": float(-known["difference"] if turned else known["difference"]),
        "low": -high if turned else low,
        "high": -low if turned else high,
        **{name: int(known[name]) for name in ("wins", "ties", "losses")},
        "lost": max(0.0, -float(gained.min())),
    }
    reasons = [(verdict, _reason(one.label, row, verdict, margin, unchanged))]
    for query, gain in zip(one.queries, gained, strict=True) if one.segment == ALL else ():
        allowed = 0.0 if query in guards.required else guards.margin
        if allowed is not None and -gain > allowed + ROUNDING:
            verdict = "fail"
            why = "it must not lose anything" if query in guards.required else f"at most {allowed:g} is allowed"
            reasons.append(("fail", f"{one.label}: query {query} loses {-gain:.4f}; {why}."))
    worst = pl.DataFrame(
        {"measure": measure, "query": one.queries, "baseline": values[0], "candidate": values[1], "lost": -gained}
    )
    lost = worst.filter(pl.col("lost") > ROUNDING).sort("lost", descending=True, maintain_order=True)
    text = " ".join(reason for _, reason in reasons)
    return _Decided({**row, "verdict": verdict, "reason": text}, reasons, lost)


def _reason(label: str, row: dict[str, Any], verdict: Verdict, margin: float, unchanged: bool) -> str:
    found = f"{row['difference']:+.4f} [{row['low']:.4f}, {row['high']:.4f}]"
    on = f"on {counted(row['wins'] + row['ties'] + row['losses'], 'query')}"
    if unchanged:
        return f"{label}: the lists are the same {on}."
    by = f" by more than {margin:g}" if margin else ""
    if verdict == "pass":
        return f"{label}: {f'not worse{by}' if margin else 'better'}, {found} {on}."
    if verdict == "fail":
        return f"{label}: worse{by}, {found} {on}."
    return f"{label}: cannot tell whether it is worse{by}, {found} {on}; more queries are needed."
