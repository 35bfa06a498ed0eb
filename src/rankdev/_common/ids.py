"""Ids: text inside, though whole numbers may come in, and come out again in tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeVar

from rankdev._common.lazy import pl
from rankdev._common.work import refuse_lost_threads
from rankdev.errors import DataError, shown

if TYPE_CHECKING:
    from rankdev._common.arrays import Ints

Value = TypeVar("Value")


def as_id(value: object, where: str = "") -> str:
    """Return an identifier as text; whole numbers are accepted, other types are not."""
    if isinstance(value, str) and value:
        return value
    if is_integer(value):
        return str(value)
    if hasattr(value, "as_py"):  # of an Arrow array
        return as_id(value.as_py(), where)
    raise DataError(f"{where}an item or query is named by text or a whole number; got {shown(value)}")


def by_id(values: Mapping[Any, Value]) -> dict[str, Value]:
    """Return what is known by ids, whole numbers among them, by their text."""
    return {str(key) if is_integer(key) else key: values[key] for key in values}


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


def text_series(name: str, values: Sequence[str | None]) -> pl.Series:
    """Make a column of text; refuse half a surrogate pair, which is not text."""
    refuse_lost_threads()
    try:
        return pl.Series(name, values, dtype=pl.String)
    except UnicodeEncodeError as error:
        raise DataError(f"{shown(error.object)} is not valid text; write it in UTF-8") from None


def places_in(known: pl.Series, values: pl.Series) -> Ints:
    """Return where each value is in a column of different ones; -1 where it is not."""
    lookup = pl.DataFrame({"name": known, "place": pl.int_range(len(known), eager=True)})
    found = pl.DataFrame({"name": values}).join(lookup, on="name", how="left", maintain_order="left")
    return found["place"].fill_null(-1).to_numpy()
