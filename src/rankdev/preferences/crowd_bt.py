"""Crowd-BT (Chen et al. 2013): strengths and the quality of each worker, fitted together."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from rankdev._common.arrays import Codes, Floats, Ints
from rankdev._common.result import Result
from rankdev._common.view import Dot, Dots, View
from rankdev.errors import UsageError
from rankdev.preferences.pairs import Fitted, Pairs, conjugate_gradients, damped, maximise, moments, penalise, sums
from rankdev.preferences.uncertainty import GRID, on_grid

if TYPE_CHECKING:
    from rankdev.preferences.judgments import Preferences


LARGEST_ODDS = 13.8  # log-odds of a quality of 1 − 1e-6, as near to 1 as a quality comes
START = np.log(0.8 / (1 - 0.8))  # log-odds of the quality that all workers start with
CLOSE = 1e-9  # a step this small is the last one
NEAR = 0.01  # from a step this small on, Newton's method is used: earlier it may lead to another maximum
NOISE = 1e-13  # of the likelihood: rounding
LIMIT = 200


def crowd_bt(preferences: Preferences, ridge: float, alpha: float) -> Fitted:
    """Fit strengths and qualities at once by Fisher scoring, then by Newton's method.

    A worker of quality η prefers i to j with probability η s + (1 − η)(1 − s), s = 1/(1 + e^(θj − θi)). A tie counts as
    half a win each, and carries no information about the worker. The ridge is a virtual node's wins and losses; the
    prior of qualities is Beta(2, 1).
    """
    if preferences.worker is None:
        raise UsageError("needed", name="a worker column", use="crowd-bt")
    votes = _Votes.of(preferences)
    strength = maximise(votes.pairs, ridge, virtual_node=True).values
    at = _Point(votes, ridge, strength, np.full(len(preferences.workers), START))
    iteration, change = 0, np.inf
    while change >= CLOSE and iteration < LIMIT:
        iteration += 1
        at, change = at.step(near=change < NEAR)
    curvature, coupling, bend = at.information()
    return Fitted(
        values=at.strength,
        pairs=at.meant(),
        iterations=iteration,
        converged=change < CLOSE,
        curvature=curvature,
        penalty=at.penalty[1],
        residual=at.residual(preferences),
        coupling=(coupling / np.sqrt(bend)).tocsr(),  # older releases of SciPy give another kind
        workers=at.judged(preferences, alpha),
    )


@dataclass(frozen=True, eq=False)
class _Votes:
    """Judgments with a winner, and the ties of each pair."""

    pairs: Pairs
    rows: Ints  # which judgments these are
    pair: Codes
    side: Floats  # 1 for the first item of the pair, −1 for the second
    worker: Codes
    weight: Floats

    @classmethod
    def of(cls, preferences: Preferences) -> _Votes:
        assert preferences.worker is not None
        rows, weight = np.flatnonzero(~preferences.tie), preferences.weights
        won = np.ones(len(preferences)) if preferences.share is None else preferences.share
        side = np.where(preferences.winner < preferences.loser, 1.0, -1.0)
        split = rows[won[rows] < 1]  # a probability is a vote for each, in part
        both = np.concatenate([rows, split])
        return cls(
            preferences.pairs,
            both,
            preferences.pairs.of[both],
            np.concatenate([side[rows], -side[split]]),
            preferences.worker[both],
            np.concatenate([(weight * won)[rows], (weight * (1 - won))[split]]),
        )


class _Point:
    """Strengths and log-odds of qualities, and all that follows from them."""

    def __init__(self, votes: _Votes, ridge: float, strength: Floats, odds: Floats) -> None:
        self.votes, self.ridge, self.strength, pairs = votes, ridge, strength, votes.pairs
        self.odds = np.clip(odds, -LARGEST_ODDS, LARGEST_ODDS)
        self.quality = 1 / (1 + np.exp(-self.odds))
        self.first_wins, self.variance = moments(strength[pairs.first] - strength[pairs.second])
        self.chance = 0.5 + votes.side * (self.first_wins[votes.pair] - 0.5)  # that the strengths agree with the vote
        self.skill = 2 * self.quality[votes.worker] - 1
        self.likelihood = 0.5 + self.skill * (self.chance - 0.5)  # of the vote
        self.penalty = penalise(strength, ridge, virtual_node=True)

    @cached_property
    def objective(self) -> float:
        """The penalised log-likelihood."""
        ties = self.votes.pairs.ties @ np.log(np.maximum(self.variance, 1e-300)) / 2
        prior = np.log(self.quality).sum()
        node = -2 * np.logaddexp(self.strength / 2, -self.strength / 2).sum()
        return float(self.votes.weight @ np.log(self.likelihood) + ties + prior + self.ridge * node)

    @cached_property
    def _pull(self) -> Floats:
        """Slope of each vote's log-likelihood in the strength difference of its pair."""
        return self.votes.side * self.skill * self.variance[self.votes.pair] / self.likelihood

    def information(self, *, expected: bool = True) -> tuple[Floats, Any, Floats]:
        """Information in each pair, what strengths and qualities have in common (items × workers), and in each quality.

        That of the votes as they are is what Newton's method needs; it may be negative far from the maximum.
        """
        from scipy.sparse import csr_array

        votes, pairs = self.votes, self.votes.pairs
        eta, p = self.quality[votes.worker], self.first_wins[votes.pair]
        slope, turn = (
            self.skill * self.variance[votes.pair],
            (2 * p - 1) * eta * (1 - eta),
        )  # of the first item's chance
        if expected:
            scale = votes.weight / np.maximum(self.likelihood * (1 - self.likelihood), 1e-12)
            both, own, theirs = slope * turn * scale, slope**2 * scale, turn**2 * scale
        else:  # minus the second derivatives of the votes' log-likelihoods
            scale, once = votes.weight / self.likelihood**2, votes.side * votes.weight / self.likelihood
            both = slope * turn * scale - 2 * eta * (1 - eta) * self.variance[votes.pair] * once
            own = slope**2 * scale - slope * (1 - 2 * p) * once
            theirs = turn**2 * scale - turn * (1 - 2 * eta) * once
        curvature = sums(votes.pair, own, len(pairs.first)) + pairs.ties * self.variance
        of_prior = self.quality * (1 - self.quality) + 1e-9
        rows = np.concatenate([pairs.first[votes.pair], pairs.second[votes.pair]])
        table = (np.concatenate([both, -both]), (rows, np.concatenate([votes.worker, votes.worker])))
        common = csr_array(table, shape=(pairs.items, len(self.odds)))
        return curvature, common, sums(votes.worker, theirs, len(self.odds)) + of_prior

    def step(self, *, near: bool) -> tuple[_Point, float]:
        """Take one step of Fisher scoring, or near the maximum of Newton's method; return it and its length."""
        votes, pairs = self.votes, self.votes.pairs
        pull = sums(votes.pair, votes.weight * self._pull, len(pairs.first)) + pairs.ties * (0.5 - self.first_wins)
        slope = pairs.net(pull) - self.penalty[0]
        eta, toward = self.quality, votes.weight * (2 * self.chance - 1) / self.likelihood
        lean = sums(votes.worker, toward, len(eta)) * eta * (1 - eta) + (1 - eta)
        settled = (np.abs(self.odds) >= LARGEST_ODDS) & (lean * self.odds > 0)
        for expected in (False, True) if near else (True,):
            curvature, coupling, bend = self.information(expected=expected)
            diagonal, bend = pairs.both(curvature) + self.penalty[1], np.where(settled, np.inf, bend)
            if not expected and min(bend.min(), diagonal.min()) <= 0:
                continue
            step, turn = self._solved(curvature, diagonal, coupling, bend, slope, lean)
            if not expected and slope @ step + lean @ turn <= 0:
                continue
            for length in 0.5 ** np.arange(12):
                new = _Point(votes, self.ridge, self.strength + length * step, self.odds + length * turn)
                if new.objective >= self.objective - NOISE * abs(self.objective):
                    moved = new.strength - self.strength, new.quality - eta
                    return new, float(max(np.abs(each).max(initial=0.0) for each in moved))
        return self, 0.0

    def _solved(
        self, curvature: Floats, diagonal: Floats, coupling: Any, bend: Floats, slope: Floats, lean: Floats
    ) -> tuple[Floats, Floats]:
        """Solve for the step of the strengths, the qualities eliminated from the equations, and of the qualities."""
        pairs, back = self.votes.pairs, coupling.T.tocsr()

        def image_of(x: Floats) -> Floats:
            return np.asarray(diagonal * x - pairs.spread(curvature, x) - coupling @ ((back @ x) / bend))

        right = slope - coupling @ (lean / bend)
        exact = min(1e-3, float(np.abs(right).max(initial=0.0)))  # so that the last steps are exact
        step = conjugate_gradients(image_of, np.maximum(diagonal, 1e-12), right, max(exact, 1e-8))
        step, _ = damped(pairs, step)
        return step, np.clip((lean - back @ step) / bend, -2, 2)

    def meant(self) -> Pairs:
        """Count what the workers meant: Bradley–Terry on these counts has its maximum at these strengths."""
        votes, pairs = self.votes, self.votes.pairs
        meant = self.quality[votes.worker] * self.chance / self.likelihood
        for_first = votes.weight * np.where(votes.side > 0, meant, 1 - meant)
        score = sums(votes.pair, for_first, len(pairs.first)) + pairs.ties / 2
        return replace(pairs, score=score)

    def residual(self, preferences: Preferences) -> Floats:
        """Slope of every judgment's log-likelihood in the strength difference of its pair."""
        result = preferences.weights * (0.5 - self.first_wins[self.votes.pairs.of])
        result[self.votes.rows] = 0.0
        return result + sums(self.votes.rows, self.votes.weight * self._pull, len(result))

    def judged(self, preferences: Preferences, alpha: float) -> WorkerQuality:
        """Compute an interval of each quality: the posterior on a grid, given the strengths."""
        votes, workers = self.votes, len(self.odds)
        likely = (np.log(0.5 + (2 * eta - 1) * (self.chance - 0.5)) for eta in GRID)
        posterior = np.stack([sums(votes.worker, votes.weight * each, workers) for each in likely])
        _, low, high = on_grid(posterior + np.log(GRID)[:, None], alpha)
        low, high = np.minimum(low, self.quality), np.maximum(high, self.quality)  # the mode may lie beyond a quantile
        counts = np.bincount(preferences.worker if preferences.worker is not None else [], minlength=workers)
        return WorkerQuality(preferences.workers, self.quality, low, high, counts, alpha)


