"""Risk: how much a system loses where it is worse than a baseline, or than one would expect from other systems."""

from __future__ import annotations

import numpy as np
from scipy import special

from rankdev._common.arrays import Floats
from rankdev._common.checks import check_number
from rankdev.errors import UsageError
from rankdev.evaluation.scores import Scores
from rankdev.measures.base import MeasureInfo
from rankdev.statistics.contrasts import Family
from rankdev.statistics.equivalence import interval


def risk_to(baseline: int, values: Floats, aversion: float, span: float, alpha: float) -> dict[str, Floats]:
    """Return URisk (Wang et al. 2012) with its interval, and TRisk (Dinçer et al. 2014), of ``values[query, system]``.

    URisk is the mean gain over the baseline, in which losses count 1 + ``aversion`` times; TRisk is URisk in standard
    errors. The interval allows for skewed gains, and for unseen losses within the measure's range.

    >>> found = risk_to(0, np.array([[0.5, 0.7], [0.5, 0.7], [0.5, 0.4]]), 1.0, 1.0, 0.05)
    >>> found["urisk"].round(4).tolist(), found["trisk"].round(4).tolist()  # (.2 + .2 − 2 × .1) ÷ 3
    ([0.0, 0.0667], [nan, 0.5])
    """
    queries, systems = values.shape
    gains = values - values[:, [baseline]]
    gains[gains < 0] *= 1 + aversion
    against = np.full(systems, systems)
    family = Family(
        np.column_stack([gains, np.zeros(queries)]),
        np.arange(queries),
        np.arange(systems),
        against,
        (1 + aversion) * span,
    )
    low, high = interval(family, alpha)
    low[baseline] = high[baseline] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        trisk = np.where(family.statistics["deviation"] > 0, family.mean / family.error, np.nan)
    return {"urisk": family.mean, "urisk_low": low, "urisk_high": np.minimum(high, span), "trisk": trisk}


def risk_among(values: Floats, aversion: float) -> dict[str, Floats]:
    """Return ZRisk and GeoRisk (Dinçer, Macdonald and Ounis 2016) of ``values[query, system]``, which are 0 or more.

    The expected score is the product of the totals of its query and of its system, over the total of all; z is the
    distance from it, divided by its root, and 0 where nothing is expected. ZRisk is the sum of z, in which negative
    ones count 1 + ``aversion`` times; GeoRisk is √(mean × Φ(ZRisk ÷ queries)).

    >>> found = risk_among(np.array([[0.5, 0.5], [0.9, 0.1]]), 1.0)
    >>> {name: column.round(4).tolist() for name, column in found.items()}
    {'zrisk': [-0.239, -0.3651], 'georisk': [0.5628, 0.3581]}
    """
    queries = len(values)
    total = values.sum()
    expected = values.sum(axis=1, keepdims=True) * values.sum(axis=0) / (total or 1.0)
    z = np.where(expected > 0, (values - expected) / np.sqrt(np.where(expected > 0, expected, 1.0)), 0.0)
    zrisk = np.where(z < 0, (1 + aversion) * z, z).sum(axis=0)
    return {"zrisk": zrisk, "georisk": np.sqrt(values.mean(axis=0) * special.ndtr(zrisk / queries))}


def risk_options(
    risk: float | None, baseline: str | None, scores: Scores, *, plain: bool
) -> tuple[float, int | None] | None:
    """Check and return how much more losses count, and the place of the baseline."""
    if risk is None:
        if baseline is not None:
            raise UsageError("baseline is for risk, which weights losses; set risk=1, or leave it out")
        return None
    aversion = check_number("risk", risk, 0, ends=True)
    if not plain:
        raise UsageError("risk is for a single collection without clusters or replicates; leave one of them out")
    place = None if baseline is None else scores.systems.index(scores.select(systems=[baseline]).systems[0])
    return aversion, place


def risk_columns(
    aversion: float, baseline: int | None, table: Floats, kind: MeasureInfo, alpha: float
) -> dict[str, Floats]:
    """Return the columns on risk, of oriented scores; NaN where there is none."""
    found: dict[str, Floats] = {}
    if baseline is not None:
        low, high = kind.range
        found |= risk_to(baseline, table, aversion, high - low, alpha)
    if kind.higher_is_better is False or table.min() < 0:
        return found | dict.fromkeys(("zrisk", "georisk"), np.full(table.shape[1], np.nan))
    return found | risk_among(table, aversion)
