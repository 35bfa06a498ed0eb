"""Tables from outside (polars, pandas, Arrow) as polars frames with named columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from numbers import Integral
from os import PathLike
from threading import RLock
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from rankdev._common.checks import is_list
from rankdev._common.ids import as_given
from rankdev._common.lazy import pl
from rankdev._common.names import ALIASES, SYSTEMS, known_names
from rankdev._common.work import refuse_lost_threads
from rankdev.errors import DataError, MissingExtraError, shown

if TYPE_CHECKING:
    import pandas as pd

    from rankdev._common.arrays import Ints

Value = TypeVar("Value")
_FOREIGN = RLock()  # tables of one connection, such as DuckDB's, must not be read at the same time
IDS = ("query", "item", "system", "measure")


def as_id(value: object, where: str = "") -> str:
    """Return an identifier as text; whole numbers are accepted, other types are not."""
    if isinstance(value, str) and value:
        return value
    if isinstance(value, Integral) and not isinstance(value, bool):
        return str(value)
    if hasattr(value, "as_py"):  # of an Arrow array
        return as_id(value.as_py(), where)
    raise DataError(f"{where}an item or query is named by text or a whole number; got {shown(value)}")


def by_id(values: Mapping[Any, Value]) -> dict[str, Value]:
    """Return what is known by ids, whole numbers among them, by their text."""
    return {str(key) if isinstance(key, Integral) and not isinstance(key, bool) else key: values[key] for key in values}


def is_table(value: object) -> bool:
    """Return whether ``value`` is a table: a polars or pandas frame, or whatever exports Arrow or is interchanged."""
    return hasattr(type(value), "columns") or any(
        hasattr(value, protocol) for protocol in ("__arrow_c_stream__", "__dataframe__")
    )


class HasColumns(Protocol):
    """A table of polars, pandas or Arrow, or whatever else has columns."""

    @property
    def columns(self) -> Any:
        """Return the columns, or their names."""


class OfRanx(Protocol):
    """Qrels or Run of ranx."""

    def to_dict(self) -> Any:
        """Return the values by query and item."""


TableLike: TypeAlias = HasColumns | Iterable[Mapping[str, Any]] | Iterable[tuple[Any, ...]]
"""A table, or a list of records: mappings or named tuples."""


def tabled(value: Any) -> Any:
    """Turn a list of records (mappings or named tuples) into a table; leave everything else as it is.

    >>> tabled([{"query": "q", "item": "d", "rank": 1}]).columns
    ['query', 'item', 'rank']
    """
    if is_table(value) or not is_list(value):
        return value
    records = list(value)
    if not records or not all(_is_record(record) for record in records):
        return records
    rows = [record if isinstance(record, Mapping) else record._asdict() for record in records]
    names = dict.fromkeys(name for row in rows for name in row)
    return pl.DataFrame({str(name): _mixed(str(name), [row.get(name) for row in rows]) for name in names})


def _is_record(value: object) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, tuple) and hasattr(value, "_asdict"))


def check_no_records(lists: Mapping[Any, Any]) -> None:
    """Refuse records where a query's items belong."""
    for query, entry in lists.items():
        for item in entry if isinstance(entry, list | tuple) else ():
            if _is_record(item):
                raise DataError(f"query {shown(query)}: expected items; got the record {shown(item)}")


def from_ranx(value: Any, name: str) -> Any:
    """Return ranx's ``Qrels`` (name ``qrels``) or ``Run`` (``run``) as a dict, and everything else as it is."""
    return value.to_dict() if hasattr(value, name) and hasattr(value, "to_dict") else value


def as_frame(table: Any) -> pl.DataFrame:
    """Turn a polars, pandas or Arrow table into a polars frame."""
    return known_names(as_polars(tabled(table)))


def as_polars(table: Any) -> pl.DataFrame:
    """Turn a table into a polars frame whose columns keep their names."""
    refuse_lost_threads()
    if isinstance(table, str | PathLike):
        raise DataError(f"expected a table; got the path {shown(str(table))}; read the file first, as a frame")
    if isinstance(table, pl.DataFrame):
        return table
    try:
        if isinstance(table, pl.LazyFrame):
            return table.collect()
        if type(table).__module__.partition(".")[0] == "pandas":
            return _from_pandas(table)
        with _FOREIGN:
            return pl.DataFrame(_interchanged(table))
    except DataError:
        raise
    except (
        Exception,
        pl.exceptions.PanicException,
    ) as error:  # of any library, such as a closed connection
        raise DataError(f"this {type(table).__name__} cannot be used as a table ({first_line(error)})") from None


