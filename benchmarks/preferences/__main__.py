"""Time Bradley–Terry side by side with evalica: `python -m benchmarks.preferences [--large] [--keep]`.

Both start from the same numbered judgments (evalica gets lists and its own index, rankdev columns). Prints one
row per size: the least CPU seconds of runs taken in turns, and the ratio rankdev / evalica.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from benchmarks.history import Row, report

from rankdev.preferences import Preferences, strengths


def judgments(items: int, count: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    strength = rng.normal(size=items)
    a = rng.integers(items, size=count, dtype=np.int32)
    b = ((a + 1 + rng.integers(items - 1, size=count, dtype=np.int32)) % items).astype(np.int32)
    won = rng.random(count) < 1 / (1 + np.exp(strength[b] - strength[a]))
    return np.where(won, a, b), np.where(won, b, a)


def ours(items: int, winner: Any, loser: Any) -> Any:
    names = tuple(map(str, range(items)))
    nobody = np.zeros(len(winner), bool)
    return strengths(Preferences(("q",), names, np.zeros(items, np.int32), winner, loser, nobody))


def best(times: int, *works: Callable[[], Any]) -> list[float]:
    """The least CPU seconds of each work, of all its threads, taken in turns."""
    least = [float("inf")] * len(works)
    for _ in range(times):
        for k, work in enumerate(works):
            start = time.process_time()
            work()
            least[k] = min(least[k], time.process_time() - start)
    return least


def many_queries(queries: int, items: int, each: int) -> Preferences:
    rng = np.random.default_rng(1)
    a = rng.integers(items, size=(queries, each))
    b = (a + 1 + rng.integers(items - 1, size=a.shape)) % items
    base = np.arange(queries)[:, None] * items
    winner, loser = ((base + side).astype(np.int32).ravel() for side in (a, b))
    of = np.repeat(np.arange(queries, dtype=np.int32), items)
    names = tuple(map(str, range(queries * items)))
    return Preferences(tuple(map(str, range(queries))), names, of, winner, loser, np.zeros(len(winner), bool))


def main() -> None:
    import evalica

    ours(1000, *judgments(1000, 50_000))  # compile once, outside the clock
    rows: list[Row] = []
    for items, count, goal, repeats in ((1000, 100_000, 0.2, 10), (10_000, 1_000_000, 0.02, 1)):
        winner, loser = judgments(items, count)
        lists = winner.tolist(), loser.tolist(), [evalica.Winner.X] * count
        mine, peer = best(repeats, partial(ours, items, winner, loser), partial(evalica.bradley_terry, *lists))
        rows.append(
            {
                "items": f"{items:,}",
                "judgments": count,
                "CPU seconds": mine,
                "evalica": peer,
                "ratio": mine / peer,
                "goal": goal,
            }
        )
    together = best(3, lambda: strengths(many_queries(1000, 20, 100)))[0]
    rows.append({"items": "1,000 queries × 20", "judgments": 100_000, "CPU seconds": together})
    if "--large" in sys.argv:
        mine = best(1, partial(ours, 100_000, *judgments(100_000, 10_000_000)))[0]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        rows.append({"items": "100,000", "judgments": 10_000_000, "CPU seconds": mine, "peak GiB": peak})
    report("Bradley–Terry", rows, keep="--keep" in sys.argv)


if __name__ == "__main__":
    main()
