"""Training for RDQ: what items gain at positions, and gradients for boosted trees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from scipy.special import expit

from rankdev._common.arrays import Bools, Floats, Ints
from rankdev._common.checks import check_flag, check_number, check_seed
from rankdev.data.files import load_references
from rankdev.data.references import References, ReferencesLike
from rankdev.data.rows import offsets_of
from rankdev.data.tables import text_column
from rankdev.errors import DataError, MeasureError, UsageError
from rankdev.measures import Measure, parse
from rankdev.measures.match import Ideals
from rankdev.measures.rdq import RDQ

CELLS = 200_000  # pairs of positions per block
SMALLEST_HESSIAN = 1e-6
OUTSIDE = np.iinfo(np.int64).max  # the rank of rows outside the reference: worse than any other


@dataclass(frozen=True, eq=False)
class PositionGains:
    """Gains by position of the rows of many queries, query after query.

    Attributes
    ----------
    offsets : array of int
        Query ``i`` has the rows ``offsets[i]:offsets[i + 1]``.
    ranks : array of int
        Rank of each row.
    table : array of float
        C[row, position], the gain in RDQ of the row at that position: μ(i)·ρ(i, row) ÷ Σμ, and 0 for rows outside
        the reference.

    Examples
    --------
    >>> PositionGains.of(trainable("RDQ@2"), [2, 1, 0], [3]).ranks[:2].tolist()
    [1, 2]
    """

    offsets: Ints
    ranks: Ints
    table: Floats

    @classmethod
    def of(cls, measure: RDQ, labels: Any, sizes: Any, references: References | None = None) -> PositionGains:
        """Compute the gains from labels and the sizes of queries.

        Within a query each distinct positive label is a tier, and rows of 0 or less are outside the reference.

        Parameters
        ----------
        measure : RDQ
            Measure with a cutoff; see :func:`trainable`.
        labels : array of float
            Label of each row, the higher the better.
        sizes : array of int
            Number of rows of each query.
        references : References, optional
            Needed where a reference has items that are no rows, in the order of the queries; the labels are then those
            of :func:`training_labels`.

        Returns
        -------
        PositionGains
            Gains of each row at each position.

        Examples
        --------
        >>> PositionGains.of(trainable("RDQ@2"), [2, 1, 0], [3]).table.shape
        (3, 2)
        """
        grades, offsets = _checked(labels, sizes)
        owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        if references is None:
            ranks, ideals = _by_labels(grades, owner, len(offsets) - 1)
        else:
            if len(references) != len(offsets) - 1:
                counts = (len(offsets) - 1, len(references))
                raise DataError("unequal", names=("groups", "references"), counts=counts)
            ideals = Ideals(references.offsets, references.ranks)
            ranks = _within(grades, owner, ideals)
        return cls(offsets, ranks, _table(measure, ideals, ranks, owner))

    @property
    def sizes(self) -> Ints:
        """Number of rows of each query."""
        return np.diff(self.offsets)

    @cached_property
    def owner(self) -> Ints:
        """Query of each row."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def scores(self, predictions: Floats) -> Floats:
        """Compute RDQ of each query where its rows are ordered by prediction.

        Parameters
        ----------
        predictions : array of float
            Prediction of each row.

        Returns
        -------
        array of float
            RDQ of each query; the mean over all orders of equal predictions.

        Examples
        --------
        >>> PositionGains.of(trainable("RDQ@2"), [2, 1, 0], [3]).scores(np.array([3.0, 2.0, 1.0])).tolist()
        [1.0]
        """
        owner = self.owner
        order = np.lexsort((-predictions, owner))
        first = np.diff(owner, prepend=-1) != 0
        first[1:] |= np.diff(predictions[order]) != 0
        begins = np.flatnonzero(first)
        sizes = np.diff(np.append(begins, len(order)))
        begin = np.repeat(begins - self.offsets[owner[begins]], sizes)
        size = np.repeat(sizes, sizes)
        depth = self.table.shape[1]
        sums = self._sums[order]
        row = np.arange(len(order))
        gained = sums[row, np.minimum(begin + size, depth)] - sums[row, np.minimum(begin, depth)]
        return np.minimum(1.0, np.bincount(owner, gained / size, len(self.sizes)))

    @cached_property
    def _sums(self) -> Floats:
        """Gain of a row at all positions above a given one."""
        return np.pad(np.cumsum(self.table, axis=1), ((0, 0), (1, 0)))


