"""Notes where the assumptions of a test fail: each with its number, and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rankdev._common.arrays import Bools, Floats, Ints
from rankdev.errors import Note
from rankdev.evaluation.scores import Scores
from rankdev.statistics.design import Design
from rankdev.statistics.paired import fewest_p
from rankdev.statistics.pairs import Family, skewness

if TYPE_CHECKING:
    from rankdev.statistics.significance import Significance

SKEWED = 1.6  # skewness of the most skewed tenth of real pairs, on which a false "better" came up in .10
MANY = 200  # queries from which on skewness matters little
DOMINANT = 0.5  # of the squared differences
FEWEST = 10  # queries from which on the shape of differences shows


def remarks_on(design: Design, families: Sequence[Family], found: Significance) -> list[Note]:
    """Return notes on tests of all queries."""
    notes: list[Note] = []
    levels = np.split(found.details["level"], len(families))
    significant = np.split(np.array(found.significant), len(families))
    for measure, family, level, clear in zip(design.scores.measures, families, levels, significant, strict=True):
        few = int((fewest_p(family) > level).sum())
        if few:
            notes.append(Note("few-differ", measure=measure, count=few, pairs=family.pairs))
            if not np.isfinite(family.span):
                notes.append(Note("range-seen", measure=measure, range=family.reach))
        if len(family.rows.values) < FEWEST or design.clusters is not None:
            continue
        notes += [*_on_skewness(measure, family, clear), *_on_dominance(design.scores, measure, family)]
    if design.clusters is None and design.runs is None:
        notes += remarks_on_dependence(design.scores, families)
    return notes


def _on_skewness(measure: str, family: Family, clear: Bools) -> Iterator[Note]:
    """Note significant differences that are skewed, with the error that this can mean."""
    if len(family.values) >= MANY:
        return
    skew = np.abs(skewness(family, clear))
    count = int((skew >= SKEWED).sum())
    if count:
        yield Note("skewed", measure=measure, count=count, skewness=float(skew.max()))


def _on_dominance(scores: Scores, measure: str, family: Family) -> Iterator[Note]:
    """Note the pair that a single query decides most."""
    best: tuple[float, int, int] | None = None
    for pairs, apart in family.differences():
        squares = apart**2 if family.weights is None else (apart * family.weights) ** 2
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


ALARM = 0.025  # level over all measures, so that a note on independent queries stays below .05
PERMUTATIONS = (199, 999)  # of many queries, and of few
AT_MOST = 2 * 10**7  # values permuted in all, with more than the fewest permutations
GROUPS = 5  # groups of two queries or more
LARGEST = 0.2  # of the queries in one group: what is larger is a collection
ID = re.compile(r"(.+)[-_/:.#|][^-_/:.#|]+")


def remarks_on_dependence(scores: Scores, families: Sequence[Family]) -> Iterator[Note]:
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
        yield Note("dependent", measure=measure, one=one, other=other, groups=len(sizes), alike=alike, times=times)


def groups_by_id(queries: Sequence[str]) -> Ints | None:
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


def within(values: Floats, groups: Ints) -> tuple[float, float]:
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

    def between(order: Ints) -> float:
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
