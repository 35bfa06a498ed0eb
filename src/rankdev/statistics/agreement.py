"""Agreement between measures: do they order and space the systems alike? And the rank correlations, in n log n."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import polars as pl

from rankdev._common.arrays import Floats, Ints
from rankdev._common.checks import check_seed, check_whole
from rankdev._common.result import Result
from rankdev._common.view import Heat, Tab, View
from rankdev.errors import DataError, Note, UsageError
from rankdev.evaluation.scores import ScoresLike
from rankdev.measures.orders import count_better_above
from rankdev.statistics.design import Design, crossed, in_pairs
from rankdev.statistics.inputs import as_scores

EQUAL = 1e-12  # means that differ by no more are equal


@dataclass(frozen=True, eq=False, kw_only=True)
class Agreement(Result):
    """Rank correlation and Pearson correlation between measures, over the means of the systems.

    Attributes
    ----------
    datasets : tuple of str
        Names of the data sets.
    measures : tuple of str
        Measures that are correlated.
    tau : ndarray
        Kendall's τ-b, ``[dataset, a, b]``; NaN where a measure has the same mean for all systems.
    r : ndarray
        Pearson's r, in the same layout.
    remarks : tuple of str
        Notes on the scores, such as queries that were left out.
    tau_ap : ndarray
        τ_ap, in the same layout: the mean of both directions.
    tau_limits : ndarray, optional
        Limits of 95% intervals of τ, ``[limit, dataset, a, b]``.
    resamples : int
        Resamples of the queries behind the intervals; 0 without intervals.
    seed : int
        Seed of the resamples.

    See Also
    --------
    agreement : Returns it.
    """

    view: ClassVar = View(
        [
            Tab(
                "Agreement between measures over system means",
                ("dataset", "a", "b", "tau", "tau_low", "r", "tau_ap"),
                frame="summary",
                digits=3,
            )
        ],
        "agreement",
        figure=Heat(
            "b",
            "a",
            {"tau": "τ", "r": "r"},
            "Kendall's τ between the measures' orders of systems is {spread}",
        ),
    )

    datasets: tuple[str, ...]
    measures: tuple[str, ...]
    tau: Floats = field(repr=False)
    r: Floats = field(repr=False)
    tau_ap: Floats = field(repr=False)
    remarks: tuple[str, ...] = ()
    tau_limits: Floats | None = field(default=None, repr=False)
    resamples: int = 0
    seed: int = 0

    made_with = ("resamples", "seed")

    @property
    def _unused(self) -> tuple[str, ...]:
        return () if self.resamples else ("seed",)

    def to_polars(self) -> pl.DataFrame:
        """Return one row per data set and pair of measures.

        Returns
        -------
        polars.DataFrame
            Columns dataset, a, b, tau, r; with resamples tau_low, tau_high.

        Examples
        --------
        >>> import rankdev as rd
        >>> values = np.array([[[0.1, 0.3]], [[0.2, 0.2]], [[0.3, 0.4]]])
        >>> scores = rd.Scores(("x", "y", "z"), ("q",), ("P@1", "P@2"), values)
        >>> rd.agreement(scores).to_polars().columns
        ['dataset', 'a', 'b', 'tau', 'r']
        """
        upper = (slice(None), *np.triu_indices(len(self.measures), 1))
        frame = crossed({"dataset": self.datasets}, in_pairs(self.measures))
        frame = frame.with_columns(tau=self.tau[upper].ravel(), r=self.r[upper].ravel())
        if self.tau_limits is not None:
            limits = zip(("tau_low", "tau_high"), self.tau_limits, strict=True)
            frame = frame.with_columns(pl.Series(name, values[upper].ravel()) for name, values in limits)
        return frame.fill_nan(None)

    def summary(self) -> pl.DataFrame:
        """Return the table with τ_ap.

        Returns
        -------
        polars.DataFrame
            Columns dataset, a, b, tau, r, tau_ap; with resamples tau_low, tau_high.

        Examples
        --------
        >>> import rankdev as rd
        >>> values = np.array([[[0.1, 0.3]], [[0.2, 0.2]], [[0.3, 0.4]]])
        >>> scores = rd.Scores(("x", "y", "z"), ("q",), ("P@1", "P@2"), values)
        >>> rd.agreement(scores).summary()["tau_ap"].to_list()
        [0.5]
        """
        upper = (slice(None), *np.triu_indices(len(self.measures), 1))
        return self.to_polars().with_columns(tau_ap=pl.Series(self.tau_ap[upper].ravel())).fill_nan(None)


def agreement(
    scores: ScoresLike | Mapping[str, ScoresLike],
    *,
    measures: Sequence[str] | None = None,
    resamples: int = 0,
    clusters: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> Agreement:
    """Correlate measures over the means of the systems, for each data set.

    Kendall's τ-b and Pearson's r, and τ_ap, which weights the top of the ranking more (the mean of both directions).

    Parameters
    ----------
    scores : Scores, table, path, or dict of str to these
        Scores of one data set, or of several by name.
    measures : sequence of str, optional
        Measures to correlate. Default: all.
    resamples : int, default 0
        Resamples of the queries, for intervals of τ. These have 95%: τ ± the larger of its distances to the 2.5% and
        97.5% quantiles over resamples, cut at ±1. 200 are enough; 0 for no intervals.
    clusters : dict of str to str, optional
        The cluster of each query, as in :func:`significance`. The intervals are then over clusters.
    seed : int, default 0
        Seed of the resamples.

    Returns
    -------
    Agreement
        Correlations of every two measures, for each data set.

    Examples
    --------
    >>> import rankdev as rd
    >>> values = np.array([[[0.1, 0.3]], [[0.2, 0.2]], [[0.3, 0.4]]])
    >>> scores = rd.Scores(("x", "y", "z"), ("q",), ("P@1", "P@2"), values)
    >>> rd.agreement(scores).to_polars().select("a", "b", "tau").row(0)
    ('P@1', 'P@2', 0.3333333333333333)
    """
    named = scores if isinstance(scores, Mapping) else {"all": scores}
    if not named:
        raise UsageError("none-given", what="collections")
    parts = {str(name): as_scores(part, measures).oriented for name, part in named.items()}
    chosen = next(iter(parts.values())).measures
    for name, part in parts.items():
        if set(part.measures) != set(chosen):
            raise DataError("unlike-collection", collection=name)
    if len(chosen) < 2:
        raise UsageError("too-few", what="agreement", least=2, unit="measure", count=len(chosen))
    resamples, seed = check_whole("resamples", resamples, 0), check_seed(seed)
    if clusters is not None and not resamples:
        raise UsageError("needed", name="resamples", use="clusters")
    designs = {name: Design.of(part.select(measures=chosen), clusters=clusters) for name, part in parts.items()}
    each = [_correlations(design, resamples, seed) for design in designs.values()]
    tau, r, ap, half = (np.stack(matrices) for matrices in zip(*each, strict=True))
    flat = [measure for m, measure in enumerate(chosen) if np.isnan(tau[:, m, m]).any()]
    return Agreement(
        datasets=tuple(parts),
        measures=chosen,
        tau=tau,
        r=r,
        remarks=(
            *([Note("equal-means", measures=flat)] if flat else []),
            *(note for design in designs.values() for note in design.on_clusters("drawn for the intervals")),
            *(
                note if len(parts) == 1 else note.at(collection=name)
                for name, design in designs.items()
                for note in design.notes
            ),
        ),
        tau_ap=ap,
        tau_limits=np.clip([tau - half, tau + half], -1.0, 1.0) if resamples else None,
        resamples=resamples,
        seed=seed,
    )


def _correlations(design: Design, resamples: int, seed: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Return τ, r, τ_ap and half of τ's interval for every two measures, over the queries that both have; else NaN."""
    tau, r, ap, half = np.full((4, len(design.scores.measures), len(design.scores.measures)), np.nan)
    for one in design.panels:
        for other in design.panels:
            queries, mine, yours = np.intersect1d(one.queries, other.queries, return_indices=True)
            if not len(mine):
                continue
            block = np.ix_(one.places, other.places)
            sides = one.values[mine], other.values[yours]
            a, b = (values.mean(axis=0).T for values in sides)
            tau[block] = tau_b(a[:, None], b[None], EQUAL)
            r[block] = _pearson(a, b)
            ap[block] = (tau_ap(a[:, None], b[None], EQUAL) + tau_ap(b[None], a[:, None], EQUAL)) / 2
            if resamples:
                drawn = _resampled(*sides, design.members(queries), resamples, seed)
                low, high = np.quantile(np.where(np.isnan(drawn), 0.0, drawn), [0.025, 0.975], axis=0)
                half[block] = np.maximum(tau[block] - low, high - tau[block])
    return tau, r, ap, half


