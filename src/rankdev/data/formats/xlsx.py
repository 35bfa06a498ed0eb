"""Excel's workbooks: the table of their first sheet. They are read, and never written."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from rankdev._common.lazy import pl
from rankdev._common.names import NONE
from rankdev._common.tables import first_line
from rankdev.data.formats.base import Part, TableFormat, check_header
from rankdev.data.options import ReadOptions
from rankdev.errors import DataError, MissingExtraError, UsageError


class Xlsx(TableFormat):
    """The first sheet; its first row has the names of the columns."""

    name = "xlsx"
    binary = True
    written = False

    def recognises(self, head: bytes, ending: str, columns: Mapping[str, str] = NONE) -> bool:
        """A workbook is an archive of XML files."""
        return head.startswith(b"PK\x03\x04") and (ending == self.ending or b"[Content_Types].xml" in head)

    def parts(
        self, pieces: Iterable[bytes], read: ReadOptions, columns: Collection[str] | None = None
    ) -> Iterator[Part]:
        """Return all rows; they begin on the second line."""
        try:
            import fastexcel
        except ImportError:
            raise MissingExtraError("fastexcel", "excel", "reading .xlsx") from None
        try:
            book = fastexcel.read_excel(b"".join(pieces))
            frame = pl.DataFrame(book.load_sheet(0, schema_sample_rows=None))  # a type holds for all rows
            first = pl.DataFrame(book.load_sheet(0, header_row=None, n_rows=1, dtypes="string"))
        except (fastexcel.FastExcelError, pl.exceptions.PolarsError, OSError, ValueError) as error:
            raise DataError("damaged", why=first_line(error)) from None
        check_header([text for text in (first.row(0) if first.height else ()) if text], 1)
        if len(book.sheet_names) > 1:
            read.note("first-sheet", count=len(book.sheet_names), name=book.sheet_names[0])
        lines = pl.Series(range(frame.height), dtype=pl.Int64)
        if frame.width:
            filled = frame.select(pl.any_horizontal(pl.all().is_not_null())).to_series()
            frame, lines = frame.filter(filled), lines.filter(filled)
        yield frame.with_columns(map(_whole, frame)), lambda row: int(lines[row]) + 2

    def encode(self, frame: pl.DataFrame) -> bytes:
        """Refuse: a table without types and limits is safer."""
        raise UsageError("bad-ending", endings=[".csv"])


def _whole(column: pl.Series) -> pl.Series:
    """Make whole numbers of cells that all hold such: a workbook knows no others, and ids may be numbers."""
    if not column.dtype.is_float() or not (column.is_null() | (column == column.floor())).all():
        return column
    return column.cast(pl.Int64) if not (column.abs() >= 2**53).any() else column
