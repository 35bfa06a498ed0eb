"""Ids that are whole numbers: text inside, and whole numbers again in tables that come out."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any

from rankdev._common.lazy import pl


def is_integer(value: object) -> bool:
    """Tell whether an id is a whole number."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def as_given(ids: pl.Series, values: Iterable[Any]) -> pl.Series:
    """Return ids as whole numbers where all of their values were."""
    return as_integers(ids) if all(map(is_integer, values)) else ids


def as_integers(ids: pl.Series) -> pl.Series:
    """Return ids as whole numbers, where that changes none of them (007, 2**80)."""
    whole = ids.cast(pl.Int64, strict=False)
    return whole if len(ids) and (whole.cast(pl.String) == ids).fill_null(False).all() else ids


def integer_ids(frame: pl.DataFrame) -> tuple[str, ...]:
    """Name the ids in a table that are whole numbers."""
    return tuple(name for name in ("query", "item") if name in frame.columns and frame[name].dtype.is_integer())


def with_integers(frame: pl.DataFrame, names: Iterable[str]) -> pl.DataFrame:
    """Return a table with the ids that were whole numbers as such."""
    return frame.with_columns(as_integers(frame[name]) for name in names)
