"""Real pairs of systems, and published powers, located on a power map."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import polars as pl

import rankdev as rd
from rankdev._common.arrays import Floats, Ints
from rankdev._common.checks import check_flag, check_seed, check_whole
from rankdev._common.result import Result
from rankdev._common.work import Progress
from rankdev.io.loading import load_inputs
from rankdev.measures import parse_all
from rankdev.statistics.panels import pairs_of
from rankdev.statistics.power import power
from rankdev.statistics.rank_correlation import tau_b
from rankdev.studies._published import warnings_into
from rankdev.studies.maps.result import PowerMap
from rankdev.studies.maps.simulated import MEASURES, simulate_grid

WAYS = {
    "place": "the nearest simulated pairs",
    "references": "the simulation's mean order of measures",
    "hindsight": "the real pairs' mean order of measures",
}


@dataclass(frozen=True, eq=False, kw_only=True)
class RealPairs(Result):
    """Real pairs of systems by the kind of their difference, and the power that a simulation predicts for them.

    Attributes
    ----------
    systems, measures : tuple of str
        Names of the systems and of the measures.
    place : array
        ``[pair, 2]``: how much more the second system loses by retrieval (here: by the items that are not above the
        cutoff, returned or not) and by order; the one that loses less by retrieval comes first.
    power : array
        ``[pair, measure]``: power at ``n`` queries.
    said : array
        ``[pair, measure]``: power predicted by the nearest simulated pairs.
    usual : array
        ``[measure]``: mean over all simulated pairs.
    far : array
        ``[pair]``: distance to the nearest simulated pair.
    n : int
        Queries at which power is estimated.
    apart : float
        Difference of two powers up to which a case is not counted.
    resamples, seed : int
        Resamples of systems for intervals, and the seed.
    remarks : tuple of str
        Notes on the data.

    See Also
    --------
    rankdev.studies.place_runs : Returns the pairs.
    """

    display: ClassVar = "rankdev.studies.maps._plots"
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
        """Return one row per pair and measure.

        Returns
        -------
        polars.DataFrame
            Columns a, b, retrieval, order, measure, power, said (the predicted power).

        Examples
        --------
        >>> from rankdev.studies import simulate
        >>> made = simulate(30, models={"x": 1.0, "y": 1.5, "z": 2.0}, settings={"s": 1.0})
        >>> found = place_runs(made.references, dict(made.runs), ["RDQ@5", "AP@5"], n=6, resamples=20, quick=True)
        >>> found.to_polars().columns
        ['a', 'b', 'retrieval', 'order', 'measure', 'power', 'said']
        """
        pairs = pairs_of(self.systems)
        pair, measure = (part.ravel() for part in np.indices(self.power.shape))
        names = {"a": [pairs[i][0] for i in pair], "b": [pairs[i][1] for i in pair]}
        where = {"retrieval": self.place[pair, 0], "order": self.place[pair, 1]}
        values = {"power": self.power.ravel(), "said": self.said.ravel()}
        return pl.DataFrame({**names, **where, "measure": [self.measures[m] for m in measure], **values})

    def summary(self) -> pl.DataFrame:
        """Return how often each way of prediction finds which of two measures has more power.

        A case is a pair of systems and two measures whose powers are clearly different. Intervals resample systems.

        Returns
        -------
        polars.DataFrame
            Columns way, right (the fraction of cases), low, high. The last row is what the pair's place adds to
            knowing the references.

        Examples
        --------
        >>> from rankdev.studies import simulate
        >>> made = simulate(30, models={"x": 1.0, "y": 1.5, "z": 2.0}, settings={"s": 1.0})
        >>> found = place_runs(made.references, dict(made.runs), ["RDQ@5", "AP@5"], n=6, resamples=20, quick=True)
        >>> found.summary()["way"].to_list()
        ['place', 'references', 'hindsight', 'gain of the place']
        """
        values = self._agreements
        values = np.column_stack([values, values[:, 0] - values[:, 1]])
        rows = []
        for name, column in zip((*WAYS, "gain of the place"), values.T, strict=True):
            known = column[1:][np.isfinite(column[1:])]
            limits = np.quantile(known, [0.025, 0.975]) if len(known) else (np.nan, np.nan)
            rows.append((name, column[0], *limits))
        return pl.DataFrame(rows, schema=["way", "right", "low", "high"], orient="row").fill_nan(None)

    @property
    def by_retrieval(self) -> Floats:
        """Fraction of each pair's difference that is retrieval."""
        size = np.abs(self.place)
        return np.asarray(size[:, 0] / np.maximum(size.sum(axis=1), 1e-12))

    @property
    def opposed(self) -> float:
        """Fraction of pairs in which one system is better in retrieval and the other in order."""
        return float((self.place[:, 1] < 0).mean())

    @property
    def _agreements(self) -> Floats:
        """Fraction of cases that each way predicts correctly, ``[resample, way]``; the first is all systems once."""
        count = len(self.systems)
        first, second = np.triu_indices(count, 1)
        predictions = [self.said, np.broadcast_to(self.usual, self.said.shape)]
        predictions.append(np.broadcast_to(self.power.mean(axis=0), self.said.shape))
        cases = [self._right(part) for part in predictions]
        rng = np.random.default_rng(self.seed)
        rows = []
        for draw in range(self.resamples + 1):
            held = np.bincount(rng.integers(count, size=count), minlength=count) if draw else np.ones(count, np.int64)
            rows.append([_fraction(hits, clear, held[first] * held[second]) for hits, clear in cases])
        return np.array(rows)

    def _right(self, predicted: Floats) -> tuple[Floats, Floats]:
        """Count, for each pair, the clear cases and those that are predicted correctly."""
        a, b = np.triu_indices(len(self.measures), 1)
        real, expected = (part[:, a] - part[:, b] for part in (self.power, predicted))
        clear = np.abs(real) > self.apart
        right = np.where(expected == 0, 0.5, np.sign(real) == np.sign(expected))
        return (right * clear).sum(axis=1), clear.sum(axis=1).astype(np.float64)


