"""Formats of tables: CSV, TSV, JSONL, JSON, Parquet and Excel's workbooks, read and written.

A format is an entry of :data:`FORMATS`, and a line of :func:`kind_of` that recognises it.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

from rankdev._common.checks import check_path
from rankdev._common.lazy import pl
from rankdev.data.ids import text_series
from rankdev.data.options import OF_QUERIES, ReadOptions
from rankdev.data.tables import NONE, first_line, our_name
from rankdev.data.write import PathLike, is_stream, plain_suffix
from rankdev.errors import DataError, MissingExtraError, UsageError

LineOf: TypeAlias = "Callable[[int], int | None]"
"""The line of a row, where a file has lines."""
BYTE_ORDER_MARK = "\ufeff".encode()
_SPACE = " \t"
_NUMBERS = {"score", "rank", "grade", "value", "position", "doc_position"}
_QUEPID = ["query", "docid", "rating"]  # its export has lines of a query alone
_OTHER_COLUMNS = {"item", "winner", "a", "a1", "arg1", "measure", *OF_QUERIES}  # besides queries
_JSON_BEGINS = re.compile(rb'\s*(\{\s*(["}]|$)|\[\s*([\[{"\]]|$))')
_NO_HEADER = re.compile(rb"\S+\t(0|Q0)\t\S+\t-?\d")  # TREC's columns, as MS MARCO has them
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
NO_LINES: LineOf = lambda row: None  # noqa: E731


def kind_of(head: bytes, suffix: str = "", columns: Mapping[str, str] = NONE) -> str:
    """Infer the kind of file from its first bytes and its extension: a format of tables, or ``"trec"``."""
    if not head.strip():
        raise DataError("empty-file")
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise DataError("not-utf8")
    if head.startswith(b"PAR1") and b"\0" in head:
        return "parquet"
    if head.startswith(b"PK\x03\x04"):
        if suffix == ".xlsx" or b"[Content_Types].xml" in head:
            return "xlsx"
        raise DataError("decompress-first", format="zip")
    if head[257:262] == b"ustar":
        raise DataError("decompress-first", format="tar")
    if b"\0" in head:
        raise DataError("binary-file")
    kind = kind_of_text(head, suffix, columns)
    if suffix in (".json", ".jsonl", ".parquet", ".xlsx") and kind not in ("json", "jsonl"):
        raise DataError("wrong-content", expected=suffix[1:])
    return kind


def kind_of_text(head: bytes, suffix: str = "", columns: Mapping[str, str] = NONE) -> str:
    """Infer the kind of a text: of JSON by its beginning, of tables by their extension or the names in their header."""
    line = head.lstrip().partition(b"\n")[0]
    if suffix in (".csv", ".tsv"):
        return "trec" if suffix == ".tsv" and _NO_HEADER.match(line) else suffix[1:]
    if _JSON_BEGINS.match(head):
        return "jsonl" if suffix == ".jsonl" or _is_record(line) else "json"
    for kind, mark in (("csv", _separator(line, ",")), ("tsv", "\t")):
        names = {name.strip(b' "\r').decode(errors="replace") for name in line.split(mark.encode())}
        known = {our_name(name, columns) for name in names}
        if "query" in known and known & _OTHER_COLUMNS:
            return kind
    return "trec"


def _is_record(line: bytes) -> bool:
    """Distinguish a line of JSONL, an object about one query, from a JSON document, which maps queries to items."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return line.startswith(b'{"query"')
    return isinstance(value, dict) and any(not isinstance(entry, dict | list) for entry in value.values())


def _separator(header: bytes, usual: str) -> str:
    """Return what separates columns: as usual; or, without commas, the semicolons or tabs of a spreadsheet's .csv."""
    if usual != "," or b"," in header:
        return usual
    return ";" if b";" in header else "\t" if b"\t" in header else usual


def _read_csv(content: bytes, read: ReadOptions, usual: str = ",") -> tuple[pl.DataFrame, LineOf]:
    separator = _separator(content.lstrip().partition(b"\n")[0], usual)
    frame = _quickly(content, separator)
    line_of: LineOf = lambda row: row + 2  # noqa: E731
    if frame is None:
        frame, lines = _carefully(content, separator)
        line_of = lines.__getitem__
    return (_with_points(frame, read) if separator == ";" else frame), line_of


def _quickly(text: bytes, separator: str) -> pl.DataFrame | None:
    """Read a regular table without quotes, a row on each line; None for anything else."""
    if b'"' in text or text.startswith(BYTE_ORDER_MARK) or text.count(b"\r") != text.count(b"\r\n"):
        return None
    try:
        frame = pl.read_csv(text, has_header=False, separator=separator, infer_schema=False, quote_char=None)
    except (pl.exceptions.PolarsError, OSError, ValueError):
        return None
    frame = frame.select(pl.all().str.strip_chars(_SPACE))
    lines = text.count(b"\n") + (not text.endswith(b"\n"))
    if min(frame.shape) < 2 or frame.height != lines or any(column.null_count() for column in frame):
        return None
    if text.count(separator.encode()) != lines * (frame.width - 1):  # polars drops fields past the header's
        return None
    header = frame.row(0)
    return frame[1:].rename(dict(zip(frame.columns, header, strict=True))) if len({*header}) == len(header) else None


