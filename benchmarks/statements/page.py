"""Tables of docs/studies.md and docs/answers.md, from what the study of real places wrote.

`python -m benchmarks.statements.page` brings both pages up to date.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankdev.studies._published import published
from rankdev.studies.city.output import leaders
from rankdev.studies.city.worlds import PAIR_KINDS, WORLDS

DOCS = Path(__file__).parents[2] / "docs"
FACTS, PAIRS, STATEMENTS = (DOCS / "data" / name for name in ("poi-worlds.csv", "poi-pairs.csv", "statements.json"))
CHOICE, CROSS = DOCS / "data" / "choice.json", DOCS / "data" / "poi-cross-encoders.csv"
PAGES = ("studies.md", "answers.md")
RDQ = "RDQ@5"
SHORT = {"nDCG(gains=inverse,dcg=exp-log2)@5": "nDCG inverse", "nDCG(gains=linear,dcg=exp-log2)@5": "nDCG linear"}
SHORT |= {"nDCG(gains=binary)@5": "nDCG binary"}


def overview() -> Iterator[Sequence[str]]:
    """What each world is, and which measure leads in it."""
    facts = _facts()
    yield (
        "world",
        "recall",
        "most power at 100",
        "at 25",
        "largest effect",
        "place of RDQ@5",
        "statements that hold",
        "τ",
    )
    for world in _worlds(facts):
        mine = facts.filter(world=world)
        seeds = [mine.filter(seed=seed) for seed in mine["seed"].unique(maintain_order=True)]
        powers = [_values(part, "Table 2", "p50") for part in seeds]
        places = [str(1 + sum(value > power[RDQ] for value in power.values())) for power in powers]
        holds = [str(part.filter(part="statements", value=1.0).height) for part in seeds]
        yield (
            f"{world}: {WORLDS[world]['what']}",
            _mean(mine, "data", "recall", 2),
            _first(powers),
            _first([_values(part, "power at 25", "p50") for part in seeds]),
            _first([_values(part, "effects", "p50") for part in seeds]),
            ", ".join(places),
            ", ".join(holds),
            _mean(mine, "data", "tau with the paper's powers", 2),
        )


def powers() -> Iterator[Sequence[str]]:
    """Median power by measure: the paper's at 100 queries, each world's at 25 and 100."""
    facts = _facts()
    paper = published("poi")
    at = paper["power_columns"].index("p50")
    worlds = _worlds(facts)
    yield "measure", "paper, 100", *(f"{world}, {n}" for world in worlds for n in (25, 100))
    parts = {25: "power at 25", 100: "Table 2"}
    columns = [
        facts.filter(world=world, part=parts[n], statistic="p50").group_by("measure").agg(pl.col("value").mean())
        for world in worlds
        for n in (25, 100)
    ]
    tables = [dict(column.iter_rows()) for column in columns]
    for measure, row in paper["power"].items():
        cells = [_best(table[measure], max(table.values())) for table in tables]
        yield SHORT.get(measure, measure), _best(row[at], max(r[at] for r in paper["power"].values())), *cells


def cross_encoders() -> Iterator[Sequence[str]]:
    """Median power of cross-encoders' pairs, by measure."""
    facts = pl.read_csv(CROSS, infer_schema_length=None)
    worlds = _worlds(facts)
    yield "measure", *(f"{world}, {n}" for world in worlds for n in (25, 100))
    parts = {25: "power at 25", 100: "Table 2"}
    tables = [_values(facts.filter(world=world), parts[n], "p50") for world in worlds for n in (25, 100)]
    for measure in tables[0]:
        yield SHORT.get(measure, measure), *(_best(table[measure], max(table.values())) for table in tables)


def leads() -> Iterator[Sequence[str]]:
    """By how much RDQ@5 leads the best measure of another family, or is behind it."""
    facts = _facts()
    yield (
        "world",
        "best other at 25",
        "lead of RDQ@5",
        "best other at 100",
        "lead of RDQ@5",
        "auc of RDQ@5",
        "best other",
    )
    for world in _worlds(facts):
        cells: list[str] = []
        for n in (25, 100):
            part = facts.filter(
                pl.col("measure").str.starts_with("RDQ").not_(), world=world, part=f"lead of {RDQ} at {n}"
            )
            table = part.group_by("measure").agg(pl.col("value").mean(), pl.col("low").min(), pl.col("high").max())
            name, lead, low, high = table.sort("value", "measure").row(0)
            cells += [SHORT.get(name, name), f"{_number(lead)} [{_number(low, 2)}, {_number(high, 2)}]"]
        part = facts.filter(world=world, part="Table 3", statistic="auc")
        table = part.group_by("measure").agg(pl.col("value").mean()).sort("value", "measure", descending=True)
        own = table.filter(measure=RDQ)["value"].item()
        name, value = table.filter(pl.col("measure").str.starts_with("RDQ").not_()).row(0)
        yield world, *cells, _number(own), f"{SHORT.get(name, name)} {_number(value)}"