def training_labels(references: ReferencesLike, queries: Any, items: Any) -> Floats:
    """Label the rows of a training set: the best tier the highest, 0 outside the reference.

    Parameters
    ----------
    references : References, path, table or dict
        Ideal order of each query.
    queries : sequence of str
        Query of each row.
    items : sequence of str
        Item of each row.

    Returns
    -------
    array of float
        Label of each row.

    Examples
    --------
    >>> references = References.from_tiers({"q1": [["d1"], ["d2", "d3"]]})
    >>> training_labels(references, ["q1", "q1", "q1"], ["d3", "d1", "x"]).tolist()
    [1.0, 2.0, 0.0]
    """
    if len(queries) != len(items):
        raise DataError("unequal", names=("queries", "items"), counts=(len(queries), len(items)))
    frame = pl.DataFrame({"query": queries, "item": items}, strict=False)
    rows = frame.with_columns(text_column(frame, name, "training rows") for name in ("query", "item"))
    references = load_references(references)
    known = references.to_polars().select("query", "item", "rank")
    tiers = pl.col("rank").max().over("query") + 1 - pl.col("rank")
    labels = rows.join(known.with_columns(label=tiers), on=["query", "item"], how="left", maintain_order="left")
    unknown = rows.filter(~pl.col("query").is_in(references.queries))
    if unknown.height:
        raise DataError("no-reference", query=unknown["query"][0])
    return labels["label"].fill_null(0).cast(pl.Float64).to_numpy()


def trainable(measure: str | Measure) -> RDQ:
    """Parse a measure for which the exact gains of swaps are known: RDQ with a cutoff.

    Parameters
    ----------
    measure : str or Measure
        Such as ``"RDQ@10"``.

    Returns
    -------
    RDQ
        The measure.

    Examples
    --------
    >>> str(trainable("RDQ@10"))
    'RDQ@10'
    """
    parsed = parse(measure)
    if not isinstance(parsed, RDQ) or parsed.judged_only:
        raise MeasureError("not-trainable", measure=str(parsed))
    if parsed.cutoff is None:
        raise MeasureError("needs-cutoff", measure=str(parsed), what="cutoff", example=f"{parsed}@10")
    return parsed


def _checked(labels: Any, sizes: Any) -> tuple[Floats, Ints]:
    if sizes is None or not len(sizes):
        raise UsageError("no-groups")
    grades, given = np.asarray(labels, np.float64), np.asarray(sizes)
    counts = given.astype(np.int64)
    wrong = (counts != given) | (counts < 0)
    if wrong.any():
        raise DataError("bad-value", name="a group", value=given[wrong][0], expected="the number of rows of a query")
    if not len(grades):
        raise DataError("none-given", what="rows")
    if counts.sum() != len(grades):
        raise DataError("unequal", names=("rows of groups", "rows"), counts=(int(counts.sum()), len(grades)))
    if not np.isfinite(grades).all():
        row = int(np.argmin(np.isfinite(grades)))
        raise DataError("bad-value", row=row, name="the label", value=grades[row], expected="a finite number")
    return grades, offsets_of(counts)


def _by_labels(grades: Floats, owner: Ints, queries: int) -> tuple[Ints, Ideals]:
    order = np.lexsort((-grades, owner))
    order = order[grades[order] > 0]
    query, grade = owner[order], grades[order]
    offsets = offsets_of(np.bincount(query, minlength=queries))
    steps = np.cumsum((np.diff(query, prepend=-1) == 0) & (np.diff(grade, prepend=0) != 0))
    sorted_ranks = steps - steps[offsets[query]] + 1 if len(order) else steps
    ranks = np.full(len(grades), OUTSIDE)
    ranks[order] = sorted_ranks
    return ranks, Ideals(offsets, sorted_ranks)


