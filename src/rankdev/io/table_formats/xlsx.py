"""Excel's workbooks: the table of their first sheet. They are read, and never written."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import polars as pl

from rankdev._common.tables import first_line
from rankdev.errors import DataError, FileFormatError, MissingExtraError
from rankdev.io.table_formats.base import Part, TableFormat


class Xlsx(TableFormat):
    """The first sheet; its first row has the names of the columns."""

    name = "xlsx"
    binary = True
    written = False

    def recognises(self, head: bytes, ending: str) -> bool:
        """A workbook is an archive of XML files."""
        return head.startswith(b"PK\x03\x04") and (ending == self.ending or b"[Content_Types].xml" in head)

    def parts(self, name: str, pieces: Iterable[bytes], columns: Collection[str] | None = None) -> Iterator[Part]:
        """Return all rows; they begin on the second line."""
        try:
            import fastexcel
        except ImportError:
            raise MissingExtraError("fastexcel", "excel", f"{name}: reading .xlsx") from None
        try:
            sheet = fastexcel.read_excel(b"".join(pieces)).load_sheet(0)
            frame = pl.DataFrame(sheet)
        except (fastexcel.FastExcelError, pl.exceptions.PolarsError, OSError, ValueError) as error:
            raise FileFormatError(name, f"this workbook cannot be read ({first_line(error)})") from None
        yield frame.with_columns(map(_whole, frame)), lambda row: row + 2

    def encode(self, frame: pl.DataFrame) -> bytes:
        """Refuse: a table without types and limits is safer."""
        raise DataError("workbooks are not written; write .csv")


def _whole(column: pl.Series) -> pl.Series:
    """Make whole numbers of cells that all hold such: a workbook knows no others, and ids may be numbers."""
    if not column.dtype.is_float() or not (column.is_null() | (column == column.floor())).all():
        return column
    return column.cast(pl.Int64) if not (column.abs() >= 2**53).any() else column
