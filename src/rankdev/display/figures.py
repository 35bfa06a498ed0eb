"""Draw what results declare, and the figures of results that have no pattern: scores, losses, lists, differences."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankdev._common.arrays import Floats
from rankdev._common.checks import check_choice
from rankdev._common.result import Result
from rankdev._common.view import Curves, Dot, Dots, Heat
from rankdev.display import style
from rankdev.display.layout import apart
from rankdev.display.special import score_and_losses
from rankdev.display.view import Words, frame_of, headline
from rankdev.errors import UsageError, printable
from rankdev.statistics.inputs import ALL

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from rankdev.evaluation.explain import Explanation
    from rankdev.evaluation.losses import Losses
    from rankdev.evaluation.scores import QueryDifferences, Scores

SHOWN = 80  # lines in a figure; the others are left to the table
BESIDE = 4  # panels in a row of a page
LETTERS = 80  # of labels below them, together
NAMED = 60  # queries with a bar each; of more, those at both ends
SYMBOLS = {"alpha": "α", "lam": "λ"}


@style.styled
def figure_of(found: Result, **options: Any) -> Figure:
    """Draw a result; ``options`` are those of its kind of figure."""
    own, kind = OWN.get(type(found).__name__), found.view.figure
    if own is not None:
        return own(found, **options)
    if isinstance(kind, Dots):
        return _dots(found, kind, **options)
    if isinstance(kind, Curves):
        return _curves(found, kind, **options)
    if isinstance(kind, Heat):
        return _heat(found, kind, **options)
    raise UsageError("no-figure", result=type(found).__name__)


def _dots(found: Any, kind: Dots, measure: str | None = None) -> Figure:
    """Draw a line per row, with a dot and its interval in each panel; facets for measures, best first by the first."""
    rows = frame_of(found, kind.frame)
    if "segment" in rows.columns:
        rows = rows.filter(segment=ALL)
    if kind.sort:
        rows = rows.sort(kind.sort, descending=True, maintain_order=True)
    measures = rows["measure"].unique(maintain_order=True).to_list() if "measure" in rows.columns else [""]
    measures = [""] if "measure" in kind.names else measures
    if measure is not None:
        check_choice("measure", measure, measures)
    chosen = [measure] if measure is not None else measures if kind.facets else measures[:1]
    parts = [rows.filter(measure=name) if name else rows for name in chosen]
    if (len(parts) > 1 or kind.zero) and not kind.group:
        parts[0] = parts[0].sort(kind.panels[0].value, descending=True, nulls_last=True, maintain_order=True)
    panels = [(part, panel) for part in parts for panel in kind.panels]
    down, across = -(-len(panels) // BESIDE), min(len(panels), BESIDE)
    names = list(parts[0].select(kind.names).head(SHOWN // down).iter_rows())
    height = 1.1 + (0.2 if len(names) <= 30 else 0.17) * max(3, len(names))
    drawn, axes = style.figure(style.PAGE, height * down, down, across, sharey=True)
    for axis in axes.flat[len(panels) :]:
        axis.remove()
    left_out = [f"{parts[0].height - len(names):,} more in the table"] if parts[0].height > len(names) else []
    said: set[str] = set()
    for axis, (part, panel) in zip(axes.flat, panels, strict=False):
        if kind.zero:
            axis.axvline(0, color=style.GREY, linewidth=0.8)
        margin = getattr(found, "margin", None)
        if margin is not None:
            axis.axvspan(-margin, margin, color=style.COLOURS[2], alpha=0.15, linewidth=0)
        by_name = {tuple(row[name] for name in kind.names): row for row in part.iter_rows(named=True)}
        for at, name in enumerate(names):
            _dot(axis, at, by_name[name], panel, kind)
        label = Words(found, part.row(0, named=True))(panel.label)
        lines = re.split(", |; ", label) if across > 1 else [label]
        new = [line for line in (*lines, *left_out) if line not in said]
        axis.set_xlabel("\n".join(each for line in new for each in textwrap.wrap(line, LETTERS // across)))
        axis.grid(visible=False, axis="y")
        said |= {*new}
    axes[0, 0].set_yticks(range(len(names)), _row_labels(names, kind.names, 30 if across > 1 else 44))
    axes[0, 0].set_ylim(len(names) - 0.5, -0.5)
    told = hasattr(found, "concluded")
    title = [found.concluded(name) for name in chosen[:3]] if told else [headline(found, parts[0])]
    return style.titled(drawn, " ".join(dict.fromkeys(text.partition("\n")[0] for text in title)))


def _dot(axis: Any, at: int, row: Mapping[str, Any], panel: Dot, kind: Dots) -> None:
    group = row[kind.group] - 1 if kind.group else 0
    colour, sign = style.COLOURS[group % len(style.COLOURS)], style.MARKERS[group % len(style.MARKERS)]
    value, low, high = (np.nan if row[name] is None else row[name] for name in (panel.value, panel.low, panel.high))
    ends = [end if np.isfinite(end) else value for end in (low, high)]  # an interval may have one end, or none
    axis.plot(ends, [at, at], color=colour, linewidth=1.4)
    face = colour if row.get("verdict", "better") in ("better", "worse", "good") else "white"
    axis.plot(value, at, sign, color=colour, markerfacecolor=face, markersize=5)


def _row_labels(names: Sequence[tuple[Any, ...]], columns: Sequence[str], longest: int) -> list[str]:
    """Write names so that each part of them stays recognisable; what else tells rows apart follows a colon."""
    between = " − " if "b" in columns else "  "
    parts = [[printable(str(part)) for part in name if part is not None] for name in names]
    cut = apart([part for each in parts for part in each], longest // min(2, len(columns)))
    return [": ".join([between.join(cut[one] for one in part[:2]), *(cut[one] for one in part[2:])]) for part in parts]


def _curves(found: Any, kind: Curves) -> Figure:
    """Draw a curve for each value of ``by``, best first in the legend."""
    rows = frame_of(found, kind.frame).drop_nulls(kind.y)
    means = rows.group_by(kind.by, maintain_order=True).agg(pl.col(kind.y).mean()).sort(kind.y, descending=True)
    names = means[kind.by].to_list()
    columns = 2 if max(map(len, names), default=0) <= 20 else 1
    drawn, axes = style.figure(style.COLUMN, 2.6 + 0.125 * np.ceil(len(names) / columns))
    axis, look = axes[0, 0], style.looks(names)
    for name, label in zip(names, style.labels(names, 44), strict=True):
        part = rows.filter(pl.col(kind.by) == name)
        every = max(1, part.height // 20)
        x, colour = part[kind.x], look[name]["color"]
        axis.plot(x, part[kind.y], label=label, linewidth=1.1, markersize=2.6, markevery=every, **look[name])
        if {"low", "high"} <= {*part.columns}:
            axis.fill_between(x, part["low"], part["high"], color=colour, alpha=0.12, linewidth=0)
        if kind.again and part[kind.again].count():
            alone = "." if part[kind.again].count() == 1 else ""
            axis.plot(x, part[kind.again], color=colour, linewidth=0.8, linestyle=":", marker=alone, markersize=3)
    level = kind.goal if kind.goal is not None else getattr(found, kind.line) if kind.line else None
    if level is not None:
        axis.axhline(level, color=style.GREY, linewidth=0.8)
        place = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "xytext": (2, -2)}
        axis.annotate(f"{level:g}", (1, level), fontsize=6.5, color=style.GREY, **place)
    words = Words(found)
    along = words(kind.along)
    sizes = rows[kind.x].unique().sort().to_list()
    if kind.pool and sizes and sizes[-1] > getattr(found, kind.pool) / 2:
        axis.axvspan(max(sizes[0], getattr(found, kind.pool) / 2), sizes[-1], color=style.GREY, alpha=0.2, linewidth=0)
        along += "; grey: over half of the pool"
    if kind.again and rows[kind.again].count():
        along += "\nthin dots: drawn with replacement"
    if sizes:
        _scale(axis, kind, sizes, rows)
    axis.set(xlabel=along, ylabel=words(kind.label))
    if len(names) > 1:
        drawn.legend(loc="outside lower center", ncols=columns, frameon=False, handlelength=3.2, labelspacing=0.25)
    return style.titled(drawn, headline(found, rows).partition("\n")[0])


def _scale(axis: Any, kind: Curves, sizes: Sequence[Any], rows: pl.DataFrame) -> None:
    if kind.x == "n":
        style.over_queries(axis, sizes)
    else:
        axis.xaxis.get_major_locator().set_params(integer=True)
    if kind.top is not None:
        bottom = min(0.0, float(rows[kind.y].min()))  # type: ignore[arg-type]
        axis.set_ylim(bottom - 0.02 * kind.top, 1.02 * kind.top)


def _heat(
    found: Any,
    kind: Heat,
    chosen: Sequence[Sequence[Any]] = (),
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    note: str = "chosen",
) -> Figure:
    """Draw grids of numbers; ``chosen`` cells have a red frame, which ``note`` explains.

    ``rows`` and ``columns`` name some measures; without them each pair of measures is drawn once.
    """
    if len(getattr(found, "axes", ())) > 2:
        raise UsageError("many-axes", axes=found.axes)
    words, table = Words(found), found.to_polars()
    down, across = words(kind.down), words(kind.across)
    if rows is not None or columns is not None:
        for name in (*(rows or ()), *(columns or ())):
            check_choice("measure", name, found.measures)
        table = pl.concat([table, table.rename({down: across, across: down}).select(table.columns)])
        names = {down: rows or found.measures, across: columns or found.measures}
        table = table.filter(pl.col(name).is_in(wanted) for name, wanted in names.items())
    panels = table.partition_by("dataset", maintain_order=True) if "dataset" in table.columns else [table]
    height = 1.4 + len(kind.values) * 0.34 * table[down].n_unique() + 0.05 * max(map(len, map(str, table[across])))
    wide = len(panels) > 1 or table[across].n_unique() > 4 or max(map(len, map(str, table[down]))) > 24
    drawn, axes = style.figure(style.PAGE if wide else style.COLUMN, height, len(kind.values), len(panels))
    cells = table.select(*kind.values).to_numpy()
    lowest, highest = float(np.nanmin(cells, initial=1.0)), float(np.nanmax(cells, initial=0.0))
    look: dict[str, Any] = {"cmap": "RdBu", "vmin": -1, "vmax": 1}
    if lowest >= 0:
        look = {"cmap": "viridis", "vmin": min(lowest, highest - 0.05), "vmax": highest}
    for i, (value, label) in enumerate(kind.values.items()):
        for j, part in enumerate(panels):
            axis = axes[i, j]
            image = _grid(axis, part, (down, across, value), look)
            axis.set_title(f"{part['dataset'][0]}: {label}" if len(panels) > 1 else words(label))
            axis.tick_params("x", labelbottom=i == len(kind.values) - 1)
            axis.tick_params("y", labelleft=j == 0)
    if hasattr(found, "axes"):
        explained = f"\nred frames: {note}" if chosen and note else ""
        axes[-1, 0].set(xlabel=SYMBOLS.get(across, across) + explained, ylabel=SYMBOLS.get(down, down))
    _frames(axes[0, 0], found, table, (down, across), chosen)
    drawn.colorbar(image, ax=axes, pad=0.02, aspect=40)
    return style.titled(drawn, headline(found, table))


def _grid(axis: Any, table: pl.DataFrame, names: tuple[str, str, str], look: Mapping[str, Any]) -> Any:
    """Draw one grid, with the number in each cell, and its interval below where there is one."""
    down, across, value = names
    labels = [table[name].unique(maintain_order=True).to_list() for name in (down, across)]
    cells = np.full([len(each) for each in labels], np.nan)
    texts = {}
    for row in table.iter_rows(named=True):
        place = (labels[0].index(row[down]), labels[1].index(row[across]))
        cells[place] = np.nan if row[value] is None else row[value]
        texts[place] = "–" if row[value] is None else f"{row[value]:.3f}"
        if row.get(f"{value}_low") is not None:
            texts[place] += f"\n[{row[f'{value}_low']:.2f}, {row[f'{value}_high']:.2f}]"
    image = axis.imshow(cells, aspect="auto", **look)
    for (i, j), text in texts.items():
        red, green, blue, _ = image.cmap(image.norm(cells[i, j])) if np.isfinite(cells[i, j]) else (1, 1, 1, 1)
        light = 0.299 * red + 0.587 * green + 0.114 * blue > 0.5
        size = (7 if cells.shape[1] <= 6 else 5) - ("\n" in text)
        axis.text(j, i, text, ha="center", va="center", fontsize=size, color="black" if light else "white")
    axis.set_xticks(range(len(labels[1])), style.labels(labels[1]))
    axis.set_yticks(range(len(labels[0])), style.labels(labels[0]))
    axis.tick_params("x", rotation=90 if max(map(len, map(str, labels[1]))) > 6 else 0)
    axis.tick_params(length=0)
    axis.grid(visible=False)
    axis.spines[:].set_visible(False)
    return image


def _frames(
    axis: Any, found: Any, table: pl.DataFrame, names: tuple[str, str], chosen: Sequence[Sequence[Any]]
) -> None:
    """Frame some cells of a grid of parameters in red."""
    from matplotlib.patches import Rectangle

    down, across = (table[name].unique(maintain_order=True).to_list() for name in names)
    for cell in chosen:
        if tuple(cell) not in found.cells:
            raise UsageError("not-a-cell", cell=tuple(cell), axes=found.axes)
        place = (across.index(cell[-1]) - 0.47, (down.index(cell[0]) if len(cell) > 1 else 0) - 0.47)
        axis.add_patch(Rectangle(place, 0.94, 0.94, fill=False, edgecolor="#E8000B", linewidth=1.6))


def _scores(scores: Scores) -> Figure:
    """Draw each system's means, one sign per measure, best first by the first measure; one alone with its intervals."""
    means, label = scores.sorted_by(scores.measures[0]), "mean"
    several = len(scores.measures) > 1
    drawn, axis = _rows(means.systems, len(scores.measures) if several else 0)
    at = np.arange(len(means.systems))
    if not several and len(scores.queries) > 1 and not scores.sums and not scores.geometric:
        from rankdev.statistics.design import Design  # eval need not load what tests

        low, high = Design.of(means, least=1).mean_limits()
        axis.hlines(at, low[:, 0], high[:, 0], color=style.COLOURS[0], linewidth=1.2)
        label = "mean, 95% interval over queries"
    look = style.looks(scores.measures) if several else {scores.measures[0]: {"color": style.COLOURS[0], "marker": "o"}}
    for m, measure in enumerate(scores.measures):
        axis.plot(means.means[:, m], at, label=measure, markersize=5, **{**look[measure], "linestyle": "none"})
    axis.set_xlabel(f"{label} (sum of {', '.join(scores.sums)})" if scores.sums else label)
    if several:
        drawn.legend(loc="outside lower center", ncols=3, frameon=False)
    first = means.means[0, 0]
    extreme = "lowest" if means.kinds[0].higher_is_better is False else "highest"
    best = f"{style.labels(means.systems)[0]} has the {extreme} {means.measures[0]}, {first:.4f}"
    return style.titled(
        drawn, best if len(means.systems) > 1 else f"{means.systems[0]}: {means.measures[0]} {first:.4f}"
    )


