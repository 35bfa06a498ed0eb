"""Tables of any format, in files and in folders of Parquet files; what names of files mean."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

from rankdev._common.checks import check_path
from rankdev._common.lazy import pl
from rankdev._common.names import ALIASES
from rankdev.data.formats import TABLE_FORMATS
from rankdev.data.formats.base import Table, joined
from rankdev.data.options import ReadOptions
from rankdev.data.text import PathLike, Source, plain_suffix
from rankdev.data.write import is_stream
from rankdev.errors import DataError, UsageError

ENDINGS = (*(known.ending for known in TABLE_FORMATS.values() if known.written), ".json")


def read_table(source: Source, kind: str) -> Table:
    """Read a table, its columns renamed to rankdev's names; in text files, identifiers stay as they are written."""
    table = parse_table(source.name, source.read(), kind, source.options)
    return Table(table.name, source.options.named(table.frame), table.line_of)


def parse_table(name: str, content: bytes, kind: str, read: ReadOptions) -> Table:
    """Make a table of a file's content; columns keep their names."""
    table = joined(name, TABLE_FORMATS[kind].parts([content], read))
    if table.frame.is_empty():
        raise DataError("no-rows", what="table")
    return table


def table_batches(
    source: Source, kind: str, columns: Collection[str], *, may_be_empty: bool = False
) -> Iterator[Table]:
    """Yield a table batch by batch, so that it never has to fit into memory; of Parquet, only these columns."""
    known, read = TABLE_FORMATS[kind], source.options
    empty = True
    for frame, line_of in known.parts(source.pieces() if known.binary else source.batches(), read, columns):
        if not frame.is_empty():
            yield Table(source.name, read.named(frame), line_of)
            empty = False
    if empty and not may_be_empty:
        raise DataError("no-rows", what="table")


