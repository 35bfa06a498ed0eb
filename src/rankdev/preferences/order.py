"""How surely one item of a query is better than another, and whether its judgments show an order at all.

Beforehand coin flips and an order are equally likely; in an order the strengths of Bradley and Terry are normal with a
standard deviation of .5, 1, 2 or 4, equally likely. Where several workers judged, each may have tastes of their own or
not. Laplace's approximation weighs these models by how probable they make the judgments. As Bayes factors do, it does
not depend on how pairs were chosen or when judging stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rankdev._common.arrays import Floats, Ints
from rankdev.preferences.pairs import gains, sums

if TYPE_CHECKING:
    from rankdev.preferences.strengths import Strengths

SPREADS = (0.5, 1.0, 2.0, 4.0)  # a judge is right in 63, 73, 83 or 91% of pairs
TASTE = 1.5  # standard deviation of what a worker likes more than others do
DENSE_UP_TO = 300  # strengths and tastes of a query
LEAST = 0.005  # weight of a model: those below change no probability by as much
SAME = 7  # decimals in which strengths are equal


@dataclass(frozen=True, eq=False)
class Order:
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
    def _models(self) -> list[tuple[float, Floats, Factor | None]]:
        """Log weight, strengths and factorised information of each model; None where there is no order."""
        shared, n = np.stack([self.first, self.second]), self.items
        designs = [(shared, 0)]
        if len(self.worker) and (self.worker != self.worker[0]).any():  # a column for each worker and item
            seen, own = np.unique(self.worker * n + shared, return_inverse=True)
            if np.bincount(own.ravel()).max() > 1:
                designs.append((own.reshape(shared.shape), len(seen)))
        models: list[tuple[float, Floats, Factor | None]] = []
        for columns, tastes in designs:
            precision = np.full(tastes, TASTE**-2)
            flips = self._fit(columns, precision)[2] if tastes else -self.total.sum() * np.log(2)
            models.append((flips, np.zeros(n), None))
            both = np.concatenate([shared, columns + n]) if tastes else shared
            for spread in SPREADS:
                strength, information, evidence = self._fit(both, np.append(np.full(n, spread**-2), precision))
                models.append((evidence - np.log(len(SPREADS)), strength[:n], information))
        return models

    @cached_property
    def _weight(self) -> Floats:
        weight = np.exp([model[0] - max(model[0] for model in self._models) for model in self._models])
        return np.asarray(weight / weight.sum())

    @cached_property
    def coin_flips(self) -> float:
        """Probability that the judgments are coin flips."""
        return float(sum(weight for weight, model in zip(self._weight, self._models, strict=True) if model[2] is None))

    @cached_property
    def parts(self) -> tuple[Floats, Floats, Floats]:
        """Weights, means and covariances of the strengths, if there is an order: a mixture of normal distributions."""
        found, n = [], self.items
        for weight, (_, strength, information) in zip(self._weight, self._models, strict=True):
            if information is not None and weight > LEAST * (1 - self.coin_flips):
                found.append((weight, strength, information.solve(np.eye(information.size)[:, :n])[:n]))
        weight, mean, covariance = (np.array(part) for part in zip(*found, strict=True))
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

        found = np.zeros((self.items, self.items))
        for weight, mean, covariance in zip(*self.parts, strict=True):
            variance = np.diag(covariance)
            spread = np.sqrt(np.maximum(variance[:, None] + variance - 2 * covariance, 1e-12))
            found += weight * ndtr(np.round(mean[:, None] - mean, SAME) / spread)
        return found

    def _fit(self, columns: Ints, precision: Floats) -> tuple[Floats, Factor, float]:
        """Most probable strengths and tastes, their information, and the log evidence.

        ``columns`` are the places of what counts for the first item, against it, for it …
        """
        from scipy.special import expit

        size, sign = len(precision), np.array([1.0, -1.0] * (len(columns) // 2))[:, None]
        place, signs = (columns[:, None] * size + columns).ravel(), (sign * sign.T)[..., None]
        t = np.zeros(size)
        for _ in range(100):
            chance = expit((sign * t[columns]).sum(axis=0))
            information = _factorised(place, (signs * (self.total * chance * (1 - chance))).ravel(), precision)
            pull = sums(columns.ravel(), (sign * (self.wins - self.total * chance)).ravel(), size)
            step = information.solve(pull - precision * t)
            largest = float(np.abs(step).max(initial=0.0))
            t += step * min(1.0, 2 / max(largest, 1e-9))
            if largest < 1e-6:
                break
        lead = (sign * t[columns]).sum(axis=0)
        fit = -(self.wins * np.logaddexp(0, -lead) + (self.total - self.wins) * np.logaddexp(0, lead)).sum()
        prior = (np.log(precision).sum() - precision @ (t * t)) / 2
        return t, information, float(fit + prior - information.log_size / 2)


class Factor(NamedTuple):
    """A factorised matrix: what solves its equations, the logarithm of its determinant, and its size."""

    solve: Callable[[Floats], Floats]
    log_size: float
    size: int


def _factorised(place: Ints, values: Floats, diagonal: Floats) -> Factor:
    """Factorise a symmetric matrix: the sums of ``values`` by ``place`` (row × size + column), and a diagonal."""
    size = len(diagonal)
    if size <= DENSE_UP_TO:
        from scipy.linalg.lapack import dpotrf, dpotrs

        matrix = sums(place, values, size * size).reshape(size, size)
        matrix[np.diag_indices(size)] += diagonal
        lower, _ = dpotrf(matrix, lower=1)
        return Factor(lambda right: dpotrs(lower, right, lower=1)[0], 2 * float(np.log(np.diag(lower)).sum()), size)
    from scipy.sparse import coo_array, diags_array
    from scipy.sparse.linalg import splu

    sparse = coo_array((values, (place // size, place % size)), shape=(size, size)) + diags_array(diagonal)
    found = splu(sparse.tocsc(), "MMD_AT_PLUS_A", diag_pivot_thresh=0, options={"SymmetricMode": True})
    return Factor(found.solve, float(np.log(np.abs(found.U.diagonal())).sum()), size)


def orders(fit: Strengths) -> Iterator[Order]:
    """Yield what the judgments of each query say about its order.

    Bradley–Terry whatever the method, but with answers turned of workers whom Crowd-BT found to answer the opposite,
    and less the effect of the order of presentation where that was corrected for.
    """
    seen = fit.inference_fit
    judged, pairs = seen.preferences, seen.preferences.pairs
    worker = np.zeros(len(judged), np.int64) if judged.worker is None else judged.worker
    weight = np.ones(len(judged)) if judged.weight is None else judged.weight
    workers = max(1, len(judged.workers))
    cells, row = np.unique(pairs.of.astype(np.int64) * workers + worker, return_inverse=True)
    pair, total = cells // workers, sums(row, weight, len(cells))
    corrected = (seen.pairs.score - pairs.score) / np.maximum(pairs.count, 1e-300)
    wins = np.clip(sums(row, gains(judged) * weight, len(cells)) + corrected[pair] * total, 0, total)
    first, second = pairs.first[pair].astype(np.int64), pairs.second[pair].astype(np.int64)
    bounds = np.searchsorted(first, pairs.starts)
    for (start, stop), (low, high) in zip(pairwise(pairs.starts.tolist()), pairwise(bounds.tolist()), strict=True):
        mine = slice(low, high)
        yield Order(
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
