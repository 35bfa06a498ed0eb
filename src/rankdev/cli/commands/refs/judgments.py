"""What the commands that read judgments share: what the columns mean, and the reading."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from rankdev.cli.options import names_and_values
from rankdev.cli.terminal import notes

if TYPE_CHECKING:
    from rankdev.preferences import Preferences


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
    from rankdev.formats.preferences import read_preferences

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
