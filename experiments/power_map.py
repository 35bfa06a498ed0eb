"""Which measure has the most power, by how two simulated systems differ: ``python -m experiments.power_map [--keep]``.

One system finds reference items better (retrieval), orders them better (order), or both. Reports the power of the
paper's measures over that grid, overall, by reference size and by ties; where the paper's powers lie on it; and how
many pairs of the systems of ``rankdev study poi`` differ, by how good its rankers are.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from benchmarks.history import Row, report, shown
from scipy import special

import rankdev as rd
from rankdev.statistics.agreement import tau_b
from rankdev.studies._published import published
from rankdev.studies.simulation import simulate

Floats = npt.NDArray[np.float64]
MEASURES = "paper@5"
ORDER = 0.5  # order of the weaker system: away from 0 and 1, so that it can be both better and worse
FINE, RESAMPLES = 61, 200  # places tried along each side of the grid, and resamples of seeds
LEADS = ((0, 0.2), (0.1, 0.1), (0.2, 0), (0.2, 0.1))  # in retrieval and in order
SIZES = {"3 items": 3, "10 items": 10, "30 items": 30, "100 items": 100}
TIES = {"no ties": 0, "half tied": 0.5, "9 of 10 tied": 0.9}
FACTORS = {  # of the errors of models and settings
    "almost equal": ((1, 1.01, 0.97, 0.99), (1.06, 1.01, 1)),
    "the default": ((1, 1.04, 0.92, 0.97), (1.2, 1.07, 1)),
    "further apart": ((1, 1.05, 0.9, 0.95), (1.3, 1.1, 1)),
    "furthest apart": ((1, 1.1, 0.85, 0.95), (1.5, 1.2, 1)),
}


class Size(NamedTuple):
    """Size of the simulation, and the advantages of the better system in each skill."""

    steps: Sequence[float] = (0.0, 0.05, 0.1, 0.2, 0.3)
    seeds: int = 10
    queries: int = 1000
    subsamples: int = 100
    permutations: int = 499
    n: int = 100


FULL, QUICK = Size(), Size((0.0, 0.1, 0.2, 0.3), 2, 120, 10, 60)


class PowerMap:
    """Power of every measure, ``[seed, retrieval, order, measure]``, and how far it is from the best of a cell."""

    def __init__(self, size: Size, **shape: Any) -> None:
        self.steps, maps = size.steps, []
        ahead = {"weakest": (0.0, 0.0), **{f"r{a:g}+o{b:g}": (a, b) for a in size.steps for b in size.steps}}
        for seed in range(size.seeds):
            made = simulate(
                size.queries,
                seed=seed,
                models=dict.fromkeys(ahead, 1.0),
                settings={"s": 1.0},
                retrieval={name: 1 + more for name, (more, _) in ahead.items()},
                order={name: ORDER + more for name, (_, more) in ahead.items()},
                **shape,
            )
            scores = rd.evaluate(made.references, dict(made.runs), MEASURES)
            found = rd.power(scores, sizes=[size.n], subsamples=size.subsamples, permutations=size.permutations)
            with_weakest = found.power[:, : len(scores.systems) - 1, 0]  # pairs of the first system come first
            maps.append(with_weakest.T.reshape(len(size.steps), len(size.steps), -1))
        self.measures, self.power = scores.measures, np.stack(maps)
        self.best = self.power.mean(axis=0).argmax(axis=2)
        self.different = np.add.outer(np.array(size.steps), np.array(size.steps)) > 0
        self.regret = np.take_along_axis(self.power, self.best[None, :, :, None], axis=3) - self.power

    def regrets(self) -> dict[str, str]:
        """Return each measure's mean regret over the cells with a difference, with its interval over seeds."""
        regret = self.regret[:, self.different].mean(axis=1)
        values = zip(self.measures, regret.mean(axis=0), *_limits(regret), strict=True)
        return {name: shown(value, low, high) for name, value, low, high in values}


def _limits(values: Floats) -> Floats:
    """Return Student's 95% interval of the mean over seeds."""
    half = special.stdtrit(len(values) - 1, 0.975) * values.std(axis=0, ddof=1) / np.sqrt(len(values))
    return np.stack([values.mean(axis=0) - half, values.mean(axis=0) + half])


def regrets(found: PowerMap) -> list[Row]:
    """Return how far each measure falls short of the best one, least first."""
    regret, texts = found.regret[:, found.different].mean(axis=0), found.regrets()
    wins = np.bincount(found.best[found.different], minlength=len(found.measures))
    order = np.argsort(regret.mean(axis=0), kind="stable")
    return [
        {
            "measure": found.measures[m],
            "mean regret": texts[found.measures[m]],
            "largest regret": float(regret[:, m].max()),
            "best in": int(wins[m]),
        }
        for m in order
    ]


