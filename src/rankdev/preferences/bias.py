"""Position bias: how often the item shown first wins if both are equally good."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from rankdev._common.arrays import Floats
from rankdev._common.checks import check_kind, check_number
from rankdev._common.result import Result
from rankdev._common.view import Tab, View
from rankdev.errors import Note, UsageError, counted
from rankdev.preferences.judgments import MAKE_THEM, Preferences
from rankdev.preferences.pairs import Pairs, damped, moments, sums

GRID = np.linspace(0.0025, 0.9975, 200)
NEWTON, NEAR, FLAT = 30, 0.02, 1e-4  # steps, distance of differences, curvature that counts as none
SPREADS = (np.log(0.05), np.log(20.0))  # logs of spreads that strengths may have
APART, ENOUGH = 2.5, 2  # spread of strengths from which on fewer answers to a pair are too few
KNOWN = 4  # answers to a pair from which on strengths count as known
PRIOR = (2.0, 0.1)  # shape and rate of the spread's gamma prior, which keeps it from 0 (Chung et al. 2013)


@dataclass(frozen=True, eq=False, kw_only=True)
class PositionBias(Result):
    """Probability that the item shown first wins if both are equally good, for all judges and for each; ½ is no bias.

    Attributes
    ----------
    bias, low, high : float
        Estimate for all judges, and its confidence interval.
    p : float
        p-value of no bias.
    judgments : int
        Number of judgments.
    swapped : int
        Pairs that one worker judged in both orders.
    changed : int
        Those of them where the answer followed the order.
    workers : tuple of str
        Workers.
    by_worker : dict of str to array
        Columns of :meth:`to_polars` by worker.
    alpha : float
        Intervals are at level 1 − ``alpha``.
    remarks : tuple of str
        Where the judgments tell too little about the order, or about strengths for intervals of single workers.

    See Also
    --------
    position_bias : Estimate it.
    """

    view: ClassVar = View([Tab("Does the item shown first win?")], closing=["{swaps}"])

    bias: float
    low: float
    high: float
    p: float
    judgments: int
    swapped: int
    changed: int
    workers: tuple[str, ...] = field(repr=False)
    by_worker: dict[str, npt.NDArray[Any]] = field(repr=False)
    alpha: float = 0.05
    remarks: tuple[str, ...] = ()

    made_with = ("alpha",)

    @property
    def swaps(self) -> str:
        """How many pairs were judged in both orders, and how often the order decided; empty where none were."""
        pairs = counted(self.swapped, "pair", "was")
        return f"{pairs} judged in both orders; in {self.changed:,} the answer changed with the order" * (
            self.swapped > 0
        )

    def to_polars(self) -> pl.DataFrame:
        """Tabulate the bias of all judges and of each worker.

        Returns
        -------
        polars.DataFrame
            One row for all (worker null), then one per worker: worker, judgments, first_if_equal, low, high, p.

        Examples
        --------
        >>> from rankdev.preferences import Preferences
        >>> rows = [{"a": a, "b": b, "winner": "a", "worker": "ann"} for a, b in ("xy", "yx")]
        >>> position_bias(Preferences.from_rows(rows * 20)).to_polars()["worker"].to_list()
        [None, 'ann']
        """
        everybody = {"judgments": self.judgments, "first_if_equal": self.bias, "low": self.low, "high": self.high}
        rows = {name: [value, *self.by_worker[name]] for name, value in {**everybody, "p": self.p}.items()}
        return pl.DataFrame({"worker": [None, *self.workers], **rows}, schema_overrides={"worker": pl.String})


def position_bias(preferences: Preferences, *, alpha: float = 0.05) -> PositionBias:
    """Estimate how often the item shown first wins if both are equally good, for all judges and for each.

    Strengths are normal, and the order effect is the most probable one whatever they are, so that better items shown
    first are no bias, nor are strengths that follow a few answers. Answers of one worker to one pair, in either order,
    count as one cluster for the interval. A worker's interval is the posterior under a uniform prior, given the
    strengths.

    Parameters
    ----------
    preferences : Preferences
        Judgments that record which item was shown first.
    alpha : float, default 0.05
        Intervals are at level 1 − ``alpha``.

    Returns
    -------
    PositionBias
        Probabilities with intervals and p-values.

    Examples
    --------
    >>> from rankdev.preferences import Preferences
    >>> rows = [{"a": "x", "b": "y", "winner": "a"}, {"a": "y", "b": "x", "winner": "a"}] * 20
    >>> position_bias(Preferences.from_rows(rows)).bias > 0.95
    True
    """
    from scipy.special import expit, ndtr, ndtri

    check_order(preferences)
    alpha = check_number("alpha", alpha, 0, 1)
    unweighted = replace(preferences, weight=None)
    found, own_error, spread = _most_probable(unweighted)
    error = max(own_error, _clustered_error(unweighted, found))
    wide = float(ndtri(1 - alpha / 2)) * error
    p = 2 * float(ndtr(-abs(found.effect) / error)) if error > 0 else 1.0
    swapped, changed = _swapped(unweighted)
    return PositionBias(
        bias=float(expit(found.effect)),
        low=float(expit(found.effect - wide)),
        high=float(expit(found.effect + wide)),
        p=p,
        judgments=len(unweighted),
        swapped=swapped,
        changed=changed,
        workers=unweighted.workers,
        by_worker=_by_worker(unweighted, found, alpha),
        alpha=alpha,
        remarks=tuple(_remarks(spread, len(unweighted) / max(len(unweighted.pairs.first), 1), len(unweighted.workers))),
    )


def _remarks(spread: float, answers: float, workers: int) -> Iterator[Note]:
    """Warn where strengths explain almost every answer, and where those of few answers are taken as known."""
    if spread >= APART and answers < ENOUGH:
        yield Note("items-far-apart", spread=spread, answers=answers)
    if workers and answers < KNOWN:
        yield Note("narrow-intervals", answers=answers)


def _residuals(preferences: Preferences, found: OrderEffect, effect: float) -> tuple[Floats, Floats]:
    """Compute each judgment's residual for the item shown first, and its variance."""
    pairs = found.pairs
    mean, variance = moments(found.strength[pairs.first] - found.strength[pairs.second] + effect)
    return score_of_first(preferences) - mean[pairs.of], variance[pairs.of]


