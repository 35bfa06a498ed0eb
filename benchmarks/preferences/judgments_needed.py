"""How many judgments are needed: python -m benchmarks.preferences.judgments_needed FIGURE [WORLDS] [FEWER] [--keep]

30 queries of 12 items with normal strengths (standard deviation 1.5); answers by Bradley and Terry's model. First, two
systems of a known difference: judgments until one is better with probability .95. Then eight systems: how well their
order is known after so many judgments, compared with grades of all items. ± and bands are 95% intervals over worlds; of
decisions, which take longer, FEWER are simulated. With --keep the tables are added to the history.
"""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from benchmarks.history import Row, report
from scipy.stats import kendalltau

from rankdev.judging._strategies import DecisionStrategy, OrderStrategy, SystemScores
from rankdev.judging.items import Pool
from rankdev.judging.progress import Rule

QUERIES, ITEMS, SPREAD, MEASURE = 30, 12, 1.5, "RDQ@5"
NAMES = [f"d{k}" for k in range(ITEMS)]
POOL = Pool.of({f"q{q}": NAMES for q in range(QUERIES)})
STRATEGIES = ("random", "information", "top-heavy", "decide")
COLOURS = dict(zip(STRATEGIES, ("#7f7f7f", "#0072b2", "#d55e00", "#009e73"), strict=True))
MOST, REPEATS, TOP = 1500, 100, 5
GOALS = {"information": "order", "top-heavy": "top"}  # as the goals of the loop are called
STEPS = np.arange(50, 1001, 50)


def world(noises: list[float], seed: int) -> tuple[np.ndarray, SystemScores, np.ndarray, np.random.Generator]:
    """True strengths, systems that rank by them with more or less noise, and the systems' true mean scores."""
    rng = np.random.default_rng(seed)
    strength = rng.normal(size=(QUERIES, ITEMS)) * SPREAD
    runs = {
        f"s{number}": {
            query: [NAMES[k] for k in np.argsort(-(row + noise * rng.normal(size=ITEMS)))]
            for query, row in zip(POOL.items, strength, strict=True)
        }
        for number, noise in enumerate(noises)
    }
    scores = SystemScores.of(POOL.items, runs, MEASURE)
    return strength, scores, means(scores, strength), rng


def means(scores: SystemScores, values: np.ndarray) -> np.ndarray:
    """Mean score of each system if items are ordered by some values."""
    orders = np.argsort(-values, axis=1, kind="stable")
    return np.mean([scores(query, orders[q : q + 1])[0] for q, query in enumerate(POOL.items)], axis=0)


class RandomPairs(OrderStrategy):
    """Asks pairs at random, each query equally often."""

    def ask(self, skip: Any = ()) -> Any:
        states = self._queries
        query = min(states, key=lambda name: states[name].count)
        rng = np.random.default_rng((self.seed, list(states).index(query)))
        order = rng.permutation(len(states[query].i))
        k = order[int(states[query].count) % len(order)]
        return query, NAMES[states[query].i[k]], NAMES[states[query].j[k]]


def chooser(strategy: str, scores: SystemScores, seed: int) -> Any:
    if strategy == "decide":
        return DecisionStrategy(POOL, scores, 0.05, repeats=REPEATS, seed=seed)
    rule = Rule(error=1e-9, top=TOP if strategy == "top-heavy" else None)  # never stops
    kind = RandomPairs if strategy == "random" else OrderStrategy
    return kind(POOL, rule, repeats=REPEATS, seed=seed, spread=True)


def answered(ask: Any, strength: np.ndarray, rng: np.random.Generator, lapses: float) -> tuple[str, str, str]:
    query, a, b = ask.ask()
    row = strength[list(POOL.items).index(query)]
    chance = 1 / (1 + np.exp(row[NAMES.index(b)] - row[NAMES.index(a)]))
    won = rng.random() < (0.5 if rng.random() < lapses else chance)
    return (query, a, b) if won else (query, b, a)


def until_decided(strategy: str, noises: list[float], seed: int, lapses: float) -> tuple[int, bool, float]:
    """Judgments until a decision, whether it is correct, and the true difference."""
    strength, scores, truth, rng = world(noises, seed)
    verdicts = DecisionStrategy(POOL, scores, 0.05, repeats=REPEATS, seed=seed)
    ask = verdicts if strategy == "decide" else chooser(strategy, scores, seed)
    count = 0
    while verdicts.unsettled() and count < MOST:
        answer = answered(ask, strength, rng, lapses)
        for learner in {id(ask): ask, id(verdicts): verdicts}.values():
            learner.tell(*answer)
        count += 1
    correct = verdicts.verdict().best == int(np.argmax(truth))
    return count, correct, abs(float(truth[0] - truth[1]))