def kinds() -> Iterator[Sequence[str]]:
    """What two systems differ in, by kind of pair, and which measure separates them best."""
    table = pl.read_csv(PAIRS)
    measures = [name.removeprefix("effect ") for name in table.columns if name.startswith("effect ")]
    shown = ("lost_by_cutoff", "lost_by_order", "right", "depth", "in_order")
    yield "world", "pair", *shown, "largest effect", "its power", "power of RDQ@5"
    for world in table["world"].unique(maintain_order=True):
        for kind in PAIR_KINDS:
            mine = table.filter(world=world, kind=kind)
            seeds = [mine.filter(seed=seed) for seed in mine["seed"].unique(maintain_order=True)]

            def median(name: str, seeds: list[pl.DataFrame] = seeds) -> float:
                return float(np.mean([np.median(np.abs(part[name])) for part in seeds]))

            best = max(measures, key=lambda m: median(f"effect {m}"))
            apart = [_number(median(name)) for name in shown]
            ends = [_number(median(f"power {m}"), 2) for m in (best, RDQ)]
            yield world, kind, *apart, SHORT.get(best, best), *ends


def labels() -> Iterator[Sequence[str]]:
    """Median power at 100 queries and τ under worse references, means over worlds and seeds."""
    facts = _facts().filter(pl.col("part").str.starts_with("labels"))
    parts = list(dict.fromkeys(facts["part"]))
    yield "measure", *(part.removeprefix("labels, ") for part in parts)
    for measure in published("poi")["power"]:
        cells = []
        for part in parts:
            mine = facts.filter(part=part, measure=measure)
            power, tau = (mine.filter(statistic=name)["value"].mean() for name in ("p50", "tau"))
            cells.append(_number(power) if part.endswith("complete") else f"{_number(power)} ({_number(tau, 2)})")
        yield SHORT.get(measure, measure), *cells


def statements() -> Iterator[Sequence[str]]:
    """Every statement, and whether it holds on each set of data."""
    content = json.loads(STATEMENTS.read_text("utf-8"))["statements"]
    columns = list(dict.fromkeys(name for row in content.values() for name in row))
    yield "statement", *columns
    for text, row in content.items():
        yield text, *(row[name]["verdict"] if name in row else "–" for name in columns)


def choice() -> Iterator[Sequence[str]]:
    """Mean power under the measure that each way of choosing takes."""
    rows = json.loads(CHOICE.read_text("utf-8"))["rows"]
    ways = ("fixed", "losses", "pilot", "pilot of the pair", "best measure", "best for each pair")
    yield "data", "queries", *ways
    for name, row in rows.items():
        yield name, str(row["n"]), *(_number(row[way]) if way in row else "–" for way in ways)


TABLES: dict[str, Callable[[], Iterator[Sequence[str]]]] = {
    "worlds": overview,
    "powers": powers,
    "leads": leads,
    "kinds": kinds,
    "labels": labels,
    "statements": statements,
    "choice": choice,
    "cross-encoders": cross_encoders,
}


def page(text: str) -> str:
    """Return a page with its tables brought up to date: each follows a comment such as <!-- table: worlds -->."""
    for name, make in TABLES.items():
        marked = re.compile(rf"(<!-- table: {name} -->\n\n)((\|.*\n)+\n)?")
        if marked.search(text):
            head, *rows = make()
            lines = [_line(head), _line(["---"] * len(head)), *(_line(row) for row in rows)]
            text = marked.sub(lambda found, lines=lines: f"{found[1]}{''.join(lines)}\n", text)  # type: ignore[misc]
    return text


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |\n".replace("|  |", "| |")


def _facts() -> pl.DataFrame:
    return pl.read_csv(FACTS, infer_schema_length=None)


def _worlds(facts: pl.DataFrame) -> list[str]:
    return facts["world"].unique(maintain_order=True).to_list()


def _values(facts: pl.DataFrame, part: str, statistic: str) -> dict[str, float]:
    return dict(facts.filter(part=part, statistic=statistic).select("measure", "value").iter_rows())


def _first(by_seed: Sequence[dict[str, float]]) -> str:
    """Name the leading measure, with the number of seeds where it is not the same in all."""
    found = [" = ".join(SHORT.get(m, m) for m in leaders(values).split(" = ")) for values in by_seed]
    counts = {name: found.count(name) for name in found}
    return next(iter(counts)) if len(counts) == 1 else ", ".join(f"{name} ({n})" for name, n in counts.items())


def _mean(facts: pl.DataFrame, part: str, statistic: str, digits: int) -> str:
    return _number(facts.filter(part=part, statistic=statistic)["value"].mean(), digits)


def _number(value: Any, digits: int = 3) -> str:
    """Write a number as these pages do: without the zero before the point.

    >>> _number(0.1234), _number(-0.5, 2), _number(1.0)
    ('.123', '−.50', '1.000')
    """
    text = f"{abs(value):.{digits}f}"
    sign = "−" if value < 0 and float(text) else ""
    return sign + (text[1:] if text.startswith("0.") else text)


def _best(value: float, most: float) -> str:
    return f"**{_number(value)}**" if round(value, 3) == round(most, 3) else _number(value)


if __name__ == "__main__":
    for name in PAGES:
        path = DOCS / name
        path.write_text(page(path.read_text("utf-8")), "utf-8")