def _most_probable(preferences: Preferences) -> tuple[OrderEffect, float, float]:
    """Maximise the probability of the answers over the order effect, which has an error, and the spread of strengths.

    Strengths fitted together with the effect would follow every answer, and the effect with them: with one answer to a
    pair, an effect of .73 is estimated as .84. Here they are integrated out (Laplace's method). Newton's method, with
    derivatives by differences.
    """
    pairs = oriented(preferences)
    integral = _Integral(pairs)
    at = np.zeros(2)  # the effect, and the log of the spread
    for _ in range(NEWTON):
        slope, bend = _derivatives(integral, at)
        sizes, directions = np.linalg.eigh(-bend)
        step = directions @ ((directions.T @ slope) / np.maximum(np.abs(sizes), FLAT))
        step *= min(1.0, 1.0 / max(float(np.abs(step).max()), 1e-12))
        at += step
        at[1] = np.clip(at[1], *SPREADS)
        if float(np.abs(step).max()) < 1e-3:
            break
    variance = np.linalg.inv(-bend) if sizes[0] > FLAT else np.diag(1 / np.maximum(np.diag(-bend), FLAT))
    integral.log(*at)
    return integral.order_effect(float(at[0])), float(np.sqrt(variance[0, 0])), float(np.exp(at[1]))


def _derivatives(integral: _Integral, at: Floats) -> tuple[Floats, Floats]:
    """Return slope and curvature of the log integral, by central differences."""
    moves = NEAR * np.eye(2)
    middle = integral.log(*at)
    up, down = (np.array([integral.log(*(at + sign * move)) for move in moves]) for sign in (1, -1))
    bend = np.diag((up - 2 * middle + down) / NEAR**2)
    corners = integral.log(*(at + NEAR)) + integral.log(*(at - NEAR))
    bend[0, 1] = bend[1, 0] = (corners - up.sum() - down.sum() + 2 * middle) / (2 * NEAR**2)
    return (up - down) / (2 * NEAR), bend


