"""How many queries does a comparison need? Estimated from a pilot, with the pilot's own uncertainty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, overload

import numpy as np
import polars as pl
from scipy import special

from rankdev._common.arrays import Floats
from rankdev._common.cautions import warn
from rankdev._common.checks import FINEST, check_number, check_seed, is_number
from rankdev.errors import DataError, UsageError, counted, shown
from rankdev.evaluation.scores import ScoresLike
from rankdev.statistics.bounded_mean import CAUTIOUS, SPARSE, Unseen, most_common, upper
from rankdev.statistics.contrasts import Family, families_of
from rankdev.statistics.panels import OfDrawnQueries, about_clusters, as_scores, carried
from rankdev.statistics.power.student import LIMIT, detectable_effect, queries_for, smallest, t_power
from rankdev.statistics.replicates import ReplicatePlan, plan_with_runs
from rankdev.statistics.topic_set_size import TopicSetSize, topic_set_size

RESAMPLED_LIMIT = 10_000  # queries up to which resampling is tried
RESAMPLES = 2000
SUMMARY = (
    *("a", "b", "measure", "pilot", "observed", "deviation", "difference"),
    *("queries", "low", "high", "assured", "resampled", "detectable"),
)
SMALLEST = 10  # queries of a pilot from which its interval holds in simulations
ASSURANCE = 0.07  # level whose lower limit holds in 90% of pilots, skewed ones such as those of AP@5 included
HEAVY = 8.0  # kurtosis above which its coverage is below the nominal level in simulations
ROUNDING = 1e-12  # spread up to which differences are equal
TELLING = 5  # queries with another difference than most from which on a pilot can tell


@dataclass(frozen=True, eq=False, kw_only=True)
class Plan(OfDrawnQueries):
    """Queries needed to detect a difference between two systems. Answers beyond ten million are infinite.

    Attributes
    ----------
    a, b : str
        The systems.
    measure : str
        The measure they are compared by.
    pilot : int
        Queries of the pilot; with clusters their number, and so are all answers.
    observed : float
        Mean difference a − b in the pilot.
    deviation : float
        Standard deviation of the differences in the pilot.
    difference : float
        The difference to detect.
    queries : float
        Queries needed (noncentral t); NaN where the pilot cannot tell, because its systems differ on too few queries.
    low, high : float
        95% interval of that number, given the uncertainty of the pilot; high is infinite where the pilot cannot
        exclude that there is no difference, or cannot tell.
    assured : float
        Queries at which the power is reached with 90% confidence, not only on average.
    resampled : float or None
        Queries needed by resampling the pilot with replacement; None where these would be too many.
    detectable : float
        Smallest difference that the pilot's own number of queries would detect.
    curve : tuple of ndarray
        Numbers of queries, and their power by both methods.
    power : float
        Power to reach.
    alpha : float
        Level of the test.
    seed : int
        Seed of the resampling.
    remarks : tuple of str
        Notes on the pilot.
    clusters : int, optional
        Clusters of queries in the pilot, where it has any.

    See Also
    --------
    plan : Returns it.
    """

    display: ClassVar = "rankdev.display.power"

    a: str
    b: str
    measure: str
    pilot: int
    observed: float
    deviation: float
    difference: float
    queries: float
    low: float
    high: float
    assured: float
    resampled: float | None
    detectable: float
    curve: tuple[Floats, Floats, Floats] = field(repr=False)
    power: float
    alpha: float
    seed: int
    remarks: tuple[str, ...] = ()
    clusters: int | None = None

    made_with = ("a", "b", "measure", "difference", "power", "alpha", "clusters", "seed")

    def to_polars(self) -> pl.DataFrame:
        """Return the power for numbers of queries around the one needed.

        Returns
        -------
        polars.DataFrame
            Columns n, analytic, resampled.

        Examples
        --------
        >>> import rankdev as rd
        >>> values = np.random.default_rng(0).normal(0.5, 0.1, (2, 40, 1))
        >>> scores = rd.Scores(("a", "b"), tuple(map(str, range(40))), ("P@5",), values)
        >>> found = rd.plan(scores, "a", "b", "P@5", difference=0.05)
        >>> found.to_polars()["n"].to_list()
        [16, 32, 47, 63, 94, 126]
        """
        sizes, analytic, resampled = self.curve
        columns = {"n": sizes.astype(np.int64), "analytic": analytic, "resampled": resampled}
        return pl.DataFrame(columns).fill_nan(None)

    def summary(self) -> pl.DataFrame:
        """Return the plan in one row.

        Returns
        -------
        polars.DataFrame
            Columns a, b, measure, pilot, observed, deviation, difference, queries, low, high, assured, resampled,
            detectable.

        Examples
        --------
        >>> import rankdev as rd
        >>> values = np.random.default_rng(0).normal(0.5, 0.1, (2, 40, 1))
        >>> scores = rd.Scores(("a", "b"), tuple(map(str, range(40))), ("P@5",), values)
        >>> found = rd.plan(scores, "a", "b", "P@5", difference=0.05)
        >>> found.summary().select("a", "b", "queries").row(0)
        ('a', 'b', 63.0)
        """
        return pl.DataFrame({name: [getattr(self, name)] for name in SUMMARY}).fill_nan(None)


@overload
def plan(
    scores: ScoresLike,
    a: str,
    b: str,
    measure: str,
    *,
    difference: float | None = None,
    power: float = 0.8,
    alpha: float = 0.05,
    clusters: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> Plan: ...


@overload
def plan(
    scores: ScoresLike,
    a: str,
    b: str,
    measure: str,
    *,
    difference: float,
    replicates: Mapping[str, Sequence[str]],
    power: float = 0.8,
    alpha: float = 0.05,
) -> ReplicatePlan: ...


@overload
def plan(
    scores: ScoresLike | Mapping[str, ScoresLike] | None = None,
    *,
    measure: str | Sequence[str] | None = None,
    difference: float | Sequence[float] | None = None,
    width: float | Sequence[float] | None = None,
    variance: float | None = None,
    systems: int | Sequence[int] = 2,
    correlation: float | None = None,
    power: float = 0.8,
    alpha: float = 0.05,
) -> TopicSetSize: ...


def plan(
    scores: ScoresLike | Mapping[str, ScoresLike] | None = None,
    a: str | None = None,
    b: str | None = None,
    measure: str | Sequence[str] | None = None,
    *,
    difference: float | Sequence[float] | None = None,
    width: float | Sequence[float] | None = None,
    variance: float | None = None,
    systems: int | Sequence[int] = 2,
    correlation: float | None = None,
    power: float = 0.8,
    alpha: float = 0.05,
    clusters: Mapping[str, Any] | None = None,
    replicates: Mapping[str, Sequence[str]] | None = None,
    seed: int = 0,
) -> Plan | ReplicatePlan | TopicSetSize:
    """Estimate how many queries a comparison of two systems, or a new collection, needs.

    With systems ``a`` and ``b`` the scores are a pilot of their paired two-sided comparison, of at least 10 queries.
    A pilot that has the same difference (most often 0) on all but four queries or fewer cannot tell: there is a lower
    limit then, and no upper one.
    Without them the answer is for a new collection (topic set size design), and follows from the variance of scores.

    Parameters
    ----------
    scores : Scores, table, or dict of str to either, optional
        Scores of the pilot; or scores to estimate the variance from, of one collection or of several by name, which
        may hold different systems.
    a : str, optional
        The first of two systems to compare.
    b : str, optional
        The second.
    measure : str or sequence of str, optional
        One measure for a pair; for a collection those to plan for, by default all.
    difference : float or sequence of float, optional
        Smallest difference of means that matters. For a pair the default is the observed one, which makes the interval
        much wider because it is itself uncertain. With more than two ``systems`` it is the one between the best and
        the worst (analysis of variance; Student's t for two).
    width : float or sequence of float, optional
        How wide the 1 − alpha interval of a difference may be, on average. For a collection only.
    variance : float, optional
        Variance of one system's scores over queries, in place of ``scores``. For a collection only.
    systems : int or sequence of int, default 2
        Number of systems that the collection should compare.
    correlation : float, optional
        Correlation between two systems' scores on the same queries. Default: estimated from the scores; with
        ``variance`` 0, which is conservative.
    power : float, default 0.8
        Power to reach.
    alpha : float, default 0.05
        Level of the test.
    clusters : dict of str to str, optional
        The cluster of each query, as in :func:`significance`. Answers are then numbers of clusters. For two
        systems with one run each.
    replicates : dict of str to list of str, optional
        The runs of ``a`` and ``b`` in the pilot, where they have several, such as training with several seeds: the
        answer is then the number of queries for some numbers of runs. See :func:`significance`.
    seed : int, default 0
        Seed of the resampling of a pilot.

    Returns
    -------
    Plan, ReplicatePlan or TopicSetSize
        A Plan for two systems, a ReplicatePlan for two with several runs, else a TopicSetSize.

    Examples
    --------
    >>> import rankdev as rd
    >>> values = np.random.default_rng(0).normal(0.5, 0.1, (2, 40, 1))
    >>> scores = rd.Scores(("a", "b"), tuple(map(str, range(40))), ("P@5",), values)
    >>> found = rd.plan(scores, "a", "b", "P@5", difference=0.05)
    >>> found.queries, found.low < found.queries < found.high
    (63.0, True)
    >>> rd.plan(variance=0.05, difference=0.1, systems=[2, 10]).to_polars().select("method", "same", "different").rows()
    [('t', 81.0, 80.0), ('anova', 158.0, 158.0)]
    """
    if a is None and b is None:
        for name, given in (("clusters", clusters), ("replicates", replicates)):
            if given is not None:
                raise UsageError(f"{name} is for a plan of two systems; name them, as a and b")
        if (scores is None) == (variance is None):
            raise UsageError("give scores or variance=, not both: a plan without a and b follows from either of them")
        return topic_set_size(
            scores if variance is None else variance,
            difference=() if difference is None else difference,
            width=() if width is None else width,
            systems=systems,
            correlation=correlation,
            measures=[measure] if isinstance(measure, str) else measure,
            power=power,
            alpha=alpha,
        )
    if a is None or b is None or scores is None:
        raise UsageError("a comparison is planned from a pilot's scores of two systems; name both, as a and b")
    for name, value in (("width", width), ("variance", variance), ("correlation", correlation)):
        if value is not None:
            raise UsageError(f"{name} is for plans without a pair of systems; leave it out, or a and b")
    if not isinstance(measure, str):
        raise UsageError(f"a comparison is planned for one measure; got {shown(measure)}")
    if difference is not None and not is_number(difference):
        raise UsageError(f"difference must be a number; got {shown(difference)}")
    if replicates is not None:
        if clusters is not None:
            raise UsageError("clusters and replicates cannot be combined; give one of them")
        if difference is None:
            raise UsageError("a plan with replicates needs the difference that matters: difference=")
        return plan_with_runs(
            scores, a, b, measure, replicates=replicates, difference=difference, power=power, alpha=alpha
        )
    return _of_pair(
        scores, a, b, measure, difference=difference, power=power, alpha=alpha, clusters=clusters, seed=seed
    )


def _of_pair(
    scores: Any, a: str, b: str, measure: str, *, difference: Any, power: float, alpha: float, clusters: Any, seed: int
) -> Plan:
    alpha, seed = check_number("alpha", alpha, FINEST, 1), check_seed(seed)
    power = check_number("power", power, alpha, 1)
    pair = as_scores(scores, [measure]).select(systems=[a, b])
    first, second = np.array([0]), np.array([1])
    rows = families_of(pair, first, second, clusters)[0].flipped
    apart = _pilot(rows)
    observed, deviation = float(apart.mean()), float(apart.std(ddof=1))
    if difference is not None:
        difference = check_number("difference", difference, 0, 1e9)
    elif abs(observed) < 1e-12:
        raise DataError(f"the pilot shows no difference between {a} and {b}; give the one that matters: difference=")
    target = abs(observed) if difference is None else difference
    reach = rows.reach
    low, high = bounded_effect(apart, difference, reach=reach)
    assured, _ = bounded_effect(apart, difference, ASSURANCE, reach)
    open_ended = cannot_tell(apart)
    remarks = _remarks(apart, a, b, clusters is not None)
    for remark in remarks:
        warn(remark)
    effect = target / deviation if deviation > 1e-12 * target else np.inf
    least, most = (queries_for(each, power, alpha) for each in (high, low))
    queries = min(max(queries_for(effect, power, alpha), least), most)
    # moved to the difference that matters, the better system first, so that skew stays on its side
    # and widened, because a sample's spread around its own mean is too small by (n − 1)/n
    wider = np.sqrt(len(apart) / (len(apart) - 1)) * (-1.0 if observed < 0 else 1.0)
    shifted = target + (apart - observed) * wider
    draws = _Resampling(shifted, alpha, seed)
    unknown = np.array([min(least, LIMIT)]), np.array([np.nan]), np.array([np.nan])
    return Plan(
        a=a,
        b=b,
        measure=measure,
        pilot=len(apart),
        observed=observed,
        deviation=deviation,
        difference=target,
        queries=np.nan if open_ended else queries,
        low=least,
        high=most,
        assured=queries_for(assured, power, alpha),
        resampled=None if open_ended else draws.queries_for(power, queries),
        detectable=np.nan if open_ended else detectable_effect(len(apart), power, alpha) * deviation,
        curve=unknown if open_ended else draws.curve(effect, queries),
        power=power,
        alpha=alpha,
        seed=seed,
        remarks=(*remarks, *about_clusters(pair, clusters), *carried(pair)),
        clusters=None if clusters is None else len(apart),
    )


def _remarks(apart: Floats, a: str, b: str, clustered: bool) -> tuple[str, ...]:
    one, several = ("cluster", "clusters") if clustered else ("query", "queries")
    if cannot_tell(apart):
        others = counted(len(apart) - round(float(most_common(apart[None])[1][0]) * len(apart)), one)
        return (
            f"the pilot cannot tell how many {several} are needed: {a} and {b} have the same difference on all but"
            f" {others} of {len(apart)}; a pilot with at least {TELLING} such {several} can",
        )
    kurtosis = heaviness(apart) if np.ptp(apart) > ROUNDING else 0.0
    if kurtosis <= HEAVY:
        return ()
    return (
        f"the pilot's differences have heavy tails (kurtosis {kurtosis:.1f}; normal ones have 3): the interval may be"
        f" too narrow; a pilot with more {several} would be safer",
    )


def _pilot(rows: Family) -> Floats:
    """Return the differences of a pilot's queries, or of its clusters."""
    if len(rows.values) < SMALLEST:
        several = "queries" if rows.sizes is None else "clusters"
        raise DataError(f"a pilot needs at least {SMALLEST} {several} that both systems answer; got {len(rows.values)}")
    apart: Floats = rows.values[:, 0] - rows.values[:, 1]
    return apart


def cannot_tell(apart: Floats) -> bool:
    """Check whether almost all differences are the same, so that their spread is unknown."""
    share = float(most_common(apart[None])[1][0])
    return share > SPARSE[0] and len(apart) * (1 - share) < TELLING - 0.5


def bounded_effect(
    apart: Floats, difference: float | None, alpha: float = 0.05, reach: float | None = None
) -> tuple[float, float]:
    """Return an interval of the standardised effect at that level; its lower limit is 0 where the sign is uncertain.

    For a stated difference by Bonett's interval for the deviation, with a floor under the kurtosis because few
    queries underestimate it; for the observed one by the effect's standard error, skewness and kurtosis included.
    ``reach`` is the largest possible difference: with it, sparse differences may hide larger ones.
    """
    usual = (np.inf, np.inf) if apart.std(ddof=1) <= ROUNDING else _usual_effect(apart, difference, alpha)
    if reach is None or most_common(apart[None])[1][0] <= SPARSE[0]:
        return usual
    low, high = _sparse_effect(apart, difference, alpha, reach)
    return (0.0, high) if cannot_tell(apart) else (min(low, usual[0]), max(high, usual[1]))


def _sparse_effect(apart: Floats, difference: float | None, alpha: float, reach: float) -> tuple[float, float]:
    """Bound the effect by the mean square that unseen differences allow, and by how few queries may differ."""
    n, common = len(apart), float(most_common(apart[None])[0][0])
    moved = int((apart != common).sum())
    often = float(special.betaincinv(moved + 1, n - moved, 1 - alpha / 2)) if moved < n else 1.0
    # a mean that comes from so few queries is at most so large in deviations: all of them equal
    largest = np.sqrt(often / (1 - often)) if common == 0 and often < 1 else np.inf
    unseen = Unseen.of(apart[None], -reach, reach)
    if difference is None:
        low, high = (float(limit[0]) for limit in unseen.limits(apart[None], alpha, CAUTIOUS))
        nearest = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
    else:
        nearest = difference
    squares = (apart[None] - common) ** 2
    furthest = np.maximum(np.abs(unseen.above - common), np.abs(unseen.below - common)) ** 2
    most, least = (
        sign * upper(sign * np.append(squares, end, 1), np.append(np.ones((1, n)), weight, 1), alpha / 2)[0]
        for sign, end, weight in (
            (1.0, furthest[:, None], CAUTIOUS * unseen.weight[:, None]),
            (-1.0, np.zeros((1, 1)), np.ones((1, 1))),
        )
    )
    if difference is not None and least > difference**2:
        largest = min(largest, difference / np.sqrt(least - difference**2))
    return nearest / np.sqrt(most), largest


def _usual_effect(apart: Floats, difference: float | None, alpha: float) -> tuple[float, float]:
    n, spread = len(apart), float(apart.std(ddof=1))
    if difference is not None:
        low, high = _deviation(apart, alpha)
        return difference / high, difference / low
    score = (apart - apart.mean()) / spread
    effect = abs(float(apart.mean())) / spread
    skew = float((score**3).mean()) * (1 if apart.mean() > 0 else -1)
    inflation = max(1 - skew * effect + effect**2 * (float((score**4).mean()) - 1) / 4, 0.1)
    reach = special.stdtrit(n - 1, 1 - alpha / 2) * np.sqrt(inflation / n)
    centre = (1 - 3 / (4 * n - 5)) * effect
    return max(centre - reach, 0.0), centre + reach


def _deviation(apart: Floats, alpha: float) -> tuple[float, float]:
    n, z = len(apart), special.ndtri(1 - alpha / 2)
    factor = n / (n - z)
    kurtosis = max(heaviness(apart), 3 + 2 * float(np.clip((n - 10) / 15, 0, 1)))
    middle = np.log(factor * apart.var(ddof=1))
    reach = z * factor * np.sqrt((kurtosis - (n - 3) / n) / (n - 1))
    low, high = np.exp((middle - reach) / 2), np.exp((middle + reach) / 2)
    return float(low), float(high)


def heaviness(apart: Floats) -> float:
    """Return the kurtosis (3 for normal differences) around a mean without the largest and smallest few."""
    n = len(apart)
    cut = int(n / (2 * np.sqrt(n - 4)))
    centre = np.sort(apart)[cut : n - cut].mean()
    return float(n * ((apart - centre) ** 4).sum() / ((apart - apart.mean()) ** 2).sum() ** 2)


@dataclass
class _Resampling:
    """Power by resampling the pilot's differences, moved to the difference that matters."""

    shifted: Floats
    alpha: float
    seed: int

    def power(self, n: int) -> float:
        from scipy import stats

        generator = np.random.Generator(np.random.Philox(np.random.SeedSequence([self.seed, 1, n])))
        critical = stats.t.ppf(1 - self.alpha / 2, n - 1)
        step = max(1, 2**22 // n)
        constant = np.ptp(self.shifted) <= ROUNDING
        hits = 0
        for start in range(0, RESAMPLES, step):
            picks = generator.integers(0, len(self.shifted), (min(step, RESAMPLES - start), n))
            drawn = self.shifted[picks]
            spread = drawn.std(axis=1, ddof=1)
            # a few equal differences of a pilot that varies are chance, not certainty
            rejected = np.abs(drawn.mean(axis=1)) > critical * spread / np.sqrt(n)
            hits += int((rejected & (constant | (spread > ROUNDING))).sum())
        return hits / RESAMPLES

    def queries_for(self, power: float, analytic: float) -> float | None:
        if analytic > RESAMPLED_LIMIT:
            return None
        return smallest(lambda n: self.power(n) >= power, 2, 4 * RESAMPLED_LIMIT)

    def curve(self, effect: float, queries: float) -> tuple[Floats, Floats, Floats]:
        middle = min(queries, LIMIT)
        sizes = np.unique(np.maximum(2, np.rint(np.array([0.25, 0.5, 0.75, 1, 1.5, 2]) * middle)))
        analytic = np.array([t_power(n, effect, self.alpha) for n in sizes])
        resampled = [self.power(int(n)) if n <= RESAMPLED_LIMIT else np.nan for n in sizes]
        return sizes, analytic, np.array(resampled)
