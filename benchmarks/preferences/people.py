"""Do 56 preferences on image search decide between measures? python -m benchmarks.preferences.people DATA

With --keep the tables are added to the history.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
from benchmarks.history import Row, report, shown
from benchmarks.preferences.judges import image_judgments

import rankdev as rd

WINNERS = {"0": "sogou", "1": "tie", "2": "baidu"}
RULES = {"probability": "tiers (the default rule)", "strict": "strict order"}
MEASURES = ("RDQ", "RDQ(alpha=4)", "RDQ(penalty=m1)", "nDCG(gains=inverse)", "Compat(p=0.95)")


def main(folder: Path, keep: bool) -> None:
    """Report how often measures prefer the page that people prefer; pages are runs."""
    judged = image_judgments(folder)
    lines = (folder / "serp_preference.tsv").read_text(encoding="utf-8").splitlines()[1:]
    rows = [line.split("\t") for line in lines]
    verdicts = [{"query": query, "a": "sogou", "b": "baidu", "winner": WINNERS[winner]} for query, winner in rows]
    made = {rule: rd.References.from_preferences(judged, rule=rule) for rule in RULES}
    names = [f"{measure}@10" for measure in MEASURES]
    found = {rule: agreement(references, verdicts, names) for rule, references in made.items()}
    grades = pl.read_csv(folder / "relevance.tsv.gz", separator="\t", new_columns=["query", "item", "grade"])
    graded = agreement(rd.References.from_grades(grades), verdicts, ["nDCG@10"])[0]
    table: list[Row] = [
        {"references": RULES[rule], **{name: shown(*row) for name, row in zip(MEASURES, each, strict=True)}}
        for rule, each in found.items()
    ]
    report("People and measures", table, keep=keep)
    numbers = {"RDQ@10 on tiers": found["probability"][0], "nDCG@10 on relevance grades": graded}
    ends = ("agreement, %", "low, %", "high, %")
    report(
        "People and two measures",
        [
            {"measure": name, **{end: 100 * value for end, value in zip(ends, row, strict=True)}}
            for name, row in numbers.items()
        ],
        keep=keep,
    )
    layouts = list(weighted())
    values = agreement(made["probability"], verdicts, layouts)
    report(
        "People and weights",
        [{"measure": f"`{name}`", "agreement": shown(*row)} for name, row in zip(layouts, values, strict=True)],
        keep=keep,
    )


def agreement(references: rd.References, verdicts: object, measures: list[str]) -> list[tuple[float, float, float]]:
    """Return how often each measure agrees with people, and the interval."""
    found = rd.agreement_with_people(rd.evaluate(references, pages(references), measures), verdicts)
    return [row[1:4] for row in found.to_polars().iter_rows()]


def pages(references: rd.References) -> dict[str, rd.Run]:
    """Return the pages of both engines, from the names of the images."""
    return {
        engine: rd.Run.from_lists(
            {
                query: sorted(
                    (item for item in references[query] if item.startswith(engine)),
                    key=lambda item: int(item.rsplit("_", 1)[1][:-4]),
                )
                for query in references
            }
        )
        for engine in ("sogou", "baidu")
    }


def weighted() -> Iterator[str]:
    """Return RDQ with weights for rows of five images, and with equal and usual ones."""
    yield from ("RDQ@10", "RDQ(weights=uniform)@10", "RDQ(weights=carousel)@10", "RDQ@15")
    for rows in ((1, 0.5), (1, 0.8, 0.6), (1, 0.5, 0.25)):
        weights = ",".join(f"{weight:g}" for weight in rows for _ in range(5))
        yield f"RDQ(weights=[{weights}])@{5 * len(rows)}"


if __name__ == "__main__":
    main(Path(sys.argv[1]) / "preferences/image-serp", "--keep" in sys.argv)
