"""The commands of ``refs``: references from grades, lists, rankings and judgments, and how far assessors agree."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from rankdev.cli.help import Group, RegisteredChoice
from rankdev.cli.options import (
    measure_option,
    named_runs,
    names_and_values,
    ranks_option,
    read_options,
    refuse_unused,
    seed_option,
    table_options,
)
from rankdev.cli.outputs import (
    deliver,
    encoded_table,
    output_options,
    references_option,
    safe_csv_option,
    table_option,
    write_references,
)
from rankdev.cli.terminal import for_command, write_line, write_notes
from rankdev.errors import UsageError, counted

if TYPE_CHECKING:
    from rankdev.data.references import References
    from rankdev.judging.model_check import ModelCheck
    from rankdev.preferences import Preferences


@click.group(
    "refs",
    cls=Group,
    epilog="Example: rankdev refs grades qrels.txt -o refs.jsonl",
)
def refs_command() -> None:
    """Build references; the extension of the output file determines the format."""


def write(references: References, output: str) -> None:
    """Write references, and note how many there are."""
    write_references(references, output)
    tiers = counted(int(references.tier_counts.sum()), "tier")
    empty = references.empty
    note = f"; {counted(empty, 'query', 'has')} no reference item" if empty else ""
    write_line(f"{counted(len(references), 'query')}, {counted(len(references.ranks), 'item')} in {tiers}{note}")


@refs_command.command("grades", epilog="Example: rankdev refs grades qrels.txt -o refs.jsonl")
@click.argument("source", metavar="INPUT", type=click.Path())
@references_option
@table_options
@ranks_option
def grades_command(source: str, output: str) -> None:
    """Make one tier per distinct positive grade.

    INPUT: TREC qrels, a table with the columns query, item, grade, JSON {query: {item: grade}}, or the database of
    rankdev judge --grades.
    """
    from rankdev.data.files import read_grades

    write(read_grades(source, **read_options()), output)


@refs_command.command("lists", epilog="Example: rankdev refs lists blended.run -o refs.jsonl")
@click.argument("source", metavar="INPUT", type=click.Path())
@references_option
@table_options
@ranks_option
def lists_command(source: str, output: str) -> None:
    """Take strict orders, best item first.

    INPUT: JSON {query: [item, ...]}, JSONL with query and items (or tiers), or any run.
    """
    from rankdev.data.files import read_lists

    write(read_lists(source, **read_options()), output)


@refs_command.command("merge", epilog="Example: rankdev refs merge nearest.run blended.run -o refs.jsonl")
@click.argument("sources", metavar="RANKINGS...", nargs=-1, required=True, type=click.Path())
@references_option
@click.option(
    "--unranked",
    type=RegisteredChoice("rankdev.preferences.rankings:UNRANKED"),
    default="unknown",
    show_default=True,
    help="Items missing from a ranking: unknown or last.",
)
@table_options
@ranks_option
def merge_command(sources: tuple[str, ...], output: str, unranked: str) -> None:
    """Merge several rankings by the fraction of items that each item beats (Borda).

    RANKINGS: one file per judge or system, each as for 'refs lists'.
    """
    from rankdev.data.files import read_lists
    from rankdev.preferences import merge_rankings

    found = merge_rankings([read_lists(source, **read_options()) for source in sources], unranked=unranked)
    write(found.references, output)


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --columns and --values, which define what the columns of a file of judgments mean."""
    values = click.option(
        "--values",
        callback=_values,
        metavar="READING",
        help="Outcomes: position, graded, 0=first,1=tie,...",
    )
    columns = click.option(
        "--columns",
        callback=_columns,
        multiple=True,
        metavar="PART=NAME",
        help="Column names: query=topic,item_a=x,item_b=y,...",
    )
    return columns(values(command))


def read_judgments(source: str, columns: Any, values: Any, items: Any = None) -> Preferences:
    """Read judgments, and note how they were read."""
    from rankdev.preferences.files import read_preferences

    judged = read_preferences(source, columns=columns, values=values, items=items)
    write_notes(judged.remarks)
    return judged


