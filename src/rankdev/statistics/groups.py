"""Groups of systems without a significant difference, and differences to the best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_lowercase

import numpy as np
import polars as pl

from rankdev.errors import UsageError
from rankdev.evaluation.scores import Scores
from rankdev.statistics.significance.result import Significance


def groups(scores: Scores, found: Significance, measure: str) -> list[tuple[str, ...]]:
    """Return the largest groups of neighbours on the leaderboard in which no pair differs significantly, best first.

    Groups may overlap: a may not differ from b, nor b from c, though a differs from c.

    >>> from rankdev.statistics.significance import significance
    >>> values = np.array([[0.9] * 8, [0.8, 0.8, 0.8, 0.8, 1, 1, 1, 1], [0.1] * 8])[:, :, None]
    >>> scores = Scores(("x", "y", "z"), tuple("abcdefgh"), ("P@5",), values)
    >>> groups(scores, significance(scores), "P@5")
    [('x', 'y'), ('z',)]
    """
    return grouped(scores.sorted_by(measure).systems, found, measure)


def grouped(order: tuple[str, ...], found: Significance, measure: str) -> list[tuple[str, ...]]:
    """Return the groups of :func:`groups` for systems whose order is known."""
    place = {system: i for i, system in enumerate(order)}
    rows = found.to_polars().with_columns(significant=pl.Series(found.significant)).filter(measure=measure)
    apart = [(place[a], place[b]) for a, b in rows.filter("significant").select("a", "b").iter_rows()]
    return [order[group.start : group.stop] for group in neighbours(len(order), apart)]


def neighbours(count: int, apart: Sequence[tuple[int, int]]) -> list[range]:
    """Return the largest groups of neighbours, by place, of which none is a pair that differs significantly.

    >>> neighbours(4, [(0, 2), (0, 3)])
    [range(0, 2), range(1, 4)]
    """
    reach = np.full(count, count)  # the first system below that differs significantly from this one
    for pair in apart:
        first, second = sorted(pair)
        reach[first] = min(reach[first], second)
    reach = np.minimum.accumulate(reach[::-1])[::-1]
    return [range(i, int(stop)) for i, stop in enumerate(reach) if i == 0 or stop > reach[i - 1]]


def letter_groups(count: int, apart: Sequence[tuple[int, int]]) -> list[frozenset[int]]:
    """Return the largest groups without a significant difference (insert and absorb, Piepho 2004).

    Nothing is returned where they become more than there are letters, as they may by the thousand.

    >>> sorted(map(sorted, letter_groups(4, [(0, 2), (0, 3)])))
    [[0, 1], [1, 2, 3]]
    """
    found = [frozenset(range(count))]
    for one, other in apart:
        split = [part for group in found if {one, other} <= group for part in (group - {one}, group - {other})]
        kept = [group for group in found if not {one, other} <= group]
        for part in dict.fromkeys(split):
            if not any(part <= group for group in kept) and not any(part < larger for larger in split):
                kept.append(part)
        found = kept
        if len(found) > len(ascii_lowercase):
            return []
    return found


@dataclass(frozen=True)
class ToBest:
    """The difference of a system to the best one, with its interval and p; 0 for the best one itself."""

    system: str
    difference: float
    low: float
    high: float
    p: float | None
    significant: bool


def differences_to_best(found: Significance, measure: str) -> list[ToBest]:
    """Return the systems, best first, each with its difference to the best; of tests of all pairs only.

    >>> from rankdev.statistics.significance import significance
    >>> values = np.array([[0.1] * 8, [0.9, 0.9, 0.9, 0.9, 1, 1, 1, 1], [0.9] * 8])[:, :, None]
    >>> found = significance(Scores(("x", "y", "z"), tuple("abcdefgh"), ("P@5",), values))
    >>> [(row.system, round(row.difference, 6), row.significant) for row in differences_to_best(found, "P@5")]
    [('y', 0.0, False), ('z', -0.05, False), ('x', -0.85, True)]
    """
    rows = found.to_polars().with_columns(significant=pl.Series(found.significant)).filter(measure=measure)
    if not has_all_pairs(rows):
        raise UsageError("groups of systems need every pair of them; test without baselines, or draw the pairs")
    systems = tuple(dict.fromkeys([*rows["a"], *rows["b"]]))
    known: dict[tuple[str, str], tuple[float, float, float, float | None, bool]] = {}
    for row in rows.iter_rows(named=True):
        difference, low, high = (row[name] or 0.0 for name in ("difference", "low", "high"))
        known[row["a"], row["b"]] = (difference, low, high, row["p_adjusted"], row["significant"])
        known[row["b"], row["a"]] = (-difference, -high, -low, row["p_adjusted"], row["significant"])
    ahead = {system: sum(known[system, other][0] for other in systems if other != system) for system in systems}
    lowest = measure in found.lower_is_better
    best, *others = sorted(systems, key=lambda system: ahead[system] if lowest else -ahead[system])
    return [ToBest(best, 0.0, 0.0, 0.0, None, False), *(ToBest(system, *known[system, best]) for system in others)]


def has_all_pairs(rows: pl.DataFrame) -> bool:
    """Check whether a table of tests has every pair of its systems, not only those with baselines."""
    systems = len({*rows["a"], *rows["b"]})
    return 2 * rows.height == systems * (systems - 1) * rows["measure"].n_unique()
