"""Options that several commands share, and how their texts are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import click
from click.core import ParameterSource

from rankdev.cli.help import RegisteredChoice, SharedOption
from rankdev.data.options import TIE_RULES, Duplicates, Order, Ranks
from rankdev.errors import DataError, UsageError

if TYPE_CHECKING:
    from rankdev.data.formats.base import Table as NamedTable
    from rankdev.data.run import RunLike


Value = TypeVar("Value")


def order_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --order, --ties, --duplicates, --collapse, --ranks, --strict and --columns."""
    ties = click.option(
        "--ties",
        cls=SharedOption,
        type=click.Choice(list(TIE_RULES)),
        default="trec_eval",
        show_default=True,
        help="How items with equal scores are ordered; see rankdev help ties.",
    )
    order = click.option(
        "--order",
        cls=SharedOption,
        type=click.Choice(get_args(Order)),
        default="score",
        show_default=True,
        help="Order runs by score or by the rank column.",
    )
    strict = click.option(
        "--strict",
        cls=SharedOption,
        is_flag=True,
        expose_value=False,
        callback=_read_with,
        help="Treat warnings about the input, and unmatched queries, as errors.",
    )
    duplicates = click.option(
        "--duplicates",
        cls=SharedOption,
        type=click.Choice(get_args(Duplicates)),
        expose_value=False,
        callback=_read_with,
        help="Which row counts if a query lists an item more than once.  [default: refuse]",
    )
    collapse = click.option(
        "--collapse",
        cls=SharedOption,
        metavar="MARK",
        expose_value=False,
        callback=_read_with,
        help="What separates document and chunk in an item, such as #: the best chunk counts.",
    )
    return table_options(order(ties(duplicates(collapse(ranks_option(strict(command)))))))


def table_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --columns."""
    return click.option(
        "--columns",
        cls=SharedOption,
        metavar="NAME=COLUMN,...",
        expose_value=False,
        callback=lambda ctx, param, text: _read_with(ctx, param, names_and_values(text, "--columns") or None),
        help="Columns of tables, such as item=sku,score=points.",
    )(command)


def ranks_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --ranks."""
    return click.option(
        "--ranks",
        cls=SharedOption,
        type=click.Choice(get_args(Ranks)),
        default="consecutive",
        show_default=True,
        expose_value=False,
        callback=_read_with,
        help="Ranks are consecutive, or skip as many as are tied: 1, 1, 1, 4.",
    )(command)


empty_option = click.option(
    "--empty",
    cls=SharedOption,
    type=click.Choice(["zero", "skip"]),
    default="zero",
    show_default=True,
    help="Queries without a relevant item: score 0 for every system, or leave them out.",
)


like_option = click.option(
    "--like",
    cls=SharedOption,
    type=RegisteredChoice("rankdev.evaluation.conventions:CONVENTIONS"),
    help="Follow another program: its order of ties, names, rounding and files.",
)


def with_like(like: str | None, **options: Any) -> dict[str, Any]:
    """Return the options of an evaluation; with --like, those that were not given are left to it."""
    read = read_options()
    if like is None:
        return options | read
    ctx = click.get_current_context()
    sources = (ParameterSource.COMMANDLINE, ParameterSource.DEFAULT_MAP)
    given = {name: ctx.get_parameter_source(name) in sources for name in options}
    return {"like": like, **{name: value for name, value in options.items() if given[name]}, **read}


seed_option = click.option(
    "--seed",
    cls=SharedOption,
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="The same seed gives the same numbers.",
)


BY_TAG, READ = "rankdev.by_tag", "rankdev.read"


