"""rankdev refs: build references."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from rankdev.cli.options import deliver, file_option, for_spreadsheets, output_options, safe_csv_option, table_option
from rankdev.cli.score_source import seed_option
from rankdev.cli.terminal import say
from rankdev.errors import UsageError
from rankdev.preferences.rules import RULES
from rankdev.preferences.selection import STRATEGIES
from rankdev.preferences.strengths import DISCONNECTED, METHODS, TIES

if TYPE_CHECKING:
    from rankdev.preferences import Preferences
    from rankdev.references.references import References

output_option = file_option("-o", "--output", default="-", help="Default: JSONL on standard output.")


def _pairs(text: str, option: str) -> dict[str, str]:
    entries = [entry.partition("=") for entry in text.split(",")]
    if not all(name and mark for name, mark, _ in entries):
        raise UsageError(f"{option} {text}: expected NAME=VALUE, separated by commas")
    return {name.strip(): value.strip() for name, _, value in entries}


def _columns(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> dict[str, str | None] | None:
    named = {role: name or None for text in texts for role, name in _pairs(text, "--columns").items()}
    return named or None


def _values(ctx: click.Context, param: click.Parameter, text: str | None) -> str | dict[str, str | float] | None:
    if text is None or "=" not in text:
        return text
    return {word: _number(meant) for word, meant in _pairs(text, "--values").items()}


def _number(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


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
        help="Which column is what, where the names don't tell: query=topic,item_a=x,item_b=y,winner=said,worker=who.",
    )
    return columns(values(command))


def _read_preferences(source: str, columns: Any, values: Any) -> Preferences:
    from rankdev.formats.preferences import read_preferences

    judged = read_preferences(source, columns=columns, values=values)
    for line in judged.remarks:
        click.echo(f"rankdev: note: {line}", err=True)
    return judged


@click.group("refs", short_help="Build references from grades, lists or preferences.")
def command() -> None:
    """Build ordered references, and write them in the format that the output's name asks for."""


@command.command(epilog="Example: rankdev refs grades qrels.txt -o refs.jsonl")
@click.argument("source", metavar="INPUT", type=click.Path())
@output_option
def grades(source: str, output: str) -> None:
    """Make one tier of each distinct positive grade.

    INPUT: TREC qrels, a table with the columns query, item, grade, or JSON {query: {item: grade}}.
    """
    from rankdev.formats import read_grades

    _write(read_grades(source), output)


@command.command(epilog="Example: rankdev refs lists blended.run -o refs.jsonl")
@click.argument("source", metavar="INPUT", type=click.Path())
@output_option
def lists(source: str, output: str) -> None:
    """Take strict orders, best item first.

    INPUT: JSON {query: [item, ...]}, JSONL with query and items (or tiers), or any run, whose order is taken.
    """
    from rankdev.formats import read_lists

    _write(read_lists(source), output)


@command.command(epilog="Example: rankdev refs merge nearest.run blended.run -o refs.jsonl")
@click.argument("sources", metavar="RANKINGS...", nargs=-1, required=True, type=click.Path())
@output_option
@click.option(
    "--method",
    type=click.Choice(["kemeny", "borda", "plackett-luce"]),
    default="kemeny",
    show_default=True,
    help="Fewest contradictions, mean share of items beaten, or likeliest strengths.",
)
@click.option(
    "--unranked",
    type=click.Choice(["unknown", "last"]),
    default="unknown",
    show_default=True,
    help="What a ranking says of items that it does not name.",
)
def merge(sources: tuple[str, ...], output: str, method: str, unranked: str) -> None:
    """Merge several rankings of the same items into one order.

    RANKINGS: one file per judge or system, each as for 'refs lists'.
    """
    from rankdev.formats import read_lists
    from rankdev.preferences import merge_rankings

    found = merge_rankings([read_lists(source) for source in sources], method, unranked=unranked)
    for line in found.remarks:
        click.echo(f"rankdev: note: {line}", err=True)
    _write(found.references, output)


