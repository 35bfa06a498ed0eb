"""Stability of the ranking of systems with n queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import polars as pl

from rankdev._common.arrays import Floats, Ints
from rankdev._common.checks import check_seed, check_whole
from rankdev._common.view import Curves, Tab, View
from rankdev.errors import Note, UsageError, warn
from rankdev.evaluation.scores import ScoresLike
from rankdev.statistics.agreement import tau_ap, tau_b
from rankdev.statistics.design import COUNTED, Design, OfDrawnQueries, Panel
from rankdev.statistics.flips import draw, largest_of, scale_for, stream_keys
from rankdev.statistics.student import at_most, fitting

AT_ONCE = 1 << 23  # numbers held at a time
SHUFFLES = 10  # ways to cut a pool into halves that share nothing
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

    @property
    def _step(self) -> int:
        return max(1, AT_ONCE // max(self.queries, 16 * self.systems * self.measures))

    def means(self, picks: Ints) -> Floats:
        """Return the means over each row of queries: ``[row, measure, system]``."""
        if len(picks) * self.queries > AT_ONCE:  # many small sets: sums are exact in either way
            sums = self.units[picks].sum(axis=1)
        else:
            chosen = np.zeros((len(picks), self.queries))
            np.put_along_axis(chosen, picks, 1.0, axis=1)
            sums = chosen @ self.units
        return (sums / picks.shape[1]).reshape(len(picks), self.systems, self.measures).transpose(0, 2, 1)

    def with_all(self, n: int, subsamples: int, seed: int) -> tuple[Floats, Floats]:
        """Return the mean τ-b and τ_ap of n queries with all, for each measure; NaN where all systems tie."""
        keys = stream_keys(seed, n, subsamples)[:, 0]
        total = np.zeros((2, self.measures))
        for start in range(0, subsamples, self._step):
            means = self.means(draw(keys[start : start + self._step], self.queries, n))
            for i, correlate in enumerate((tau_b, tau_ap)):
                total[i] += _known(correlate(means, self._whole, TIED)).sum(axis=0)
        constant = np.ptp(self._whole, axis=1) <= TIED
        tau, ap = np.where(constant, np.nan, total / subsamples)
        return tau, ap

    def halves(self, n: int, subsamples: int, seed: int) -> tuple[Floats, Floats, Floats]:
        """Return the mean τ-b of two sets of n queries that share none, and the limits of its 95% interval.

        The interval comes from cutting the pool into as many such pairs of sets as it has, which are independent; it
        is NaN where there is only one, or where they leave every τ possible.
        """
        keys = stream_keys(seed, 2 * n, subsamples)
        total = np.zeros(self.measures)
        for start in range(0, subsamples, self._step):
            part = keys[start : start + self._step]
            both, first = draw(part[:, 0], self.queries, 2 * n), draw(part[:, 1], 2 * n, n)
            total += self._between(both, first).sum(axis=0)
        mean, half = total / subsamples, self._half_width(n, seed)
        constant = np.ptp(self._whole, axis=1) <= TIED
        found = (mean, np.maximum(mean - half, -1.0), np.minimum(mean + half, 1.0))
        nothing = (found[1] <= -1) & (found[2] >= 1)  # an interval of everything that τ can be is not informative
        tau, low, high = (
            np.where(constant | unknown, np.nan, x) for x, unknown in zip(found, (False, nothing, nothing), strict=True)
        )
        return tau, low, high

    def _between(self, both: Ints, first: Ints) -> Floats:
        """Compare the queries of each row at the positions ``first`` with those at the others."""
        inside = np.zeros(both.shape, bool)
        np.put_along_axis(inside, first, True, axis=1)
        one, other = (both[part].reshape(len(both), -1) for part in (inside, ~inside))
        return _known(tau_b(self.means(one), self.means(other), TIED))

    def _half_width(self, n: int, seed: int) -> Floats:
        from scipy import special

        blocks = self.queries // (2 * n)
        if blocks < 2:
            return np.full(self.measures, np.nan)
        generator = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, n, self.queries])))
        variance = np.zeros(self.measures)
        for _ in range(SHUFFLES):
            cut = generator.permutation(self.queries)[: blocks * 2 * n].reshape(blocks, 2 * n)
            variance += self._between(cut, np.tile(np.arange(n), (blocks, 1))).var(axis=0, ddof=1) / blocks
        half: Floats = special.stdtrit(blocks - 1, 0.975) * np.sqrt(variance / SHUFFLES)
        return half


def _known(tau: Floats) -> Floats:
    """Count subsamples in which all systems tie as τ = 0."""
    known: Any = np.where(np.isnan(tau), 0.0, tau)
    return np.asarray(known, np.float64)


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
    tau_ap : ndarray
        The same with τ_ap, which weights the top more.
    split : ndarray
        Mean τ-b between two sets of n queries that share none; NaN where the pool is too small.
    split_limits : ndarray
        Limits of its 95% interval, ``[limit, measure, size]``; NaN where the pool is too small.
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
    tau_ap: Floats = field(repr=False)
    split: Floats = field(repr=False)
    split_limits: Floats = field(repr=False)
    subsamples: int
    seed: int
    remarks: tuple[str, ...] = ()
    clusters: int | None = None

    made_with = ("sizes", "subsamples", "clusters", "seed")

    def to_polars(self) -> pl.DataFrame:
        """Return one row per measure and size.

        Returns
        -------
        polars.DataFrame
            Columns measure, n, tau, tau_ap, split, split_low, split_high.

        Examples
        --------
        >>> import rankdev as rd
        >>> values = np.random.default_rng(1).random((3, 50, 1)) + [[[0.0]], [[1.0]], [[2.0]]]
        >>> scores = rd.Scores(("a", "b", "c"), tuple(map(str, range(50))), ("P@1",), values)
        >>> found = rd.stability(scores, sizes=[5, 10], subsamples=20)
        >>> found.to_polars().select("n", "tau").rows()
        [(5, 1.0), (10, 1.0)]
        """
        names = pl.Series(self.measures, dtype=pl.String).gather(np.repeat(range(len(self.measures)), len(self.sizes)))
        columns: dict[str, Any] = {"measure": names, "n": np.tile(self.sizes, len(self.measures))}
        columns |= {"tau": self.tau, "tau_ap": self.tau_ap, "split": self.split}
        columns |= {"split_low": self.split_limits[0], "split_high": self.split_limits[1]}
        flat = {name: x if name == "measure" else np.ravel(x) for name, x in columns.items()}
        return pl.DataFrame(flat).fill_nan(None)

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
        columns |= {"auc": self._area(), "n_at_0.8": self._first(self.tau)}
        columns |= {f"split_{n}": self.split[:, self.sizes.index(n)] for n in wanted}
        columns["split_at_0.8"] = self._first(self.split)
        return pl.DataFrame({"measure": list(self.measures), **columns}).fill_nan(None)

    def _first(self, values: Floats) -> Floats:
        reached = values >= 0.8
        return np.where(reached.any(axis=1), np.array(self.sizes)[reached.argmax(axis=1)], np.inf)

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
    remarks: list[Note] = []
    plan = fitting(sizes, design.drawn, design.unit, remarks)
    for remark in remarks:
        warn(remark)
    tau, ap, split, low, high = np.full((5, len(names), len(plan)), np.nan)
    for panel in design.drawn:
        orders = Orders(panel)
        for i, n in enumerate(plan):
            cell = (list(panel.places), i)
            if n <= len(panel.queries):
                tau[cell], ap[cell] = orders.with_all(n, subsamples, seed)
            if 2 * n <= len(panel.queries):
                split[cell], low[cell], high[cell] = orders.halves(n, subsamples, seed)
    found = Stability(
        measures=names,
        sizes=plan,
        tau=tau,
        tau_ap=ap,
        split=split,
        split_limits=np.stack([low, high]),
        subsamples=subsamples,
        seed=seed,
        remarks=(*remarks, *design.on_clusters(COUNTED), *design.notes),
        clusters=None if clusters is None else pool,
    )
    first = dict(zip(names, found._first(found.tau).tolist(), strict=True))
    return replace(found, remarks=(*found.remarks, *at_most("n_at_0.8", plan, first, pool)))