def decisions(worlds: int, pool: ProcessPoolExecutor, keep: bool) -> None:
    table: list[Row] = []
    reached = wrong = 0
    for noises, lapses in (([0.3, 2.5], 0.0), ([0.8, 1.8], 0.0), ([0.8, 1.3], 0.0), ([0.8, 1.8], 0.2)):
        row: dict[str, str | float] = {}
        for strategy in ("random", "information", "decide"):
            found = list(pool.map(partial(until_decided, strategy, noises, lapses=lapses), range(worlds)))
            counts = [count for count, _, _ in found]
            open_ = sum(count == MOST for count in counts)
            reached += len(counts) - open_
            wrong += sum(not correct for count, correct, _ in found if count < MOST)
            low, high = np.quantile(resampled(np.array(counts, float), np.median), [0.025, 0.975])
            undecided = f"; {open_} undecided" if open_ else ""
            row |= {"mean difference": f"{np.mean([d for *_, d in found]):.3f}", "random answers": f"{lapses:.0%}"}
            row[GOALS.get(strategy, strategy)] = f"{np.median(counts):,.0f} ({low:,.0f}–{high:,.0f}{undecided})"
        table.append(row)
        print(row, flush=True)
    report("Judgments until a decision", table, keep=keep)
    report("Decisions", [{"what": "all", "worlds": worlds, "reached": reached, "wrong": wrong}], keep=keep)


def resampled(values: np.ndarray, statistic: Any) -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.array([statistic(rng.choice(values, len(values))) for _ in range(1000)])


def half_width(values: np.ndarray) -> np.ndarray:
    return 1.96 * values.std(axis=0, ddof=1) / np.sqrt(len(values))


def curve(strategy: str, seed: int) -> list[tuple[float, bool, float, float]]:
    """After each step: τ of the systems, whether the best is found, τ of the items, fraction of the best five found."""
    noises = np.linspace(0.6, 2.4, 8).tolist()
    strength, scores, truth, rng = world(noises, seed)
    ask, learn = chooser(strategy, scores, seed), OrderStrategy(POOL, Rule(), repeats=REPEATS, seed=seed, spread=True)
    found = []
    for count in range(1, int(STEPS[-1]) + 1):
        answer = answered(ask, strength, rng, 0.0)
        ask.tell(*answer)
        if strategy != "decide":
            learn = ask
        else:
            learn.tell(*answer)
        if count in STEPS:
            fitted = np.array(list(learn.strengths().values()))
            own = means(scores, fitted)
            items = np.mean([np.nan_to_num(kendalltau(*rows).statistic) for rows in zip(fitted, strength, strict=True)])
            best = np.mean([len(top(a) & top(b)) / TOP for a, b in zip(fitted, strength, strict=True)])
            found.append((kendalltau(own, truth).statistic, int(np.argmax(own)) == int(np.argmax(truth)), items, best))
    return found


def top(values: np.ndarray) -> set[int]:
    return set(np.argsort(-values, kind="stable")[:TOP].tolist())


def graded(seed: int) -> tuple[float, bool]:
    """The same by grades of four levels, given with noise to all items, ties broken in favour of no system."""
    noises = np.linspace(0.6, 2.4, 8).tolist()
    strength, scores, truth, rng = world(noises, seed)
    grades = np.digitize(strength + rng.normal(size=strength.shape) * 0.75, [-1.5, 0.0, 1.5])
    own = np.mean([means(scores, grades + 1e-3 * rng.normal(size=grades.shape)) for _ in range(50)], axis=0)
    return kendalltau(own, truth).statistic, int(np.argmax(own)) == int(np.argmax(truth))


def main() -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    keep, words = "--keep" in sys.argv, [word for word in sys.argv[1:] if word != "--keep"]
    worlds, fewer = (*map(int, words[1:3]), *(40, 10)[len(words[1:3]) :])
    rows: dict[int, dict[str, Any]] = {count: {"judgments": f"{count:,}"} for count in (150, 300, 600, 1000)}
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    with ProcessPoolExecutor(2) as pool:
        seeds = range(100, 100 + worlds)
        for strategy in STRATEGIES:
            found = np.array(list(pool.map(partial(curve, strategy), seeds)), float)
            mean, error = found.mean(axis=0), half_width(found)
            for axis, column, width in zip(axes, mean.T, error.T, strict=False):
                axis.plot(STEPS, column, label=GOALS.get(strategy, strategy), color=COLOURS[strategy], lw=1.8)
                axis.fill_between(STEPS, column - width, column + width, color=COLOURS[strategy], alpha=0.15, lw=0)
            for k, count in enumerate(STEPS.tolist()):
                if count in rows:
                    shown = [f"{m:.2f} ± {w:.2f}" for m, w in zip(mean[k], error[k], strict=True)]
                    rows[count][GOALS.get(strategy, strategy)] = shown[0]
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
        decisions(fewer, pool, keep)


if __name__ == "__main__":
    main()
