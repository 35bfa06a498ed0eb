"""How input is read: choices that hold for every input of a call, and cautions, which are errors in strict calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from rankdev._common.checks import check_choice
from rankdev.errors import DataError, UsageError, nearest, warn

Duplicates = Literal["first", "last", "best"]
OURS = ("query", "item", "score", "rank", "grade", "tiers", "items", "system", "measure", "value", "segment", "cluster")
Ranks = Literal["consecutive", "competition"]


@dataclass(frozen=True)
class Reading:
    """What to do with input that is refused otherwise.

    ``duplicates`` is which row of an item counts where a query has several: the first or the last of the source, or
    the one with the highest score (the lowest rank). ``columns`` are names of the source's columns by ours.
    ``ranks`` are consecutive, or skip as many as are tied: 1, 1, 1, 4. ``collapse`` is what separates the id of a
    document from the number of its chunk: the place of a document is that of its best chunk.
    """

    duplicates: Duplicates | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    ranks: Ranks = "consecutive"
    collapse: str | None = None
    met: set[str] = field(default_factory=set, compare=False)  # names of columns that some input has

    def __post_init__(self) -> None:
        if self.duplicates is not None:
            check_choice("duplicates", self.duplicates, get_args(Duplicates))
        check_choice("ranks", self.ranks, get_args(Ranks))
        if self.collapse is not None:
            if not isinstance(self.collapse, str) or not self.collapse:
                raise UsageError("not-a-separator", value=self.collapse)
            if self.duplicates is None:
                object.__setattr__(self, "duplicates", "best")
        columns = check_named(self.columns)
        object.__setattr__(self, "columns", columns)


def check_named(columns: object) -> dict[str, str]:
    """Check names of columns, by ours."""
    if not isinstance(columns, Mapping) or not all(isinstance(word, str) for pair in columns.items() for word in pair):
        raise UsageError("not-columns", value=columns)
    for name in columns:
        if name not in OURS:
            raise UsageError("unknown-column", name=name, near=nearest(name, OURS), known=OURS)
    return dict(columns)


_STRICTLY = Reading()
_reading: ContextVar[Reading] = ContextVar("reading", default=_STRICTLY)


def reading() -> Reading:
    """Return how runs are read now."""
    return _reading.get()


@contextmanager
def reading_with(**choices: Any) -> Iterator[None]:
    """Read with these choices; what is None stays as the caller set it."""
    given = {name: value for name, value in choices.items() if value is not None}
    if "columns" in given:
        given["met"] = set()
    token = _reading.set(replace(_reading.get(), **given))
    try:
        yield
        if "columns" in given:
            warn_of_unmet()
    finally:
        _reading.reset(token)


def warn_of_unmet() -> None:
    """Warn once of chosen columns that no input had so far."""
    chosen = _reading.get()
    unmet = [theirs for theirs in chosen.columns.values() if theirs not in chosen.met]
    if unmet:
        chosen.met.update(unmet)
        caution("unmet-columns", names=unmet)


Caution = tuple[str, dict[str, Any]]  # kind and fields
_held: ContextVar[list[Caution] | None] = ContextVar("held", default=None)
_strict: ContextVar[bool] = ContextVar("strict", default=False)


def caution(kind: str, /, **fields: Any) -> None:
    """Warn of something in the input that could make a number wrong; in strict calls it is an error."""
    held = _held.get()
    if held is not None:
        held.append((kind, fields))
    elif _strict.get():
        raise DataError(kind, **fields)
    else:
        warn(kind, **fields)


@contextmanager
def held_cautions() -> Iterator[list[Caution]]:
    """Collect cautions instead: in a thread there is no caller's line to point at, so whoever started it warns."""
    found: list[Caution] = []
    token = _held.set(found)
    try:
        yield found
    finally:
        _held.reset(token)


@contextmanager
def strict_input(strict: bool) -> Iterator[None]:
    """Make cautions errors, or leave that as the caller set it."""
    token = _strict.set(strict or _strict.get())
    try:
        yield
    finally:
        _strict.reset(token)


def is_strict() -> bool:
    """Tell whether cautions are errors."""
    return _strict.get()
