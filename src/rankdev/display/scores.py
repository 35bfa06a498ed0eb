"""Reports and figures of scores, losses, explanations and bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankdev.display.cells import Cell, count, number
from rankdev.display.dispatch import draws, reports
from rankdev.display.report import Report, Table, best_cells, intervals, result_report
from rankdev.display.style import (
    COLOURS,
    HATCHES,
    PAGE,
    draw_intervals,
    figure,
    looks,
    shortened,
    styled,
    titled,
)
from rankdev.errors import counted, printable
from rankdev.evaluation.bounds import Bounds
from rankdev.evaluation.coverage import unjudged_share
from rankdev.evaluation.explain import DISPLACED, Explanation, Position
from rankdev.evaluation.files import provenance_of
from rankdev.evaluation.losses import ROUNDING, Losses
from rankdev.evaluation.scores import Scores

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@reports(Scores)
def scores_report(scores: Scores, *, per_query: bool = False) -> Report:
    """Show means (query null in the rows), and with ``per_query`` every value."""
    means = scores.mean()
    rows = means.unpivot(index="system", variable_name="measure", value_name="value")
    rows = rows.select("system", pl.lit(None, pl.String).alias("query"), "measure", "value")
    if not per_query:
        directed = {kind.label: kind.higher_is_better for kind in scores.kinds if kind.higher_is_better is not None}
        best = best_cells(means, list(directed), lowest=[name for name, higher in directed.items() if not higher])
        over = f"{_over(scores).capitalize()} over {counted(len(scores.queries), 'query')}"
        share = unjudged_share(scores)
        closing = [f"{over}{'; * best' if best else ''}{f'; {share}' if share else ''}"]
        return Report(rows, [Table(means, best=best, **_look(scores))], closing=closing, remarks=scores.remarks)
    values = scores.to_polars()

    def wide() -> pl.DataFrame:
        table = values.cast({"query": pl.String}).pivot(
            "measure", index=["system", "query"], values="value", maintain_order=True
        )
        return pl.concat([table, means.select("system", pl.lit(_over(scores)).alias("query"), *scores.measures)])

    table = Table(wide, **_look(scores))
    rows = rows.cast({"query": values["query"].dtype})
    return Report(pl.concat([values, rows]), [table], remarks=scores.remarks, provenance=provenance_of(scores))


def _over(scores: Scores) -> str:
    return "sum" if scores.sums == scores.measures else "mean"


def _look(scores: Scores) -> dict[str, Any]:
    """Name the counts among measures that are averaged, and write them without decimals."""
    notes = [f"{', '.join(scores.sums)}: sum over the queries"] if scores.sums and _over(scores) == "mean" else []
    notes += [f"{name}: geometric mean over the queries" for name in scores.geometric]
    return {"notes": notes, "formats": dict.fromkeys(scores.sums, count), "bars": scores.measures}


CAUSES = {
    "lost_by_retrieval": "by retrieval (relevant items not returned; improve the retriever)",
    "lost_by_cutoff": "by the cutoff (relevant items returned below it; pass more items to the reranker)",
    "lost_by_order": "by order (of the items above the cutoff; improve the reranker)",
}


@reports(Losses)
def losses_report(found: Losses) -> Report:
    """Show each system's mean score and what was lost by retrieval, by the cutoff and by order; and what to improve."""
    table = found.to_polars()
    title = f"{found.measure}, mean over {counted(len(found.scores.queries), 'query')}, and what was lost"
    lost = table.select(*CAUSES).fill_nan(0.0).to_numpy()
    closing = []
    for cause, words in CAUSES.items():
        largest = (lost.argmax(axis=1) == list(CAUSES).index(cause)) & (lost.max(axis=1) > 5e-5)
        if largest.any():
            closing.append(f"lost most {words}: {_listed(table.filter(largest)['system'].to_list())}")
    return Report(table, [Table(table, title, bars=table.columns[1:])], closing=closing, remarks=found.remarks)


def _listed(names: list[str]) -> str:
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")


