"""Columns of tables, checked: ids, numbers, true or false, and the column that names systems."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from rankdev._common.ids import text_series
from rankdev._common.lazy import pl
from rankdev._common.names import SYSTEMS
from rankdev.errors import DataError


def mixed_series(name: str, values: list[Any]) -> pl.Series:
    """Make a column of values of any type, as text where the types are mixed."""
    if any(isinstance(value, Decimal) and not value.is_finite() for value in values):  # of which polars panics
        values = [_finite_or_float(value) for value in values]
    try:
        made = pl.Series(name, values)
    except (TypeError, ValueError, OverflowError, RuntimeError, pl.exceptions.PolarsError):
        made = None
    if made is not None and made.dtype != pl.Object:
        return made
    return text_series(name, [value if isinstance(value, str) else written(value) for value in values])


def _finite_or_float(value: Any) -> Any:
    if not isinstance(value, Decimal) or value.is_finite():
        return value
    return float("nan") if value.is_nan() else float(value)


def number_series(name: str, values: list[Any]) -> pl.Series:
    """Make a column of what should be numbers; :func:`number_column` finds what is not."""
    try:
        return pl.Series(name, values, dtype=pl.Float64)
    except (TypeError, ValueError, OverflowError):
        return mixed_series(name, values)


def written(value: object) -> str | None:
    """Return a value as text; None where it is missing."""
    text = str(value)
    return None if text in ("None", "nan", "<NA>", "NaT") else text


def column(frame: pl.DataFrame, name: str, what: str) -> pl.Series:
    """Return column ``name``, or raise an error that lists the columns there are."""
    if name not in frame.columns:
        raise DataError("no-column", role=what, name=name, known=frame.columns)
    return frame[name]


def text_column(frame: pl.DataFrame, name: str, what: str) -> pl.Series:
    """Return column ``name`` as text; identifiers may be numbers in the source, never missing."""
    values = column(frame, name, what)
    whole = values.dtype.is_integer() or (isinstance(values.dtype, pl.Decimal) and not values.dtype.scale)
    if not (whole or values.dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null)):
        raise DataError("bad-column", role=what, name=name, type=values.dtype, expected="text or whole numbers")
    text = values.cast(pl.String)
    missing = text.is_null() | (text == "").fill_null(False)
    if missing.any():
        raise DataError("no-value", role=what, name=name, row=int(missing.arg_max() or 0))
    return text


def number_column(frame: pl.DataFrame, name: str, what: str, needed: pl.Series | None = None) -> pl.Series:
    """Return column ``name`` as finite numbers; 0 in rows where none is ``needed`` and none is there."""
    values = column(frame, name, what)
    if not (values.dtype.is_numeric() or values.dtype in (pl.Boolean, pl.String, pl.Null)):
        raise DataError("bad-column", role=what, name=name, type=values.dtype, expected="numbers")
    numbers = values.cast(pl.Float64, strict=False)
    if needed is not None:
        given = values.is_not_null() & (values.cast(pl.String) != "")
        numbers = numbers.zip_with(needed | given, pl.zeros(len(numbers), pl.Float64, eager=True))
    bad = numbers.is_null() | ~numbers.is_finite().fill_null(False)
    if bad.any():
        row = int(bad.arg_max() or 0)
        where = {key: frame[key][row] for key in ("query", "item") if key in frame.columns}
        raise DataError("not-finite", name=name, value=values[row], row=row, role=None if where else what, **where)
    return numbers


def truth_column(frame: pl.DataFrame, name: str, what: str) -> pl.Series:
    """Return column ``name`` as true or false; a missing value is false."""
    values = column(frame, name, what).cast(pl.String).str.to_lowercase().fill_null("false")
    known = values.is_in(["true", "false", "1", "0", ""])
    if not known.all():
        row = int((~known).arg_max() or 0)
        raise DataError("bad-value", role=what, name=name, value=values[row], expected="true or false", row=row)
    return values.is_in(["true", "1"])


def check_one_system(frame: pl.DataFrame, known: dict[str, str] | None = None) -> None:
    """Refuse the rows of several systems where one run belongs; ``known`` holds the names in earlier rows."""
    known = {} if known is None else known
    for column in system_columns(frame):
        names = frame[column].cast(pl.String)
        if column not in known and names.null_count() < len(names):
            known[column] = names[int(names.is_not_null().arg_max() or 0)]
        others = names != known.get(column, "")
        if others.any():
            some = [known[column], *names.filter(others).drop_nulls().unique(maintain_order=True)]
            raise DataError("several-systems", column=column, names=some)


def system_columns(frame: pl.DataFrame) -> list[str]:
    """Find the columns that may name the system of each row."""
    return [name for name in SYSTEMS if name in frame.columns and _is_plain(frame[name].dtype)]


def _is_plain(dtype: pl.DataType) -> bool:
    return not dtype.is_nested() and dtype not in (pl.Null, pl.Binary, pl.Object)


def by_system(frame: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Split the rows of several systems by the column that names them."""
    columns = system_columns(frame)
    if not columns:
        raise DataError("no-systems", known=SYSTEMS)
    column = next((name for name in columns if frame[name].n_unique() > 1), columns[0])
    names = text_column(frame.with_columns(pl.col(column).cast(pl.String)), column, "runs")
    parts = frame.with_columns(names).partition_by(column, maintain_order=True, as_dict=True)
    return {name: part for (name,), part in parts.items()}
