"""rankdev refs: references from grades, lists, rankings and preferences; which pairs to judge next."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from rankdev.cli.options import names_and_values, seed_option
from rankdev.cli.outputs import deliver, encoded_table, file_option, output_options, safe_csv_option, table_option
from rankdev.cli.terminal import notes, say
from rankdev.errors import UsageError, counted
from rankdev.preferences.active_selection import STRATEGIES
from rankdev.preferences.rank_aggregation import METHODS as MERGING
from rankdev.preferences.rank_aggregation import UNRANKED
from rankdev.preferences.rules import RULES
from rankdev.preferences.strengths import DISCONNECTED, METHODS, POSITION, TIE_MODELS

if TYPE_CHECKING:
    from rankdev.core.references import References
    from rankdev.preferences import Preferences


@click.group(
    "refs",
    short_help="Build references from grades, lists or preferences.",
    epilog="Example: rankdev refs grades qrels.txt -o refs.jsonl",
)
def refs_command() -> None:
    """Build ordered references, and write them in the format that the output's name asks for."""


def _check_output(path: str) -> None:
    from rankdev.io.tables import check_trec_name

    check_trec_name(path)


output_option = file_option(
    "-o", "--output", default="-", check=_check_output, help="Default: JSONL on standard output."
)


def write(references: References, output: str) -> None:
    """Write references, and say how many there are."""
    write_files(references, output)
    tiers = counted(int(references.tier_counts.sum()), "tier")
    empty = references.empty
    remark = f"; {counted(empty, 'query', 'has')} no reference item" if empty else ""
    say(f"{counted(len(references), 'query')}, {counted(len(references.ranks), 'item')} in {tiers}{remark}")


def write_files(references: References, output: str, tables: Mapping[str, Any] = MappingProxyType({})) -> None:
    """Write references, and tables by file name beside them; no file appears unless all can be written."""
    from rankdev.io.references import encode_references
    from rankdev.io.writing import writing

    contents = [(output, encode_references(references, output))]
    contents += [(path, encoded_table(frame, path)) for path, frame in tables.items()]
    with ExitStack() as stack:
        streams = [stack.enter_context(writing(path)) for path, _ in contents]
        for stream, (_, content) in zip(streams, contents, strict=True):
            stream.write(content)


@refs_command.command("grades", epilog="Example: rankdev refs grades qrels.txt -o refs.jsonl")
@click.argument("source", metavar="INPUT", type=click.Path())
@output_option
def grades_command(source: str, output: str) -> None:
    """Make one tier per distinct positive grade.

    INPUT: TREC qrels, a table with the columns query, item, grade, or JSON {query: {item: grade}}.
    """
    from rankdev.io import read_grades

    write(read_grades(source), output)


@refs_command.command("lists", epilog="Example: rankdev refs lists blended.run -o refs.jsonl")
@click.argument("source", metavar="INPUT", type=click.Path())
@output_option
def lists_command(source: str, output: str) -> None:
    """Take strict orders, best item first.

    INPUT: JSON {query: [item, ...]}, JSONL with query and items (or tiers), or any run, whose order is taken.
    """
    from rankdev.io import read_lists

    write(read_lists(source), output)


