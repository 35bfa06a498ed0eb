"""Tests of paired differences: p-values ``[pair, measure]`` for all pairs of systems in dictionary order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from rankdev.errors import DataError
from rankdev.evaluation.scores import Floats
from rankdev.meta.flips import Sampling, count_extremes, lag_order, open_engine
from rankdev.meta.flips.exact_sums import largest_of, scale_for, slack
from rankdev.meta.flips.random_bits import stream_keys

PValue = Literal["plus-one", "paper"]
ENUMERATED = 20  # non-zero differences up to which all sign flips are counted
ROOM = 1 << 26  # numbers held at a time


def p_from_counts(counts: Floats, permutations: int, p_value: PValue) -> Floats:
    """Turn counts of extreme flips into p-values: (b + 1)/(B + 1), or b/B as in the paper."""
    return (counts + 1) / (permutations + 1) if p_value == "plus-one" else counts / permutations


def differences(values: Floats) -> Iterator[tuple[tuple[slice, int], Floats, float]]:
    """Give the differences of all pairs in whole units, a few pairs of one measure at a time.

    Yields their place in an array ``[pair, measure]``, the differences ``[pair, query]``, and the unit. A
    difference of a single unit can come from rounding alone and is none.
    """
    scale = scale_for(largest_of(values), len(values))
    a, b = np.triu_indices(values.shape[1], 1)
    step = max(1, ROOM // 16 // len(values))
    for m in range(values.shape[2]):
        units = np.rint(values[:, :, m].T * scale[m])
        for start in range(0, len(a), step):
            pairs = slice(start, start + step)
            apart = units[a[pairs]] - units[b[pairs]]
            apart[np.abs(apart) <= 1] = 0.0
            yield (pairs, m), apart, 1 / scale[m]


def empty(values: Floats) -> Floats:
    """Give room for a number for each pair and measure."""
    return np.full((values.shape[1] * (values.shape[1] - 1) // 2, values.shape[2]), np.nan)


def randomization(
    values: Floats, *, permutations: int, p_value: PValue, seed: int, engine: str, threads: int | None
) -> Floats:
    """Flip signs at random; all flips are enumerated where a pair has few non-zero differences."""
    queries, systems, _ = values.shape
    p = empty(values)
    for place, apart, _ in differences(values):
        few = np.count_nonzero(apart, axis=1) <= ENUMERATED
        p[place][few] = [enumerated(row, slack(queries)) for row in apart[few]]
    if np.isnan(p).any():
        chosen = open_engine(engine, values, float(values.size) * permutations)
        keys = stream_keys(seed, queries, 1)
        counts = count_extremes(chosen, Sampling(queries), keys, permutations, threads)[0]
        drawn = p_from_counts(counts[lag_order(systems)].astype(np.float64), permutations, p_value)
        p = np.where(np.isnan(p), drawn, p)
    return p


def enumerated(apart: Floats, tolerance: float) -> float:
    """Give the share of all sign flips whose sum is at least as extreme as the observed one.

    The sums of the flipped part are sums of two halves, so sorting one half counts all 2^k of them in
    2^(k/2) steps.
    """
    moved = apart[apart != 0]
    whole = moved.sum()
    low, high = (whole - abs(whole) + tolerance) / 2, (whole + abs(whole) - tolerance) / 2
    if high <= low:
        return 1.0
    left, right = _subset_sums(moved[::2]), np.sort(_subset_sums(moved[1::2]))
    few = np.searchsorted(right, low - left, side="right").sum()
    many = len(right) * len(left) - np.searchsorted(right, high - left, side="left").sum()
    return float(few + many) / (len(left) * len(right))


def _subset_sums(numbers: Floats) -> Floats:
    sums = np.zeros(1)
    for number in numbers:
        sums = np.concatenate([sums, sums + number])
    return sums


def student(values: Floats) -> Floats:
    """Student's paired t-test."""
    from scipy import stats

    queries = len(values)
    if queries < 2:
        raise DataError("a t-test needs at least two queries; use test='randomization'")
    p = empty(values)
    for place, apart, _ in differences(values):
        mean, deviation = apart.mean(axis=1), apart.std(axis=1, ddof=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(mean == 0, 0.0, mean / (deviation / np.sqrt(queries)))
        p[place] = 2 * stats.t.sf(np.abs(t), queries - 1)
    return p


def wilcoxon(values: Floats) -> Floats:
    """Wilcoxon's signed-rank test, zero differences left out."""
    from scipy import stats

    def one(apart: Floats) -> float:
        moved = apart[apart != 0]
        return float(stats.wilcoxon(_levels(moved)).pvalue) if len(moved) else 1.0

    p = empty(values)
    for place, apart, _ in differences(values):
        p[place] = [one(row) for row in apart]
    return p


def _levels(apart: Floats) -> Floats:
    """Number differences by magnitude, signs kept; rounding moves equal ones two units apart at most."""
    size = np.abs(apart)
    order = np.argsort(size)
    levels = np.empty(len(apart))
    levels[order] = 1 + np.cumsum(np.diff(size[order], prepend=0.0) > 2)
    return np.sign(apart) * levels


def bootstrap(
    values: Floats, *, resamples: int, p_value: PValue, seed: int, confidence: float
) -> tuple[Floats, Floats, Floats]:
    """Resample queries with replacement: p-values of shifted means, and percentile intervals."""
    queries, systems, measures = values.shape
    a, b = np.triu_indices(systems, 1)
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    p, ends = empty(values), np.stack([empty(values)] * 2)
    step = max(1, ROOM // (resamples * systems))
    for start in range(0, measures, step):
        part = values[:, :, start : start + step]
        scale = scale_for(largest_of(part), queries)
        units = np.rint(part * scale).reshape(queries, -1)
        drawn = _resampled(units, resamples, seed).reshape(resamples, systems, -1)
        whole = units.sum(axis=0).reshape(systems, -1)
        for pair, (i, j) in enumerate(zip(a, b, strict=True)):
            apart, observed = drawn[:, i] - drawn[:, j], whole[i] - whole[j]
            hits = np.abs(apart - observed) >= np.abs(observed) - slack(queries)
            place = (pair, slice(start, start + step))
            p[place] = p_from_counts(hits.sum(axis=0).astype(np.float64), resamples, p_value)
            ends[(slice(None), *place)] = np.quantile(apart, tails, axis=0) / scale / queries
    return p, ends[0], ends[1]


def _resampled(units: Floats, resamples: int, seed: int) -> Floats:
    """Sum resampled rows; whole numbers, so the matrix product is exact."""
    queries = len(units)
    generator = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, queries])))
    sums = np.empty((resamples, units.shape[1]))
    step = max(1, min(resamples, ROOM // 64 // queries))
    for start in range(0, resamples, step):
        block = min(step, resamples - start)
        picks = generator.integers(0, queries, size=(block, queries))
        picks += np.arange(block)[:, None] * queries
        weights = np.bincount(picks.ravel(), minlength=block * queries).reshape(block, queries)
        sums[start : start + block] = weights.astype(np.float64) @ units
    return sums