def _from_pandas(table: Any) -> pl.DataFrame:
    """Take columns, and levels of the index with a name of their own, through NumPy: pyarrow is not needed."""
    if not hasattr(table, "columns"):
        raise DataError("a pandas Series is no table; give a DataFrame, such as that of reset_index()")
    names = [str(name) for name in table.columns]
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise DataError(f"the column {shown(twice)} appears twice; keep one")
    levels = {str(name): i for i, name in enumerate(table.index.names) if name is not None and str(name) not in names}
    columns = {name: table.index.get_level_values(level).to_numpy() for name, level in levels.items()}
    columns |= {name: table.iloc[:, place].to_numpy() for place, name in enumerate(names)}
    return pl.DataFrame({name: _from_numpy(name, values) for name, values in columns.items()})


def _interchanged(table: Any) -> Any:
    """Read the older interchange protocol, which polars leaves to pyarrow."""
    if hasattr(table, "__arrow_c_stream__") or not hasattr(table, "__dataframe__"):
        return table
    try:
        from pyarrow.interchange import from_dataframe
    except ImportError:
        raise TypeError("its protocol needs pyarrow: pip install pyarrow") from None
    return from_dataframe(table)


def _from_numpy(name: str, values: Any) -> Any:
    return _mixed(name, values.tolist()) if values.dtype == object else values


def _mixed(name: str, values: list[Any]) -> pl.Series:
    """Make a column of Python values; identifiers among them follow :func:`as_id`, and may be missing."""
    if ALIASES.get(name, name) not in IDS:
        return mixed_series(name, values)
    return as_given(text_series(name, [None if _is_missing(value) else as_id(value) for value in values]), values)


def _is_missing(value: object) -> bool:
    return value == "" if isinstance(value, str) else _written(value) is None


def first_line(error: object) -> str:
    """Return the first line of a library's error, without the explanations below it."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def text_series(name: str, values: Sequence[str | None]) -> pl.Series:
    """Make a column of text; refuse half a surrogate pair, which is not text."""
    refuse_lost_threads()
    try:
        return pl.Series(name, values, dtype=pl.String)
    except UnicodeEncodeError as error:
        raise DataError(f"{shown(error.object)} is not valid text; write it in UTF-8") from None


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
    return text_series(name, [value if isinstance(value, str) else _written(value) for value in values])


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


def _written(value: object) -> str | None:
    text = str(value)
    return None if text in ("None", "nan", "<NA>", "NaT") else text


def column(frame: pl.DataFrame, name: str, what: str) -> pl.Series:
    """Return column ``name``, or raise an error that lists the columns there are."""
    if name not in frame.columns:
        nameable = what in ("references", "a run") and frame.width
        hint = f"; if it has another name, name it with columns={{{name!r}: …}}" if nameable else ""
        raise DataError(f"{what}: column {name!r} is missing; found {listed(frame.columns)}{hint}")
    return frame[name]


def listed(names: list[str]) -> str:
    """Return the names of columns as text for a message."""
    return ", ".join(shown(name)[1:-1] for name in names[:10]) + (", …" if len(names) > 10 else "") or "no columns"


def text_column(frame: pl.DataFrame, name: str, what: str) -> pl.Series:
    """Return column ``name`` as text; identifiers may be numbers in the source, never missing."""
    values = column(frame, name, what)
    whole = values.dtype.is_integer() or (isinstance(values.dtype, pl.Decimal) and not values.dtype.scale)
    if not (whole or values.dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null)):
        remedy = "; make ids of floats whole numbers or text first" if values.dtype.is_float() else ""
        raise DataError(f"{what}: column {name!r} holds {values.dtype}; expected text or whole numbers{remedy}")
    text = values.cast(pl.String)
    missing = text.is_null() | (text == "").fill_null(False)
    if missing.any():
        row = int(missing.arg_max() or 0)
        raise DataError(f"{what}: row {row} has no {name}; every row needs one", row)
    return text


def number_column(frame: pl.DataFrame, name: str, what: str, needed: pl.Series | None = None) -> pl.Series:
    """Return column ``name`` as finite numbers; 0 in rows where none is ``needed`` and none is there."""
    values = column(frame, name, what)
    if not (values.dtype.is_numeric() or values.dtype in (pl.Boolean, pl.String, pl.Null)):
        raise DataError(f"{what}: column {name!r} holds {values.dtype}; expected numbers")
    numbers = values.cast(pl.Float64, strict=False)
    if needed is not None:
        given = values.is_not_null() & (values.cast(pl.String) != "")
        numbers = numbers.zip_with(needed | given, pl.zeros(len(numbers), pl.Float64, eager=True))
    bad = numbers.is_null() | ~numbers.is_finite().fill_null(False)
    if bad.any():
        row = int(bad.arg_max() or 0)
        names = [f"{key} {shown(frame[key][row])}" for key in ("query", "item") if key in frame.columns]
        where = ", ".join(names) or f"{what}: row {row}"
        raise DataError(f"{where}: the {name} is {shown(values[row])}; expected a finite number", row)
    return numbers


def check_one_system(frame: pl.DataFrame, known: dict[str, str] | None = None) -> None:
    """Refuse the rows of several systems where one run belongs; ``known`` holds the names in earlier rows."""
    known = {} if known is None else known
    for column in system_columns(frame):
        names = frame[column].cast(pl.String)
        if column not in known and names.null_count() < len(names):
            known[column] = names[int(names.is_not_null().arg_max() or 0)]
        others = names != known.get(column, "")
        if others.any():
            some = [known[column], *names.filter(others).drop_nulls().unique(maintain_order=True).head(3)]
            listed = ", ".join(map(shown, some[:3])) + (", …" if len(some) > 3 else "")
            raise DataError(
                f"these are the runs of several systems ({column} {listed}): give one run for each, or all of them as"
                f" the runs (--by-tag); if {column} means something else, leave the column out"
            )


def system_columns(frame: pl.DataFrame) -> list[str]:
    """Find the columns that may name the system of each row."""
    return [name for name in SYSTEMS if name in frame.columns and _is_plain(frame[name].dtype)]


def _is_plain(dtype: pl.DataType) -> bool:
    return not dtype.is_nested() and dtype not in (pl.Null, pl.Binary, pl.Object)


def by_system(frame: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Split the rows of several systems by the column that names them."""
    columns = system_columns(frame)
    if not columns:
        raise DataError(
            f"no column names the system of each row; expected one of {', '.join(SYSTEMS)}, or runs as {{system: run}}"
        )
    column = next((name for name in columns if frame[name].n_unique() > 1), columns[0])
    names = text_column(frame.with_columns(pl.col(column).cast(pl.String)), column, "runs")
    parts = frame.with_columns(names).partition_by(column, maintain_order=True, as_dict=True)
    return {name: part for (name,), part in parts.items()}


