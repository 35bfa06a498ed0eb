"""Decisions about pairs of systems, the only sentences that conclude, and the notes where assumptions fail.

A decision is made from the difference candidate − baseline, its interval and its adjusted p-value; every command reads
it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from rankdev._common.arrays import Bools, Floats
from rankdev.errors import Note, counted, decimals, listed, printable
from rankdev.evaluation.scores import Scores
from rankdev.statistics.design import Design
from rankdev.statistics.pairs import Family, skewness
from rankdev.statistics.t_power import queries_for
from rankdev.statistics.tests import fewest_differing, fewest_p

if TYPE_CHECKING:
    from rankdev.statistics.significance import Significance

Verdict = Literal["better", "worse", "same", "not worse", "cannot tell"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
TURNED: dict[str, Verdict] = {"better": "worse", "worse": "better", "not worse": "cannot tell"}
GateVerdict = Literal["pass", "fail", "undecided", "refused"]
NAMED = 4  # systems that a sentence names; more are counted
LARGE = 0.5  # of a measure's range: a query that loses more is named in a gate, and in a conclusion
SKEWED = 1.6  # skewness of the most skewed tenth of real pairs, on which a false "better" came up in .10
MANY = 200  # queries from which on skewness matters little
DOMINANT = 0.5  # of the squared differences
FEWEST = 10  # queries from which on the shape of differences shows
POWER = 0.8  # with which a difference is found, or one of 0 shown to be within the margin


def verdicts(
    gain: Floats, low: Floats, high: Floats, significant: Sequence[bool], margin: float | None = None
) -> list[Verdict]:
    """Decide each pair from what the candidate gains (more is better) and the limits of that.

    >>> import numpy as np
    >>> verdicts(np.array([0.1, 0.0]), np.array([0.05, -0.01]), np.array([0.2, 0.01]), [True, False], 0.02)
    ['better', 'same']
    """
    found: list[Verdict] = []
    rows = (*(np.asarray(numbers).tolist() for numbers in (gain, low, high)), significant)
    for mean, bottom, top, clear in zip(*rows, strict=True):
        if clear:
            found.append("better" if mean > 0 else "worse")
        elif margin is not None and bottom > -margin:
            found.append("same" if top < margin else "not worse")
        else:
            found.append("cannot tell")
    return found


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What is concluded about a candidate ``a`` and a baseline ``b`` in one measure.

    Attributes
    ----------
    measure, a, b : str
        The measure, the candidate and the baseline.
    verdict : {"better", "worse", "same", "not worse", "cannot tell"}
        What a is, compared with b.
    difference, low, high : float
        Mean of a − b, and the limits of its interval.
    p, p_adjusted : float
        The p-value, and the one corrected over the family.
    queries : int
        Queries, or clusters of them.
    deviation : float
        Standard deviation of the differences; of clusters, of their sums.
    moved : int
        Queries, or clusters, on which the two differ.
    equal : bool
        Whether both score the same on every query; queries of a cluster may differ and cancel out.
    level : float
        Level that the interval has.
    margin : float, optional
        Largest difference that does not matter.
    lower_is_better : bool
        Whether less is better.
    unit : {"query", "cluster"}
        What ``queries`` counts.
    """

    measure: str
    a: str
    b: str
    verdict: Verdict
    difference: float
    low: float
    high: float
    p: float
    p_adjusted: float
    queries: int
    deviation: float
    moved: int
    equal: bool
    level: float
    margin: float | None = None
    lower_is_better: bool = False
    unit: str = "query"

    @property
    def numbers(self) -> str:
        """Difference, interval and queries: ``+0.031 [0.012, 0.050], 240 queries``."""
        from_margin = () if self.margin is None else (self.low + self.margin, self.high - self.margin)
        apart = with_limits(self.difference, self.low, self.high, *from_margin)
        return f"{apart}, {counted(self.queries, self.unit)}"

    def __str__(self) -> str:
        a, b, where = printable(self.a), printable(self.b), f"in {self.measure}"
        if self.equal:
            return f"{a} and {b} are identical {where} on these {counted(self.queries, self.unit)}."
        if self.verdict in ("better", "worse"):
            small = self.margin is not None and max(abs(self.low), abs(self.high)) < self.margin
            less = f" The difference is smaller than the margin of {self.margin:g}." if small else ""
            return f"{a} is {self.verdict} than {b} on average {where}: {self.numbers}.{less}"
        if self.verdict == "same":
            return f"{a} and {b} are the same {where} to within {self.margin:g}: {self.numbers}."
        if self.verdict == "not worse":
            return f"{a} is not worse than {b} by more than {self.margin:g} {where}: {self.numbers}."
        return f"Cannot tell {a} from {b} {where}: {self.numbers}.{self._needs}"

    @property
    def turned(self) -> Decision:
        """The same decision with a and b exchanged."""
        low, high = -self.high, -self.low
        bottom, top = (low, high) if self.lower_is_better else (self.low, self.high)
        verdict = TURNED.get(self.verdict, self.verdict)
        if self.verdict == "cannot tell" and self.margin is not None and bottom <= -self.margin and top < self.margin:
            verdict = "not worse"
        return replace(self, a=self.b, b=self.a, verdict=verdict, difference=-self.difference, low=low, high=high)

    @property
    def gate(self) -> GateVerdict:
        """What the interval means for a gate with this margin."""
        assert self.margin is not None
        worst, best = (-self.high, -self.low) if self.lower_is_better else (self.low, self.high)
        return "pass" if self.equal or worst > -self.margin else "fail" if best < -self.margin else "undecided"

    @property
    def for_gate(self) -> str:
        """State that in a sentence."""
        assert self.margin is not None
        a, b, where, verdict = printable(self.a), printable(self.b), f"in {self.measure}", self.gate
        if self.equal:
            return str(self)
        if verdict == "pass":
            return str(replace(self, verdict="not worse"))
        if verdict == "fail":
            return f"{a} is worse than {b} by more than {self.margin:g} {where}: {self.numbers}."
        worst = self.high if self.lower_is_better else -self.low
        size = f"{worst:.{decimals(worst, worst - self.margin)}f}"
        return f"{a} may be up to {size} worse than {b} {where} (margin {self.margin:g}).{self._needs}"

    @property
    def _needs(self) -> str:
        size = self.margin or abs(self.difference)
        if not size:
            return ""
        # a single query shows no deviation
        needed = queries_for(size / self.deviation, POWER, self.level) if self.deviation else math.inf
        least = fewest_differing(self.level)
        if self.moved < least:
            needed = max(needed, math.ceil(least * self.queries / max(self.moved, 1)))
        if not self.queries < needed < math.inf:
            return " More queries are needed; how many depends on the true difference."
        takes = f"takes about {counted(int(needed), self.unit)}; there are {self.queries:,}"
        return f" To settle a difference of {size:.2g} {takes}."