@dataclass(frozen=True, eq=False)
class WorkerQuality(Result):
    """How often each worker answers as the strengths imply: 1 always, ½ at random, 0 the opposite.

    Ties carry no information on quality: a worker who always answers "equal" may be careful.

    Attributes
    ----------
    workers : tuple of str
        Workers.
    quality, low, high : array of float
        Estimate for each worker, and its interval of probability 1 − ``alpha``, given the fitted strengths.
    judgments : array of int
        Number of judgments of each worker.
    alpha : float
        Level of the intervals.

    See Also
    --------
    strengths : ``strengths(preferences, "crowd-bt").workers``.
    """

    view: ClassVar = View(
        figure=Dots(
            ["worker"],
            [Dot("quality", "quality, {level} interval")],
            "{least} agrees least with the consensus order: quality {lowest}",
        )
    )

    workers: tuple[str, ...]
    quality: Floats = field(repr=False)
    low: Floats = field(repr=False)
    high: Floats = field(repr=False)
    judgments: Ints = field(repr=False)
    alpha: float = 0.05

    @property
    def verdicts(self) -> list[str]:
        """Classify each worker as good, inverted, spammer or unclear.

        good: significantly better than chance. inverted: significantly worse. spammer: the interval contains chance (½)
        and its upper limit is below ¾, so that the judgments carry little information. unclear: anything else.
        """
        return [
            "good" if low > 0.5 else "inverted" if high < 0.5 else "spammer" if high < 0.75 else "unclear"
            for low, high in zip(self.low.tolist(), self.high.tolist(), strict=True)
        ]

    def suspects(self) -> dict[str, list[str]]:
        """Name the suspected spammers and the inverted workers.

        Returns
        -------
        dict of str to list of str
            Workers by kind: ``spammer`` and ``inverted``.

        Examples
        --------
        >>> import numpy as np
        >>> quality, low, high = np.array([[0.9, 0.1], [0.8, 0.0], [1.0, 0.3]])
        >>> WorkerQuality(("ann", "bob"), quality, low, high, np.array([50, 50])).suspects()
        {'spammer': [], 'inverted': ['bob']}
        """
        named = list(zip(self.workers, self.verdicts, strict=True))
        return {kind: [worker for worker, found in named if found == kind] for kind in ("spammer", "inverted")}

    def to_polars(self) -> pl.DataFrame:
        """Tabulate the quality of each worker.

        Returns
        -------
        polars.DataFrame
            One row per worker: worker, judgments, quality, low, high, ``verdict``.

        Examples
        --------
        >>> import numpy as np
        >>> WorkerQuality(("ann",), *np.array([[0.9], [0.8], [1.0]]), np.array([50])).to_polars().rows()
        [('ann', 50, 0.9, 0.8, 1.0, 'good')]
        """
        numbers = {name: getattr(self, name) for name in ("judgments", "quality", "low", "high")}
        return pl.DataFrame({"worker": list(self.workers), **numbers, "verdict": self.verdicts})
