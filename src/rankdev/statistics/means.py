"""Means of systems: intervals, and how they would vary on other queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import special

from rankdev._common.arrays import Floats
from rankdev._common.checks import check_number
from rankdev.errors import DataError
from rankdev.evaluation.scores import Scores
from rankdev.statistics._randomization import USUAL, Flips, inverted
from rankdev.statistics.bounded_values import mean_limits
from rankdev.statistics.contrasts import Family
from rankdev.statistics.panels import Indices, numbered
from rankdev.statistics.replicates import Replicated, between_runs, replicated

AT_ONCE = 1 << 22  # weights held at a time


def mean_intervals(
    scores: Scores,
    alpha: float = 0.05,
    clusters: Mapping[str, Any] | None = None,
    replicates: Mapping[str, Sequence[str]] | None = None,
) -> tuple[Floats, Floats]:
    """Bound the mean of every system and measure, ``[system, measure]``; NaN with fewer than two values.

    Those of clusters are those of flips of whole clusters; those of several runs allow for the variance between runs.

    >>> values = np.array([[[0.2], [0.4], [0.6]], [[1.0], [1.0], [1.0]]])
    >>> low, high = mean_intervals(Scores(("s", "t"), ("a", "b", "c"), ("P@5",), values))
    >>> low.round(4).tolist(), high.round(4).tolist()  # Student's would reach −.0968 and .8968, and [1, 1]
    ([[0.0], [0.369]], [[0.8968], [1.0]])
    """
    check_number("alpha", alpha, 0, 1)
    if clusters is not None or replicates is not None:
        each = [_designed(scores.select(measures=[name]), alpha, clusters, replicates) for name in scores.measures]
        low, high = (np.stack(ends, axis=1) for ends in zip(*each, strict=True))
        return low, high
    limits = np.full((2, len(scores.systems), len(scores.measures)), np.nan)
    for m, kind in enumerate(scores.kinds):
        known = np.isfinite(scores.values[:, :, m])
        for pattern in np.unique(known, axis=0):
            rows = np.flatnonzero((known == pattern).all(axis=1))
            if pattern.sum() > 1:
                own = scores.values[rows][:, pattern, m]
                limits[:, rows, m] = mean_limits(own, kind.range, alpha)
    return limits[0], limits[1]


def _designed(
    one: Scores, alpha: float, clusters: Mapping[str, Any] | None, replicates: Mapping[str, Sequence[str]] | None
) -> tuple[Floats, Floats]:
    """Bound the means of one measure, with clusters of queries or several runs of systems."""
    runs = None if replicates is None else replicated(one, replicates)
    members = None if clusters is None else members_of(one, clusters)
    sample = Sample([complete_queries(one if runs is None else runs.averaged)], members, runs)
    low, high = sample.mean_limits(1.0, one.kinds[0].range, alpha)
    return low, high


def complete_queries(scores: Scores) -> Floats:
    """Return the values of one measure for queries that have them for every system: ``[query, system]``."""
    values = scores.values[:, :, 0].T
    values = values[np.isfinite(values).all(axis=1)]
    if not len(values):
        raise DataError(f"{scores.measures[0]} has no query with a value for every system; leave a system out")
    return values


def members_of(scores: Scores, clusters: Mapping[str, Any]) -> Indices:
    """Number the cluster of each query that has a value for every system."""
    return numbered(scores, np.flatnonzero(np.isfinite(scores.values[:, :, 0]).all(axis=0)), clusters)


@dataclass(frozen=True, eq=False)
class Sample:
    """Scores of each task, ``[query, system]``; of one task perhaps with clusters of queries or runs of systems."""

    tables: list[Floats]
    clusters: Indices | None
    runs: Replicated | None

    @cached_property
    def between(self) -> tuple[Floats, float]:
        """The variance of each mean that is due to its runs, and how far means of runs vary in all."""
        systems = self.tables[0].shape[1]
        if self.runs is None:
            return np.zeros(systems), 0.0
        members = list(self.runs.members.values())
        means, interaction = between_runs(complete_queries(self.runs.scores), members)
        return max(means - interaction, 0.0) / np.array([len(each) for each in members]), means

    def mean_limits(self, sign: float, range_: tuple[float, float], alpha: float) -> Floats:
        """Bound the mean of each system over tasks by itself, within the range; with the sign that scores had."""
        if len(self.tables) == 1 and self.clusters is None and self.runs is None:
            return np.stack(mean_limits(sign * self.tables[0].T, range_, alpha))
        ends: Floats = np.sort(sign * np.stack(self._student_limits(alpha)), axis=0)
        values = sign * np.concatenate(self.tables)
        return np.clip(ends, *range_) if range_[0] <= values.min() and values.max() <= range_[1] else ends

    def _student_limits(self, alpha: float) -> tuple[Floats, Floats]:
        if self.clusters is not None:
            table = np.column_stack([self.tables[0], np.zeros(len(self.tables[0]))])
            systems = table.shape[1] - 1
            first, second = np.arange(systems), np.full(systems, systems)
            family = Family(table, np.arange(len(table)), first, second, clusters=self.clusters)
            return inverted(Flips(family.flipped, USUAL, seed=0), alpha)
        count = len(self.tables)
        middle = np.mean([table.mean(axis=0) for table in self.tables], axis=0)
        if min(map(len, self.tables)) < 2:
            return np.full_like(middle, -np.inf), np.full_like(middle, np.inf)
        parts = np.array([table.var(axis=0, ddof=1) / len(table) for table in self.tables]) / count**2
        free = np.array([[len(table) - 1.0] for table in self.tables])
        added, means = self.between
        variance = parts.sum(axis=0) + added
        weight = (parts**2 / free).sum(axis=0)
        if self.runs is not None:
            weight += np.where(added > 0, (means / self._runs) ** 2 / self.runs.freedom, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            freedom = np.where(variance > 0, np.maximum(variance**2 / weight, 1.0), 1.0)
        half = special.stdtrit(freedom, 1 - alpha / 2) * np.sqrt(variance)
        return middle - half, middle + half

    @property
    def _runs(self) -> Floats:
        assert self.runs is not None
        return np.array(list(self.runs.counts.values()), float)

    def resampled(self, resamples: int, generator: np.random.Generator) -> Floats:
        """Draw means, ``[resample, task, system]``, by the Bayesian bootstrap of queries or clusters."""
        drawn = np.empty((resamples, len(self.tables), self.tables[0].shape[1]))
        for t, table in enumerate(self.tables):
            rows, sizes = table, np.ones(len(table))
            if self.clusters is not None:
                sizes = np.bincount(self.clusters).astype(float)
                rows = np.stack([np.bincount(self.clusters, column) for column in table.T], axis=1)
            step = max(1, AT_ONCE // len(rows))
            for start in range(0, resamples, step):
                weights = generator.standard_exponential((min(step, resamples - start), len(rows)))
                drawn[start : start + step, t] = (weights @ rows) / (weights @ sizes)[:, None]
            drawn[:, t] = as_uncertain_as_t(drawn[:, t], table.mean(axis=0), len(rows), generator)
        return drawn + generator.standard_normal(drawn.shape) * np.sqrt(self.between[0])


def as_uncertain_as_t(drawn: Floats, middle: Floats, rows: int, generator: np.random.Generator) -> Floats:
    """Spread resampled means, ``[resample, system]``, as Student's posterior does: few rows show too little of it.

    NaN where there is one row.
    """
    if rows < 2:
        return np.full_like(drawn, np.nan)
    times: Floats = np.sqrt((rows + 1) / generator.chisquare(rows - 1, len(drawn)))
    return middle + (drawn - middle) * times[:, None]
