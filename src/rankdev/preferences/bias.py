"""Position bias: how often the item shown first wins if both are equally good."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl

from rankdev._common.arrays import Bools, Floats
from rankdev._common.checks import check_kind, check_number
from rankdev._common.result import Result
from rankdev._common.view import Tab, View
from rankdev.errors import Note, UsageError, counted
from rankdev.preferences.judgments import MAKE_THEM, Preferences
from rankdev.preferences.pairs import Pairs, cells_of, count_pairs, damped, gains, moments, sums
from rankdev.preferences.uncertainty import GRID, derivatives, on_grid

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
    workers : polars.DataFrame
        Rows of :meth:`to_polars` by worker.
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
    workers: pl.DataFrame = field(repr=False)
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
        everybody = (None, self.judgments, self.bias, self.low, self.high, self.p)
        return pl.concat([pl.DataFrame([everybody], schema=self.workers.schema, orient="row"), self.workers])


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

    shown_first(preferences)
    alpha = check_number("alpha", alpha, 0, 1)
    unweighted = replace(preferences, weight=None)
    found, effect, own_error, spread = _most_probable(unweighted)
    error = max(own_error, _clustered_error(unweighted, found, effect))
    wide = float(ndtri(1 - alpha / 2)) * error
    p = 2 * float(ndtr(-abs(effect) / error)) if error > 0 else 1.0
    swapped, changed = _swapped(unweighted)
    return PositionBias(
        bias=float(expit(effect)),
        low=float(expit(effect - wide)),
        high=float(expit(effect + wide)),
        p=p,
        judgments=len(unweighted),
        swapped=swapped,
        changed=changed,
        workers=_by_worker(unweighted, found, alpha),
        alpha=alpha,
        remarks=tuple(_remarks(spread, len(unweighted) / max(len(unweighted.pairs.first), 1), len(unweighted.workers))),
    )


def _remarks(spread: float, answers: float, workers: int) -> Iterator[Note]:
    """Warn where strengths explain almost every answer, and where those of few answers are taken as known."""
    if spread >= APART and answers < ENOUGH:
        yield Note("items-far-apart", spread=spread, answers=answers)
    if workers and answers < KNOWN:
        yield Note("narrow-intervals", answers=answers)


def _most_probable(preferences: Preferences) -> tuple[_Integral, float, float, float]:
    """Maximise the probability of the answers over the order effect, which has an error, and the spread of strengths.

    Strengths fitted together with the effect would follow every answer, and the effect with them: with one answer to a
    pair, an effect of .73 is estimated as .84. Here they are integrated out (Laplace's method). Newton's method, with
    derivatives by differences.
    """
    integral = _Integral(count_pairs(preferences, shown_first(preferences)))
    at = np.zeros(2)  # the effect, and the log of the spread
    for _ in range(NEWTON):
        slope, bend = derivatives(lambda where: integral.log(*where), at, NEAR)
        sizes, directions = np.linalg.eigh(-bend)
        step = directions @ ((directions.T @ slope) / np.maximum(np.abs(sizes), FLAT))
        step *= min(1.0, 1.0 / max(float(np.abs(step).max()), 1e-12))
        at += step
        at[1] = np.clip(at[1], *SPREADS)
        if float(np.abs(step).max()) < 1e-3:
            break
    variance = np.linalg.inv(-bend) if sizes[0] > FLAT else np.diag(1 / np.maximum(np.diag(-bend), FLAT))
    integral.log(*at)
    return integral, float(at[0]), float(np.sqrt(variance[0, 0])), float(np.exp(at[1]))


class _Integral:
    """The probability of the answers under normal strengths, as a function of the order effect β and their spread.

    The first wins with odds e^(θ_first − θ_second + β). ``pairs`` are oriented: first is the item shown first, and the
    two orders of a pair are two; ``strength`` are the most probable ones.
    """

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

    def residuals(self, preferences: Preferences, effect: float) -> tuple[Floats, Floats]:
        """Compute each judgment's residual for the item shown first, and its variance."""
        pairs = self.pairs
        mean, variance = moments(self.strength[pairs.first] - self.strength[pairs.second] + effect)
        return gains(preferences, shown_first(preferences)) - mean[pairs.of], variance[pairs.of]

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


def _clustered_error(preferences: Preferences, found: _Integral, effect: float) -> float:
    """Return the sandwich's standard error, clustered by worker and pair: answers to one pair are alike."""
    pairs = found.pairs
    rest, variance = found.residuals(preferences, effect)
    known = sums(pairs.of, variance, len(pairs.first))
    mixed = pairs.net(known)
    moved = found.factors.solve(mixed)
    # how much each judgment informs about the effect rather than strengths
    pushes = rest * (1.0 - moved[pairs.first] + moved[pairs.second])[pairs.of]
    if preferences.worker is not None:
        group = np.unique(cells_of(preferences), return_inverse=True)[1]
        pushes = sums(group, pushes, int(group.max()) + 1)
    return float(np.sqrt((pushes**2).sum())) / max(float(known.sum() - mixed @ moved), 1e-12)


def _swapped(preferences: Preferences) -> tuple[int, int]:
    """Count the pairs judged in both orders by one worker (or all, if unknown), and where the order decided."""
    ahead = preferences.winner < preferences.loser
    side = shown_first(preferences) == ahead
    group = np.unique(cells_of(preferences), return_inverse=True)[1]
    lead = np.where(preferences.tie, 0, np.where(ahead, 1, -1))
    size = int(group.max(initial=-1)) + 1
    both = np.logical_and(*(np.bincount(group[where], minlength=size) > 0 for where in (side, ~side)))
    leads = [np.sign(np.bincount(group[where], lead[where], minlength=size)) for where in (side, ~side)]
    return int(both.sum()), int((both & (leads[0] != leads[1])).sum())


def _by_worker(preferences: Preferences, found: _Integral, alpha: float) -> pl.DataFrame:
    from scipy.special import logit, ndtr

    worker, workers = preferences.worker, len(preferences.workers)
    if worker is None:
        numbers = dict.fromkeys(("first_if_equal", "low", "high", "p"), pl.Float64)
        return pl.DataFrame(schema={"worker": pl.String, "judgments": pl.Int64, **numbers})
    pairs, score = found.pairs, gains(preferences, shown_first(preferences))
    d = (found.strength[pairs.first] - found.strength[pairs.second])[pairs.of]
    leads = (d + effect for effect in logit(GRID))
    likelihood = [sums(worker, score * lead - np.logaddexp(0.0, lead), workers) for lead in leads]
    mass, low, high = on_grid(np.stack(likelihood), alpha)
    rest, variance = found.residuals(preferences, 0.0)
    pushed, known = sums(worker, rest, workers), sums(worker, variance, workers)
    columns = {
        "worker": preferences.workers,
        "judgments": np.bincount(worker, minlength=workers),
        "first_if_equal": GRID @ mass,
        "low": low,
        "high": high,
        "p": 2 * ndtr(-np.abs(pushed) / np.sqrt(np.maximum(known, 1e-300))),
    }
    return pl.DataFrame(columns)


def shown_first(preferences: Preferences) -> Bools:
    """Return whether each winner was shown first; reject judgments that do not record it."""
    check_kind("preferences", preferences, Preferences, MAKE_THEM)
    if preferences.winner_first is None:
        raise UsageError("order-unknown")
    return preferences.winner_first
