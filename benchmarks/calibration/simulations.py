"""Claims about decisions: each function simulates one again and again, and reports how often it held."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from tests.golden.inputs import DATA

import rankdev as rd
from rankdev.measures.base import MeasureInfo
from rankdev.statistics.pairs import BetweenRuns, Family
from rankdev.statistics.tests import adjust, fewest_p, randomization, student

ALPHA = 0.05
Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]
KINDS: dict[str, Draw] = {
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


def samples(values: np.ndarray, span: float = np.inf) -> Family:
    """Many samples of differences at once: ``values[trial, query]``, each less a column of zeros."""
    trials, queries = values.shape
    columns = np.concatenate([np.zeros((queries, 1)), values.T], axis=1)
    return Family(columns, np.arange(queries), np.arange(1, trials + 1), np.zeros(trials, np.int64), span)


def limits(one: Family, level: float = ALPHA) -> tuple[np.ndarray, np.ndarray]:
    return student(one, level).interval(one, np.full(one.pairs, level))


def pairs(trials: int) -> Iterator[Finding]:
    """The intervals of both tests, for one pair without a difference."""
    for kind, draw in KINDS.items():
        for n in (6, 10, 25, 50):
            one = samples(draw(np.random.default_rng([n, len(kind)]), (trials, n)))
            for name, tested in (("t", student(one, ALPHA)), ("randomization", randomization(one, ALPHA, 1999, 0))):
                low, high = tested.interval(one, np.full(trials, ALPHA))
                held = float(((low <= 0) & (high >= 0)).mean())
                goal = 0.85 if kind == "exponential" else 0.95
                yield Finding(f"interval of `{name}`", f"{kind}, n = {n}", held, trials, goal)


SIZES = (8, 12, 25, 50, 100, 200)
MEASURES = ("nDCG@10", "AP@100", "RR@10", "P@1", "RDQ@5")


@cache
def real() -> dict[str, rd.Scores]:
    """Runs of TREC DL 2020 and 2021, where they are."""
    here = DATA / "trec-dl/passage"
    places = {
        "DL20": (here / "qrels.dl20-passage.txt", here / "dl20"),
        "DL21": (here / "dl21/qrels.dl21-passage.txt", here / "dl21/runs"),
    }
    found = {}
    with warnings.catch_warnings(action="ignore", category=rd.RankdevWarning):
        for name, (qrels, folder) in places.items():
            if qrels.exists():
                runs = {path.name: path for path in sorted(folder.iterdir())}
                found[name] = rd.evaluate(rd.read_references(qrels), runs, MEASURES)
    return found


def real_differences() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Differences of pairs that differ on six queries or more, ``[pair, query]``, rare ones losses; their skewness."""
    for year, scores in real().items():
        for measure in scores.measures:
            a, b = np.triu_indices(len(scores.systems), 1)
            values = scores.of(measure)
            apart = values[a] - values[b]
            apart = apart[(np.abs(apart) > 1e-12).sum(axis=1) > 5]
            centred = apart - apart.mean(axis=1, keepdims=True)
            skew = (centred**3).mean(axis=1) / centred.std(axis=1) ** 3
            yield f"{measure}, {year}", apart * -np.where(skew > 0, 1, -1)[:, None], np.abs(skew)


def real_pairs(trials: int) -> Iterator[Finding]:
    """Pairs of real runs, n queries drawn with replacement: how often the interval is above the true difference.

    Each pair is turned so that its rare differences are losses, which is how a false "better" comes about.
    """
    yield from _real(trials, 'false "better", real pairs', 0.06)


def skewed_pairs(trials: int) -> Iterator[Finding]:
    """The same for the most skewed tenth of the pairs."""
    yield from _real(trials, 'false "better", most skewed tenth of real pairs', 0.12, tenth=True)


