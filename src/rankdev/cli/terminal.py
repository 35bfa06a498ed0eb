"""What lies between the commands and a terminal: narrow alphabets, closed streams, lines that are safe to show."""

from __future__ import annotations

import codecs
import io
import os
import sys
from collections.abc import Iterable

from rankdev.errors import printable

# how the signs of our own tables are written where the terminal's alphabet lacks them
_PLAIN = {
    **{"–": "-", "−": "-", "─": "-", "…": "~", "▇": "#", "░": ".", "×": "x", "·": "."},
    **{"∞": "inf", "≤": "<=", "≥": ">=", "τ": "tau", "α": "alpha", "λ": "lambda", "ρ": "rho", "±": "+-", "→": "->"},
    **{"Φ": "Phi", "²": "^2", "₂": "2", "√": "sqrt", "÷": "/", "≠": "!="},
}

_said: set[str] = set()


def say(text: str) -> None:
    """Write one line on standard error."""
    print(printable(f"rankdev: {text}"), file=sys.stderr, flush=True)


def remark(kind: str, line: str) -> None:
    """Write a note or a warning on standard error, each once."""
    if line not in _said:
        _said.add(line)
        say(f"{kind}: {line}")


def notes(lines: Iterable[str]) -> None:
    """Write notes on standard error."""
    for line in lines:
        remark("note", line)


def unsaid(lines: Iterable[str]) -> tuple[str, ...]:
    """Give the remarks that were not written yet: a report does not repeat the others."""
    return tuple(line for line in lines if line not in _said)


def forget() -> None:
    """Begin a command that has said nothing."""
    _said.clear()


def prepare_streams() -> None:
    """Make standard streams usable whatever they are: nothing shown can fail for a letter that is not there."""
    _replace_closed()
    codecs.register_error("rankdev", _plainly)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="rankdev")


def discard_output() -> None:
    """Let nothing more be written to standard output, so that Python's end does not fail for it again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _replace_closed() -> None:
    """Put something in the place of closed streams, lest a file that is opened gets the number of one of them.

    What stands for standard output refuses to be written: a result must not vanish without a word.
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


def _plainly(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(_PLAIN.get(char) or char.encode("ascii", "backslashreplace").decode() for char in missing), error.end
