"""Several tables that belong together."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING

from rankdev.reporting.tables import Format, Report

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Bundle:
    """Tables for people, one after the other, and one table of records, a row a fact, for machines."""

    records: pl.DataFrame
    reports: Sequence[Report]
    notes: Sequence[str] = ()

    def encode(self, form: Format) -> bytes:
        """Give everything as the bytes of one file."""
        if form == "latex":
            parts = [f"% {report.title}\n".encode() + report.encode(form) for report in self.reports]
            return b"\n".join(parts)
        if form == "table":
            buffer = io.StringIO()
            self.print_table(buffer)
            return buffer.getvalue().encode()
        return Report(self.records, self.records).encode(form)

    def print_table(self, stream: IO[str]) -> None:
        """Print table after table, and the notes at the end."""
        for i, report in enumerate(self.reports):
            last = i == len(self.reports) - 1
            shown = replace(report, notes=(*report.notes, *self.notes)) if last else report
            shown.print_table(stream)
            if not last:
                stream.write("\n")