def encode_records(frame: pl.DataFrame) -> bytes:
    """Return a table as a JSON list of records; what is not finite is null, since JSON has no infinity."""
    floats = [name for name, dtype in frame.schema.items() if dtype.is_float()]
    finite = frame.with_columns(pl.when(pl.col(name).is_finite()).then(pl.col(name)) for name in floats)
    return (json.dumps(finite.to_dicts(), ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode()


def check_table_name(path: PathLike) -> str:
    """Return the extension of a table's file; refuse one that no format has."""
    suffix = plain_suffix(path)
    if suffix not in ENDINGS:
        raise UsageError("bad-ending", path=path, endings=ENDINGS)
    return suffix


def spreadsheet_safe(frame: pl.DataFrame) -> pl.DataFrame:
    """Put an apostrophe before each text that a spreadsheet would take for a formula; numbers stay as they are."""
    risky = pl.col(pl.String).str.contains(r"^[=+\-@\t\r]")
    return frame.with_columns(pl.when(risky).then("'" + pl.col(pl.String)).otherwise(pl.col(pl.String)).name.keep())


def encode_table(frame: pl.DataFrame, path: PathLike) -> bytes:
    """Return a table as the bytes of a file in the format of the file's extension."""
    suffix = check_table_name(path)
    return encode_records(frame) if suffix == ".json" else TABLE_FORMATS[suffix[1:]].encode(frame)


_ENDINGS = {".run", ".txt", ".gz", ".zst", ".trec", ".res", ".xlsx", *ENDINGS}


def system_name(path: str) -> str:
    r"""Name a system after its file, without extensions such as .run, .txt and .gz; bytes that are no text as escapes.

    >>> system_name("runs/bm25.run.gz"), system_name("caf\udce9.run")
    ('bm25', 'caf\\xe9')
    """
    if path == "-":
        return "stdin"
    name = (Path(path).name or path).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    while Path(name).suffix.lower() in _ENDINGS and Path(name).stem:
        name = Path(name).stem
    return name


def runs_in(folder: str | Path) -> dict[str, str]:
    """Return the files of a folder by the name of their system, in order of name; hidden files are not runs."""
    runs: dict[str, str] = {}
    for path in sorted(Path(folder).iterdir()) if Path(folder).is_dir() else ():
        if path.is_file() and not path.name.startswith("."):
            name = system_name(str(path))
            if name in runs:
                raise UsageError("same-name", what="systems", name=name, paths=(runs[name], str(path)))
            runs[name] = str(path)
    if not runs:
        raise UsageError("no-runs-here", path=folder)
    return runs


_OTHERS = {".xlsx", ".xls", ".ods", ".xml", ".html", ".htm", ".yaml", ".yml", ".toml", ".pdf", ".md", ".tex", ".rtf"}
_OTHERS |= {".doc", ".docx", ".odt", ".ppt", ".pptx", ".png", ".svg", ".jpg", ".jpeg", ".gif", ".sqlite", ".db"}
_OTHERS |= {".pkl", ".pickle", ".npy", ".npz", ".h5", ".feather", ".arrow", ".avro", ".orc"}
_OTHERS |= {".zip", ".bz2", ".xz", ".7z", ".tar"}


def check_trec_name(path: str | os.PathLike[str]) -> None:
    """Refuse extensions of formats that are not written; any other may be TREC."""
    suffix = plain_suffix(path)
    if suffix in _OTHERS - {*ENDINGS}:
        raise UsageError("bad-ending", path=path, endings=[*ENDINGS, ".txt"])


def check_page_name(path: PathLike) -> None:
    """Refuse a page under a name that promises another kind of file."""
    if not is_stream(check_path(path)) and plain_suffix(path) not in (".html", ".htm"):
        raise UsageError("bad-ending", path=path, endings=[".html"])


_PARQUET = {".parquet", ".pq"}
_DATA = {*ENDINGS, ".xlsx", ".run", ".trec", ".res"} - _PARQUET
_VERSIONED = ("_delta_log", ".hoodie")  # which of the files are still part of the table is written there
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


def folder_batches(folder: Path, columns: Collection[str], read: ReadOptions) -> Iterator[Table]:
    """Yield the tables of a folder's files, in the order of their names; some may be empty, not all.

    Names that begin with a dot or an underscore are not data: Spark keeps what is unfinished there. Columns may be in
    the names of folders, as in ``query=q1/part-0.parquet``.
    """
    empty = True
    for file in _files(folder):
        places = _partitions(file.relative_to(folder))
        with Source(file, read) as source:
            for table in table_batches(source, "parquet", columns, may_be_empty=True):
                wanted = {name: value for name, value in places.items() if name in columns}
                missing = {name: pl.lit(value) for name, value in wanted.items() if name not in table.frame.columns}
                yield replace(table, frame=table.frame.with_columns(**missing))
                empty = False
    if empty:
        raise DataError("no-rows", what="table")


def _files(folder: Path) -> list[Path]:
    """Find the files that are one table; refuse what would silently be left out or counted twice."""
    if any((folder / name).exists() for name in _VERSIONED):
        raise UsageError("versioned-folder", path=folder)
    entries = [path for path in sorted(folder.rglob("*")) if path.is_file() and not _hidden(path.relative_to(folder))]
    files = [entry for entry in entries if _is_parquet(entry)]
    if not files:
        raise UsageError("is-folder", path=folder)
    for entry in entries:
        if plain_suffix(entry) in _DATA:
            raise UsageError("not-parquet", path=entry)
    return files


def _is_parquet(path: Path) -> bool:
    """Return whether a file is Parquet, by its extension, or by its first bytes: Hive writes files called 000000_0."""
    if path.suffix:
        return plain_suffix(path) in _PARQUET
    try:
        with path.open("rb") as file:
            return file.read(4) == b"PAR1"
    except OSError as error:
        raise UsageError("cannot-open", path=path, why=error.strerror) from None


def _hidden(path: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.parts)


def _partitions(path: Path) -> dict[str, str | None]:
    """Read the columns that are in the names of folders."""
    pairs = [part.partition("=") for part in path.parent.parts if "=" in part]
    return {ALIASES.get(name, name): None if value == _NO_VALUE else unquote(value) for name, _, value in pairs}
