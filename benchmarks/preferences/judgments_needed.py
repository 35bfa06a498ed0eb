"""How many judgments are needed: python -m benchmarks.preferences.judgments_needed FIGURE [WORLDS] [--keep]

30 queries of 12 items with normal strengths (standard deviation 1.5); answers by Bradley and Terry's model. Eight
systems: how well their order is known after so many judgments, compared with grades of all items. ± and bands are 95%
intervals over worlds. With --keep the tables are added to the history.
"""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from benchmarks.history import report
from scipy.stats import kendalltau

import rankdev as rd
from rankdev.judging.items import Pool
from rankdev.judging.store import Answer
from rankdev.judging.strategies import OrderStrategy, all_pairs

QUERIES, ITEMS, SPREAD, MEASURE = 30, 12, 1.5, "RDQ@5"
NAMES = [f"d{k}" for k in range(ITEMS)]
POOL = Pool.of({f"q{q}": NAMES for q in range(QUERIES)})
STRATEGIES = ("random", "chosen")
COLOURS = dict(zip(STRATEGIES, ("#7f7f7f", "#0072b2"), strict=True))
REPEATS = 100
STEPS = np.arange(50, 1001, 50)


def world(seed: int) -> tuple[np.ndarray, dict[str, rd.Run], np.ndarray, np.random.Generator]:
    """True strengths, systems that rank by them with more or less noise, and the systems' true mean scores."""
    rng = np.random.default_rng(seed)
    strength = rng.normal(size=(QUERIES, ITEMS)) * SPREAD
    runs = {
        f"s{number}": rd.Run.from_lists(ordered(strength + noise * rng.normal(size=strength.shape)))
        for number, noise in enumerate(np.linspace(0.6, 2.4, 8))
    }
    return strength, runs, means(runs, strength), rng


def ordered(values: np.ndarray) -> dict[str, list[str]]:
    """Order the items of each query by some values."""
    return {
        query: [NAMES[k] for k in np.argsort(-row, kind="stable")]
        for query, row in zip(POOL.items, values, strict=True)
    }


def means(runs: dict[str, rd.Run], values: np.ndarray) -> np.ndarray:
    """Mean score of each system if items are ordered by some values."""
    return rd.evaluate(ordered(values), runs, MEASURE).means[:, 0]


class RandomPairs(OrderStrategy):
    """Asks pairs at random, each query equally often."""

    def ask(self, *_: Any, **__: Any) -> Any:
        states, (i, j) = self._queries, all_pairs(ITEMS)
        query = min(states, key=lambda name: states[name].count)
        rng = np.random.default_rng((self.seed, list(states).index(query)))
        order = rng.permutation(len(i))
        k = order[int(states[query].count) % len(order)]
        return query, NAMES[i[k]], NAMES[j[k]]


def chooser(strategy: str, seed: int) -> OrderStrategy:
    kind = RandomPairs if strategy == "random" else OrderStrategy
    return kind(POOL, error=1e-9, repeats=REPEATS, seed=seed, spread=True)  # never stops


def answered(ask: Any, strength: np.ndarray, rng: np.random.Generator) -> Answer:
    query, a, b = ask.ask()
    row = strength[list(POOL.items).index(query)]
    chance = 1 / (1 + np.exp(row[NAMES.index(b)] - row[NAMES.index(a)]))
    return Answer(query, a, b, "first" if rng.random() < chance else "second", "")


def half_width(values: np.ndarray) -> np.ndarray:
    return 1.96 * values.std(axis=0, ddof=1) / np.sqrt(len(values))


def curve(strategy: str, seed: int) -> list[tuple[float, bool]]:
    """After each step: τ of the systems, and whether the best is found."""
    strength, runs, truth, rng = world(seed)
    ask, found = chooser(strategy, seed), []
    for count in range(1, int(STEPS[-1]) + 1):
        ask.tell(answered(ask, strength, rng))
        if count in STEPS:
            own = means(runs, np.array([state.posterior().strength for state in ask.queries.values()]))
            found.append((kendalltau(own, truth).statistic, int(np.argmax(own)) == int(np.argmax(truth))))
    return found


def graded(seed: int) -> tuple[float, bool]:
    """The same by grades of four levels, given with noise to all items, ties broken in favour of no system."""
    strength, runs, truth, rng = world(seed)
    grades = np.digitize(strength + rng.normal(size=strength.shape) * 0.75, [-1.5, 0.0, 1.5])
    own = np.mean([means(runs, grades + 1e-3 * rng.normal(size=grades.shape)) for _ in range(50)], axis=0)
    return kendalltau(own, truth).statistic, int(np.argmax(own)) == int(np.argmax(truth))


def main() -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    keep, words = "--keep" in sys.argv, [word for word in sys.argv[1:] if word != "--keep"]
    worlds = int(words[1]) if len(words) > 1 else 40
    rows: dict[int, dict[str, Any]] = {count: {"judgments": f"{count:,}"} for count in (150, 300, 600, 1000)}
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    with ProcessPoolExecutor(2) as pool:
        seeds = range(100, 100 + worlds)
        for strategy in STRATEGIES:
            found = np.array(list(pool.map(partial(curve, strategy), seeds)), float)
            mean, error = found.mean(axis=0), half_width(found)
            for axis, column, width in zip(axes, mean.T, error.T, strict=True):
                axis.plot(STEPS, column, label=strategy, color=COLOURS[strategy], lw=1.8)
                axis.fill_between(STEPS, column - width, column + width, color=COLOURS[strategy], alpha=0.15, lw=0)
            for k, count in enumerate(STEPS.tolist()):
                if count in rows:
                    rows[count][strategy] = f"{mean[k, 0]:.2f} ± {error[k, 0]:.2f}"
            print(strategy, flush=True)
        grades = np.array(list(pool.map(graded, seeds)), float)
        report("Judgments and the order of systems", list(rows.values()), keep=keep)
        whole = [f"{m:.2f} ± {w:.2f}" for m, w in zip(grades.mean(axis=0), half_width(grades), strict=True)]
        report("Grades of all items", [dict(zip(("τ of systems", "best found"), whole, strict=True))], keep=keep)
        for axis, values, title in zip(axes, grades.T, ("order of eight systems", "best system found"), strict=True):
            at, value, width = [QUERIES * ITEMS], [values.mean()], half_width(values)
            axis.errorbar(at, value, width, fmt="k*", ms=11, capsize=3, label="grades of all items")
            axis.set(title=title, xlabel="judgments, 30 queries of 12 items", ylim=(None, 1.02))
            axis.grid(alpha=0.3)
            axis.spines[["top", "right"]].set_visible(False)
        axes[0].set_ylabel("Kendall τ with the truth")
        axes[1].set_ylabel("fraction of worlds")
        axes[0].legend(frameon=False, loc="lower right")
        figure.savefig(words[0], dpi=130)


if __name__ == "__main__":
    main()
