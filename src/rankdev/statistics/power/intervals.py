"""Intervals of power over the choice of queries.

Power is simulated on one pool; another pool of queries would have given different powers. The standardised effects of
all pairs are recomputed on resampled queries, the same for all systems and measures, and turned into power by the
noncentral t-distribution, which costs no further simulation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from rankdev._common.arrays import Floats
from rankdev.statistics.contrasts import Family
from rankdev.statistics.power.student import power_of, queries_by_table

LEVELS = (0.1, 0.5, 0.9)  # percentiles over pairs in a summary
TAILS = (0.025, 0.975)
NORMAL = 1.959963984540054


@dataclass(frozen=True, eq=False)
class Effects:
    """Standardised effects of a measure's pairs, the variance of each, and their resamples ``[replicate, pair]``."""

    observed: Floats = field(repr=False)
    variance: Floats = field(repr=False)
    drawn: Floats = field(repr=False)


@dataclass(frozen=True, eq=False)
class Intervals:
    """95% intervals; the first axis of each array has the two limits.

    ``power[limit, measure, pair, size]``, ``levels[limit, level, measure, size]`` for the 10th, 50th and 90th
    percentile over pairs, ``n80[limit, measure]`` for their median N80, ``pair_n80[limit, measure, pair]``;
    ``medians[replicate, measure, size]`` are the resampled medians, for differences between measures.
    """

    power: Floats = field(repr=False)
    levels: Floats = field(repr=False)
    n80: Floats = field(repr=False)
    pair_n80: Floats = field(repr=False)
    medians: Floats = field(repr=False)


def query_weights(queries: int, replicates: int, seed: int) -> Floats:
    """Return how often each replicate holds each query: ``[replicate, query]``."""
    generator = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, queries, replicates])))
    return generator.multinomial(queries, np.full(queries, 1 / queries), size=replicates).astype(np.float64)


def effects_of(family: Family, weights: Floats) -> Effects:
    """Return the effects of all pairs, and those of every replicate."""
    queries = len(family.values)
    weights = weights[:, family.queries]
    held = np.maximum(weights.sum(axis=1), 1.0)
    bits = 50 - 2 * int(np.ceil(np.log2(queries)))  # whole numbers whose sums are exact, on any number of threads
    observed = np.where(family.mean == 0, 0.0, family.statistics["effect"])
    variance, drawn = np.zeros(family.pairs), np.empty((len(weights), family.pairs))
    for pairs, apart in family.differences():
        deviation = family.statistics["deviation"][pairs, None] / family.unit
        varies = deviation > 0
        score = np.divide(apart - apart.mean(axis=1, keepdims=True), deviation, out=np.zeros_like(apart), where=varies)
        mean, square = (
            np.ldexp(weights @ np.rint(np.ldexp(x, bits)).T, -bits) / held[:, None] for x in (score, score**2)
        )
        spread = np.sqrt(np.maximum(square - mean**2, 1e-12) * queries / (queries - 1))
        effect = observed[pairs]
        drawn[:, pairs] = np.where(varies[:, 0], (np.where(varies[:, 0], effect, 0) + mean) / spread, effect)
        skew, kurtosis = (score**3).mean(axis=1), (score**4).mean(axis=1)
        with np.errstate(invalid="ignore"):
            inflation = np.maximum(1 - skew * effect + effect**2 * (kurtosis - 1) / 4, 0.1)
        variance[pairs] = np.where(varies[:, 0], inflation / queries, 0.0)
    return Effects(observed, variance, drawn)


@dataclass(frozen=True)
class Simulated:
    """A simulated curve and its design: ``power[measure, pair, size]``, the pool of each measure."""

    power: Floats = field(repr=False)
    sizes: tuple[int, ...]
    pools: tuple[int, ...]
    subsamples: int
    alpha: float
    replaced: bool


def intervals_for(effects: Sequence[Effects], simulated: Simulated) -> Intervals:
    """Return the intervals of a simulated curve, its percentiles over pairs and its N80."""
    measures, pairs, sizes = simulated.power.shape
    power = np.full((2, measures, pairs, sizes), np.nan)
    levels = np.full((2, len(LEVELS), measures, sizes), np.nan)
    n80, pair_n80 = np.full((2, measures), np.nan), np.full((2, measures, pairs), np.nan)
    medians = np.full((len(effects[0].drawn), measures, sizes), np.nan)
    for i, n in enumerate(simulated.sizes):
        curve = power_of(n, simulated.alpha)
        for m, effect in enumerate(effects):
            if n <= simulated.pools[m] or (simulated.replaced and simulated.pools[m] > 1):
                power[:, m, :, i] = _pair_power(effect, simulated, m, i)
                drawn = [np.quantile(curve(x), LEVELS, axis=1) for x in (effect.drawn, _shrunk(effect))]
                medians[:, m, i] = drawn[0][1]
                levels[:, :, m, i] = _hull(np.quantile(simulated.power[m, :, i], LEVELS), *drawn)
    for m, effect in enumerate(effects):
        pair_n80[:, m], n80[:, m] = _n80(effect, simulated, m)
    return Intervals(power, levels, n80, pair_n80, medians)


