"""Each function simulates one claim again and again and reports how often it held."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

import rankdev as rd
from rankdev import results
from rankdev.statistics._pilot import bounded_effect
from rankdev.statistics.contrasts import Family
from rankdev.statistics.corrections import simultaneous
from rankdev.statistics.paired import TESTS, Drawing
from rankdev.statistics.planning import ASSURANCE
from rankdev.statistics.power.student import queries_for, t_power
from rankdev.statistics.rank_correlation import tau_ap, tau_b, tau_limits
from rankdev.studies.simulation import simulate

ALPHA = 0.05
KINDS: dict[str, Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]] = {
    "normal": lambda rng, size: rng.normal(0, 1, size),
    "exponential": lambda rng, size: rng.exponential(1, size) - 1,
    "discrete": lambda rng, size: rng.integers(-2, 3, size) / 2,
    "tied": lambda rng, size: np.where(rng.random(size) < 0.5, 0.0, rng.normal(0, 1, size)),
}


@dataclass(frozen=True)
class Finding:
    """How often something held in some setting; ``goal`` is what it should be at least (or at most)."""

    claim: str
    setting: str
    held: float
    trials: int
    goal: float
    at_most: bool = False

    @property
    def error(self) -> float:
        return float(np.sqrt(max(self.held * (1 - self.held), 0.05 * 0.95) / self.trials))

    @property
    def fine(self) -> bool:
        """Whether the goal is reached, within four Monte Carlo errors."""
        apart = self.held - self.goal
        return (-apart if self.at_most else apart) > -4 * self.error


def family(values: np.ndarray) -> Family:
    return Family(values, np.arange(len(values)), *np.triu_indices(values.shape[1], 1))


def single_test(name: str, trials: int) -> Iterator[Finding]:
    """Type I error and the interval of a test, for one pair without a difference."""
    # symmetric differences: the randomization test is exact; means of few skewed ones are not symmetric, for any test
    goals = {"normal": 0.95, "discrete": 0.95, "tied": 0.95, "exponential": 0.85}
    for kind, draw in KINDS.items():
        for n in (5, 10, 25):
            rng = np.random.default_rng([n, len(kind)])
            held = 0
            for seed in range(trials):
                values = np.stack([draw(rng, (n,)), np.zeros(n)], axis=1)
                low, high = TESTS[name](family(values), Drawing(999, ALPHA, seed)).interval(ALPHA)
                held += int(low[0] <= 0 <= high[0])
            goal = goals[kind] if name != "t" or n > 5 else 0.85
            yield Finding(f"interval of `{name}`", f"{kind}, n = {n}", held / trials, trials, goal)


def families(trials: int) -> Iterator[Finding]:
    """Simultaneous intervals for the ten pairs of five equal systems, and against one baseline."""
    for kind, draw in KINDS.items():
        for n in (10, 25, 50):
            rng = np.random.default_rng([n, 1, len(kind)])
            held = np.zeros(2)
            for seed in range(trials):
                everything = family(draw(rng, (n, 5)))
                dunnett = Family(everything.values, everything.queries, np.arange(1, 5), np.zeros(4, np.int64))
                for i, chosen in enumerate((everything, dunnett)):
                    low, high = simultaneous([chosen], seed).interval(chosen, ALPHA)
                    held[i] += ((low <= 0) & (high >= 0)).all()
            for which, share in zip(("all pairs", "a baseline"), held / trials, strict=True):
                yield Finding(f"max-T intervals simultaneously, {which}", f"{kind}, n = {n}", share, trials, 0.93)


def many_measures(trials: int) -> Iterator[Finding]:
    """Ten independent measures of two equal systems: probability of any false rejection."""
    rng = np.random.default_rng(4)
    for over, goal in (("measure", 1.0), ("all", 0.05)):
        false = 0
        for seed in range(trials):
            scores = rd.Scores(
                ("a", "b"), tuple(map(str, range(30))), tuple(f"m{i}" for i in range(10)), rng.normal(0, 1, (2, 30, 10))
            )
            found = rd.significance(scores, family=over, permutations=999, seed=seed)
            false += found.to_polars()["p_adjusted"].min() <= ALPHA
        yield Finding(
            "any false rejection among ten measures", f'`family="{over}"`', false / trials, trials, goal, True
        )


@cache
def simulated() -> rd.Scores:
    """AP@5 and RDQ@5 of the simulator's first, third and last system on very many queries."""
    made = simulate(20_000, seed=11)
    names = list(made.runs)
    chosen = {name: made.runs[name] for name in (names[0], names[2], names[-1])}
    return rd.evaluate(made.references, chosen, ["AP@5", "RDQ@5"])


def simulated_differences() -> dict[str, np.ndarray]:
    """Differences of two of these systems, by measure."""
    return {name: simulated().of(name)[0] - simulated().of(name)[-1] for name in simulated().measures}


