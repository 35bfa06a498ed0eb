"""Claims about judgments: tests of pairs keep their level whatever the ties and tastes; equal items stay one tier."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import polars as pl

from rankdev.preferences import Preferences, strengths, tiers
from rankdev.preferences.models import MODELS
from tests.calibration.simulations import ALPHA, Finding


def _judged(outcomes: list[tuple[str, str, str, str, str]], workers: bool) -> Preferences:
    table = pl.DataFrame(outcomes, schema=["query", "a", "b", "winner", "worker"], orient="row")
    return Preferences.from_table(table if workers else table.drop("worker"), values="position")


def _separated(judged: Preferences) -> float:
    fit = strengths(judged)
    tests = MODELS[fit.method].separation(fit, ALPHA, 200, 0, "auto")
    pairs = sum(close.size * (close.size - 1) // 2 for close in tests)
    return float(1 - sum((close.p >= ALPHA).sum() for close in tests) / pairs)


def _pairs(rng: np.random.Generator, items: int, number: int) -> list[tuple[int, int]]:
    first = rng.integers(items, size=number)
    return list(zip(first, (first + 1 + rng.integers(items - 1, size=number)) % items, strict=True))


def ties(trials: int) -> Iterator[Finding]:
    """Six equal items, 225 judgments, some of them ties."""
    for share in (0.0, 0.25, 0.5):
        rng, rows = np.random.default_rng(7), []
        for query in range(trials):
            for a, b in _pairs(rng, 6, 225):
                said = "tie" if rng.random() < share else "ab"[rng.integers(2)]
                rows.append((f"q{query}", f"d{a}", f"d{b}", said, "w"))
        found = _separated(_judged(rows, workers=False))
        yield Finding("tests of pairs, equal items separated", f"{share:.0%} ties", found, trials, ALPHA, at_most=True)


def tastes(trials: int) -> Iterator[Finding]:
    """Eight items, equal on the whole, judged by workers with tastes of their own (sd 1)."""
    for workers in (3, 5, 10, 20):
        rng, rows = np.random.default_rng(18), []
        for query in range(trials):
            liking = rng.normal(size=(workers, 8))
            for number, (a, b) in enumerate(_pairs(rng, 8, 240)):
                who = liking[number % workers]
                said = "a" if rng.random() < 1 / (1 + np.exp(who[b] - who[a])) else "b"
                rows.append((f"q{query}", f"d{a}", f"d{b}", said, f"w{number % workers}"))
        judged = _judged(rows, workers=True)
        found = _separated(judged)
        setting = f"{workers} workers with tastes"
        yield Finding("tests of pairs, equal items separated", setting, found, trials, ALPHA, at_most=True)
        one = np.mean([len(cut) == 1 for cut in tiers(strengths(judged)).tiers.values()])
        yield Finding("`rule=auto`, equal items are one tier", setting, float(one), trials, 0.9)


def one_tier(trials: int) -> Iterator[Finding]:
    """Equal items are one tier, also where the data are few."""
    for rule, goal in (("auto", 0.9), ("leader", 0.95)):
        for items, each in ((6, 4), (6, 10), (10, 4), (10, 10), (10, 30), (20, 10)):
            rng, rows = np.random.default_rng(19), []
            for query in range(trials):
                chain = list(zip(range(items - 1), range(1, items), strict=True))
                for a, b in chain + _pairs(rng, items, items * each // 2 - items + 1):
                    rows.append((f"q{query}", f"d{a}", f"d{b}", "ab"[rng.integers(2)], "w"))
            cuts = tiers(strengths(_judged(rows, workers=False)), rule=rule).tiers.values()
            setting = f"{items} items, {each} judgments of each"
            one = float(np.mean([len(cut) == 1 for cut in cuts]))
            yield Finding(f"`rule={rule}`, equal items are one tier", setting, one, trials, goal)


CLAIMS: dict[str, tuple[Callable[[int], Iterator[Finding]], int]] = {
    "ties": (ties, 600),
    "tastes": (tastes, 400),
    "one tier": (one_tier, 400),
}
