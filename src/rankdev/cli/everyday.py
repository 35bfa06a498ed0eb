"""The everyday commands that do more than call one function: ``eval``, ``compare``, ``explain`` and ``report``."""

from __future__ import annotations

import datetime
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from rankdev.cli import command, given_options, option, refuse_unused
from rankdev.cli.from_function import options_of
from rankdev.cli.inputs import USUAL, Source, by_segment, chosen, matching_runs, segments_option, source
from rankdev.cli.outputs import DRAWN_BRIEF, OUTPUT, PAGE, Output, file_option, reading_progress
from rankdev.cli.terminal import write_notes
from rankdev.data.options import check_one_order
from rankdev.errors import DataError, UsageError, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

TESTS = ("test", "correction", "alpha", "permutations", "seed", "clusters", "replicates")


@command(
    "eval",
    source(required=True, tags=True, like=True, weights=True),
    option("-q", "--per-query", is_flag=True, help="Show each query's values too."),
    option("--losses", is_flag=True, help="Split the loss: retrieval, cutoff, order."),
    segments_option,
    OUTPUT,
    example="rankdev eval places.jsonl nearest.run blended.run -m RDQ@5 -m AP@5",
)
def eval_command(source: Source, per_query: bool, losses: bool, segments: str | None, output: Output) -> None:
    """Score each RUN against REFERENCES, per query and on average.

    REFERENCES: TREC qrels, JSONL with tiers, or a table with rank or grade. RUN: TREC, JSONL, JSON, CSV or Parquet.
    Both may be .gz or .zst; - is standard input. See rankdev help files.
    """
    if losses:
        refuse_unused("per_query", "segments", "like", "weights", beside="losses")
        show_losses(source, output)
        return
    report = by_segment(source.load(), source.segments(segments), lambda part: part, per_query=per_query)[1]
    output.deliver(report)


def show_losses(source: Source, output: Output) -> None:
    """Split what runs lost into its causes."""
    from rankdev.evaluation.losses import losses

    with reading_progress(source.runs) as progress:
        found = losses(source.references, source.systems(), source.one_measure(), **source.read, progress=progress)
    write_notes(found.remarks)
    output.show(found)


@command(
    "compare",
    source(collections=True, tags=True, weights=True),
    option("-q", "--per-query", is_flag=True, help="Show two systems query by query, worst first."),
    option("--pairs", is_flag=True, help="Show all pairs, even of many systems."),
    option("--discriminative-power", is_flag=True, help="Show the p-values of all pairs, by measure."),
    *options_of("rankdev.statistics.significance:significance", "margin", "baselines", *TESTS, "segments"),
    DRAWN_BRIEF,
    example="rankdev compare places.jsonl nearest.run blended.run -m RDQ@5",
)
def compare_command(
    source: Source,
    per_query: bool,
    pairs: bool,
    discriminative_power: bool,
    segments: str | None,
    output: Output,
    **asked: Any,
) -> None:
    """Decide which systems are better: all pairs, or all against baselines.

    Give REFERENCES and RUNs (of two, the first is the baseline), or --scores.
    """
    from rankdev.display.view import report_of
    from rankdev.statistics.significance import significance

    asked["clusters"] = source.clusters(asked["clusters"])
    if source.collections:
        refuse_unused("per_query", "discriminative_power", "segments", "margin", "pairs", beside="collections")
        refuse_unused("test", "permutations", "seed", "replicates", "weights", beside="collections")
        from rankdev.statistics.meta_analysis import meta_analysis

        kept = ("baselines", "correction", "alpha", "clusters")
        output.show(meta_analysis(source.load_collections(), **chosen(**{name: asked[name] for name in kept})))
        return
    scores = source.load()
    if per_query:
        refuse_unused("margin", "baselines", "pairs", "discriminative_power", *TESTS, beside="per_query")
        if len(scores.systems) != 2:
            raise UsageError("not-a-pair", count=len(scores.systems), systems=scores.systems[:8])
        output.show(*by_segment(scores, source.segments(segments), lambda part: part.differences()))
        return
    asked["replicates"] = repeated = matching_runs(asked["replicates"], scores.systems)
    if discriminative_power:
        refuse_unused("margin", "baselines", "pairs", "segments", beside="discriminative_power")
        sakai = {"test": "randomization", "correction": "none"}
        asked |= {name: value for name, value in sakai.items() if not any(given_options(name))}
    if asked["test"] == "t":
        refuse_unused("permutations", needs="test='randomization'")
    found = significance(scores, **chosen(**asked), segments=source.segments(segments))
    if discriminative_power:
        output.show(found.discriminative_power())
        return
    one_pair = len(scores.systems) == 2 and len(scores.measures) == 1 and not repeated
    output.show(found, report_of(found, pairs=pairs), scores.differences() if one_pair else found)


