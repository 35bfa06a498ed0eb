"""Made-up inputs of any size, for every command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

SEED = 20240


def collection(folder: Path, systems: int = 3, queries: int = 50, items: int = 20) -> list[str]:
    """Write qrels and runs; each run returns ``items`` of twice as many, a quarter of which is relevant."""
    rng = np.random.default_rng(SEED)
    pool = 2 * items
    query = np.repeat(np.arange(queries), pool)
    item = np.tile(np.arange(pool), queries)
    grade = rng.choice([0, 0, 0, 1, 2, 3], len(query))
    grade[::pool] = 3  # every query has something relevant
    judged = rng.random(len(query)) < 0.8
    qrels = folder / "refs.qrels"
    _trec(qrels, {"q": query[judged], "zero": 0, "d": item[judged], "grade": grade[judged]})
    paths = []
    for system in range(systems):
        noise = rng.normal(size=(queries, pool)) + 0.2 * (system % 5) * grade.reshape(queries, pool)
        order = np.argsort(-noise, axis=1)[:, :items]
        path = folder / f"s{system}.run"
        asked = np.repeat(np.arange(queries), items)
        score = np.take_along_axis(noise, order, axis=1).ravel().round(6)
        _trec(path, {"q": asked, "Q0": "Q0", "d": order.ravel(), "rank": 1, "score": score, "tag": "s"})
        paths.append(str(path))
    return [str(qrels), *paths]


def _trec(path: Path, columns: dict[str, object]) -> None:
    frame = pl.DataFrame(columns).with_columns(pl.format("q{}", "q").alias("q"), pl.format("d{}", "d").alias("d"))
    frame.write_csv(path, separator=" ", include_header=False)


def scores(folder: Path, systems: int = 5, queries: int = 100, measures: int = 2) -> list[str]:
    """Write a table of scores."""
    rng = np.random.default_rng(SEED)
    values = np.clip(rng.normal(0.5, 0.2, (systems, queries, measures)) + rng.normal(0, 0.1, (1, queries, 1)), 0, 1)
    system, query, measure = (axis.ravel() for axis in np.indices(values.shape))
    frame = pl.DataFrame({"system": system, "query": query, "measure": measure, "value": values.ravel()})
    path = folder / "scores.parquet"
    frame.with_columns(
        pl.format("s{}", "system").alias("system"),
        pl.format("q{}", "query").alias("query"),
        pl.format("m{}", "measure").alias("measure"),
    ).write_parquet(path)
    return ["--scores", str(path)]


def people(folder: Path, systems: int, verdicts: int, queries: int) -> str:
    """Write people's preferences between systems."""
    rng = np.random.default_rng(SEED)
    a = rng.integers(0, systems, verdicts)
    b = (a + 1 + rng.integers(0, systems - 1, verdicts)) % systems
    winner = np.where(rng.random(verdicts) < 0.6, a, b)
    frame = pl.DataFrame({"query": rng.integers(0, queries, verdicts), "a": a, "b": b, "winner": winner})
    path = folder / "people.csv"
    frame.select(
        pl.format("q{}", "query").alias("query"), *(pl.format("s{}", name).alias(name) for name in ("a", "b", "winner"))
    ).write_csv(path)
    return str(path)


def preferences(folder: Path, judgments: int, queries: int, items: int, workers: int = 20) -> str:
    """Write pairwise judgments of items by workers."""
    rng = np.random.default_rng(SEED)
    query = rng.integers(0, queries, judgments)
    a = rng.integers(0, items, judgments)
    b = (a + 1 + rng.integers(0, items - 1, judgments)) % items
    first = rng.random(judgments) < 1 / (1 + np.exp((a - b) * 4 / items))
    frame = pl.DataFrame(
        {
            "query": query,
            "winner": np.where(first, a, b),
            "loser": np.where(first, b, a),
            "worker": rng.integers(0, workers, judgments),
        }
    )
    path = folder / "preferences.csv"
    frame.write_csv(path)
    return str(path)


def lists(folder: Path, rankings: int, items: int) -> list[str]:
    """Write noisy rankings of the same items, a file each."""
    rng = np.random.default_rng(SEED)
    paths = []
    for ranking in range(rankings):
        order = np.argsort(np.arange(items) + rng.normal(0, items / 4, items))
        path = folder / f"r{ranking}.json"
        path.write_text(f'{{"q": [{", ".join(f"{chr(34)}d{item}{chr(34)}" for item in order)}]}}', encoding="utf-8")
        paths.append(str(path))
    return paths


def clicks(folder: Path, impressions: int) -> str:
    """Write a click log: items at several positions, examined ever less."""
    rng = np.random.default_rng(SEED)
    position = rng.integers(1, 11, impressions)
    item = rng.integers(0, 50, impressions)
    clicked = rng.random(impressions) < 0.1 + 0.6 * (item / 50) / position
    path = folder / "clicks.csv"
    pl.DataFrame(
        {
            "query": rng.integers(0, 20, impressions),
            "session": np.arange(impressions) // 10,
            "item": item,
            "position": position,
            "clicked": clicked.astype(int),
        }
    ).write_csv(path)
    return str(path)
