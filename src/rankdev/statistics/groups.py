"""Ranks of systems, and groups of them without a significant difference."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from string import ascii_lowercase
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from rankdev._common.arrays import Floats
from rankdev.errors import RankdevWarning, UsageError
from rankdev.evaluation.scores import Scores
from rankdev.statistics.contrasts import families_of, skewed_p
from rankdev.statistics.corrections import holm
from rankdev.statistics.panels import Indices
from rankdev.statistics.significance import significance
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


RULES = ("mean", "borda", "wins")
ROUNDING = 1e-12  # means that differ by less are equal


def points(means: Floats, rule: str) -> Floats:
    """Turn means, ``[…, system]``, into what a rule adds up over tasks.

    >>> means = np.array([0.5, 0.7, 0.7])
    >>> points(means, "borda").tolist(), points(means, "wins").tolist()  # others beaten, shared first places
    ([0.0, 0.75, 0.75], [0.0, 0.5, 0.5])
    """
    if rule == "mean":
        return means
    if rule == "wins":
        top = means >= means.max(axis=-1, keepdims=True) - ROUNDING
        return top / top.sum(axis=-1, keepdims=True)
    beaten = np.zeros_like(means)
    for other in np.moveaxis(means, -1, 0):
        apart = means - other[..., None]
        beaten += (apart > ROUNDING) + 0.5 * (np.abs(apart) <= ROUNDING)
    return (beaten - 0.5) / (means.shape[-1] - 1)


def ranks(score: Floats) -> Indices:
    """Rank systems, best first; equal ones share the best of their ranks.

    >>> ranks(np.array([0.5, 0.7, 0.7])).tolist()
    [3, 1, 1]
    """
    return 1 + (score[None, :] > score[:, None] + ROUNDING).sum(axis=1)


def rank_limits(systems: int, better: Sequence[tuple[int, int]]) -> tuple[Indices, Indices]:
    """Return the first and the last rank of each system that the significant differences leave, (better, worse) each.

    >>> low, high = rank_limits(3, [(0, 1), (0, 2)])
    >>> low.tolist(), high.tolist()
    ([1, 2, 2], [1, 3, 3])
    """
    counts = np.zeros((2, systems), np.int64)
    for one, other in better:
        counts[0, other] += 1
        counts[1, one] += 1
    return 1 + counts[0], systems - counts[1]


def group_letters(better: Sequence[tuple[int, int]], order: Indices) -> npt.NDArray[Any]:
    """Name the groups of each system: two share one exactly where they do not differ significantly.

    Where that takes more groups than there are letters, groups are of neighbours only; two that share none may then be
    without a significant difference.
    """
    place = np.argsort(order)
    apart = [(int(place[a]), int(place[b])) for a, b in better]
    members = sorted(map(sorted, letter_groups(len(order), apart) or neighbours(len(order), apart)))
    few = len(members) <= len(ascii_lowercase)
    names = ascii_lowercase if few else [str(i + 1) for i in range(len(members))]
    shown = np.empty(len(order), dtype=object)
    for system, own in enumerate(place):
        labels = [label for label, group in zip(names, members, strict=False) if own in group]
        shown[system] = ("" if few else " ").join(labels)
    return shown


def shares_of_best(drawn: Floats) -> Floats:
    """Return the fraction of resamples in which each system is best; equal ones share it. NaN where it is unknown."""
    if np.isnan(drawn).any():
        return np.full(drawn.shape[1], np.nan)
    return points(drawn, "wins").mean(axis=0)


@dataclass(frozen=True)
class Places:
    """Ranks of systems by one measure, the first and last that the tests leave, and the letters of their groups."""

    rank: Indices
    low: Indices
    high: Indices
    letters: tuple[str, ...]


def places(scores: Scores, found: Significance | None, measure: str) -> Places:
    """Rank systems as :func:`leaderboard` does, from tests of all pairs that are made already."""
    means = scores.select(measures=[measure]).oriented.averages[:, 0]
    rank = ranks(np.where(np.isnan(means), -np.inf, means))
    if found is None:
        return Places(rank, rank, rank, ("",) * len(rank))
    better = better_pairs(scores, found, measure)
    low, high = rank_limits(len(rank), better)
    return Places(rank, low, high, tuple(group_letters(better, np.argsort(-means, kind="stable"))))


def better_pairs(scores: Scores, found: Significance, measure: str) -> list[tuple[int, int]]:
    """Return the pairs behind the ranks of a measure: significant also if skewness is allowed for, the better first."""
    sign = -1.0 if measure in found.lower_is_better else 1.0
    rows = np.asarray(found.columns["measure"], dtype=object) == measure
    columns = {name: np.asarray(column)[rows] for name, column in found.columns.items()}
    tests = replace(found, columns={**columns, "difference": sign * columns["difference"]})
    return significant_pairs(tests, scores.select(measures=[measure]).oriented)


def ranks_on_new(tasks: Scores, alpha: float) -> tuple[Indices, Indices]:
    """Return the ranks that tests over tasks leave; Student's, because few tasks have too few flips."""
    with warnings.catch_warnings(action="ignore", category=RankdevWarning):  # systems that always differ by the same
        return rank_limits(len(tasks.systems), significant_pairs(significance(tasks, test="t", alpha=alpha)))


def significant_pairs(found: Significance, joined: Scores | None = None) -> list[tuple[int, int]]:
    """Return the pairs that differ significantly, the better system first, by place.

    Flips of ``joined`` scores assume symmetric differences, and many pairs find those that are not: a difference must
    also be significant if skewness is allowed for. Clusters and runs have tests of their own.
    """
    place = {name: i for i, name in enumerate(dict.fromkeys([*found.columns["a"], *found.columns["b"]]))}
    p = np.asarray(found.columns["p"])
    if joined is not None and found.clusters is None and found.replicates is None and len(joined.queries) > 1:
        with warnings.catch_warnings(action="ignore", category=RankdevWarning):  # on gaps; the tests have warned
            family = families_of(joined, *np.triu_indices(len(place), 1))[0]
        p = np.fmax(p, skewed_p(family))
    rows = zip(found.columns["a"], found.columns["b"], found.columns["difference"], holm(p) <= found.alpha, strict=True)
    pairs = [(place[a], place[b], apart) for a, b, apart, differ in rows if differ]
    return [(a, b) if apart > 0 else (b, a) for a, b, apart in pairs]