def name_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --name and --by-tag."""
    by_tag = click.option(
        "--by-tag",
        cls=SharedOption,
        is_flag=True,
        expose_value=False,
        callback=lambda ctx, param, value: ctx.meta.update({BY_TAG: value}),
        help="A RUN holds several systems: one per tag, or per value of a system column.",
    )
    name = click.option(
        "--name", "names", cls=SharedOption, multiple=True, help="Name of a run; once per run, in order."
    )
    return name(by_tag(command))


def _read_with(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    """Keep how all files of a command are read, for :func:`read_options`."""
    if value is not None:
        ctx.meta.setdefault(READ, {})[str(param.name)] = value


def read_options(*names: str) -> dict[str, Any]:
    """Return how the running command reads files, or only some of these options: parameters of ``evaluate``."""
    ctx = click.get_current_context(silent=True)
    chosen: dict[str, Any] = {} if ctx is None else ctx.meta.get(READ, {})
    return {name: value for name, value in chosen.items() if not names or name in names}


def refuse_unused(*names: str, beside: str | None = None, needs: str | None = None) -> None:
    """Refuse parameters that were given to the running command and would change nothing.

    That is because they are given beside another one, or because they need something that is not there.
    """
    ctx = click.get_current_context()
    for parameter in ctx.command.params:
        if parameter.name in names and ctx.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE:
            if beside is not None:
                raise UsageError("not-together", name=parameter.name, other=beside)
            raise UsageError("not-needed", name=parameter.name, use=needs)


def _import_measures(ctx: click.Context, param: click.Parameter, paths: tuple[str, ...]) -> None:
    if paths:
        from rankdev.measures import load_file

        ctx.meta["rankdev.import"] = paths  # the report shows how it was called
        for path in paths:
            load_file(path)


import_option = click.option(
    "--import",
    cls=SharedOption,
    multiple=True,
    metavar="FILE",
    is_eager=True,
    expose_value=False,
    callback=_import_measures,
    help="A Python file with measures of your own; repeat for more.",
)


def measure_option(default: Sequence[str], **kwargs: Any) -> Callable[..., Any]:
    """Add -m and --import."""
    option = click.option(
        "-m",
        "--measure",
        "measures",
        multiple=True,
        default=default,
        show_default=True,
        metavar="TEXT",
        shell_complete=_complete_measure,
        help="For example RDQ@5; repeat, or use commas.",
        **kwargs,
    )
    return lambda command: option(import_option(command))


def one_measure_option(default: str, help: str) -> Callable[..., Any]:
    """Add -m for a single measure, and --import."""
    option = click.option(
        "-m",
        "--measure",
        default=default,
        show_default=True,
        metavar="TEXT",
        shell_complete=_complete_measure,
        help=help,
    )
    return lambda command: option(import_option(command))


def _complete_measure(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from rankdev.measures import PAPER, REGISTRY

    ends = {"cutoff": "@10", "recall": "@0.1"}
    names = [f"{name}{ends.get(kind.at or '', '')}" for name, kind in REGISTRY.items()]
    known = [*names, *(f"{text}@10" for text in PAPER), "paper@5", "paper@10"]
    return sorted({text for text in known if text.startswith(incomplete)})


def named_runs(references: str, paths: Sequence[str], names: Sequence[str]) -> dict[str, RunLike]:
    """Name each run by --name or by its file; with --by-tag, split the files into systems."""
    from rankdev.data.tables import system_name

    if names and len(names) != len(paths):
        raise UsageError("unequal", names=["--name", "RUN"], counts=[len(names), len(paths)])
    for name in names:
        if not name or not _is_text(name):
            raise UsageError("bad-value", name="--name", value=name, expected="a name in UTF-8")
    if [references, *paths].count("-") > 1:
        raise UsageError("one-standard-input")
    ctx = click.get_current_context(silent=True)
    by_tag = ctx is not None and ctx.meta.get(BY_TAG, False)
    order: Order = ("score" if ctx is None else ctx.params.get("order")) or "score"
    if by_tag and names:
        raise UsageError("not-together", name="names", other="by_tag")
    sources: list[tuple[str, str, RunLike]] = []
    for path, name in zip(paths, names or map(system_name, paths), strict=True):
        if by_tag:
            from rankdev.data.files import read_systems
            from rankdev.data.options import ReadOptions

            parts = read_systems(path, ReadOptions(order, columns=read_options().get("columns")))
            sources += [(path, system, rows) for system, rows in parts.items()]
        else:
            sources.append((path, name, path))
    found: dict[str, str] = {}
    for path, name, _ in sources:
        if name in found:
            nameable = not by_tag and (ctx is None or "names" in ctx.params)
            kind = "same-system" if nameable else "same-name"
            raise UsageError(kind, what="systems", name=name, paths=[found[name], path])
        found[name] = path
    return {name: source for _, name, source in sources}


def _is_text(word: str) -> bool:
    """Return whether UTF-8 can encode a word of the command line; the shell may pass any bytes."""
    return word.encode("utf-8", "replace") == word.encode("utf-8", "surrogatepass")


def read_named_table(path: str, *columns: str) -> NamedTable:
    """Read a table from a file; refuse what has no named columns."""
    from rankdev.data.tables import read_table
    from rankdev.data.text import Source

    with Source(path, columns=read_options().get("columns")) as source:
        if source.kind in ("trec", "json"):
            raise DataError("not-a-table", path=source.name, columns=columns)
        return read_table(source, source.kind)


def read_pairs(path: str, first: str, second: str, what: str) -> list[tuple[str, str]]:
    """Read two columns of names from a file; an error names the file and the line."""
    from rankdev._common.columns import text_column

    table = read_named_table(path, first, second)
    try:
        columns = [text_column(table.frame, name, what) for name in (first, second)]
    except DataError as error:
        table.fail(error)
    return list(zip(*columns, strict=True))


def whole_numbers(text: str | None, what: str) -> list[int] | None:
    """Read a list such as 25,50,100."""
    if text is None:
        return None
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise UsageError("bad-value", name=what, value=text, expected="whole numbers such as 25,50,100") from None


def names_and_values(text: str | None, option: str, *, may_be_empty: bool = False) -> dict[str, str]:
    """Read NAME=VALUE,...; a value may be missing only where that has a meaning."""
    entries = [[part.strip() for part in entry.partition("=")] for entry in text.split(",")] if text else []
    if not all(name and mark and (value or may_be_empty) for name, mark, value in entries):
        raise UsageError("bad-value", name=option, value=text, expected="NAME=VALUE, and more with commas")
    return each_once((name, value) for name, _, value in entries)


def each_once(pairs: Iterable[tuple[str, Value]]) -> dict[str, Value]:
    """Put names and values into a mapping; refuse a name that is given twice."""
    found: dict[str, Value] = {}
    for name, value in pairs:
        if name in found:
            raise UsageError("given-twice", name=name)
        found[name] = value
    return found