def _fraction(hits: Floats, clear: Floats, weight: Ints) -> float:
    cases = float(clear @ weight)
    return float(hits @ weight) / cases if cases else float("nan")


STEPS = (0.0, 0.1, 0.2, 0.4)
NEAREST = 7  # simulated pairs that predict a real one
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
    """Locate all pairs of systems by what they lose (:func:`rankdev.losses`), and predict the power of measures there.

    Systems are simulated on references with the sizes and ties of the given ones, and lie on the same grid: the
    nearest simulated pairs predict the power of each measure at ``n`` queries. The prediction is compared with the
    power that it has, and with one order of measures for all pairs.

    Parameters
    ----------
    references : References, path, table or dict
        Ideal order of each query: lists, tiers or grades.
    runs : dict of str to Run, path, table or dict
        Each system's ranking; at least three systems.
    measures : str, Measure or list of them, default "paper@5"
        Measures whose power is estimated.
    n : int, default 25
        Number of queries.
    resamples : int, default 500
        Resamples of systems for intervals.
    quick : bool, default False
        Use fewer subsamples and permutations.
    seed : int, default 0
        Seed of the simulation and of the resamples.
    progress : callable, optional
        ``progress(done, total, text)``.

    Returns
    -------
    RealPairs
        Place, power and predicted power of every pair.

    Examples
    --------
    >>> from rankdev.studies import simulate
    >>> made = simulate(30, models={"x": 1.0, "y": 1.5, "z": 2.0}, settings={"s": 1.0})
    >>> found = place_runs(made.references, dict(made.runs), ["RDQ@5", "AP@5"], n=6, resamples=20, quick=True)
    >>> found.power.shape
    (3, 2)
    """
    n, resamples, seed = check_whole("n", n, 6), check_whole("resamples", resamples, 20), check_seed(seed)
    subsamples, permutations = (40, 199) if check_flag("quick", quick) else (200, 499)
    texts = parse_all(measures)
    notes: list[str] = []
    with warnings_into(notes):
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
            made = simulate_grid(STEPS, max(QUERIES, n), seed * SEEDS + step, **_shape_of(known))
            parts.append(_located(made.references, dict(made.runs), texts, drawing))
    there, simulated = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    distance = np.linalg.norm(place[:, None] - there, axis=2)
    nearest = np.argsort(distance, axis=1, kind="stable")[:, :NEAREST]
    predicted, usual = simulated[nearest].mean(axis=1), simulated.mean(axis=0)
    return RealPairs(
        systems=tuple(loaded),
        measures=tuple(str(text) for text in texts),
        place=place,
        power=real,
        said=predicted,
        usual=usual,
        far=distance.min(axis=1),
        n=n,
        apart=APART,
        resamples=resamples,
        seed=seed,
        remarks=tuple(dict.fromkeys(notes)),
    )


