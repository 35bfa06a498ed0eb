"""Claims about the choice of a measure."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import rankdev as rd
from rankdev.statistics.power.student import power_of
from rankdev.studies.simulation import simulate
from tests.calibration.dependence import SHAPES
from tests.calibration.simulations import ALPHA, Finding

MEASURES = ("RDQ@5", "RDQ(penalty=m1)@5", "nDCG(gains=inverse)@5", "AP@5", "RBP(p=0.8)@5", "Compat@5", "P@5", "RR@5")
KEPT = "`advise`, the best measure is kept"
NOISE = {2: (1.0, 1.2), 4: (1.0, 1.15, 1.3, 1.5), 8: tuple(1 + 0.1 * i for i in range(8))}


def _powers(values: np.ndarray, n: int) -> np.ndarray:
    """Return the mean power of each measure over pairs, by the moments of a population ``[system, query, measure]``."""
    first, second = np.triu_indices(len(values), 1)
    apart = values[first] - values[second]
    return power_of(n, ALPHA)(apart.mean(axis=1) / apart.std(axis=1)).mean(axis=0)


def _kept(population: np.ndarray, n: int, trials: int, seed: list[int]) -> float:
    """Return how often the measure with the most power in the population is kept, from samples of n queries."""
    rng = np.random.default_rng(seed)
    names = tuple(f"s{i}" for i in range(len(population)))
    measures = tuple(f"m{i}" for i in range(population.shape[2]))
    held = 0
    for _ in range(trials):
        values = population[:, rng.choice(population.shape[1], n, replace=False)]
        if not np.ptp(values.mean(axis=1), axis=0).any():  # nothing differs: advise refuses
            held += 1
            continue
        found = rd.advise(rd.Scores(names, tuple(map(str, range(n))), measures, values))
        held += int(found.may_be_best[np.argmax(_powers(population, found.n))])
    return held / trials


def chosen_measures(trials: int) -> Iterator[Finding]:
    """Whether the measure with the most power is kept: for simulated rankers, and for equally good measures."""
    for systems, noise in NOISE.items():
        made = simulate(4000, models={f"s{i}": each for i, each in enumerate(noise)}, settings={"s": 1.0}, seed=systems)
        population = rd.evaluate(made.references, dict(made.runs), MEASURES).values
        for n in (10, 25, 100):
            held = _kept(population, n, trials, [systems, n])
            yield Finding(KEPT, f"simulated rankers, {systems} systems, n = {n}", held, trials, 1 - ALPHA)
    yield from equally_good(trials)


def equally_good(trials: int) -> Iterator[Finding]:
    """Measures that share half of their noise: each is as good as any other, and one of them is followed."""
    for kind, draw in SHAPES.items():
        for n in (10, 25, 100):
            rng = np.random.default_rng([n, 71, len(kind)])
            shared, own = draw(rng, (20_000, 1)), draw(rng, (20_000, 6))
            noise = np.where(rng.random((20_000, 6)) < 0.5, shared, own)
            apart = noise + 0.3 * (noise != 0)
            population = np.stack([apart, np.zeros_like(apart)])
            held = _kept(population, n, trials, [n, 72])
            yield Finding(KEPT, f"{kind}, six equally good measures, n = {n}", held, trials, 1 - ALPHA)


CLAIMS = {"chosen measures": (chosen_measures, 400)}
