"""Lay out what results declare: from a result and its view to a report, to text and to HTML."""

from __future__ import annotations

import string
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from functools import cache, partial
from typing import Any

from rankdev._common.lazy import pl
from rankdev._common.result import Result
from rankdev._common.view import Col, Curves, Dots, Tab, Text, View
from rankdev.display.cells import FORMS, percent
from rankdev.display.encodings import fragment
from rankdev.display.report import Report, Table, best_cells, screen_width
from rankdev.errors import counted
from rankdev.statistics.inputs import ALL

FIRST_ROWS = 100  # of a table that notebooks and prompts show
NAMES = ("", "difference")  # forms of columns whose texts name rows
COLUMNS: Mapping[str, Col] = {  # how columns look that several results have, by the first that they show
    "low": Col(("low", "high"), "{level}", "interval"),
    "human_low": Col(("human_low", "human_high"), "human alone", "interval"),
    "judgments_low": Col(("judgments_low", "judgments_high"), "judgments alone", "interval"),
    "new_low": Col(
        ("new_low", "new_high"),
        "new collection",
        "interval",
        "new collection: interval of the true difference in another such collection",
    ),
    "tau_low": Col(("tau_low", "tau_high"), "tau, 95%", "interval"),
    "same_low": Col(("same_low", "same_high"), "same, 95%", "counts"),
    "different_low": Col(("different_low", "different_high"), "different, 95%", "counts"),
    "rank_low": Col(("rank_low", "rank_high"), "rank is", "ranks"),
    "wins": Col(("wins", "ties", "losses"), "w/t/l", "slashes"),
    "difference": Col("difference", "a − b", "signed"),
    "ahead": Col("ahead", "ahead of the next", "signed"),
    "not_told_from": Col("not_told_from", "not told from", "prose"),
    "may_be_best": Col("may_be_best", "may be best", "yes"),
    "p_adjusted": Col("p_adjusted", "p", "p"),
    "verdict": Col("verdict", form="verdict"),
    "judged": Col("judged", form="percent", help="judged: of the items that the measure looks at"),
    "borda": Col("borda", help="borda: fraction of systems beaten, mean over collections."),
    "p10": Col("p10", help="p10, p50, p90: a tenth, half, nine tenths of the pairs have less power"),
    "replaced": Col("replaced", help="replaced: median power with queries drawn with replacement, as new ones"),
    "n80": Col("n80", form="count", help="n80: the first size tried with a power of 0.8; median over pairs"),
    "n_at_0.8": Col("n_at_0.8", form="count", help="at 0.8: the first size tried with that; auc: tau averaged over n"),
    "trust": Col("trust", help="trust: weight of the model (0: uninformative, 1: as good as assessors)"),
    "tau_ap": Col("tau_ap", "τ_AP"),
    "i2": Col(
        "i2", "I²", "percent", "I²: fraction of the scatter between collections that their queries do not explain"
    ),
    **{name: Col(name, form="count") for name in ("split_at_0.8", "same", "different")},
}


def report_of(found: Result, **options: Any) -> Report:
    """Return the report of a result; ``options`` are those of reports that have any."""
    from rankdev.display.special import REPORTS

    special = REPORTS.get(type(found).__name__)
    return declared(found, found.view) if special is None else special(found, **options)


def text_of(found: Result, *, short: bool = False) -> str:
    """Return what the command line prints; in short, the first rows of long tables only."""
    report = report_of(found)
    return (report.shortened(FIRST_ROWS) if short else report).text(screen_width(sys.stdout)).rstrip("\n")


def html_of(found: Result) -> str:
    """Return the same in short as HTML, for a notebook."""
    return fragment(report_of(found).shortened(FIRST_ROWS))


def declared(found: Result, view: View) -> Report:
    """Make the report of a result; where the data have a problem it shows nothing but the conclusion, which says so."""
    words = Words(found)
    conclusion = words("{conclusion}")
    frame = cache(partial(frame_of, found))  # what several parts show is tabulated once
    tabs = () if getattr(found, "problems", ()) else view.tables
    laid = [each for tab in tabs for each in _tables(found, tab, frame(tab.frame))]
    closing = [line for text in view.closing for line in _sentence(words, text).splitlines()] if laid else []
    helps = dict.fromkeys(line for _, lines in laid for line in lines)
    return Report(
        frame("to_polars"),
        [table for table, _ in laid],
        opening=[line for text in view.opening for line in words(text).splitlines()] or _headlines(found, frame),
        closing=[*closing, *helps],
        remarks=found.remarks,
        command=view.command,
        parameters=found.parameters,
        conclusion=conclusion,
        summary=frame("summary"),
        more={name: frame(source) for name, source in view.more.items()},
        brief=view.brief,
    )


