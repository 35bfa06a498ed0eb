"""Reports of results that have no pattern: scores, explanations, tables of papers, tests of segments."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

from rankdev._common.lazy import pl
from rankdev._common.view import View
from rankdev.display.cells import Cell, count, interval, number
from rankdev.display.layout import apart
from rankdev.display.report import Report, Table, best_cells, named_rows, report_by_segment
from rankdev.display.view import declared
from rankdev.errors import counted, listed, printable, some_of
from rankdev.evaluation.coverage import unjudged_share
from rankdev.evaluation.files import provenance_of
from rankdev.evaluation.scores import Scores
from rankdev.statistics.inputs import ALL

if TYPE_CHECKING:  # eval need not load what explains or tests
    from rankdev.evaluation.explain import Explanation, Position
    from rankdev.statistics.gate import Gate
    from rankdev.statistics.paper_table import PaperTable
    from rankdev.statistics.significance import Significance

BAR = 12  # characters of a bar, and of a name in a head


def scores_report(scores: Scores, *, per_query: bool = False) -> Report:
    """Show means (query null in the rows), and with ``per_query`` every value."""
    over = "sum" if scores.sums == scores.measures else "mean"
    notes = [f"{', '.join(scores.sums)}: sum over the queries"] if scores.sums and over == "mean" else []
    notes += [f"{name}: geometric mean over the queries" for name in scores.geometric]
    notes += [f"{name}: lower is better" for name in scores.lower_is_better]
    look: dict[str, Any] = {"notes": notes, "formats": dict.fromkeys(scores.sums, count)}

    def rows() -> pl.DataFrame:
        found = scores.mean().unpivot(index="system", variable_name="measure", value_name="value")
        return found.select("system", pl.lit(None, pl.String).alias("query"), "measure", "value")

    if not per_query:
        best_first = scores if scores.kinds[0].higher_is_better is None else scores.sorted_by(scores.measures[0])
        values = [[None if math.isnan(value) else value for value in column] for column in best_first.means.T.tolist()]
        means = {"system": best_first.systems, **dict(zip(scores.measures, values, strict=True))}
        directed = {kind.label: kind.higher_is_better for kind in scores.kinds if kind.higher_is_better is not None}
        best = best_cells(means, list(directed), lowest=[name for name, higher in directed.items() if not higher])
        parts = [f"{over.capitalize()} over {counted(len(scores.queries), 'query')}", "* best" if best else ""]
        closing = "; ".join(filter(None, [*parts, unjudged_share(scores)]))
        return Report(rows, [Table(means, best=best, **look)], closing=[closing], remarks=scores.remarks)
    every = scores.to_polars()

    def wide() -> pl.DataFrame:
        table = every.pivot("measure", index=["system", "query"], values="value", maintain_order=True)
        return pl.concat([table, scores.mean().select("system", pl.lit(over).alias("query"), *scores.measures)])

    both = pl.concat([every, rows()], how="diagonal")  # weights are of queries
    return Report(both, [Table(wide, **look)], remarks=scores.remarks, provenance=provenance_of(scores))


def score_and_losses(found: Explanation) -> str:
    """State a score, and to what the rest was lost."""
    from rankdev.evaluation.losses import ROUNDING

    causes = {
        "missing items": found.retrieval_loss,
        "items below the cutoff": found.cutoff_loss,
        "the order": found.ordering_loss,
    }
    lost = {cause: number(share) for cause, share in causes.items() if round(share, 4)}
    each = [f"all to {cause}" if len(lost) == 1 else f"{share} to {cause}" for cause, share in lost.items()]
    whole = number(found.ideal_score - found.score)
    of = f" of an ideal {number(found.ideal_score)}" if found.ideal_score < 1 - ROUNDING else ""
    said = f"lost {whole}{of}{', ' if len(each) == 1 else ': '}{listed(each)}" if each else "nothing is lost"
    return f"{found.measure} = {number(found.score)}, {said}"


def explanation_report(found: Explanation, *, query: str = "") -> Report:
    """Show position by position what was gained and lost, what was not returned and what would be the best order."""
    from rankdev.evaluation.explain import DISPLACED

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
    formats: dict[str, Callable[[Any], str | Cell]] = {
        "gained ▇ of ░": lambda position: bars[position],
        "grade": lambda grade: f"{grade:g}",
        "why": lambda why: Cell(why, "" if why == DISPLACED else "bad"),
    }
    return Report(
        rows,
        [Table(frame, formats=formats, left=("gained ▇ of ░",), names=("pos", "item"))],
        opening=[f"{query}{'  ' if query else ''}{score_and_losses(found)}"],
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
    letters = dict(zip(both, "ab", strict=True))
    heads = {name: f"{short} ({letters[name]})" for name, short in apart([a, b], BAR).items()}
    for name, found in both.items():
        blank = len(columns["pos"]) - len(found.positions)
        for part in ("item", "rank", "gained"):
            values = [getattr(entry, part) for entry in found.positions] + [None] * blank
            columns[heads[name] if part == "item" else f"{part} {letters[name]}"] = values
    frame = pl.DataFrame(columns, infer_schema_length=None, strict=False)
    scores = f"{a} (a) {number(one.score)}, {b} (b) {number(other.score)}, a − b {number(one.score - other.score)}"
    return Report(
        named_rows({name: found.to_polars() for name, found in both.items()}, "system"),
        [Table(frame, names=[*heads.values()])],
        opening=[f"{query}  {one.measure}: {scores}"],
        closing=[f"{letters[name]}: {line}" for name, found in both.items() for line in _closing(found)],
        command="explain",
        parameters={"query": query, "systems": [a, b], **one.parameters},
        summary=named_rows({name: found.summary() for name, found in both.items()}, "system"),
        more={"elsewhere": named_rows({name: _elsewhere(found) for name, found in both.items()}, "system")},
    )


def _elsewhere(found: Explanation) -> pl.DataFrame:
    """List the reference items that are not above the cutoff: where they are returned, null where they are not."""
    items = [*found.below_cutoff, *((item, rank, None) for item, rank in found.not_returned)]
    return pl.DataFrame(items, {"item": pl.String, "rank": pl.Int64, "position": pl.Int64}, orient="row")


def _closing(found: Explanation) -> list[str]:
    lines = []
    if found.not_returned:
        lines.append(f"not returned: {some_of([f'{item} (rank {rank})' for item, rank in found.not_returned])}")
    if found.below_cutoff:
        deep = [f"{item} (rank {rank}) at position {position}" for item, rank, position in found.below_cutoff]
        lines.append(f"below the cutoff: {some_of(deep)}")
    if found.ordering_loss > 5e-5:
        lines.append(f"best order of these items ({number(found.best_score)}): {' '.join(found.best_order)}")
    return lines


def _bar(entry: Position, top: float) -> str:
    gained = entry.weight * entry.credit or entry.gained
    length = max(1, round(BAR * max(entry.weight, gained) / top)) if max(entry.weight, gained) > 0 else 0
    full = round(length * entry.credit) if entry.weight else length
    return "▇" * full + "░" * (length - full)


def paper_table_report(found: PaperTable) -> Report:
    """Show a row per system and a column per collection and measure."""
    rows = found.to_polars()
    several = rows["collection"].n_unique() > 1
    systems = rows["system"].unique(maintain_order=True).to_list()
    columns: dict[str, list[object]] = {"system": [found.label(name) for name in systems]}
    groups: dict[str, tuple[str, str]] = {}
    best: set[tuple[int, str]] = set()
    raised: dict[tuple[int, str], str] = {}
    for (collection, measure), part in rows.group_by("collection", "measure", maintain_order=True):
        arrow = " ↓" if measure in found.lower_is_better else ""
        head = f"{found.label(str(measure))}{arrow}"
        name = f"{found.label(str(collection))} {head}" if several else head
        if several:
            groups[name] = (found.label(str(collection)), head)
        columns[name] = _cells(found, part)
        best |= {(i, name) for i, is_best in enumerate(part["best"]) if is_best}
        raised |= {(i, name): marks for i, marks in enumerate(part["marks"]) if marks}
    raised |= {(i, "system"): found.marks[name] for i, name in enumerate(systems) if name in found.marks}
    shown = Table(
        pl.DataFrame(columns),
        best=best,
        raised=raised,
        digits=found.digits,
        names=("system",),
        right=[name for name in columns if name != "system"],
        groups=groups,
        caption=found.caption + (" ↓: lower is better." if found.lower_is_better else ""),
    )
    pairs = {name: one.to_polars() for name, one in found.tests.items()}
    report = declared(found, View([], "table", opening=["{conclusion}"]))
    tables = [] if getattr(found, "problems", ()) else [shown]
    return replace(report, tables=tables, more={"pairs": named_rows(pairs, "collection")} if pairs else {})


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


def significance_report(found: Significance, *, pairs: bool = False) -> Report:
    """Show the tests of all queries, and those of each segment; many systems by their standing, or all ``pairs``."""
    from rankdev.statistics.significance import NAMES

    view = found.view_of(pairs)
    if not found.segments:
        return declared(found, view)
    parts = {name: declared(part, view) for name, part in found.parts.items()}
    whole = report_by_segment(parts)
    conclusion = found.conclusion
    together = found.pairs * len(found.segments)
    corrected = f"Segments: {NAMES[found.correction]} over {together} pairs." if found.correction in NAMES else ""
    closing = [*parts[ALL].closing, *filter(None, [corrected])]
    own = whole.opening[len(parts[ALL].opening) :]
    return replace(whole, opening=[*conclusion.splitlines(), *own], closing=closing, conclusion=conclusion)


def junit_of(found: Gate) -> bytes:
    """Write a test case per measure and segment, as continuous integration reads them."""
    cases = []
    for row in found.to_polars().iter_rows(named=True):
        what = row["measure"] if row["segment"] == ALL else f"{row['measure']}, {row['segment']}"
        name = f'"{escape(f"{found.candidate} against {found.baseline}: {printable(what)}")}"'
        text = escape(printable(row["reason"]))
        inside = {
            "pass": f"<system-out>{text}</system-out>",
            "fail": f"<failure>{text}</failure>",
            "undecided": f"<skipped>{text}</skipped>",
            "refused": f"<error>{escape(printable(found.conclusion))}</error>",
        }[row["verdict"]]
        cases.append(f'<testcase classname="rankdev.gate" name={printable(name)}>{inside}</testcase>')
    verdicts = found.to_polars()["verdict"].to_list()
    kinds = {"failures": "fail", "errors": "refused", "skipped": "undecided"}
    counts = " ".join(f'{name}="{verdicts.count(word)}"' for name, word in kinds.items())
    lines = [f'<testsuite name="rankdev gate" tests="{len(cases)}" {counts}>', *cases, "</testsuite>"]
    return ('<?xml version="1.0" encoding="utf-8"?>\n' + "\n".join(lines) + "\n").encode()


REPORTS: Mapping[str, Callable[..., Report]] = {  # by name, so that the classes need not be loaded
    "Scores": scores_report,
    "Explanation": explanation_report,
    "Significance": significance_report,
    "PaperTable": paper_table_report,
}