def _within(grades: Floats, owner: Ints, ideals: Ideals) -> Ints:
    """Turn labels that count tiers from the last into ranks; reject those that do not fit the references."""
    ranks = np.where(grades > 0, ideals.tiers[owner] + 1 - grades, 0).astype(np.int64)
    inside = grades > 0
    wide = int(ideals.tiers.max(initial=0)) + 1
    unfit = inside & ((grades != np.rint(grades)) | (ranks < 1))
    fit = inside & ~unfit
    found = np.bincount(owner[fit] * wide + ranks[fit], minlength=len(ideals.tiers) * wide)
    sorted_owner = np.repeat(np.arange(len(ideals.tiers)), ideals.sizes)
    there = np.bincount(sorted_owner * wide + ideals.ranks, minlength=len(ideals.tiers) * wide)
    wrong = np.union1d(owner[unfit], np.flatnonzero(found > there) // wide)
    if len(wrong):
        raise DataError("unfit-labels", group=wrong[0])
    return np.where(inside, ranks, OUTSIDE)


def _table(measure: RDQ, ideals: Ideals, ranks: Ints, owner: Ints) -> Floats:
    cutoff = measure.cutoff
    assert cutoff is not None
    inside = np.flatnonzero(ranks < OUTSIDE)
    query, table = owner[inside], np.zeros((len(ranks), cutoff))
    credit = measure.credit(ideals.ideal_ranks(cutoff)[query], ranks[inside, None], ideals.sizes[query, None])
    table[inside] = measure.shares(ideals.sizes, cutoff)[query] * credit
    return table


class Trained:
    """What objectives and metrics have in common: the measure, and the gains of the last few data sets.

    Parameters
    ----------
    measure : str or Measure
        RDQ with a cutoff.
    references : References, path, table or dict, optional
        Needed where references have items that are no rows.

    See Also
    --------
    Lambdas : Objective.
    MeanScore : Metric.
    """

    def __init__(self, measure: str | Measure, *, references: ReferencesLike | None = None) -> None:
        self.measure = trainable(measure)
        self.references = None if references is None else load_references(references)
        self._known: list[tuple[Any, Any, PositionGains]] = []

    def gains(self, labels: Any, sizes: Any) -> PositionGains:
        """Return the gains of a data set, computed once while it is trained on.

        Parameters
        ----------
        labels : array of float
            Label of each row.
        sizes : array of int
            Number of rows of each query.

        Returns
        -------
        PositionGains
            Gains of each row at each position.

        Examples
        --------
        >>> MeanScore("RDQ@2").gains([2, 1, 0], [3]).sizes.tolist()
        [3]
        """
        for known_labels, known_sizes, gains in self._known:
            if np.array_equal(labels, known_labels) and np.array_equal(sizes, known_sizes):
                return gains
        made = PositionGains.of(self.measure, labels, sizes, self.references)
        self._known = [*self._known[-3:], (np.array(labels), np.array(sizes), made)]
        return made


class Lambdas(Trained):
    """A training objective: pairs of rows in the wrong order are pushed by the gain in RDQ of swapping them.

    Rows are ordered by prediction, equal ones at random.

    Parameters
    ----------
    measure : str or Measure
        RDQ with a cutoff.
    references : References, path, table or dict, optional
        Needed where references have items that are no rows.
    normalise : bool, default True
        Push pairs with distant predictions less, and limit the sum of each query, as in LightGBM's lambdarank.
    noise : float, default 0
        Scale of the Gumbel noise that is added to predictions before they are ordered, one draw per round.
    seed : int, default 0
        Seed of the noise.

    Examples
    --------
    >>> first, second = Lambdas("RDQ@2").gradients([1, 0], np.array([0.0, 1.0]), [2])
    >>> bool(first[0] < 0 < first[1])
    True
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
        """Compute first and second derivatives for each row.

        Parameters
        ----------
        labels : array of float
            Label of each row.
        predictions : array of float
            Prediction of each row.
        sizes : array of int
            Number of rows of each query.
        weights : array of float, optional
            Weight of each row or of each query. Default: 1.

        Returns
        -------
        tuple of array of float
            First and second derivatives, times the weights.

        Examples
        --------
        >>> first, second = Lambdas("RDQ@2").gradients([1, 0], np.array([0.0, 1.0]), [2])
        >>> bool((second > 0).all())
        True
        """
        gains = self.gains(labels, sizes)
        predictions = checked_predictions(predictions, len(gains.ranks))
        if self._begin is None or np.array_equal(self._begin, predictions):  # training starts, perhaps again
            self._begin, self._random = predictions.copy(), np.random.default_rng(self.seed)
        chance = self._random.gumbel(size=len(predictions))
        order = chance, -(predictions + self.noise * chance)
        first, second = gradients(gains, predictions, order, self.normalise)
        weight = 1.0 if weights is None else row_weights(weights, gains.sizes)
        return first * weight, np.maximum(second * weight, SMALLEST_HESSIAN)


class MeanScore(Trained):
    """An evaluation metric: mean RDQ of all queries, over all orders of rows with equal predictions.

    Parameters
    ----------
    measure : str or Measure
        RDQ with a cutoff.
    references : References, path, table or dict, optional
        Needed where references have items that are no rows.

    Examples
    --------
    >>> MeanScore("RDQ@2").mean([2, 1, 0], np.array([3.0, 2.0, 1.0]), [3])
    1.0
    """

    def mean(self, labels: Any, predictions: Floats, sizes: Any, weights: Any = None) -> float:
        """Score predictions; a query without any reference item scores 0, as everywhere in rankdev.

        Parameters
        ----------
        labels : array of float
            Label of each row.
        predictions : array of float
            Prediction of each row.
        sizes : array of int
            Number of rows of each query.
        weights : array of float, optional
            Weight of each row or of each query. Default: 1.

        Returns
        -------
        float
            Mean RDQ.

        Examples
        --------
        >>> MeanScore("RDQ@2").mean([2, 1, 0], np.array([1.0, 2.0, 3.0]), [3]) < 1
        True
        """
        gains = self.gains(labels, sizes)
        scores = gains.scores(checked_predictions(predictions, len(gains.ranks)))
        if weights is None:
            return float(scores.mean())
        by_row = np.bincount(gains.owner, row_weights(weights, gains.sizes), len(scores))
        return float(np.average(scores, weights=by_row / np.maximum(gains.sizes, 1)))


def gradients(
    gains: PositionGains, predictions: Floats, order: tuple[Floats, ...], normalise: bool
) -> tuple[Floats, Floats]:
    """Sum λ and its derivative over all pairs with a row above the cutoff.

    For a better row a and a worse row b at the positions i < j, w = max(0, C[i,a] + C[j,b] − C[i,b] − C[j,a]) is the
    gain of a above b; where that loses, a is not pushed. λ = w·σ(s_b − s_a), on the predictions without noise.
    Normalised, w is divided by .01 + |s_a − s_b|, and then all of a query by Σλ ÷ log2(1 + Σλ), both rows counted.

    Parameters
    ----------
    gains : PositionGains
        Gains of the data set.
    predictions : array of float
        Prediction of each row.
    order : tuple of array of float
        Sort keys of the rows; the last is the primary one.
    normalise : bool
        Whether λ is normalised.

    Returns
    -------
    tuple of array of float
        First and second derivatives for each row.

    Examples
    --------
    >>> gains, predictions = PositionGains.of(trainable("RDQ@2"), [1, 0], [2]), np.array([0.0, 1.0])
    >>> first, _ = gradients(gains, predictions, (-predictions,), False)
    >>> bool(first[0] == -first[1])
    True
    """
    first, second = np.zeros(len(predictions)), np.zeros(len(predictions))
    for stored, real in _blocks(gains):
        ranked = np.lexsort([np.where(real, key[stored], np.inf) for key in order])
        rows = np.take_along_axis(stored, ranked, axis=1)
        slope, curve = _block(gains, predictions[rows], rows, real, normalise)
        first[rows[real]], second[rows[real]] = slope[real], curve[real]
    return first, second


def _blocks(gains: PositionGains) -> Iterator[tuple[Ints, Bools]]:
    """Divide queries into blocks of about equal size, as rows [query, place] and which of them exist."""
    depth = gains.table.shape[1]
    queries = np.argsort(gains.sizes, kind="stable")
    begin = 0
    while begin < len(queries):
        longest = gains.sizes[queries[begin:]]
        fitting = np.arange(1, len(longest) + 1) * longest * depth <= CELLS
        stop = begin + max(1, int(np.argmin(fitting)) if not fitting.all() else len(longest))
        block = queries[begin:stop]
        position = np.arange(max(1, int(gains.sizes[block].max())))
        real = position < gains.sizes[block, None]
        yield np.where(real, gains.offsets[block, None] + position, 0), real
        begin = stop


def _block(
    gains: PositionGains, predictions: Floats, rows: Ints, real: Bools, normalise: bool
) -> tuple[Floats, Floats]:
    queries, length = rows.shape
    depth = min(gains.table.shape[1], length)
    gained = gains.table[rows, :depth]  # [query, place of the row, position]
    ranks = gains.ranks[rows]
    own = np.zeros((queries, length))
    own[:, :depth] = gained[:, np.arange(depth), np.arange(depth)]
    gain = own[:, :depth, None] + own[:, None, :] - gained.transpose(0, 2, 1)
    gain[:, :, :depth] -= gained[:, :depth, :]
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
        total = 2 * push.sum(axis=(1, 2))[:, None, None]
        push *= np.where(total > 0, np.log2(1 + total) / np.where(total > 0, total, 1), 1.0)
    curve = push * (1 - chance)
    push *= sign
    slopes, curves = push.sum(axis=1), curve.sum(axis=1)
    slopes[:, :depth] -= push.sum(axis=2)
    curves[:, :depth] += curve.sum(axis=2)
    return slopes, curves


def row_weights(weights: Any, sizes: Ints) -> Floats:
    """Return one weight per row, from one per row or per query.

    Parameters
    ----------
    weights : array of float
        Weights of rows or of queries.
    sizes : array of int
        Number of rows of each query.

    Returns
    -------
    array of float
        Weight of each row.

    Examples
    --------
    >>> row_weights([1, 2], np.array([2, 1])).tolist()
    [1.0, 1.0, 2.0]
    """
    weight = np.asarray(weights, np.float64)
    if len(weight) not in (len(sizes), sizes.sum()):
        raise DataError("unequal", names=("weights", "rows"), counts=(len(weight), int(sizes.sum())))
    if not (np.isfinite(weight) & (weight >= 0)).all() or not weight.any():
        expected = "finite numbers of 0 or more, not all 0"
        raise DataError("bad-value", name="weights", value=weight, expected=expected)
    return weight if len(weight) == sizes.sum() else np.repeat(weight, sizes)


def checked_predictions(predictions: Any, rows: int) -> Floats:
    """Reject predictions that are not finite: a training that has diverged.

    Parameters
    ----------
    predictions : array of float
        Predictions.
    rows : int
        Number of rows.

    Returns
    -------
    array of float
        The predictions.

    Examples
    --------
    >>> checked_predictions([1, 2], 2).tolist()
    [1.0, 2.0]
    """
    values = np.asarray(predictions, np.float64)
    if values.shape != (rows,):
        raise DataError("unequal", names=("predictions", "rows"), counts=(values.size, rows))
    if not np.isfinite(values).all():
        raise DataError("diverged")
    return values
