"""Put the pairs of some runs on the map, and ask whether their place says which measure has more power."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import rankdev as rd
from rankdev.arguments import check_flag, check_seed, check_whole
from rankdev.arrays import Floats
from rankdev.evaluation.inputs import load_inputs
from rankdev.measures import parse_all
from rankdev.meta.power import power
from rankdev.meta.real_pairs import RealPairs
from rankdev.progress import Progress
from rankdev.studies.map import MEASURES, plane
from rankdev.studies.published import remarks_into

STEPS = (0.0, 0.1, 0.2, 0.4)
NEAREST = 7  # simulated pairs that speak for a real one
APART = 0.1  # a smaller difference of two powers is noise: its standard error with 200 subsamples is up to .05
QUERIES, SEEDS = 200, 3  # of the simulation


def place_runs(
    references: Any,
    runs: Mapping[str, Any],
    measures: Any = MEASURES,
    *,
    n: int = 25,
    resamples: int = 500,
    quick: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
) -> RealPairs:
    """Say where all pairs of systems lie by what they lose (:func:`losses`), and what the map says of them.

    Systems are simulated on references with the sizes and ties of the given ones, and lie on the same plane: the
    nearest simulated pairs say what power each measure should have at ``n`` queries. That is compared with the power
    it has, and with what one order of measures for all pairs would say.
    """
    n, resamples, seed = check_whole("n", n, 6), check_whole("resamples", resamples, 20), check_seed(seed)
    subsamples, permutations = (40, 199) if check_flag("quick", quick) else (200, 499)
    texts = parse_all(measures)
    notes: list[str] = []
    with remarks_into(notes):
        known, loaded = load_inputs(references, runs)
        if len(loaded) < 3:
            raise rd.DataError(f"{len(loaded)} runs have too few pairs to be placed; give at least three")
        if len(known) < n:
            raise rd.DataError(
                f"power at {n} queries needs as many; the references have {len(known)}; give a smaller n"
            )
        drawing: dict[str, Any] = {"sizes": [n], "subsamples": subsamples, "permutations": permutations, "seed": seed}
        place, real = _located(known, loaded, texts, drawing)
        parts = []
        for step in range(SEEDS):
            if progress is not None:
                progress(step + 1, SEEDS + 1, f"simulation {step + 1} of {SEEDS}")
            made = plane(STEPS, max(QUERIES, n), seed * SEEDS + step, **_shape_of(known))
            parts.append(_located(made.references, dict(made.runs), texts, drawing))
    there, simulated = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    distance = np.linalg.norm(place[:, None] - there, axis=2)
    nearest = np.argsort(distance, axis=1, kind="stable")[:, :NEAREST]
    said, usual = simulated[nearest].mean(axis=1), simulated.mean(axis=0)
    names = tuple(str(text) for text in texts)
    found = (place, real, said, usual, distance.min(axis=1), n, APART, resamples, seed)
    return RealPairs(tuple(loaded), names, *found, tuple(dict.fromkeys(notes)))


def _shape_of(references: rd.References) -> dict[str, Any]:
    """Give the sizes and ties of references, as the simulation takes them."""
    sizes = references.sizes[references.sizes > 0]
    low, high = (int(np.quantile(sizes, q)) for q in (0.1, 0.9))
    tiers = references.tier_counts[references.sizes > 0]
    ties = 1 - float(((tiers - 1) / np.maximum(sizes - 1, 1)).mean())
    return {"buckets": [(low, high, 1)], "ties": ties}


def _located(
    references: rd.References, runs: Mapping[str, Any], texts: Any, drawing: Mapping[str, Any]
) -> tuple[Floats, Floats]:
    """Give the place of each pair, what the second loses more by retrieval and by order, and its powers."""
    cutoff = next((text.cutoff for text in texts if getattr(text, "cutoff", None)), 5)
    lost = rd.losses(references, runs, f"RDQ@{cutoff}").to_polars()
    first, second = np.triu_indices(lost.height, 1)
    place = np.stack([lost[kind].to_numpy() for kind in ("lost_by_retrieval", "lost_by_order")], axis=1)
    apart = place[second] - place[first]
    apart *= np.where(apart[:, :1] < 0, -1, 1)  # the system that loses less by retrieval leads
    found = power(rd.evaluate(references, runs, texts), **drawing)
    return apart, found.power[:, :, 0].T
