"""The one door into reporting: the report and the figure of any result.

A module that knows how a result looks says so by the result's class, and is found in this folder::

    @reports(Power)
    def power_report(found: Power, *, n: int | None = None) -> Report: ...
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, singledispatch
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from rankdev.errors import UsageError
from rankdev.reporting.encodings.html import fragment
from rankdev.reporting.report import Report, Table
from rankdev.results import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@singledispatch
def _report(result: Result, **options: Any) -> Report:
    rows = result.to_polars()
    return Report(rows, [Table(rows)], remarks=result.remarks)


@singledispatch
def _figure(result: Result, **options: Any) -> Figure:
    raise UsageError(f"there is no figure of {type(result).__name__}; its table is in to_polars()")


def report_of(result: Result, **options: Any) -> Report:
    """Give what a person reads about a result; ``options`` are those of its report."""
    _load_for(result, _report.dispatch)
    return _report(result, **options)


def text_of(result: Result) -> str:
    """Give what the command line prints."""
    return report_of(result).text().rstrip("\n")


def html_of(result: Result) -> str:
    """Give the same for a notebook."""
    return fragment(report_of(result))


def figure_of(result: Result, **options: Any) -> Figure:
    """Draw a result; ``options`` are those of its picture."""
    _load_for(result, _figure.dispatch)
    return _figure(result, **options)


def _load_for(result: Result, dispatch: Callable[[type], Any]) -> None:
    """Import what registers a result: the module that is called like the result's own, or else all of them."""
    usual, kind = dispatch(object), type(result)
    own = f"rankdev.reporting.{kind.__module__.rpartition('.')[2]}"
    if dispatch(kind) is usual and find_spec(own) is not None:
        import_module(own)
    if dispatch(kind) is usual:
        _load_all()


@cache
def _load_all() -> None:
    """Import all that registers itself here; on use, because it brings all results with it."""
    for module in iter_modules([str(Path(__file__).parent)]):
        import_module(f"rankdev.reporting.{module.name}")


reports, draws = _report.register, _figure.register  # decorators that take the result's class
