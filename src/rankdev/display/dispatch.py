"""Dispatch from a result to its report and its figure.

A module registers them by the class of the result, whose ``display`` names the module::

    @reports(Power)
    def power_report(found: Power, *, n: int | None = None) -> Report: ...
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import singledispatch
from importlib import import_module
from typing import TYPE_CHECKING, Any

from rankdev._common.result import Result
from rankdev.display.encodings import fragment
from rankdev.display.report import Report, Table, screen_width
from rankdev.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@singledispatch
def _report(result: Result, **options: Any) -> Report:
    rows = result.to_polars()
    return Report(rows, [Table(rows)], remarks=result.remarks)


@singledispatch
def _figure(result: Result, **options: Any) -> Figure:
    raise UsageError("no-figure", result=type(result).__name__)


def report_of(result: Result, **options: Any) -> Report:
    """Return the report of a result; ``options`` are those of its report function."""
    _load_for(result, _report.dispatch)
    return _report(result, **options)


SHOWN = 100  # rows of a table that notebooks and prompts show


def text_of(result: Result, *, short: bool = False) -> str:
    """Return what the command line prints; in short, the first rows of long tables only."""
    report = report_of(result)
    return (report.shortened(SHOWN) if short else report).text(screen_width(sys.stdout)).rstrip("\n")


def html_of(result: Result) -> str:
    """Return the same in short as HTML, for a notebook."""
    return fragment(report_of(result).shortened(SHOWN))


def figure_of(result: Result, **options: Any) -> Figure:
    """Draw a result; ``options`` are those of its drawing function."""
    _load_for(result, _figure.dispatch)
    return _figure(result, **options)


def _load_for(result: Result, dispatch: Callable[[type], Any]) -> None:
    """Import the module that registers a result, which its class names."""
    if result.display and dispatch(type(result)) is dispatch(object):
        import_module(result.display)


# decorators that take the class of a result
reports: Callable[[type], Callable[[Callable[..., Report]], Callable[..., Report]]] = _report.register
draws: Callable[[type], Callable[[Callable[..., Figure]], Callable[..., Figure]]] = _figure.register