def _columns(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> dict[str, str | None] | None:
    named = names_and_values(",".join(texts), "--columns", may_be_empty=True)
    return {role: name or None for role, name in named.items()} or None


def _values(ctx: click.Context, param: click.Parameter, text: str | None) -> str | dict[str, str | float] | None:
    if text is None or "=" not in text:
        return text
    return {word: _number(meaning) for word, meaning in names_and_values(text, "--values").items()}


def _number(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


@refs_command.command(
    "preferences",
    short_help="Turn pairwise judgments into references.",
    epilog="Example: rankdev refs preferences judgments.csv -o refs.jsonl",
)
@click.argument("source", metavar="PREFS", type=click.Path())
@reading_options
@click.option("--items", metavar="POOL", help="Items to be judged; lists those without judgments.")
@references_option
@click.option(
    "--method",
    type=RegisteredChoice("rankdev.preferences.strengths:METHODS"),
    default="bradley-terry",
    help="bradley-terry (default), crowd-bt, rank-centrality.",
)
@click.option("--ridge", default=0.1, show_default=True, help="Penalty on strengths.")
@click.option(
    "--position",
    type=RegisteredChoice("rankdev.preferences.strengths:POSITION"),
    default="ignore",
    help="Position bias: ignore (default) or correct.",
)
@click.option(
    "--tie-model",
    type=RegisteredChoice("rankdev.preferences.strengths:TIE_MODELS"),
    default="auto",
    help="davidson, half a win each, or auto (default).",
)
@click.option(
    "--disconnected",
    type=RegisteredChoice("rankdev.preferences.strengths:DISCONNECTED"),
    default="largest",
    help="Unconnected groups: largest (default), split, error.",
)
@click.option(
    "--rule",
    type=RegisteredChoice("rankdev.preferences.tiers:RULES"),
    default="probability",
    help="probability (default), or strict: trust each answer.",
)
@click.option("--probability", default=0.8, show_default=True, help="Probability that separates two tiers.")
@safe_csv_option
@table_option("--strengths", "strengths_file", help="Also write strengths and intervals here.")
@table_option("--workers", "workers_file", help="Also write each worker's quality here (crowd-bt).")
def preferences_command(
    source: str,
    columns: Any,
    values: Any,
    items: str | None,
    output: str,
    strengths_file: str | None,
    workers_file: str | None,
    method: str,
    **options: Any,
) -> None:
    """Turn pairwise judgments into references.

    Neighbours in the order of strengths share a rank unless one is better with a probability of at least --probability.
    If judgments are more likely coin flips than an order, all items of their query are tied.

    PREFS: a table with query, winner, loser, or query, two items and an outcome, and optionally worker and tie; or
    lines 'topic a b winner'.
    """
    from rankdev.data.references import References
    from rankdev.display.layout import paragraph
    from rankdev.display.report import screen_width
    from rankdev.judging.items import read_items
    from rankdev.preferences import tiers_from_preferences

    if workers_file is not None and method != "crowd-bt":
        raise UsageError("not-needed", name="workers_file", use="method='crowd-bt'")
    pool = None if items is None else read_items(items).pool.items
    found = tiers_from_preferences(read_judgments(source, columns, values, pool), method, **options)
    tables = {}
    if strengths_file is not None:
        tables[strengths_file] = found.to_polars()
    if workers_file is not None and found.strengths.workers is not None:
        tables[workers_file] = found.strengths.workers.to_polars()
    write_references(References.from_tiers(found.tiers), output, tables)
    command, width = click.get_current_context().command, screen_width(sys.stderr)
    notes = [note for note in found.remarks if strengths_file is not None or getattr(note, "kind", "") != "few-workers"]
    for text in (found.conclusion, *(for_command(note, command) for note in notes)):
        click.echo("\n".join(paragraph(text, width)), err=True)


@refs_command.command(
    "agreement",
    short_help="Measure how far assessors agree.",
    epilog="Example: rankdev refs agreement judgments.csv --resamples 50",
)
@click.argument("source", metavar="PREFS", type=click.Path())
@reading_options
@table_option("--workers", "workers_file", help="Also write a row per worker here.")
@click.option("--resamples", default=1000, show_default=True, help="Bootstrap samples.")
@click.option("--model", metavar="NAME", help="Compare people with this worker, a model.")
@click.option("--leave-out", metavar="NAME", multiple=True, help="With --model: exclude this worker too; repeat.")
@click.option("--run", "runs", metavar="FILE", multiple=True, help="With --model: a run to score; repeat.")
@measure_option(())
@seed_option
@output_options
def agreement_command(
    source: str,
    columns: Any,
    values: Any,
    workers_file: str | None,
    resamples: int,
    model: str | None,
    leave_out: tuple[str, ...],
    runs: tuple[str, ...],
    measures: tuple[str, ...],
    seed: int,
    form: str | None,
    output: str | None,
) -> None:
    """Measure how far assessors agree, contradict themselves, fit one order, and show position bias.

    PREFS: as for 'refs preferences'. With --model, how far a model can be trusted: its agreement with people on the
    pairs that both judged; with --run, scores by people's judgments, estimated from both.
    """
    from rankdev.data.write import writing
    from rankdev.display.dispatch import report_of
    from rankdev.preferences import judge_agreement

    if model is not None:
        refuse_unused("workers_file", "resamples", "seed", beside="model")
        found_model = _checked(source, columns, values, model, leave_out=leave_out, runs=runs, measures=measures)
        deliver(report_of(found_model), form, output)
        return
    refuse_unused("leave_out", "runs", "measures", needs="model")
    judged = read_judgments(source, columns, values)
    if workers_file is not None and judged.worker is None:
        raise UsageError("not-needed", name="workers_file", use="judgments with a worker column")
    found = judge_agreement(judged, resamples=resamples, seed=seed)
    if workers_file is not None:
        content = encoded_table(found.workers, workers_file)
        with writing(workers_file) as stream:
            stream.write(content)
    deliver(report_of(found), form, output)


def _checked(
    source: str,
    columns: Any,
    values: Any,
    model: str,
    *,
    leave_out: tuple[str, ...],
    runs: tuple[str, ...],
    measures: tuple[str, ...],
) -> ModelCheck:
    """Compare a model with people; a database is read by itself, since it knows skipped pairs too."""
    from rankdev.data.database import is_database
    from rankdev.judging.model_check import check_model

    if bool(runs) != bool(measures) or len(runs) == 1:
        raise UsageError("needs-runs")
    described = columns is not None or values is not None
    judged = source if is_database(source) and not described else read_judgments(source, columns, values)
    scored = named_runs(source, runs, ()) if runs else None
    return check_model(judged, model, leave_out=leave_out, runs=scored, measures=list(measures) or None)
