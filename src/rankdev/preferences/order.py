"""How surely one item of a query is better than another, and whether its judgments show an order at all.

Beforehand coin flips and an order are equally likely; in an order the strengths of Bradley and Terry are normal with a
standard deviation of .5, 1, 2 or 4, equally likely. Where several workers judged, each may have tastes of their own or
not. Laplace's approximation weighs these models by how probable they make the judgments. As Bayes factors do, it does
not depend on how pairs were chosen or when judging stopped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rankdev._common.arrays import Bools, Floats, Ints
from rankdev.preferences.pairs import cells_of, conjugate_gradients, gains, sums

if TYPE_CHECKING:
    from rankdev.preferences.strengths import Strengths

SPREADS = (0.5, 1.0, 2.0, 4.0)  # a judge is right in 63, 73, 83 or 91% of pairs
TASTE = 1.5  # standard deviation of what a worker likes more than others do
DIRECT_UP_TO = 300  # strengths and tastes of a query; of more, Newton's steps are found by conjugate gradients
LEAST = 0.005  # weight of a model: those below change no probability by as much
SAME = 7  # decimals in which strengths are equal


class Hypothesis(NamedTuple):
    """A model of a query's judgments: log weight, most probable strengths, and their information if it counts."""

    ordered: bool
    evidence: float
    strength: Floats
    information: Factor | None


@dataclass(frozen=True, eq=False)
class QueryOrder:
    """What a query's judgments, one row for each pair and worker, say about the order of its items.

    ``wins`` of the ``total`` judgments in a row are for the first item; a tie is half a win.
    """

    items: int
    first: Ints
    second: Ints
    worker: Ints
    wins: Floats
    total: Floats

    @cached_property
    def _models(self) -> list[Hypothesis]:
        models: list[Hypothesis] = []
        own = Tastes.of(self)
        for tastes in [None] if own is None else [None, own]:
            flips = -self.total.sum() * np.log(2) if tastes is None else self._fit(None, tastes)[2]
            models.append(Hypothesis(False, flips, np.zeros(self.items), None))
            for spread in SPREADS:
                at, information, evidence = self._fit(spread, tastes)
                models.append(Hypothesis(True, evidence - np.log(len(SPREADS)), at, information))
                least = max(model.evidence for model in models if model.ordered) + np.log(LEAST)
                # information is large, so that only what counts is kept
                models = [each if each.evidence > least else each._replace(information=None) for each in models]
        return models

    @cached_property
    def _weight(self) -> Floats:
        weight = np.exp([model.evidence - max(model.evidence for model in self._models) for model in self._models])
        return np.asarray(weight / weight.sum())

    @cached_property
    def coin_flips(self) -> float:
        """Probability that the judgments are coin flips."""
        return float(sum(weight for weight, model in zip(self._weight, self._models, strict=True) if not model.ordered))

    def _mixture(self) -> Iterator[tuple[float, Floats, Floats]]:
        """Yield weights, means and covariances of the strengths one by one: of many items they are large."""
        evidence = [model.evidence for model in self._models if model.information is not None]
        whole = np.exp(np.array(evidence) - max(evidence)).sum()
        for model in self._models:
            weight = np.exp(model.evidence - max(evidence)) / whole
            if model.information is not None and weight > LEAST:
                yield weight, model.strength, model.information.inverse(self.items)

    @cached_property
    def parts(self) -> tuple[Floats, Floats, Floats]:
        """Weights, means and covariances of the strengths, if there is an order: a mixture of normal distributions."""
        weight, mean, covariance = (np.array(part) for part in zip(*self._mixture(), strict=True))
        return weight / weight.sum(), mean, covariance

    @property
    def strength(self) -> Floats:
        """Expected strength of each item."""
        weight, mean, _ = self.parts
        return np.asarray(weight @ mean)

    @cached_property
    def better(self) -> Floats:
        """Probability that the row's item is better than the column's, if there is an order."""
        from scipy.special import ndtr

        found, whole = np.zeros((self.items, self.items)), 0.0
        for weight, mean, covariance in self._mixture():
            variance, whole = np.diag(covariance), whole + weight
            for start in range(0, self.items, DIRECT_UP_TO):
                some = slice(start, start + DIRECT_UP_TO)
                spread = np.sqrt(np.maximum(variance[some, None] + variance - 2 * covariance[some], 1e-12))
                found[some] += weight * ndtr(np.round(mean[some, None] - mean, SAME) / spread)
        found /= whole
        return found

    def _fit(self, spread: float | None, tastes: Tastes | None) -> tuple[Floats, Factor, float]:
        """Most probable strengths (none without a spread), their information, and the log evidence."""
        from scipy.special import expit

        parts, precisions = [], []  # places of what counts for the first item, against it, for it …
        if spread is not None:
            parts.append(np.stack([self.first, self.second]))
            precisions.append(np.full(self.items, spread**-2))
        if tastes is not None:
            parts.append(tastes.own + (0 if spread is None else self.items))
            precisions.append(np.full(len(tastes.items), TASTE**-2))
        columns, precision = np.concatenate(parts), np.concatenate(precisions)
        size, sign = len(precision), np.array([1.0, -1.0] * len(parts))[:, None]

        def lead(x: Floats) -> Floats:
            return np.asarray((sign * x[columns]).sum(axis=0))

        def pushed(values: Floats) -> Floats:
            return sums(columns.ravel(), (sign * values).ravel(), size)

        def iterated(weight: Floats, pull: Floats) -> Floats:
            diagonal = sums(columns.ravel(), np.tile(weight, len(columns)), size) + precision
            return conjugate_gradients(lambda x: pushed(weight * lead(x)) + precision * x, diagonal, pull, 1e-4)

        t, factor = np.zeros(size), None
        for _ in range(100):
            chance = expit(lead(t))
            pull, weight = pushed(self.wins - self.total * chance) - precision * t, self.total * chance * (1 - chance)
            if size <= DIRECT_UP_TO:
                factor = Factor.of(_information(columns, sign, weight, precision))
            step = iterated(weight, pull) if factor is None else factor.solve(pull)
            largest = float(np.abs(step).max(initial=0.0))
            t += step * min(1.0, 2 / max(largest, 1e-9))
            if largest < 1e-6:
                break
        if factor is None:
            factor = self._without_tastes(spread, tastes, weight)
        fit = -(self.wins * np.logaddexp(0, -lead(t)) + (self.total - self.wins) * np.logaddexp(0, lead(t))).sum()
        prior = (np.log(precision).sum() - precision @ (t * t)) / 2
        return t[: self.items], factor, float(fit + prior - factor.log_size / 2)

    def _without_tastes(self, spread: float | None, tastes: Tastes | None, weight: Floats) -> Factor:
        """Factorise the information about strengths, with the tastes integrated out worker by worker.

        Where a worker's judgments have the information D, and tastes the precision c, they add D − D (D + c)⁻¹ D =
        c − c² (D + c)⁻¹ to what is known of the strengths.
        """
        pair, sign = np.stack([self.first, self.second]), np.array([[1.0], [-1.0]])
        precision = np.full(self.items, 0.0 if spread is None else spread**-2)
        if tastes is None:
            return Factor.of(_information(pair, sign, weight, precision))
        matrix, log_size, c = np.diag(precision), 0.0, TASTE**-2
        for rows, places in tastes.workers:
            items, own = tastes.items[places], tastes.own[:, rows] - places.start
            if len(items) > DIRECT_UP_TO:
                size, inverse = _eliminated(own, weight[rows], c, tastes.apart[places], inverted=spread is not None)
            else:
                factor = Factor.of(_information(own, sign, weight[rows], np.full(len(items), c)))
                size, inverse = factor.log_size, factor.inverse(len(items)) if spread is not None else None
            log_size += size
            if inverse is not None:
                matrix[np.ix_(items, items)] -= c * c * inverse
                matrix[items, items] += c
        if spread is None:
            return Factor(matrix, log_size)
        whole = Factor.of(matrix)
        return Factor(whole.lower, whole.log_size + log_size)


