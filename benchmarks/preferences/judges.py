"""What judges agree on, and how well a position bias is found: `python -m benchmarks.preferences.judges DATA [--keep]`.

DATA holds preferences/arguments, preferences/dl21-crowd and preferences/image-serp, as their authors published them.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
from benchmarks.history import Row, report

import rankdev as rd
from rankdev import preferences
from rankdev.preferences import Preferences, position_bias, references_from_preferences


def image_judgments(folder: Path) -> Preferences:
    """Three assessors' degrees of preference for each pair; the header names fewer columns than the rows have."""
    with gzip.open(folder / "image_pairs.tsv.gz", "rt", encoding="utf-8") as lines:
        next(lines)
        rows = [line.rstrip("\n").split("\t") for line in lines]
    judged = [(query, *pair.split(","), float(degree)) for query, pair, *degrees in rows for degree in degrees]
    table = pl.DataFrame(judged, schema=["query", "left", "right", "label"], orient="row")
    return Preferences.from_table(table, values="graded")


def image_pages(judged: Preferences, folder: Path) -> tuple[int, int]:
    """Queries whose better page by RDQ@10 is the one that users prefer, of those not tied."""
    references = references_from_preferences(judged)
    pages: dict[str, dict[str, list[str]]] = {"sogou": {}, "baidu": {}}
    for query, reference in references.items():
        for engine, page in pages.items():
            mine = [item for item in reference if item.startswith(engine)]
            page[query] = sorted(mine, key=lambda item: int(item.rsplit("_", 1)[1][:-4])) or ["nothing"]
    scores = rd.evaluate(references, pages, "RDQ@10").values[:, :, 0]
    lines = (folder / "serp_preference.tsv").read_text(encoding="utf-8").splitlines()[1:]
    users = {query: 1 - int(winner) for query, winner in (line.split("\t") for line in lines)}
    signs = [(np.sign(a - b), users[query]) for query, a, b in zip(references, *scores, strict=True)]
    return sum(a == b for a, b in signs if b), sum(b != 0 for _, b in signs)


def shown(rng: np.random.Generator, items: int, judgments: int, effect: float) -> Iterator[dict[str, str]]:
    """Judgments of a judge with an order effect."""
    strength = rng.normal(size=items)
    for _ in range(judgments):
        i, j = rng.choice(items, 2, replace=False)
        first = rng.random() < 1 / (1 + np.exp(strength[j] - strength[i] - effect))
        yield {"a": str(i), "b": str(j), "winner": "a" if first else "b"}


def facts(name: str, judged: Preferences) -> Row:
    """Return what the judgments of a collection show."""
    found = {row["fact"]: row for row in preferences.judge_agreement(judged).to_polars().iter_rows(named=True)}
    alpha, triads = found["Krippendorff's α"], found["intransitive triads"]
    first = found["first wins if equal"]
    return {
        "judgments": f"{name}, {first['n']:,}",
        "α": f"{alpha['value']:.3f} ({alpha['low']:.3f}–{alpha['high']:.3f})",
        "intransitive triads": f"{triads['value']:.1%} of {triads['n']:,}",
        "first wins if equal": f"{first['value']:.3f} ({first['low']:.3f}–{first['high']:.3f}), p = {first['p']:.2g}",
    }


def main(data: Path, keep: bool) -> None:
    """Report the facts of each collection; print the agreement with whole pages, and the simulation."""
    images = image_judgments(data / "image-serp")
    crowd = rd.read_preferences(data / "dl21-crowd/judgments.txt.gz")
    arguments = rd.read_preferences(data / "arguments/pairs_by_worker.tsv.gz")
    named = {"arguments": arguments, "TREC DL 2021, crowd": crowd, "image search (degrees −2 … 2)": images}
    report("Judges", [facts(name, judged) for name, judged in named.items()], keep=keep)
    print("RDQ@10 agrees with users on whole pages in", image_pages(images, data / "image-serp"))
    rng = np.random.default_rng(1)
    for items, judgments in ((8, 60), (8, 300), (20, 100), (20, 400)):
        for effect in (0.0, 0.75):
            found = [position_bias(Preferences.from_rows([*shown(rng, items, judgments, effect)])) for _ in range(300)]
            claimed, mean = np.mean([one.p < 0.05 for one in found]), np.mean([one.bias for one in found])
            print(f"{items} items, {judgments} judgments, effect {effect}: p < .05 in {claimed:.3f}, mean {mean:.3f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) / "preferences", "--keep" in sys.argv)
