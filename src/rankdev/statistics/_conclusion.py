"""Conclusions for someone who decides: ship, don't ship, or cannot tell, in one sentence from the same statistics.

A candidate ships where every measure shows it to be better: p at most the level, and an interval without 0. Where a few
queries collapse instead, and fewer gain as much, it does not ship yet.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankdev._common.arrays import Floats
from rankdev.errors import counted, listed, printable
from rankdev.evaluation.scores import Scores
from rankdev.statistics.contrasts import Family

COLLAPSE = 0.5  # of a measure's range: a query that loses as much collapses
TOLERATED = 0.01  # fraction of queries that may collapse
MOST = 6  # candidates that have a sentence each


@dataclass(frozen=True)
class Changes:
    """What a candidate changes query by query under one measure: wins, losses, the largest loss, and collapses."""

    queries: int
    wins: int
    losses: int
    lost: float
    collapsed: int
    soared: int
    limit: float

    @classmethod
    def of(cls, family: Family, pair: int = 0, sign: float = 1.0) -> Changes:
        """Count them from a pair's differences, of which positive ones times ``sign`` are gains."""
        _, apart = next(family.differences(np.array([pair])))
        gains: Floats = sign * apart[0]
        limit = COLLAPSE * family.reach / family.unit
        far = (gains != 0) & (np.abs(gains) >= limit - 1)  # allowing for rounding
        return cls(
            len(gains),
            int((gains > 0).sum()),
            int((gains < 0).sum()),
            max(0.0, -float(gains.min())) * family.unit,
            int((far & (gains < 0)).sum()),
            int((far & (gains > 0)).sum()),
            limit * family.unit,
        )

    @property
    def collapses(self) -> bool:
        """Whether more queries collapse than gain as much, and more than a few."""
        return self.collapsed > max(self.soared, TOLERATED * self.queries)

    @property
    def won(self) -> str:
        """How many queries the candidate wins and loses."""
        worse = f", worse on {self.losses:,}" if self.losses else ""
        return f"on {self.wins:,} of {counted(self.queries, 'query')}{worse}"

    @property
    def fallen(self) -> str:
        """How many queries collapse, and what that means."""
        return f"{counted(self.collapsed, 'query', of=self.queries)} collapsed (lost {self.limit:.2g} or more)"


def _at_worst(measures: Sequence[str], changes: Sequence[Changes]) -> str:
    """State the largest loss of a query; where any collapse, how many do under the measure with most.

    Where measures have other ranges, the loss is that under the first.
    """
    most = max(range(len(changes)), key=lambda m: changes[m].collapsed)
    if changes[most].collapsed:
        return changes[most].fallen + (f" in {measures[most]}" if len(changes) > 1 else "")
    lost, where = max(one.lost for one in changes), ""
    if lost and len({one.limit for one in changes}) > 1:
        lost, where = changes[0].lost, f" in {measures[0]}"
    return f"no query lost {f'more than {_rounded_up(lost)}' if lost else 'anything'}{where}"


@dataclass(frozen=True)
class _Shown:
    """What one measure shows of a candidate: ``found`` is 1 where it is better, −1 where worse, 0 where uncertain."""

    measure: str
    found: int
    ahead: float
    p: float
    contains_zero: bool
    changes: Changes


def conclusion(
    scores: Scores, families: Sequence[Family], table: Mapping[str, Any], alpha: float, baselines: bool
) -> str:
    """Conclude from tests whether each candidate may replace the baseline, or one of two systems the other.

    A line for each candidate; none where there are several baselines, more than a few candidates, or, without
    ``baselines``, more than two systems.
    """
    pairs = families[0].pairs
    if pairs > (MOST if baselines else 1) or len(set(families[0].second)) > 1:
        return ""
    return "\n".join(_of_pair(scores, families, table, alpha, pair, baselines) for pair in range(pairs))


def _of_pair(
    scores: Scores, families: Sequence[Family], table: Mapping[str, Any], alpha: float, pair: int, baseline: bool
) -> str:
    a, b = printable(table["a"][pair]), printable(table["b"][pair])  # a sentence is one line
    shown = _shown(scores, families, table, alpha, pair, 1.0)
    ahead = next((one.found for one in shown if one.found), shown[0].ahead)
    if ahead >= 0 or baseline:
        return _sentence(a, b, shown)
    return _sentence(b, a, _shown(scores, families, table, alpha, pair, -1.0))  # the candidate is the one ahead


def _shown(
    scores: Scores, families: Sequence[Family], table: Mapping[str, Any], alpha: float, pair: int, side: float
) -> list[_Shown]:
    found = []
    for m, (measure, family) in enumerate(zip(scores.measures, families, strict=True)):
        row = m * family.pairs + pair
        sign = -side if measure in scores.lower_is_better else side
        difference, low, high, p = (float(table[name][row]) for name in ("difference", "low", "high", "p_adjusted"))
        contains_zero = not (low > 0 or high < 0)
        decided = p <= alpha and not contains_zero
        ahead = sign * difference
        found.append(
            _Shown(
                measure,
                int(np.sign(ahead)) if decided else 0,
                ahead,
                p,
                p <= alpha and contains_zero,
                Changes.of(family, pair, sign),
            )
        )
    return found


