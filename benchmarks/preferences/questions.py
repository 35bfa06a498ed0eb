"""Is what `collect` asks better than random pairs? python -m benchmarks.preferences.questions [TRIALS] [--keep]

Queries of 15 items are judged by a consistent judge, one of Bradley and Terry's model, and one who often says "equal".
After the same number of answers: τ of the strengths, fraction of the pair relations that are right in the references,
and τ of ten systems scored by RDQ@5 with these references. ± is 1.96 standard errors of the difference, over trials and
judges; both sides have the same items, systems and answers to the same pair.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from benchmarks.history import Row, report
from scipy.stats import kendalltau

import rankdev as rd
from rankdev.judging._strategies import OrderStrategy
from rankdev.judging.items import Pool
from rankdev.judging.progress import Rule
from rankdev.preferences import Preferences
from rankdev.preferences.posterior import Posteriors

QUERIES, ITEMS, ANSWERS, SETS = 8, 15, (5, 10, 20, 40, 80), 4
NAMES = [f"d{k:02d}" for k in range(ITEMS)]
POOL = Pool.of({f"q{q}": NAMES for q in range(QUERIES)})
JUDGES = {"consistent": (1e6, 0.0), "Bradley–Terry": (1.5, 0.0), "with ties": (1.5, 1.0)}  # spread, Davidson's ν
SYSTEMS = np.tile(np.linspace(0.4, 1.6, 10), SETS)  # noise of the systems, in sets of ten
FIRST, SECOND = np.triu_indices(ITEMS, 1)


class World:
    """True strengths, systems that rank by them with more or less noise, and an answer to every pair."""

    def __init__(self, judge: str, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.strength = rng.normal(size=(QUERIES, ITEMS))
        self.runs = {f"s{s:02d}": _ranked(self.strength, rng, noise) for s, noise in enumerate(SYSTEMS)}
        self.true = self.scores(_ranked(self.strength, rng, 0.0))
        spread, ties = JUDGES[judge]
        half = np.clip(spread * (self.strength[:, FIRST] - self.strength[:, SECOND]), -600, 600) / 2
        weights = np.stack([np.exp(half), np.full(half.shape, ties), np.exp(-half)])
        below = rng.random(half.shape) < np.cumsum(weights, axis=0) / weights.sum(axis=0)
        self.answers = np.argmax(below, axis=0)  # 0: the first wins, 1: equal, 2: the second wins
        self.asked = [rng.permutation(len(FIRST)) for _ in range(QUERIES)]  # random pairs

    def scores(self, references: object) -> np.ndarray:
        """Mean score of each system."""
        return rd.evaluate(references, self.runs, "RDQ@5").means[:, 0]

    def answer(self, query: int, pair: int) -> tuple[str, str, str, bool]:
        """Query, winner, loser, and whether it is a tie."""
        first, second, found = NAMES[FIRST[pair]], NAMES[SECOND[pair]], self.answers[query, pair]
        return (f"q{query}", *((second, first) if found == 2 else (first, second)), bool(found == 1))

    def quality(self, rows: list[tuple[str, str, str, bool]]) -> list[float]:
        """τ of the strengths, fraction of the relations that are right, and τ of the systems."""
        records = [dict(zip(("query", "winner", "loser", "tie"), row, strict=True)) for row in rows]
        judged = Preferences.from_rows(records, items=POOL.items)
        posteriors = Posteriors.of(judged)
        posteriors.evaluate(range(QUERIES))
        items = [_tau(posteriors[q].strength, true) for q, true in enumerate(self.strength)]
        references = rd.References.from_preferences(judged, disconnected="largest")
        right = []
        for q, true in enumerate(self.strength):
            rank = np.array([references[f"q{q}"].get(name, np.nan) for name in NAMES])
            right.append(np.mean(np.sign(rank[SECOND] - rank[FIRST]) == np.sign(true[FIRST] - true[SECOND])))
        own, systems = self.scores(references).reshape(SETS, -1), self.true.reshape(SETS, -1)
        return [float(np.mean(part)) for part in (items, right, list(map(_tau, own, systems)))]


def _ranked(strength: np.ndarray, rng: np.random.Generator, noise: float) -> dict[str, list[str]]:
    order = np.argsort(-(strength + noise * rng.normal(size=strength.shape)), axis=1)
    return {f"q{q}": [NAMES[k] for k in row] for q, row in enumerate(order)}


def _tau(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.nan_to_num(kendalltau(one, other).statistic))


def by_chance(world: World) -> list[list[float]]:
    """Quality after each number of answers to random pairs."""
    pairs = [[world.answer(q, pair) for pair in asked] for q, asked in enumerate(world.asked)]
    return [world.quality([row for rows in pairs for row in rows[:number]]) for number in ANSWERS]


def chosen(world: World, seed: int) -> list[list[float]]:
    """Quality after each number of answers to the questions of `collect` with a budget, if it never stopped."""
    strategy = OrderStrategy(POOL, Rule(error=1e-9), repeats=1, seed=seed, spread=True)
    place = {pair: k for k, pair in enumerate(zip(FIRST.tolist(), SECOND.tolist(), strict=True))}
    rows, found = [], []
    for number in ANSWERS:
        while len(rows) < number * QUERIES and strategy.unsettled():
            query, a, b = strategy.ask()
            i, j = sorted((NAMES.index(a), NAMES.index(b)))
            rows.append(world.answer(int(query[1:]), place[i, j]))
            strategy.tell(*rows[-1][:3], tie=rows[-1][3])
        found.append(world.quality(rows))
    return found


def main() -> None:
    keep, words = "--keep" in sys.argv, [word for word in sys.argv[1:] if word != "--keep"]
    results = []
    for trial in range(int(words[0]) if words else 10):
        for judge in JUDGES:
            world = World(judge, trial)
            results.append([by_chance(world), chosen(world, trial)])
        print(f"trial {trial}", flush=True)
    found = np.array(results)  # [trial × judge, side, answers, criterion]
    mean, apart = found.mean(axis=0), found[:, 1] - found[:, 0]
    wide = 1.96 * apart.std(axis=0, ddof=1) / np.sqrt(len(apart))
    table: list[Row] = []
    for k, number in enumerate(ANSWERS):
        row: dict[str, str | float] = {"answers per query": str(number)}
        for c, what in enumerate(("τ of strengths", "relations right", "τ of systems")):
            row[what] = f"{mean[1, k, c]:.2f} and {mean[0, k, c]:.2f} ({apart[:, k, c].mean():+.3f} ± {wide[k, c]:.3f})"
        table.append(row)
    report("Questions of collect and random pairs", table, keep=keep)


if __name__ == "__main__":
    warnings.simplefilter("ignore", rd.RankdevWarning)
    main()
