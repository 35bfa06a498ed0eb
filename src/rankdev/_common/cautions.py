"""Warnings: they point at the line that called rankdev, and those about the input are errors where a call is strict."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from rankdev.errors import DataError, RankdevWarning

_PACKAGE = str(Path(__file__).parents[1])
_held: ContextVar[list[str] | None] = ContextVar("held", default=None)
_strict: ContextVar[bool] = ContextVar("strict", default=False)


def warn(message: str) -> None:
    """Warn of something that the user's own line, not one of rankdev, has to do with."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, RankdevWarning, stacklevel=level)


def caution(message: str) -> None:
    """Warn of something in the input that could make a number wrong; in strict calls it is an error."""
    held = _held.get()
    if held is not None:
        held.append(message)
    elif _strict.get():
        raise DataError(message)
    else:
        warn(message)


@contextmanager
def held_cautions() -> Iterator[list[str]]:
    """Collect cautions instead: a thread has no caller to point at, and hands them to one that has."""
    found: list[str] = []
    token = _held.set(found)
    try:
        yield found
    finally:
        _held.reset(token)


@contextmanager
def strict_input(strict: bool) -> Iterator[None]:
    """Make cautions errors; where not, leave it to those who called."""
    token = _strict.set(strict or _strict.get())
    try:
        yield
    finally:
        _strict.reset(token)


def is_strict() -> bool:
    """Tell whether cautions are errors."""
    return _strict.get()
