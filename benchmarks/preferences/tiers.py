"""How many pair relations each tier rule finds: `python -m benchmarks.preferences.tiers [SEED] [TRIALS]`."""

from __future__ import annotations

import sys
from itertools import product

import numpy as np

from rankdev.preferences import Preferences, strengths, tiers

RULES = ("auto", "strict", "partition", "bic")
TRUTHS = [("one", 0, 0.0), *(("strict", 0, sd) for sd in (0.5, 1.0, 1.5, 2.0))]
TRUTHS += [
    ("tiers", 2, 1.0),
    ("tiers", 2, 2.0),
    ("tiers", 3, 1.0),
    ("tiers", 3, 1.5),
    ("tiers", 4, 1.0),
    ("tiers", 5, 1.0),
]
ITEMS, TIMES = (10, 20, 30, 50), (1, 2, 5, 15)  # judgments: so many times n log n


def drawn(kind: str, levels: int, scale: float, n: int, rng: np.random.Generator) -> np.ndarray:
    if kind == "tiers":
        return rng.permutation(np.arange(n) % levels) * scale
    return rng.normal(size=n) * scale


def judged(truth: np.ndarray, number: int, rng: np.random.Generator) -> Preferences:
    """A chain through all items, then random pairs."""
    n, chain = len(truth), rng.permutation(len(truth))
    a = rng.integers(n, size=max(0, number - n + 1))
    b = (a + 1 + rng.integers(n - 1, size=len(a))) % n
    a, b = np.r_[chain[:-1], a], np.r_[chain[1:], b]
    won = rng.random(len(a)) < 1 / (1 + np.exp(truth[b] - truth[a]))
    pairs = zip(np.where(won, a, b), np.where(won, b, a), strict=True)
    return Preferences.from_rows([("q", f"d{x}", f"d{y}") for x, y in pairs])


def accuracy(cut: list[list[str]], truth: np.ndarray) -> float:
    value = np.empty(len(truth))
    for rank, tier in enumerate(cut):
        value[[int(item[1:]) for item in tier]] = -rank
    i, j = np.triu_indices(len(truth), 1)
    return float(np.mean(np.sign(value[i] - value[j]) == np.sign(truth[i] - truth[j])))


def named(values: np.ndarray) -> dict[str, float]:
    return dict(zip(RULES, values.round(3).tolist(), strict=True))


def main() -> None:
    given = [int(word) for word in sys.argv[1:3]]
    seed, trials = (*given, *(23, 12)[len(given) :])
    rng = np.random.default_rng(seed)
    behind: dict[str, list[np.ndarray]] = {}
    for n, (kind, levels, scale), times in product(ITEMS, TRUTHS, TIMES):
        found = []
        for _ in range(trials if n < 50 else max(3, trials // 2)):
            truth = drawn(kind, levels, scale, n, rng)
            fit = strengths(judged(truth, round(times * n * np.log(n)), rng))
            found.append([accuracy(tiers(fit, rule=rule).tiers["q"], truth) for rule in RULES])
        found_mean = np.mean(found, axis=0)
        print(f"{n} items, {times} n log n judgments, {kind} {levels} {scale}:", named(found_mean), flush=True)
        weak = kind == "strict" and scale < 1
        for group in (kind + (", weak" if weak else ""), f"times {times}", f"{kind}, times {times}", "all"):
            behind.setdefault(group, []).append(found_mean[1:3].max() - found_mean)
    for name, gaps in sorted(behind.items()):
        rows = np.array(gaps)
        print(f"{name}, {len(rows)} designs, behind the better of strict and partition:", named(rows.mean(axis=0)))
        print("  nine of ten below", named(np.quantile(rows, 0.9, axis=0)))


if __name__ == "__main__":
    main()
