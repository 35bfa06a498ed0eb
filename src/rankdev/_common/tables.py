"""Tables from outside (polars, pandas, Arrow) as polars frames with named columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from os import PathLike
from threading import RLock
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from rankdev._common.checks import is_list
from rankdev._common.columns import mixed_series, written
from rankdev._common.ids import as_id, text_series
from rankdev._common.lazy import pl
from rankdev._common.names import ALIASES, known_names
from rankdev._common.work import refuse_lost_threads
from rankdev.errors import DataError, MissingExtraError

if TYPE_CHECKING:
    import pandas as pd

_FOREIGN = RLock()  # tables of one connection, such as DuckDB's, must not be read at the same time
IDS = ("query", "item", "system", "measure")


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
                raise DataError("record-for-items", query=query, value=item)


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
        raise DataError("path-for-table", value=str(table))
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
        raise DataError("unusable-table", what=type(table).__name__, why=first_line(error)) from None


def _from_pandas(table: Any) -> pl.DataFrame:
    """Take columns, and levels of the index with a name of their own, through NumPy: pyarrow is not needed."""
    if not hasattr(table, "columns"):
        raise DataError("series-for-table")
    names = [str(name) for name in table.columns]
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise DataError("column-twice", name=twice)
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
    return text_series(name, [None if _is_missing(value) else as_id(value) for value in values])


def _is_missing(value: object) -> bool:
    return value == "" if isinstance(value, str) else written(value) is None


def first_line(error: object) -> str:
    """Return the first line of a library's error, without the explanations below it."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def check_mapping(value: object, what: str | None, expected: str, **where: Any) -> Mapping[Any, Any]:
    """Refuse anything but a mapping of this form."""
    if not isinstance(value, Mapping):
        raise DataError("wrong-form", role=what, expected=expected, value=value, **where)
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
