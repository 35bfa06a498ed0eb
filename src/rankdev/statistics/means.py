"""Means of systems and their intervals."""

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
        low, high = student(family).interval(family, np.full(family.pairs, alpha))
        bottom, top = kind.range
        seen = family.values[:, family.first]
        within = bottom <= seen.min() and seen.max() <= top
        limits[:, :, m] = np.clip([usual + low, usual + high], *((bottom, top) if within else (-np.inf, np.inf)))
    return limits[0], limits[1]
