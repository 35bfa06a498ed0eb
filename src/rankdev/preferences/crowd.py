"""Crowd-BT (Chen et al. 2013): strengths and the quality of each worker, fitted together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rankdev.errors import UsageError
from rankdev.preferences.newton import Fit, maximise
from rankdev.preferences.pairs import Pairs, moments, sums
from rankdev.results import Result

if TYPE_CHECKING:
    import polars as pl

    from rankdev.preferences.preferences import Preferences

Floats = npt.NDArray[np.float64]
GRID = np.linspace(0.0025, 0.9975, 200)


@dataclass(frozen=True, eq=False)
class WorkerQuality(Result):
    """How often each worker says what the strengths say: 1 always, ½ at random, 0 the opposite.

    ``low`` and ``high`` hold the quality with probability ``confidence``, given the fitted strengths.
    """

    workers: tuple[str, ...]
    quality: Floats = field(repr=False)
    low: Floats = field(repr=False)
    high: Floats = field(repr=False)
    judgments: npt.NDArray[np.int64] = field(repr=False)
    prior: tuple[float, float] = (2.0, 1.0)
    confidence: float = 0.95

    @property
    def verdicts(self) -> list[str]:
        """Call each worker good, inverted, a suspected spammer, or say that the judgments are too few.

        good: surely better than chance. inverted: surely worse. spammer: the interval holds chance (½) and
        ends below ¾, so that the judgments show there is little in them. unclear: anything else.
        """
        return [
            "good" if low > 0.5 else "inverted" if high < 0.5 else "spammer" if high < 0.75 else "unclear"
            for low, high in zip(self.low.tolist(), self.high.tolist(), strict=True)
        ]

    def suspects(self) -> dict[str, list[str]]:
        """Name the suspected spammers and the inverted workers."""
        named = list(zip(self.workers, self.verdicts, strict=True))
        return {kind: [w for w, verdict in named if verdict == kind] for kind in ("spammer", "inverted")}

    def to_polars(self) -> pl.DataFrame:
        """One row a worker: worker, judgments, quality, low, high, verdict."""
        import polars as pl

        return pl.DataFrame(
            {
                "worker": list(self.workers),
                "judgments": self.judgments,
                "quality": self.quality,
                "low": self.low,
                "high": self.high,
                "verdict": self.verdicts,
            }
        )


@dataclass(frozen=True, eq=False)
class _Votes:
    """Judgments as votes for ``winner``; a tie is half a vote each way, a probability its share."""

    pair: npt.NDArray[np.int32]
    forward: npt.NDArray[np.bool_]  # the vote is for the first item of its pair
    worker: npt.NDArray[np.int32]
    weight: Floats


def crowd_bt(
    preferences: Preferences,
    pairs: Pairs,
    ridge: float,
    *,
    weight: Floats | None = None,
    prior: tuple[float, float] = (2.0, 1.0),
    near: tuple[Floats, Floats] | None = None,
    tolerance: float = 1e-4,
    limit: int = 500,
) -> tuple[Fit, Floats]:
    """Fit strengths and worker qualities by expectation–maximisation; the strengths' virtual node is ``ridge``.

    Each judgment has a chance that its worker meant it; the strengths are fitted to the judgments so
    weighed, the qualities are the mean chances, with a Beta ``prior``. ``near`` are strengths and qualities
    to start from; it ends with a step smaller than ``tolerance``.
    """
    votes, workers = _votes(preferences, pairs, weight), len(preferences.workers)
    if near is None:
        near = maximise(pairs, ridge, virtual_node=True).strength, np.full(workers, 0.8)
    (start, quality), iteration, change = near, 0, np.inf
    total = sums(votes.worker, votes.weight, workers) + prior[0] + prior[1] - 2
    while change >= tolerance and iteration < limit:
        iteration += 1
        agree = _agreement_chance(pairs, votes, start)
        said = quality[votes.worker] * agree
        meant = said / (said + (1 - quality[votes.worker]) * (1 - agree))
        meant_sum = sums(votes.worker, votes.weight * meant, workers) + prior[0] - 1
        better = np.clip(meant_sum / np.maximum(total, 1e-12), 1e-6, 1 - 1e-6)
        fit = maximise(_recount(pairs, votes, meant), ridge, virtual_node=True, start=start, limit=1)
        change = max(np.abs(fit.strength - start).max(), np.abs(better - quality).max())
        start, quality = fit.strength, better
    information = _information(pairs, votes, start, quality)
    return Fit(start, information, fit.penalty, iteration, change < tolerance), quality


def worker_quality(
    preferences: Preferences,
    pairs: Pairs,
    strength: Floats,
    quality: Floats,
    *,
    prior: tuple[float, float] = (2.0, 1.0),
    confidence: float = 0.95,
) -> WorkerQuality:
    """Put an interval around each quality: the posterior on a grid, with the strengths taken as they are."""
    votes, workers = _votes(preferences, pairs, None), len(preferences.workers)
    agree = _agreement_chance(pairs, votes, strength)
    a, b = prior
    posterior = np.empty((len(GRID), workers))
    for k, eta in enumerate(GRID):
        chance = np.log(eta * agree + (1 - eta) * (1 - agree))
        posterior[k] = sums(votes.worker, votes.weight * chance, workers)
        posterior[k] += (a - 1) * np.log(eta) + (b - 1) * np.log(1 - eta)
    mass = np.cumsum(np.exp(posterior - posterior.max(axis=0)), axis=0)
    mass /= mass[-1]
    low, high = (GRID[np.argmax(mass >= tail, axis=0)] for tail in ((1 - confidence) / 2, (1 + confidence) / 2))
    low, high = np.minimum(low, quality), np.maximum(high, quality)  # the mode may lie beyond a quantile
    judged = np.bincount(preferences.worker if preferences.worker is not None else [], minlength=workers)
    return WorkerQuality(preferences.workers, quality, low, high, judged, prior, confidence)


def _votes(preferences: Preferences, pairs: Pairs, weight: Floats | None) -> _Votes:
    if preferences.worker is None:
        raise UsageError("Crowd-BT needs to know who judged: the preferences have no worker column")
    weight = preferences.weight if weight is None else weight
    weight = np.ones(len(preferences)) if weight is None else weight
    forward = preferences.winner < preferences.loser
    share = np.where(preferences.tie, 0.5, 1.0 if preferences.share is None else preferences.share)
    split = share < 1
    return _Votes(
        np.concatenate([pairs.of, pairs.of[split]]),
        np.concatenate([forward, ~forward[split]]),
        np.concatenate([preferences.worker, preferences.worker[split]]),
        np.concatenate([weight * share, (weight * (1 - share))[split]]),
    )


def _agreement_chance(pairs: Pairs, votes: _Votes, strength: Floats) -> Floats:
    first_wins, _ = moments(strength[pairs.first] - strength[pairs.second])
    chance = first_wins[votes.pair]
    return np.where(votes.forward, chance, 1 - chance)


def _recount(pairs: Pairs, votes: _Votes, meant: Floats) -> Pairs:
    for_first = votes.weight * np.where(votes.forward, meant, 1 - meant)
    score = sums(votes.pair, for_first, len(pairs.first))
    return Pairs(pairs.starts, pairs.first, pairs.second, pairs.count, score, pairs.ties, pairs.of)


def _information(pairs: Pairs, votes: _Votes, strength: Floats, quality: Floats) -> Floats:
    """Expected information of each pair: what is left of p(1 − p) after the workers' noise."""
    _, variance = moments(strength[pairs.first] - strength[pairs.second])
    agree = _agreement_chance(pairs, votes, strength)
    eta = quality[votes.worker]
    said = eta * agree + (1 - eta) * (1 - agree)
    each = (2 * eta - 1) ** 2 * variance[votes.pair] ** 2 / np.maximum(said * (1 - said), 1e-12)
    return sums(votes.pair, votes.weight * each, len(pairs.first))
