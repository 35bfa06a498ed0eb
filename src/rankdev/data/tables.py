"""Tables from outside (polars, pandas, Arrow, records) as polars frames: what columns mean and hold."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from functools import lru_cache
from itertools import chain
from os import PathLike
from threading import RLock
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from rankdev._common.checks import is_list
from rankdev._common.lazy import pl
from rankdev._common.work import refuse_lost_threads
from rankdev.data.ids import as_id, text_series
from rankdev.errors import DataError, UsageError, errors_at, nearest

if TYPE_CHECKING:
    from rankdev.data.options import ReadOptions

OURS = (
    *("query", "item", "score", "rank", "distance", "grade", "tiers", "items", "retrieved"),
    *("system", "measure", "value", "weight", "segment", "cluster"),
)
NONE: Mapping[str, str] = MappingProxyType({})

# what ir_measures, PyTerrier, BEIR, ranx, shops and RAG pipelines call our columns, as :func:`plain_name` writes it
QUERIES = ("qid", "query", "queryid", "querytext", "question", "searchterm", "searchquery", "userinput")
USERS = ("userid", "user")  # a recommender's queries
KNOWN_NAMES = {
    "query": (*QUERIES, *USERS),
    "item": (
        *("item", "docno", "docid", "corpusid", "itemid", "movieid", "doc", "documentid"),
        *("productid", "passageid", "chunkid"),
    ),
    "score": ("score", "similarity", "relevancescore", "similarityscore", "prediction"),
    "grade": ("grade", "relevance", "label", "rating", "rel", "judgment", "judgement", "escilabel"),
    "distance": ("distance", "dist", "cosinedistance", "l2distance", "vectordistance"),
    "measure": ("measure", "metric"),
}
# where a table has all of these, the first is meant: the others are texts, or internal (PyTerrier)
PREFERRED = (
    ("qid", "query", "queryid", "querytext"),
    ("query", "querytext"),
    ("queryid", "question"),
    ("docno", "docid"),
)
INVISIBLE = "\ufeff\u200b\u2060"  # characters that nobody sees, and that make two names of one
SYSTEMS = ("system", "tag", "run_id", "run", "name", "snapshot_name")  # may name a row's system; the first that varies
POSITIONS = ("position", "doc_position")  # of a run; elsewhere a position may be that of a click
_NOT_OF_NAMES = re.compile(r":(token|float)$|[\W_]")
MOST_LEVELS = 100  # different grades, at most
DEEPEST = 50  # lists in lists
_NO_WORDS = ("nan", "inf", "infinity")
_IDS = ("query", "item", "system", "measure")
_FOREIGN = RLock()  # tables of one connection, such as DuckDB's, must not be read at the same time


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


def check_named(columns: object) -> None:
    """Check names of columns, by ours."""
    if not isinstance(columns, Mapping) or not all(isinstance(word, str) for pair in columns.items() for word in pair):
        raise UsageError("not-columns", value=columns)
    for name in columns:
        if name not in OURS:
            raise UsageError("unknown-column", name=name, near=nearest(name, OURS), known=OURS)


@lru_cache(1000)
def plain_name(column: str) -> str:
    """Return a name without capitals, blanks, punctuation and RecBole's types.

    >>> plain_name("WorkerId"), plain_name("worker_id"), plain_name("item_id:token")
    ('workerid', 'workerid', 'itemid')
    """
    return _NOT_OF_NAMES.sub("", column.lower())


_OUR_NAMES = {
    plain_name(name): name for name in (*SYSTEMS, *OURS, *POSITIONS, "nonrelevant", "nonrelevant_grades", "grades")
}
_OUR_NAMES |= {alias: name for name, aliases in KNOWN_NAMES.items() for alias in aliases}


def our_name(column: str, columns: Mapping[str, str] = NONE) -> str:
    """Return what rankdev calls a column: ``columns`` are names that were chosen, by ours.

    >>> our_name("Doc ID"), our_name("item_id:token"), our_name("Colour")
    ('item', 'item', 'Colour')
    """
    chosen = next((ours for ours, theirs in columns.items() if theirs == column), None)
    return chosen or _OUR_NAMES.get(plain_name(column), column)


def known_names(frame: pl.DataFrame, columns: Mapping[str, str] = NONE) -> pl.DataFrame:
    """Rename columns to rankdev's names: those that were chosen, and those that are known; two of one are refused."""
    chosen = {ours: theirs for ours, theirs in columns.items() if theirs in frame.columns}
    found: dict[str, list[str]] = {}
    renamed: dict[str, str] = {}
    for name in frame.columns:
        found.setdefault(our_name(name, columns), []).append(name)
    if is_beir(frame.columns):
        found["grade"] = found.pop("score")
    for ours, names in found.items():
        plain = [plain_name(name) for name in names]
        first = next((order[0] for order in PREFERRED if plain.count(order[0]) == 1 and {*plain} <= {*order}), None)
        if ours in chosen or len(names) == 1 or first is not None:
            renamed[chosen.get(ours) or names[0 if first is None else plain.index(first)]] = ours
        else:
            raise DataError("two-columns", name=ours, names=names)
    taken = [ours for theirs, ours in renamed.items() if theirs != ours and ours in frame.columns]
    return frame.drop(name for name in taken if name not in renamed).rename(renamed)


