"""A gate for releases: is a candidate no worse than the baseline by more than a margin?"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl

from rankdev._common.checks import check_flag, check_number, is_list
from rankdev._common.result import Result
from rankdev.errors import DataError, UsageError, counted, shown, suggestion
from rankdev.evaluation.scores import Scores, ScoresLike
from rankdev.statistics.equivalence import interval
from rankdev.statistics.panels import Family, as_scores, carried, families_of, on_clusters

Verdict = Literal["pass", "fail", "undecided"]
ROUNDING = 1e-9  # a smaller loss is none


@dataclass(frozen=True, eq=False, kw_only=True)
class Gate(Result):
    """Whether a candidate passes: by each measure's mean, by single queries, and as a whole.

    Attributes
    ----------
    verdict : {"pass", "fail", "undecided"}
        Fails where any measure or query fails, passes where all pass.
    reasons : tuple of str
        What was found, a sentence each.
    decisive : tuple of str
        Those of them that decided.
    frame : polars.DataFrame
        The table of :meth:`to_polars`.
    worst : polars.DataFrame
        Queries that lost most, by measure: measure, query, baseline, candidate, lost.
    baseline, candidate : str
        The systems.
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
    frame: pl.DataFrame = field(repr=False)
    worst: pl.DataFrame = field(repr=False)
    baseline: str
    candidate: str
    margin: float
    query_margin: float | None
    unchanged: bool
    alpha: float
    remarks: tuple[str, ...] = ()

    made_with = ("baseline", "candidate", "margin", "query_margin", "alpha")

    @property
    def passed(self) -> bool:
        """Whether the candidate passes."""
        return self.verdict == "pass"

    def to_polars(self) -> pl.DataFrame:
        """Return one row per measure.

        Returns
        -------
        polars.DataFrame
            Columns measure, baseline, candidate (means), difference (candidate − baseline), low, high, wins, ties,
            losses (queries), lost (by the worst query), ``verdict``.

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
    baseline: str,
    candidate: str | None = None,
    measures: Sequence[str] | None = None,
    margin: float = 0.0,
    query_margin: float | None = None,
    required: Collection[str] = (),
    unchanged: bool = False,
    alpha: float = 0.05,
    clusters: Mapping[str, Any] | None = None,
) -> Gate:
    """Decide whether a candidate is no worse than the baseline by more than a margin (non-inferiority).

    By the mean of each measure it passes where the interval of the difference is above −margin, fails where the
    interval is below −margin, and is undecided otherwise. The chance of a wrong pass is at most ``alpha`` however many
    measures there are, because all must pass; that of a wrong failure too: the level is divided by their number.

    Parameters
    ----------
    scores : Scores or table
        Scores of both systems; a table has the columns system, query, measure, value.
    baseline : str
        The system that is in use.
    candidate : str, optional
        The system that may replace it. Default: the other one of two.
    measures : sequence of str, optional
        Measures that must pass. Default: all.
    margin : float, default 0
        Loss of the mean that is acceptable. At 0 the candidate passes only where it is shown to be better.
    query_margin : float, optional
        Fail where a single query loses more than this. Default: single queries may lose anything.
    required : list of str
        Queries that must not lose anything.
    unchanged : bool, default False
        State that both systems return the same lists, as far as the measures look: then the candidate passes.
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
    pair = _pair(known, baseline, candidate)
    _check_queries(pair, required)
    families = families_of(pair.oriented, np.array([1]), np.array([0]), clusters)
    decided = [
        _decide(
            pair.select(measures=[measure]),
            family,
            margin,
            query_margin,
            frozenset(required),
            unchanged,
            alpha,
            len(families),
        )
        for measure, family in zip(pair.measures, families, strict=True)
    ]
    found = [reason for one in decided for reason in one.reasons]
    words = {word for word, _ in found}
    verdict: Verdict = "fail" if "fail" in words else "undecided" if "undecided" in words else "pass"
    return Gate(
        verdict=verdict,
        reasons=tuple(reason for _, reason in found),
        decisive=tuple(reason for word, reason in found if word == verdict),
        frame=pl.DataFrame([one.row for one in decided]),
        worst=pl.concat([one.worst for one in decided]),
        baseline=pair.systems[0],
        candidate=pair.systems[1],
        margin=margin,
        query_margin=query_margin,
        unchanged=unchanged,
        alpha=alpha,
        remarks=(*on_clusters(families), *carried(pair)),
    )


