"""What items gain at positions: labels and gains for training towards RDQ."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from rankdev._common.arrays import Floats, Ints, offsets_of
from rankdev._common.columns import text_column
from rankdev.data.files import load_references
from rankdev.data.references import References, ReferencesLike
from rankdev.errors import DataError, MeasureError, UsageError
from rankdev.measures import Measure, parse
from rankdev.measures.match import Ideals
from rankdev.measures.rdq import RDQ

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
            ideals = _of_references(references, len(offsets) - 1)
            ranks = _within(grades, owner, ideals)
        return cls(offsets, ranks, _table(measure, ideals, ranks, owner))

    @property
    def sizes(self) -> Ints:
        """Number of rows of each query."""
        return np.diff(self.offsets)

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
        owner = np.repeat(np.arange(len(self.sizes)), self.sizes)
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


def _of_references(references: References, queries: int) -> Ideals:
    if len(references) != queries:
        raise DataError("unequal", names=("groups", "references"), counts=(queries, len(references)))
    return Ideals(references.offsets, references.ranks)


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
    sizes = ideals.sizes
    weights = measure.position_weights.relative(cutoff)
    best = np.cumsum(weights)[np.clip(sizes, 1, cutoff) - 1]
    inside = np.flatnonzero(ranks < OUTSIDE)
    query = owner[inside]
    table = np.zeros((len(ranks), cutoff))
    credit = measure.credit(ideals.ideal_ranks(cutoff)[query], ranks[inside, None], sizes[query, None])
    table[inside] = weights * credit / best[query, None]
    return table
