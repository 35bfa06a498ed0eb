"""Power maps of simulated pairs of systems, which differ in retrieval, in order or in both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

import rankdev as rd
from rankdev._common.checks import check_flag, check_number, check_seed, check_whole, is_list
from rankdev._common.work import Progress, part_of
from rankdev.errors import shown
from rankdev.measures import parse_all
from rankdev.statistics.power import power
from rankdev.studies._published import warnings_into
from rankdev.studies.maps.result import PowerMap, PowerMaps
from rankdev.studies.simulation import Simulation, simulate

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
    """Simulate the weakest system, and one for each pair of advantages in retrieval and order; (0, 0) is its equal."""
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
