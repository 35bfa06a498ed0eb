"""Simulation of power: subsamples drawn and tested, size by size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankdev._common.arrays import Floats
from rankdev._common.work import Progress
from rankdev.statistics.contrasts import Family
from rankdev.statistics.flips import Engine, PValue, Sampling, count_extremes, lag_order, most_extremes, open_engine
from rankdev.statistics.flips.exact import stream_keys
from rankdev.statistics.paired import fewest_p
from rankdev.statistics.panels import Panel
from rankdev.statistics.power.student import effect_limits, power_of

UNKNOWN = 0.05  # smallest p of a sign test above which a pool does not tell the effect of a pair
COLUMNS = 512  # systems × measures simulated together: their sums should stay in the cache


@dataclass(kw_only=True)
class Simulation:
    """One simulation: its settings, and its progress."""

    systems: int
    measures: int
    subsamples: int
    permutations: int
    alpha: float
    p_value: PValue
    seed: int
    progress: Progress | None
    something: bool = False  # whether any size is finished
    interrupted: bool = False
    done: float = 0.0
    total: float = 0.0

    @property
    def pairs(self) -> int:
        """Number of pairs of systems."""
        return self.systems * (self.systems - 1) // 2

    def announce(self, parts: list[tuple[list[Panel], tuple[int, ...]]]) -> None:
        """Report the cost before the work starts: the number of additions, and of tests as text."""
        columns = sum(len(panel.measures) * size for group, plan in parts for panel in group for size in plan)
        tests = sum(len(panel.measures) * len(plan) for group, plan in parts for panel in group)
        self.total = float(columns) * self.systems * self.subsamples * self.permutations
        self._report(0.0, f"{tests * self.pairs * self.subsamples:,} tests, {self.total:.1e} additions")

    def chunks(self, groups: list[Panel]) -> list[tuple[Panel, Engine]]:
        """Cut panels into few measures at a time, each with its engine."""
        step = max(1, COLUMNS // self.systems)
        cut = []
        for panel in groups:
            work = float(panel.values.size) * self.subsamples * self.permutations
            for start in range(0, len(panel.measures), step):
                stop = start + step
                values = panel.values[:, :, start:stop]
                chunk = Panel(panel.measures[start:stop], panel.places[start:stop], panel.queries, values)
                cut.append((chunk, open_engine(values, work)))
        return cut

    def rejected(self, work: list[tuple[Panel, Engine]]) -> np.ndarray:
        """Return which pairs differ significantly on all queries: ``[measure, pair]``."""
        rejected = np.zeros((self.measures, self.pairs), bool)
        for chunk, engine in work:
            rejected[list(chunk.places)] = self._rejections(engine, len(chunk.queries), 1, replace=False) > 0
        return rejected

    def curves(
        self,
        work: list[tuple[Panel, Engine]],
        sizes: tuple[int, ...],
        replace: bool = False,
    ) -> tuple[Floats, tuple[int, ...]]:
        """Return power ``[measure, pair, size]`` and the sizes that were finished, smallest first."""
        found: dict[int, Floats] = {}
        for n in sizes:
            try:
                values = np.full((self.measures, self.pairs), np.nan)
                for chunk, engine in work:
                    if replace or n <= len(chunk.queries):
                        values[list(chunk.places)] = (
                            self._rejections(engine, n, self.subsamples, replace) / self.subsamples
                        )
                    cost = float(n) * len(chunk.measures) * self.systems
                    self._report(cost * self.subsamples * self.permutations, f"n = {n}")
            except KeyboardInterrupt:
                if not self.something:
                    raise
                self.interrupted = True
                break
            found[n] = values
            self.something = True
        done = tuple(n for n in sizes if n in found)
        none = np.empty((self.measures, self.pairs, 0))
        return np.stack([found[n] for n in done], axis=2) if done else none, done

    def limits(self, groups: list[Panel], sizes: tuple[int, ...]) -> Floats:
        """Return 95% limits of each pair's power, given the pool: ``[limit, measure, pair, size]``.

        From 0 to 1 where too few queries differ for any sign test to reject.
        """
        found = np.full((2, self.measures, self.pairs, len(sizes)), np.nan)
        first, second = np.triu_indices(self.systems, 1)
        for panel in groups:
            for m, place in enumerate(panel.places):
                family = Family(np.ascontiguousarray(panel.values[:, :, m]), panel.queries, first, second)
                effects, pool = family.statistics["effect"], len(panel.queries)
                unknown = (fewest_p(family) > UNKNOWN) | ~np.isfinite(effects)
                ends = np.stack(effect_limits(np.where(unknown, 0.0, effects), pool))
                for i, n in enumerate(sizes):
                    found[:, place, :, i] = np.where(unknown, [[0.0], [1.0]], power_of(n, self.alpha)(ends))
        return found

    def _rejections(self, engine: Engine, n: int, subsamples: int, replace: bool) -> np.ndarray:
        """Count the subsamples that reject: ``[measure, pair]``."""
        keys = stream_keys(self.seed, n, subsamples)
        # enumerating the flips of a few queries takes no more work than drawing, and is exact
        exact = 2 ** (n - 1) <= self.permutations
        flips = 2 ** (n - 1) if exact else self.permutations
        most = most_extremes(flips, self.alpha, "paper" if exact else self.p_value)
        counts = count_extremes(engine, Sampling(n, replace, exact), keys, flips)
        rejected: np.ndarray = (counts <= most).sum(axis=0)
        return rejected[lag_order(self.systems)].T

    def _report(self, cost: float, note: str) -> None:
        self.done += cost
        if self.progress is not None:
            self.progress(self.done, self.total, note)


def queries_of(groups: list[Panel], measures: int) -> tuple[int, ...]:
    """Count the queries of each measure."""
    queries = {place: len(panel.queries) for panel in groups for place in panel.places}
    return tuple(queries.get(place, 0) for place in range(measures))
