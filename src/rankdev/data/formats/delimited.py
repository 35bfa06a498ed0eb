"""CSV and TSV, batch by batch: fast for regular batches, with Python's csv module from the first irregular one on."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import ClassVar

from rankdev._common.ids import text_series
from rankdev._common.lazy import pl
from rankdev._common.names import NONE, our_name
from rankdev.data.formats.base import BYTE_ORDER_MARK, Part, TableFormat, begins_json, check_header
from rankdev.data.options import ReadOptions
from rankdev.errors import DataError

_SPACE = " \t"
_NUMBERS = {"score", "rank", "grade", "value", "position", "doc_position"}
_QUEPID = ["query", "docid", "rating"]  # its export has lines of a query alone
_ROWS = 200_000  # read with care at once
_OTHER_COLUMNS = {"item", "winner", "a", "a1", "arg1", "measure"}  # what a table of ours has besides queries


class Delimited(TableFormat, abstract=True):
    """Lines of columns with a mark between them, the first with their names."""

    ending_decides = True
    separator: ClassVar[str]

    def recognises(self, head: bytes, ending: str, columns: Mapping[str, str] = NONE) -> bool:
        """By the extension, or by names in the header that our tables have."""
        if ending in (".csv", ".tsv"):
            return ending == self.ending
        line = head.lstrip().partition(b"\n")[0]
        mark = separator_of(line, self.separator).encode()
        names = {name.strip(b' "\r').decode(errors="replace").lower() for name in line.split(mark)}
        known = {our_name(name, columns) for name in names}
        return "query" in known and bool(known & _OTHER_COLUMNS) and not begins_json(head, ending)

    def parts(
        self, pieces: Iterable[bytes], read: ReadOptions, columns: Collection[str] | None = None
    ) -> Iterator[Part]:
        """Yield the rows of each batch; identifiers stay as they are written."""
        pieces = iter(pieces)
        first = next(pieces, b"")
        separator = separator_of(first.lstrip().partition(b"\n")[0], self.separator)
        parts = csv_parts(chain([first], pieces), separator)
        return (_with_points(part, read.columns or NONE) for part in parts) if separator == ";" else parts

    def encode(self, frame: pl.DataFrame) -> bytes:
        """Return the lines; refuse texts that would be read back without their white space."""
        for column in frame.select(pl.col(pl.String)):
            padded = column.filter(column.str.contains(r"^\s|\s$|\x00"))
            if len(padded):
                raise DataError("unwritable-name", name=padded[0])
        return frame.write_csv(separator=self.separator).encode()


def separator_of(header: bytes, usual: str) -> str:
    """Return what separates columns: as usual; or, without commas, the semicolons or tabs of a spreadsheet's .csv."""
    if usual != "," or b"," in header:
        return usual
    return ";" if b";" in header else "\t" if b"\t" in header else usual


def _with_points(part: Part, columns: Mapping[str, str]) -> Part:
    """Write decimal commas as points; a column that has both, 1.234,5 or 1.5 and 1,5, stays as it is and is refused."""
    frame, line_of = part
    for column in frame:
        if our_name(column.name, columns) in _NUMBERS and column.str.contains(",", literal=True).any():
            decimals = column.str.contains(r"^\s*[-+]?\d*,\d+([eE][-+]?\d+)?\s*$|^[^.,]*$")
            if decimals.all():
                frame = frame.with_columns(column.str.replace(",", ".", literal=True))
    return frame, line_of


class Csv(Delimited):
    """Commas; semicolons where the header has them."""

    name = "csv"
    separator = ","


class Tsv(Delimited):
    """Tabs."""

    name = "tsv"
    separator = "\t"


