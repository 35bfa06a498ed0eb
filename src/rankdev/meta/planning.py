"""How many queries do I need? An answer from a pilot, with the pilot's own uncertainty."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from rankdev.errors import DataError
from rankdev.evaluation.scores import Floats, Scores
from rankdev.meta.common_queries import as_scores, check_number, check_whole, panels
from rankdev.results import Result

if TYPE_CHECKING:
    import polars as pl

LIMIT = 10**7  # queries above which an answer is 'more than anyone has'
RESAMPLED_LIMIT = 10_000  # queries up to which resampling is tried
RESAMPLES = 2000
SUMMARY = (
    *("a", "b", "measure", "pilot", "observed", "deviation", "difference"),
    *("queries", "low", "high", "resampled", "detectable"),
)
ROUNDING = 1e-12  # spread up to which differences are equal


@dataclass(frozen=True, eq=False)
class Plan(Result):
    """Queries needed to tell two systems apart, and what the pilot can tell by itself.

    ``queries`` is the analytic answer (noncentral t) for ``difference``, between ``low`` and ``high`` given
    the pilot's uncertainty; ``resampled`` is the answer by resampling the pilot with replacement, none
    where it would need too many queries. ``detectable`` is the smallest difference that the pilot's own
    number of queries would detect. Answers beyond ten million are infinite.
    """

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
    resampled: float | None
    detectable: float
    curve: tuple[Floats, Floats, Floats] = field(repr=False)
    power: float
    alpha: float
    seed: int
    remarks: tuple[str, ...] = ()

    made_with = ("a", "b", "measure", "difference", "power", "alpha", "seed")

    def to_polars(self) -> pl.DataFrame:
        """One row a number of queries: n, the analytic power and the power by resampling."""
        import polars as pl

        sizes, analytic, resampled = self.curve
        columns = {"n": sizes.astype(np.int64), "analytic": analytic, "resampled": resampled}
        return pl.DataFrame(columns).fill_nan(None)

    def summary(self) -> pl.DataFrame:
        """One row with the answer: the systems, the measure, the pilot, the queries needed and their interval."""
        import polars as pl

        return pl.DataFrame({name: [getattr(self, name)] for name in SUMMARY})


def plan(
    scores: Scores | Any,
    a: str,
    b: str,
    measure: str,
    *,
    difference: float | None = None,
    power: float = 0.8,
    alpha: float = 0.05,
    seed: int = 0,
) -> Plan:
    """Plan the number of queries for a paired two-sided comparison of systems ``a`` and ``b``.

    ``difference`` is the smallest difference of means that matters; without it the pilot's own is taken,
    which makes the interval much wider because that difference is itself uncertain.

    >>> rng = np.random.default_rng(0)
    >>> values = rng.normal(0.5, 0.1, (2, 40, 1))
    >>> scores = Scores(("a", "b"), tuple(map(str, range(40))), ("P@5",), values)
    >>> found = plan(scores, "a", "b", "P@5", difference=0.05)
    >>> found.queries, found.low < found.queries < found.high
    (63.0, True)
    """
    alpha, seed = check_number("alpha", alpha, 0, 1), check_whole("seed", seed, 0)
    power = check_number("power", power, alpha, 1)
    apart = _pilot(as_scores(scores, [measure]).select(systems=[a, b]))
    observed, deviation = float(apart.mean()), float(apart.std(ddof=1))
    if difference is not None:
        difference = check_number("difference", difference, 0)
    elif abs(observed) < 1e-12:
        raise DataError(f"the pilot shows no difference between {a} and {b}; say which matters: difference=")
    target = abs(observed) if difference is None else difference
    low, high = bounded_effect(apart, difference, seed)
    effect = target / deviation if deviation > 1e-12 * target else np.inf
    queries = queries_for(effect, power, alpha)
    # moved to the difference that matters, the better system first, so that skew stays on its side
    shifted = target + (apart - observed) * (-1.0 if observed < 0 else 1.0)
    draws = _Resampling(shifted, alpha, seed)
    return Plan(
        a,
        b,
        measure,
        len(apart),
        observed,
        deviation,
        target,
        queries,
        queries_for(high, power, alpha),
        queries_for(low, power, alpha),
        draws.queries_for(power, queries),
        detectable_effect(len(apart), power, alpha) * deviation,
        draws.curve(effect, queries),
        power,
        alpha,
        seed,
    )


def t_power(n: float, effect: float, alpha: float) -> float:
    """Give the power of the two-sided paired t-test with n queries at a standardised effect.

    The noncentral t-distribution is integrated over the spread that a sample may show, because library
    routines for it return NaN at large effects.
    """
    from scipy import special

    nodes, weights = _nodes()
    spread = np.sqrt(2 * special.gammaincinv((n - 1) / 2, (nodes + 1) / 2) / (n - 1))
    need = special.stdtrit(n - 1, 1 - alpha / 2) * spread
    shift = effect * np.sqrt(n)
    return float(weights @ (special.ndtr(shift - need) + special.ndtr(-shift - need)) / 2)


@cache
def _nodes() -> tuple[Floats, Floats]:
    return np.polynomial.legendre.leggauss(200)


def queries_for(effect: float, power: float, alpha: float) -> float:
    """Give the smallest number of queries with that power, infinite above ten million.

    >>> queries_for(0.5, 0.8, 0.05)  # as in tables of Cohen (1988)
    34.0
    """
    return smallest(lambda n: t_power(n, effect, alpha) >= power, 2, LIMIT)


def detectable_effect(n: int, power: float, alpha: float) -> float:
    """Give the smallest standardised effect that n queries detect with that power."""
    from scipy import optimize

    return float(optimize.brentq(lambda effect: t_power(n, effect, alpha) - power, 0.0, 1e3))


def smallest(holds: Any, low: int, limit: int) -> float:
    """Find the first n for which something that stays true becomes true: doubling, then halving.

    Simulated power is not quite monotone at small n, so that something must hold at 2n as well.
    """
    high = low
    while not (holds(high) and holds(2 * high)):
        low, high = high, 2 * high
        if high > limit:
            return np.inf
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return float(high)


def _pilot(scores: Scores) -> Floats:
    values = panels(scores)[0].values[:, :, 0]
    if len(values) < 3:
        raise DataError(f"a pilot needs at least 3 queries that both systems answer; got {len(values)}")
    apart: Floats = values[:, 0] - values[:, 1]
    return apart


def bounded_effect(apart: Floats, difference: float | None, seed: int) -> tuple[float, float]:
    """Bound the standardised effect (2.5% and 97.5%) by resampling the pilot's queries."""
    generator = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, 0])))
    drawn = apart[generator.integers(0, len(apart), (RESAMPLES, len(apart)))]
    means = np.abs(drawn.mean(axis=1)) if difference is None else np.full(RESAMPLES, difference)
    # a resample repeats queries, so its spread is too small by (n − 1)/n on average
    spread = drawn.std(axis=1, ddof=1) * np.sqrt(len(apart) / (len(apart) - 1))
    varied = spread > ROUNDING
    if not varied.any():
        return np.inf, np.inf
    # equal differences tell nothing about the spread, but none at all still tell that there may be no effect
    effects = np.divide(means, spread, out=np.zeros(RESAMPLES), where=varied)[varied | (means < ROUNDING)]
    low, high = np.quantile(effects, [0.025, 0.975], method="nearest")
    return float(low), float(high)


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
            told = np.abs(drawn.mean(axis=1)) > critical * spread / np.sqrt(n)
            hits += int((told & (constant | (spread > ROUNDING))).sum())
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
