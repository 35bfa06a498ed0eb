"""Reports of leaderboards and of the tables of papers, and a figure."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from rankdev._common.checks import check_choice
from rankdev.display.cells import interval, number, percent
from rankdev.display.dispatch import draws, reports
from rankdev.display.report import Report, Table, intervals, ranks, result_report
from rankdev.display.style import COLOURS, PAGE, SHOWN, figure, shortened, styled, titled
from rankdev.errors import counted, printable
from rankdev.statistics.leaderboard import Leaderboard
from rankdev.statistics.paper_table import PaperTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@reports(Leaderboard)
def leaderboard_report(found: Leaderboard) -> Report:
    """Name the leaders; then show the systems in order, with the ranks that the decisions about pairs leave them."""
    spread, tables = percent(1 - found.alpha), []
    several = len(found.collections) > 1
    measures, first = list(found.tests), next(iter(found.tests.values()))
    for measure in measures:
        rows = found.to_polars().filter(measure=measure)
        best = pl.when("may_be_best").then(pl.lit("yes")).otherwise(pl.lit(""))
        over = pl.col("borda") if several else intervals(digits=3).alias(spread)
        frame = rows.select("rank", "system", "mean", over, ranks().alias("rank is"), best.alias("may be best"))
        if first.replicates:
            frame.insert_column(2, pl.Series("runs", [first.replicates[name] for name in rows["system"]]))
        title = measure if len(measures) > 1 else ""
        tables.append(Table(frame, title, right=(spread, "rank is"), names=("system",)))
    number = counted(first.decisions[0].queries, first.decisions[0].unit) if first.pairs else "1 system"
    means = f"; means over {len(found.collections)} collections" if several else ""
    borda = ["borda: fraction of systems beaten, mean over collections."] if several else []
    shares = f"; {first.unjudged}" if first.unjudged else ""
    closing = [f"{first.method}, {number}{means}{shares}.", *borda]
    return result_report(found, "leaderboard", tables, found.conclusion.splitlines(), closing, brief=True)


@draws(Leaderboard)
@styled
def plot_leaderboard(found: Leaderboard, measure: str | None = None) -> Figure:
    """Draw means and ranks with their intervals under one measure, the first unless named."""
    chosen = measure or next(iter(found.tests))
    check_choice("measure", chosen, list(found.tests))
    rows = found.to_polars().filter(measure=chosen)
    shown = min(rows.height, SHOWN)
    drawn, axes = figure(PAGE, 1.2 + 0.2 * shown, columns=2, sharey=True)
    left, right = axes[0]
    for i, row in enumerate(rows.head(shown).iter_rows(named=True)):
        if row["low"] is not None:
            left.plot([row["low"], row["high"]], [i, i], color=COLOURS[0], linewidth=1.4)
        left.plot(row["mean"], i, "o", color=COLOURS[0], markersize=5)
        right.plot([row["rank_low"], row["rank_high"]], [i, i], color=COLOURS[0], linewidth=1.4, marker="|")
        right.plot(row["rank"], i, "o", color=COLOURS[0], markersize=5)
    left.set_yticks(range(shown), [shortened(printable(name), 30) for name in rows["system"][:shown]])
    more = f"\n{rows.height - shown:,} more in the table" if rows.height > shown else ""
    spread = f", {percent(1 - found.alpha)} interval" if rows["low"].count() else ""
    left.set(xlabel=f"mean {chosen}{spread}{more}", ylim=(shown - 0.5, -0.5))
    right.set(xlabel="rank, and those that remain possible", xlim=(0.5, rows.height + 0.5))
    right.xaxis.get_major_locator().set_params(integer=True)
    for axis in (left, right):
        axis.grid(visible=False, axis="y")
    return titled(drawn, found.tests[chosen].conclusion)


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
