"""Parquet."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterable, Iterator, Mapping

from rankdev._common.lazy import pl
from rankdev._common.names import NONE, our_name
from rankdev._common.tables import first_line
from rankdev.data.formats.base import Part, TableFormat
from rankdev.data.options import ReadOptions
from rankdev.errors import DataError

_SLICE_ROWS = 1_000_000


class Parquet(TableFormat):
    """Columns with their types."""

    name = "parquet"
    binary = True

    def recognises(self, head: bytes, ending: str, columns: Mapping[str, str] = NONE) -> bool:
        """A text may begin with the same letters."""
        return head.startswith(b"PAR1") and b"\0" in head

    def parts(
        self, pieces: Iterable[bytes], read: ReadOptions, columns: Collection[str] | None = None
    ) -> Iterator[Part]:
        """Yield the rows in slices: a small file may decompress to much."""
        try:
            scan = pl.scan_parquet(io.BytesIO(b"".join(pieces)))
            chosen = read.columns or NONE
            names = [name for name in scan.collect_schema() if columns is None or our_name(name, chosen) in columns]
            scan = scan.select(names or pl.all())
            rows = scan.select(pl.len()).collect().item()
            for begin in range(0, max(rows, 1), _SLICE_ROWS):
                yield scan.slice(begin, _SLICE_ROWS).collect(), lambda row: None
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
            raise DataError("damaged", why=first_line(error)) from None

    def encode(self, frame: pl.DataFrame) -> bytes:
        """Return the bytes of a file."""
        buffer = io.BytesIO()
        frame.write_parquet(buffer)
        return buffer.getvalue()