@command(
    "explain",
    source(required=True, empty=False),
    option("--query", required=True, help="The query to explain."),
    OUTPUT,
    example="rankdev explain places.jsonl nearest.run blended.run --query museums -m RDQ@5",
)
def explain_command(source: Source, query: str, output: Output) -> None:
    """Show what a run gained and lost at each position for one query, and why; two runs side by side.

    The measure is RDQ, nDCG, AP, RBP, P, RR or similar, with a cutoff.
    """
    from rankdev.data.files import load_references, load_runs
    from rankdev.display.special import explanations_report
    from rankdev.display.view import report_of
    from rankdev.evaluation.explain import explain

    check_one_order(source.read.get("ties"), "an explanation")
    systems = source.systems()
    if len(systems) > 2:
        raise UsageError("too-large", name="runs", high=2, value=len(systems))
    known = load_references(source.references, **source.read)
    if query not in known:
        raise DataError("unknown-query", path=source.references, query=query, near=nearest(query, known))
    measure = source.one_measure()
    runs = load_runs(systems, **source.read)
    found = {name: explain(known[query], run.get(query, []), measure=measure) for name, run in runs.items()}
    single = report_of(next(iter(found.values())), query=query)
    output.deliver(single if len(found) == 1 else explanations_report(found, query))


REPORT = "rankdev.html_report.page:report"


@command(
    "report",
    source(required=True, tags=True),
    file_option("-o", "--output", check=PAGE, default="report.html", show_default=True, help="Write the page here."),
    option("--query-texts", metavar="FILE", type=click.Path(), help="A table with query and text."),
    option("--item-texts", metavar="FILE", type=click.Path(), help="A table with item and text."),
    option("--dataset", metavar="NAME", help="Take other texts from this ir_datasets data set."),
    option("--title", default="", help="Title of the page."),
    option("--judgments", metavar="FILE", type=click.Path(), help="Judgments behind REFERENCES: shows uncertainty."),
    *options_of(REPORT, "margin", "alpha", "segments", "clusters", "replicates", "seed"),
    example="rankdev report places.jsonl nearest.run popular.run blended.run -m RDQ@5 -m AP@5 -o report.html",
)
def report_command(
    source: Source,
    output: str,
    query_texts: str | None,
    item_texts: str | None,
    dataset: str | None,
    segments: str | None,
    clusters: str | None,
    replicates: tuple[str, ...],
    **options: Any,
) -> None:
    """Compare the RUNs on one HTML page, a file that needs no network. It opens with what is decided, and
    with checks of the data.
    """
    from rankdev.data.files import load_references
    from rankdev.data.texts import DatasetTexts, read_texts
    from rankdev.display.layout import paragraph
    from rankdev.display.report import screen_width
    from rankdev.html_report.page import report

    systems = source.systems()
    known = load_references(source.references, **source.read)
    texts = None if dataset is None else DatasetTexts(dataset)

    def items(wanted: set[str]) -> Mapping[str, str]:
        given = {} if item_texts is None else read_texts(item_texts, "item", wanted)
        return given if texts is None else {**texts.of_items(wanted - set(given)), **given}

    asked = set(known)
    of_queries = {} if query_texts is None else read_texts(query_texts, "query", asked)
    if texts is not None and asked - set(of_queries):
        of_queries = {**texts.of_queries(asked), **of_queries}

    with reading_progress(source.runs) as progress:
        page = report(
            known,
            systems,
            source.measures or USUAL,
            segments=source.segments(segments),
            clusters=source.clusters(clusters),
            replicates=matching_runs(replicates, list(systems)),
            query_texts=of_queries,
            item_texts=items,
            date=datetime.date.today().isoformat(),
            command=_as_called(click.get_current_context()),
            progress=progress,
            **options,
            **source.read,
        )
    page.save(output)
    if output != "-":
        click.echo("\n".join(paragraph(f"{output}: {page.title}. {page.verdict}", screen_width(sys.stdout))))


def _as_called(ctx: click.Context) -> str:
    """Return the command as it was called, without the folders of files: whoever reads the page may be anyone."""
    words = ["rankdev", "report"]
    for parameter in ctx.command.params:
        if ctx.get_parameter_source(parameter.name or "") != ParameterSource.COMMANDLINE:
            continue
        value = ctx.params.get(parameter.name or "", ctx.meta.get(f"rankdev.{parameter.name}"))
        values = value if isinstance(value, tuple) else (value,)
        if isinstance(parameter.type, click.Path) or parameter.name in ("output", "import"):
            values = tuple(Path(entry).name for entry in values)
        for entry in values:
            flag = [] if isinstance(parameter, click.Argument) else [parameter.opts[0]]
            words += [*flag, *([] if entry is True else [str(entry)])]
    return shlex.join(words)
