"""Writing to a terminal: narrow alphabets, closed streams, notes that are written once."""

from __future__ import annotations

import codecs
import io
import os
import sys
from collections.abc import Iterable

import click

from rankdev.errors import Note, RankdevError, RankdevWarning, printable

# how the symbols in our own tables are written on a terminal that lacks them
_ASCII = {
    **{"–": "-", "−": "-", "─": "-", "…": "~", "▇": "#", "░": ".", "×": "x", "·": "."},
    **{"∞": "inf", "≤": "<=", "≥": ">=", "τ": "tau", "α": "alpha", "λ": "lambda", "ρ": "rho", "±": "+-", "→": "->"},
    **{"Φ": "Phi", "²": "^2", "₂": "2", "√": "sqrt", "÷": "/", "≠": "!="},
    **{"†": "+", "‡": "++", "§": "#", "¶": "##", "↓": "(lower is better)"},
}

_written: set[str] = set()


def for_command(message: object, command: click.Command) -> str:
    """Return what an error, a warning or a note says, with parameters as the options and arguments of a command."""
    if not isinstance(message, RankdevError | RankdevWarning | Note):
        return str(message)
    called = {one.name: max(one.opts, key=len) if one.opts[0].startswith("-") else one.name for one in command.params}
    return message.sentence({name: flag if flag != name else name.upper() for name, flag in called.items() if name})


def write_line(text: str) -> None:
    """Write one line on standard error."""
    print(printable(f"rankdev: {text}"), file=sys.stderr, flush=True)


def write_summary(text: str, output: str) -> None:
    """Say on standard error what was written where."""
    from rankdev.display.layout import paragraph
    from rankdev.display.report import screen_width

    whole = " ".join(text.splitlines() if output == "-" else [f"{output}:", *text.splitlines()])
    print("\n".join(paragraph(printable(whole), screen_width(sys.stderr))), file=sys.stderr, flush=True)


def write_once(kind: str, line: str) -> None:
    """Write a note or a warning on standard error, each once."""
    if line not in _written:
        _written.add(line)
        write_line(f"{kind}: {line}")


def write_notes(lines: Iterable[str]) -> None:
    """Write notes of the running command on standard error."""
    for line in lines:
        write_once("note", for_command(line, click.get_current_context().command))


def not_yet_written(lines: Iterable[str]) -> tuple[str, ...]:
    """Return the notes that were not written yet: a report does not repeat the others."""
    return tuple(line for line in lines if line not in _written)


def prepare_streams() -> None:
    """Make standard streams usable whatever they are: no output fails because a character cannot be encoded."""
    _written.clear()
    _replace_closed()
    codecs.register_error("rankdev", _in_ascii)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="rankdev")


def discard_output() -> None:
    """Discard what is still written to standard output, so that Python does not fail again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _replace_closed() -> None:
    """Replace closed streams, or a file that is opened next would get the number of one of them.

    The replacement of standard output refuses to be written: a result must not vanish without an error.
    """
    for descriptor, mode in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, mode)
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 (open to the end)
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 (open to the end)


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(_ASCII.get(char) or char.encode("ascii", "backslashreplace").decode() for char in missing), error.end
