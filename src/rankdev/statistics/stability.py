"""Stability of the ranking of systems with n queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import polars as pl

from rankdev._common.arrays import Bools, Floats, Ints, Unsigned
from rankdev._common.checks import check_seed, check_whole
from rankdev._common.view import Curves, Tab, View
from rankdev.errors import Note, UsageError
from rankdev.evaluation.scores import ScoresLike
from rankdev.statistics.agreement import tau_b
from rankdev.statistics.decision import fewest
from rankdev.statistics.design import COUNTED, Design, OfDrawnQueries, Panel, crossed, reaching, smallest_is_enough
from rankdev.statistics.flips import draw, largest_of, scale_for, stream_keys

AT_ONCE = 1 << 23  # numbers held at a time
TIED = 2.0  # units that two equal means may lie apart


class Orders:
    """The systems of a panel, ordered by their means over subsets of its queries."""

    def __init__(self, panel: Panel) -> None:
        self.queries, self.systems, self.measures = panel.values.shape
        # in whole units sums are exact, so that equal means are equal
        scale = scale_for(largest_of(panel.values), self.queries)
        self.units: Floats = np.rint(panel.values * scale).reshape(self.queries, -1)

    @cached_property
    def _whole(self) -> Floats:
        """Means over all queries: ``[measure, system]``."""
        return self.units.mean(axis=0).reshape(self.systems, self.measures).T

    @cached_property
    def flat(self) -> Bools:
        """Under which measures all systems tie on all queries."""
        return np.asarray(np.ptp(self._whole, axis=1) <= TIED)

    def means(self, picks: Ints) -> Floats:
        """Return the means over each row of queries: ``[row, measure, system]``."""
        chosen = np.zeros((len(picks), self.queries))
        np.put_along_axis(chosen, picks, 1.0, axis=1)
        sums = chosen @ self.units
        return (sums / picks.shape[1]).reshape(len(picks), self.systems, self.measures).transpose(0, 2, 1)

    def with_all(self, n: int, subsamples: int, seed: int) -> Floats:
        """Return the mean τ-b of n queries with all, for each measure; NaN where all systems tie."""
        keys = stream_keys(seed, n, subsamples)[:, 0]
        parts = (self.means(draw(part, self.queries, n)) for part in self._parts(keys))
        return self._mean(tau_b(means, self._whole, TIED) for means in parts)

    def halves(self, n: int, subsamples: int, seed: int) -> Floats:
        """Return the mean τ-b of two sets of n queries that share none."""
        keys = stream_keys(seed, 2 * n, subsamples)
        drawn = ((draw(part[:, 0], self.queries, 2 * n), draw(part[:, 1], 2 * n, n)) for part in self._parts(keys))
        return self._mean(self._between(both, first) for both, first in drawn)

    def _parts(self, keys: Unsigned) -> Iterator[Unsigned]:
        """Cut the subsamples into so many as are held at a time."""
        step = max(1, AT_ONCE // max(self.queries, 16 * self.systems * self.measures))
        return (keys[start : start + step] for start in range(0, len(keys), step))

    def _mean(self, taus: Iterator[Floats]) -> Floats:
        """Average over subsamples; one in which all systems tie counts as 0."""
        tau = np.concatenate([np.nan_to_num(part) for part in taus]).mean(axis=0)
        return np.where(self.flat, np.nan, tau)

    def _between(self, both: Ints, first: Ints) -> Floats:
        """Compare the queries of each row at the positions ``first`` with those at the others."""
        inside = np.zeros(both.shape, bool)
        np.put_along_axis(inside, first, True, axis=1)
        one, other = (both[part].reshape(len(both), -1) for part in (inside, ~inside))
        return tau_b(self.means(one), self.means(other), TIED)


SHOWN = 6  # sizes that a summary shows side by side


@dataclass(frozen=True, eq=False, kw_only=True)
class Stability(OfDrawnQueries):
    """How well n queries reproduce the ranking of systems: arrays ``[measure, size]``.

    Attributes
    ----------
    measures : tuple of str
        Measures whose rankings were compared.
    sizes : tuple of int
        Numbers of queries n.
    tau : ndarray
        Mean Kendall τ-b with the ranking on all queries, which include the n.
    split : ndarray
        Mean τ-b between two sets of n queries that share none; NaN where the pool is too small.
    subsamples : int
        Subsamples of each size.
    seed : int
        Seed of the subsamples.
    remarks : tuple of str
        Notes on the sizes and the scores.
    clusters : int, optional
        Clusters of queries that were drawn whole: n counts clusters then.

    See Also
    --------
    stability : Returns it.
    """

    view: ClassVar = View(
        [Tab("Stability (τ) of the ranking on n {unit}", frame="summary", digits=3)],
        "stability",
        opening=["{conclusion}"],
        closing=[
            "tau: against the ranking on all {unit}, which include the n; even equal systems look stable as n grows",
            "split: between two disjoint sets of n {unit}, as with new {unit}",
            "Means over {subsamples:subsample} of each size.",
        ],
        figure=Curves("n", "tau", "mean Kendall τ", goal=0.8),
    )

    measures: tuple[str, ...]
    sizes: tuple[int, ...]
    tau: Floats = field(repr=False)
    split: Floats = field(repr=False)
    subsamples: int
    seed: int
    remarks: tuple[str, ...] = ()
    clusters: int | None = None

    made_with = ("sizes", "subsamples", "clusters", "seed")

    @property
    def conclusion(self) -> str:
        """Which measures need the fewest queries for a τ of 0.8."""
        needed = dict(zip(self.measures, reaching(self.tau, self.sizes).tolist(), strict=True))
        return fewest("mean Kendall τ", needed, self.sizes, self.unit)

    def to_polars(self) -> pl.DataFrame:
        """Return one row per measure and size.

        Returns
        -------
        polars.DataFrame
            Columns measure, n, tau, split.

        Examples
        --------
        >>> import rankdev as rd
        >>> values = np.random.default_rng(1).random((3, 50, 1)) + [[[0.0]], [[1.0]], [[2.0]]]
        >>> scores = rd.Scores(("a", "b", "c"), tuple(map(str, range(50))), ("P@1",), values)
        >>> found = rd.stability(scores, sizes=[5, 10], subsamples=20)
        >>> found.to_polars().select("n", "tau").rows()
        [(5, 1.0), (10, 1.0)]
        """
        frame = crossed({"measure": self.measures}, {"n": self.sizes})
        return frame.with_columns(tau=self.tau.ravel(), split=self.split.ravel()).fill_nan(None)

    def summary(self, at: Sequence[int] | None = None) -> pl.DataFrame:
        """Summarise each measure: τ at some sizes, the area under the curve, and the first n with τ ≥ 0.8.

        Parameters
        ----------
        at : sequence of int, optional
            Sizes to show. Default: all; where there are many, those of 25, 100 and 200 that were simulated.

        Returns
        -------
        polars.DataFrame
            Columns measure, tau_N for each size N, auc (trapezoids over n, divided by its range), n_at_0.8 (infinite
            where no size reaches 0.8), split_N, split_at_0.8 (among the sizes of which the pool has two).

        Examples
        --------
        >>> import rankdev as rd
        >>> values = np.random.default_rng(1).random((3, 50, 1)) + [[[0.0]], [[1.0]], [[2.0]]]
        >>> scores = rd.Scores(("a", "b", "c"), tuple(map(str, range(50))), ("P@1",), values)
        >>> found = rd.stability(scores, sizes=[5, 10], subsamples=20)
        >>> found.summary()["n_at_0.8"].to_list()
        [5.0]
        """
        usual = [n for n in self.sizes if n in (25, 100, 200)] if len(self.sizes) > SHOWN else []
        wanted = list(at or usual or self.sizes)
        for n in wanted:
            if n not in self.sizes:
                raise UsageError("not-a-choice", name="size", value=n, near=None, known=self.sizes)
        columns: dict[str, Any] = {f"tau_{n}": self.tau[:, self.sizes.index(n)] for n in wanted}
        columns |= {"auc": self._area(), "n_at_0.8": reaching(self.tau, self.sizes)}
        columns |= {f"split_{n}": self.split[:, self.sizes.index(n)] for n in wanted}
        columns["split_at_0.8"] = reaching(self.split, self.sizes)
        return pl.DataFrame({"measure": list(self.measures), **columns}).fill_nan(None)

    def _area(self) -> Floats:
        if len(self.sizes) < 2:
            return np.full(len(self.measures), np.nan)
        width = np.diff(self.sizes)
        area: Floats = (self.tau[:, 1:] + self.tau[:, :-1]) @ width / 2 / width.sum()
        return area


def stability(
    scores: ScoresLike,
    *,
    sizes: Sequence[int] | None = None,
    measures: Sequence[str] | None = None,
    subsamples: int = 300,
    clusters: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> Stability:
    """Estimate how stable the ranking of systems is with n queries, for each measure.

    The ranking on subsamples of n queries, drawn without replacement, is compared with the ranking on all; equal means
    are ties (τ-b). A subsample in which all systems tie counts as 0; a measure under which they tie on all queries has
    no τ. The ranking on all queries shares queries with every subsample, so that even equal systems seem stable as n
    grows: ``split`` compares two subsamples that share none.

    Parameters
    ----------
    scores : Scores, table or path
        Scores of the systems.
    sizes : sequence of int, optional
        Numbers of queries. Default: 25 to 2000, or from 5. The RDQ paper has the former; from 5 on is for fewer than
        100 queries.
    measures : sequence of str, optional
        Measures to compare. Default: all.
    subsamples : int, default 300
        Subsamples of each size.
    clusters : dict of str to str, optional
        The cluster of each query, as in :func:`significance`. Whole clusters are then drawn, and sizes are
        numbers of clusters.
    seed : int, default 0
        Seed of the subsamples.

    Returns
    -------
    Stability
        Mean τ by measure and size.

    Examples
    --------
    >>> import rankdev as rd
    >>> values = np.random.default_rng(1).random((3, 50, 1)) + [[[0.0]], [[1.0]], [[2.0]]]
    >>> scores = rd.Scores(("a", "b", "c"), tuple(map(str, range(50))), ("P@1",), values)
    >>> rd.stability(scores, sizes=[5, 10], subsamples=20).to_polars()["tau"].to_list()
    [1.0, 1.0]
    """
    subsamples, seed = check_whole("subsamples", subsamples, 1), check_seed(seed)
    design = Design.of(scores, measures, clusters=clusters)
    names, pool = design.scores.measures, design.pool
    plan, remarks = design.sizes(sizes)
    tau, split = np.full((2, len(names), len(plan)), np.nan)
    flat: list[str] = []
    for panel in design.drawn:
        orders = Orders(panel)
        flat += [names[place] for place, tied in zip(panel.places, orders.flat, strict=True) if tied]
        for i, n in enumerate(plan):
            cell = (list(panel.places), i)
            if n <= len(panel.queries):
                tau[cell] = orders.with_all(n, subsamples, seed)
            if 2 * n <= len(panel.queries):
                split[cell] = orders.halves(n, subsamples, seed)
    found = Stability(
        measures=names,
        sizes=plan,
        tau=tau,
        split=split,
        subsamples=subsamples,
        seed=seed,
        remarks=(
            *remarks,
            *([Note("equal-means", measures=flat)] if flat else []),
            *design.on_clusters(COUNTED),
            *design.notes,
        ),
        clusters=None if clusters is None else pool,
    )
    first = dict(zip(names, reaching(tau, plan).tolist(), strict=True))
    return replace(found, remarks=(*found.remarks, *smallest_is_enough("n_at_0.8", plan, first, pool)))