@refs_command.command("merge", epilog="Example: rankdev refs merge nearest.run blended.run -o refs.jsonl")
@click.argument("sources", metavar="RANKINGS...", nargs=-1, required=True, type=click.Path())
@output_option
@click.option(
    "--method",
    type=click.Choice(MERGING),
    default="kemeny",
    show_default=True,
    help="Fewest contradictions, mean share of items beaten, or likeliest strengths.",
)
@click.option(
    "--unranked",
    type=click.Choice(UNRANKED),
    default="unknown",
    show_default=True,
    help="What a ranking says about items it does not hold.",
)
def merge_command(sources: tuple[str, ...], output: str, method: str, unranked: str) -> None:
    """Merge several rankings of the same items into one order.

    RANKINGS: one file per judge or system, each as for 'refs lists'.
    """
    from rankdev.io import read_lists
    from rankdev.preferences import merge_rankings

    found = merge_rankings([read_lists(source) for source in sources], method, unranked=unranked)
    notes(found.remarks)
    write(found.references, output)


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --columns and --values, which say what the columns of a file of judgments mean."""
    values = click.option(
        "--values",
        callback=_values,
        metavar="READING",
        help="What outcomes are: items, position, graded, graded-first, probability, or 0=first,1=tie,2=second.",
    )
    columns = click.option(
        "--columns",
        callback=_columns,
        multiple=True,
        metavar="PART=NAME,...",
        help="Which column is what, where the names do not say: query=topic,item_a=x,item_b=y,winner=said,worker=who.",
    )
    return columns(values(command))


def read_judgments(source: str, columns: Any, values: Any) -> Preferences:
    """Read judgments, and say what was made of them."""
    from rankdev.io.preferences import read_preferences

    judged = read_preferences(source, columns=columns, values=values)
    notes(judged.remarks)
    return judged


def _columns(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> dict[str, str | None] | None:
    named = names_and_values(",".join(texts), "--columns", may_be_empty=True)
    return {role: name or None for role, name in named.items()} or None


def _values(ctx: click.Context, param: click.Parameter, text: str | None) -> str | dict[str, str | float] | None:
    if text is None or "=" not in text:
        return text
    return {word: _number(meant) for word, meant in names_and_values(text, "--values").items()}


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
@output_option
@click.option(
    "--method",
    type=click.Choice(METHODS),
    default="bradley-terry",
    show_default=True,
    help="How strengths are estimated; crowd-bt also rates the workers, consistent takes judges at their word.",
)
@click.option("--ridge", default=0.1, show_default=True, help="How strongly strengths are pulled towards each other.")
@click.option(
    "--position",
    type=click.Choice(POSITION),
    default="ignore",
    show_default=True,
    help="Whether to correct for the order of presentation (bradley-terry).",
)
@click.option(
    "--tie-model",
    type=click.Choice(TIE_MODELS),
    default="auto",
    show_default=True,
    help="By Davidson's model (auto, where the method knows it) or as half a win each.",
)
@click.option(
    "--disconnected",
    type=click.Choice(DISCONNECTED),
    default="error",
    show_default=True,
    help="Groups that no comparison connects: refuse, one reference each, or the largest alone.",
)
@click.option("--alpha", default=0.05, show_default=True, help="Level at which two items count as separated.")
@click.option(
    "--rule",
    type=click.Choice(list(RULES)),
    default="auto",
    show_default=True,
    help="What makes a tier: the evidence (auto), every difference (strict), or tests (partition, leader).",
)
@click.option("--max-depth", type=int, help="Join everything below this many tiers.")
@click.option("--resamples", default=200, show_default=True, help="Bootstrap samples behind rank-centrality.")
@safe_csv_option
@table_option("--strengths", "strengths_file", help="Also write each item's strength and interval here.")
@table_option("--workers", "workers_file", help="Write each worker's quality here (crowd-bt).")
@seed_option
def preferences_command(
    source: str,
    columns: Any,
    values: Any,
    output: str,
    strengths_file: str | None,
    workers_file: str | None,
    method: str,
    **options: Any,
) -> None:
    """Turn pairwise judgments into references whose ties are what the judgments do not separate.

    PREFS: CSV, JSON, JSONL or Parquet with query, winner, loser, or query, two items and an outcome, and optionally
    worker and tie; or lines 'topic a b winner'.
    """
    from rankdev.core.references import References
    from rankdev.preferences import tiers_from_preferences

    if workers_file is not None and method != "crowd-bt":
        raise UsageError("--workers needs --method crowd-bt, which judges the workers too")
    found = tiers_from_preferences(read_judgments(source, columns, values), method, **options)
    tables = {}
    if strengths_file is not None:
        tables[strengths_file] = found.to_polars()
    if workers_file is not None and found.strengths.workers is not None:
        tables[workers_file] = found.strengths.workers.to_polars()
    write_files(References.from_tiers(found.tiers), output, tables)
    click.echo(found.undecided(), err=True)


@refs_command.command("next", epilog="Example: rankdev refs next judgments.csv --budget 5")
@click.argument("source", metavar="PREFS", type=click.Path())
@reading_options
@click.option("--budget", type=int, required=True, help="How many pairs to ask.")
@click.option(
    "--strategy",
    type=click.Choice([name for name in STRATEGIES if name != "decide"]),
    default="information",
    show_default=True,
)
@click.option("--top", type=int, default=5, show_default=True, help="Places that count for top-heavy.")
@click.option("--grades", "grades_file", metavar="FILE", help="Grades for grade-prior: TREC qrels or a table.")
@seed_option
@output_options
def next_command(
    source: str,
    columns: Any,
    values: Any,
    budget: int,
    strategy: str,
    top: int,
    grades_file: str | None,
    seed: int,
    form: str | None,
    output: str | None,
) -> None:
    """Name the pairs whose answers should be most informative."""
    from rankdev.display.dispatch import report_of
    from rankdev.io import read_grades
    from rankdev.preferences import next_pairs

    graded = None if grades_file is None else {q: r.grades or {} for q, r in read_grades(grades_file).items()}
    judged = read_judgments(source, columns, values)
    chosen = next_pairs(judged, budget, strategy, grades=graded, top=top, seed=seed)
    deliver(report_of(chosen), form, output)


@refs_command.command(
    "agreement",
    short_help="Say how far judges agree.",
    epilog="Example: rankdev refs agreement judgments.csv --resamples 50",
)
@click.argument("source", metavar="PREFS", type=click.Path())
@reading_options
@table_option("--workers", "workers_file", help="Also write what is known of each worker here.")
@click.option("--resamples", default=1000, show_default=True, help="Bootstrap samples behind the interval of α.")
@seed_option
@output_options
def agreement_command(
    source: str,
    columns: Any,
    values: Any,
    workers_file: str | None,
    resamples: int,
    seed: int,
    form: str | None,
    output: str | None,
) -> None:
    """Say how far judges agree, are consistent, fit one order, and follow the order of presentation.

    PREFS: as for 'refs preferences'.
    """
    from rankdev.display.dispatch import report_of
    from rankdev.io.writing import writing
    from rankdev.preferences import judge_agreement

    judged = read_judgments(source, columns, values)
    if workers_file is not None and judged.worker is None:
        raise UsageError("--workers needs judgments that say who judged; there is no worker column")
    found = judge_agreement(judged, resamples=resamples, seed=seed)
    if workers_file is not None:
        content = encoded_table(found.workers, workers_file)
        with writing(workers_file) as stream:
            stream.write(content)
    deliver(report_of(found), form, output)
