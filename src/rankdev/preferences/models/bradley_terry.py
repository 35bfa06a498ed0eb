"""Bradley–Terry, and Davidson's model (1970) where there are ties."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankdev.preferences.models import Fitted, Model, Options
from rankdev.preferences.pairs import Fit, Pairs, maximise, moments, residuals

if TYPE_CHECKING:
    from rankdev.preferences.judgments import Preferences


class BradleyTerry(Model):
    """i beats j with probability 1/(1 + e^(θj − θi)); ties by Davidson's model or as half wins."""

    name = "bradley-terry"
    about = "log-strengths by maximum likelihood, with a ridge"
    ties = ("davidson", "half")

    def fit(self, preferences: Preferences, pairs: Pairs, options: Options) -> Fitted:
        """Maximise the penalised likelihood."""
        fit, tie_rate = _maximised(pairs, options)
        expected, _ = moments(fit.strength[pairs.first] - fit.strength[pairs.second], tie_rate)
        return Fitted(
            fit.strength,
            pairs,
            fit.iterations,
            fit.converged,
            fit.curvature,
            fit.penalty,
            residuals(preferences, pairs, expected),
            tie_rate=tie_rate,
        )


def _maximised(pairs: Pairs, options: Options) -> tuple[Fit, float]:
    if options.ties == "davidson" and pairs.ties.any():
        return _davidson(pairs, options.ridge)
    return maximise(pairs, options.ridge), 0.0


def _davidson(pairs: Pairs, ridge: float) -> tuple[Fit, float]:
    """Alternate between strengths and the one rate of ties, which all queries share."""
    log_rate, start = 0.0, None
    for _ in range(200):
        fit = maximise(pairs, ridge, tie_rate=float(np.exp(log_rate)), start=start)
        start = fit.strength
        d = np.abs(start[pairs.first] - start[pairs.second])
        tie = np.exp(log_rate - d / 2)
        chance = tie / (1 + np.exp(-d) + tie)
        change = (pairs.ties.sum() - pairs.count @ chance) / (pairs.count @ (chance * (1 - chance)))
        log_rate = min(log_rate + float(np.clip(change, -1, 1)), 12.0)  # if all were ties, it would be infinite
        if abs(change) < 1e-8:
            break
    return maximise(pairs, ridge, tie_rate=float(np.exp(log_rate)), start=start), float(np.exp(log_rate))
