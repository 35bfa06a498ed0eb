"""Where would the paper's systems lie on the map? Where simulated powers are nearest to the published ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from rankdev.arrays import Floats
from rankdev.meta.kendall import tau_b
from rankdev.meta.power_map import PowerMap

FINE = 61  # places tried along each side of the plane
RESAMPLES = 200


@dataclass(frozen=True, eq=False)
class PaperPlace:
    """The place of the map whose powers have the smallest mean squared distance from published ones.

    ``ends`` are the quantiles of both coordinates over resampled seeds, ``power[measure]`` the map's powers there with
    ``power_ends``, ``apart`` the root of the mean squared distance, and ``tau`` how far the order of measures agrees.
    """

    retrieval: float
    order: float
    ends: Floats = field(repr=False)
    measures: tuple[str, ...]
    published: Floats = field(repr=False)
    power: Floats = field(repr=False)
    power_ends: Floats = field(repr=False)
    apart: float
    tau: float


def place_of(found: PowerMap, published: Mapping[str, float], seed: int = 0) -> PaperPlace:
    """Find the place of some measures' powers on a map; powers between its cells are interpolated."""
    wanted = np.array([published[name] for name in found.measures])
    sides = [np.linspace(steps[0], steps[-1], FINE) for steps in (found.retrieval, found.order)]
    fine = np.stack([_finer(plane, found, sides) for plane in found.power])  # [seed, retrieval, order, measure]
    whole = fine.mean(axis=0)
    i, j = _nearest(whole, wanted)
    rng = np.random.default_rng(seed)
    places, powers = [], []
    for _ in range(RESAMPLES):
        drawn = fine[rng.integers(len(fine), size=len(fine))].mean(axis=0)
        a, b = _nearest(drawn, wanted)
        places.append((sides[0][a], sides[1][b]))
        powers.append(drawn[i, j])
    ends, power_ends = (np.quantile(part, [0.025, 0.975], axis=0) for part in (places, powers))
    there = whole[i, j]
    apart = float(np.sqrt(((there - wanted) ** 2).mean()))
    tau = float(tau_b(there, wanted))
    return PaperPlace(
        float(sides[0][i]), float(sides[1][j]), ends, found.measures, wanted, there, power_ends, apart, tau
    )


def _finer(plane: Floats, found: PowerMap, sides: list[Floats]) -> Floats:
    """Interpolate a plane ``[retrieval, order, measure]`` along both sides."""
    across, down = (
        np.stack([np.interp(side, steps, row) for row in np.eye(len(steps))], axis=1)
        for side, steps in zip(sides, (found.retrieval, found.order), strict=True)
    )
    return np.einsum("ia,abm,jb->ijm", across, plane, down)


def _nearest(plane: Floats, wanted: Floats) -> tuple[int, int]:
    i, j = np.unravel_index(np.argmin(((plane - wanted) ** 2).mean(axis=2)), plane.shape[:2])
    return int(i), int(j)