def truth_column(frame: pl.DataFrame, name: str, what: str) -> pl.Series:
    """Return column ``name`` as true or false; a missing value is false."""
    values = column(frame, name, what).cast(pl.String).str.to_lowercase().fill_null("false")
    known = values.is_in(["true", "false", "1", "0", ""])
    if not known.all():
        row = int((~known).arg_max() or 0)
        raise DataError(f"{what}: {name} is {shown(values[row])}; expected true or false", row)
    return values.is_in(["true", "1"])


def check_mapping(value: object, what: str, expected: str) -> Mapping[Any, Any]:
    """Refuse anything but a mapping, with a message that names what was expected."""
    if not isinstance(value, Mapping):
        raise DataError(f"{what} must be {expected}; got {type(value).__name__}")
    return value


class Tabular(ABC):
    """An object that can be turned into a polars or pandas table."""

    @abstractmethod
    def to_polars(self) -> pl.DataFrame:
        """Return the object as a table.

        Returns
        -------
        polars.DataFrame
            One row per entry, with named columns.
        """

    def to_pandas(self) -> pd.DataFrame:
        """Return the table of :meth:`to_polars` as a pandas frame; needs pandas, not pyarrow.

        Returns
        -------
        pandas.DataFrame
            The same columns and rows.

        Examples
        --------
        >>> import rankdev as rd
        >>> list(rd.Run.from_scores({"q": {"d1": 0.5}}).to_pandas().columns)
        ['query', 'item', 'rank', 'score']
        """
        try:
            import pandas as pd
        except ImportError:
            raise MissingExtraError("pandas", "pandas", "to_pandas()") from None
        frame = self.to_polars()
        return pd.DataFrame({name: frame[name].to_list() for name in frame.columns})


def places_in(known: pl.Series, values: pl.Series) -> Ints:
    """Return where each value is in a column of different ones; -1 where it is not."""
    lookup = pl.DataFrame({"name": known, "place": pl.int_range(len(known), eager=True)})
    found = pl.DataFrame({"name": values}).join(lookup, on="name", how="left", maintain_order="left")
    return found["place"].fill_null(-1).to_numpy()
