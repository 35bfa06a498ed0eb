"""The conclusion of a comparison, measure by measure: a clear winner, none, or data that allow no conclusion."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from rankdev.errors import RankdevError, RankdevWarning, counted, listed, printable
from rankdev.evaluation.health import OWN_WORDS, Check
from rankdev.evaluation.scores import Scores
from rankdev.statistics._conclusion import conclusion
from rankdev.statistics.contrasts import families_of
from rankdev.statistics.groups import ROUNDING, better_pairs
from rankdev.statistics.planning import Plan, plan
from rankdev.statistics.significance.result import Significance

NAMED = 4  # systems that a sentence names; more are counted
CHANCE = "does not differ significantly from {}"
ZERO = "the interval of its difference to {} contains 0"
SKEWED = "its difference to {} is not significant if skewness is allowed for"

Level = Literal["winner", "open", "single", "problem"]


@dataclass(frozen=True)
class Rival:
    """How far the best system is ahead of another, with the interval and the p-value of the difference.

    ``beaten`` is where p is at most the level, the interval has no 0, and both hold if skewness is allowed for;
    otherwise ``why`` states what is not so.
    """

    system: str
    ahead: float
    low: float
    high: float
    p: float
    why: str = ""

    @property
    def beaten(self) -> bool:
        """Whether the best system is better."""
        return not self.why


@dataclass(frozen=True)
class Verdict:
    """What one measure shows: its ``level``, a sentence, by how much, and how far other systems are behind the best."""

    measure: str
    level: Level
    sentence: str
    by: str
    best: str
    rivals: tuple[Rival, ...] = ()

    @property
    def open_rivals(self) -> list[str]:
        """Systems that the best one does not beat, best first; those first that chance alone may set apart."""
        chance = [rival.system for rival in self.rivals if rival.why == CHANCE]
        return [*chance, *(rival.system for rival in self.rivals if rival.why and rival.why != CHANCE)]


def verdicts(
    scores: Scores,
    found: Significance | None,
    checks: Sequence[Sequence[Check]],
    clusters: Mapping[str, Any] | None = None,
) -> list[Verdict]:
    """Conclude for each measure from the tests of all pairs; ``found`` is None for a single system.

    There is a winner where the best system beats every other: p at most the level, and an interval without 0. Where the
    data have a problem there is none, whatever the tests show.
    """
    made = []
    for measure, of_measure in zip(scores.measures, checks, strict=True):
        verdict = _alone(scores, measure) if found is None else _of_tests(scores, found, measure, clusters)
        problems = [check.text for check in of_measure if check.level == "problem"]
        made.append(_spoilt(verdict, problems) if problems else verdict)
    return made


def _spoilt(verdict: Verdict, problems: Sequence[str]) -> Verdict:
    more = f" (and {counted(len(problems) - 1, 'other problem')})" if len(problems) > 1 else ""
    first = f"{problems[0].removesuffix('.')}{more}."
    return replace(
        verdict,
        level="problem",
        sentence=f"No conclusion: {first[0].lower() + first[1:] if first.startswith(OWN_WORDS) else first}",
        by="Scores and tests below take the data as they are.",
    )


def _alone(scores: Scores, measure: str) -> Verdict:
    system = scores.systems[0]
    mean = float(scores.averages[0, scores.measures.index(measure)])
    value = "is not available" if math.isnan(mean) else f"scores {mean:.4f}"
    text = f"{printable(system)} {value} on {measure}. A comparison needs a second system."
    return Verdict(measure, "single", text, "", system)


def _of_tests(scores: Scores, found: Significance, measure: str, clusters: Mapping[str, Any] | None) -> Verdict:
    order = scores.sorted_by(measure).systems
    best, rivals = order[0], _rivals(scores, found, measure, order)
    unit = "cluster" if found.clusters else "query"
    number = found.clusters or len(scores.queries)
    same = same_as_best(scores, measure, best)
    nearest = next((rival for rival in rivals if rival.system not in same), rivals[0])
    level = f"{100 * (1 - found.alpha):g}%"
    limits = f"{level} interval {_number(nearest.low)} to {_number(nearest.high)}"
    together = ", adjusted for all pairs" if len(order) > 2 else ""
    next_best = ", the next best," if len(order) > 2 else ""
    about = f"({limits}{together}; {_p('=', nearest.p)}), on {counted(number, unit)}."
    if abs(nearest.ahead) < ROUNDING:
        by = f"{printable(best)} and {printable(nearest.system)} have the same mean {measure} {about}"
    else:
        ahead = f"ahead of {printable(nearest.system)}{next_best} by {_number(nearest.ahead)} {measure} {about}"
        equal = f"{name_some([best, *same])} score the same on every query, and are"
        by = f"{equal if same else f'{printable(best)} is'} {ahead}"
    make = _of_two if len(order) == 2 else _of_several
    sentence, clear = make(scores, found, measure, best, rivals, clusters)
    return Verdict(measure, "winner" if clear else "open", sentence, by, best, rivals)


def _rivals(scores: Scores, found: Significance, measure: str, order: Sequence[str]) -> tuple[Rival, ...]:
    columns, best = found.columns, order[0]
    sign = -1.0 if measure in found.lower_is_better else 1.0
    surely = {(scores.systems[a], scores.systems[b]) for a, b in better_pairs(scores, found, measure)}
    rivals = {}
    for row in np.flatnonzero(np.asarray(columns["measure"], dtype=object) == measure).tolist():
        a, b = columns["a"][row], columns["b"][row]
        if best not in (a, b):
            continue
        way, other = (sign, b) if a == best else (-sign, a)
        apart, low, high, p = (float(columns[name][row]) for name in ("difference", "low", "high", "p_adjusted"))
        low, high = sorted((way * low, way * high))
        if not (p <= found.alpha and way * apart > 0):
            why = CHANCE
        elif not low > 0:
            why = ZERO
        else:
            why = "" if (best, other) in surely else SKEWED
        rivals[other] = Rival(other, way * apart, low, high, p, why)
    return tuple(rivals[name] for name in order[1:])


def _of_two(
    scores: Scores,
    found: Significance,
    measure: str,
    best: str,
    rivals: Sequence[Rival],
    clusters: Mapping[str, Any] | None,
) -> tuple[str, bool]:
    """Take the sentence of :mod:`rankdev.statistics._conclusion` for this measure."""
    sentence = found.conclusion
    if len(scores.measures) > 1:
        one, row = scores.select(measures=[measure]), scores.measures.index(measure)
        with warnings.catch_warnings(action="ignore", category=RankdevWarning):  # on gaps; the tests have warned
            families = families_of(one, np.array([0]), np.array([1]), clusters)
        table = {name: [column[row]] for name, column in found.columns.items()}
        sentence = conclusion(one, families, table, found.alpha, False)
    ships, rival = sentence.startswith("Ship "), rivals[0]
    if ships and not rival.beaten:
        return f"Cannot tell: {printable(best)} is ahead, but {rival.why.format(printable(rival.system))}.", False
    if ships and len(scores.measures) > 1:  # what to ship, all measures decide
        sentence = f"{printable(best)} wins: {sentence.removeprefix(f'Ship {printable(best)}: ')}"
    return sentence, ships


def _of_several(
    scores: Scores, found: Significance, measure: str, best: str, rivals: Sequence[Rival], _: Any
) -> tuple[str, bool]:
    count, queries = len(rivals) + 1, counted(len(scores.queries), "query")
    name, end = printable(best), "lowest" if measure in found.lower_is_better else "highest"
    tied = [rival for rival in rivals if not rival.beaten]
    if not tied:
        beaten, all_of = ("both other systems", "both") if count == 3 else (f"all {count - 1} other systems", "all")
        p = max(rival.p for rival in rivals)
        return (
            f"{name} wins. It beats {beaten} on {measure}, and {all_of} differences are statistically significant"
            f" ({_p('≤', p)})."
        ), True
    if len(same_as_best(scores, measure, best)) == len(rivals):
        return f"No clear winner. All {count} systems score the same on {measure}, on each of {queries}.", False
    rows = np.asarray(found.columns["measure"], dtype=object) == measure
    if not (np.asarray(found.columns["p_adjusted"])[rows] <= found.alpha).any():
        return (
            f"No clear winner. With {queries}, no two of the {count} systems differ significantly on {measure};"
            f" {name} has the {end} mean."
        ), False
    why = next(text for text in (CHANCE, ZERO, SKEWED) if any(rival.why == text for rival in tied))
    who = name_some([rival.system for rival in tied if rival.why == why])
    return f"{name} has the {end} mean {measure} of {count} systems, but {why.format(who)}.", False


def same_as_best(scores: Scores, measure: str, best: str) -> list[str]:
    """Return the systems with the scores of the best one on every query."""
    values = scores.of(measure)
    mine = values[scores.systems.index(best)]
    same = np.isclose(values, mine, rtol=0, atol=ROUNDING, equal_nan=True).all(axis=1)
    return [name for name, equal in zip(scores.systems, same, strict=True) if equal and name != best]


def queries_needed(
    scores: Scores, verdict: Verdict, clusters: Mapping[str, Any] | None, alpha: float, seed: int
) -> Plan | str | None:
    """Plan for the best system and the first that it does not beat; a text where that is undetermined.

    None where there is nothing to confirm: a winner, a problem with the data, or systems with the same scores.
    """
    same = same_as_best(scores, verdict.measure, verdict.best)
    tied = [name for name in verdict.open_rivals if name not in same]
    if not tied or verdict.level == "problem":
        return None
    try:
        with warnings.catch_warnings(action="ignore", category=RankdevWarning):  # they are notes of the plan
            return plan(scores, verdict.best, tied[0], verdict.measure, alpha=alpha, clusters=clusters, seed=seed)
    except RankdevError as error:
        return str(error)


def queries_check(verdict: Verdict, needs: Plan | str | None, number: int, unit: str) -> Check:
    """Check whether there are as many queries, or clusters of them, as the conclusion needs."""
    name, there = f"Number of {'clusters' if unit == 'cluster' else 'queries'}", f"{number:,}"
    if verdict.level == "winner":
        return Check(name, "good", there, f"No more are needed to show that {printable(verdict.best)} is best.")
    if verdict.level == "problem":
        return Check(name, "unknown", there, "How many are needed is unknown until the data are fixed.")
    if isinstance(needs, Plan) and not math.isnan(needs.queries):
        needed = "over ten million" if math.isinf(needs.queries) else f"about {math.ceil(needs.queries):,}"
        pair = f"{printable(needs.a)} and {printable(needs.b)}"
        if needs.queries > needs.pilot:
            text = f"{needed[0].upper()}{needed[1:]} are needed to confirm the difference between {pair}."
            return Check(name, "caution", f"{there}; {needed} needed", text)
        return Check(name, "caution", there, f"They may be enough to confirm the difference between {pair}.")
    if needs is not None:
        return Check(name, "caution", there, "How many are needed cannot be estimated from them.")
    alone = verdict.level == "single"
    text = "The interval of the mean allows for their number." if alone else "rankdev plan states how many are needed."
    return Check(name, "good" if alone else "unknown", there, text)


def name_some(systems: Sequence[str]) -> str:
    """Name a few systems, and count the others.

    >>> name_some(["a", "b", "c"]), name_some(list("abcdefg"))
    ('a, b and c', 'a, b, c, d and 3 others')
    """
    names = [printable(system) for system in systems]
    if len(names) > NAMED + 1:
        return f"{', '.join(names[:NAMED])} and {counted(len(names) - NAMED, 'other')}"
    return listed(names)


def _number(value: float) -> str:
    return f"{value:z.4f}"


def _p(sign: str, p: float) -> str:
    """Write a p-value with two significant digits, or an upper bound of several with one."""
    if math.isnan(p):
        return "p is undefined"
    return "p < 0.0001" if p < 0.0001 else f"p {sign} {_rounded_up(p) if sign == '≤' else f'{p:.2g}'}"


def _rounded_up(p: float) -> str:
    """Write an upper bound of a p-value with one significant digit: rounded to nearest it may be no bound."""
    unit = 10.0 ** math.floor(math.log10(p))
    return f"{math.ceil(p / unit - 1e-9) * unit:.1g}"
