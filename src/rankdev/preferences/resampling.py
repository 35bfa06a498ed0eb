"""Judgments drawn again: the bootstrap, clustered by worker where workers are known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rankdev.arguments import check_seed, check_whole
from rankdev.arrays import Floats

if TYPE_CHECKING:
    from rankdev.preferences.preferences import Preferences
    from rankdev.preferences.strengths import Strengths


def generator(seed: int) -> np.random.Generator:
    """Give the random numbers of a seed."""
    return np.random.Generator(np.random.Philox(check_seed(seed)))


def resample_weights(preferences: Preferences, resamples: int, seed: int) -> Iterator[Floats]:
    """Give each judgment a random weight, again and again: the Bayesian bootstrap.

    The weights are exponential with mean 1, one for each worker where workers are known (a worker's
    judgments stand or fall together), else one for each judgment. Unlike drawing with replacement this
    never drops a comparison that connects two groups.
    """
    rng = generator(seed)
    base = np.ones(len(preferences)) if preferences.weight is None else preferences.weight
    clusters = len(preferences) if preferences.worker is None else len(preferences.workers)
    for _ in range(check_whole("resamples", resamples, 1)):
        weight = rng.standard_exponential(clusters)
        yield base * (weight if preferences.worker is None else weight[preferences.worker])


def resampled_strengths(fit: Strengths, resamples: int, seed: int) -> Iterator[Strengths]:
    """Fit again to resampled judgments, in the same way."""
    from rankdev.preferences.models import Options
    from rankdev.preferences.strengths import fit_model

    judged, prior = fit.preferences, (2.0, 1.0) if fit.workers is None else fit.workers.prior
    options = Options(fit.ridge, fit.ties, prior, fit.confidence, fit.position)
    for weight in resample_weights(judged, resamples, seed):
        pairs = judged.pairs.weighted(judged, weight)
        yield fit_model(replace(judged, weight=weight), fit.method, options, pairs)