@draws(Scores)
@styled
def plot_scores(scores: Scores) -> Figure:
    """Draw each system's means, one sign per measure, best first by the first measure; one alone with its intervals."""
    means, label = scores.sorted_by(scores.measures[0]), "mean"
    several = len(scores.measures) > 1
    drawn, axis = _rows(means.systems, len(scores.measures) if several else 0)
    at = np.arange(len(means.systems))
    if not several and len(scores.queries) > 1 and not scores.sums and not scores.geometric:
        from rankdev.statistics.design import Design  # eval need not load what tests

        low, high = Design.of(means, least=1).mean_limits()
        axis.hlines(at, low[:, 0], high[:, 0], color=COLOURS[0], linewidth=1.2)
        label = "mean, 95% interval over queries"
    look = looks(scores.measures) if several else {scores.measures[0]: {"color": COLOURS[0], "marker": "o"}}
    for m, measure in enumerate(scores.measures):
        axis.plot(means.means[:, m], at, label=measure, markersize=5, **{**look[measure], "linestyle": "none"})
    axis.set_xlabel(f"{label} (sum of {', '.join(scores.sums)})" if scores.sums else label)
    if several:
        drawn.legend(loc="outside lower center", ncols=3, frameon=False)
    first = means.means[0, 0]
    extreme = "lowest" if means.kinds[0].higher_is_better is False else "highest"
    best = f"{shortened(means.systems[0])} has the {extreme} {means.measures[0]}, {first:.4f}"
    return titled(drawn, best if len(means.systems) > 1 else f"{means.systems[0]}: {means.measures[0]} {first:.4f}")


@draws(Losses)
@styled
def plot_losses(found: Losses) -> Figure:
    """Draw for each system what it scored and what it lost, which together make 1."""
    rows = found.to_polars().sort("score", descending=True, maintain_order=True)
    drawn, axis = _rows(tuple(rows["system"]), 1)
    start = np.zeros(rows.height)
    for name, colour, hatch in zip(("score", *reversed(CAUSES)), COLOURS, HATCHES, strict=False):
        share, label = rows[name].to_numpy(), name.replace("_", " ")
        axis.barh(range(rows.height), share, left=start, color=colour, hatch=hatch, edgecolor="white", label=label)
        start += share
    axis.set(xlabel=found.measure, xlim=(0, max(1.0, float(np.nanmax(start, initial=0.0)))))
    drawn.legend(loc="outside lower center", ncols=4, frameon=False)
    return titled(drawn, f"What keeps each system from 1 in {found.measure}: retrieval, the cutoff or the order?")