class Tastes(NamedTuple):
    """What a worker may like more than others do: a place for each worker and item seen, worker by worker."""

    own: Ints  # places of the two items of each judgment
    items: Ints  # item of each place
    workers: list[tuple[Ints, slice]]  # judgments and places of each worker
    apart: Bools  # many places of which no two were compared

    @classmethod
    def of(cls, order: QueryOrder) -> Tastes | None:
        """Number what each worker saw; nothing where nobody saw an item twice, as no taste could show."""
        if not len(order.worker) or (order.worker == order.worker[0]).all():
            return None
        pair = np.stack([order.first, order.second])
        seen, own = np.unique(order.worker * order.items + pair, return_inverse=True)
        if np.bincount(own.ravel()).max() == 1:
            return None
        ids, starts = np.unique(seen // order.items, return_index=True)
        places = [slice(*ends) for ends in pairwise([*starts.tolist(), len(seen)])]
        workers = [(np.flatnonzero(order.worker == each), place) for each, place in zip(ids, places, strict=True)]
        own = own.reshape(pair.shape)
        return cls(own, seen % order.items, workers, _apart(own, len(seen)))


@dataclass(frozen=True, eq=False)
class Factor:
    """A symmetric matrix as its Cholesky factor, and the log of its determinant."""

    lower: Floats
    log_size: float

    @classmethod
    def of(cls, matrix: Floats) -> Factor:
        """Factorise a matrix, which is overwritten."""
        from scipy.linalg.lapack import dpotrf

        lower, _ = dpotrf(matrix.T, lower=1, overwrite_a=1)  # symmetric: the transpose is in LAPACK's order
        return cls(lower, 2 * float(np.log(np.diag(lower)).sum()))

    def solve(self, right: Floats) -> Floats:
        """Solve equations of the matrix."""
        from scipy.linalg.lapack import dpotrs

        return np.asarray(dpotrs(self.lower, right, lower=1)[0])

    def inverse(self, rows: int) -> Floats:
        """Return the first rows and columns of the inverse."""
        from scipy.linalg.lapack import dpotri

        size = len(self.lower)
        if size <= DIRECT_UP_TO:  # dpotri would start threads, which wait for each other
            return self.solve(np.eye(size)[:, :rows])[:rows]
        found = np.tril(dpotri(self.lower, lower=1)[0])[:rows, :rows]
        return np.asarray(found + np.tril(found, -1).T)


def _information(columns: Ints, sign: Floats, weight: Floats, precision: Floats) -> Floats:
    """Information of judgments about what they count for and against, and of what is known beforehand."""
    size = len(precision)
    place, signs = (columns[:, None] * size + columns).ravel(), (sign * sign.T)[..., None]
    matrix = sums(place, (signs * weight).ravel(), size * size).reshape(size, size)
    matrix[np.diag_indices(size)] += precision
    return matrix


def _apart(pair: Ints, size: int) -> Bools:
    """Choose many places of which no two were compared: again and again those compared less than their opponents."""
    rank = np.argsort(np.argsort(np.bincount(pair.ravel(), minlength=size), kind="stable"))
    chosen, left = np.zeros(size, bool), np.ones(size, bool)
    while left.any():
        first, second = pair[:, left[pair].all(axis=0)]
        least = left.copy()
        least[np.where(rank[first] < rank[second], second, first)] = False
        chosen |= least
        left &= ~least
        left[pair[::-1][chosen[pair]]] = False
    return chosen


def _eliminated(pair: Ints, weight: Floats, c: float, apart: Bools, *, inverted: bool) -> tuple[float, Floats | None]:
    """Log of the determinant of D + c, where judgments have the information D, and its inverse if wanted.

    Places of which no two were compared have a diagonal block A, with B beside it. They go first, so that only the
    block R of the other places is factorised: as R − Bᵀ A⁻¹ B.
    """
    from scipy.sparse import csr_array

    size, others = len(apart), np.flatnonzero(~apart)
    diagonal = sums(pair.ravel(), np.tile(weight, 2), size) + c
    values = np.concatenate([-weight, -weight, diagonal])
    place = np.arange(size)
    whole = csr_array((values, (np.concatenate([*pair, place]), np.concatenate([*pair[::-1], place]))))
    alone = np.where(apart, 1 / diagonal, 0.0)
    rest = csr_array((np.ones(len(others)), (others, np.arange(len(others)))), shape=(size, len(others)))
    rest -= (whole @ rest).multiply(alone[:, None])  # I and −A⁻¹ B
    factor = Factor.of((whole[others] @ rest).toarray())
    log_size = factor.log_size + float(np.log(diagonal[apart]).sum())
    if not inverted:
        return log_size, None
    inverse = rest @ (rest @ factor.inverse(len(others))).T
    inverse[place, place] += alone
    return log_size, inverse


def orders(fit: Strengths) -> Iterator[QueryOrder]:
    """Yield what the judgments of each query say about its order.

    Bradley–Terry whatever the method, but with answers turned of workers whom Crowd-BT found to answer the opposite.
    """
    seen = fit.inference_fit
    judged, pairs = seen.preferences, seen.preferences.pairs
    workers = max(1, len(judged.workers))
    cells, row = np.unique(cells_of(judged), return_inverse=True)
    pair, total = cells // workers, sums(row, judged.weights, len(cells))
    wins = np.clip(sums(row, gains(judged, judged.winner < judged.loser) * judged.weights, len(cells)), 0, total)
    first, second = pairs.first[pair].astype(np.int64), pairs.second[pair].astype(np.int64)
    bounds = np.searchsorted(first, pairs.starts)
    for (start, stop), (low, high) in zip(pairwise(pairs.starts.tolist()), pairwise(bounds.tolist()), strict=True):
        mine = slice(low, high)
        yield QueryOrder(
            stop - start, first[mine] - start, second[mine] - start, (cells % workers)[mine], wins[mine], total[mine]
        )


def joined(better: Floats, starts: Ints, probability: float) -> tuple[list[int], list[float]]:
    """Join neighbouring tiers, the least surely separated first; return starts, and the probability at each border.

    ``better`` is in the order of the items, and tiers start at ``starts`` at first. The probability at a border is that
    an item of the upper tier is better than one of the lower, on average over their pairs.
    """
    n = len(better)
    total = np.zeros((n + 1, n + 1))
    total[1:, 1:] = better.cumsum(axis=0).cumsum(axis=1)

    def border(i: int, j: int, k: int) -> float:
        whole = total[j, k] - total[i, k] - total[j, j] + total[i, j]
        return round(float(whole) / ((j - i) * (k - j)), 9)

    ends = [*starts.tolist(), n]
    heights = [border(*ends[k : k + 3]) for k in range(len(ends) - 2)]
    while heights and min(heights) < probability:
        k = heights.index(min(heights))
        del ends[k + 1], heights[k]
        for q in (k - 1, k):
            if 0 <= q < len(heights):
                heights[q] = border(*ends[q : q + 3])
    return ends[:-1], heights
