"""Folders of Parquet files, as Spark, DuckDB and Hive write them: one table."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import polars as pl

from rankdev._common.names import ALIASES
from rankdev.errors import FileFormatError, UsageError
from rankdev.io.streams import Source, plain_suffix
from rankdev.io.table_formats.base import Table
from rankdev.io.tables import ENDINGS, table_batches

_PARQUET = {".parquet", ".pq"}
_DATA = {*ENDINGS, ".xlsx", ".run", ".trec", ".res"} - _PARQUET
_VERSIONED = ("_delta_log", ".hoodie")  # which of the files are still part of the table is written there
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


def folder_batches(folder: Path, columns: Collection[str]) -> Iterator[Table]:
    """Yield the tables of a folder's files, in the order of their names; some may be empty, not all.

    Names that begin with a dot or an underscore are not data: Spark keeps what is unfinished there. Columns may be in
    the names of folders, as in ``query=q1/part-0.parquet``.
    """
    empty = True
    for file in _files(folder):
        places = _partitions(file.relative_to(folder))
        with Source(file) as source:
            for table in table_batches(source, "parquet", columns, may_be_empty=True):
                wanted = {name: value for name, value in places.items() if name in columns}
                missing = {name: pl.lit(value) for name, value in wanted.items() if name not in table.frame.columns}
                yield replace(table, frame=table.frame.with_columns(**missing))
                empty = False
    if empty:
        raise FileFormatError(folder, "the tables have no rows")


def _files(folder: Path) -> list[Path]:
    """Find the files that are one table; refuse what would silently be left out or counted twice."""
    if any((folder / name).exists() for name in _VERSIONED):
        raise UsageError(f"{folder}: its log lists which files count; read it by its own library, as a frame")
    entries = [path for path in sorted(folder.rglob("*")) if path.is_file() and not _hidden(path.relative_to(folder))]
    files = [entry for entry in entries if _is_parquet(entry)]
    if not files:
        raise UsageError(
            f"{folder}: this is a folder; give a file, or a folder that holds .parquet files; its files are {folder}/*"
        )
    for entry in entries:
        if plain_suffix(entry) in _DATA:
            raise UsageError(f"{entry}: of a folder only .parquet files are read; move it away, or read it alone")
    return files


def _is_parquet(path: Path) -> bool:
    """Return whether a file is Parquet, by its ending, or by its first bytes: Hive writes files called 000000_0."""
    if path.suffix:
        return plain_suffix(path) in _PARQUET
    try:
        with path.open("rb") as file:
            return file.read(4) == b"PAR1"
    except OSError as error:
        raise UsageError(f"{path}: cannot be opened ({error.strerror})") from None


def _hidden(path: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.parts)


def _partitions(path: Path) -> dict[str, str | None]:
    """Read the columns that are in the names of folders."""
    pairs = [part.partition("=") for part in path.parent.parts if "=" in part]
    return {ALIASES.get(name, name): None if value == _NO_VALUE else unquote(value) for name, _, value in pairs}
