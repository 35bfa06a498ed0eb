"""Notes where the assumptions of a test fail: each with its number, and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rankdev._common.arrays import Bools, Floats
from rankdev.errors import counted
from rankdev.evaluation.scores import Scores
from rankdev.statistics.bounded_values import most_common
from rankdev.statistics.contrasts import Family, skewed_interval, skewness
from rankdev.statistics.corrections import holm
from rankdev.statistics.panels import Indices

EQUAL = 0.6  # fraction of equal differences from which on a pair is called sparse
SKEWED = 1.0  # skewness below which no note is made
SMALL = 0.25  # of the range: differences that are all smaller may come with a rare, large one
MISSED = 0.05  # chance to have missed that one from which on it is mentioned
DOMINANT = 0.5  # of the squared differences
FEWEST = 10  # queries from which on the shape of differences shows


def remarks_on(
    scores: Scores,
    families: Sequence[Family],
    table: Mapping[str, Any],
    alpha: float,
    *,
    by_measure: bool,
    permutations: int,
) -> list[str]:
    """Return notes on a table of tests: those of each measure, and where each is corrected by itself on all."""
    found: list[str] = []
    for m, (measure, family) in enumerate(zip(scores.measures, families, strict=True)):
        rows = slice(m * family.pairs, (m + 1) * family.pairs)
        part = {name: np.asarray(column[rows]) for name, column in table.items()}
        found += [f"{measure}: {text}" for text in _on_measure(scores, family, part, alpha)]
    found += remarks_on_dependence(scores, families)
    if by_measure and len(families) > 1:
        p, adjusted = np.asarray(table["p"]), np.asarray(table["p_adjusted"])
        found += _on_several(p, adjusted, len(families), alpha, permutations)
    return found


def _on_measure(scores: Scores, family: Family, part: Mapping[str, Any], alpha: float) -> Iterator[str]:
    queries = len(family.values)
    significant = part["p_adjusted"] <= alpha
    equal = np.empty(family.pairs)
    largest = np.empty(family.pairs)  # of the squared differences: its fraction of their sum
    where: Indices = np.empty(family.pairs, np.int64)
    furthest = np.empty(family.pairs)
    for pairs, apart in family.differences():
        equal[pairs] = most_common(apart)[1]
        squares = apart**2
        where[pairs] = squares.argmax(axis=1)
        furthest[pairs] = np.sqrt(squares.max(axis=1)) * family.unit
        largest[pairs] = squares.max(axis=1) / np.maximum(squares.sum(axis=1), 1.0)
    sparse = equal >= EQUAL
    yield from _on_sparse(family, part, sparse, equal, significant)
    if queries < FEWEST:
        return
    yield from _on_unseen(family, part, significant & ~sparse, furthest)
    yield from _on_skewness(family, part, significant & ~sparse, alpha)
    yield from _on_dominance(scores, family, part, (largest > DOMINANT) & ~sparse, largest, where)


def _on_sparse(
    family: Family, part: Mapping[str, Any], sparse: Bools, equal: Floats, significant: Bools
) -> Iterator[str]:
    if not sparse.any():
        return
    share = f"{_percent(float(equal[sparse].max()))} of {counted(len(family.values), 'query')}"
    most = f"up to {share}" if sparse.sum() > 1 else share
    known = (
        f"the interval allows for unseen ones up to {family.span:g}, the width of the measure's range"
        if np.isfinite(family.span)
        else "the measure has no known range, so the interval allows for unseen ones only up to"
        f" {family.reach:.3g}, the range of the observed scores"
    )
    yield (
        f"{_named(part, sparse)} the same difference on {most}: {known}; queries on which the systems differ would be"
        " more informative"
    )
    open_still = sparse & significant & (part["low"] <= 0) & (part["high"] >= 0)
    if open_still.any():
        yield (
            f"{_named(part, open_still)} a significant p, but an interval that contains 0: p tests whether wins and"
            " losses balance, the interval is about the mean; report both, or add queries"
        )


def _on_unseen(family: Family, part: Mapping[str, Any], chosen: Bools, furthest: Floats) -> Iterator[str]:
    """Note significant means that a rare loss, larger than any seen, would undo."""
    if not np.isfinite(family.span):
        return
    need = np.abs(part["difference"]) / family.reach
    missed = (1 - need) ** len(family.values)
    chosen = chosen & (furthest <= SMALL * family.reach) & (missed > MISSED)
    if chosen.any():
        i = int(np.argmax(np.where(chosen, missed, -1.0)))
        yield (
            f"{_named(part, chosen, 'differs', 'differ')} significantly, but by little on every query (at most"
            f" {furthest[i]:.2g} of {family.reach:g}): a loss of {family.reach:g} on {_percent(float(need[i]))} of"
            f" queries would cancel that, and a sample of {counted(len(family.values), 'query')} would miss them all"
            f" with probability {missed[i]:.2f}; look for rare failures"
        )


def _on_skewness(family: Family, part: Mapping[str, Any], chosen: Bools, alpha: float) -> Iterator[str]:
    """Note significant differences that are not so once skewness is allowed for."""
    if not chosen.any():
        return
    skew = skewness(family)
    low, high = skewed_interval(family, alpha)
    wrong = chosen & (np.abs(skew) >= SKEWED) & (low <= 0) & (high >= 0)
    if wrong.any():
        i = int(np.argmax(np.where(wrong, np.abs(skew), -1.0)))
        yield (
            f"{_named(part, wrong, 'is', 'are')} significant only if differences are symmetric, and they are skewed"
            f" (skewness {skew[i]:+.1f}): an interval that allows for it is [{low[i]:.3g}, {high[i]:.3g}]; add queries,"
            " or claim no difference"
        )


def _on_dominance(
    scores: Scores, family: Family, part: Mapping[str, Any], chosen: Bools, largest: Floats, where: Indices
) -> Iterator[str]:
    if not chosen.any():
        return
    i = int(np.argmax(np.where(chosen, largest, -1.0)))
    others = np.delete(family.values[:, family.first[i]] - family.values[:, family.second[i]], where[i])
    more = f" (and such a query in {counted(int(chosen.sum()) - 1, 'other pair')})" if chosen.sum() > 1 else ""
    yield (
        f"query {scores.queries[family.queries[where[i]]]} alone contributes {_percent(float(largest[i]))} of the"
        f" squared differences of {part['a'][i]} and {part['b'][i]}{more}: without it their difference is"
        f" {others.mean():+.3g} instead of {part['difference'][i]:+.3g}; inspect it, and report both"
    )


def _on_several(p: Floats, adjusted: Floats, measures: int, alpha: float, permutations: int) -> Iterator[str]:
    """Note significant differences that are not so once all measures are corrected for together."""
    significant = adjusted <= alpha
    kept = significant & (holm(p) <= alpha)
    if kept.sum() < significant.sum():
        remain = f"{counted(int(kept.sum()), 'difference')} of {significant.sum()} would remain significant"
        smallest = 1 / (permutations + 1)  # that drawn flips give; exact p-values draw none
        if permutations and not kept.any() and p.min() <= smallest and smallest * len(p) > alpha:
            remain = f"{permutations:,} flips are too few to tell how many of the {significant.sum():,} remain"
        yield (
            f"{counted(measures, 'measure')} are tested separately: if no system differs, the probability of some"
            f" significant difference is up to {min(1.0, measures * alpha):.2f}, not {alpha:g}; corrected over all of"
            f" them (family='all'), {remain}"
        )


def _named(part: Mapping[str, Any], chosen: Bools, verb: str = "has", plural: str = "have") -> str:
    """Name the pair, or count the pairs."""
    (places,) = np.nonzero(chosen)
    if len(chosen) > 1:
        return f"{len(places)} of {len(chosen)} pairs {verb if len(places) == 1 else plural}"
    return f"{part['a'][0]} and {part['b'][0]} {plural}"


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.2g}%" if fraction < 0.1 else f"{fraction:.0%}"


ALARM = 0.025  # level over all measures, so that a note on independent queries stays below .05
PERMUTATIONS = (199, 999)  # of many queries, and of few
AT_MOST = 2 * 10**7  # values permuted in all, with more than the fewest permutations
GROUPS = 5  # groups of two queries or more
LARGEST = 0.2  # of the queries in one group: what is larger is a collection
ID = re.compile(r"(.+)[-_/:.#|][^-_/:.#|]+")


def remarks_on_dependence(scores: Scores, families: Sequence[Family]) -> Iterator[str]:
    """Note the measures whose differences are more alike on queries with ids that begin alike than on others."""
    for measure, family in zip(scores.measures, families, strict=True):
        names = np.array([scores.queries[i] for i in family.queries])
        groups = groups_by_id(names.tolist())
        if groups is None:
            continue
        order = np.argsort(names)  # so that the order of queries changes nothing
        alike, p = within(family.values[order], groups[order])
        if p > ALARM / len(families) or alike <= 0:
            continue
        sizes = np.bincount(groups)
        one, other = names[groups == int(np.argmax(sizes > 1))][:2]
        times = np.sqrt(1 + ((sizes**2).sum() / len(groups) - 1) * alike)
        yield (
            f"{measure}: queries such as {one} and {other}, whose ids begin alike ({len(sizes)} groups), are not"
            f" independent: their differences correlate by {alike:.2f}, so that standard errors are about"
            f" {times:.1f} times too small; pass the group of each query as clusters"
        )


def groups_by_id(queries: Sequence[str]) -> Indices | None:
    """Number the groups of queries whose ids differ in their last part only, such as 12-1 and 12-2.

    None where there are fewer than five such groups, or they hold less than half of the queries, or one is large.

    >>> ids = [f"{topic}-{variant}" for topic in range(6) for variant in range(2)]
    >>> groups_by_id(ids).tolist(), groups_by_id([str(i) for i in range(12)])
    ([0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5], None)
    """
    number: dict[str, int] = {}
    found = []
    for query in queries:
        parts = ID.fullmatch(query)
        found.append(number.setdefault(parts[1] if parts else query, len(number)))
    sizes = np.bincount(found)
    several = sizes[sizes > 1]
    if len(several) < GROUPS or 2 * several.sum() < len(found) or several.max() > LARGEST * len(found):
        return None
    return np.array(found)


def within(values: Floats, groups: Indices) -> tuple[float, float]:
    """Return the correlation of differences of systems within groups of queries, ``values[query, system]``, and p.

    The correlation is that of the analysis of variance, over all pairs of systems together; p is the fraction of
    random groups of the same sizes between which differences vary as much, which is exact for independent queries.
    """
    queries = len(values)
    apart = values - values.mean(axis=1, keepdims=True)
    apart = apart - apart.mean(axis=0)
    sizes = np.bincount(groups)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    total = float((apart**2).sum())
    if total <= 1e-18 * max(1.0, float((values**2).sum())):
        return 0.0, 1.0

    def between(order: Indices) -> float:
        sums = np.add.reduceat(apart[order], starts, axis=0)
        return float((sums**2 / sizes[:, None]).sum())

    own = between(np.argsort(groups, kind="stable"))
    generator = np.random.Generator(np.random.Philox(21))
    count = int(np.clip(AT_MOST // values.size, *PERMUTATIONS))
    p = (1 + sum(between(generator.permutation(queries)) >= own * (1 - 1e-9) for _ in range(count))) / (1 + count)
    free = len(sizes) - 1
    usual = (queries - (sizes**2).sum() / queries) / free  # size of a group, for unequal ones
    among, inside = own / free, (total - own) / (queries - len(sizes))
    return (among - inside) / (among + (usual - 1) * inside), p