def winners(found: PowerMap) -> Iterator[Row]:
    """Yield the best measure where systems differ in order, in retrieval and in both, and how many tie with it."""
    near = (_limits(found.regret)[0] <= 0).sum(axis=2) - 1
    for lead in LEADS:
        i, j = (found.steps.index(step) for step in lead)
        names = {"lead in retrieval, order": ", ".join(map("{:g}".format, lead))}
        best = {"best": found.measures[found.best[i, j]], "power": float(found.power.mean(axis=0)[i, j].max())}
        yield {**names, **best, "others not clearly worse": int(near[i, j])}


def by_references(size: Size, shapes: Mapping[str, Mapping[str, Any]]) -> list[Row]:
    """Return mean regret, a column for each kind of references."""
    columns = {name: PowerMap(size, **shape).regrets() for name, shape in shapes.items()}
    measures = sorted(next(iter(columns.values())))
    return [{"measure": m, **{name: column[m] for name, column in columns.items()}} for m in measures]


def paper_place(found: PowerMap) -> Iterator[Row]:
    """Yield the place of the map whose powers are closest to the paper's, and the powers there.

    Powers between cells are interpolated; intervals resample seeds.
    """
    known = published("poi")
    at = known["power_columns"].index("p50")
    wanted = np.array([known["power"][measure][at] for measure in found.measures])
    side = np.linspace(found.steps[0], found.steps[-1], FINE)
    finer = np.stack([np.interp(side, found.steps, row) for row in np.eye(len(found.steps))], axis=1)
    fine = np.stack([np.einsum("ia,abm,jb->ijm", finer, cells, finer) for cells in found.power])
    whole = fine.mean(axis=0)
    i, j = _nearest(whole, wanted)
    rng = np.random.default_rng(0)
    places, powers = [], []
    for _ in range(RESAMPLES):
        drawn = fine[rng.integers(len(fine), size=len(fine))].mean(axis=0)
        places.append([side[k] for k in _nearest(drawn, wanted)])
        powers.append(drawn[i, j])
    limits, power_limits = (np.quantile(part, [0.025, 0.975], axis=0) for part in (places, powers))
    there = whole[i, j]
    for name, lead, low, high in zip(("retrieval", "order"), (side[i], side[j]), *limits, strict=True):
        yield {"what": f"lead in {name}", "map": shown(lead, low, high, 2)}
    yield {"what": "τ of the order of measures", "map": float(tau_b(there, wanted))}
    yield {"what": "root mean square difference", "map": float(np.sqrt(((there - wanted) ** 2).mean()))}
    for name, value, low, high, theirs in zip(found.measures, there, *power_limits, wanted, strict=True):
        yield {"what": name, "map": shown(value, low, high), "paper": float(theirs)}


def _nearest(cells: Floats, wanted: Floats) -> tuple[int, int]:
    i, j = np.unravel_index(np.argmin(((cells - wanted) ** 2).mean(axis=2)), cells.shape[:2])
    return int(i), int(j)


def differing_pairs(name: str, queries: int) -> Row:
    """Count pairs of simulated rankers that differ significantly by all, most, any or none of the paper's measures."""
    models, settings = FACTORS[name]
    made = simulate(
        queries,
        models=dict(zip(("v72", "v74", "v75", "v81"), models, strict=True)),
        settings=dict(zip(("mp3", "mp4", "mp5"), settings, strict=True)),
    )
    found = rd.power(rd.evaluate(made.references, dict(made.runs), MEASURES), sizes=[100], subsamples=1).verdicts()
    numbers = {"all": "all", "≥ 7": "most", "any": "any", "none": "none"}
    factors = {"models": ", ".join(map("{:g}".format, models)), "settings": ", ".join(map("{:g}".format, settings))}
    return {"rankers": name, **factors, **{column: found[key] for column, key in numbers.items()}}


def main(arguments: list[str] | None = None) -> None:
    """Report all tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true", help="add the tables to benchmarks/history.jsonl")
    parser.add_argument("--quick", action="store_true", help="a smaller simulation")
    given = parser.parse_args(arguments)
    keep, size = given.keep, QUICK if given.quick else FULL
    warnings.simplefilter("ignore", rd.RankdevWarning)
    report("Simulated rankers", [differing_pairs(name, 5 * size.queries) for name in FACTORS], keep=keep)
    found = PowerMap(size)
    report("Power map", regrets(found), keep=keep)
    report("Power map, best measures", list(winners(found)), keep=keep)
    report("The paper on the power map", list(paper_place(found)), keep=keep)
    sizes = {name: {"buckets": [(count, count, 1)]} for name, count in SIZES.items()}
    report("Power map by reference size", by_references(size, sizes), keep=keep)
    ties = {name: {"ties": share} for name, share in TIES.items()}
    report("Power map by ties", by_references(size, ties), keep=keep)


if __name__ == "__main__":
    main()
