"""Designs beyond one run of each system on independent queries: clusters, repeated runs, leaderboards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import polars as pl
from rankdev.statistics.groups import rank_limits

import rankdev as rd
from rankdev.statistics.bounded_values import widened
from rankdev.statistics.contrasts import Family, skewed_p
from rankdev.statistics.corrections import holm
from rankdev.statistics.paired import TESTS, Drawing
from tests.calibration.simulations import ALPHA, KINDS, Finding, family

CLUSTERED = [
    *((kind, count, sizes) for kind in ("normal", "skewed") for count in (8, 12, 40) for sizes in ("1–20", "1–200")),
    *((kind, 40, sizes) for kind in ("independent", "discrete", "tied") for sizes in ("5", "1–200")),
    ("normal", 100, "1–200"),
    ("skewed", 100, "1–200"),
]


def clusters(trials: int) -> Iterator[Finding]:
    """Flips of whole clusters: one pair without a difference, and all pairs of four systems simultaneously.

    Cluster sizes are equal, uniform, or long-tailed (1–200). 30% of the variance is between clusters; for
    *independent*, none is.
    """
    for kind, count, sizes in CLUSTERED:
        rng = np.random.default_rng([count, len(kind), len(sizes)])
        held = np.zeros(3)
        for seed in range(trials):
            values, members = clustered(rng, kind, count, sizes)
            for i, systems in enumerate((2, 4)):
                pairs = np.triu_indices(systems, 1)
                one = Family(values[:, :systems], np.arange(len(values)), *pairs, clusters=members)
                tested = TESTS["randomization"](one, Drawing(1999, ALPHA, seed))
                low, high = tested.interval(ALPHA / one.pairs)
                held[2 * i] += ((low <= 0) & (high >= 0)).all()
                held[1] += systems == 2 and tested.p[0] <= ALPHA
        setting = f"{kind}, {count} clusters of {sizes}"
        low = 0.9 if kind == "skewed" else 0.93
        yield Finding("`clusters`, interval", setting, held[0] / trials, trials, low)
        yield Finding(
            "`clusters`, false rejection", setting, held[1] / trials, trials, 0.1 if kind == "skewed" else 0.06, True
        )
        yield Finding("`clusters`, six pairs together", setting, held[2] / trials, trials, low)


def sparse_clusters(trials: int) -> Iterator[Finding]:
    """The interval of a mean of .08: one cluster in ten has differences, of 1 on four queries in five."""
    for count in (8, 12, 40, 100):
        for sizes in ("5", "1–20", "1–200"):
            rng = np.random.default_rng([count, len(sizes), 5])
            held = 0
            for seed in range(trials):
                _, members = clustered(rng, "independent", count, sizes)
                hit = (rng.random(count) < 0.1)[members] & (rng.random(len(members)) < 0.8)
                values = np.stack([hit.astype(float), np.zeros(len(hit))], axis=1)
                one = replace(family(values), span=1.0, clusters=members)
                tested = TESTS["randomization"](one, Drawing(1999, ALPHA, seed))
                low, high = widened(one.flipped, ALPHA, *tested.interval(ALPHA))
                held += int(low[0] <= 0.08 <= high[0])
            yield Finding("`clusters`, sparse interval", f"{count} clusters of {sizes}", held / trials, trials, 0.92)


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
    if kind == "tied":
        return np.where(rng.random((count, 1)) < 0.5, 0.0, rng.normal(0, 1, between))[members], members
    share = 0.0 if kind == "independent" else 0.3
    draw = KINDS["exponential" if kind == "skewed" else "normal"]
    values = np.sqrt(share) * draw(rng, between)[members] + np.sqrt(1 - share) * draw(rng, within)
    return values * [1, -1, 1, -1], members  # so that differences of skewed scores are skewed


REPEATED = [
    *(
        (kind, (runs, runs), n, effect)
        for kind in ("normal", "skewed")
        for runs in (3, 5)
        for n in (50, 500)
        for effect in (0.0, 0.02)
    ),
    *(("discrete", (runs, runs), 500, seed) for runs in (3, 5) for seed in (0.0, 0.1)),
    *(("normal", runs, 500, 0.02) for runs in ((1, 5), (2, 5), (2, 2))),
    *(("normal", runs, 50, 0.02) for runs in ((1, 5), (2, 2))),
    ("normal", (3,) * 8, 500, 0.02),
    ("discrete", (1, 5, 3, 1, 2, 5, 3, 1), 500, 0.1),
]


def repeated_runs(trials: int) -> Iterator[Finding]:
    """Systems of equal quality with several runs: any false rejection, with Holm's correction for eight systems.

    Runs of a system differ by a normal effect, or a skewed one, with the standard deviation given.
    """
    for kind, runs, n, effect in REPEATED:
        rng = np.random.default_rng([n, sum(runs), int(1000 * effect), len(kind)])
        names = tuple(f"{system}-{run}" for system, count in enumerate(runs) for run in range(count))
        groups = {str(system): [name for name in names if name.startswith(f"{system}-")] for system in range(len(runs))}
        false = 0
        for _ in range(trials if len(runs) == 2 else trials // 4):
            values = _repeated(rng, kind, runs, n, effect)
            scores = rd.Scores(names, tuple(map(str, range(n))), ("m",), values[:, :, None])
            false += min(rd.significance(scores, replicates=groups).columns["p_adjusted"]) <= ALPHA
        many = trials if len(runs) == 2 else trials // 4
        against = " to ".join(map(str, runs)) if len(runs) == 2 else f"eight systems, {min(runs)}–{max(runs)}"
        setting = f"{kind}, {against} runs, n = {n}, effect of a run {effect:g}"
        few = len(runs) == 2 and min(runs) < 3
        yield Finding("`replicates`, any false rejection", setting, false / many, many, 0.09 if few else 0.06, True)


def _repeated(rng: np.random.Generator, kind: str, runs: tuple[int, ...], n: int, effect: float) -> np.ndarray:
    """Draw scores of runs × queries."""
    query = rng.normal(0, 0.25, n)
    found = []
    for count in runs:
        own = effect * KINDS["exponential" if kind == "skewed" else "normal"](rng, (count, 1))
        found.append(query + rng.normal(0, 0.1, n) + own + rng.normal(0, 0.1, (count, n)))
    values = np.concatenate(found)
    return (values + rng.normal(0, 0.3, values.shape) > 0.3).astype(float) if kind == "discrete" else values


TRUTHS = {"equal": np.zeros, "three groups": lambda k: np.floor(3 * np.arange(k) / k) / 2}


def ranked(trials: int) -> Iterator[Finding]:
    """The ranks of all systems, which must all contain the true ones (several, if systems are equal).

    Systems are skewed in opposite directions; discrete scores are 0 or 1, sparse ones differ from a base system's on
    one query in ten.
    """
    for kind in ("normal", "skewed", "discrete", "sparse"):
        for k, n in ((3, 10), (10, 25), (10, 100), (30, 50)):
            for name, truth in TRUTHS.items():
                many = -(-trials // (1 if k < 30 else 4))
                rng = np.random.default_rng([k, n, len(kind), len(name)])
                held = 0
                flips = {3: 999, 10: 3999, 30: 19_999}[k]
                for seed in range(many):
                    values, true = _systems(rng, kind, truth(k), n)
                    one = family(values.T)
                    p = TESTS["randomization"](one, Drawing(flips, ALPHA, seed)).p
                    p = holm(np.fmax(p, skewed_p(one)))
                    pairs = zip(one.first, one.second, one.mean, p <= ALPHA, strict=True)
                    better = [(a, b) if apart > 0 else (b, a) for a, b, apart, differ in pairs if differ]
                    held += _held(*rank_limits(k, better), true)
                setting = f"{kind}, {k} systems, {name}, n = {n}"
                yield Finding("ranks of all systems", setting, held / many, many, 0.92)


def _held(low: np.ndarray, high: np.ndarray, true: np.ndarray) -> bool:
    """Return whether all ranks that the true means leave are among those claimed."""
    first = 1 + (true[None] > true[:, None]).sum(axis=1)
    last = len(true) - (true[None] < true[:, None]).sum(axis=1)
    return bool(((low <= first) & (high >= last)).all())


def _systems(rng: np.random.Generator, kind: str, truth: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw scores of systems × queries that share the difficulty of queries, and return their true means."""
    k = len(truth)
    if kind == "sparse":
        base = rng.random(n)
        chance = 0.05 + 0.05 * truth
        return np.where(rng.random((k, n)) < chance[:, None], 1.0, np.where(rng.random((k, n)) < 0.05, 0.0, base)), (
            chance + (1 - chance) * 0.95 / 2
        ).round(12)
    query = rng.normal(0, 0.5, n)
    if kind == "discrete":
        draw = rng.random((k, n))
        true = 0.3 + 0.4 * truth
        return (draw < np.clip(true[:, None] + 0.2 * np.sign(query), 0.05, 0.95)).astype(float), true
    noise = KINDS["exponential" if kind == "skewed" else "normal"](rng, (k, n)) * (-1) ** np.arange(k)[:, None]
    return 0.6 * truth[:, None] + query + noise, 0.6 * truth


