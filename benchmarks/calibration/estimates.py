"""Claims about estimates: plans, power, agreement, collections, model judgments, clicks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache

import numpy as np
from tests.learning.simulate import position_based_log

import rankdev as rd
from benchmarks.calibration.simulations import ALPHA, KINDS, Finding, real, real_differences
from rankdev.statistics.agreement import tau_b
from rankdev.statistics.agreement_with_people import fraction_limits
from rankdev.statistics.meta_analysis import combine
from rankdev.statistics.planning import ASSURANCE, bounded_effect
from rankdev.statistics.prediction_powered import estimate, least_half
from rankdev.statistics.t_power import effect_limits, power_of
from rankdev.studies.simulation import simulate


@cache
def simulated() -> dict[str, np.ndarray]:
    """Differences of two of the simulator's systems on very many queries, by measure."""
    made = simulate(20_000, seed=11)
    names = list(made.runs)
    chosen = {name: made.runs[name] for name in (names[0], names[-1])}
    scores = rd.evaluate(made.references, chosen, ["AP@5", "RDQ@5"])
    return {name: scores.of(name)[0] - scores.of(name)[1] for name in scores.measures}


def plans(trials: int) -> Iterator[Finding]:
    """The queries needed, for a stated difference and for the pilot's own difference (a true effect of .5)."""
    for kind, goal in {"normal": 0.95, "AP@5": 0.9, "RDQ@5": 0.9, "exponential": 0.85, "lognormal": 0.0}.items():
        for n in (10, 25, 50):
            rng = np.random.default_rng([n, 2, len(kind)])
            pool = simulated().get(kind)
            if kind == "lognormal":
                drawn = rng.lognormal(0, 1, (trials, n)) - np.exp(0.5)
                spread = np.sqrt((np.e - 1) * np.e)
            elif pool is None:
                drawn, spread = KINDS[kind](rng, (trials, n)), 1.0
            else:
                drawn, spread = rng.choice(pool, (trials, n)) - pool.mean(), pool.std()
            held = np.zeros(3)
            for apart in drawn:
                low, high = bounded_effect(apart, 0.5)
                held[0] += low <= 0.5 / spread <= high
                held[1] += bounded_effect(apart, 0.5, ASSURANCE)[0] <= 0.5 / spread
                low, high = bounded_effect(apart + 0.5 * spread, None)
                held[2] += low <= 0.5 <= high
            names = ("stated difference", "`assured` is enough", "the pilot's own difference")
            goals = (goal, 0.88 if goal else 0.0, goal - 0.05 if goal else 0.0)
            for name, share, least in zip(names, held / trials, goals, strict=True):
                yield Finding(f"`plan`, {name}", f"{kind}, pilot of {n}", share, trials, least)


def powers(trials: int) -> Iterator[Finding]:
    """Power of pairs of real runs at 25 queries, whose truth is that of all queries, from pools of n queries."""
    for where, apart, _ in real_differences():
        for pool in (50, 200):
            rng = np.random.default_rng([pool, 6, len(where)])
            drawn = apart[rng.integers(0, len(apart), trials)]
            truth = power_of(25, ALPHA)(drawn.mean(axis=1) / drawn.std(axis=1, ddof=1))
            sample = np.take_along_axis(drawn, rng.integers(0, drawn.shape[1], (trials, pool)), axis=1)
            spread = sample.std(axis=1, ddof=1)
            known = spread > 0
            low, high = effect_limits(sample[known].mean(axis=1) / spread[known], pool)
            low, high = power_of(25, ALPHA)(low), power_of(25, ALPHA)(high)
            held = float(((low <= truth[known]) & (truth[known] <= high)).mean())
            yield Finding("`power` of a pair", f"{where}, pool of {pool}, n = 25", held, trials, 0.9)


def agreements(trials: int) -> Iterator[Finding]:
    """τ between two measures of real runs, whose truth is that on all queries, from n queries with replacement."""
    for year, scores in real().items():
        for a, b in (("nDCG@10", "AP@100"), ("nDCG@10", "RR@10"), ("nDCG@10", "P@1"), ("RDQ@5", "AP@100")):
            pair = scores.select(measures=[a, b])
            truth = tau_b(*pair.means.T, tolerance=1e-12)
            for n in (25, 50):
                rng = np.random.default_rng([n, 15, len(a + b)])
                held = 0
                for seed in range(trials):
                    values = pair.values[:, rng.integers(0, len(pair.queries), n)]
                    drawn = rd.Scores(pair.systems, tuple(map(str, range(n))), pair.measures, values)
                    low, high = rd.agreement(drawn, resamples=100, seed=seed).tau_limits[:, 0, 0, 1]
                    held += low - 1e-9 <= truth <= high + 1e-9
                setting = f"{a} and {b}, {len(pair.systems)} runs of {year}, n = {n}"
                yield Finding("`agreement`, τ", setting, held / trials, trials, 0.8)


MANY = (20, 30, 50, 100, 400, 40, 60, 80, 25, 200)  # queries of collections
UNEQUAL = ((50, 300, 7000), (50, 50, 50, 50, 7000), (43, 50, 54, 300, 1000, 6980), (50,) * 7 + (7000,) * 3)


