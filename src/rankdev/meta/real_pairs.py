"""Where real pairs of systems lie on the map, and whether their place says which measure has more power for them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl

from rankdev.arrays import Floats, Ints
from rankdev.meta.common_queries import pairs_of
from rankdev.results import Result

WAYS = {
    "place": "the nearest simulated pairs",
    "references": "the simulation's mean order of measures",
    "hindsight": "the real pairs' mean order of measures",
}


@dataclass(frozen=True, eq=False)
class RealPairs(Result):
    """Real pairs of systems by what sets them apart, and what a simulation like their references says of them.

    ``place[pair]`` is how much more the second system loses by retrieval and by order, the one that loses less by
    retrieval first; ``power[pair, measure]`` is what each measure has at ``n`` queries and ``said`` what the nearest
    simulated pairs have, ``far[pair]`` away at the nearest; ``usual[measure]`` is the mean over all simulated pairs.
    """

    made_with = ("n", "apart", "resamples", "seed")

    systems: tuple[str, ...]
    measures: tuple[str, ...]
    place: Floats = field(repr=False)
    power: Floats = field(repr=False)
    said: Floats = field(repr=False)
    usual: Floats = field(repr=False)
    far: Floats = field(repr=False)
    n: int
    apart: float
    resamples: int
    seed: int
    remarks: tuple[str, ...] = ()

    def to_polars(self) -> pl.DataFrame:
        """One row per pair and measure: a, b, retrieval, order, measure, power, said."""
        pairs = pairs_of(self.systems)
        pair, measure = (part.ravel() for part in np.indices(self.power.shape))
        names = {"a": [pairs[i][0] for i in pair], "b": [pairs[i][1] for i in pair]}
        where = {"retrieval": self.place[pair, 0], "order": self.place[pair, 1]}
        values = {"power": self.power.ravel(), "said": self.said.ravel()}
        return pl.DataFrame({**names, **where, "measure": [self.measures[m] for m in measure], **values})

    def summary(self) -> pl.DataFrame:
        """How often is it said which of two measures has more power? One row per way: way, right, low, high.

        Of cases, a pair of systems and two measures whose powers are clearly different. The interval resamples systems.
        The last row is what the pair's place adds to knowing the references.
        """
        values = self._agreements
        values = np.column_stack([values, values[:, 0] - values[:, 1]])
        rows = []
        for name, column in zip((*WAYS, "gain of the place"), values.T, strict=True):
            known = column[1:][np.isfinite(column[1:])]
            ends = np.quantile(known, [0.025, 0.975]) if len(known) else (np.nan, np.nan)
            rows.append((name, column[0], *ends))
        return pl.DataFrame(rows, schema=["way", "right", "low", "high"], orient="row").fill_nan(None)

    @property
    def by_retrieval(self) -> Floats:
        """The share of each pair's difference that is retrieval."""
        size = np.abs(self.place)
        return np.asarray(size[:, 0] / np.maximum(size.sum(axis=1), 1e-12))

    @property
    def opposed(self) -> float:
        """The share of pairs in which one leads in retrieval and the other in order."""
        return float((self.place[:, 1] < 0).mean())

    @property
    def _agreements(self) -> Floats:
        """Give the share of cases each way is right about ``[resample, way]``; the first is all systems once."""
        count = len(self.systems)
        first, second = np.triu_indices(count, 1)
        told = [self.said, np.broadcast_to(self.usual, self.said.shape)]
        told.append(np.broadcast_to(self.power.mean(axis=0), self.said.shape))
        cases = [self._right(part) for part in told]
        rng = np.random.default_rng(self.seed)
        rows = []
        for draw in range(self.resamples + 1):
            held = np.bincount(rng.integers(count, size=count), minlength=count) if draw else np.ones(count, np.int64)
            rows.append([_share(hits, clear, held[first] * held[second]) for hits, clear in cases])
        return np.array(rows)

    def _right(self, said: Floats) -> tuple[Floats, Floats]:
        """Count, for each pair, the clear cases and those that are said rightly."""
        a, b = np.triu_indices(len(self.measures), 1)
        real, told = (part[:, a] - part[:, b] for part in (self.power, said))
        clear = np.abs(real) > self.apart
        right = np.where(told == 0, 0.5, np.sign(real) == np.sign(told))
        return (right * clear).sum(axis=1), clear.sum(axis=1).astype(np.float64)


def _share(hits: Floats, clear: Floats, weight: Ints) -> float:
    cases = float(clear @ weight)
    return float(hits @ weight) / cases if cases else float("nan")