def headline(found: Any, rows: pl.DataFrame) -> str:
    """State what these rows of a result's figure show: the title of the figure, and how its text begins."""
    kind = found.view.figure
    if isinstance(kind, Curves):
        return Words(found, _below(found, kind, rows))(kind.title)
    if rows.is_empty():
        return ""
    if isinstance(kind, Dots):
        return Words(found, {**rows.row(0, named=True), **_extremes(rows, kind)})(kind.title)
    first = rows[next(iter(kind.values))]
    low, high = (f"{value:.2f}" for value in (first.min(), first.max()))
    spread = f"{low} to {high}" if low != high else f"{low}{' throughout' if len(first) > 1 else ''}"
    return Words(found, {"spread": spread})(kind.title)


def _headlines(found: Any, frame: Callable[[str], pl.DataFrame]) -> list[str]:
    """State what the figure of a result shows, measure by measure."""
    kind = found.view.figure
    if kind is None:
        return []
    rows = frame(getattr(kind, "frame", "to_polars"))
    each = isinstance(kind, Dots) and kind.facets and "measure" not in kind.names and "measure" in rows.columns
    parts = rows.partition_by("measure", maintain_order=True) if each else [rows]
    return [f"{text}." for part in parts if (text := headline(found, part))]


def _extremes(rows: pl.DataFrame, kind: Dots) -> dict[str, str]:
    """Name the rows with the most and the least of the first panel's value, and its widest interval."""
    panel = kind.panels[0]
    known = rows.drop_nulls(panel.value).sort(panel.value, maintain_order=True)
    if known.is_empty():
        return {}
    (least, lowest), (most, highest) = (known.select(kind.names[0], panel.value).row(at) for at in (0, -1))
    widest = (known[panel.high] - known[panel.low]).max()
    numbers = {"lowest": lowest, "highest": highest, "widest": widest}
    written = {name: f"{value:.3f}" for name, value in numbers.items() if value is not None}
    return {"least": least, "most": most, **written}


def _below(found: Any, kind: Curves, rows: pl.DataFrame) -> dict[str, str]:
    """Return which curve has most points at the figure's line or below, and how many."""
    if not kind.line or rows.is_empty():
        return {}
    under = pl.col(kind.y) <= getattr(found, kind.line)
    counts = rows.group_by(kind.by, maintain_order=True).agg(under.sum(), pl.len())
    name, count, whole = counts.sort(kind.y, descending=True, maintain_order=True).row(0)
    return {"most": name, "times": f"{count} of {whole}"}


class Words(string.Formatter):
    """Fills the {fields} of declared texts with attributes of a result, or what is in the first row of a table."""

    def __init__(self, found: Any, row: Mapping[str, Any] | None = None) -> None:
        self.found, self.row = found, row or {}

    def __call__(self, text: str) -> str:
        """Return a text with its fields filled in; it is empty where one of them is missing."""
        try:
            return self.vformat(text, (), {})
        except LookupError:
            return ""

    def get_field(self, name: str, args: Any, kwargs: Any) -> tuple[Any, str]:
        """Look a field up, such as ``alpha`` or ``first.method``."""
        first, *rest = name.split(".")
        value = getattr(self.found, first, self.row.get(first))
        if first == "level":
            value = percent(1 - getattr(self.found, "alpha", 0.05))
        for part in rest:
            value = getattr(value, part, None)
        if value is None:
            raise LookupError(name)
        return value, name

    def format_field(self, value: Any, form: str) -> str:
        """Count what the form names, or format a value as Python does."""
        if not form.isalpha() or len(form) == 1:
            return f"{value:{form}}"
        return counted(len(value) if isinstance(value, Sized) else value, form)