def _sentence(a: str, b: str, shown: Sequence[_Shown]) -> str:
    better, worse, uncertain = ([one for one in shown if one.found == sign] for sign in (1, -1, 0))
    if better and worse:
        return f"Don't ship {a} yet: better than {b} in {_named(better)}, but worse in {_named(worse)}."
    if worse:
        on = f" {_reversed(worse[0].changes)}" if len(shown) == 1 else ""
        return f"Don't ship {a}: worse than {b} in {_named(worse)}{on}."
    if better and uncertain:
        return f"Cannot tell: {a} is better than {b} in {_named(better)}, but {_undecided(uncertain)}."
    if uncertain:
        return _cannot_tell(a, b, shown)
    fallen = [one for one in shown if one.changes.collapses]
    several = len(shown) > 1
    if fallen:
        where = f" in {fallen[0].measure}" if several else ""
        return f"Don't ship {a} yet: better than {b} on average, but {fallen[0].changes.fallen}{where}."
    first = shown[0]
    where = f"{_every(shown)}, in {first.measure}" if several else first.measure
    loss = _at_worst([one.measure for one in shown], [one.changes for one in shown])
    return f"Ship {a}: better than {b} in {where} {first.changes.won}; {loss}."


def _cannot_tell(a: str, b: str, shown: Sequence[_Shown]) -> str:
    queries = counted(shown[0].changes.queries, "query")
    if not any(one.changes.wins or one.changes.losses for one in shown):
        where = shown[0].measure if len(shown) == 1 else "every measure"
        return f"Cannot tell: {a} and {b} score the same in {where} on all {queries}."
    if len(shown) > 1:
        return f"Cannot tell: {_undecided(shown)} between {a} and {b} on {queries}."
    one = shown[0]
    if one.contains_zero:
        why = f"the interval of the mean difference contains 0, although {_p(one.p)}"
    else:
        why = f"that can be chance ({_p(one.p)})"
    return f"Cannot tell: {a} is better than {b} in {one.measure} {one.changes.won}; {why}."


def _undecided(shown: Sequence[_Shown]) -> str:
    p = min((one.p for one in shown if not one.contains_zero), default=math.nan)
    least = "" if math.isnan(p) else f" (p {'=' if len(shown) == 1 else '≥'} {p:.2g})"
    return f"{_named(shown)} {'shows' if len(shown) == 1 else 'show'} no clear difference{least}"


def _reversed(changes: Changes) -> str:
    better = f", better on {changes.wins:,}" if changes.wins else ""
    return f"on {changes.losses:,} of {counted(changes.queries, 'query')}{better}"


def _named(shown: Sequence[_Shown]) -> str:
    """Name up to three measures, and count the others."""
    names = [one.measure for one in shown]
    if len(names) > 3:
        return f"{names[0]}, {names[1]} and {len(names) - 2} other measures"
    return listed(names)


def _every(measures: Sequence[Any]) -> str:
    return "both measures" if len(measures) == 2 else f"all {len(measures)} measures"


def _p(p: float) -> str:
    return "p is undefined" if math.isnan(p) else "p < 0.0001" if p < 0.0001 else f"p = {p:.2g}"


def _rounded_up(loss: float) -> str:
    """Write a loss with two significant digits that no loss exceeds.

    >>> _rounded_up(0.2), _rounded_up(0.2031), _rounded_up(12.3)
    ('0.2', '0.21', '13')
    """
    unit = 10.0 ** (math.floor(math.log10(loss)) - 1)
    return f"{math.ceil(loss / unit - 1e-6) * unit:.2g}"


def of_gate(
    verdict: str,
    candidate: str,
    baseline: str,
    margin: float,
    measures: Sequence[str],
    changes: Sequence[Changes],
    decisive: Sequence[str],
    unchanged: bool,
) -> str:
    """Conclude from a gate, whose decision it is; ``changes`` are those under each measure."""
    first = changes[0]
    candidate, baseline = printable(candidate), printable(baseline)
    if unchanged and verdict == "pass":
        return f"Ship: {candidate} returns the same lists as {baseline} for all {counted(first.queries, 'query')}."
    if verdict == "pass":
        where = f" in {_every(measures)}, in {measures[0]}" if len(measures) > 1 else ""
        how = f"not worse than {baseline} by more than {margin:g}{where or ','} better"
        how = how if margin else f"better than {baseline}{where}"
        return f"Ship: {candidate} is {how} {first.won}; {_at_worst(measures, changes)}."
    more = f" (and {len(decisive) - 3} more)" if len(decisive) > 3 else ""
    word = "Don't ship" if verdict == "fail" else "Cannot tell"
    return f"{word}: {' '.join(decisive[:3])}{more}"
