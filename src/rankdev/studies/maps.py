"""Power by kind of difference."""

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
from rankdev.studies._published import remarks_into
from rankdev.studies.simulation import Simulation, simulate


@dataclass(frozen=True, eq=False, kw_only=True)
class PowerMap(Result):
    """Power at ``n`` queries of every measure, where two systems differ in retrieval and in order.

    ``power[seed, retrieval, order, measure]`` is that of a pair whose better system leads by ``retrieval`` and by
    ``order``, on data made with each seed. Nothing is chosen: the whole plane is kept, the corner without any
    difference too, where power is the rate of false alarms. Intervals are Student's, over seeds.
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

    display: ClassVar = "rankdev.studies._plots"
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


MEASURES = "paper@5"
ORDER = 0.5  # order of the weaker system: so far from 0 and 1 that there is something to gain and to lose


@dataclass(frozen=True)
class Protocol:
    """How much is simulated, and where: leads of the better system in each skill."""

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
    """Give the power of measures at ``n`` queries over the plane of (difference in retrieval, difference in order).

    One system of :func:`simulate` has retrieval 1 and order .5; others lead it in one skill or in both. ``shape``
    says what else the data are like: ``ties=0.5``, or ``buckets=[(3, 3, 1)]`` for references of three items.

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
        made = plane(protocol.steps, protocol.queries, seed * protocol.seeds + place, **shape)
        with remarks_into(notes):
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
    """Draw the plane for each share of ties and each reference size, and for all combinations where both are given.

    An empty axis stays as :func:`power_map` has it: the paper's sizes, 3% of neighbours tied.

    >>> power_maps(["RDQ@5"], ties=[0, 0.9], n=20, quick=True).summary().columns
    ['ties', 'measure', 'regret', 'low', 'high', 'worst', 'wins']
    """
    axes = {"ties": _axis("ties", ties), "reference_size": _axis("reference_sizes", reference_sizes)}
    axes = {name: values for name, values in axes.items() if values}
    if not axes:
        raise rd.UsageError("give values of ties or of reference_sizes; power_map() draws a single map")
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


def plane(steps: Sequence[float], queries: int, seed: int, **shape: Any) -> Simulation:
    """Make the weakest system, and one for each pair of leads, retrieval's first: no lead gives it an equal."""
    leads = {"weakest": (0.0, 0.0), **{f"r{lead:g}+o{other:g}": (lead, other) for lead in steps for other in steps}}
    return simulate(
        queries,
        seed=seed,
        models=dict.fromkeys(leads, 1.0),
        settings={"s": 1.0},
        retrieval={name: 1 + lead for name, (lead, _) in leads.items()},
        order={name: ORDER + lead for name, (_, lead) in leads.items()},
        **shape,
    )
