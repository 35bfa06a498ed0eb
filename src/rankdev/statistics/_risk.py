"""Risk: how much a system loses where it is worse than a baseline, or than other systems let expect."""

from __future__ import annotations

import numpy as np
from scipy import special

from rankdev._common.arrays import Floats
from rankdev.statistics.contrasts import Family
from rankdev.statistics.equivalence import interval


def risk_to(baseline: int, values: Floats, aversion: float, span: float, alpha: float) -> dict[str, Floats]:
    """Return URisk (Wang et al. 2012) with its interval, and TRisk (Dinçer et al. 2014), of ``values[query, system]``.

    URisk is the mean gain over the baseline, in which losses count 1 + ``aversion`` times; TRisk is URisk in standard
    errors. The interval allows for skewed gains, and for losses that were not seen as far as the measure's range does.

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

    A score is expected to be the product of the totals of its query and of its system, over the total of all; z is
    how far it is off, in roots of that. ZRisk is the sum of z, in which negative ones count 1 + ``aversion`` times;
    GeoRisk is √(mean × Φ(ZRisk ÷ queries)). Where nothing is expected, nothing is off.

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
