"""The everyday commands that do more than call one function: ``eval``, ``compare``, ``explain`` and ``report``."""

from __future__ import annotations

import datetime
import re
import shlex
from functools import partial
from typing import Any

import click

import rankdev as rd
from rankdev.cli import CALLED, command, option, refuse_unused
from rankdev.cli.from_function import FILE, OWN, options_of
from rankdev.cli.inputs import USUAL, Input, by_segment, chosen, source
from rankdev.cli.outputs import DRAWN_BRIEF, OUTPUT, PAGE, Output, file_option, reading_progress
from rankdev.cli.terminal import write_notes, write_summary
from rankdev.data.options import check_one_order
from rankdev.errors import DataError, UsageError, nearest

TESTS = ("test", "correction", "alpha", "permutations", "seed", "clusters", "replicates")


@command(
    "eval",
    source("by_tag", "empty", "like", "weights"),
    option("-q", "--per-query", is_flag=True, help="Show each query's values too."),
    option("--losses", is_flag=True, help="Split the loss: retrieval, cutoff, order."),
    OWN["segments"],
    OUTPUT,
    example="rankdev eval places.jsonl nearest.run blended.run -m RDQ@5 -m AP@5",
)
def eval_command(source: Input, per_query: bool, losses: bool, segments: str | None, output: Output) -> None:
    """Score each RUN against REFERENCES, per query and on average.

    REFERENCES: TREC qrels, JSONL with tiers, or a table with rank or grade. RUN: TREC, JSONL, JSON, CSV or Parquet.
    Both may be .gz or .zst; - is standard input. See rankdev help files.
    """
    if not losses:
        of_segments = source.design({"segments": segments})["segments"]
        output.deliver(by_segment(source.load(), of_segments, lambda part: part, per_query=per_query)[1])
        return
    refuse_unused("per_query", "segments", "like", "weights", beside="losses")
    with reading_progress(source.runs) as progress:
        found = rd.losses(source.references, source.systems(), source.one_measure(), **source.read, progress=progress)
    write_notes(found.remarks)
    output.show(found)


@command(
    "compare",
    source("scores", "collections", "by_tag", "empty", "weights"),
    option("-q", "--per-query", is_flag=True, help="Show two systems query by query, worst first."),
    option("--pairs", is_flag=True, help="Show all pairs, even of many systems."),
    *options_of("rankdev.statistics.significance:significance", "margin", "baselines", *TESTS, "segments"),
    DRAWN_BRIEF,
    example="rankdev compare places.jsonl nearest.run blended.run -m RDQ@5",
)
def compare_command(source: Input, per_query: bool, pairs: bool, output: Output, **given: Any) -> None:
    """Decide which systems are better: all pairs, or all against baselines.

    Give REFERENCES and RUNs (of two, the first is the baseline), or --scores.
    """
    if source.collections:
        refuse_unused("per_query", "segments", "margin", "pairs", beside="collections")
        refuse_unused("test", "permutations", "seed", "replicates", "weights", beside="collections")

        asked = source.design({name: given[name] for name in ("baselines", "correction", "alpha", "clusters")})
        output.show(rd.meta_analysis(source.load_collections(), **chosen(**asked)))
        return
    scores = source.load()
    asked = chosen(**source.design(given, scores.systems))
    if per_query:
        refuse_unused("margin", "baselines", "pairs", *TESTS, beside="per_query")
        if len(scores.systems) != 2:
            raise UsageError("not-a-pair", count=len(scores.systems), systems=scores.systems[:8])
        output.show(*by_segment(scores, asked.get("segments"), lambda part: part.differences()))
        return
    if given["test"] == "t":
        refuse_unused("permutations", needs="test='randomization'")
    found = rd.significance(scores, **asked)
    one_pair = len(scores.systems) == 2 and len(scores.measures) == 1 and "replicates" not in asked
    output.show(found, drawn=scores.differences() if one_pair else found, pairs=pairs)


@command(
    "explain",
    source(),
    option("--query", required=True, help="The query to explain."),
    OUTPUT,
    example="rankdev explain places.jsonl nearest.run blended.run --query museums -m RDQ@5",
)
def explain_command(source: Input, query: str, output: Output) -> None:
    """Show what a run gained and lost at each position for one query, and why; two runs side by side.

    The measure is RDQ, nDCG, AP, RBP, P, RR or similar, with a cutoff.
    """
    from rankdev.data.files import load_references, load_runs
    from rankdev.display.special import explanations_report

    check_one_order(source.read.get("ties"), "an explanation")
    systems = source.systems()
    if len(systems) > 2:
        raise UsageError("too-large", name="runs", high=2, value=len(systems))
    known = load_references(source.references, **source.read)
    if query not in known:
        raise DataError("unknown-query", path=source.references, query=query, near=nearest(query, known))
    measure = source.one_measure()
    runs = load_runs(systems, **source.read)
    found = {name: rd.explain(known[query], run.get(query, []), measure=measure) for name, run in runs.items()}
    output.show(found[next(iter(found))], None if len(found) == 1 else explanations_report(found, query), query=query)


REPORT = "rankdev.html_report.page:report"


@command(
    "report",
    source("by_tag", "empty", "weights"),
    file_option("-o", "--output", check=PAGE, default="report.html", show_default=True, help="Write the page here."),
    option("--query-texts", help="A table with query and text.", **FILE),
    option("--item-texts", help="A table with item and text.", **FILE),
    option("--title", default="", help="Title of the page."),
    option("--judgments", help="Judgments behind REFERENCES: shows uncertainty.", **FILE),
    *options_of(REPORT, "margin", "alpha", "segments", "clusters", "replicates", "seed"),
    example="rankdev report places.jsonl nearest.run popular.run blended.run -m RDQ@5 -m AP@5 -o report.html",
)
def report_command(source: Input, output: str, query_texts: str | None, item_texts: str | None, **given: Any) -> None:
    """Compare the RUNs on one HTML page, a file that needs no network. It opens with what is decided, and
    with checks of the data.
    """
    from rankdev.data.files import load_references
    from rankdev.data.texts import read_texts

    systems = source.systems()
    known = load_references(source.references, **source.reading)
    with reading_progress(source.runs) as progress:
        page = rd.report(
            known,
            systems,
            source.measures or USUAL,
            weights=source.weights_of_queries(),
            query_texts=None if query_texts is None else read_texts(query_texts, "query", known.keys()),
            item_texts=None if item_texts is None else partial(read_texts, item_texts, "item"),
            date=datetime.date.today().isoformat(),
            command=_as_called(click.get_current_context()),
            progress=progress,
            **source.design(given, list(systems)),
            **source.read,
        )
    page.save(output)
    if output != "-":
        write_summary(f"{page.title}. {page.verdict}", output)


def _as_called(ctx: click.Context) -> str:
    """Return the command as it was called, without the folders of files: whoever reads the page may be anyone."""
    return shlex.join(word if word == ctx.params["title"] else re.sub("[^=]*/", "", word) for word in ctx.meta[CALLED])
