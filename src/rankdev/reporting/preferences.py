"""Reports about judgments: strengths, tiers, workers, which pairs to ask next, and doubt carried through."""

from __future__ import annotations

import polars as pl

from rankdev.errors import counted
from rankdev.meta.judgment_uncertainty import Doubt
from rankdev.preferences.selection import NextPairs
from rankdev.preferences.strengths import Strengths
from rankdev.preferences.summary import LIKELY, Summary, summarise
from rankdev.preferences.tiers import Tiers
from rankdev.reporting.cells import percent
from rankdev.reporting.door import reports
from rankdev.reporting.report import Report, Table, intervals


@reports(Strengths)
def strengths_report(found: Strengths) -> Report:
    """Show each item's strength with its interval, best first."""
    rows = found.to_polars()
    title = f"Strengths ({found.method}), {percent(found.confidence)} intervals"
    return Report(rows, [Table(_with_interval(rows), title, right=("interval",), digits=3)], remarks=found.remarks)


@reports(Tiers)
def tiers_report(found: Tiers) -> Report:
    """Show the tier of each item, and in words what is decided and what is open."""
    rows = found.to_polars()
    words = summarise(found)
    table = Table(_with_interval(rows), "Tiers: equal ranks are not separated", right=("interval",), digits=3)
    return Report(rows, [table], closing=_in_words(words), remarks=(*found.remarks, *words.remarks))


@reports(Summary)
def summary_report(found: Summary) -> Report:
    """Say in plain words what the judgments decide."""
    return Report(found.to_polars(), opening=_in_words(found), remarks=found.remarks)


@reports(NextPairs)
def next_pairs_report(found: NextPairs) -> Report:
    """Show the pairs to ask, the most useful first."""
    rows = found.to_polars()
    return Report(rows, [Table(rows, f"{counted(len(found), 'pair')} to ask, {found.strategy}")], remarks=found.remarks)


@reports(Doubt)
def doubt_report(found: Doubt) -> Report:
    """Show means with intervals for queries and judgments, for judgments alone, and how often one beats another."""
    rows = found.to_polars()
    level = f"{percent(found.confidence)}"
    means = rows.select(
        "measure",
        "system",
        "mean",
        intervals().alias(f"{level}, queries and judgments"),
        intervals("judgments_low", "judgments_high").alias(f"{level}, judgments"),
    )
    title = f"Means over judgments drawn {found.resamples:,} times; {level} intervals"
    tables = [
        Table(means, title, right=means.columns[3:]),
        Table(found.beats(), "How often a beats b (ties count half)", digits=3),
    ]
    return Report(rows, tables, remarks=found.remarks, more={"beats": found.beats()})


def _in_words(found: Summary) -> list[str]:
    items, comparisons, tiers, undecided, close, cyclic = (
        sum(getattr(row, name) for row in found.queries)
        for name in ("items", "comparisons", "tiers", "undecided", "too_close", "cyclic")
    )
    counts = [
        counted(len(found.queries), "query"),
        counted(items, "item"),
        counted(comparisons, "comparison"),
        counted(tiers, "tier"),
    ]
    lines = [", ".join(counts) + "."]
    if undecided:
        lines.append(f"{counted(undecided, 'pair')} of neighbours could not be separated: tied.")
        known = [row.more for row in found.queries if row.more is not None]
        if known and (far := undecided - close - cyclic):
            chance = f"each with a chance of {LIKELY:.0%}"
            lines.append(f"About {counted(sum(known), 'more judgment')} would separate {far:,} of them, {chance}.")
        if cyclic:
            lines.append(f"{cyclic:,} of them on cycles of wins: more judgments need not order them.")
        if close:
            lines.append(f"{close:,} of them nearly equal (a 52.5% chance or less): leave tied.")
    return lines


def _with_interval(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.select("query", "item", "strength", intervals(digits=3).alias("interval"), "rank")
