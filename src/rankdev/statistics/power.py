"""Power by subsampling: the fraction of subsamples of n queries in which a pair differs significantly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl

from rankdev._common.arrays import Bools, Floats, Ints
from rankdev._common.checks import check_flag, check_number, check_seed, check_whole
from rankdev._common.view import Curves, Tab, View
from rankdev._common.work import Progress
from rankdev.errors import Note, UsageError
from rankdev.evaluation.scores import Scores, ScoresLike
from rankdev.statistics.decision import fewest
from rankdev.statistics.design import (
    COUNTED,
    Design,
    OfDrawnQueries,
    Panel,
    crossed,
    in_pairs,
    reaching,
    smallest_is_enough,
)
from rankdev.statistics.flips import Loops, PValue, count_extremes, loops, most_extremes, stream_keys
from rankdev.statistics.pairs import Family
from rankdev.statistics.t_power import effect_limits, power_of
from rankdev.statistics.tests import fewest_differing, fewest_p

SHARE = 0.25  # of the queries, above which subsamples overlap too much
UNKNOWN = 0.05  # smallest p of a sign test above which a pool does not tell the effect of a pair


@dataclass(frozen=True, eq=False, kw_only=True)
class Power(OfDrawnQueries):
    """Power of every measure, pair of systems and number of queries.

    Attributes
    ----------
    systems : tuple of str
        Systems whose pairs were tested.
    measures : tuple of str
        Measures that were compared.
    sizes : tuple of int
        Numbers of queries n.
    power : ndarray
        Fraction of subsamples that reject, ``[measure, pair, size]``; NaN where a measure has fewer queries than n.
    rejected : ndarray
        Pairs that differ significantly on all queries, ``[measure, pair]``.
    queries : tuple of int
        Queries of each measure.
    subsamples, permutations : int
        Subsamples of each size, and sign flips per test.
    alpha : float
        Level of the tests.
    p_value : {"plus-one", "paper"}
        How p is computed from the number of extreme flips.
    seed : int
        Seed of subsamples and flips.
    complete : bool
        False after an interruption.
    remarks : tuple of str
        Notes on the sizes and the scores.
    replacement : bool
        Whether queries were drawn with replacement.
    limits : ndarray
        95% limits of the power of each pair, given the pool, ``[limit, measure, pair, size]``: those of the
        standardised effect (noncentral t), turned into power.
    replaced : ndarray
        Power with replacement at sizes above a quarter of the queries, in the layout of ``power``; else NaN.
    clusters : int, optional
        Clusters of queries that were drawn and flipped whole: n and ``queries`` count clusters then.

    See Also
    --------
    power : Returns it.
    """

    view: ClassVar = View(
        [
            Tab(
                "Power at {n:,} {unit} over {pairs:pair}",
                ("measure", "power", "low", "p10", "p50", "p90", "replaced", "n80"),
                frame="_at_usual",
                digits=3,
            ),
        ],
        "power",
        opening=["{conclusion}"],
        closing=[
            (
                "Paired randomization tests at level {alpha:g}, {permutations:,} sign flips, {subsamples:,} subsamples",
                "simulation error of one pair's power: at most {largest_error:.2f}",
            ),
        ],
        more={"pairs": "_with_intervals"},
        figure=Curves("n", "power", "median power", frame="_curves", goal=0.8, again="replaced", pool="pool"),
    )

    systems: tuple[str, ...]
    measures: tuple[str, ...]
    sizes: tuple[int, ...]
    power: Floats = field(repr=False)
    rejected: Bools = field(repr=False)
    queries: tuple[int, ...]
    subsamples: int
    permutations: int
    alpha: float
    p_value: Literal["plus-one", "paper"]
    seed: int
    complete: bool
    remarks: tuple[str, ...] = ()
    replacement: bool = False
    limits: Floats = field(repr=False)
    replaced: Floats = field(repr=False)
    clusters: int | None = None

    made_with = (
        *("sizes", "subsamples", "permutations", "alpha", "p_value", "replacement"),
        *("clusters", "seed", "complete"),
    )

    @property
    def error(self) -> Floats:
        """Monte Carlo standard error of each power: ``[measure, pair, size]``."""
        return np.sqrt(self.power * (1 - self.power) / self.subsamples)

    @property
    def largest_error(self) -> float:
        """The largest standard error that any power can have with this number of subsamples."""
        return float(0.5 / np.sqrt(self.subsamples))

    @property
    def medians(self) -> Floats:
        """Median power over pairs: ``[measure, size]``."""
        return np.median(self.power, axis=1)

    @property
    def n(self) -> int:
        """The size that summaries are about: 100, or the largest below; the smallest where all are larger."""
        return max((size for size in self.sizes if size <= 100), default=min(self.sizes))

    @property
    def pairs(self) -> int:
        """Number of pairs of systems."""
        return self.power.shape[1]

    @property
    def pool(self) -> int:
        """The queries to draw from."""
        return max(self.queries)

    def _with_intervals(self) -> pl.DataFrame:
        return self.to_polars(intervals=True)

    def _at_usual(self) -> pl.DataFrame:
        """Return the percentiles over pairs at the usual size; the power of a single pair with its interval."""
        size = self.sizes.index(self.n)
        frame = self.summary(self.n).with_columns(replaced=np.median(self.replaced[:, :, size], axis=1))
        if self.pairs == 1:  # of several, no interval of a percentile is known to hold
            low, high = self.limits[:, :, 0, size]
            frame = frame.rename({"p50": "power"}).drop("p10", "p90").with_columns(low=low, high=high)
        return frame.fill_nan(None)

    def _curves(self) -> pl.DataFrame:
        """Return the medians over pairs at each size; the power of a single pair with its interval."""
        columns = {"power": self.medians, "replaced": np.median(self.replaced, axis=1)}
        if self.pairs == 1:
            columns |= {"low": self.limits[0, :, 0], "high": self.limits[1, :, 0]}
        frame = crossed({"measure": self.measures}, {"n": self.sizes})
        return frame.with_columns(pl.Series(name, values.ravel()) for name, values in columns.items()).fill_nan(None)

    def to_polars(self, intervals: bool = False) -> pl.DataFrame:
        """Return one row per measure, pair and size.

        Parameters
        ----------
        intervals : bool, default False
            Add 95% limits of each power, its Monte Carlo standard error, and power with replacement, which is
            simulated at sizes above a quarter of the queries.

        Returns
        -------
        polars.DataFrame
            Columns measure, a, b, n, power; with ``intervals`` low, high, error, replaced.

        Examples
        --------
        >>> import rankdev as rd
        >>> values = np.random.default_rng(1).random((2, 80, 1)) + [[[0.0]], [[0.5]]]
        >>> scores = rd.Scores(("a", "b"), tuple(map(str, range(80))), ("P@1",), values)
        >>> found = rd.power(scores, sizes=[5, 10, 20], subsamples=50)
        >>> found.to_polars().select("n", "power").rows()
        [(5, 0.0), (10, 0.84), (20, 1.0)]
        """
        frame = crossed({"measure": self.measures}, in_pairs(self.systems), {"n": self.sizes})
        frame = frame.with_columns(power=self.power.ravel())
        if intervals:
            more = {"low": self.limits[0], "high": self.limits[1], "error": self.error, "replaced": self.replaced}
            frame = frame.with_columns(pl.Series(name, values.ravel()) for name, values in more.items())
        return frame.fill_nan(None)

    def summary(self, n: int | None = None) -> pl.DataFrame:
        """Summarise power over pairs.

        Parameters
        ----------
        n : int, optional
            Number of queries. Default: 100, or the largest size below.

        Returns
        -------
        polars.DataFrame
            Columns measure, p10, p50, p90 (percentiles of power at n), n80 (median over pairs of the first size with
            power at least 0.8; infinite where no size that was simulated reaches it).

        Examples
        --------
        >>> import rankdev as rd
        >>> values = np.random.default_rng(1).random((2, 80, 1)) + [[[0.0]], [[0.5]]]
        >>> scores = rd.Scores(("a", "b"), tuple(map(str, range(80))), ("P@1",), values)
        >>> found = rd.power(scores, sizes=[5, 10, 20], subsamples=50)
        >>> found.summary(10).select("p50", "n80").row(0)
        (0.84, 10.0)
        """
        n = self.n if n is None else n
        if n not in self.sizes:
            raise UsageError("not-a-choice", name="size", value=n, near=None, known=self.sizes)
        size = self.sizes.index(n)
        levels = np.quantile(self.power[:, :, size], [0.1, 0.5, 0.9], axis=1)
        columns = {"p10": levels[0], "p50": levels[1], "p90": levels[2], "n80": self.n80()}
        return pl.DataFrame({"measure": list(self.measures), **columns}).fill_nan(None)

    @property
    def conclusion(self) -> str:
        """Which measures need the fewest queries for a power of 0.8."""
        needed = dict(zip(self.measures, self.n80().tolist(), strict=True))
        return fewest("power", needed, self.sizes, self.unit, " (median over pairs)" if self.pairs > 1 else "")

    def n80(self) -> Floats:
        """Return the median over pairs of the first size with power at least 0.8, for each measure.

        Returns
        -------
        ndarray
            One number of queries per measure; infinite where no size reaches it.

        Examples
        --------
        >>> import rankdev as rd
        >>> values = np.random.default_rng(1).random((2, 80, 1)) + [[[0.0]], [[0.5]]]
        >>> scores = rd.Scores(("a", "b"), tuple(map(str, range(80))), ("P@1",), values)
        >>> found = rd.power(scores, sizes=[5, 10, 20], subsamples=50)
        >>> found.n80().tolist()
        [10.0]
        """
        ranked = np.sort(reaching(self.power, self.sizes), axis=1)
        middle: Floats = (ranked[:, (self.pairs - 1) // 2] + ranked[:, self.pairs // 2]) / 2
        return middle

    def verdicts(self) -> dict[str, int]:
        """Count the pairs that differ significantly on all queries under all, most (over half), any or no measures.

        Returns
        -------
        dict of str to int
            Keys pairs, all, most, any, none.

        Examples
        --------
        >>> import rankdev as rd
        >>> values = np.random.default_rng(1).random((2, 80, 1)) + [[[0.0]], [[0.5]]]
        >>> scores = rd.Scores(("a", "b"), tuple(map(str, range(80))), ("P@1",), values)
        >>> found = rd.power(scores, sizes=[5, 10, 20], subsamples=50)
        >>> found.verdicts()
        {'pairs': 1, 'all': 1, 'most': 1, 'any': 1, 'none': 0}
        """
        votes = self.rejected.sum(axis=0)
        measures = len(self.measures)
        return {
            "pairs": len(votes),
            "all": int((votes == measures).sum()),
            "most": int((votes > measures / 2).sum()),
            "any": int((votes > 0).sum()),
            "none": int((votes == 0).sum()),
        }


def power(
    scores: ScoresLike,
    *,
    sizes: Sequence[int] | None = None,
    measures: Sequence[str] | None = None,
    subsamples: int = 300,
    permutations: int = 1000,
    alpha: float = 0.05,
    p_value: PValue = "plus-one",
    replacement: bool = False,
    clusters: Mapping[str, Any] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Power:
    """Estimate the power of the randomization test for every measure, pair of systems and number of queries.

    For each size n, subsamples of n queries are drawn and each pair is tested; power is the fraction of subsamples that
    reject at ``alpha``, uncorrected. At sizes above a quarter of the queries, subsamples overlap so much that they tell
    little about new queries: power with replacement is simulated there, too. Interrupting (Ctrl-C) returns the sizes
    that are done, marked as not complete.

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
    permutations : int, default 1000
        Sign flips per test. All flips where there are no more than that.
    alpha : float, default 0.05
        Level of the tests.
    p_value : {"plus-one", "paper"}
        How p is computed from b extreme flips among B: (b + 1)/(B + 1), or b/B as in the RDQ paper.
    replacement : bool, default False
        Draw queries with replacement. That is as new queries would be.
    clusters : dict of str to str, optional
        The cluster of each query, as in :func:`significance`. Whole clusters are then drawn and flipped, and
        sizes are numbers of clusters.
    seed : int, default 0
        Seed of subsamples and flips.
    progress : callable, optional
        ``progress(done, total, note)``, in additions.

    Returns
    -------
    Power
        Power by measure, pair and size.

    Examples
    --------
    >>> import rankdev as rd
    >>> values = np.random.default_rng(1).random((2, 80, 1)) + [[[0.0]], [[0.5]]]
    >>> scores = rd.Scores(("a", "b"), tuple(map(str, range(80))), ("P@1",), values)
    >>> rd.power(scores, sizes=[5, 10, 20], subsamples=50).to_polars()["power"].to_list()
    [0.0, 0.84, 1.0]
    """
    subsamples, permutations = check_whole("subsamples", subsamples, 1), check_whole("permutations", permutations, 1)
    alpha, seed = check_number("alpha", alpha, 0, 1), check_seed(seed)
    replacement = check_flag("replacement", replacement)
    most_extremes(permutations, alpha, p_value)  # refuses an unknown p_value
    design = Design.of(scores, measures, clusters=clusters)
    scores, groups, pool, unit = design.scores, design.drawn, design.pool, design.unit
    plan, remarks = design.sizes(sizes, replacement)
    small = [n for n in plan if n < fewest_differing(alpha)]
    large = tuple(n for n in plan if n > SHARE * pool and not replacement)
    remarks += [Note("cannot-reject", size=small[-1], alpha=alpha, unit=unit)] if small else []
    remarks += [Note("large-share", size=large[0], count=pool, unit=unit)] if large else []
    asked = [(n, replacement) for n in plan] + [(n, True) for n in large]
    count = len(scores.systems) * (len(scores.systems) - 1) // 2
    columns = sum(n * len(panel.places) for panel in groups for n, _ in asked)
    cost = float(len(scores.systems) * subsamples * permutations)  # of a column, in additions
    tests = len(scores.measures) * len(asked) * count * subsamples
    report = progress or (lambda done, total, note: None)
    report(0.0, cost * columns, f"{tests:,} tests, {cost * columns:.1e} additions")
    by = loops(float(tests) * permutations + cost * columns / 8)
    flips = Flips(permutations=permutations, alpha=alpha, p_value=p_value, seed=seed, by=by)
    rejected = np.zeros((len(scores.measures), count), bool)
    for panel in groups:
        rejected[list(panel.places)] = flips.rejections(panel, len(panel.queries), 1, False) > 0
    found = np.full((2, *rejected.shape, len(plan)), np.nan)  # as asked, and again with replacement
    done, steps = 0.0, 0
    try:
        for n, replaced in asked:
            for panel in groups:
                if replaced or n <= len(panel.queries):
                    part = flips.rejections(panel, n, subsamples, replaced) / subsamples
                    found[int(steps >= len(plan)), list(panel.places), :, plan.index(n)] = part
            done += cost * n * len(scores.measures)
            report(done, cost * columns, f"n = {n}")
            steps += 1
    except KeyboardInterrupt:
        if not steps:
            raise
        remarks.append(Note("interrupted"))
    finished = plan[:steps]
    first, again = found[..., : len(finished)]
    sizes_of = {place: len(panel.queries) for panel in groups for place in panel.places}
    simulated = Power(
        systems=scores.systems,
        measures=scores.measures,
        sizes=finished,
        power=first,
        rejected=rejected,
        queries=tuple(sizes_of[place] for place in range(len(scores.measures))),
        subsamples=subsamples,
        permutations=permutations,
        alpha=alpha,
        p_value=p_value,
        seed=seed,
        complete=steps == len(asked),
        remarks=(*remarks, *design.on_clusters(COUNTED), *design.notes),
        replacement=replacement,
        limits=_limits(groups, finished, scores, alpha),
        replaced=again,
        clusters=None if clusters is None else pool,
    )
    needed = dict(zip(scores.measures, simulated.n80().tolist(), strict=True))
    beyond = [measure for measure, size in needed.items() if size == np.inf]
    more = [Note("beyond-sizes", measures=beyond, size=finished[-1], unit=unit)] if beyond else []
    return replace(simulated, remarks=(*simulated.remarks, *smallest_is_enough("n80", finished, needed, pool), *more))


@dataclass(frozen=True, kw_only=True)
class Flips:
    """How subsamples are tested: by so many sign flips, at a level, with what is fastest."""

    permutations: int
    alpha: float
    p_value: PValue
    seed: int
    by: Loops

    def rejections(self, panel: Panel, n: int, subsamples: int, replace: bool) -> Ints:
        """Count the subsamples of n queries that reject: ``[measure, pair]``."""
        # enumerating the flips of a few queries takes no more work than drawing, and is exact
        exact = 2 ** (n - 1) <= self.permutations
        flips = 2 ** (n - 1) if exact else self.permutations
        most = most_extremes(flips, self.alpha, "paper" if exact else self.p_value)
        keys = stream_keys(self.seed, n, subsamples)
        counts = count_extremes(panel.values, n, keys, flips, self.by, replace=replace, exact=exact)
        rejected: Ints = (counts <= most).sum(axis=0).T
        return rejected


def _limits(groups: list[Panel], sizes: tuple[int, ...], scores: Scores, alpha: float) -> Floats:
    """Return 95% limits of each pair's power, given the pool: ``[limit, measure, pair, size]``.

    From 0 to 1 where too few queries differ for any sign test to reject.
    """
    first, second = np.triu_indices(len(scores.systems), 1)
    found = np.full((2, len(scores.measures), len(first), len(sizes)), np.nan)
    for panel in groups:
        for m, place in enumerate(panel.places):
            family = Family(np.ascontiguousarray(panel.values[:, :, m]), panel.queries, first, second)
            effects, pool = family.statistics["effect"], len(panel.queries)
            unknown = (fewest_p(family) > UNKNOWN) | ~np.isfinite(effects)
            ends = np.stack(effect_limits(np.where(unknown, 0.0, effects), pool))
            for i, n in enumerate(sizes):
                found[:, place, :, i] = np.where(unknown, [[0.0], [1.0]], power_of(n, alpha)(ends))
    return found
