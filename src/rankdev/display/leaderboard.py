"""Reports of leaderboards and of the tables of papers, and a figure."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from rankdev._common.checks import check_choice
from rankdev.display.cells import interval, number, percent
from rankdev.display.dispatch import draws, reports
from rankdev.display.report import Report, Table, intervals, made_with, result_report
from rankdev.display.style import COLOURS, PAGE, SHOWN, figure, shortened, styled, titled
from rankdev.errors import counted, printable
from rankdev.statistics.leaderboard import Leaderboard
from rankdev.statistics.paper_table import PaperTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure


NAMED = 6  # systems that a sentence names; more are counted


@reports(Leaderboard)
def leaderboard_report(found: Leaderboard) -> Report:
    """Show the systems in order, with what is certain about means and ranks, and what the choice of tasks changes."""
    several = len(found.tasks) > 1
    spread = f"{percent(1 - found.alpha)} interval"
    tables, opening = [], []
    for measure in found.measures:
        rows = found.to_polars().filter(measure=measure)
        opening.append(_leaders(found, measure, rows))
        frame = rows.select("rank", "system", "mean", intervals().alias(spread), *_certain(found), _chance("best"))
        if found.replicates:
            frame.insert_column(2, pl.Series("runs", [found.replicates[name] for name in rows["system"]]))
        over = f", {found.rule} over {len(found.tasks)} tasks" if several else ""
        look: Any = {"right": (spread, "ranks", "best", "such tasks"), "names": ("system",)}
        tables.append(Table(frame, f"{measure}{over}", **look))
        if several:
            tables.append(Table(_by_choice(rows), f"{measure}: effect of the choice of tasks", **look))
    return result_report(
        found, "leaderboard", tables, opening, tuple(_closing(found)), more={"without_task": found.without_task()}
    )


def _certain(found: Leaderboard) -> list[pl.Expr]:
    if found.rule != "mean":
        return []
    return [_ranks("rank_low", "rank_high").alias("ranks"), pl.col("group")]


def _ranks(low: str, high: str) -> pl.Expr:
    """Write two columns of ranks as one."""
    alone = pl.col(low) == pl.col(high)
    return pl.when(alone).then(pl.format("{}", low)).otherwise(pl.format("{}–{}", low, high))


def _chance(name: str) -> pl.Expr:
    return pl.col(name).map_elements(lambda share: f"{share:.0%}", return_dtype=pl.String).alias("best")


def _by_choice(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.select(
        "system",
        "mean",
        "borda",
        "wins",
        _ranks("without_low", "without_high").alias("one left out"),
        _ranks("new_low", "new_high").alias("such tasks"),
        _chance("new_best"),
    )


def _leaders(found: Leaderboard, measure: str, rows: pl.DataFrame) -> str:
    """State who leads, and who else may be first."""
    first = rows.filter(pl.col("rank") == 1)["system"].to_list()
    low = "rank_low" if found.rule == "mean" else "new_low"
    others = rows.filter((pl.col(low) == 1) & (pl.col("rank") > 1))["system"].to_list()
    also = ", ".join(others) if len(others) <= NAMED else counted(len(others), "other")
    if len(first) > 1:
        leaders = ", ".join(first) if len(first) <= NAMED else counted(len(first), "system")
        return f"{measure}: {leaders} share the first rank{f', and {also} may be first as well' if others else ''}."
    return (
        f"{measure}: {first[0]} leads, and {also} may be first as well."
        if others
        else f"{measure}: {first[0]} is first."
    )


def _closing(found: Leaderboard) -> Iterator[str]:
    yield "interval: for each mean separately"
    if found.rule == "mean":
        yield f"ranks: simultaneous {percent(1 - found.alpha)} intervals for all systems"
        yield "group: systems that share a letter do not differ significantly"
    yield "best: probability of being best on other such queries"
    if len(found.tasks) > 1:
        yield "borda: fraction of systems beaten; wins: fraction of tasks on which the system is best"
        yield (
            "one left out: ranks without one of the tasks; such tasks: simultaneous ranks, and the probability of being"
            " best, for a new sample of tasks"
        )
    without = ("clusters", "replicates") if len(found.tasks) > 1 else ("rule", "clusters", "replicates")
    yield made_with(found, *without)


@draws(Leaderboard)
@styled
def plot_leaderboard(found: Leaderboard, measure: str | None = None) -> Figure:
    """Draw means and ranks with their intervals under one measure, the first unless named."""
    chosen = measure or found.measures[0]
    check_choice("measure", chosen, found.measures)
    rows = found.to_polars().filter(measure=chosen)
    shown = min(rows.height, SHOWN)
    several = len(found.tasks) > 1
    drawn, axes = figure(PAGE, 1.2 + 0.2 * shown, columns=2, sharey=True)
    left, right = axes[0]
    for i, row in enumerate(rows.head(shown).iter_rows(named=True)):
        left.plot([row["low"], row["high"]], [i, i], color=COLOURS[0], linewidth=1.4)
        left.plot(row["mean"], i, "o", color=COLOURS[0], markersize=5)
        for low, high, colour, up in (("rank_low", "rank_high", 0, 0.0), ("new_low", "new_high", 1, 0.25)):
            if row.get(low) is not None:
                right.plot([row[low], row[high]], [i + up] * 2, color=COLOURS[colour], linewidth=1.4, marker="|")
        right.plot(row["rank"], i, "o", color=COLOURS[0], markersize=5)
    left.set_yticks(range(shown), [shortened(printable(name), 30) for name in rows["system"][:shown]])
    more = f"\n{rows.height - shown:,} more in the table" if rows.height > shown else ""
    left.set(xlabel=f"mean {chosen}, {percent(1 - found.alpha)} interval{more}", ylim=(shown - 0.5, -0.5))
    lower = "; lower line: on other such tasks" if several else ""
    right.set(xlabel=f"rank, for all systems together{lower}", xlim=(0.5, rows.height + 0.5))
    right.xaxis.get_major_locator().set_params(integer=True)
    for axis in (left, right):
        axis.grid(visible=False, axis="y")
    return titled(drawn, _leaders(found, chosen, rows))


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