def plans(trials: int) -> Iterator[Finding]:
    """The queries needed, for a stated difference and for the pilot's own difference (a true effect of .5)."""
    truth = {"normal": 0.95, "AP@5": 0.9, "RDQ@5": 0.9, "exponential": 0.85, "lognormal": 0.0}
    for kind, goal in truth.items():
        for n in (10, 25, 50):
            rng = np.random.default_rng([n, 2, len(kind)])
            pool = simulated_differences().get(kind)
            spread = 1.0 if pool is None else pool.std()
            mean = 0.0 if pool is None else pool.mean()
            if kind == "lognormal":
                spread, mean = np.sqrt((np.e - 1) * np.e), np.exp(0.5)
            held = np.zeros(3)
            for _ in range(trials):
                apart = (
                    rng.lognormal(0, 1, n)
                    if kind == "lognormal"
                    else KINDS[kind](rng, (n,))
                    if pool is None
                    else rng.choice(pool, n)
                )
                low, high = bounded_effect(apart, 0.5)
                held[0] += low <= 0.5 / spread <= high
                held[2] += bounded_effect(apart, 0.5, alpha=ASSURANCE)[0] <= 0.5 / spread
                low, high = bounded_effect(apart - mean + 0.5 * spread, None)
                held[1] += low <= 0.5 <= high
            held /= trials
            yield Finding("`plan`, stated difference", f"{kind}, pilot of {n}", held[0], trials, goal)
            yield Finding(
                "`plan`, the pilot's own difference",
                f"{kind}, pilot of {n}",
                held[1],
                trials,
                goal - 0.05 if goal else 0,
            )
            yield Finding(
                "`plan`, enough with 90% certainty", f"{kind}, pilot of {n}", held[2], trials, 0.9 if goal else 0
            )
    rng, infinite = np.random.default_rng(5), 0
    for _ in range(trials):
        infinite += bounded_effect(rng.normal(0, 1, 25), None)[0] == 0
    yield Finding("`plan`, no upper limit without a difference", "normal, pilot of 25", infinite / trials, trials, 0.93)


