"""Does the map predict which measure has more power for real systems? python -m benchmarks.map [DL21 FOLDER]

The 63 runs of TREC Deep Learning 2021 (passages) and all their pairs. A pair lies where its two systems' losses by
retrieval and by order differ (rd.losses). Pairs of simulated systems, on data with the sizes and ties of the real
references, lie on the same plane; the nearest of them say what power each measure should have. That is compared with
the power that it has, and with what one order of measures for all pairs would say.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np

import rankdev as rd
from rankdev.arrays import Floats
from rankdev.studies.map import plane

N, NEAREST, RESAMPLES = 25, 7, 500
APART = 0.1  # a smaller difference of power is noise: its standard error with 200 subsamples is up to .05
STEPS = (0.0, 0.1, 0.2, 0.4)
DEFAULT = Path(__file__).parents[2].parent / "shared/data/trec-dl/passage/dl21"


def located(references: rd.References, runs: dict[str, object]) -> tuple[tuple[str, ...], Floats, Floats]:
    """Give measures, the place of each pair (losses by retrieval and order), and its power ``[pair, measure]``."""
    lost = rd.losses(references, runs, "RDQ@5").to_polars()
    first, second = np.triu_indices(lost.height, 1)
    place = np.stack([lost[kind].to_numpy() for kind in ("lost_by_retrieval", "lost_by_order")], axis=1)
    apart = place[second] - place[first]
    apart *= np.where(apart[:, :1] < 0, -1, 1)  # the system that loses less by retrieval leads
    scores = rd.evaluate(references, runs, "paper@5")
    found = rd.power(scores, sizes=[N], subsamples=200, permutations=499)
    return scores.measures, apart, found.power[:, :, 0].T


def agreement(power: Floats, said: Floats, pairs: np.ndarray) -> float:
    """Give the share of (pair, two measures) with clearly different power whose order was said."""
    a, b = np.triu_indices(power.shape[1], 1)
    real, told = (part[pairs][:, a] - part[pairs][:, b] for part in (power, said))
    clear = np.abs(real) > APART
    return float(np.where(told == 0, 0.5, np.sign(real) == np.sign(told))[clear].mean())


def main(folder: Path) -> None:
    """Print where real pairs lie, and how often the map says which of two measures has more power."""
    references = rd.read_references(folder / "qrels.dl21-passage.txt")
    files = sorted(folder.glob("runs/input.*.gz"))
    runs: dict[str, object] = {path.name.removeprefix("input.").removesuffix(".gz"): path for path in files}
    measures, real_place, real_power = located(references, runs)
    sizes = references.sizes[references.sizes > 0]
    low, high = (int(np.quantile(sizes, q)) for q in (0.1, 0.9))
    ties = 1 - float(((references.tier_counts - 1) / np.maximum(references.sizes - 1, 1)).mean())
    print(f"{len(runs)} systems, {len(real_place)} pairs; references of {low} to {high} items, ties {ties:.2f}")
    parts = [
        located(made.references, dict(made.runs))
        for made in (plane(STEPS, 200, seed, buckets=[(low, high, 1)], ties=ties) for seed in range(3))
    ]
    place, power = (np.concatenate([part[i] for part in parts]) for i in (1, 2))
    far = np.linalg.norm(real_place[:, None] - place, axis=2)
    nearest = np.argsort(far, axis=1)[:, :NEAREST]
    said = power[nearest].mean(axis=1)
    fixed = np.broadcast_to(power.mean(axis=0), said.shape)
    known = np.broadcast_to(real_power.mean(axis=0), said.shape)
    share = np.abs(real_place[:, 0]) / np.maximum(np.abs(real_place).sum(axis=1), 1e-12)
    print(f"share of a pair's difference that is retrieval: quartiles {np.quantile(share, [0.25, 0.5, 0.75]).round(2)}")
    print(f"pairs in which one leads in retrieval and the other in order: {(real_place[:, 1] < 0).mean():.2f}")
    print(f"pairs further from any simulated pair than .05: {(far.min(axis=1) > 0.05).mean():.2f}")
    first, second = np.triu_indices(len(runs), 1)
    rng = np.random.default_rng(0)
    draws = []
    for _ in range(RESAMPLES):
        held = np.bincount(rng.integers(len(runs), size=len(runs)), minlength=len(runs))
        pairs = np.repeat(np.arange(len(first)), held[first] * held[second])
        draws.append([agreement(real_power, part, pairs) for part in (said, fixed, known)])
    everything = np.arange(len(first))
    names = ("the map, pair by pair", "the map's mean order of measures", "the real mean order of measures")
    for name, part, ends in zip(names, (said, fixed, known), np.quantile(draws, [0.025, 0.975], axis=0).T, strict=True):
        print(f"{name}: {agreement(real_power, part, everything):.3f} [{ends[0]:.3f}, {ends[1]:.3f}]")
    gain = np.quantile([draw[0] - draw[1] for draw in draws], [0.025, 0.975])
    print(f"pair by pair less mean order: [{gain[0]:.3f}, {gain[1]:.3f}]")
    for m, name in enumerate(measures):
        r = np.corrcoef(said[:, m], real_power[:, m])[0, 1]
        print(f"  {name}: mean power {real_power[:, m].mean():.3f}, on the map {said[:, m].mean():.3f}, r = {r:.2f}")


if __name__ == "__main__":
    warnings.simplefilter("ignore", rd.RankdevWarning)
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT)
