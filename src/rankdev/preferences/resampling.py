"""Judgments drawn again: the bootstrap, clustered by worker where workers are known."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rankdev.errors import UsageError, shown

if TYPE_CHECKING:
    from rankdev.preferences.preferences import Preferences
    from rankdev.preferences.strengths import Strengths

Floats = npt.NDArray[np.float64]


def generator(seed: int) -> np.random.Generator:
    """Give the random numbers of a seed."""
    if not isinstance(seed, Integral) or seed < 0:
        raise UsageError(f"seed must be a whole number, 0 or more; got {shown(seed)}")
    return np.random.Generator(np.random.Philox(int(seed)))


def resample_weights(preferences: Preferences, resamples: int, seed: int) -> Iterator[Floats]:
    """Give each judgment a random weight, again and again: the Bayesian bootstrap.

    The weights are exponential with mean 1, one for each worker where workers are known (a worker's
    judgments stand or fall together), else one for each judgment. Unlike drawing with replacement this
    never drops a comparison that connects two groups.
    """
    if not isinstance(resamples, Integral) or resamples < 1:
        raise UsageError(f"resamples must be 1 or more; got {resamples}")
    rng = generator(seed)
    base = np.ones(len(preferences)) if preferences.weight is None else preferences.weight
    clusters = len(preferences) if preferences.worker is None else len(preferences.workers)
    for _ in range(resamples):
        weight = rng.standard_exponential(clusters)
        yield base * (weight if preferences.worker is None else weight[preferences.worker])


def resampled_strengths(fit: Strengths, resamples: int, seed: int) -> Iterator[Strengths]:
    """Fit again to resampled judgments, in the same way."""
    from rankdev.preferences.strengths import fit_weighted

    prior = (2.0, 1.0) if fit.workers is None else fit.workers.prior
    for weight in resample_weights(fit.preferences, resamples, seed):
        yield fit_weighted(
            fit.preferences, fit.method, weight, ridge=fit.ridge, ties=fit.ties, worker_prior=prior, near=fit
        )