def _real(trials: int, claim: str, goal: float, tenth: bool = False) -> Iterator[Finding]:
    for where, apart, skew in real_differences():
        most = np.argsort(-skew)[: max(1, len(skew) // (10 if tenth else 1))]
        for n in SIZES:
            rng = np.random.default_rng([n, 71 if tenth else 70, len(where)])
            drawn = apart[most if tenth else slice(None)][rng.integers(0, len(most), trials)]
            truth = drawn.mean(axis=1)
            one = samples(np.take_along_axis(drawn, rng.integers(0, drawn.shape[1], (trials, n)), axis=1), 1.0)
            low, high = limits(one)
            above, below = low > truth + 1e-9, high < truth - 1e-9
            wrong = float((above | below).mean())
            setting = f"{where}, n = {n}; two-sided {wrong:.3f}"
            setting += f"; skewness from {skew[most].min():.1f} on" if tenth else ""
            yield Finding(claim, setting, float(above.mean()), trials, goal, True)
            few = float((fewest_p(one) > ALPHA).mean())
            if few > 0.1 and not tenth:
                setting = f"{where}, n = {n}; few differ in {few:.2f} of samples"
                yield Finding("interval, real pairs that hardly differ", setting, 1 - wrong, trials, 0.93)


RARE: dict[str, tuple[Draw, float]] = {
    f"{often:.0%} lose 1": (lambda rng, shape, often=often: -(rng.random(shape) < often).astype(float), -often)
    for often in (0.02, 0.05, 0.1, 0.2)
}


def few_differ(trials: int) -> Iterator[Finding]:
    """Intervals of differences most of which are 0; and of those that hide a rare loss: nothing is claimed for them."""
    for kind, (draw, truth) in RARE.items():
        for n in (10, 25, 50, 100):
            low, high = limits(samples(draw(np.random.default_rng([n, 30, len(kind)]), (trials, n)), 1.0))
            held = float(((low <= truth + 1e-9) & (high >= truth - 1e-9)).mean())
            yield Finding("interval of rare losses", f"{kind}, n = {n}", held, trials, 0.9)
    for n in (10, 25, 50, 100):
        rng = np.random.default_rng([n, 31])
        hidden = rng.normal(0.02, 0.02, (trials, n)) - (rng.random((trials, n)) < 0.02)
        low, high = limits(samples(hidden, 1.0))
        held = float(((low <= 0) & (high >= 0)).mean())
        yield Finding("interval of gains that hide a rare loss", f"2% lose 1, n = {n}", held, trials, 0.0)


def families(trials: int) -> Iterator[Finding]:
    """Any false rejection by Holm: six systems, all equal or one better."""
    a, b = np.triu_indices(6, 1)
    for kind, draw in KINDS.items():
        spread = float(draw(np.random.default_rng(0), (10**6,)).std())
        for n in (10, 25, 50):
            rng = np.random.default_rng([n, 41, len(kind)])
            for what, shift in (("equal", 0.0), ("one better", 3 / np.sqrt(n))):
                false = 0
                for _ in range(trials):
                    values = draw(rng, (n, 6)) / spread + shift * (np.arange(6) == 5)
                    one = Family(values, np.arange(n), a, b)
                    false += bool((adjust(student(one, ALPHA / one.pairs).p, "holm", ALPHA)[0] <= ALPHA)[b != 5].any())
                setting = f"six systems, {what}, {kind}, n = {n}"
                yield Finding("any false rejection by `holm`", setting, false / trials, trials, 0.06, True)


MARGIN, QUERIES = 0.05, 60
INFOS = tuple(MeasureInfo(name, higher_is_better=True) for name in ("x", "y"))
SEGMENTS = {f"s{part}": [f"q{i}" for i in range(part, QUERIES, 3)] for part in range(3)}


def gates(trials: int) -> Iterator[Finding]:
    """A gate with two measures and three segments of 20 queries, 60 queries in all.

    Wrong passes: the candidate is worse by exactly the margin in one segment by one measure, and far better everywhere
    else. Nothing is claimed for the others. Failures: it is worse by exactly the margin everywhere, and one of eight
    intervals suffices. Time-outs: 3% of the queries lose everything, which is more than a margin of .01, but may not be
    among the queries.
    """
    kinds = {**KINDS, "exponential, reversed": lambda rng, size: 1 - rng.exponential(1, size)}
    for kind, draw in kinds.items():
        rng = np.random.default_rng([len(kind), QUERIES])
        failed = passed = 0
        for _ in range(trials):
            values = np.zeros((2, QUERIES, 2))
            values[1] = 0.1 * draw(rng, (QUERIES, 2)) - MARGIN
            failed += _decided(values) == "fail"
            values[1, :, 1] += 1.0
            values[1, np.arange(QUERIES) % 3 != 0, 0] += 1.0
            passed += _decided(values) == "pass"
        goal = 0.12 if kind == "exponential, reversed" else 0.04
        yield Finding("gate, wrong pass", kind, passed / trials, trials, goal, True)
        yield Finding("gate, failure at the margin", kind, failed / trials, trials, 1.0, True)
    for n in (30, 50, 100):
        rng = np.random.default_rng([n, 71])
        low, _ = limits(samples(rng.normal(0.005, 0.01, (trials, n)) - (rng.random((trials, n)) < 0.03), 1.0))
        yield Finding("gate, pass in spite of time-outs", f"n = {n}", float((low > -0.01).mean()), trials, 1.0, True)


def _decided(values: np.ndarray) -> str:
    scores = rd.Scores(("old", "new"), tuple(f"q{i}" for i in range(QUERIES)), ("x", "y"), values, kinds=INFOS)
    return rd.gate(scores, margin=MARGIN, baseline="old", candidate="new", segments=SEGMENTS).verdict


SCORES: dict[str, Draw] = {
    "normal": lambda rng, shape: np.clip(rng.normal(0.5, 0.15, shape), 0, 1),
    "discrete, P@5": lambda rng, shape: rng.binomial(5, 0.3, shape) / 5,
    "skewed, most near 0": lambda rng, shape: rng.beta(0.3, 1.2, shape),
    "reciprocal ranks": lambda rng, shape: 1.0 / rng.geometric(0.6, shape),
    "P@1, 0.5": lambda rng, shape: (rng.random(shape) < 0.5).astype(float),
    "P@1, 0.95": lambda rng, shape: (rng.random(shape) < 0.95).astype(float),
}


def means(trials: int) -> Iterator[Finding]:
    """The interval of a system's mean."""
    for kind, draw in SCORES.items():
        truth = float(draw(np.random.default_rng(0), (2_000_000,)).mean())
        for n in (10, 25, 50, 200):
            values = draw(np.random.default_rng([n, 61, len(kind)]), (trials, n))
            usual = 1.0 if kind == "P@1, 0.95" else 0.0  # the most common value
            low, high = limits(samples(values - usual, 1.0))
            held = float(((low <= truth - usual + 1e-9) & (truth - usual <= high + 1e-9)).mean())
            yield Finding("`leaderboard`, a mean", f"{kind}, n = {n}", held, trials, 0.85)


def clusters(trials: int) -> Iterator[Finding]:
    """Clusters of queries that share 30% of their variance: one pair without a difference.

    Cluster sizes are equal, uniform, or long-tailed (1–200).
    """
    for kind in ("normal", "skewed", "discrete"):
        for count in (8, 12, 40, 100):
            for sizes in ("5", "1–20", "1–200"):
                rng = np.random.default_rng([count, len(kind), len(sizes)])
                false = 0
                for _ in range(trials):
                    values, members = clustered(rng, kind, count, sizes)
                    one = Family(values[:, :2], np.arange(len(values)), np.array([1]), np.array([0]), clusters=members)
                    false += student(one, ALPHA).p[0] <= ALPHA
                setting = f"{kind}, {count} clusters of {sizes}"
                goal = 0.12 if kind == "skewed" else 0.07
                yield Finding("`clusters`, false rejection", setting, false / trials, trials, goal, True)


def clustered(rng: np.random.Generator, kind: str, count: int, sizes: str) -> tuple[np.ndarray, np.ndarray]:
    """Draw four systems' scores for clusters of queries; all have the same mean."""
    many = {
        "5": lambda: np.full(count, 5),
        "1–20": lambda: rng.integers(1, 21, count),
        "1–200": lambda: np.minimum(1 + rng.pareto(1.1, count) * 2, 200).astype(np.int64),
    }[sizes]()
    members = np.repeat(np.arange(count), many)
    between, within = (count, 4), (len(members), 4)
    if kind == "discrete":
        chance = np.clip(0.5 + rng.normal(0, 0.25, between), 0.02, 0.98)[members]
        return (rng.random(within) < chance).astype(float), members
    draw = KINDS["exponential" if kind == "skewed" else "normal"]
    values = np.sqrt(0.3) * draw(rng, between)[members] + np.sqrt(0.7) * draw(rng, within)
    return values * [1, -1, 1, -1], members  # so that differences of skewed scores are skewed


TRAFFIC: dict[str, Draw] = {
    "lognormal": lambda rng, size: rng.lognormal(0, 1, size),
    "lognormal (2)": lambda rng, size: rng.lognormal(0, 2, size),
    "Pareto (2)": lambda rng, size: 1 + rng.pareto(2.0, size),
    "Pareto (1.2)": lambda rng, size: np.minimum(1 + rng.pareto(1.2, size), 1000),
}


def weights(trials: int) -> Iterator[Finding]:
    """One pair on queries with skewed weights, whose difference is unrelated to them; or grows with their logarithm."""
    for kind in ("normal", "exponential"):
        for traffic, draw in TRAFFIC.items():
            for slope in (0.0, 0.5):
                rng = np.random.default_rng([len(kind), len(traffic), int(2 * slope)])
                weight = draw(rng, (200_000,))
                apart = KINDS[kind](rng, weight.shape) + slope * np.log(weight)
                truth = np.average(apart, weights=weight)
                for n in (10, 25, 50, 200):
                    held = 0
                    for _ in range(trials):
                        drawn = rng.integers(0, len(weight), n)
                        columns = np.column_stack([np.zeros(n), apart[drawn]])
                        one = Family(columns, drawn, np.array([1]), np.array([0]), weights=weight[drawn])
                        low, high = limits(one)
                        held += low[0] <= truth <= high[0]
                    setting = f"{kind}, weights {traffic}, n = {n}"
                    if slope:
                        yield Finding("interval, gains grow with the weights", setting, held / trials, trials, 0.0)
                    else:
                        yield Finding("interval with `weights`", setting, held / trials, trials, 0.88)


def replicates(trials: int) -> Iterator[Finding]:
    """Two equally good systems with several runs, whose means vary by .03 in one, by as much or 0 in the other."""
    for runs in ((3, 3), (5, 3), (10, 3), (5, 5), (1, 3), (1, 5)):
        for stable in (0.03, 0.0):
            for n in (50, 500):
                rng = np.random.default_rng([n, *runs, int(100 * stable)])
                apart = rng.normal(0, 0.15, (trials, n))
                own = [rng.normal(0, sd, (trials, count)) for sd, count in zip((stable, 0.03), runs, strict=True)]
                if runs[0] == 1:
                    own[0] *= 0  # taken as deterministic
                apart += (own[1].mean(axis=1) - own[0].mean(axis=1))[:, None]
                variances = [
                    each.var(axis=1, ddof=min(1, count - 1)) / count for each, count in zip(own, runs, strict=True)
                ]
                columns = np.concatenate([np.zeros((n, trials)), apart.T], axis=1)
                places = np.arange(trials)
                between = BetweenRuns(
                    np.concatenate(variances), np.repeat([max(count - 1.0, 1.0) for count in runs], trials)
                )
                one = Family(columns, np.arange(n), places + trials, places, runs=between)
                false = float((student(one, ALPHA).p <= ALPHA).mean())
                setting = f"{runs[0]} to {runs[1]} runs that vary by {stable:g} and .03, n = {n}"
                yield Finding(
                    "`replicates`, false rejection", setting, false, trials, 0.11 if min(runs) == 1 else 0.09, True
                )


CLAIMS = {
    "pairs": (pairs, 2000, 200),
    "real pairs": (real_pairs, 10_000, 100),
    "skewed pairs": (skewed_pairs, 10_000, 100),
    "few differ": (few_differ, 10_000, 400),
    "families": (families, 1000, 20),
    "gates": (gates, 1000, 10),
    "means": (means, 10_000, 400),
    "clusters": (clusters, 1000, 8),
    "weights": (weights, 2000, 20),
    "replicates": (replicates, 10_000, 400),
}
