"""The table of a paper as text, LaTeX, Markdown and HTML."""

from __future__ import annotations

import polars as pl

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
        columns[name] = part["value"].to_list()
        best |= {(i, name) for i, is_best in enumerate(part["best"]) if is_best}
        raised |= {(i, name): marks for i, marks in enumerate(part["marks"]) if marks}
    raised |= {(i, "system"): found.marks[name] for i, name in enumerate(columns["system"]) if name in found.marks}
    shown = Table(
        pl.DataFrame(columns),
        best=best,
        raised=raised,
        digits=found.digits,
        caption=found.caption + (" ↓: lower is better." if found.lower_is_better else ""),
    )
    pairs = [one.to_polars().select(pl.lit(name).alias("collection"), pl.all()) for name, one in found.tests.items()]
    return result_report(found, "table", [shown], more={"pairs": pl.concat(pairs)} if pairs else {})
