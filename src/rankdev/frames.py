"""Tables from outside (polars, pandas, Arrow) as polars frames with named columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rankdev.errors import DataError, MissingExtraError

if TYPE_CHECKING:
    import polars as pl


ALIASES = {
    "query_id": "query",
    "query-id": "query",
    "qid": "query",
    "doc_id": "item",
    "docid": "item",
    "docno": "item",
    "corpus-id": "item",
    "relevance": "grade",
    "label": "grade",
}


def is_table(value: object) -> bool:
    """Tell whether ``value`` is a table: a polars or pandas frame, or anything that exports Arrow."""
    return hasattr(value, "columns") or hasattr(value, "__arrow_c_stream__")


def known_names(frame: pl.DataFrame) -> pl.DataFrame:
    """Call columns as rankdev does where ir_measures, PyTerrier or BEIR have another name for them."""
    names = {name: ALIASES[name] for name in frame.columns if ALIASES.get(name, name) not in frame.columns}
    return frame.rename(names)


def as_frame(table: Any) -> pl.DataFrame:
    """Turn a polars, pandas or Arrow table into a polars frame."""
    return known_names(_as_polars(table))


def _as_polars(table: Any) -> pl.DataFrame:
    import polars as pl

    if isinstance(table, pl.LazyFrame):
        return table.collect()
    if isinstance(table, pl.DataFrame):
        return table
    if type(table).__module__.partition(".")[0] == "pandas":
        # column by column through NumPy, so that pyarrow is not needed
        columns = {str(name): table[name].to_numpy() for name in table.columns}
        return pl.DataFrame({name: _plain(values) for name, values in columns.items()})
    return pl.DataFrame(table)


def _plain(values: Any) -> Any:
    return values.tolist() if values.dtype == object else values


def column(frame: pl.DataFrame, name: str, what: str) -> pl.Series:
    """Give column ``name``, or say which columns there are."""
    if name not in frame.columns:
        found = ", ".join(frame.columns)
        raise DataError(f"{what}: column {name!r} is missing; found {found or 'no columns'}")
    return frame[name]


def text_column(frame: pl.DataFrame, name: str, what: str) -> pl.Series:
    """Give column ``name`` as text; identifiers may be numbers in the source, never missing."""
    import polars as pl

    values = column(frame, name, what)
    if values.dtype.is_float() or values.dtype.is_nested():
        raise DataError(f"{what}: column {name!r} holds {values.dtype}; expected text or whole numbers")
    text = values.cast(pl.String)
    missing = text.is_null() | (text == "").fill_null(False)
    if missing.any():
        row = int(missing.arg_max() or 0)
        raise DataError(f"{what}: row {row} has no {name}; every row needs one", row)
    return text


def number_column(frame: pl.DataFrame, name: str, what: str) -> pl.Series:
    """Give column ``name`` as finite numbers."""
    import polars as pl

    values = column(frame, name, what)
    numbers = values.cast(pl.Float64, strict=False)
    bad = numbers.is_null() | ~numbers.is_finite().fill_null(False)
    if bad.any():
        row = int(bad.arg_max() or 0)
        raise DataError(f"{what}: row {row} has {values[row]!r} as {name}; expected a finite number", row)
    return numbers


def check_mapping(value: object, what: str, expected: str) -> Mapping[Any, Any]:
    """Refuse anything but a mapping, with a message that says what was expected."""
    if not isinstance(value, Mapping):
        raise DataError(f"{what} must be {expected}; got {type(value).__name__}")
    return value


def to_pandas(frame: pl.DataFrame) -> Any:
    """Turn a polars frame into a pandas frame; needs pandas, not pyarrow."""
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtraError("pandas", "pandas", "to_pandas()") from None
    return pd.DataFrame({name: frame[name].to_list() for name in frame.columns})