def _losses(found: Losses) -> Figure:
    """Draw for each system what it scored and what it lost, which together make 1."""
    rows = found.to_polars().sort("score", descending=True, maintain_order=True)
    drawn, axis = _rows(tuple(rows["system"]), 1)
    start = np.zeros(rows.height)
    causes = ("score", "lost_by_order", "lost_by_cutoff", "lost_by_retrieval")
    for name, colour, hatch in zip(causes, style.COLOURS, style.HATCHES, strict=False):
        share, label = rows[name].to_numpy(), name.replace("_", " ")
        axis.barh(range(rows.height), share, left=start, color=colour, hatch=hatch, edgecolor="white", label=label)
        start += share
    axis.set(xlabel=found.measure, xlim=(0, max(1.0, float(np.nanmax(start, initial=0.0)))))
    drawn.legend(loc="outside lower center", ncols=4, frameon=False)
    total = {name: float(np.nansum(rows[name].to_numpy())) for name in causes[1:]}
    most = max(total, key=total.__getitem__).removeprefix("lost_by_").replace("cutoff", "the cutoff")
    return style.titled(drawn, f"In {found.measure} the systems lose most by {most}")


def _rows(systems: Sequence[str], keys: int) -> tuple[Figure, Any]:
    """Return an axis with a line for each system, and space for a legend of some keys."""
    drawn, axes = style.figure(
        style.PAGE, 1.0 + (0.22 if len(systems) <= 30 else 0.17) * len(systems) + 0.14 * -(-keys // 3)
    )
    axis: Any = axes[0, 0]
    axis.set_yticks(range(len(systems)), style.labels(systems))
    axis.set_ylim(len(systems) - 0.5, -0.5)
    axis.grid(visible=False, axis="y")
    return drawn, axis


def _explanation(found: Explanation) -> Figure:
    """Draw each position: a bar as long as its weight, filled in proportion to its credit."""
    drawn, axes = style.figure(style.PAGE, 0.9 + 0.28 * len(found.positions))
    axis: Any = axes[0, 0]
    at = [entry.position for entry in found.positions]
    axis.barh(at, [entry.weight for entry in found.positions], color="white", edgecolor="#555555", linewidth=0.8)
    axis.barh(at, [entry.weight * entry.credit for entry in found.positions], color=style.COLOURS[0])
    names = ["(empty)" if entry.item is None else entry.item for entry in found.positions]
    axis.set_yticks(at, [f"{name}  {i}" for i, name in zip(at, style.labels(names), strict=True)])
    axis.invert_yaxis()
    axis.grid(visible=False, axis="y")
    axis.set(xlabel="weight of the position; filled: credit")
    return style.titled(drawn, score_and_losses(found))


def _differences(found: QueryDifferences, measure: str | None = None) -> Figure:
    """Draw the differences under a measure, largest first, and each query's two scores as a point."""
    chosen = measure or found.scores.measures[0]
    check_choice("measure", chosen, found.scores.measures)
    lower_is_better = chosen in found.scores.lower_is_better
    rows = found.to_polars().filter(measure=chosen).drop_nulls("difference").cast({"query": pl.String})
    rows = rows.sort("difference", descending=True, maintain_order=True)
    drawn, axes = style.figure(
        style.PAGE, max(3.1, 0.9 + 0.125 * min(rows.height, NAMED)), columns=2, width_ratios=[1.5, 1]
    )
    _bars(axes[0, 0], rows, f"difference in {chosen}", lower_is_better)
    a, b, apart = (rows[name].to_numpy() for name in ("a", "b", "difference"))
    _points(axes[0, 1], a, b, lower_is_better)
    one, other = style.labels([found.a, found.b])
    axes[0, 1].set(xlabel=other, ylabel=one)
    ties = int(np.isclose(apart, 0, atol=1e-9).sum())
    won = int(((apart < -1e-9) if lower_is_better else (apart > 1e-9)).sum())
    counts = f"beats {other} on {won}, ties on {ties} and loses on {rows.height - won - ties}"
    return style.titled(drawn, f"{one} {counts} of {rows.height} queries")


def _bars(axis: Any, rows: pl.DataFrame, label: str, lower_is_better: bool) -> None:
    """Draw the differences, largest first, with their mean as a line; of many, those at both ends."""
    mean = float(rows["difference"].mean())  # type: ignore[arg-type]
    axis.set_title(f"by difference; dashed: mean {mean:+.3f}".replace("-", "−"), loc="left")
    shown = rows if rows.height <= NAMED else pl.concat([rows.head(NAMED // 2), rows.tail(NAMED // 2)])
    apart, at = shown["difference"].to_numpy(), np.arange(shown.height)
    if shown.height < rows.height:
        at[NAMED // 2 :] += 1  # a gap
        label += f"\n{rows.height - NAMED:,} queries between these are left out"
    colours = np.where(apart <= 0 if lower_is_better else apart >= 0, style.COLOURS[0], style.COLOURS[1])
    axis.barh(at, apart, height=0.8, color=colours)
    axis.axvline(0, color="black", linewidth=0.6)
    axis.axvline(mean, color="#555555", linewidth=0.8, linestyle=(0, (4, 2)))
    axis.set_yticks(at, style.labels(shown["query"], 22), fontsize=6)
    axis.set(xlabel=label, ylim=(at[-1] + 0.6, -0.6))
    axis.grid(visible=False, axis="y")


def _points(axis: Any, first: Floats, second: Floats, lower_is_better: bool) -> None:
    """Draw a point per query: the first system's score over the second's; on the line they are equal."""
    low, high = float(min(first.min(), second.min())), float(max(first.max(), second.max()))
    axis.plot([low, high], [low, high], color=style.GREY, linewidth=0.8)
    won = first <= second if lower_is_better else first >= second
    for side, sign, colour in ((won, "o", style.COLOURS[0]), (~won, "x", style.COLOURS[1])):
        axis.plot(second[side], first[side], sign, color=colour, markersize=4, alpha=0.6 if len(first) > 60 else 0.9)
    axis.set_title(f"{'above' if lower_is_better else 'below'} the line: lost", loc="left")
    margin = 0.04 * (high - low) or 0.1
    axis.set(xlim=(low - margin, high + margin), ylim=(low - margin, high + margin))
    axis.set_aspect("equal", anchor="N")


OWN: Mapping[str, Callable[..., Figure]] = {  # by name, so that the classes need not be loaded
    "Scores": _scores,
    "Losses": _losses,
    "Explanation": _explanation,
    "QueryDifferences": _differences,
}