def is_interactions(columns: Collection[str], chosen: Mapping[str, str] = NONE) -> bool:
    """Recognise users and items that they chose, without a rank, a grade or a score; other pairs could be in order."""
    names = {our_name(name, chosen) for name in columns}
    users = {*map(plain_name, columns)} & {*USERS}
    return bool(users) and "item" in names and not names & {"rank", "grade", "score", "tiers", "items", *POSITIONS}


def levels(column: pl.Series) -> str | None:
    """Return the name of a column of few different numbers, such as grades or clicks; None of all others."""
    numbers = None if column.dtype.is_nested() else column.cast(pl.Float64, strict=False).drop_nulls()
    few = numbers is not None and 1 < numbers.n_unique() <= min(MOST_LEVELS, len(numbers) - 1)
    return column.name if few else None


def is_beir(columns: Collection[str]) -> bool:
    """Recognise the qrels of BEIR, whose grade is called score: taken for a run, they would be scored silently."""
    return {"query-id", "corpus-id", "score"} <= {*columns} and not {"grade", "relevance"} & {*columns}


def rated(frame: pl.DataFrame, read: ReadOptions) -> pl.Series | range:
    """Return the rows that have a rating, as exports of judging tools lack some."""
    name = next((name for name in frame.columns if plain_name(name) == "rating"), None)
    if name is None or our_name(name, read.columns or NONE) != "grade" or frame[name].dtype.is_nested():
        return range(len(frame))
    text = frame[name].cast(pl.String)
    missing = text.is_null() | text.is_in(["", "NaN"])
    if not missing.any() or missing.all():
        return range(len(frame))
    read.note("unrated", count=int(missing.sum()))
    return (~missing).arg_true()


@contextmanager
def renumbered(rows: pl.Series | Sequence[int]) -> Iterator[None]:
    """Name the row of an error as before only these were kept; none where what is inside is no table of the user's."""
    try:
        yield
    except DataError as error:
        row = error.fields.pop("row", None)
        if row is not None and len(rows):
            error.fields["row"] = int(rows[row])
        raise


def is_table(value: object) -> bool:
    """Return whether ``value`` is a table: a polars or pandas frame, or whatever exports Arrow."""
    return hasattr(type(value), "columns") or hasattr(value, "__arrow_c_stream__")


def is_record(value: object) -> bool:
    """Return whether a value is a mapping or a named tuple."""
    return isinstance(value, Mapping) or (isinstance(value, tuple) and hasattr(value, "_asdict"))


def table_of_records(value: Any) -> Any:
    """Turn a list of records (mappings or named tuples) into a table; leave everything else as it is.

    >>> table_of_records([{"query": "q", "item": "d", "rank": 1}]).columns
    ['query', 'item', 'rank']
    """
    if is_series(value) and str(value.dtype) == "object":
        return value.to_dict()  # lists by query
    if is_table(value) or not is_list(value):
        return value
    records = list(value)
    if not records or not all(map(is_record, records)):
        return records
    return frame_of([record if isinstance(record, Mapping) else record._asdict() for record in records])


def frame_of(records: Sequence[Mapping[Any, Any]]) -> pl.DataFrame:
    """Make a table of records; what one of them lacks is missing there."""
    try:
        return _joined(records)
    except DataError:
        for row, record in enumerate(records):
            with errors_at(row=row):
                _joined([record])
        raise


def _joined(records: Sequence[Mapping[Any, Any]]) -> pl.DataFrame:
    names = dict.fromkeys(name for record in records for name in record)
    return pl.DataFrame({str(name): _mixed(str(name), [record.get(name) for record in records]) for name in names})