def with_limits(difference: float, low: float, high: float, *more: float) -> str:
    """Write a difference and its interval, with as many decimals as it takes to tell the limits, and more, from 0."""
    digits = decimals(difference, low, high, *more)
    return f"{difference:+z.{digits}f} [{low:z.{digits}f}, {high:z.{digits}f}]".replace("inf", "∞")


def detectable(low: Floats, high: Floats, level: Floats) -> Floats:
    """Return the true differences that tests at these levels, with these intervals, find with a power of .8."""
    from scipy import special

    return np.asarray((high - low) / 2 * (1 + special.ndtri(POWER) / special.ndtri(1 - level / 2)))


def losing(losses: int, queries: int, level: float = 0.05) -> float:
    """Return the largest fraction of all queries that may lose as much, if this many of those seen do.

    The upper limit is Clopper and Pearson's (1934).

    >>> round(losing(0, 25), 3)
    0.137
    """
    from scipy import special

    return float(special.betaincinv(losses + 1, queries - losses, 1 - level / 2)) if losses < queries else 1.0


def of_losses(parts: Sequence[tuple[str, Floats, float]]) -> str:
    """State how many queries lost much, and how many of all may, by the measure in which most did.

    A mean does not show it. A part is a measure, what each query gained, and what one can gain at most.
    """
    measure, gains, reach = max(parts, key=lambda part: int((part[1] < -LARGE * part[2]).sum()))
    limit, number = LARGE * reach, len(gains)
    lost = int((gains < -limit).sum())
    who, where = f"{lost:,}" if lost or number == 1 else "None", f" in {measure}" if len(parts) > 1 else ""
    seen = f"of these {number:,} queries" if number > 1 else "of 1 query"
    return f"{who} {seen} lost more than {limit:.2g}{where}; up to {losing(lost, number):.0%} of all may."


def leading(measure: str, leaders: Sequence[str], rivals: Sequence[str], beaten: Sequence[str], others: int) -> str:
    """Name the leaders of many systems, those that the first is not better than, and those that all of these beat.

    Several lead where their means are equal.
    """
    first = printable(leaders[0])
    if len(leaders) > 1:
        leads = f"{name_some(leaders)} lead in {measure}, with equal means"
    elif not rivals:
        return f"{first} is best in {measure}: it is better than {_all_of(others)}."
    else:
        leads = f"{first} leads in {measure}"
    if rivals:
        leads += f". {name_some(rivals)} cannot be told from {'it' if len(leaders) == 1 else first}"
    if not beaten:
        return f"{leads}."
    count = len(leaders) + len(rivals)
    return f"{leads}; {'both' if count == 2 else f'all {count}'} are better than {name_some(beaten)}."


def _all_of(others: int) -> str:
    return "the other" if others == 1 else "both others" if others == 2 else f"all {others} others"


