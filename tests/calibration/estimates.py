"""Claims about margins, collections, topic set sizes and judgments; see simulations.py for the others."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator

import numpy as np
from rankdev.statistics.equivalence import interval
from scipy import stats

import rankdev as rd
from rankdev.measures.base import MeasureInfo
from rankdev.statistics._random_effects import combine
from rankdev.statistics.contrasts import Family
from rankdev.statistics.prediction_powered import estimate
from tests.calibration.simulations import ALPHA, KINDS, Finding


def against_nothing(values: np.ndarray) -> Family:
    """Many samples of differences at once: ``values[query, trial]``, each less a column of zeros."""
    queries, trials = values.shape
    columns = np.concatenate([np.zeros((queries, 1)), values], axis=1)
    return Family(columns, np.arange(queries), np.arange(1, trials + 1), np.zeros(trials, np.int64))


def margins(trials: int) -> Iterator[Finding]:
    """How often two systems that differ by exactly the margin are called the same, and equal ones better or worse."""
    for kind, draw in KINDS.items():
        for n in (10, 25, 50):
            family = against_nothing(draw(np.random.default_rng([n, 8, len(kind)]), (n, trials)))
            low, high = interval(family, 2 * ALPHA)  # around the truth, which is where a margin may lie
            wrong = max((high < 0).mean(), (low > 0).mean())
            # at ten queries a skewed sample can hide its tail altogether
            goal = 0.06 if kind == "exponential" else 0.05
            yield Finding("false `same` at the margin", f"{kind}, n = {n}", wrong, trials, goal, True)
            low, high = interval(family, ALPHA)
            wrong = ((low > 0) | (high < 0)).mean()
            yield Finding("false `better` or `worse`", f"{kind}, n = {n}", wrong, trials, goal, True)


def topic_set_sizes(trials: int) -> Iterator[Finding]:
    """Queries for a difference of .5 between two systems, or the best and worst of five: variance from a pilot."""
    asked = {"systems": [2, 5], "difference": 0.5}
    for kind, draw in KINDS.items():
        # easy and hard queries, and what only a system does on a query, of the same distribution
        variance = float(draw(np.random.default_rng(0), (10**6,)).var())
        truth = rd.plan(variance=2 * variance, correlation=0.5, **asked).to_polars()
        for n in (10, 25, 50):
            rng = np.random.default_rng([n, 12, len(kind)])
            held = np.zeros(2)
            for _ in range(trials):
                values = draw(rng, (1, n)) + draw(rng, (5, n))
                scores = rd.Scores(tuple("abcde"), tuple(map(str, range(n))), ("M",), values[:, :, None])
                table = rd.plan(scores, **asked).to_polars()
                for i, way in enumerate(("same", "different")):
                    inside = (table[f"{way}_low"] <= truth[way]) & (truth[way] <= table[f"{way}_high"])
                    held[i] += inside.mean()
            for way, share in zip(("same", "other"), held / trials, strict=True):
                yield Finding(f"`plan`, {way} queries", f"{kind}, 5 systems, pilot of {n}", share, trials, 0.9)


def planned_power(trials: int) -> Iterator[Finding]:
    """Two systems, and five of which the best and the worst differ, on as many queries as the plan requires."""
    for kind, draw in KINDS.items():
        variance = float(draw(np.random.default_rng(0), (10**6,)).var())
        for systems in (2, 5):
            n = int(rd.plan(variance=variance, difference=0.8, systems=systems).to_polars()["different"][0])
            shift = np.zeros(systems)
            shift[0], shift[-1] = -0.4, 0.4
            values = draw(np.random.default_rng([n, 13, systems]), (trials, systems, n)) + shift[:, None]
            within = values.var(axis=2, ddof=1).mean(axis=1)
            between = n * values.mean(axis=2).var(axis=1, ddof=1)
            rejected = stats.f.sf(between / within, systems - 1, systems * (n - 1)) <= ALPHA
            setting = f"{kind}, {systems} systems, {n} queries of each"
            yield Finding("power of .8 by `plan`", setting, float(rejected.mean()), trials, 0.78)


def collections(trials: int) -> Iterator[Finding]:
    """Mean difference over collections of unequal sizes that truly differ (or do not), and that of a new collection."""
    sizes = np.array([20, 30, 50, 100, 400, 40, 60, 80, 25, 200])
    for count in (3, 5, 10):
        for tau in (0.0, 0.1, 0.3):
            for kind, draw in KINDS.items():
                rng = np.random.default_rng([count, int(10 * tau), len(kind)])
                chosen = sizes[:count]
                truths = rng.normal(0.2, tau, (count + 1, trials))
                drawn = [draw(rng, (n, trials)) for n in chosen]
                means = np.stack([part.mean(axis=0) for part in drawn]) + truths[:-1]
                errors = np.stack([part.var(axis=0, ddof=1) / len(part) for part in drawn])
                found = combine(means, errors)
                low, high = found.interval(ALPHA)
                setting = f"{kind}, {count} collections, τ = {tau:g}"
                held = ((low <= 0.2) & (high >= 0.2)).mean()
                yield Finding("several collections, mean difference", setting, held, trials, 0.93)
                low, high = found.interval(ALPHA, new=True)
                held = ((low <= truths[-1]) & (truths[-1] <= high)).mean()
                yield Finding("several collections, a new one", setting, held, trials, 0.9)


UNEQUAL = ((50, 300, 7000), (50, 50, 50, 50, 7000), (43, 50, 54, 300, 1000, 6980), (50,) * 7 + (7000,) * 3)
SPARSE = ((30, 30, 30), (10, 50, 1000), (5,) * 5, (50,) * 5, (10,) * 10)


def unequal_collections(trials: int) -> Iterator[Finding]:
    """Collections of which one is up to 140 times larger than another, and sparse differences.

    Sparse: nine differences in ten are 0, the others normal with a standard deviation of .3 around ten times the
    collection's mean, .02 on average.
    """
    for sizes in UNEQUAL:
        for tau in (0.0, 0.05, 0.1, 0.3):
            rng = np.random.default_rng([len(sizes), int(100 * tau), 3])
            n = np.array(sizes)[:, None]
            truths = rng.normal(0, tau, (len(sizes) + 1, trials))
            means = truths[:-1] + rng.normal(0, 1, (len(sizes), trials)) / np.sqrt(n)
            found = combine(means, rng.chisquare(n - 1, means.shape) / (n - 1) / n)
            low, high = found.interval(ALPHA, new=True)
            setting = f"normal, {_sizes(sizes)} queries, τ = {tau:g}"
            yield Finding(
                "unequal collections, false rejection", setting, (found.p <= ALPHA).mean(), trials, 0.08, True
            )
            held = ((low <= truths[-1]) & (truths[-1] <= high)).mean()
            yield Finding("unequal collections, a new one", setting, held, trials, 0.9)
    trials = -(-trials // 8)
    for sizes in SPARSE:
        for tau in (0.0, 0.01, 0.03):
            rng = np.random.default_rng([len(sizes), int(100 * tau), 4])
            parts = {}
            for i, n in enumerate(sizes):
                gain = rng.normal(0.02, tau, trials)
                drawn = np.where(
                    rng.random((n, trials)) < 0.9, 0.0, np.clip(rng.normal(0, 0.3, (n, trials)) + 10 * gain, -1, 1)
                )
                systems = (*map(str, range(trials)), "old")
                values = np.column_stack([drawn, np.zeros(n)]).T[:, :, None]
                info = MeasureInfo("m", range=(0.0, 1.0))
                parts[str(i)] = rd.Scores(systems, tuple(map(str, range(n))), ("m",), values, kinds=(info,))
            anywhere = rng.normal(0.02, tau, 200_000)
            truth = 0.1 * np.clip(rng.normal(0, 0.3, anywhere.shape) + 10 * anywhere, -1, 1).mean()
            with warnings.catch_warnings(action="ignore", category=rd.RankdevWarning):
                rows = rd.meta_analysis(parts, baselines="old", correction="none").to_polars()
            held = ((rows["low"] <= truth) & (rows["high"] >= truth)).mean()
            setting = f"sparse, {_sizes(sizes)} queries, τ = {tau:g}"
            yield Finding("unequal collections, mean difference", setting, held, trials, 0.92)


def _sizes(sizes: tuple[int, ...]) -> str:
    counts = Counter(sizes)
    return ", ".join(f"{count} × {n:,}" if count > 1 else f"{n:,}" for n, count in counts.items())


def humans_and_model(trials: int) -> Iterator[Finding]:
    """A biased and noisy model on 2,000 queries, humans on 60 and on 20: means, differences, and the model alone."""
    for n in (20, 60):
        for kind, noise in (("normal", 0.3), ("exponential", 0.3), ("discrete", 0.3), ("tied", 0.3), ("normal", 3.0)):
            rng = np.random.default_rng([n, 10, len(kind), int(noise)])
            held, narrower = np.zeros(3), 0.0
            for _ in range(trials):
                truth = KINDS[kind](rng, (2, n + 2000))
                said = 0.8 * truth + 0.3 + noise * rng.normal(0, 1, truth.shape)
                for i, (true, model) in enumerate(((truth[0], said[0]), (truth[0] - truth[1], said[0] - said[1]))):
                    found = estimate(true[:n], model[:n], model[n:], ALPHA)
                    held[i] += found["low"] <= 0 <= found["high"]
                    if i == 0:
                        error = 1.96 * model.std() / np.sqrt(len(model))
                        held[2] += abs(found["model"]) <= error
                        narrower += (found["high"] - found["low"]) / (found["human_high"] - found["human_low"])
            setting = f"{kind}, {n} + 2,000 queries, {'good' if noise < 1 else 'poor'} model"
            wide = f"{narrower / trials:.2f} × the width of humans alone"
            # few skewed values are hard for every interval
            goal = 0.93 if kind == "normal" else 0.9
            yield Finding("`prediction_powered`, means", f"{setting}; {wide}", held[0] / trials, trials, goal)
            yield Finding("`prediction_powered`, differences", setting, held[1] / trials, trials, goal)
            yield Finding("the model alone, means", setting, held[2] / trials, trials, 0.0)


# the truth, how often each pair is judged (None: at random), and by how many judges (None: by nobody known)
JUDGED = (
    *((truth, times, None) for truth in ("strict", "tied") for times in (1, 3, 12, None)),
    ("strict", 3, 5),
    ("strict", 3, 1),
)


def uncertain_judgments(trials: int) -> Iterator[Finding]:
    """Scores of two systems, and their difference, against the true order, estimated from judgments of eight items.

    Strict: no two items are equal. Tied: three tiers; equal items may be in any order, and the truth is the mean over
    these orders. Ten queries; every pair is judged equally often, or between zero and six times at random, by unnamed
    judges, by five or by one.
    """
    for truth, times, judges in JUDGED:
        held = np.zeros(2)
        for seed in range(trials):
            rows, runs, true = _judged(np.random.default_rng([seed, times or 0, judges or 0, 11]), truth, times, judges)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", rd.RankdevWarning)
                found = rd.evaluate_with_uncertainty(rows, runs, ["RDQ@8"], resamples=100, seed=seed, rule="strict")
            single = found.to_polars()
            inside = (single["judgments_low"].to_numpy() <= true) & (true <= single["judgments_high"].to_numpy())
            held[0] += inside.mean()
            apart = found.differences().row(0, named=True)
            held[1] += apart["judgments_low"] <= true[0] - true[1] <= apart["judgments_high"]
        often = "0 to 6 judgments" if times is None else f"{times} judgment{'s' * (times > 1)}"
        who = {None: "", 1: ", one judge", 5: ", five judges"}[judges]
        for what, share in zip(("the score", "a difference"), held / trials, strict=True):
            yield Finding(
                f"`evaluate_with_uncertainty`, {what}", f"{truth}, {often} of each pair{who}", share, trials, 0.9
            )


def _judged(
    rng: np.random.Generator, truth: str, times: int | None, judges: int | None
) -> tuple[list[tuple[str, ...]], dict[str, dict[str, list[str]]], np.ndarray]:
    """Draw judgments, two systems that see the strengths through noise, and their true scores."""
    names, (a, b) = [f"d{i}" for i in range(8)], np.triu_indices(8, 1)
    rows: list[tuple[str, ...]] = []
    runs: dict[str, dict[str, list[str]]] = {"s": {}, "t": {}}
    orders: dict[str, list[str]] = {}
    for query in range(10):
        strength = rng.normal(0, 1, 8) if truth == "strict" else 1.2 * rng.permutation([0, 0, 0, 1, 1, 1, 2, 2])
        judged = np.full(len(a), times) if times else np.maximum(rng.integers(0, 7, len(a)), b == a + 1)
        won = rng.binomial(judged, 1 / (1 + np.exp(strength[b] - strength[a])))
        for i, j, wins, all_of in zip(a, b, won, judged, strict=True):
            pairs = [(names[i], names[j])] * wins + [(names[j], names[i])] * (all_of - wins)
            rows += [(f"{query}", *pair, *([f"w{rng.integers(judges)}"] if judges else [])) for pair in pairs]
        shared = rng.normal(0, 0.5, 8)
        for name, skill in (("s", 0.7), ("t", 0.45)):
            seen = skill * strength + shared + np.sqrt(0.5) * rng.normal(0, 1, 8)
            runs[name][f"{query}"] = [names[i] for i in np.argsort(-seen)]
        for draw in range(1 if truth == "strict" else 50):
            orders[f"{draw} {query}"] = [names[i] for i in np.lexsort((rng.random(8), -strength))]
    lists = {name: {key: run[key.partition(" ")[2]] for key in orders} for name, run in runs.items()}
    return rows, runs, rd.evaluate(orders, lists, ["RDQ@8"]).means[:, 0]


CLAIMS = {
    "uncertain judgments": (uncertain_judgments, 200, 2),
    "humans and a model": (humans_and_model, 2000, 300),
    "collections": (collections, 4000, 500),
    "unequal collections": (unequal_collections, 4000, 300),
    "topic set sizes": (topic_set_sizes, 500, 25),
    "power of topic set sizes": (planned_power, 10_000, 400),
    "equivalence": (margins, 10_000, 400),
}
