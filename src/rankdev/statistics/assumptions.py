"""Notes where the assumptions of a test fail: each with its number, and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rankdev._common.arrays import Bools
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
