"""Formats for machines: the rows of a report, and in JSON all that was computed."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, SupportsFloat

from rankdev import __version__
from rankdev._common.lazy import pl
from rankdev.display.encodings import report_format

if TYPE_CHECKING:
    from rankdev.display.report import Report


_PIECE_ROWS = 100_000


@report_format("json", ".json", holds_remarks=True)
def as_json(report: Report) -> bytes:
    """A result of a statistical command is an object with all that was computed; others are lists of records."""
    content: Any = records(_rows(report))
    if report.command:
        content = {
            **_origin(report),
            "summary": records(report.rows if report.summary is None else report.summary),
            "rows": content,
            **{name: records(frame) for name, frame in report.more.items()},
            **({"conclusion": report.conclusion} if report.conclusion else {}),
            "remarks": list(report.remarks),
        }
    return (json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode()


@report_format("jsonl", ".jsonl")
def as_jsonl(report: Report) -> bytes:
    """Return one record per line."""
    lines = (json.dumps(row, ensure_ascii=False, allow_nan=False) for row in records(_rows(report)))
    return "".join(f"{line}\n" for line in lines).encode()


@report_format("csv", ".csv")
def as_csv(report: Report) -> Iterator[bytes]:
    """Return comma-separated rows; nothing between two commas where a value was not measured, inf for the infinite."""
    return _delimited(_rows(report), ",")


@report_format("tsv", ".tsv")
def as_tsv(report: Report) -> Iterator[bytes]:
    """Return the same with tabs."""
    return _delimited(_rows(report), "\t")


def _delimited(rows: pl.DataFrame, separator: str) -> Iterator[bytes]:
    for begin in range(0, max(1, len(rows)), _PIECE_ROWS):
        buffer = io.BytesIO()
        rows[begin : begin + _PIECE_ROWS].write_csv(buffer, separator=separator, include_header=begin == 0)
        yield buffer.getvalue()


@report_format("parquet", ".parquet", binary=True)
def as_parquet(report: Report) -> bytes:
    """Return the rows with their types; how they were made is in the file's metadata, under rankdev."""
    buffer = io.BytesIO()
    about = report.provenance or (json.dumps(_origin(report)) if report.command else "")
    report.rows.write_parquet(buffer, metadata={"rankdev": about} if about else None)
    return buffer.getvalue()


def _rows(report: Report) -> pl.DataFrame:
    """Return the rows, with a noteworthy provenance in the first."""
    if not report.noteworthy:
        return report.rows
    first = pl.int_range(pl.len()) == 0
    return report.rows.with_columns(provenance=pl.when(first).then(pl.lit(report.provenance)))


def _origin(report: Report) -> dict[str, Any]:
    return {"command": report.command, "version": __version__, "parameters": plain_value(report.parameters)}


def records(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """Return rows as JSON has them: null for what was not measured, the text "Infinity" for what is infinite."""
    found = frame.to_dicts()
    floats = [name for name, dtype in frame.schema.items() if dtype.is_float()]
    odd = [name for name in floats if not frame[name].is_finite().all()]
    for row in found if odd else []:
        row.update({name: plain_value(row[name]) for name in odd})
    return found


def plain_value(value: Any) -> Any:
    """Write a value so that JSON can hold it."""
    if isinstance(value, Mapping):
        return {str(name): plain_value(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain_value(part) for part in value]
    if value is None or isinstance(value, str | int):
        return value
    return _json_number(float(value)) if isinstance(value, SupportsFloat) else str(value)


def _json_number(value: float) -> float | str | None:
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else "Infinity" if value > 0 else "-Infinity"