def collections(trials: int) -> Iterator[Finding]:
    """Mean difference over collections that truly differ (or do not), and that of a new collection.

    Sizes differ by up to a factor of 20, of normal differences of up to 140.
    """
    for sizes in (MANY[:3], MANY[:5], MANY, *UNEQUAL):
        for tau in (0.0, 0.1, 0.3):
            for kind, draw in KINDS.items() if sizes not in UNEQUAL else [("normal", KINDS["normal"])]:
                rng = np.random.default_rng([len(sizes), int(10 * tau), len(kind)])
                truths = rng.normal(0.2, tau, (len(sizes) + 1, trials))
                drawn = [draw(rng, (n, trials)) for n in sizes]
                means = np.stack([part.mean(axis=0) for part in drawn]) + truths[:-1]
                errors = np.stack([part.var(axis=0, ddof=1) / len(part) for part in drawn])
                found = combine(means, errors)
                many = f"{len(sizes)} collections" if sizes not in UNEQUAL else f"{_sizes(sizes)} queries"
                setting = f"{kind}, {many}, τ = {tau:g}"
                for claim, truth, new in (("mean difference", 0.2, False), ("a new one", truths[-1], True)):
                    low, high = found.interval(ALPHA, new=new)
                    held = ((low <= truth) & (truth <= high)).mean()
                    goal = 0.9 if new or sizes in UNEQUAL else 0.93
                    yield Finding(f"several collections, {claim}", setting, held, trials, goal)


def _sizes(sizes: tuple[int, ...]) -> str:
    counts = Counter(sizes)
    return ", ".join(f"{count} × {n:,}" if count > 1 else f"{n:,}" for n, count in counts.items())


def humans_and_model(trials: int) -> Iterator[Finding]:
    """A biased and noisy model on 2,000 queries, humans on 60 and on 20: means and differences."""
    for n in (20, 60):
        for kind, noise in (("normal", 0.3), ("exponential", 0.3), ("discrete", 0.3), ("tied", 0.3), ("normal", 3.0)):
            rng = np.random.default_rng([n, 10, len(kind), int(noise)])
            held, narrower = np.zeros(2), 0.0
            for _ in range(trials):
                truth = KINDS[kind](rng, (2, n + 2000))
                said = 0.8 * truth + 0.3 + noise * rng.normal(0, 1, truth.shape)
                for i, (true, model) in enumerate(((truth[0], said[0]), (truth[0] - truth[1], said[0] - said[1]))):
                    found = estimate(true[:n], model[:n], model[n:], ALPHA)
                    held[i] += found["low"] <= 0 <= found["high"]
                    if i == 0:
                        narrower += (found["high"] - found["low"]) / (found["human_high"] - found["human_low"])
            setting = f"{kind}, {n} + 2,000 queries, {'good' if noise < 1 else 'poor'} model"
            wide = f"{narrower / trials:.2f} × the width of humans alone"
            # few skewed values are hard for every interval
            goal = 0.93 if kind == "normal" else 0.9
            yield Finding("`prediction_powered`, means", f"{setting}; {wide}", held[0] / trials, trials, goal)
            yield Finding("`prediction_powered`, differences", setting, held[1] / trials, trials, goal)


def few_judgments(trials: int) -> Iterator[Finding]:
    """P@1 from 10 to 60 queries judged by humans and 300 by a model; and how often measures predict preferences."""
    for often in (0.05, 0.15, 0.5, 0.9):
        for n in (10, 20, 60):
            for model in ("good", "uninformative"):
                rng = np.random.default_rng([n, 35, int(100 * often), len(model)])
                held = 0
                for _ in range(trials):
                    truth = (rng.random(n + 300) < often).astype(float)
                    noise = rng.random(truth.shape)
                    said = np.where(noise < 0.05, 1 - truth, truth) if model == "good" else noise
                    least = least_half(truth[:n] - np.median(truth[:n]), ALPHA, 1.0)
                    found = estimate(truth[:n], said[:n], said[n:], ALPHA, (0.0, 1.0), least)
                    held += found["low"] <= often <= found["high"]
                setting = f"mean {often:g}, {n} + 300 queries, {model} model"
                yield Finding("`prediction_powered`, P@1", setting, held / trials, trials, 0.9)
    for n in (5, 8, 10, 20, 56):
        for often in (0.6, 0.8, 0.95):
            for most in (1, 6):
                rng = np.random.default_rng([n, 36, int(100 * often), most])
                counts = rng.integers(1, most + 1, n)
                taste = rng.beta(5 * often, 5 * (1 - often), (n, trials)) if most > 1 else often
                hits = rng.binomial(np.broadcast_to(counts[:, None], (n, trials)), taste)
                low, high = fraction_limits(hits.astype(float), counts.astype(float), ALPHA)
                each = "one preference" if most == 1 else "1 to 6 preferences"
                setting = f"true agreement {often:g}, {n} queries, {each} of each"
                held = float(((low <= often) & (often <= high)).mean())
                yield Finding("`agreement_with_people`", setting, held, trials, 0.92)


def click_weights(trials: int) -> Iterator[Finding]:
    """Weights of six positions that fall as position^−0.7, from sessions of users who examine positions independently.

    40 queries of 8 items; 100 resamples of sessions. The first weight is 1 by definition and is not counted.
    """
    truth = np.arange(1, 7) ** -0.7
    for method in ("harvesting", "em"):
        held = []
        for seed in range(trials):
            log = position_based_log(np.random.default_rng([seed, 3000]), truth, sessions=3000)
            found = rd.weights_from_clicks(log, method, resamples=100, seed=seed)
            held.append(((found.low <= truth) & (truth <= found.high))[1:].mean())
        yield Finding(f"`weights_from_clicks`, `{method}`", "3,000 sessions", np.mean(held), trials, 0.9)


CLAIMS = {
    "plans": (plans, 2000, 150),
    "power": (powers, 10_000, 400),
    "agreement": (agreements, 1000, 5),
    "collections": (collections, 4000, 500),
    "humans and a model": (humans_and_model, 2000, 300),
    "few judgments": (few_judgments, 1000, 20),
    "position weights": (click_weights, 1000, 5),
}
