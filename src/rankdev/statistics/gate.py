"""A gate for releases: is a candidate no worse than the baseline by more than a margin?"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl

from rankdev._common.checks import FINEST, check_number, is_list
from rankdev._common.result import Result
from rankdev._common.view import Col, Tab, View
from rankdev.data.ids import is_integer
from rankdev.errors import DataError, Note, UsageError, nearest
from rankdev.evaluation.files import with_system
from rankdev.evaluation.scores import Scores, ScoresLike, WeightsLike
from rankdev.statistics.decision import GateVerdict, of_gate
from rankdev.statistics.inputs import ALL, as_scores
from rankdev.statistics.significance import Significance, significance

WORST, SHOWN = 20, 5  # queries that lost most that are kept, and that are shown of each measure
ROUNDING = 1e-12  # what rounding alone can make of equal scores
REFUSED: GateVerdict = "refused"


@dataclass(frozen=True, eq=False, kw_only=True)
class Gate(Result):
    """Whether a candidate passes: by each measure's mean, by segments and required queries, and as a whole.

    Attributes
    ----------
    verdict : {"pass", "fail", "undecided", "refused"}
        Fails if any measure, segment or required query fails; passes if all pass; refused where the data have
        a problem.
    conclusion : str
        The decision in a sentence.
    reasons : tuple of str
        What decided, a sentence each.
    losses : str
        How many queries lost much, and how many of all may.
    unjudged : str
        How much of what the measures look at nobody judged; empty where that is not known.
    frame : polars.DataFrame
        The table of :meth:`to_polars`.
    worst : polars.DataFrame
        Queries that lost most, by measure: measure, query, baseline, candidate, lost.
    baseline, candidate : str
        The systems.
    margin : float
        Loss of the mean that is acceptable.
    alpha : float
        Level of the intervals. Their confidence is 1 − alpha.
    problems : tuple of str
        What is wrong with the data, so that nothing is decided.
    remarks : tuple of str
        Notes on the scores.

    See Also
    --------
    gate : Returns it.
    """

    view: ClassVar = View(
        [
            Tab(
                columns=(
                    *("measure", "segment", Col("baseline", "{baseline}", of_system=True)),
                    *(Col("candidate", "{candidate}", of_system=True), Col("difference", "change", "signed")),
                    *("low", "verdict", "wins"),
                )
            ),
            Tab("Queries that lost most", ("measure", "query", "baseline", "candidate", "lost"), frame="_lost_most"),
        ],
        "gate",
        opening=["{conclusion}"],
        closing=["{losses}", ("w/t/l: queries won, tied and lost", "{unjudged}")],
        more={"queries": "worst"},
        brief=True,
    )

    verdict: GateVerdict
    conclusion: str
    reasons: tuple[str, ...]
    losses: str = ""
    unjudged: str = ""
    frame: pl.DataFrame = field(repr=False)
    worst: pl.DataFrame = field(repr=False)
    baseline: str
    candidate: str
    margin: float
    alpha: float
    problems: tuple[Note, ...] = ()
    remarks: tuple[str, ...] = ()

    made_with = ("baseline", "candidate", "margin", "alpha")

    def __bool__(self) -> bool:
        """Tell whether the candidate passes."""
        return self.verdict == "pass"

    def _lost_most(self) -> pl.DataFrame:
        return self.worst.group_by("measure", maintain_order=True).head(SHOWN)

    def to_polars(self) -> pl.DataFrame:
        """Return one row per measure, and also per segment where there are such.

        Returns
        -------
        polars.DataFrame
            Columns measure, segment ("all": all queries), baseline, candidate (means), difference (candidate −
            baseline), low, high, wins, ties, losses (queries), ``verdict``, ``reason``.

        Examples
        --------
        >>> import rankdev as rd
        >>> values = np.random.default_rng(0).normal([[0.5], [0.52]], 0.1, (2, 40))[:, :, None]
        >>> scores = rd.Scores(("old", "new"), tuple(map(str, range(40))), ("nDCG@10",), values)
        >>> rd.gate(scores, baseline="old", margin=0.05).to_polars().select("measure", "wins", "verdict").row(0)
        ('nDCG@10', 26, 'pass')
        """
        return self.frame


def gate(
    scores: ScoresLike,
    *,
    baseline: str | Scores,
    candidate: str | None = None,
    margin: float,
    measures: Sequence[str] | None = None,
    required: Collection[str | int] = (),
    segments: Mapping[str, Any] | None = None,
    alpha: float = 0.05,
    clusters: Mapping[str, Any] | None = None,
    weights: WeightsLike | None = None,
) -> Gate:
    """Decide whether a candidate is no worse than the baseline by more than a margin (non-inferiority).

    It passes if the interval of the mean difference lies above −margin for every measure and every segment, or if no
    query differs. It fails if an interval lies below −margin, or a required
    query loses anything. Otherwise it is undecided. Where the data have a problem, such as ids that do not match, it
    is refused.

    Parameters
    ----------
    scores : Scores, table or path
        Scores of both systems; a table has the columns system, query, measure, value.
    baseline : str or Scores
        The system that is in use: one of the scores, or its own scores, such as :func:`rankdev.read_scores` reads them;
        refused if they were computed with other references or other options.
    candidate : str, optional
        The system that may replace it. Default: the only other one.
    margin : float
        Acceptable loss of the mean. In the measures' units.
    measures : sequence of str, optional
        Measures that must pass. Default: all.
    required : list of str or int, optional
        Queries that must not lose anything.
    segments : dict of str to str, or dict of str to list of str, optional
        The segment of each query, or the queries of each segment: none may be worse by more than the margin.
    alpha : float, default 0.05
        Level of the intervals. Their confidence is 1 − alpha.
    clusters : dict of str to str, optional
        The cluster of each query, as in :func:`significance`.
    weights : dict of str to float, or table, optional
        Weight of each query, as in :func:`significance`.

    Returns
    -------
    Gate
        Whether it passes, and why; it is true if it passes.

    Examples
    --------
    >>> import rankdev as rd
    >>> values = np.random.default_rng(0).normal([[0.5], [0.52]], 0.1, (2, 40))[:, :, None]
    >>> scores = rd.Scores(("old", "new"), tuple(map(str, range(40))), ("nDCG@10",), values)
    >>> found = rd.gate(scores, baseline="old", margin=0.05)
    >>> found.verdict, bool(found)
    ('pass', True)
    """
    margin, alpha = check_number("margin", margin, 0), check_number("alpha", alpha, FINEST, 0.5)
    pair = _pair(scores, measures, baseline, candidate)
    required = _required(pair, required)
    asked: dict[str, Any] = {"clusters": clusters, "segments": segments, "weights": weights}
    found = significance(pair, correction="none", margin=margin, alpha=alpha, **asked)
    decided = [row for name, part in found.parts.items() for row in _rows(name, part)]
    lost = _lost(pair)
    failed = [
        str(Note("required-lost", query=query, measure=measure, lost=size))
        for measure, query, size in lost.select("measure", "query", "lost").rows()
        if query in required
    ]
    words = {row["verdict"] for row in decided} | ({"fail"} if failed else set())
    verdict: GateVerdict = "fail" if "fail" in words else "undecided" if "undecided" in words else "pass"
    if found.problems:
        verdict, failed = REFUSED, []
        decided = [{**row, "verdict": REFUSED, "reason": str(found.problems[0])} for row in decided]
    reasons = tuple(failed + [row["reason"] for row in decided if row["verdict"] == verdict])
    identical = all(decision.equal for decision in found.decisions)
    old, new = pair.systems
    return Gate(
        verdict=verdict,
        conclusion=of_gate(verdict, new, old, margin, reasons, found.problems, identical),
        reasons=reasons,
        losses="" if identical else found.losses,
        unjudged=found.unjudged,
        frame=pl.DataFrame(decided),
        worst=lost.sort("lost", descending=True, maintain_order=True)
        .group_by("measure", maintain_order=True)
        .head(WORST),
        baseline=old,
        candidate=new,
        margin=margin,
        alpha=alpha,
        problems=found.problems,
        remarks=found.remarks,
    )


def _rows(segment: str, found: Significance) -> Iterator[dict[str, Any]]:
    """Yield the rows of a part of the queries, one per measure: means, interval, and what is decided from it."""
    tests = found.to_polars().select("difference", "low", "high", "wins", "ties", "losses").iter_rows(named=True)
    for decision, (old, new), test in zip(found.decisions, found.means.T.tolist(), tests, strict=True):
        where = decision.measure if segment == ALL else f"{decision.measure} of segment {segment}"
        yield {
            **{"measure": decision.measure, "segment": segment, "baseline": old, "candidate": new, **test},
            **{"verdict": decision.gate, "reason": replace(decision, measure=where).for_gate},
        }


def _lost(pair: Scores) -> pl.DataFrame:
    """Return every query that lost, by measure, in their order."""
    better = pair.oriented.values
    lost, (old, new) = better[0] - better[1], pair.values
    m, q = np.nonzero(lost.T > ROUNDING)
    names = {"measure": [pair.measures[i] for i in m], "query": [pair.queries[i] for i in q]}
    numbers = {"baseline": old[q, m], "candidate": new[q, m], "lost": lost[q, m]}
    return pl.DataFrame({**names, **numbers}, schema_overrides=dict.fromkeys(names, pl.String))


def _pair(scores: ScoresLike, measures: Sequence[str] | None, baseline: str | Scores, candidate: str | None) -> Scores:
    """Return the scores of the baseline and the candidate, in this order."""
    known = as_scores(scores, measures, weighted=True)
    if isinstance(baseline, Scores):
        try:
            known, name = with_system(known, baseline, "baseline")
        except DataError as error:
            raise error.at(role="baseline") from None
    else:
        name = known.select(systems=[baseline]).systems[0]  # refuses what is not a system
    others = [system for system in known.systems if system != name]
    if candidate is None and len(others) != 1:
        raise UsageError("which-candidate", count=len(others), baseline=name)
    chosen = known.select(systems=[name, others[0] if candidate is None else candidate])
    if len(chosen.systems) < 2:
        raise UsageError("one-system", name=name)
    return chosen


def _required(pair: Scores, required: Collection[Any]) -> frozenset[str]:
    """Return the queries that must not lose, all of which have scores."""
    if not is_list(required) or not all(isinstance(query, str) or is_integer(query) for query in required):
        raise UsageError("not-names", name="required", value=required)
    for query in map(str, required):
        if query not in pair.queries:
            raise DataError("required-unscored", query=query, near=nearest(query, pair.queries))
    return frozenset(map(str, required))
