"""Training sets: made here, or LightGBM's own example of ranking."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file

from rankdev._common.arrays import Floats, Ints

FEATURES = 10


@dataclass(frozen=True)
class Rows:
    """Rows of queries, query after query; a label counts tiers from the last one, 0 is outside the reference."""

    features: Floats
    labels: Floats
    sizes: Ints


def made(design: str, rng: np.random.Generator, queries: int, length: int = 30) -> Rows:
    """Make queries in which a function of the features, with noise, orders the rows; the first m are the reference."""
    x = rng.normal(size=(queries, length, FEATURES))
    worth = x[..., 0] + 0.7 * np.tanh(x[..., 1] * 2) + 0.6 * x[..., 2] * x[..., 3] + 0.5 * np.abs(x[..., 4])
    noise = 0.5 if design != "uneven" else 1.5 * (x[..., 5] > 0)  # uneven: only some rows are judged with noise
    worth += noise * rng.normal(size=worth.shape)
    m = {"short": np.full(queries, 4), "long": np.full(queries, 20)}.get(design, rng.integers(3, 21, queries))
    ranks = np.argsort(np.argsort(-worth, axis=1), axis=1) + 1
    labels = np.maximum(0, m[:, None] + 1 - ranks)
    return Rows(x.reshape(-1, FEATURES), labels.ravel().astype(float), np.full(queries, length))


def example(folder: Path) -> Rows:
    """Read all queries of LightGBM's example: grades 0 to 4."""
    parts = []
    for name in ("train", "test"):
        features, grades = load_svmlight_file(str(folder / f"rank.{name}.gz"), n_features=300)
        parts.append((features.toarray(), grades, np.loadtxt(folder / f"rank.{name}.query", dtype=int)))
    return Rows(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def taken(rows: Rows, queries: Ints) -> Rows:
    """Keep some queries."""
    stops = np.cumsum(rows.sizes)
    places = np.concatenate([np.arange(stops[query] - rows.sizes[query], stops[query]) for query in queries])
    return Rows(rows.features[places], rows.labels[places], rows.sizes[queries])
