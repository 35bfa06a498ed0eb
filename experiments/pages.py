"""Tables of docs/research.md from the files in docs/data: ``python -m experiments.pages``.

Each follows a comment such as ``<!-- table: leads -->``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import polars as pl

from experiments.city import RDQ

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "research.md"
SHORT = {"nDCG(gains=inverse,dcg=exp-log2)@5": "nDCG inverse", "nDCG(gains=linear,dcg=exp-log2)@5": "nDCG linear"}
SHORT |= {"nDCG(gains=binary)@5": "nDCG binary"}


def leads() -> Iterator[Sequence[str]]:
    """By how much RDQ@5 leads the best measure of another family, or is behind it."""
    facts = _read("poi-worlds.csv")
    head = ("best other at 25", "lead of RDQ@5", "best other at 100", "lead of RDQ@5", "auc of RDQ@5", "best other")
    yield "world", *head
    other = pl.col("measure").str.starts_with("RDQ").not_()
    for world in facts["world"].unique(maintain_order=True):
        cells: list[str] = []
        for n in (25, 100):
            part = facts.filter(other, world=world, part=f"lead of {RDQ} at {n}")
            seeds = (pl.col("value").min().alias("least"), pl.col("value").max().alias("most"))
            table = part.group_by("measure").agg(pl.col("value").mean(), *seeds)
            name, lead, *ends = table.sort("value", "measure").row(0)
            cells += [SHORT.get(name, name), f"{_number(lead)} [{', '.join(_number(end) for end in ends)}]"]
        part = facts.filter(world=world, part="Table 3", statistic="auc")
        table = part.group_by("measure").agg(pl.col("value").mean()).sort("value", "measure", descending=True)
        name, value = table.filter(other).row(0)
        own = table.filter(measure=RDQ)["value"].item()
        yield world, *cells, _number(own), f"{SHORT.get(name, name)} {_number(value)}"


def statements() -> Iterator[Sequence[str]]:
    """Every statement, and whether it holds on each set of data."""
    content = json.loads((DOCS / "data/statements.json").read_text("utf-8"))["statements"]
    columns = list(dict.fromkeys(name for row in content.values() for name in row))
    yield "statement", *columns
    for text, row in content.items():
        yield text, *(row[name]["verdict"] if name in row else "–" for name in columns)


TABLES: dict[str, Callable[[], Iterator[Sequence[str]]]] = {
    "leads": leads,
    "statements": statements,
}


def page(text: str) -> str:
    """Return a page with its tables brought up to date."""
    for name, make in TABLES.items():
        marked = re.compile(rf"(<!-- table: {name} -->\n\n)((\|.*\n)+\n)?")
        if marked.search(text):
            head, *rows = make()
            lines = "".join(f"| {' | '.join(cells)} |\n" for cells in (head, ["---"] * len(head), *rows))
            text = marked.sub(lambda found, lines=lines: f"{found[1]}{lines}\n", text)
    return text


def _read(name: str) -> pl.DataFrame:
    return pl.read_csv(DOCS / "data" / name, infer_schema_length=None)


def _number(value: float, digits: int = 3) -> str:
    """Write a number as these pages do: .123, −.50, 1.000."""
    text = f"{abs(value):.{digits}f}"
    sign = "−" if value < 0 and float(text) else ""
    return sign + (text[1:] if text.startswith("0.") else text)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
