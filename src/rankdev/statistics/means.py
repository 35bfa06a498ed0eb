"""Means of systems, fractions of answers, and their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rankdev._common.arrays import Floats
from rankdev._common.checks import check_number
from rankdev.evaluation.scores import ScoresLike
from rankdev.statistics.design import Design
from rankdev.statistics.paired import student


def mean_intervals(
    scores: ScoresLike,
    alpha: float = 0.05,
    clusters: Mapping[str, Any] | None = None,
    replicates: Mapping[str, Sequence[str]] | None = None,
) -> tuple[Floats, Floats]:
    """Bound the mean of every system and measure, ``[system, measure]``, over queries with a value for all, by t.

    Values are compared with the most common one: where too few differ from it, limits reach as far as what none of the
    queries showed could move the mean.

    >>> from rankdev.evaluation.scores import Scores
    >>> values = np.array([[[0.2], [0.4], [0.6]], [[1.0], [1.0], [1.0]]])
    >>> low, high = mean_intervals(Scores(("s", "t"), ("a", "b", "c"), ("P@5",), values))
    >>> low.round(4).tolist(), high.round(4).tolist()  # Student's would reach −.0968 and .8968, and [1, 1]
    ([[0.0], [0.2924]], [[1.0], [1.0]])
    """
    design = Design.of(scores, clusters=clusters, replicates=replicates)
    return limits_of(design, check_number("alpha", alpha, 0, 1))


def limits_of(design: Design, alpha: float) -> tuple[Floats, Floats]:
    """Bound the means of a design."""
    limits = np.full((2, len(design.scores.systems), len(design.scores.measures)), np.nan)
    for m, (family, kind) in enumerate(zip(design.each(), design.scores.kinds, strict=True)):
        usual = family.values[0, family.second]  # the constants that they are compared with
        low, high = student(family, alpha).interval(family, np.full(family.pairs, alpha))
        bottom, top = kind.range
        seen = family.values[:, family.first]
        within = bottom <= seen.min() and seen.max() <= top
        limits[:, :, m] = np.clip([usual + low, usual + high], *((bottom, top) if within else (-np.inf, np.inf)))
    return limits[0], limits[1]


def fraction_limits(hits: Floats, counts: Floats, level: float) -> tuple[Floats, Floats]:
    """Return limits of Σ hits ÷ Σ counts over queries, ``hits[query, measure]``, each wrong with ``level`` ÷ 2.

    Clopper and Pearson's (1934), for as many answers as tell as much as these do (Korn and Graubard 1998): answers to
    one query are alike, so that a query counts as one where all answers agree.

    >>> low, high = fraction_limits(np.ones((8, 1)), np.ones(8), 0.05)
    >>> low.round(2).tolist(), high.tolist()
    ([0.63], [1.0])
    """
    from scipy import special

    share, found = counts / counts.sum(), hits.sum(axis=0) / counts.sum()
    queries = 1 / float((share**2).sum())  # of equal size, that would tell as much
    residual = hits / counts.sum() - found * share[:, None]
    variance = (residual**2 / np.maximum(1 - share, 1e-9)[:, None]).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        number = np.where(variance > 0, np.minimum(found * (1 - found) / variance, counts.sum()), queries)
    # few queries show their own variance badly
    many, few = (special.stdtrit(np.maximum(each - 1, 1.0), 1 - level / 2) for each in (number, queries))
    number = number * np.minimum(many / few, 1.0) ** 2
    won, lost = found * number, (1 - found) * number
    low = np.where(won > 0, special.betaincinv(np.maximum(won, 1e-9), lost + 1, level / 2), 0.0)
    high = np.where(lost > 0, special.betaincinv(won + 1, np.maximum(lost, 1e-9), 1 - level / 2), 1.0)
    return low, high
