"""Power maps as results: the power of measures over a grid of differences between two systems."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import polars as pl

from rankdev._common.arrays import Bools, Floats, Ints
from rankdev._common.result import Result


@dataclass(frozen=True, eq=False, kw_only=True)
class PowerMap(Result):
    """Power at ``n`` queries of every measure, where two systems differ in retrieval and in order.

    The whole grid is kept, the corner without any difference too, where power is the rate of false positives.
    Intervals are Student's, over seeds.

    Attributes
    ----------
    retrieval, order : tuple of float
        Advantages of the better system in each skill: the two axes of the grid.
    measures : tuple of str
        Names of the measures.
    power : array
        ``[seed, retrieval, order, measure]``, on data simulated with each seed.
    n : int
        Queries at which power is estimated.
    queries, subsamples, permutations, seeds : int
        Size of the simulation.
    shape : dict
        Properties of the simulated data that are not the default.
    seed : int
        Seed of the simulation.
    remarks : tuple of str
        Notes on the data.

    See Also
    --------
    rankdev.studies.power_map : Returns a map.
    """

    display: ClassVar = "rankdev.studies.maps._plots"
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
        """Return one row per cell and measure.

        Returns
        -------
        polars.DataFrame
            Columns retrieval, order, measure, power (the mean over seeds).

        Examples
        --------
        >>> from rankdev.studies import power_map
        >>> power_map(["RDQ@5"], n=20, quick=True).to_polars().shape
        (9, 4)
        """
        return self._cells({"power": self.power.mean(axis=0)})

    def intervals(self) -> pl.DataFrame:
        """Return one row per cell and measure, with 95% intervals and regret.

        Returns
        -------
        polars.DataFrame
            Columns retrieval, order, measure, power, low, high, regret: how far the measure falls short of the best
            measure of its cell.

        Examples
        --------
        >>> from rankdev.studies import power_map
        >>> power_map(["RDQ@5"], n=20, quick=True).intervals().columns[3:]
        ['power', 'low', 'high', 'regret']
        """
        low, high = _limits(self.power)
        return self._cells({"power": self.power.mean(axis=0), "low": low, "high": high, "regret": self._regret.mean(0)})

    def winners(self) -> pl.DataFrame:
        """Return the best measure of each cell with a difference.

        Returns
        -------
        polars.DataFrame
            Columns retrieval, order, winner, power, ``rivals``: the number of measures that tie for best, whose
            distance to the winner has an interval over seeds that includes 0.

        Examples
        --------
        >>> from rankdev.studies import power_map
        >>> power_map(["RDQ@5", "RBP@5"], n=20, quick=True).winners().columns
        ['retrieval', 'order', 'winner', 'power', 'rivals']
        """
        mean, ties = self.power.mean(axis=0), self._near.sum(axis=2) - 1
        rows = [
            (self.retrieval[i], self.order[j], self.measures[self.best[i, j]], mean[i, j].max(), int(ties[i, j]))
            for i, j in np.argwhere(self.different)
        ]
        return pl.DataFrame(rows, schema=["retrieval", "order", "winner", "power", "rivals"], orient="row")

    def summary(self) -> pl.DataFrame:
        """Return one row per measure, least mean regret first.

        Returns
        -------
        polars.DataFrame
            Columns measure, regret, low, high, worst, wins. ``regret`` is the mean, over the cells with a difference,
            of the best measure's power minus this one's; ``worst`` is its largest in any cell, and ``wins`` counts
            the cells in which no measure has more power.

        Examples
        --------
        >>> from rankdev.studies import power_map
        >>> power_map(["RDQ@5"], n=20, quick=True).summary()["wins"].to_list()
        [8]
        """
        regret = self._regret[:, self.different]
        low, high = _limits(regret.mean(axis=1))
        wins = np.bincount(self.best[self.different], minlength=len(self.measures))
        columns = {"regret": regret.mean(axis=(0, 1)), "low": low, "high": high}
        worst = {"worst": regret.mean(axis=0).max(axis=0), "wins": wins}
        return pl.DataFrame({"measure": list(self.measures), **columns, **worst}).sort("regret", maintain_order=True)

    @property
    def different(self) -> Bools:
        """Which cells have a difference."""
        return np.add.outer(np.array(self.retrieval), np.array(self.order)) > 0

    @property
    def best(self) -> Ints:
        """The measure with the most power in each cell, by the mean over seeds."""
        return np.asarray(self.power.mean(axis=0).argmax(axis=2))

    @property
    def _regret(self) -> Floats:
        """Distance of each measure to the best of its cell, seed by seed; the best is the same for all seeds."""
        return np.take_along_axis(self.power, self.best[None, :, :, None], axis=3) - self.power

    @property
    def _near(self) -> Bools:
        """Whether a measure ties for best in its cell."""
        return np.asarray(_limits(self._regret)[0] <= 0)

    def _cells(self, columns: dict[str, Floats]) -> pl.DataFrame:
        i, j, m = (part.ravel() for part in np.indices(self.power.shape[1:]))
        where = {"retrieval": np.array(self.retrieval)[i], "order": np.array(self.order)[j]}
        names = {"measure": [self.measures[place] for place in m]}
        return pl.DataFrame({**where, **names, **{name: values.ravel() for name, values in columns.items()}})


@dataclass(frozen=True, eq=False)
class PowerMaps(Result):
    """Power maps for several kinds of references: one for each setting of reference size and ties.

    Attributes
    ----------
    axes : tuple of str
        What varies: ties, reference_size or both.
    settings : tuple of tuple of float
        Values of the axes for each map.
    maps : tuple of PowerMap
        One map per setting.
    n : int
        Queries at which power is estimated.
    seed : int
        Seed of the simulation.
    remarks : tuple of str
        Notes on the data.

    See Also
    --------
    rankdev.studies.power_maps : Returns maps.
    """

    display: ClassVar = "rankdev.studies.maps._plots"
    made_with = ("axes", "n", "seed")

    axes: tuple[str, ...]
    settings: tuple[tuple[float, ...], ...]
    maps: tuple[PowerMap, ...] = field(repr=False)
    n: int
    seed: int
    remarks: tuple[str, ...] = ()

    def to_polars(self) -> pl.DataFrame:
        """Return one row per setting, cell and measure.

        Returns
        -------
        polars.DataFrame
            A column per axis, then retrieval, order, measure, power.

        Examples
        --------
        >>> from rankdev.studies import power_maps
        >>> power_maps(["RDQ@5"], ties=[0.5], n=20, quick=True).to_polars().columns
        ['ties', 'retrieval', 'order', 'measure', 'power']
        """
        return self._joined([found.to_polars() for found in self.maps])

    def summary(self) -> pl.DataFrame:
        """Return one row per setting and measure.

        Returns
        -------
        polars.DataFrame
            A column per axis, then those of :meth:`PowerMap.summary`.

        Examples
        --------
        >>> from rankdev.studies import power_maps
        >>> power_maps(["RDQ@5"], ties=[0.5], n=20, quick=True).summary().height
        1
        """
        return self._joined([found.summary() for found in self.maps])

    def _joined(self, frames: list[pl.DataFrame]) -> pl.DataFrame:
        named = [
            frame.select(*(pl.lit(value).alias(name) for name, value in zip(self.axes, setting, strict=True)), pl.all())
            for setting, frame in zip(self.settings, frames, strict=True)
        ]
        return pl.concat(named)


def _limits(values: Floats) -> Floats:
    """Return Student's 95% interval of the mean over the first axis."""
    from scipy import special

    seeds = len(values)
    half = special.stdtrit(seeds - 1, 0.975) * values.std(axis=0, ddof=1) / np.sqrt(seeds)
    return np.stack([values.mean(axis=0) - half, values.mean(axis=0) + half])