def _rows(systems: tuple[str, ...], keys: int) -> tuple[Figure, Any]:
    """Return an axis with a line for each system, and space for a legend of some keys."""
    drawn, axes = figure(PAGE, 1.0 + (0.22 if len(systems) <= 30 else 0.17) * len(systems) + 0.14 * -(-keys // 3))
    axis: Any = axes[0, 0]
    axis.set_yticks(range(len(systems)), [shortened(printable(name)) for name in systems])
    axis.set_ylim(len(systems) - 0.5, -0.5)
    axis.grid(visible=False, axis="y")
    return drawn, axis


BAR = 12
NAMED = 8  # systems or items that a line names


@reports(Explanation)
def explanation_report(found: Explanation, *, query: str = "") -> Report:
    """Show position by position what was gained and lost, what was not returned and what would be the best order."""
    rows = found.to_polars()
    top = max(max(entry.weight, entry.gained) for entry in found.positions) or 1.0
    bars = {entry.position: Cell(_bar(entry, top), "bar") for entry in found.positions}
    frame = rows.select(
        pl.col("position").alias("pos"),
        pl.col("item").fill_null("(empty)"),
        *(name for name in ("rank", "grade") if name in rows.columns),
        pl.col("ideal_rank").alias("ideal"),
        pl.col("position").alias("gained ▇ of ░"),
        "lost",
        "why",
    )
    formats = {
        "gained ▇ of ░": lambda position: bars[position],
        "why": lambda why: Cell(why, "" if why == DISPLACED else "bad"),
    }
    lost = number(found.ideal_score - found.score)
    of = f" of an ideal {number(found.ideal_score)}" if found.ideal_score < 1 - ROUNDING else ""
    opening = (
        f"{query}{'  ' if query else ''}{found.measure} = {number(found.score)}   lost {lost}{of}:"
        f" {number(found.retrieval_loss)} because relevant items are not returned,"
        f" {number(found.cutoff_loss)} because they are below the cutoff,"
        f" {number(found.ordering_loss)} because of the order"
    )
    return Report(
        rows,
        [Table(frame, formats=formats, left=("gained ▇ of ░",), names=("pos", "item"))],
        opening=[opening],
        closing=_closing(found),
        remarks=found.remarks,
        command="explain",
        parameters={**({"query": query} if query else {}), **found.parameters},
        summary=found.summary(),
        more={"elsewhere": _elsewhere(found)},
    )


def explanations_report(both: Mapping[str, Explanation], query: str) -> Report:
    """Show two lists for one query side by side: what each position gained, and what either did not return."""
    (a, one), (b, other) = both.items()
    columns: dict[str, list[Any]] = {"pos": list(range(1, max(len(one.positions), len(other.positions)) + 1))}
    for name, found in both.items():
        blank = len(columns["pos"]) - len(found.positions)
        for column, part in (("item", "item"), ("rank", "rank"), ("gained", "gained")):
            values = [getattr(entry, part) for entry in found.positions] + [None] * blank
            columns[f"{name} {column}" if column == "item" else f"{column} {'ab'[name == b]}"] = values
    frame = pl.DataFrame(columns, infer_schema_length=None, strict=False)
    scores = f"{a} (a) {number(one.score)}, {b} (b) {number(other.score)}, a − b {number(one.score - other.score)}"
    rows = [found.to_polars().select(pl.lit(name).alias("system"), pl.all()) for name, found in both.items()]
    summaries = [found.summary().select(pl.lit(name).alias("system"), pl.all()) for name, found in both.items()]
    return Report(
        pl.concat(rows, how="vertical_relaxed"),
        [Table(frame, names=(f"{a} item", f"{b} item"))],
        opening=[f"{query}  {one.measure}: {scores}"],
        closing=[f"{name}: {line}" for name, found in both.items() for line in _closing(found)],
        command="explain",
        parameters={"query": query, "systems": [a, b], **one.parameters},
        summary=pl.concat(summaries, how="vertical_relaxed"),
        more={
            "elsewhere": pl.concat(
                _elsewhere(found).insert_column(0, pl.lit(name).alias("system")) for name, found in both.items()
            )
        },
    )


def _elsewhere(found: Explanation) -> pl.DataFrame:
    """List the reference items that are not above the cutoff: where they are returned, null where they are not."""
    items = [*found.below_cutoff, *((item, rank, None) for item, rank in found.not_returned)]
    return pl.DataFrame(items, {"item": pl.String, "rank": pl.Int64, "position": pl.Int64}, orient="row")


def _closing(found: Explanation) -> list[str]:
    lines = []
    if found.not_returned:
        lines.append(f"not returned: {_listed([f'{item} (rank {rank})' for item, rank in found.not_returned])}")
    if found.below_cutoff:
        deep = [f"{item} (rank {rank}) returned at position {position}" for item, rank, position in found.below_cutoff]
        lines.append(f"below the cutoff: {_listed(deep)}")
    if found.ordering_loss > 5e-5:
        lines.append(f"best order of these items ({number(found.best_score)}): {' '.join(found.best_order)}")
    return lines


def _bar(entry: Position, top: float) -> str:
    gained = entry.weight * entry.credit or entry.gained
    length = max(1, round(BAR * max(entry.weight, gained) / top)) if max(entry.weight, gained) > 0 else 0
    full = round(length * entry.credit) if entry.weight else length
    return "▇" * full + "░" * (length - full)


@reports(Bounds)
def bounds_report(found: Bounds) -> Report:
    """Show both scores of every system and measure."""
    shown = found.to_polars().select("system", "measure", "score", intervals().alias("could be"), "judged")
    table = Table(shown, "Scores, and how far unjudged items could change them", right=("could be",))
    closing = ["could be: with the unjudged items all nonrelevant, and all as good as can be"]
    return result_report(found, "bounds", [table], closing=closing)


@draws(Bounds)
@styled
def plot_bounds(found: Bounds) -> Figure:
    """Draw each score with those of both extremes."""
    rows = found.to_polars().sort("measure", maintain_order=True)
    names = list(zip(rows["measure"], rows["system"], strict=True))
    label = "score (dot), and how far unjudged items could change it (line)"
    return titled(draw_intervals(rows, "score", names, label), "How far unjudged items leave scores uncertain")


@draws(Explanation)
@styled
def plot_explanation(found: Explanation) -> Figure:
    """Draw each position: a bar as long as its weight, filled in proportion to its credit."""
    drawn, axes = figure(PAGE, 0.9 + 0.28 * len(found.positions))
    axis: Any = axes[0, 0]
    at = [entry.position for entry in found.positions]
    axis.barh(at, [entry.weight for entry in found.positions], color="white", edgecolor="#555555", linewidth=0.8)
    axis.barh(at, [entry.weight * entry.credit for entry in found.positions], color=COLOURS[0])
    names = ["(empty)" if entry.item is None else entry.item for entry in found.positions]
    axis.set_yticks(at, [f"{shortened(printable(name))}  {i}" for i, name in zip(at, names, strict=True)])
    axis.invert_yaxis()
    axis.grid(visible=False, axis="y")
    axis.set(xlabel="weight of the position; filled: credit")
    lost = f"{found.retrieval_loss:.4f} lost by retrieval, {found.cutoff_loss:.4f} by the cutoff"
    lost += f", {found.ordering_loss:.4f} by order"
    return titled(drawn, f"{found.measure} = {found.score:.4f}: {lost}")