def as_frame(table: Any) -> pl.DataFrame:
    """Turn a table into a polars frame whose columns have rankdev's names."""
    return known_names(as_polars(table))


def as_polars(table: Any) -> pl.DataFrame:
    """Turn a table, or records, into a polars frame whose columns keep their names."""
    refuse_lost_threads()
    table = table_of_records(table)
    if isinstance(table, str | PathLike):
        raise DataError("path-for-table", value=str(table))
    if isinstance(table, pl.DataFrame):
        objects = [column for column in table if column.dtype == pl.Object]
        table = table.with_columns(mixed_series(column.name, column.to_list()) for column in objects)
        return table.cast({pl.Categorical: pl.String, pl.Enum: pl.String})
    _check_depth([table])
    try:
        if isinstance(table, pl.LazyFrame):
            return table.collect()
        if type(table).__module__.partition(".")[0] == "pandas":
            return _from_pandas(table)
        with _FOREIGN:
            return as_polars(pl.DataFrame(table))
    except DataError:
        raise
    except (Exception, pl.exceptions.PanicException) as error:  # of any library, such as a closed connection
        raise DataError("unusable-table", what=type(table).__name__, why=first_line(error)) from None


def _from_pandas(table: Any) -> pl.DataFrame:
    """Take columns, and levels of the index with a name of their own, through NumPy: pyarrow is not needed."""
    if not hasattr(table, "columns"):
        raise DataError("series-for-table")
    names = [str(name) for name in table.columns]
    if len(set(names)) < len(names):
        raise DataError("column-twice", name=next(name for i, name in enumerate(names) if name in names[:i]))
    levels = {str(name): i for i, name in enumerate(table.index.names) if name is not None and str(name) not in names}
    columns = {name: table.index.get_level_values(level).to_numpy() for name, level in levels.items()}
    columns |= {name: table.iloc[:, place].to_numpy() for place, name in enumerate(names)}
    return pl.DataFrame(
        {name: _mixed(name, _plain(values)) if values.dtype == object else values for name, values in columns.items()}
    )


def _plain(values: Any) -> list[Any]:
    """Return an array as a list, and so the arrays in it."""
    return [_plain(value) if getattr(value, "ndim", 0) else value for value in values.tolist()]


def _mixed(name: str, values: list[Any]) -> pl.Series:
    """Make a column of Python values; identifiers among them follow :func:`as_id`, and may be missing."""
    if our_name(name) not in _IDS:
        return mixed_series(name, values)
    return text_series(name, [as_id(value) if _is_there(value) else None for value in values])


def _is_there(value: object) -> bool:
    return bool(value) if isinstance(value, str) else written(value) is not None


def mixed_series(name: str, values: list[Any]) -> pl.Series:
    """Make a column of values of any type, as text where the types are mixed."""
    _check_depth(values)
    if any(isinstance(value, Decimal) and not value.is_finite() for value in values):  # of which polars panics
        values = [str(value) if isinstance(value, Decimal) else value for value in values]
    try:
        made = pl.Series(name, values)
    except (Exception, pl.exceptions.PanicException):  # whatever polars does not take
        made = None
    if made is not None and made.dtype != pl.Object:
        return made
    return text_series(name, [value if isinstance(value, str) else written(value) for value in values])


def _check_depth(values: list[Any]) -> None:
    """Refuse lists in lists in lists, in which polars loses itself."""
    level = [value for value in values if isinstance(value, list | dict | tuple)]
    for _ in range(DEEPEST):
        inside = chain.from_iterable(value.values() if isinstance(value, dict) else value for value in level)
        level = [value for value in inside if isinstance(value, list | dict | tuple)]
        if not level:
            return
    raise DataError("too-deep", most=DEEPEST)


def written(value: object) -> str | None:
    """Return a value as text; None where it is missing."""
    text = str(value)
    return None if text in ("None", "nan", "<NA>", "NaT") else text


