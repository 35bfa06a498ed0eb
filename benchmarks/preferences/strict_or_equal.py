"""How often a strict order is distinguished from no difference at level .1.

``python -m benchmarks.preferences.strict_or_equal``

A rule that keeps equal items one tier nine times in ten is such a test; several statistics show what is possible.
"""

from __future__ import annotations

import sys

import numpy as np

from rankdev.preferences import Preferences, strengths
from rankdev.preferences.evidence import STRICT_SPREADS, effective_wins, merging_path, tier_posterior


def judged(truth: np.ndarray, number: int, rng: np.random.Generator) -> Preferences:
    """A chain through all items, then random pairs."""
    n, chain = len(truth), rng.permutation(len(truth))
    a = rng.integers(n, size=max(0, number - n + 1))
    b = (a + 1 + rng.integers(n - 1, size=len(a))) % n
    a, b = np.r_[chain[:-1], a], np.r_[chain[1:], b]
    won = rng.random(len(a)) < 1 / (1 + np.exp(truth[b] - truth[a]))
    pairs = zip(np.where(won, a, b), np.where(won, b, a), strict=True)
    return Preferences.from_rows([("q", f"d{x}", f"d{y}") for x, y in pairs])


def statistics(truth: np.ndarray, number: int, rng: np.random.Generator) -> list[float]:
    wins = effective_wins(strengths(judged(truth, number, rng)), 0)
    free, chance = merging_path(wins)[0], -wins.sum() * np.log(2)
    surplus = wins.sum(axis=1) - wins.sum(axis=0)
    return [
        -tier_posterior(wins).one,
        free.evidence(STRICT_SPREADS) - chance,
        free.evidence(np.array([1.0])) - chance,
        free.likelihood - chance,
        float(surplus @ surplus),
    ]


def main() -> None:
    trials, rng = int(sys.argv[1]) if len(sys.argv) > 1 else 300, np.random.default_rng(5)
    for items, number in ((6, 12), (10, 20), (10, 46), (20, 60)):
        none = np.array([statistics(np.zeros(items), number, rng) for _ in range(trials)])
        for spread in (0.5, 1.0, 2.0):
            some = np.array([statistics(spread * rng.normal(size=items), number, rng) for _ in range(trials)])
            power = (some > np.quantile(none, 0.9, axis=0)).mean(axis=0)
            print(f"{items} items, {number} judgments, sd {spread}:", power.round(2).tolist(), flush=True)


if __name__ == "__main__":
    main()