def _carefully(content: bytes, separator: str) -> tuple[pl.DataFrame, list[int]]:
    """Read row by row; an error names the line."""
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise DataError("not-utf8", line=1 + content.count(b"\n", 0, error.start)) from None
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True, skipinitialspace=True)
    header: list[str] = []
    rows: list[list[str]] = []
    lines: list[int] = []
    try:
        for row in reader:
            fields = [field.strip(_SPACE) for field in row]
            if fields in ([], [""]):
                continue
            if not header:
                header = fields
                _check_header(header, reader.line_num)
                continue
            if header == _QUEPID and len(row) == 1:
                fields = [*fields, "", ""]  # nothing is rated
            if len(fields) != len(header):
                line = reader.line_num
                raise DataError("column-count", count=len(row), expected=len(header), names=header, line=line)
            rows.append(fields)
            lines.append(reader.line_num)
    except csv.Error as error:
        raise DataError("unusable-table", what="file", why=str(error), line=reader.line_num) from None
    columns = zip(*rows, strict=True) if rows else [()] * len(header)
    return pl.DataFrame({key: text_series(key, values) for key, values in zip(header, columns, strict=True)}), lines


def _check_header(header: list[str], line: int) -> None:
    """Refuse two columns of the same name."""
    name, count = Counter(header).most_common(1)[0] if header else ("", 0)
    if count > 1:
        raise DataError("column-twice", name=name, line=line)


def _with_points(frame: pl.DataFrame, read: ReadOptions) -> pl.DataFrame:
    """Write decimal commas as points; a column that has both, 1.234,5 or 1.5 and 1,5, stays as it is and is refused.

    Where commas are usual, 1.234 is more than a thousand: noted where all numbers could be such.
    """
    for column in frame:
        if our_name(column.name, read.columns or NONE) not in _NUMBERS:
            continue
        if column.str.contains(r"^\s*[-+]?\d*,\d+([eE][-+]?\d+)?\s*$|^[^.,]*$").all():
            frame = frame.with_columns(column.str.replace(",", ".", literal=True))
        elif column.str.contains(r"^[-+]?([1-9]\d{0,2}(\.\d{3})+|\d{1,3})$").all():
            read.note("thousands", name=column.name, value=column.filter(column.str.contains(".", literal=True))[0])
    return frame


