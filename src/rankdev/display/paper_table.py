"""The table of a paper as text, LaTeX, Markdown and HTML."""

from __future__ import annotations

from functools import partial

import polars as pl

from rankdev.display.cells import interval, number
from rankdev.display.dispatch import reports
from rankdev.display.report import Report, Table, result_report
from rankdev.statistics.paper_table import PaperTable


@reports(PaperTable)
def paper_table_report(found: PaperTable) -> Report:
    """Show a row per system and a column per collection and measure."""
    rows = found.to_polars()
    several = rows["collection"].n_unique() > 1
    columns: dict[str, list[object]] = {"system": rows["system"].unique(maintain_order=True).to_list()}
    best: set[tuple[int, str]] = set()
    raised: dict[tuple[int, str], str] = {}
    for (collection, measure), part in rows.group_by("collection", "measure", maintain_order=True):
        arrow = " ↓" if measure in found.lower_is_better else ""
        name = f"{collection} {measure}{arrow}" if several else f"{measure}{arrow}"
        columns[name] = _cells(found, part)
        best |= {(i, name) for i, is_best in enumerate(part["best"]) if is_best}
        raised |= {(i, name): marks for i, marks in enumerate(part["marks"]) if marks}
    raised |= {(i, "system"): found.marks[name] for i, name in enumerate(columns["system"]) if name in found.marks}
    shown = Table(
        pl.DataFrame(columns),
        best=best,
        raised=raised,
        digits=found.digits,
        names=("system",),
        right=[name for name in columns if name != "system"],
        caption=found.caption + (" ↓: lower is better." if found.lower_is_better else ""),
    )
    pairs = [one.to_polars().select(pl.lit(name).alias("collection"), pl.all()) for name, one in found.tests.items()]
    return result_report(found, "table", [shown], more={"pairs": pl.concat(pairs)} if pairs else {})


def _cells(found: PaperTable, part: pl.DataFrame) -> list[object]:
    """Return the values of a column, with their intervals or deviations as text where there are any."""
    write = partial(number, digits=found.digits)
    if found.intervals:
        rows = part.select("value", "low", "high").iter_rows()
        return [f"{write(value)} {interval(low, high, found.digits)}" for value, low, high in rows]
    if found.replicates:
        rows = part.select("value", "deviation").iter_rows()
        return [write(value) + ("" if spread is None else f" ± {write(spread)}") for value, spread in rows]
    return part["value"].to_list()