def csv_parts(batches: Iterable[bytes], separator: str) -> Iterator[Part]:
    """Yield the rows of a table in parts; identifiers stay as they are written."""
    header: list[str] | None = None
    line = 1
    batches = iter(batches)
    for text in batches:
        # a batch may end inside quotes; what follows is then read with care
        frame = None if text.count(b'"') % 2 else _regular(text, separator, header)
        if frame is None:
            yield from _careful(chain([text], batches), separator, header, line)
            return
        yield frame, _lines_of(text, separator, header, line)
        header = frame.columns
        line += text.count(b"\n")


def _regular(text: bytes, separator: str, header: list[str] | None) -> pl.DataFrame | None:
    """Read a regular table, fast; None where it takes more care."""
    mark = re.escape(separator).encode()
    quoted = rb'(?:(?<=[\n%b])|^)"[^"]*(?:""[^"]*)*"(?=[\r\n%b]|$)' % (mark, mark)
    bare = re.sub(quoted, b"", text) if b'"' in text else text
    marked = text.startswith(BYTE_ORDER_MARK)  # polars drops a byte-order mark, which here is part of a name
    if marked or b'"' in bare or (b"\r" in text and text.count(b"\r") != text.count(b"\r\n")):
        return None
    try:
        frame = pl.read_csv(text, has_header=False, separator=separator, infer_schema=False)
    except (pl.exceptions.PolarsError, OSError, ValueError):
        return None
    frame = frame.select(pl.all().str.strip_chars(_SPACE))
    if frame.is_empty() or frame.width < 2 or any(column.null_count() for column in frame):
        return None
    if bare.count(separator.encode()) != frame.height * (frame.width - 1):  # polars drops fields past the header's
        return None
    if header is None:
        if frame.height < 2 or len(set(frame.row(0))) < frame.width:
            return None
        header, frame = list(frame.row(0)), frame[1:]
    return frame.rename(dict(zip(frame.columns, header, strict=True))) if frame.width == len(header) else None


def _lines_of(text: bytes, separator: str, header: list[str] | None, line: int) -> Callable[[int], int | None]:
    def line_of(row: int) -> int | None:
        for frame, lines in _careful([text], separator, header, line):
            if row < frame.height:
                return lines(row)
            row -= frame.height
        raise IndexError(row)

    return line_of


def _careful(batches: Iterable[bytes], separator: str, header: list[str] | None, line: int) -> Iterator[Part]:
    """Read row by row; ``line`` is the first, and ``header`` is known where it was on an earlier one."""
    texts = _text_lines(batches, line)
    reader = csv.reader(texts, delimiter=separator, strict=True, skipinitialspace=True)
    rows: list[list[str]] = []
    lines: list[int] = []
    try:
        for row in reader:
            fields = [field.strip(_SPACE) for field in row]
            if fields in ([], [""]):
                continue
            at = line - 1 + reader.line_num
            if header is None:
                header = fields
                check_header(header, at)
                continue
            if header == _QUEPID and len(row) == 1:
                row = fields = [*fields, "", ""]  # noqa: PLW2901 (nothing is rated)
            if len(row) != len(header):
                raise DataError("column-count", count=len(row), expected=len(header), names=header, line=at)
            rows.append(fields)
            lines.append(at)
            if len(rows) == _ROWS:
                yield _frame(header, rows), lines.__getitem__
                rows, lines = [], []
    except csv.Error as error:
        raise DataError("unusable-table", what="file", why=str(error), line=line - 1 + reader.line_num) from None
    if header is None:
        raise DataError("no-rows", what="table")
    yield _frame(header, rows), lines.__getitem__


def _frame(header: list[str], rows: list[list[str]]) -> pl.DataFrame:
    columns = zip(*rows, strict=True) if rows else [()] * len(header)
    return pl.DataFrame({key: text_series(key, values) for key, values in zip(header, columns, strict=True)})


def _text_lines(batches: Iterable[bytes], line: int) -> Iterator[str]:
    for batch in batches:
        try:
            text = batch.decode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError("not-utf8", line=line + batch.count(b"\n", 0, error.start)) from None
        yield from io.StringIO(text, newline="")
        line += batch.count(b"\n")