def loads(content: bytes, first: int = 1) -> Any:
    """Read JSON in which no name of an object appears twice and every text is text; ``first`` is its first line."""
    try:
        value = json.loads(content.decode(), object_pairs_hook=_unrepeated)
        if _SURROGATE.search(content):
            json.dumps(value, ensure_ascii=False).encode()  # fails where half a pair stands alone, which is not text
    except DataError:
        raise
    except UnicodeDecodeError:
        raise DataError("not-utf8") from None
    except (ValueError, RecursionError) as error:
        raise DataError("not-json", why=getattr(error, "msg", None) or first_line(error)).at(
            line=first + error.lineno - 1 if isinstance(error, json.JSONDecodeError) else None
        ) from None
    return value


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a name that appears twice in an object, where JSON would keep the last."""
    value = dict(pairs)
    if len(value) < len(pairs):
        raise DataError("name-twice", name=Counter(name for name, _ in pairs).most_common(1)[0][0])
    return value


def _read_json(content: bytes, read: ReadOptions) -> tuple[Any, LineOf]:
    value = loads(content)
    if not value:
        raise DataError("not-by-query")
    return value, NO_LINES


def _read_jsonl(content: bytes, read: ReadOptions) -> tuple[list[dict[str, Any]], LineOf]:
    records: list[dict[str, Any]] = []
    lines: list[int] = []
    names: dict[str, str] = {}
    for at, line in enumerate(content.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            record = loads(line, at)
        except DataError as error:
            raise error.at(line=at) from None
        if not isinstance(record, dict):
            raise DataError("not-an-object", line=at)
        records.append({names.setdefault(name, name): value for name, value in record.items()})  # one text of each
        lines.append(at)
    return records, lines.__getitem__


def _read_parquet(content: bytes, read: ReadOptions) -> tuple[pl.DataFrame, LineOf]:
    try:
        return pl.read_parquet(io.BytesIO(content)), NO_LINES
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        raise DataError("damaged", why=first_line(error)) from None


def _read_xlsx(content: bytes, read: ReadOptions) -> tuple[pl.DataFrame, LineOf]:
    """Read the first sheet; its first row has the names of the columns."""
    try:
        import fastexcel
    except ImportError:
        raise MissingExtraError("fastexcel", "excel", "reading .xlsx") from None
    try:
        book = fastexcel.read_excel(content)
        frame = pl.DataFrame(book.load_sheet(0, schema_sample_rows=None))  # a type holds for all rows
        first = pl.DataFrame(book.load_sheet(0, header_row=None, n_rows=1, dtypes="string"))
    except (fastexcel.FastExcelError, pl.exceptions.PolarsError, OSError, ValueError) as error:
        raise DataError("damaged", why=first_line(error)) from None
    _check_header([text for text in (first.row(0) if first.height else ()) if text], 1)
    if len(book.sheet_names) > 1:
        read.note("first-sheet", count=len(book.sheet_names), name=book.sheet_names[0])
    lines = pl.Series(range(frame.height), dtype=pl.Int64)
    if frame.width:
        filled = frame.select(pl.any_horizontal(pl.all().is_not_null())).to_series()
        frame, lines = frame.filter(filled), lines.filter(filled)
    for column in frame.select(pl.col(pl.String)):
        dates = column.drop_nulls().str.contains(r"^\d{4}-\d\d-\d\d( 00:00:00)?$")
        if our_name(column.name, read.columns or NONE) in ("query", "item") and dates.any():
            read.note("dates-among-ids", name=column.name, value=column.drop_nulls().filter(dates)[0])
    return frame.with_columns(map(_whole, frame)), lambda row: int(lines[row]) + 2


def _whole(column: pl.Series) -> pl.Series:
    """Make whole numbers of cells that all hold such: a workbook knows no others, and ids may be numbers."""
    if not column.dtype.is_float() or not (column.is_null() | (column == column.floor())).all():
        return column
    return column.cast(pl.Int64) if not (column.abs() >= 2**53).any() else column


READERS: dict[str, Callable[[bytes, ReadOptions], tuple[Any, LineOf]]] = {
    "csv": _read_csv,
    "tsv": partial(_read_csv, usual="\t"),
    "json": _read_json,
    "jsonl": _read_jsonl,
    "parquet": _read_parquet,
    "xlsx": _read_xlsx,
}


def _encode_lines(frame: pl.DataFrame, separator: str) -> bytes:
    """Return the lines; refuse texts that would be read back without their white space."""
    for column in frame.select(pl.col(pl.String)):
        padded = column.filter(column.str.contains(r"^\s|\s$|\x00"))
        if len(padded):
            raise DataError("unwritable-name", name=padded[0])
    return frame.write_csv(separator=separator).encode()


def _encode_parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def encode_records(frame: pl.DataFrame) -> bytes:
    """Return a table as a JSON list of records; what is not finite is null, since JSON has no infinity."""
    floats = [name for name, dtype in frame.schema.items() if dtype.is_float()]
    finite = frame.with_columns(pl.when(pl.col(name).is_finite()).then(pl.col(name)) for name in floats)
    return (json.dumps(finite.to_dicts(), ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode()


WRITERS: dict[str, Callable[[pl.DataFrame], bytes]] = {
    ".csv": lambda frame: _encode_lines(frame, ","),
    ".tsv": lambda frame: _encode_lines(frame, "\t"),
    ".jsonl": lambda frame: frame.write_ndjson().encode(),
    ".parquet": _encode_parquet,
    ".json": encode_records,
}
ENDINGS = tuple(WRITERS)
_OTHERS = {".xlsx", ".xls", ".ods", ".xml", ".html", ".htm", ".yaml", ".yml", ".toml", ".pdf", ".md", ".tex", ".rtf"}
_OTHERS |= {".doc", ".docx", ".odt", ".ppt", ".pptx", ".png", ".svg", ".jpg", ".jpeg", ".gif", ".sqlite", ".db"}
_OTHERS |= {".pkl", ".pickle", ".npy", ".npz", ".h5", ".feather", ".arrow", ".avro", ".orc"}
_OTHERS |= {".zip", ".bz2", ".xz", ".7z", ".tar"}


def encode_table(frame: pl.DataFrame, path: PathLike) -> bytes:
    """Return a table as the bytes of a file in the format of the file's extension."""
    return WRITERS[check_table_name(path)](frame)


def check_table_name(path: PathLike) -> str:
    """Return the extension of a table's file, JSONL on standard output; refuse one that no format has."""
    suffix = ".jsonl" if str(path) == "-" else plain_suffix(path)
    if suffix not in ENDINGS:
        raise UsageError("bad-ending", path=path, endings=ENDINGS)
    return suffix


def check_trec_name(path: str | os.PathLike[str]) -> None:
    """Refuse extensions of formats that are not written; any other may be TREC."""
    if plain_suffix(path) in _OTHERS:
        raise UsageError("bad-ending", path=path, endings=[*ENDINGS, ".txt"])


def check_page_name(path: PathLike) -> None:
    """Refuse a page under a name that promises another kind of file."""
    if not is_stream(check_path(path)) and plain_suffix(path) not in (".html", ".htm"):
        raise UsageError("bad-ending", path=path, endings=[".html"])


def spreadsheet_safe(frame: pl.DataFrame) -> pl.DataFrame:
    """Put an apostrophe before each text that a spreadsheet would take for a formula; numbers stay as they are."""
    risky = pl.col(pl.String).str.contains(r"^[=+\-@\t\r]")
    return frame.with_columns(pl.when(risky).then("'" + pl.col(pl.String)).otherwise(pl.col(pl.String)).name.keep())