def _resampled(one: Floats, other: Floats, members: Ints, resamples: int, seed: int) -> Floats:
    """Return τ of means over resampled clusters of queries: ``[resample, measure, other measure]``."""
    count = int(members.max()) + 1
    rng = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, count])))
    drawn = []
    for _ in range(resamples):
        weights = rng.multinomial(count, np.full(count, 1 / count))[members]
        a, b = (np.tensordot(weights / weights.sum(), values, 1).T for values in (one, other))
        drawn.append(tau_b(a[:, None], b[None], EQUAL))
    return np.stack(drawn)


def _pearson(a: Floats, b: Floats) -> Floats:
    """Correlate each row of ``a`` with each of ``b``; NaN where a row is constant."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.corrcoef(a, b)[: len(a), len(a) :]
    constant = np.logical_or.outer(*(np.ptp(rows, axis=1) <= EQUAL for rows in (a, b)))
    return np.where(constant, np.nan, found)


def tau_b(left: Floats, right: Floats, tolerance: float = 0.0) -> Floats:
    """Return Kendall's τ-b along the last axis, NaN where either side is constant; the sides broadcast.

    Values that differ by no more than the tolerance from the next one are tied.

    >>> tau_b(np.array([1.0, 2, 3]), np.array([[1.0, 2, 3], [3, 2, 1], [1, 1, 2]])).round(4).tolist()
    [1.0, -1.0, 0.8165]
    """
    alike, *tied = (counts.sum(axis=-1) for counts in _compared(left, right, tolerance))
    one, other, both = tied
    n = max(left.shape[-1], right.shape[-1])
    pairs = n * (n - 1) // 2
    apart = pairs - one - other + both  # pairs that are tied on neither side
    with np.errstate(invalid="ignore"):
        tau: Floats = (2 * alike - apart) / np.sqrt((pairs - one) * (pairs - other).astype(np.float64))
    return tau


def tau_ap(estimate: Floats, truth: Floats, tolerance: float = 0.0) -> Floats:
    """Return the AP correlation (Yilmaz, Aslam and Robertson 2008) along the last axis; the sides broadcast.

    For each system that the estimate ranks below others, the fraction of these that are truly above it, averaged; ties
    in the truth count half, and systems that tie for the top in the estimate have none above. NaN where either side
    is constant.

    >>> truth = np.array([4.0, 3, 2, 1])
    >>> tau_ap(np.array([[4.0, 3, 2, 1], [1, 2, 3, 4], [3, 4, 2, 1], [4, 3, 1, 2]]), truth).round(4).tolist()
    [1.0, -1.0, 0.3333, 0.7778]
    """
    alike, tied, same, both = _compared(estimate, truth, tolerance)
    above = np.arange(alike.shape[-1]) - tied
    fractions = (alike + (same - both) / 2) / np.maximum(above, 1)
    with np.errstate(invalid="ignore"):
        mean = fractions.sum(axis=-1) / (above > 0).sum(axis=-1)
    return np.where(np.ptp(truth, axis=-1) <= tolerance, np.nan, 2 * mean - 1)


def _compared(left: Floats, right: Floats, tolerance: float) -> tuple[Ints, Ints, Ints, Ints]:
    """Count for each system, ordered by the left side, the best first, those before it that are above it on the right.

    And those that are tied with it: on the left, on the right, on both sides.
    """
    one, other = np.broadcast_arrays(_ranks(left, tolerance), _ranks(right, tolerance))
    shape, n = one.shape, one.shape[-1]
    one, other = one.reshape(-1, n), other.reshape(-1, n)
    order = np.argsort(other - one * n, axis=1, kind="stable")  # among ties on the left, the worst on the right first
    one, other = np.take_along_axis(one, order, axis=1), np.take_along_axis(other, order, axis=1)
    order = np.argsort(other, axis=1, kind="stable")
    same = np.empty_like(order)
    np.put_along_axis(same, order, _places_in_runs(np.take_along_axis(other, order, axis=1)), axis=1)
    row, place = np.indices(one.shape).reshape(2, -1)
    above = count_better_above(row, place, (n - other).ravel())
    counts = above, _places_in_runs(one), same, _places_in_runs(one * n + other)
    alike, tied, same, both = (each.reshape(shape) for each in counts)
    return alike, tied, same, both


def _ranks(values: Floats, tolerance: float) -> Ints:
    """Rank along the last axis, the lowest 0; ties share a rank."""
    order = np.argsort(values, axis=-1, kind="stable")
    steps = np.diff(np.take_along_axis(values, order, axis=-1), axis=-1) > tolerance
    ranks = np.zeros(values.shape, np.int64)
    np.put_along_axis(ranks, order[..., 1:], steps.cumsum(axis=-1), axis=-1)
    return ranks


def _places_in_runs(rows: Ints) -> Ints:
    """Number the elements of each run of equal values from 0."""
    places = np.broadcast_to(np.arange(rows.shape[1]), rows.shape)
    first = np.diff(rows, axis=1, prepend=-1) != 0
    found: Ints = places - np.maximum.accumulate(np.where(first, places, 0), axis=1)
    return found
