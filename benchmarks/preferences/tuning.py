"""Can 56 preferences on image search tune RDQ's parameters? `python -m benchmarks.preferences.tuning DATA`"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.preferences.judges import image_judgments

import rankdev as rd

WINNERS = {"0": "sogou", "1": "tie", "2": "baidu"}


def main(folder: Path) -> None:
    """Print what tuning finds: references from pairwise judgments, pages as runs."""
    references = rd.References.from_preferences(image_judgments(folder))
    runs: dict[str, rd.Run] = {}
    for engine in ("sogou", "baidu"):
        pages = {query: [item for item in references[query] if item.startswith(engine)] for query in references}
        placed = {
            query: sorted(page, key=lambda item: int(item.rsplit("_", 1)[1][:-4])) for query, page in pages.items()
        }
        runs[engine] = rd.Run.from_lists(placed)
    lines = (folder / "serp_preference.tsv").read_text(encoding="utf-8").splitlines()[1:]
    rows = [line.split("\t") for line in lines]
    verdicts = [{"query": query, "a": "sogou", "b": "baidu", "winner": WINNERS[winner]} for query, winner in rows]
    print(rd.agreement_with_people(rd.evaluate(references, runs, list(weighted())), verdicts))
    print(rd.tune("RDQ@10", references, runs, verdicts))


def weighted() -> Iterator[str]:
    """Return RDQ with weights for rows of five images, and with equal and usual ones."""
    yield from ("RDQ@10", "RDQ(weights=uniform)@10", "RDQ(weights=carousel)@10", "RDQ@15")
    for rows in ((1, 0.5), (1, 0.8, 0.6), (1, 0.5, 0.25)):
        weights = ",".join(f"{weight:g}" for weight in rows for _ in range(5))
        yield f"RDQ(weights=[{weights}])@{5 * len(rows)}"


if __name__ == "__main__":
    main(Path(sys.argv[1]) / "preferences/image-serp")
