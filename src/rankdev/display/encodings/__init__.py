"""Registry of output formats."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from rankdev._common.checks import check_choice
from rankdev.errors import UsageError

if TYPE_CHECKING:
    from rankdev.display.report import Report
    from rankdev.io.formats import TableFormat

    Make = Callable[[Report], bytes | Iterable[bytes]]


@dataclass(frozen=True)
class Format:
    """How to ``make`` the bytes of a report's file, at once or in pieces that are written as they are made.

    A ``binary`` format is not for a terminal; one that ``holds_remarks`` includes the notes of the report.
    """

    name: str
    suffix: str
    make: Make
    binary: bool = False
    holds_remarks: bool = False

    def pieces(self, report: Report) -> Iterable[bytes]:
        """Make the bytes in one piece or more."""
        made = self.make(report)
        return [made] if isinstance(made, bytes) else made

    def encode(self, report: Report) -> bytes:
        """Make all bytes."""
        return b"".join(self.pieces(report))


FORMATS: dict[str, Format] = {}
UNLIMITED = 1_000_000  # columns of a file, which has no screen to fit


def report_format(name: str, suffix: str, **traits: bool) -> Callable[[Make], Make]:
    """Register a function as a format."""

    def register(make: Make) -> Make:
        FORMATS[name] = Format(name, suffix, make, **traits)
        return make

    return register


@report_format("table", ".txt", holds_remarks=True)
def as_text(report: Report) -> bytes:
    """Return what the command line prints, as wide as it is."""
    return report.text(UNLIMITED).encode()


def all_formats() -> dict[str, Format]:
    """Add the formats of tables that are not formats of reports; this loads the modules that read and write tables."""
    from rankdev.io.formats import TABLE_FORMATS

    for known in filter(lambda known: known.written, TABLE_FORMATS.values()):
        if known.name not in FORMATS:
            report_format(known.name, known.ending, binary=known.binary)(_rows_as(known))
    return FORMATS


def _rows_as(known: TableFormat) -> Make:
    return lambda report: known.encode(report.rows)


def choose_format(form: str | None, output: str | None) -> Format:
    """Choose the format that was asked for, or that of the output's extension; a table by default."""
    from rankdev.io.streams import plain_suffix  # loads polars, and --help needs only the names of formats
    from rankdev.io.writing import is_stream

    if form is not None:
        check_choice("format", form, all_formats())
        return FORMATS[form]
    if output is None or is_stream(output):
        return FORMATS["table"]
    suffix = plain_suffix(output)
    for known in all_formats().values():
        if suffix == known.suffix:
            return known
    raise UsageError("bad-ending", path=output, endings=[known.suffix for known in FORMATS.values()])


for _module in sorted(module.name for module in iter_modules(__path__)):
    import_module(f"{__name__}.{_module}")

__all__ = ["FORMATS", "Format", "all_formats", "choose_format"]
