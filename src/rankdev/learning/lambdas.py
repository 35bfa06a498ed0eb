"""Gradients for boosted trees by the exact gain of swapping two rows (LambdaMART with RDQ's own differences)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import expit

from rankdev.arguments import check_flag, check_number, check_seed
from rankdev.arrays import Bools, Floats, Ints
from rankdev.errors import DataError, counted
from rankdev.formats import references_of
from rankdev.learning.earnings import Earnings, trainable
from rankdev.measures import Measure
from rankdev.references.references import ReferencesLike

CELLS = 200_000  # pairs of positions that are looked at together
SMALLEST_HESSIAN = 1e-6


class Trained:
    """What an objective and a metric share: the measure, and the earnings of the last few data sets."""

    def __init__(self, measure: str | Measure, *, references: ReferencesLike | None = None) -> None:
        self.measure = trainable(measure)
        self.references = None if references is None else references_of(references)
        self._known: list[tuple[Any, Any, Earnings]] = []

    def earnings(self, labels: Any, sizes: Any) -> Earnings:
        """Give the earnings of a data set, made once while it is trained on."""
        for known_labels, known_sizes, earnings in self._known:
            if np.array_equal(labels, known_labels) and np.array_equal(sizes, known_sizes):
                return earnings
        made = Earnings.of(self.measure, labels, sizes, self.references)
        self._known = [*self._known[-3:], (np.array(labels), np.array(sizes), made)]
        return made


class Lambdas(Trained):
    """A training objective: for two rows in the wrong order, push by what RDQ would gain from swapping them.

    With ``normalise`` pairs with distant predictions push less, and no query pushes much more than others, as in
    LightGBM's lambdarank. Rows are ordered by prediction, equal ones by chance; ``noise`` is the scale of Gumbel noise
    that is added before they are ordered, one draw per round.
    """

    def __init__(
        self,
        measure: str | Measure,
        *,
        references: ReferencesLike | None = None,
        normalise: bool = True,
        noise: float = 0.0,
        seed: int = 0,
    ) -> None:
        super().__init__(measure, references=references)
        self.normalise = check_flag("normalise", normalise)
        self.noise = check_number("noise", noise, 0, ends=True)
        self.seed = check_seed(seed)
        self._begin: Floats | None = None
        self._random = np.random.default_rng(self.seed)

    def gradients(self, labels: Any, predictions: Floats, sizes: Any, weights: Any = None) -> tuple[Floats, Floats]:
        """Give first and second derivatives for each row, times its weight where there are weights."""
        earnings = self.earnings(labels, sizes)
        predictions = checked_predictions(predictions, len(earnings.ranks))
        if self._begin is None or np.array_equal(self._begin, predictions):  # a training begins, perhaps once more
            self._begin, self._random = predictions.copy(), np.random.default_rng(self.seed)
        chance = self._random.gumbel(size=len(predictions))
        order = chance, -(predictions + self.noise * chance)
        first, second = gradients(earnings, predictions, order, self.normalise)
        weight = 1.0 if weights is None else row_weights(weights, earnings.sizes)
        return first * weight, np.maximum(second * weight, SMALLEST_HESSIAN)


class MeanScore(Trained):
    """An evaluation metric: the mean RDQ of all queries, over all orders of rows with equal predictions."""

    def mean(self, labels: Any, predictions: Floats, sizes: Any, weights: Any = None) -> float:
        """Score predictions; a query without any reference item scores 0, as everywhere in rankdev."""
        earnings = self.earnings(labels, sizes)
        scores = earnings.scores(checked_predictions(predictions, len(earnings.ranks)))
        if weights is None:
            return float(scores.mean())
        owner = np.repeat(np.arange(len(earnings.sizes)), earnings.sizes)
        by_row = np.bincount(owner, row_weights(weights, earnings.sizes), len(scores))
        return float(np.average(scores, weights=by_row / np.maximum(earnings.sizes, 1)))


def gradients(
    earnings: Earnings, predictions: Floats, order: tuple[Floats, ...], normalise: bool
) -> tuple[Floats, Floats]:
    """Sum λ and its derivative over all pairs with a row above the cutoff; the last key of ``order`` ranks first.

    The positions i < j of a better row a and a worse row b weigh w = max(0, C[i,a] + C[j,b] − C[i,b] − C[j,a]), what is
    gained by a above b; where that loses, a is not pushed. λ = w·σ(s_b − s_a), on the predictions without noise. To
    normalise is to divide w by .01 + |s_a − s_b|, and then all of a query by Σλ ÷ log2(1 + Σλ), both rows counted.
    """
    first, second = np.zeros(len(predictions)), np.zeros(len(predictions))
    for stored, real in _blocks(earnings):
        ranked = np.lexsort([np.where(real, key[stored], np.inf) for key in order])
        rows = np.take_along_axis(stored, ranked, axis=1)
        slope, curve = _block(earnings, predictions[rows], rows, real, normalise)
        first[rows[real]], second[rows[real]] = slope[real], curve[real]
    return first, second


def _blocks(earnings: Earnings) -> Iterator[tuple[Ints, Bools]]:
    """Cut queries into blocks of about equal size, as rows [query, place] and whether there is one."""
    depth = earnings.table.shape[1]
    queries = np.argsort(earnings.sizes, kind="stable")
    begin = 0
    while begin < len(queries):
        longest = earnings.sizes[queries[begin:]]
        fitting = np.arange(1, len(longest) + 1) * longest * depth <= CELLS
        end = begin + max(1, int(np.argmin(fitting)) if not fitting.all() else len(longest))
        block = queries[begin:end]
        position = np.arange(max(1, int(earnings.sizes[block].max())))
        real = position < earnings.sizes[block, None]
        yield np.where(real, earnings.offsets[block, None] + position, 0), real
        begin = end


def _block(earnings: Earnings, predictions: Floats, rows: Ints, real: Bools, normalise: bool) -> tuple[Floats, Floats]:
    queries, length = rows.shape
    depth = min(earnings.table.shape[1], length)
    earned = earnings.table[rows, :depth]  # [query, place of the row, position]
    ranks = earnings.ranks[rows]
    own = np.zeros((queries, length))
    own[:, :depth] = earned[:, np.arange(depth), np.arange(depth)]
    gain = own[:, :depth, None] + own[:, None, :] - earned.transpose(0, 2, 1)
    gain[:, :, :depth] -= earned[:, :depth, :]
    gain *= (np.arange(depth)[:, None] < np.arange(length)) & real[:, None, :]  # each pair once
    above, below = ranks[:, :depth, None], ranks[:, None, :]
    sign = (above < below).astype(np.int8) - (above > below)  # 1 where the better row is above
    weight = np.maximum(0.0, sign * gain)
    apart = predictions[:, :depth, None] - predictions[:, None, :]
    if normalise:
        weight /= 0.01 + np.abs(apart)
    chance = expit(-sign * apart)
    push = weight * chance
    if normalise:
        push *= _share(2 * push.sum(axis=(1, 2)))[:, None, None]
    curve = push * (1 - chance)
    push *= sign
    slopes, curves = push.sum(axis=1), curve.sum(axis=1)
    slopes[:, :depth] -= push.sum(axis=2)
    curves[:, :depth] += curve.sum(axis=2)
    return slopes, curves


def _share(total: Floats) -> Floats:
    """Give log2(1 + Σλ) ÷ Σλ, and 1 where there is nothing to share."""
    return np.where(total > 0, np.log2(1 + total) / np.where(total > 0, total, 1), 1.0)


def row_weights(weights: Any, sizes: Ints) -> Floats:
    """Give one weight per row, where there is one per row or per query."""
    weight = np.asarray(weights, np.float64)
    if len(weight) not in (len(sizes), sizes.sum()):
        raise DataError(
            f"{counted(len(weight), 'weight')} for {counted(int(sizes.sum()), 'row')} in {counted(len(sizes), 'group')}"
        )
    if not (np.isfinite(weight) & (weight >= 0)).all() or not weight.any():
        raise DataError("weights must be finite numbers of 0 or more, and not all 0")
    return weight if len(weight) == sizes.sum() else np.repeat(weight, sizes)


def checked_predictions(predictions: Any, rows: int) -> Floats:
    """Refuse predictions that are not numbers: a training that has diverged."""
    values = np.asarray(predictions, np.float64)
    if values.shape != (rows,):
        raise DataError(f"{counted(values.size, 'prediction')} for {counted(rows, 'row')}")
    if not np.isfinite(values).all():
        raise DataError("a prediction is not a finite number; lower the learning rate")
    return values