def _hull(estimate: Floats, *drawn: Floats) -> Floats:
    """Return the smallest and largest of the estimate and the limits of each resampled distribution."""
    limits = np.stack([np.quantile(part, TAILS, axis=-1) for part in drawn])
    return np.stack([np.minimum(estimate, limits[:, 0].min(axis=0)), np.maximum(estimate, limits[:, 1].max(axis=0))])


def _shrunk(effect: Effects) -> Floats:
    """Move the resamples to effects without the noise that makes observed ones too large on average."""
    finite = np.isfinite(effect.observed)
    centre = np.where(finite, effect.observed, 0.0)
    moved = np.sign(centre) * np.sqrt(np.maximum(centre**2 - np.where(finite, effect.drawn, 0.0).var(axis=0), 0.0))
    return np.where(finite, moved + effect.drawn - centre, effect.drawn)


def _bounds(effect: Floats, error: Floats) -> tuple[Floats, Floats]:
    """Return the smallest and largest size of effect within 1.96 errors; 0 where the sign is uncertain."""
    size, reach = np.abs(effect), NORMAL * error
    return np.maximum(size - reach, 0.0), size + reach


def _pair_power(effect: Effects, simulated: Simulated, measure: int, size: int) -> Floats:
    """Return the hull of the intervals from the observed effect and from the rejection rate, and that rate itself."""
    from scipy import special

    n, pool = simulated.sizes[size], simulated.pools[measure]
    rate, curve = simulated.power[measure, :, size], power_of(n, simulated.alpha)
    bounds = [_bounds(effect.observed, np.sqrt(effect.variance))]
    # subsamples of one pool vary less than new ones, by this factor
    loose = 1.0 if simulated.replaced else np.sqrt(1 - n / pool)
    if loose > 0:
        inner = np.clip(rate, 0.5 / simulated.subsamples, 1 - 0.5 / simulated.subsamples)
        critical = special.stdtrit(n - 1, 1 - simulated.alpha / 2)
        shift = _shift(inner, critical, loose)
        density = np.exp(-(special.ndtri(inner) ** 2) / 2) / np.sqrt(2 * np.pi)
        chance = loose * np.sqrt(inner * (1 - inner) / simulated.subsamples) / density
        bounds.append(_bounds(shift / np.sqrt(n), np.sqrt(effect.variance + chance**2 / n)))
    low = np.minimum.reduce([rate, *(np.where(small > 0, curve(small), 0.0) for small, _ in bounds)])
    high = np.maximum.reduce([rate, *(curve(large) for _, large in bounds)])
    return np.stack([low, high])


def _shift(rate: Floats, critical: float, loose: float) -> Floats:
    """Find the noncentrality at which this fraction of subsamples rejects: Φ((λ − c)/q) + Φ((−λ − c)/q), by halving."""
    from scipy import special

    low, high = np.zeros_like(rate), np.full_like(rate, critical + 10.0)
    for _ in range(60):
        middle = (low + high) / 2
        over = special.ndtr((middle - critical) / loose) + special.ndtr((-middle - critical) / loose) > rate
        low, high = np.where(over, low, middle), np.where(over, middle, high)
    return (low + high) / 2


def _n80(effect: Effects, simulated: Simulated, measure: int) -> tuple[Floats, Floats]:
    """Return the limits of each pair's N80 and of their median; the upper ones at sizes that were simulated."""
    small, large = _bounds(effect.observed, np.sqrt(effect.variance))
    pairs = np.stack([queries_by_table(x, 0.8, simulated.alpha) for x in (large, small)])
    drawn = [np.median(queries_by_table(x, 0.8, simulated.alpha), axis=1) for x in (effect.drawn, _shrunk(effect))]
    limits = np.stack([np.quantile(x, TAILS, method="nearest") for x in drawn])
    median = np.array([limits[:, 0].min(), limits[:, 1].max()])
    for limits in (pairs, median):
        limits[1] = _next(simulated.sizes, limits[1])
    return pairs, median


def _next(sizes: tuple[int, ...], queries: Floats) -> Floats:
    """Return the first simulated size that is as large; beyond the last, the number itself."""
    known = np.array([*sizes, np.inf])
    above = known[np.searchsorted(known, queries)]
    return np.where(np.isfinite(above), above, queries)


def unknown_effects(pairs: int, replicates: int) -> Effects:
    """Return the effects of a measure without queries."""
    return Effects(np.full(pairs, np.nan), np.full(pairs, np.nan), np.full((replicates, pairs), np.nan))
