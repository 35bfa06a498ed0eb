"""Ids are text; whole numbers that come in are taken by their text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeVar

from rankdev._common.lazy import pl
from rankdev._common.work import refuse_lost_threads
from rankdev.errors import DataError

if TYPE_CHECKING:
    from rankdev._common.arrays import Ints

Value = TypeVar("Value")


def as_id(value: object) -> str:
    """Return an identifier as text; whole numbers are accepted, other types are not."""
    if isinstance(value, str) and value:
        return value
    if is_integer(value):
        return str(value)
    if hasattr(value, "as_py"):  # of an Arrow array
        return as_id(value.as_py())
    raise DataError("not-an-id", value=value)


def by_id(values: Mapping[Any, Value]) -> dict[str, Value]:
    """Return what is known by ids, whole numbers among them, by their text."""
    return {str(key) if is_integer(key) else key: values[key] for key in values}


def is_integer(value: object) -> bool:
    """Tell whether an id is a whole number."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def text_series(name: str, values: Sequence[str | None]) -> pl.Series:
    """Make a column of text; refuse half a surrogate pair, which is not text."""
    refuse_lost_threads()
    try:
        return pl.Series(name, values, dtype=pl.String)
    except UnicodeEncodeError as error:
        raise DataError("not-text", value=error.object) from None


def places_in(known: pl.Series, values: pl.Series) -> Ints:
    """Return where each value is in a column of different ones; -1 where it is not."""
    lookup = pl.DataFrame({"name": known, "place": pl.int_range(len(known), eager=True)})
    found = pl.DataFrame({"name": values}).join(lookup, on="name", how="left", maintain_order="left")
    return found["place"].fill_null(-1).to_numpy()
