"""Time Bradley–Terry side by side with evalica: `python -m benchmarks.preferences [--large]`.

Both start from the same numbered judgments (evalica gets lists and its own index, rankdev columns). Prints one
line a size: seconds and the ratio rankdev / evalica, both measured in this run, best of three.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from rankdev.references.preferences import Preferences, strengths


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


def theirs(winner: list[int], loser: list[int], outcomes: list[Any]) -> Any:
    import evalica

    return evalica.bradley_terry(winner, loser, outcomes)


def best(times: int, work: Callable[..., Any], *arguments: Any) -> float:
    spent = []
    for _ in range(times):
        start = time.perf_counter()
        work(*arguments)
        spent.append(time.perf_counter() - start)
    return min(spent)


def main() -> None:
    import evalica

    ours(1000, *judgments(1000, 50_000))  # compile once, outside the clock
    print("items      judgments   rankdev s  evalica s   ratio   goal")
    for items, count, goal, repeats in ((1000, 100_000, 0.2, 3), (10_000, 1_000_000, 0.02, 1)):
        winner, loser = judgments(items, count)
        mine = best(3, ours, items, winner, loser)
        peer = best(repeats, theirs, winner.tolist(), loser.tolist(), [evalica.Winner.X] * count)
        print(f"{items:<10,} {count:<11,} {mine:<10.4f} {peer:<11.3f} {mine / peer:<7.4f} {goal}")
    rng = np.random.default_rng(1)
    rows = np.concatenate([rng.permuted(np.tile(np.arange(20), (1000, 1)), axis=1)[:, :2] for _ in range(100)])
    base = np.tile(np.arange(1000), 100)[:, None] * 20
    pair = (rows + base).astype(np.int32)
    names, query = tuple(map(str, range(20_000))), np.repeat(np.arange(1000, dtype=np.int32), 20)
    queries = tuple(map(str, range(1000)))
    fit_all = lambda: strengths(  # noqa: E731
        Preferences(queries, names, query, pair[:, 0], pair[:, 1], np.zeros(len(pair), bool))
    )
    print(f"1,000 queries × 20 items, 100,000 judgments together: {best(3, fit_all):.3f} s")
    if "--large" in sys.argv:
        winner, loser = judgments(100_000, 10_000_000)
        mine = best(1, ours, 100_000, winner, loser)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"{100_000:<10,} {10_000_000:<11,} {mine:<10.2f} peak memory of the process {peak:.2f} GiB (goal 4)")


if __name__ == "__main__":
    main()
