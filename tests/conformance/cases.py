"""Random qrels and runs: ties, negative grades, unjudged items, missing queries, deep lists, long ids."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

Grades = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]
KINDS = ("plain", "ties", "nearly equal", "negative", "short", "deep", "long ids", "sparse", "extreme")


@dataclass(frozen=True)
class Case:
    """Judgments and a run; every query has an item that was judged, whatever its grade."""

    name: str
    qrels: Grades
    run: Run

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Write both files in TREC's formats, scores with all their digits."""
        folder.mkdir(parents=True, exist_ok=True)
        qrels, run = folder / f"{self.name}.qrels", folder / f"{self.name}.run"
        judged = [f"{query} 0 {item} {grade}\n" for query, items in self.qrels.items() for item, grade in items.items()]
        returned = [
            f"{query} Q0 {item} {rank} {score!r} fuzz\n"
            for query, items in self.run.items()
            for rank, (item, score) in enumerate(items.items(), 1)
        ]
        qrels.write_text("".join(judged), encoding="utf-8")
        run.write_text("".join(returned), encoding="utf-8")
        return qrels, run


def cases(count: int, seed: int = 0) -> Iterator[Case]:
    """Yield random cases of every kind in turn; gdeval wants topics that are numbers."""
    for i in range(count):
        kind = KINDS[i % len(KINDS)]
        yield _case(f"{kind.replace(' ', '-')}-{i}", kind, random.Random(f"{seed}/{i}"))


def _case(name: str, kind: str, rng: random.Random) -> Case:
    queries = [str(101 + i) for i in range(rng.randint(1, 8))]
    judged, returned = _sizes(kind, rng)
    qrels: Grades = {}
    run: Run = {}
    for query in queries:
        items = [_id(kind, i, rng) for i in range(judged + returned)]
        highest = rng.choice([1, 1, 2, 3, 4])
        least = -2 if kind == "negative" else 0
        grades = {item: rng.randint(least, highest) for item in items[: rng.randint(1, judged)]}
        first = next(iter(grades))
        grades[first] = max(0, grades[first])  # trec_eval's bpref never ends where all grades are below 0
        qrels[query] = grades
        chosen = rng.sample(items, rng.randint(1, returned))
        run[query] = {item: _score(kind, rng) for item in chosen}
    for query in queries[1:] if kind == "sparse" else []:
        if rng.random() < 0.4:
            del run[query]
    run["999"] = {"stranger": 1.0}  # of a query that nobody judged
    return Case(name, qrels, run)


def _sizes(kind: str, rng: random.Random) -> tuple[int, int]:
    if kind == "short":
        return rng.randint(1, 4), rng.randint(1, 3)
    if kind == "deep":
        return rng.randint(50, 400), rng.randint(1000, 2500)
    return rng.randint(3, 40), rng.randint(3, 60)


def _id(kind: str, i: int, rng: random.Random) -> str:
    if kind == "long ids":
        return f"{rng.choice(['', 'é', 'Z', '日', 'a-', '~'])}{i}{'x' * rng.randint(50, 300)}"
    return f"{rng.choice('aBc')}{i}"


def _score(kind: str, rng: random.Random) -> float:
    if kind in ("ties", "long ids"):
        return float(rng.randint(-2, 3))
    if kind == "nearly equal":  # equal in single precision
        return 50.3912 + rng.randint(0, 9) * 1e-7
    if kind == "extreme":
        return rng.choice([-1.0, 1.0]) * 10.0 ** rng.randint(-40, 30) * rng.choice([0.0, 1.0, 1.0000001])
    return rng.gauss(0.0, 10.0)