def powers(trials: int) -> Iterator[Finding]:
    """Power of pairs, their median, N80, and the difference of two exchangeable measures, over pools of queries.

    Four systems; for AP@5 and RDQ@5, three systems of the simulator, each measure by itself.
    """
    for kind in ("normal", "exponential", "tied", "AP@5", "RDQ@5"):
        for pool in (200, 500, 2000):
            yield from _powers(kind, pool, trials if pool < 2000 else -(-trials // 3))


def _powers(kind: str, pool: int, trials: int) -> Iterator[Finding]:
    rng = np.random.default_rng([pool, 6, len(kind)])
    if kind in KINDS:
        effects = np.array([0.0, 0.2, 0.35, 0.5])
        spread = KINDS[kind](np.random.default_rng(0), (10**6,)).std()
        apart = np.abs(effects[:, None] - effects)[np.triu_indices(4, 1)] / (np.sqrt(2) * spread)
    else:
        whole = simulated().of(kind)
        differences = [whole[i] - whole[j] for i, j in ((0, 1), (0, 2), (1, 2))]
        apart = np.array([abs(each.mean()) / each.std() for each in differences])
    truth = np.array([t_power(100, effect, ALPHA) for effect in apart])
    needed = np.median([queries_for(effect, 0.8, ALPHA) for effect in apart])
    held = np.zeros(4)
    for seed in range(trials):
        if kind in KINDS:
            values, measures = KINDS[kind](rng, (4, pool, 2)) + effects[:, None, None], ("m", "l")
        else:
            values, measures = whole[:, rng.integers(0, whole.shape[1], pool), None], (kind,)
        scores = rd.Scores(tuple("abcd"[: len(values)]), tuple(map(str, range(pool))), measures, values)
        found = rd.power(scores, sizes=[100], subsamples=100, permutations=199, resamples=200, seed=seed)
        low, high = found.intervals.power[:, 0, :, 0]
        held[0] += ((low <= truth) & (truth <= high)).mean()
        row = found.summary(100).row(0, named=True)
        held[1] += row["p50_low"] <= np.median(truth) <= row["p50_high"]
        held[2] += row["n80_low"] <= needed <= row["n80_high"]
        held[3] += kind in KINDS and not found.differences()["clear"][0]
    names = ("power of a pair", "median power", "median N80", "no star for one of two equal measures")
    for name, share in zip(names[: 4 if kind in KINDS else 3], held / trials, strict=False):
        yield Finding(f"`power`, {name}", f"{kind}, pool of {pool:,}, n = 100", share, trials, 0.9)


def stabilities(trials: int) -> Iterator[Finding]:
    """The interval of split halves, and the result for eight equal systems."""
    for kind in ("normal", "exponential"):
        rng = np.random.default_rng([7, len(kind)])
        ability = np.linspace(0, 0.5, 5)[:, None]
        first, second = (KINDS[kind](rng, (20_000, 5, 20)).mean(axis=2) + ability[:, 0] for _ in range(2))
        a, b = np.triu_indices(5, 1)
        truth = (np.sign(first[:, a] - first[:, b]) * np.sign(second[:, a] - second[:, b])).mean()
        held = reached = 0
        for seed in range(trials):
            values = KINDS[kind](rng, (5, 400)) + ability
            scores = rd.Scores(tuple("abcde"), tuple(map(str, range(400))), ("m",), values[:, :, None])
            row = rd.stability(scores, sizes=[20], subsamples=50, seed=seed).to_polars().row(0, named=True)
            held += row["split_low"] <= truth <= row["split_high"]
            equal = rd.Scores(tuple("abcdefgh"), tuple(map(str, range(200))), ("m",), KINDS[kind](rng, (8, 200, 1)))
            found = rd.stability(equal, sizes=[25, 50, 100], subsamples=50, seed=seed)
            reached += np.isfinite(found.summary()["split_at_0.8"][0])
        yield Finding("`stability`, τ of split halves", f"{kind}, pool of 400, n = 20", held / trials, trials, 0.93)
        yield Finding(
            "`stability`, split halves reach .8", f"{kind}, eight equal systems", reached / trials, trials, 0.01, True
        )


def pools(trials: int) -> Iterator[Finding]:
    """τ with the order on all queries, and the n at which it reaches .8: five systems, over the choice of the pool."""
    sizes, ability = [10, 25, 50], np.linspace(0, 0.5, 5)[:, None]
    for kind, draw in KINDS.items():
        for pool in (100, 300):
            rng = np.random.default_rng([pool, 14, len(kind)])

            def drawn(seed: int, **options: int) -> results.Stability:
                values = (draw(rng, (5, pool)) + ability)[:, :, None]  # noqa: B023 (used at once)
                scores = rd.Scores(tuple("abcde"), tuple(map(str, range(pool))), ("m",), values)  # noqa: B023
                return rd.stability(scores, sizes=sizes, seed=seed, **options)

            truth = np.mean([drawn(seed, subsamples=30).tau[0] for seed in range(min(400, 10 * trials))], axis=0)
            first = next((n for n, tau in zip(sizes, truth, strict=True) if tau >= 0.8), np.inf)
            held = np.zeros(2)
            for seed in range(trials):
                found = drawn(seed, subsamples=100, resamples=100)
                low, high = found.tau_limits[:, 0]
                held[0] += ((low <= truth) & (truth <= high)).mean()
                row = found.summary().row(0, named=True)
                held[1] += row["n_at_0.8_low"] <= first <= row["n_at_0.8_high"]
            for what, share in zip(("τ with all", "`n_at_0.8`"), held / trials, strict=True):
                yield Finding(f"`stability`, {what}", f"{kind}, pool of {pool}", share, trials, 0.88)


def agreements(trials: int) -> Iterator[Finding]:
    """τ and τ_ap between the true orders of two measures: the same order (linear or not), near it, and unrelated."""
    for systems in (5, 12, 30):
        one, rng = np.linspace(0, 0.6, systems), np.random.default_rng(systems)
        others = {
            "the same": one,
            "the same, not linear": one**3 / 0.36,
            "near": one[np.argsort(np.arange(systems) + rng.normal(0, systems / 6, systems))],
            "unrelated": rng.permutation(one),
        }
        for relation, other in others.items():
            truth = np.array([tau_b(one, other), (tau_ap(one, other) + tau_ap(other, one)) / 2])
            for kind, n in (("normal", 10), ("exponential", 25), ("discrete", 25), ("tied", 100)):
                rng = np.random.default_rng([n, 15, systems, len(kind)])
                held = np.zeros(2)
                for _ in range(trials):
                    shared, first, second = KINDS[kind](rng, (3, n, systems))
                    scores = (0.8 * shared + 0.6 * first + one, 0.8 * shared + 0.6 * second + other)
                    low, high = tau_limits(*scores, 200, rng)
                    held += (low - 1e-9 <= truth) & (truth <= high + 1e-9)
                setting = f"{relation}, {kind}, {systems} systems, n = {n}"
                for what, share in zip(("τ", "τ_ap"), held / trials, strict=True):
                    yield Finding(f"`agreement`, {what}", setting, share, trials, 0.9 if what == "τ" else 0.85)


CLAIMS = {
    "randomization": (partial(single_test, "randomization"), 400, 30),
    "t": (partial(single_test, "t"), 400, 30),
    "families": (families, 300, 20),
    "many measures": (many_measures, 300, 40),
    "plans": (plans, 1500, 150),
    "power": (powers, 150, 4),
    "stability": (stabilities, 200, 25),
    "pools": (pools, 200, 5),
    "agreement": (agreements, 200, 8),
}
