"""Designs beyond one run of each system on independent queries: clusters, repeated runs, leaderboards, many looks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import rankdev as rd
from rankdev.statistics.paired import TESTS, Drawing
from rankdev.statistics.panels import Family
from tests.calibration.simulations import ALPHA, KINDS, Finding

CLUSTERED = [
    *((kind, count, sizes) for kind in ("normal", "skewed") for count in (8, 12, 40) for sizes in ("1–20", "1–200")),
    *((kind, 40, sizes) for kind in ("independent", "discrete", "tied") for sizes in ("5", "1–200")),
    ("normal", 100, "1–200"),
    ("skewed", 100, "1–200"),
]


def clusters(trials: int) -> Iterator[Finding]:
    """Flips of whole clusters, for a pair without a difference, and for all pairs of four systems together.

    Sizes are equal, uniform, or long-tailed (1–200). 30% of the variance is between clusters, none for *independent*.
    """
    for kind, count, sizes in CLUSTERED:
        rng = np.random.default_rng([count, len(kind), len(sizes)])
        held = np.zeros(3)
        for seed in range(trials):
            values, members = _clustered(rng, kind, count, sizes)
            for i, systems in enumerate((2, 4)):
                pairs = np.triu_indices(systems, 1)
                one = Family(values[:, :systems], np.arange(len(values)), *pairs, members)
                tested = TESTS["randomization"](one, Drawing(1999, "plus-one", ALPHA, seed, "numpy"))
                low, high = tested.interval(ALPHA / one.pairs)
                held[2 * i] += ((low <= 0) & (high >= 0)).all()
                held[1] += systems == 2 and tested.p[0] <= ALPHA
        setting = f"{kind}, {count} clusters of {sizes}"
        low = 0.9 if kind == "skewed" else 0.93
        yield Finding("interval of flipped clusters", setting, held[0] / trials, trials, low)
        yield Finding("false rejection", setting, held[1] / trials, trials, 0.1 if kind == "skewed" else 0.06, True)
        yield Finding("intervals of six pairs together", setting, held[2] / trials, trials, low)


def _clustered(rng: np.random.Generator, kind: str, count: int, sizes: str) -> tuple[np.ndarray, np.ndarray]:
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
    """Systems of equal quality with several runs: any false rejection, Holm's for eight systems.

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
        yield Finding("any false rejection", setting, false / many, many, 0.09 if few else 0.06, True)


def _repeated(rng: np.random.Generator, kind: str, runs: tuple[int, ...], n: int, effect: float) -> np.ndarray:
    """Draw scores of runs × queries."""
    query = rng.normal(0, 0.25, n)
    found = []
    for count in runs:
        own = effect * KINDS["exponential" if kind == "skewed" else "normal"](rng, (count, 1))
        found.append(query + rng.normal(0, 0.1, n) + own + rng.normal(0, 0.1, (count, n)))
    values = np.concatenate(found)
    return (values + rng.normal(0, 0.3, values.shape) > 0.3).astype(float) if kind == "discrete" else values


CLAIMS = {
    "clusters": (clusters, 1000),
    "repeated runs": (repeated_runs, 2000),
}
