"""Power maps: the power of measures by the kind of difference between two systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, ClassVar

import numpy as np
import polars as pl

import rankdev as rd
from rankdev._common.arrays import Bools, Floats, Ints
from rankdev._common.checks import check_flag, check_number, check_seed, check_whole, is_list
from rankdev._common.result import Result
from rankdev._common.work import Progress, part_of
from rankdev.errors import shown
from rankdev.measures import parse_all
from rankdev.statistics.power import power
from rankdev.studies._published import warnings_into
from rankdev.studies.simulation import Simulation, simulate


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

    display: ClassVar = "rankdev.studies._plots"
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

    display: ClassVar = "rankdev.studies._plots"
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


MEASURES = "paper@5"
ORDER = 0.5  # order of the weaker system: away from 0 and 1, so that it can be both better and worse


@dataclass(frozen=True)
class Protocol:
    """Size of the simulation, and the advantages of the better system in each skill."""

    steps: Sequence[float] = (0.0, 0.05, 0.1, 0.2, 0.3)
    seeds: int = 10
    queries: int = 1000
    subsamples: int = 100
    permutations: int = 499


FULL = Protocol()
QUICK = Protocol((0.0, 0.1, 0.3), 3, 400, 40, 199)


def power_map(
    measures: Any = MEASURES,
    *,
    n: int = 100,
    quick: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
    **shape: Any,
) -> PowerMap:
    """Estimate the power of measures over the grid of differences in retrieval and in order.

    One system of :func:`simulate` has retrieval 1 and order .5; others are better in one skill or in both.

    Parameters
    ----------
    measures : str, Measure or list of them, default "paper@5"
        Measures whose power is estimated.
    n : int, default 100
        Number of queries.
    quick : bool, default False
        Use a coarser grid and fewer seeds.
    seed : int, default 0
        Seed of the simulation.
    progress : callable, optional
        ``progress(done, total, text)``.
    **shape : object
        Other properties of the data, as for :func:`simulate`: ``ties=0.5``, or ``buckets=[(3, 3, 1)]`` for
        references of three items.

    Returns
    -------
    PowerMap
        Power of every measure in every cell.

    Examples
    --------
    >>> found = power_map(["RDQ@5", "RBP@5"], quick=True)
    >>> found.to_polars().columns, found.summary().columns
    (['retrieval', 'order', 'measure', 'power'], ['measure', 'regret', 'low', 'high', 'worst', 'wins'])
    """
    protocol = QUICK if check_flag("quick", quick) else FULL
    wanted = parse_all(measures)
    n, seed = check_whole("n", n, 2), check_seed(seed)
    for own in ("models", "settings", "retrieval", "order"):
        if own in shape:
            raise rd.UsageError(f"the map sets {own} itself; leave it out")
    if n > protocol.queries:
        raise rd.UsageError(f"n is {n}, and the map has {protocol.queries} queries; give a smaller n")
    maps, notes = [], list[str]()
    for place in range(protocol.seeds):
        made = simulate_grid(protocol.steps, protocol.queries, seed * protocol.seeds + place, **shape)
        with warnings_into(notes):
            scores = rd.evaluate(made.references, dict(made.runs), wanted)
            found = power(
                scores, sizes=[n], subsamples=protocol.subsamples, permutations=protocol.permutations, seed=seed
            )
        with_weakest = found.power[:, : len(scores.systems) - 1, 0]  # pairs of the first system come first
        maps.append(with_weakest.T.reshape(len(protocol.steps), len(protocol.steps), -1))
        if progress is not None:
            progress(place + 1, protocol.seeds, f"seed {place + 1} of {protocol.seeds}")
    steps = tuple(protocol.steps)
    return PowerMap(
        retrieval=steps,
        order=steps,
        measures=scores.measures,
        power=np.stack(maps),
        n=n,
        queries=protocol.queries,
        subsamples=protocol.subsamples,
        permutations=protocol.permutations,
        seeds=protocol.seeds,
        shape=shape,
        seed=seed,
        remarks=tuple(dict.fromkeys(notes)),
    )


def power_maps(
    measures: Any = MEASURES,
    *,
    ties: Sequence[float] = (),
    reference_sizes: Sequence[int] = (),
    n: int = 100,
    quick: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
) -> PowerMaps:
    """Estimate a power map for each fraction of ties and each reference size, or for all combinations of both.

    An empty axis keeps the default of :func:`power_map`: the paper's sizes, 3% of neighbours tied.

    Parameters
    ----------
    measures : str, Measure or list of them, default "paper@5"
        Measures whose power is estimated.
    ties : list of float, optional
        Fractions of neighbours in a reference that are tied.
    reference_sizes : list of int, optional
        Numbers of items in a reference.
    n : int, default 100
        Number of queries.
    quick : bool, default False
        Use a coarser grid and fewer seeds.
    seed : int, default 0
        Seed of the simulation.
    progress : callable, optional
        ``progress(done, total, text)``.

    Returns
    -------
    PowerMaps
        One map per setting.

    Examples
    --------
    >>> power_maps(["RDQ@5"], ties=[0, 0.9], n=20, quick=True).summary().columns
    ['ties', 'measure', 'regret', 'low', 'high', 'worst', 'wins']
    """
    axes = {"ties": _axis("ties", ties), "reference_size": _axis("reference_sizes", reference_sizes)}
    axes = {name: values for name, values in axes.items() if values}
    if not axes:
        raise rd.UsageError("give values of ties or of reference_sizes; power_map() makes a single map")
    settings = list(product(*axes.values()))
    found = []
    for done, setting in enumerate(settings):
        shape = dict(zip(axes, setting, strict=True))
        size = shape.pop("reference_size", None)
        inside = part_of(progress, done, done + 1, len(settings), f"map {done + 1} of {len(settings)}")
        buckets = {} if size is None else {"buckets": [(size, size, 1)]}
        found.append(power_map(measures, n=n, quick=quick, seed=seed, progress=inside, **shape, **buckets))
    notes = dict.fromkeys(line for one in found for line in one.remarks)
    return PowerMaps(tuple(axes), tuple(settings), tuple(found), found[0].n, found[0].seed, tuple(notes))


def _axis(name: str, values: Any) -> list[Any]:
    if not is_list(values):
        raise rd.UsageError(f"{name} must be a list of values; got {shown(values)}")
    known = [
        check_number("ties", value, 0, 1, ends=True) if name == "ties" else check_whole(name, value, 1)
        for value in values
    ]
    if len(set(known)) < len(known):
        raise rd.UsageError(f"{name} has a value twice: {', '.join(map(str, known))}; keep one")
    return known


def simulate_grid(steps: Sequence[float], queries: int, seed: int, **shape: Any) -> Simulation:
    """Simulate the weakest system, and one for each pair of advantages, by retrieval first; 0 and 0 is its equal."""
    ahead = {"weakest": (0.0, 0.0), **{f"r{more:g}+o{other:g}": (more, other) for more in steps for other in steps}}
    return simulate(
        queries,
        seed=seed,
        models=dict.fromkeys(ahead, 1.0),
        settings={"s": 1.0},
        retrieval={name: 1 + more for name, (more, _) in ahead.items()},
        order={name: ORDER + more for name, (_, more) in ahead.items()},
        **shape,
    )
