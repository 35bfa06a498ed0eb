"""The effect of the order in which two items are shown, fitted with their strengths."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankdev._common.arrays import Floats
from rankdev._common.checks import check_kind
from rankdev.errors import UsageError
from rankdev.preferences._fitting import solve
from rankdev.preferences._pairs import Pairs, moments, sums
from rankdev.preferences.judgments import MAKE_THEM, Preferences


@dataclass(frozen=True, eq=False)
class OrderEffect:
    """Strengths and the order effect β fitted together: the first wins with odds e^(θ_first − θ_second + β)."""

    pairs: Pairs  # oriented: first is the item shown first; the two orders of a pair are two
    strength: Floats
    effect: float
    information: float
    leverage: Floats  # of each oriented pair: how much a judgment informs about β rather than strengths
    coupling: Floats  # k, of each item: k kᵀ is the information on a query's strengths that is lost to β


@dataclass(frozen=True, eq=False)
class OrderCorrection:
    """Effect of the order of presentation on each judgment.

    ``effects`` are the parts of the judgments' scores, for the first item of their pair, that the order caused.
    The scores without them have the same best strengths: their residuals under the simple model are those of the scores
    themselves under the model with the order effect. ``variance`` is that of each judgment in the latter model.
    """

    effects: Floats
    variance: Floats
    coupling: Floats


def fit_order_effect(preferences: Preferences, ridge: float = 0.1, *, tie_rate: float = 0.0) -> OrderEffect:
    """Fit strengths (with a ridge) and one order effect (without) by Newton's method."""
    pairs = oriented(preferences)
    strength, effect, change = np.zeros(pairs.items), 0.0, np.inf
    for _ in range(100):
        mean, variance = moments(strength[pairs.first] - strength[pairs.second] + effect, tie_rate)
        rest, curvature, n = pairs.score - pairs.count * mean, pairs.count * variance, pairs.items
        slope = sums(pairs.first, rest, n) - sums(pairs.second, rest, n) - ridge * strength
        mixed = sums(pairs.first, curvature, n) - sums(pairs.second, curvature, n)
        diagonal = sums(pairs.first, curvature, n) + sums(pairs.second, curvature, n) + max(ridge, 1e-9)
        both = solve(pairs, curvature, diagonal, np.stack([slope, mixed], axis=1), 1e-6)
        information = float(curvature.sum() - mixed @ both[:, 1])
        if change**2 <= 1e-12 or information <= 0:
            break
        step = float((rest.sum() - mixed @ both[:, 0]) / information)
        ahead = both[:, 0] - both[:, 1] * step
        change = max(float(np.ptp(ahead)) + abs(step), 0.0)
        safe = 1.0 if change <= 1.25 else np.log1p(change) / change
        strength, effect = strength + safe * ahead, effect + safe * step
    return order_effect(pairs, strength, effect, ridge, tie_rate)


def order_effect(pairs: Pairs, strength: Floats, effect: float, ridge: float, tie_rate: float = 0.0) -> OrderEffect:
    """Describe strengths and an order effect that were fitted."""
    n = pairs.items
    _, variance = moments(strength[pairs.first] - strength[pairs.second] + effect, tie_rate)
    curvature = pairs.count * variance
    mixed = sums(pairs.first, curvature, n) - sums(pairs.second, curvature, n)
    diagonal = sums(pairs.first, curvature, n) + sums(pairs.second, curvature, n) + max(ridge, 1e-9)
    moved = solve(pairs, curvature, diagonal, mixed, 1e-6)
    information = float(curvature.sum() - mixed @ moved)
    leverage = 1.0 - moved[pairs.first] + moved[pairs.second]
    coupling = _coupling(pairs, curvature, mixed, moved, information)
    return OrderEffect(pairs, strength, effect, max(information, 0.0), leverage, coupling)


def _coupling(pairs: Pairs, curvature: Floats, mixed: Floats, moved: Floats, information: float) -> Floats:
    """Divide the mixed curvature by the root of the information on β: of a query and of the other queries."""
    queries = len(pairs.starts) - 1
    query = np.repeat(np.arange(queries), np.diff(pairs.starts))
    own = sums(query[pairs.first], curvature, queries)
    informative = own - sums(query, mixed * moved, queries)
    return np.asarray(mixed / np.sqrt(np.maximum(own + information - informative, 1e-12))[query])


def correct_order(preferences: Preferences, ridge: float, tie_rate: float = 0.0) -> OrderCorrection:
    """Fit the order effect, and compute what the simple model needs to have the strengths of the model with it."""
    found = fit_order_effect(preferences, ridge, tie_rate=tie_rate)
    pairs, d = found.pairs, found.strength[found.pairs.first] - found.strength[found.pairs.second]
    mean, variance = moments(d + found.effect, tie_rate)
    shift = (mean - moments(d, tie_rate)[0])[pairs.of]
    effects = np.where((pairs.first < pairs.second)[pairs.of], shift, -shift)
    return OrderCorrection(effects, variance[pairs.of], found.coupling)


def check_order(preferences: Preferences) -> npt.NDArray[np.bool_]:
    """Reject judgments that do not record which item was shown first."""
    check_kind("preferences", preferences, Preferences, MAKE_THEM)
    if preferences.winner_first is None:
        raise UsageError("order-unknown")
    return preferences.winner_first


def oriented(preferences: Preferences) -> Pairs:
    """Count pairs by the order they were shown in: first is the item shown first."""
    winner_first = check_order(preferences)
    weight = np.ones(len(preferences)) if preferences.weight is None else preferences.weight
    first = np.where(winner_first, preferences.winner, preferences.loser)
    second = np.where(winner_first, preferences.loser, preferences.winner)
    items = len(preferences.items)
    keys, of = np.unique(first.astype(np.int64) * items + second, return_inverse=True)
    count, score, ties = (
        sums(of, weight * part, len(keys)) for part in (1.0, score_of_first(preferences), preferences.tie)
    )
    places = ((keys // items).astype(np.int32), (keys % items).astype(np.int32))
    return Pairs(preferences.starts, *places, count, score, ties, of.astype(np.int32))


def score_of_first(preferences: Preferences) -> Floats:
    """Return what the item shown first got in each judgment: 1 for a win, 0.5 for a tie."""
    won = 1.0 if preferences.share is None else preferences.share
    score = np.where(check_order(preferences), won, 1.0 - won)
    score[preferences.tie] = 0.5
    return score
