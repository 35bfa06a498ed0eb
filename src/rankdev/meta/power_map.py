"""Which measure tells systems apart, by what they differ in: the power of measures over a plane of differences."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl

from rankdev.arrays import Bools, Floats, Ints
from rankdev.results import Result


@dataclass(frozen=True, eq=False)
class PowerMap(Result):
    """Power at ``n`` queries of every measure, where two systems differ in retrieval and in order.

    ``power[seed, retrieval, order, measure]`` is that of a pair whose better system leads by ``retrieval`` and by
    ``order``, on data made with each seed. Nothing is chosen: the whole plane is kept, the corner without any
    difference too, where power is the rate of false alarms. Intervals are Student's, over seeds.
    """

    made_with = ("n", "queries", "subsamples", "permutations", "seeds", "shape", "seed")

    retrieval: tuple[float, ...]
    order: tuple[float, ...]
    measures: tuple[str, ...]
    power: Floats = field(repr=False)
    n: int
    queries: int
    subsamples: int
    permutations: int
    seeds: int
    shape: dict[str, object] = field(repr=False)
    seed: int
    remarks: tuple[str, ...] = ()

    def to_polars(self) -> pl.DataFrame:
        """One row per cell and measure: retrieval, order, measure, power (the mean over seeds)."""
        return self._cells({"power": self.power.mean(axis=0)})

    def intervals(self) -> pl.DataFrame:
        """The same with 95% intervals, and how far the measure falls short of the best of its cell: regret."""
        low, high = _ends(self.power)
        return self._cells({"power": self.power.mean(axis=0), "low": low, "high": high, "regret": self._regret.mean(0)})

    def winners(self) -> pl.DataFrame:
        """One row per cell with a difference: retrieval, order, winner, power, and which others are not clearly worse.

        ``rivals`` counts measures whose distance to the winner has an interval over seeds that reaches 0.
        """
        mean, rivals = self.power.mean(axis=0), self._near.sum(axis=2) - 1
        rows = [
            (self.retrieval[i], self.order[j], self.measures[self.best[i, j]], mean[i, j].max(), int(rivals[i, j]))
            for i, j in np.argwhere(self.different)
        ]
        return pl.DataFrame(rows, schema=["retrieval", "order", "winner", "power", "rivals"], orient="row")

    def summary(self) -> pl.DataFrame:
        """One row per measure, least mean regret first: measure, regret, low, high, worst, wins.

        ``regret`` is the mean, over the cells with a difference, of the best measure's power less this one's;
        ``worst`` is its largest in any cell, and ``wins`` counts the cells in which no measure has more power.
        """
        apart = self._regret[:, self.different]
        low, high = _ends(apart.mean(axis=1))
        wins = np.bincount(self.best[self.different], minlength=len(self.measures))
        columns = {"regret": apart.mean(axis=(0, 1)), "low": low, "high": high}
        worst = {"worst": apart.mean(axis=0).max(axis=0), "wins": wins}
        return pl.DataFrame({"measure": list(self.measures), **columns, **worst}).sort("regret", maintain_order=True)

    @property
    def different(self) -> Bools:
        """Which cells have a difference."""
        return np.add.outer(np.array(self.retrieval), np.array(self.order)) > 0

    @property
    def best(self) -> Ints:
        """The measure with most power of each cell, by the mean over seeds."""
        return np.asarray(self.power.mean(axis=0).argmax(axis=2))

    @property
    def _regret(self) -> Floats:
        """How far each measure falls short of the cell's winner, seed by seed: the winner is one for all seeds."""
        return np.take_along_axis(self.power, self.best[None, :, :, None], axis=3) - self.power

    @property
    def _near(self) -> Bools:
        return np.asarray(_ends(self._regret)[0] <= 0)

    def _cells(self, columns: dict[str, Floats]) -> pl.DataFrame:
        i, j, m = (part.ravel() for part in np.indices(self.power.shape[1:]))
        where = {"retrieval": np.array(self.retrieval)[i], "order": np.array(self.order)[j]}
        names = {"measure": [self.measures[place] for place in m]}
        return pl.DataFrame({**where, **names, **{name: values.ravel() for name, values in columns.items()}})


@dataclass(frozen=True, eq=False)
class PowerMaps(Result):
    """The plane for several kinds of references: one map for each ``setting`` of reference size and ties."""

    made_with = ("axes", "n", "seed")

    axes: tuple[str, ...]
    settings: tuple[tuple[float, ...], ...]
    maps: tuple[PowerMap, ...] = field(repr=False)
    n: int
    seed: int
    remarks: tuple[str, ...] = ()

    def to_polars(self) -> pl.DataFrame:
        """One row per setting, cell and measure: the setting's columns, retrieval, order, measure, power."""
        return self._joined([found.to_polars() for found in self.maps])

    def summary(self) -> pl.DataFrame:
        """One row per setting and measure: the setting's columns, and those of a map's summary."""
        return self._joined([found.summary() for found in self.maps])

    def _joined(self, frames: list[pl.DataFrame]) -> pl.DataFrame:
        named = [
            frame.select(*(pl.lit(value).alias(name) for name, value in zip(self.axes, setting, strict=True)), pl.all())
            for setting, frame in zip(self.settings, frames, strict=True)
        ]
        return pl.concat(named)


def _ends(values: Floats) -> Floats:
    """Give Student's 95% interval of the mean over the first axis."""
    from scipy import special

    seeds = len(values)
    half = special.stdtrit(seeds - 1, 0.975) * values.std(axis=0, ddof=1) / np.sqrt(seeds)
    return np.stack([values.mean(axis=0) - half, values.mean(axis=0) + half])
