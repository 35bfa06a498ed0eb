"""Judgments drawn from known strengths, and their rows."""

import numpy as np

from rankdev.preferences import Preferences


def names(count, letter="d"):
    return [f"{letter}{k:03d}" for k in range(count)]


def every_pair(strength, times, rng, query="q"):
    """Compare every pair ``times`` times."""
    rows, item = [], names(len(strength))
    for i in range(len(strength)):
        for j in range(i + 1, len(strength)):
            wins = rng.random(times) < 1 / (1 + np.exp(strength[j] - strength[i]))
            rows += [(query, item[i], item[j]) if won else (query, item[j], item[i]) for won in wins]
    return rows


def random_pairs(items, judgments, rng, scale=1.0):
    """Compare random pairs; the indices of winners and losers, and the strengths they come from."""
    strength = rng.normal(size=items) * scale
    a = rng.integers(items, size=judgments)
    b = (a + 1 + rng.integers(items - 1, size=judgments)) % items
    won = rng.random(judgments) < 1 / (1 + np.exp(strength[b] - strength[a]))
    return np.where(won, a, b), np.where(won, b, a), strength


def preferences_of(winner, loser, query="q"):
    return Preferences.from_rows([(query, f"d{a:03d}", f"d{b:03d}") for a, b in zip(winner, loser, strict=True)])


def crowd(quality, items, each, rng, scale=1.2):
    """Let workers of known quality judge random pairs."""
    strength, rows, item = rng.normal(size=items) * scale, [], names(items)
    for worker, eta in enumerate(quality):
        for _ in range(each):
            a, b = rng.choice(items, 2, replace=False)
            if (rng.random() < 1 / (1 + np.exp(strength[b] - strength[a]))) != (rng.random() < eta):
                a, b = b, a
            rows.append(("q", item[a], item[b], f"w{worker:02d}"))
    return Preferences.from_rows(rows), strength


def rows_of(judged):
    return judged.to_polars().select("query", "winner", "loser", "tie").rows()