@patch("rankdev.statistics._randomization.USUAL", 4000)  # flips; to save time
def tasks(trials: int) -> Iterator[Finding]:
    """Leaderboards over tasks of 20 to 200 queries: the mean over these tasks, and over tasks like them."""
    for kind in ("normal", "discrete"):
        for k, count in ((3, 5), (10, 8)):
            for spread in (0.0, 0.3):
                rng = np.random.default_rng([k, count, int(10 * spread), len(kind)])
                truth, held = TRUTHS["three groups"](k), np.zeros(2)
                for seed in range(trials):
                    parts, own = _tasks(rng, kind, truth, count, spread)
                    rows = rd.leaderboard(parts, resamples=1, seed=seed).to_polars().sort(pl.col("system").cast(int))
                    for i, (name, true) in enumerate((("rank", own), ("new", truth))):
                        held[i] += _held(rows[f"{name}_low"].to_numpy(), rows[f"{name}_high"].to_numpy(), true)
                setting = f"{kind}, {k} systems, {count} tasks, their differences vary by {spread:g}"
                for what, share in zip(("on these tasks", "on such tasks"), held / trials, strict=True):
                    yield Finding(f"ranks of all systems {what}", setting, share, trials, 0.92)


def _tasks(
    rng: np.random.Generator, kind: str, truth: np.ndarray, count: int, spread: float
) -> tuple[dict[str, rd.Scores], np.ndarray]:
    """Draw the scores of tasks, and return the true means over them."""
    parts, own = {}, []
    for task in range(count):
        own.append(truth + rng.normal(0, spread, len(truth)))
        n = int(rng.integers(20, 200))
        values = own[-1][:, None] + KINDS[kind](rng, (len(truth), n)) + rng.normal(0, 0.5, n)
        names = tuple(map(str, range(len(truth)))), tuple(map(str, range(n)))
        parts[str(task)] = rd.Scores(*names, ("m",), values[:, :, None])
    return parts, np.mean(own, axis=0).round(12)


CLAIMS = {
    "leaderboards": (ranked, 200, 3),
    "tasks": (tasks, 60, 2),
    "clusters": (clusters, 1000, 8),
    "sparse clusters": (sparse_clusters, 500, 30),
    "repeated runs": (repeated_runs, 2000, 20),
}