def _pair(scores: Scores, baseline: str, candidate: str | None) -> Scores:
    """Return the scores of both systems, the baseline first."""
    scores.select(systems=[baseline])  # refuses what is no system
    others = [name for name in scores.systems if name != baseline]
    if candidate is None and len(others) != 1:
        raise UsageError(f"the scores have {counted(len(others), 'system')} besides {baseline!r}; name the candidate")
    pair = scores.select(systems=[baseline, others[0] if candidate is None else candidate])
    if len(pair.systems) < 2:
        raise UsageError(f"baseline and candidate are both {baseline!r}; name two systems")
    return pair


def _check_queries(pair: Scores, required: Collection[str]) -> None:
    if not is_list(required) or not all(isinstance(query, str) for query in required):
        raise UsageError(f"required is {shown(required)}; expected a list of queries")
    for query in required:
        if query not in pair.queries:
            raise DataError(f"required query {shown(query)} has no score{suggestion(str(query), pair.queries)}")


@dataclass(frozen=True)
class _Decided:
    """What one measure decides: its row, reasons by what they are for, and the queries by what they lost."""

    row: dict[str, Any]
    reasons: list[tuple[Verdict, str]]
    worst: pl.DataFrame


def _decide(
    one: Scores,
    family: Family,
    margin: float,
    query_margin: float | None,
    required: frozenset[str],
    unchanged: bool,
    alpha: float,
    measures: int,
) -> _Decided:
    """Decide by one measure: its scores, and the family of their differences, in which more is better."""
    measure = one.measures[0]
    low, high = (float(interval(family, 2 * level)[side][0]) for side, level in ((0, alpha), (1, alpha / measures)))
    verdict: Verdict = "pass" if low > -margin or unchanged else "fail" if high < -margin else "undecided"
    gained = family.values[:, 1] - family.values[:, 0]
    known = {name: values[0] for name, values in family.statistics.items()}
    turned = measure in one.lower_is_better
    row = {
        "measure": measure,
        "baseline": float(one.means[0, 0]),
        "candidate": float(one.means[1, 0]),
        "difference": float(-known["difference"] if turned else known["difference"]),
        "low": -high if turned else low,
        "high": -low if turned else high,
        **{name: int(known[name]) for name in ("wins", "ties", "losses")},
        "lost": max(0.0, -float(gained.min())),
    }
    reasons = [(verdict, _reason(row, verdict, margin, unchanged))]
    queries = [one.queries[i] for i in family.queries]
    for query, gain in zip(queries, gained, strict=True):
        allowed = 0.0 if query in required else query_margin
        if allowed is not None and -gain > allowed + ROUNDING:
            verdict = "fail"
            why = "it must not lose anything" if query in required else f"at most {allowed:g} is allowed"
            reasons.append(("fail", f"{measure}: query {query} loses {-gain:.4f}; {why}."))
    values = one.values[:, family.queries, 0]
    worst = pl.DataFrame(
        {"measure": measure, "query": queries, "baseline": values[0], "candidate": values[1], "lost": -gained}
    )
    lost = worst.filter(pl.col("lost") > ROUNDING).sort("lost", descending=True, maintain_order=True)
    return _Decided({**row, "verdict": verdict}, reasons, lost)


def _reason(row: dict[str, Any], verdict: Verdict, margin: float, unchanged: bool) -> str:
    found = f"{row['difference']:+.4f} [{row['low']:.4f}, {row['high']:.4f}]"
    on = f"on {counted(row['wins'] + row['ties'] + row['losses'], 'query')}"
    if unchanged:
        return f"{row['measure']}: the lists are the same {on}."
    by = f" by more than {margin:g}" if margin else ""
    if verdict == "pass":
        return f"{row['measure']}: {f'not worse{by}' if margin else 'better'}, {found} {on}."
    if verdict == "fail":
        return f"{row['measure']}: worse{by}, {found} {on}."
    return f"{row['measure']}: cannot tell whether it is worse{by}, {found} {on}; more queries are needed."