@command.command(epilog="Example: rankdev refs preferences judgments.csv -o refs.jsonl")
@click.argument("source", metavar="PREFS", type=click.Path())
@reading_options
@output_option
@click.option(
    "--method",
    type=click.Choice(METHODS),
    default="bradley-terry",
    show_default=True,
    help="How strengths are found; crowd-bt also tells good workers from bad, consistent takes judges at their word.",
)
@click.option("--ridge", default=0.1, show_default=True, help="Pull of all strengths towards each other.")
@click.option(
    "--position",
    type=click.Choice(["ignore", "correct"]),
    default="ignore",
    show_default=True,
    help="Take from the judgments what the order of presentation gave (bradley-terry).",
)
@click.option(
    "--ties",
    type=click.Choice(TIES),
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
@click.option("--max-depth", type=int, help="Join what lies below this many tiers.")
@click.option("--resamples", default=200, show_default=True, help="Bootstraps behind rank-centrality.")
@safe_csv_option
@table_option("--strengths", "strengths_file", help="Write each item's strength and interval here too.")
@table_option("--workers", "workers_file", help="Write each worker's quality here (crowd-bt).")
@seed_option
def preferences(
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

    PREFS: CSV, JSON, JSONL or Parquet with query, winner, loser, or query, two items and an outcome, and worker and
    tie where there are such; or lines 'topic a b winner'.
    """
    from rankdev.preferences import summarise, tiers_from_preferences
    from rankdev.references.references import References

    if workers_file is not None and method != "crowd-bt":
        raise UsageError("--workers needs --method crowd-bt, which judges the workers too")
    found = tiers_from_preferences(_read_preferences(source, columns, values), method, **options)
    tables = {}
    if strengths_file is not None:
        tables[strengths_file] = found.to_polars()
    if workers_file is not None and found.strengths.workers is not None:
        tables[workers_file] = found.strengths.workers.to_polars()
    _write(References.from_tiers(found.tiers), output, tables)
    click.echo(summarise(found), err=True)


@command.command("next", epilog="Example: rankdev refs next judgments.csv --budget 5")
@click.argument("source", metavar="PREFS", type=click.Path())
@reading_options
@click.option("--budget", type=int, required=True, help="How many pairs to ask.")
@click.option(
    "--strategy",
    type=click.Choice([name for name in STRATEGIES if name != "decide"]),
    default="information",
    show_default=True,
)
@click.option("--grades", "grades_file", metavar="FILE", help="Grades for grade-prior: TREC qrels or a table.")
@seed_option
@output_options
def next_(
    source: str,
    columns: Any,
    values: Any,
    budget: int,
    strategy: str,
    grades_file: str | None,
    seed: int,
    form: str | None,
    output: str | None,
) -> None:
    """Name the pairs whose answers are expected to teach most."""
    from rankdev.formats import read_grades
    from rankdev.preferences import next_pairs
    from rankdev.reporting.door import report_of

    graded = None if grades_file is None else {q: r.grades or {} for q, r in read_grades(grades_file).items()}
    chosen = next_pairs(_read_preferences(source, columns, values), budget, strategy, grades=graded, seed=seed)
    deliver(report_of(chosen), form, output)


@command.command(epilog="Example: rankdev refs agreement judgments.csv --resamples 50")
@click.argument("source", metavar="PREFS", type=click.Path())
@reading_options
@table_option("--workers", "workers_file", help="Write what is known of each worker here too.")
@click.option("--resamples", default=1000, show_default=True, help="Bootstraps behind the interval of α.")
@seed_option
@output_options
def agreement(
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
    from rankdev.formats.tables import encode_table
    from rankdev.formats.writing import writing
    from rankdev.preferences import judge_agreement
    from rankdev.reporting.door import report_of

    judged = _read_preferences(source, columns, values)
    if workers_file is not None and judged.worker is None:
        raise UsageError("--workers needs judgments that say who judged; there is no worker column")
    found = judge_agreement(judged, resamples=resamples, seed=seed)
    if workers_file is not None:
        content = encode_table(for_spreadsheets(found.workers, _is_csv(workers_file)), workers_file)
        with writing(workers_file) as stream:
            stream.write(content)
    deliver(report_of(found), form, output)


def _is_csv(path: str) -> bool:
    from rankdev.formats.streams import plain_suffix

    return plain_suffix(path) in (".csv", ".tsv")


def _write(references: References, output: str, tables: Mapping[str, Any] = MappingProxyType({})) -> None:
    """Write references, and tables by file name beside them; no file appears unless all can be written."""
    from rankdev.formats.references import encode_references
    from rankdev.formats.tables import encode_table
    from rankdev.formats.writing import writing
    from rankdev.reporting.cells import counted

    contents = [(output, encode_references(references, output))]
    contents += [(path, encode_table(for_spreadsheets(frame, _is_csv(path)), path)) for path, frame in tables.items()]
    with ExitStack() as stack:
        streams = [stack.enter_context(writing(path)) for path, _ in contents]
        for stream, (_, content) in zip(streams, contents, strict=True):
            stream.write(content)
    tiers = int(references.tier_counts.sum())
    empty = references.empty
    remark = f"; {empty:,} of the queries {'has' if empty == 1 else 'have'} no reference item" if empty else ""
    queries = counted(len(references), "query", "queries")
    say(f"{queries}, {counted(len(references.item_ids), 'item')} in {counted(tiers, 'tier')}{remark}")