def name_some(systems: Sequence[str]) -> str:
    """Name a few systems, and count the others.

    >>> name_some(["a", "b", "c"]), name_some(list("abcdefg"))
    ('a, b and c', 'a, b, c, d and 3 others')
    """
    names = [printable(system) for system in systems]
    if len(names) > NAMED + 1:
        return f"{', '.join(names[:NAMED])} and {counted(len(names) - NAMED, 'other')}"
    return listed(names)


def fewest(what: str, needed: Mapping[str, float], sizes: Sequence[int], unit: str, over: str = "") -> str:
    """State for which measures the fewest queries reach .8 of what was simulated.

    >>> fewest("power", {"AP": 50.0, "RR": 200.0}, [25, 50], "queries")
    'A power of 0.8 takes 50 queries in AP, the fewest of these measures.'
    """
    least = min(needed.values())
    if np.isinf(least):
        return f"No size up to {sizes[-1]:,} {unit} reaches a {what} of 0.8{over}."
    names = [measure for measure, size in needed.items() if size == least]
    which = listed(names if len(names) < 3 else [names[0], f"{len(names) - 1} more"])
    of_all = ", the fewest of these measures" if len(names) < len(needed) else ""
    size = f"{'at most ' if least == sizes[0] else ''}{least:,g} {unit}"
    return f"A {what} of 0.8 takes {size} in {which}{of_all}{over}."


def of_gate(
    verdict: GateVerdict,
    candidate: str,
    baseline: str,
    margin: float,
    reasons: Sequence[str],
    problems: Sequence[str],
    identical: bool,
) -> str:
    """Conclude from a gate, the only place that says "Ship"."""
    a, b = printable(candidate), printable(baseline)
    if verdict == "refused":
        return refused(problems)
    if verdict == "pass":
        same = f"it scores the same on every query as {b}"
        return f"Ship {a}: {same if identical else f'not worse than {b} by more than {margin:g}'}."
    more = f" (and {counted(len(reasons) - 1, 'more reason')})" if len(reasons) > 1 else ""
    word = f"Don't ship {a}" if verdict == "fail" else "Don't know yet"
    return f"{word}: {reasons[0]}{more}"


def refused(problems: Sequence[str]) -> str:
    """State why nothing is decided."""
    more = f" (and {counted(len(problems) - 1, 'other problem')})" if len(problems) > 1 else ""
    return f"No decision: {problems[0].removesuffix('.')}{more}."


def remarks_on(design: Design, families: Sequence[Family], found: Significance) -> list[Note]:
    """Return notes on tests of all queries, each with its number."""
    notes: list[Note] = []
    levels = np.split(found.frame["level"].to_numpy(), len(families))
    significant = np.split(np.array(found.significant), len(families))
    lows = np.split(found.frame["low"].to_numpy(), len(families))
    rows = zip(design.scores.measures, families, levels, significant, lows, strict=True)
    for measure, family, level, clear, low in rows:
        few = int((fewest_p(family) > level).sum())
        if few:
            notes.append(Note("few-differ", measure=measure, count=few, pairs=family.pairs))
            if not np.isfinite(family.span) and np.isfinite(low).any():  # flips of a few have no limits at all
                notes.append(Note("range-seen", measure=measure, range=family.reach))
        if len(family.rows.values) < FEWEST or design.clusters is not None:
            continue
        notes += [*_on_skewness(measure, family, clear), *_on_dominance(design.scores, measure, family, clear)]
    return notes


def _on_skewness(measure: str, family: Family, clear: Bools) -> Iterator[Note]:
    """Note significant differences that are skewed, with the error that this can mean."""
    if len(family.values) >= MANY:
        return
    skew = np.abs(skewness(family, clear))
    count = int((skew >= SKEWED).sum())
    if count:
        yield Note("skewed", measure=measure, count=count, skewness=float(skew.max()))


def _on_dominance(scores: Scores, measure: str, family: Family, clear: Bools) -> Iterator[Note]:
    """Note the pair that a single query decides most: of several, one of those that differ significantly."""
    best: tuple[float, int, int] | None = None
    for pairs, apart in family.differences(clear if family.pairs > 1 else None):
        squares = apart**2 if family.weights is None else apart**2 * family.weights
        share = squares.max(axis=1) / np.maximum(squares.sum(axis=1), 1.0)
        i = int(np.argmax(share))
        if best is None or share[i] > best[0]:
            best = float(share[i]), int(pairs[i]), int(squares[i].argmax())
    if best is None or best[0] <= DOMINANT:
        return
    _, pair, where = best
    first, second = family.first[pair], family.second[pair]
    apart = family.values[:, first] - family.values[:, second]
    weights = np.ones(len(apart)) if family.weights is None else family.weights
    yield Note(
        "one-query-decides",
        measure=measure,
        query=scores.queries[family.queries[where]],
        a=scores.systems[first],
        b=scores.systems[second],
        mean=float(family.mean[pair]),
        without=float(np.average(np.delete(apart, where), weights=np.delete(weights, where))),
    )