def first_line(error: object) -> str:
    """Return the first line of a library's error, without the explanations below it."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def is_series(value: Any) -> bool:
    """Recognise a Series of pandas, which may be a dict or a list."""
    return type(value).__module__.startswith("pandas") and hasattr(value, "to_dict") and not hasattr(value, "columns")


def as_dict(value: Any, **where: Any) -> Any:
    """Return a Series of pandas as the dict that it is; leave everything else as it is."""
    if not is_series(value):
        return value
    if not value.index.is_unique:
        raise DataError("index-twice", **where, value=value.index[value.index.duplicated()][0])
    return value.to_dict()


def check_mapping(value: object, what: str | None, expected: str, **where: Any) -> Mapping[Any, Any]:
    """Refuse anything but a mapping of this form."""
    value = as_dict(value, **where)
    if not isinstance(value, Mapping):
        raise DataError("wrong-form", role=what, expected=expected, value=value, **where)
    return value


def check_columns(frame: pl.DataFrame, names: Iterable[str], what: str, known: list[str]) -> None:
    """Refuse a table that lacks several columns; ``known`` are the names that it came with."""
    missing = [name for name in names if name not in frame.columns]
    if len(missing) > 1:
        raise DataError("no-columns", role=what, names=missing, known=known)
    if missing:
        raise DataError("no-column", role=what, name=missing[0], known=known)


def column(frame: pl.DataFrame, name: str, what: str) -> pl.Series:
    """Return column ``name``, or raise an error that lists the columns there are."""
    check_columns(frame, (name,), what, frame.columns)
    return frame[name]


def text_column(frame: pl.DataFrame, name: str, what: str) -> pl.Series:
    """Return column ``name`` as text; identifiers may be numbers in the source, never missing."""
    values = column(frame, name, what)
    whole = values.dtype.is_integer() or (isinstance(values.dtype, pl.Decimal) and not values.dtype.scale)
    if not (whole or values.dtype in (pl.String, pl.Null)):
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


def graded(frame: pl.DataFrame, grades: Mapping[str, float] | None) -> pl.DataFrame:
    """Replace words in the column of grades by the numbers that they stand for; a word without one is refused."""
    if "grade" not in frame.columns or frame["grade"].dtype != pl.String:
        return frame
    words = frame["grade"]
    known = {word: repr(float(number)) for word, number in (grades or {}).items()}
    numbers = words.replace(known)
    strange = list(filter(is_word, numbers.unique()))
    if strange:
        row = int(numbers.is_in(strange).arg_max() or 0)
        raise DataError("word-for-grade", value=words[row], row=row)
    return frame.with_columns(grade=numbers)


def is_word(value: object) -> bool:
    """Tell whether this is a word, which could stand for a grade, and no number."""
    return isinstance(value, str) and value.strip()[:1].isalpha() and value.strip().lower() not in _NO_WORDS


def truth_column(frame: pl.DataFrame, name: str, what: str) -> pl.Series:
    """Return column ``name`` as true or false; a missing value is false."""
    given = column(frame, name, what)
    if given.dtype.is_nested():
        raise DataError("bad-column", role=what, name=name, type=given.dtype, expected="true or false")
    values = given.cast(pl.String).str.to_lowercase().str.strip_chars().fill_null("false")
    known = values.is_in(["true", "yes", "1", "false", "no", "0", ""])
    if not known.all():
        row = int((~known).arg_max() or 0)
        raise DataError("bad-value", role=what, name=name, value=values[row], expected="true or false", row=row)
    return values.is_in(["true", "yes", "1"])


def system_columns(frame: pl.DataFrame) -> list[str]:
    """Find the columns that may name the system of each row."""
    return [
        name
        for name in SYSTEMS
        if name in frame.columns
        and not (frame[name].dtype.is_nested() or frame[name].dtype in (pl.Null, pl.Binary, pl.Object))
    ]


def system_column(frame: pl.DataFrame) -> str | None:
    """Return the column that names the system of each row: the first that varies, or the first; None without any."""
    columns = system_columns(frame)
    return next((name for name in columns if frame[name].n_unique() > 1), columns[0] if columns else None)


def check_one_system(frame: pl.DataFrame) -> None:
    """Refuse the rows of several systems where one run belongs."""
    for name in system_columns(frame):
        names = frame[name].cast(pl.String).drop_nulls().unique(maintain_order=True)
        if len(names) > 1:
            raise DataError("several-systems", column=name, names=names.to_list())


def by_system(table: pl.DataFrame, read: ReadOptions) -> dict[str, pl.DataFrame]:
    """Split the rows of several systems by the column that names them; all columns keep their names."""
    frame = read.named(table)
    name = system_column(frame)
    if name is None:
        raise DataError("no-systems", known=SYSTEMS)
    names = text_column(frame.with_columns(pl.col(name).cast(pl.String)), name, "runs")
    parts = table.with_columns(names.alias("\0")).partition_by(
        "\0", include_key=False, maintain_order=True, as_dict=True
    )
    return {system: part for (system,), part in parts.items()}