class _Integral:
    """The probability of the answers under normal strengths, as a function of the order effect and their spread."""

    def __init__(self, pairs: Pairs) -> None:
        self.pairs, self.strength = pairs, np.zeros(pairs.items)

    def log(self, effect: float, log_spread: float) -> float:
        """Return the log of the integral over strengths, with the prior of the spread; keep the most probable ones."""
        pairs, ridge = self.pairs, np.exp(-2 * log_spread)
        for _ in range(100):
            at = self.strength[pairs.first] - self.strength[pairs.second] + effect
            mean, variance = moments(at)
            rest = pairs.score - pairs.count * mean
            slope = pairs.net(rest) - ridge * self.strength
            self.factors = factors = self._factors(pairs.count * variance, ridge)
            step, change = damped(pairs, factors.solve(slope))
            if change < 1e-7:
                break
            self.strength = self.strength + step
        fits = (pairs.score * at - pairs.count * np.logaddexp(0.0, at)).sum() - ridge / 2 * (self.strength**2).sum()
        volume = pairs.items * log_spread + 0.5 * np.log(np.abs(factors.U.diagonal())).sum()
        shape, rate = PRIOR
        return float(fits - volume + (shape - 1) * log_spread - rate * np.exp(log_spread))

    def order_effect(self, effect: float) -> OrderEffect:
        """Describe an order effect, and the strengths that were most probable with it."""
        pairs = self.pairs
        _, variance = moments(self.strength[pairs.first] - self.strength[pairs.second] + effect)
        mixed = pairs.net(pairs.count * variance)
        moved = self.factors.solve(mixed)
        information = float((pairs.count * variance).sum() - mixed @ moved)
        leverage = 1.0 - moved[pairs.first] + moved[pairs.second]
        return OrderEffect(pairs, self.strength, effect, max(information, 0.0), leverage)

    def _factors(self, curvature: Floats, ridge: float) -> Any:
        """Factorise the curvature of the strengths."""
        from scipy.sparse import coo_array
        from scipy.sparse.linalg import splu

        first, second, n = self.pairs.first, self.pairs.second, self.pairs.items
        own = np.arange(n)
        diagonal = self.pairs.both(curvature) + ridge
        rows, columns = np.concatenate([own, first, second]), np.concatenate([own, second, first])
        matrix = coo_array((np.concatenate([diagonal, -curvature, -curvature]), (rows, columns)), (n, n)).tocsc()
        unscaled = {"SymmetricMode": True, "Equil": False}  # so that the factors' diagonal has the determinant
        return splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=unscaled)


def _clustered_error(preferences: Preferences, found: OrderEffect) -> float:
    """Return the sandwich's standard error, clustered by worker and pair: answers to one pair are alike."""
    rest, _ = _residuals(preferences, found, found.effect)
    pushes = rest * found.leverage[found.pairs.of]
    if preferences.worker is not None:
        keys = preferences.worker.astype(np.int64) * len(preferences.pairs.first) + preferences.pairs.of
        group = np.unique(keys, return_inverse=True)[1]
        pushes = sums(group, pushes, int(group.max()) + 1)
    return float(np.sqrt((pushes**2).sum())) / max(found.information, 1e-12)


def _swapped(preferences: Preferences) -> tuple[int, int]:
    """Count the pairs judged in both orders by one worker (or all, if unknown), and where the order decided."""
    first = check_order(preferences)
    worker = preferences.worker if preferences.worker is not None else np.zeros(len(preferences), np.int32)
    key = worker.astype(np.int64) * len(preferences.pairs.first) + preferences.pairs.of
    group = np.unique(key, return_inverse=True)[1]
    low_first = first == (preferences.winner < preferences.loser)
    for_low = np.where(preferences.tie, 0.0, np.where(preferences.winner < preferences.loser, 1.0, -1.0))
    size = int(group.max(initial=-1)) + 1
    counts = [np.bincount(group[side], minlength=size) for side in (low_first, ~low_first)]
    leads = [np.bincount(group[side], for_low[side], minlength=size) for side in (low_first, ~low_first)]
    both = (counts[0] > 0) & (counts[1] > 0)
    return int(both.sum()), int((both & (np.sign(leads[0]) != np.sign(leads[1]))).sum())


def _by_worker(preferences: Preferences, found: OrderEffect, alpha: float) -> dict[str, npt.NDArray[Any]]:
    from scipy.special import logit, ndtr

    worker, workers = preferences.worker, len(preferences.workers)
    if worker is None:
        return dict.fromkeys(("judgments", "first_if_equal", "low", "high", "p"), np.zeros(0))
    pairs, score = found.pairs, score_of_first(preferences)
    d = (found.strength[pairs.first] - found.strength[pairs.second])[pairs.of]
    likelihood = np.empty((len(GRID), workers))
    for k, effect in enumerate(logit(GRID)):
        at = d + effect
        likelihood[k] = sums(worker, score * at - np.logaddexp(0.0, at), workers)
    mass = np.exp(likelihood - likelihood.max(axis=0))
    mass /= mass.sum(axis=0)
    below = np.cumsum(mass, axis=0)
    low, high = (GRID[np.argmax(below >= tail, axis=0)] for tail in (alpha / 2, 1 - alpha / 2))
    rest, variance = _residuals(preferences, found, 0.0)
    pushed, known = sums(worker, rest, workers), sums(worker, variance, workers)
    return {
        "judgments": np.bincount(worker, minlength=workers),
        "first_if_equal": GRID @ mass,
        "low": low,
        "high": high,
        "p": 2 * ndtr(-np.abs(pushed) / np.sqrt(np.maximum(known, 1e-300))),
    }


@dataclass(frozen=True, eq=False)
class OrderEffect:
    """Strengths and the order effect β fitted together: the first wins with odds e^(θ_first − θ_second + β)."""

    pairs: Pairs  # oriented: first is the item shown first; the two orders of a pair are two
    strength: Floats
    effect: float
    information: float
    leverage: Floats  # of each oriented pair: how much a judgment informs about β rather than strengths


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