def _shape_of(references: rd.References) -> dict[str, Any]:
    """Return the sizes and ties of references as arguments of the simulation."""
    sizes = references.sizes[references.sizes > 0]
    low, high = (int(np.quantile(sizes, q)) for q in (0.1, 0.9))
    tiers = references.tier_counts[references.sizes > 0]
    ties = 1 - float(((tiers - 1) / np.maximum(sizes - 1, 1)).mean())
    return {"buckets": [(low, high, 1)], "ties": ties}


def _located(
    references: rd.References, runs: Mapping[str, Any], texts: Any, drawing: Mapping[str, Any]
) -> tuple[Floats, Floats]:
    """Return the place of each pair, how much more the second loses by retrieval and by order, and its powers.

    Retrieval is here which items are above the cutoff, whether others are returned below it or not.
    """
    cutoff = next((text.cutoff for text in texts if getattr(text, "cutoff", None)), 5)
    lost = rd.losses(references, runs, f"RDQ@{cutoff}").to_polars()
    first, second = np.triu_indices(lost.height, 1)
    place = lost.select(pl.col("lost_by_retrieval") + pl.col("lost_by_cutoff"), "lost_by_order").to_numpy()
    apart = place[second] - place[first]
    apart *= np.where(apart[:, :1] < 0, -1, 1)  # the system that loses less by retrieval comes first
    found = power(rd.evaluate(references, runs, texts), **drawing)
    return apart, found.power[:, :, 0].T


FINE = 61  # places tried along each side of the grid
RESAMPLES = 200


@dataclass(frozen=True, eq=False)
class PaperPlace:
    """The place of the map whose powers have the smallest mean squared distance from published ones.

    ``limits`` are the quantiles of both coordinates over resampled seeds, ``power[measure]`` the map's powers there
    with ``power_limits``, ``apart`` the root of the mean squared distance, and ``tau`` the rank correlation.
    """

    retrieval: float
    order: float
    limits: Floats = field(repr=False)
    measures: tuple[str, ...]
    published: Floats = field(repr=False)
    power: Floats = field(repr=False)
    power_limits: Floats = field(repr=False)
    apart: float
    tau: float


def place_of(found: PowerMap, published: Mapping[str, float], seed: int = 0) -> PaperPlace:
    """Find the place of some measures' powers on a map; powers between its cells are interpolated."""
    wanted = np.array([published[name] for name in found.measures])
    sides = [np.linspace(steps[0], steps[-1], FINE) for steps in (found.retrieval, found.order)]
    fine = np.stack([_finer(cells, found, sides) for cells in found.power])  # [seed, retrieval, order, measure]
    whole = fine.mean(axis=0)
    i, j = _nearest(whole, wanted)
    rng = np.random.default_rng(seed)
    places, powers = [], []
    for _ in range(RESAMPLES):
        drawn = fine[rng.integers(len(fine), size=len(fine))].mean(axis=0)
        a, b = _nearest(drawn, wanted)
        places.append((sides[0][a], sides[1][b]))
        powers.append(drawn[i, j])
    limits, power_limits = (np.quantile(part, [0.025, 0.975], axis=0) for part in (places, powers))
    there = whole[i, j]
    apart = float(np.sqrt(((there - wanted) ** 2).mean()))
    tau = float(tau_b(there, wanted))
    return PaperPlace(
        float(sides[0][i]), float(sides[1][j]), limits, found.measures, wanted, there, power_limits, apart, tau
    )


def _finer(cells: Floats, found: PowerMap, sides: list[Floats]) -> Floats:
    """Interpolate a grid ``[retrieval, order, measure]`` along both sides."""
    across, down = (
        np.stack([np.interp(side, steps, row) for row in np.eye(len(steps))], axis=1)
        for side, steps in zip(sides, (found.retrieval, found.order), strict=True)
    )
    return np.einsum("ia,abm,jb->ijm", across, cells, down)


def _nearest(cells: Floats, wanted: Floats) -> tuple[int, int]:
    """Find the cell with the smallest mean squared distance."""
    i, j = np.unravel_index(np.argmin(((cells - wanted) ** 2).mean(axis=2)), cells.shape[:2])
    return int(i), int(j)