def _sentence(words: Words, text: Text) -> str:
    if isinstance(text, str):
        return words(text)
    parts = [part for part in map(words, text) if part]
    return f"{'; '.join(parts)}." if parts else ""


def frame_of(found: Any, source: str) -> pl.DataFrame:
    """Return a table of a result by the name of its method, or of the field that holds it."""
    held = getattr(found, source)
    frame: pl.DataFrame = held() if callable(held) else held
    return frame


def _tables(found: Result, tab: Tab, whole: pl.DataFrame) -> Iterator[tuple[Table, list[str]]]:
    """Yield the tables of a declaration, each with its lines of help."""
    if tab.sort:
        whole = whole.sort(tab.sort, descending=True, maintain_order=True)
    parts = whole.partition_by(tab.by, maintain_order=True) if tab.by else [whole]
    for part in parts:
        if part.is_empty() and tab.frame != "to_polars":
            continue
        words = Words(found, part.row(0, named=True) if part.height else {})
        title = words(tab.title) if tab.title else part[tab.by][0] if len(parts) > 1 else ""
        yield _laid_out(part, tab, title, words)


def _laid_out(frame: pl.DataFrame, tab: Tab, title: str, words: Words) -> tuple[Table, list[str]]:
    columns = [one if isinstance(one, Col) else COLUMNS.get(one, Col(one)) for one in tab.columns or _merged(frame)]
    columns = [column for column in columns if _says_something(column, frame)]
    if _of_one(frame, columns):  # one measure is said once
        title = title or frame["measure"][0]
        columns = [column for column in columns if column.source != "measure"]
    shown: dict[str, pl.Series] = {}
    look: dict[str, Any] = {"formats": {}, "right": [], "left": [], "names": [], "prose": [], "titled": []}
    for column, label in zip(columns, _labels(columns, words), strict=True):
        sources, form = _sources(column), FORMS.get(column.form)
        values = frame[sources[0]]
        if form and len(sources) > 1:
            rows = frame.select(sources).rows()  # an interval may have one end
            texts = [form(*row) if any(part is not None for part in row) else None for row in rows]
            values = pl.Series(texts, dtype=pl.String)
            look["left" if column.form in NAMES else "right"].append(label)
        elif form:
            look["formats"][label] = form
            look["left"] += [label] if column.form in ("yes", "verdict") else []
        if column.of_system:
            look["titled"].append(label)
        if column.form == "prose":
            look["prose"].append(label)
        elif values.dtype == pl.String and column.form in NAMES:
            look["names"].append(label)
        shown[label] = values
    laid = pl.DataFrame(shown)
    table = Table(laid, title, digits=tab.digits, best=best_cells(laid, tab.best), **look)
    return table, [words(column.help) for column in columns if column.help]


def _sources(column: Col) -> tuple[str, ...]:
    return (column.source,) if isinstance(column.source, str) else column.source


def _says_something(column: Col, frame: pl.DataFrame) -> bool:
    """Return whether the frame has a column, with any values, and not just one part of the data, which is all."""
    if not {*_sources(column)} <= {*frame.columns}:
        return False
    parts = [frame[name] for name in _sources(column)]
    return frame.is_empty() or not all(
        (values.is_null() | (values == ALL if values.dtype == pl.String else False)).all() for values in parts
    )


def _of_one(frame: pl.DataFrame, columns: Sequence[Col]) -> bool:
    """Return whether all rows are of one measure, and named by other columns."""
    named = [frame[name].dtype == pl.String for column in columns for name in _sources(column)[:1] if not column.form]
    return "measure" in frame.columns and frame["measure"].n_unique() == 1 and sum(named) > 1


def _merged(frame: pl.DataFrame) -> list[str]:
    """Name the columns of a frame, those once that are written as one."""
    others = {name for column in COLUMNS.values() for name in _sources(column)[1:] if column.source[0] in frame.columns}
    return [name for name in frame.columns if name not in others]


def _labels(columns: Sequence[Col], words: Words) -> list[str]:
    """Name columns; a system that is called as another column is marked."""
    names = [words(column.label) or _sources(column)[0].replace("_", " ") for column in columns]
    own = {name for column, name in zip(columns, names, strict=True) if not column.of_system}
    return [
        f"mean of {name}" if column.of_system and name in own else name
        for column, name in zip(columns, names, strict=True)
    ]
