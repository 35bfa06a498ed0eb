"""JSONL: one record per line."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from operator import add
from typing import Any

from rankdev._common.columns import mixed_series
from rankdev._common.ids import as_id
from rankdev._common.lazy import pl
from rankdev._common.names import ALIASES, NONE
from rankdev.data.formats.base import Part, TableFormat, begins_json
from rankdev.data.json_text import loads, loads_line
from rankdev.data.options import ReadOptions
from rankdev.errors import DataError, errors_at

_KEY = re.compile(r"[\w-]+", re.ASCII)
_BLANK = rb"[ \t]*+"
_CHARACTERS = rb'[^"\\\x00-\x1f]*+'
_ESCAPE = rb'\\(?:["\\/bfnrt]|u(?![dD][89a-fA-F])[0-9a-fA-F]{4})'
_TEXT = rb'"' + _CHARACTERS + rb"(?:" + _ESCAPE + _CHARACTERS + rb')*+"'
_WHOLE = rb"-?(?:0|[1-9][0-9]{0,17}+)"
_NUMBER = rb"-?(?:0|[1-9][0-9]{0,17}+)(?:\.[0-9]++)?(?:[eE][-+]?[0-9]{1,3}+)?"


class Jsonl(TableFormat):
    """Records, one per line."""

    name = "jsonl"

    def recognises(self, head: bytes, ending: str, columns: Mapping[str, str] = NONE) -> bool:
        """By the extension, or by a first line that is a record."""
        line = head.lstrip().partition(b"\n")[0]
        return begins_json(head, ending) and (ending == self.ending or _is_record(line))

    def parts(
        self, pieces: Iterable[bytes], read: ReadOptions, columns: Collection[str] | None = None
    ) -> Iterator[Part]:
        """Yield the records in parts, one for each batch of lines."""
        line = 1
        for text in pieces:
            frame = _alike(text)
            if frame is not None:
                yield frame, partial(add, line)
            elif text.strip():
                yield _careful(text, line)
            line += text.count(b"\n")

    def encode(self, frame: pl.DataFrame) -> bytes:
        """Return the lines."""
        return frame.write_ndjson().encode()


def _is_record(line: bytes) -> bool:
    """Distinguish a line of JSONL, an object about one query, from a JSON document, which maps queries to items."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return line.startswith(b'{"query"')
    return isinstance(value, dict) and any(not isinstance(entry, dict | list) for entry in value.values())


def _alike(text: bytes) -> pl.DataFrame | None:
    """Read flat records, all with the keys of the first and in its order, fast; None where it takes more care.

    polars would take the first of two equal keys, and make text of what is neither text nor a number.
    """
    try:
        first = loads(text.partition(b"\n")[0])
    except (ValueError, RecursionError):
        return None
    if not isinstance(first, dict) or not first or not all(_KEY.fullmatch(key) for key in first):
        return None
    values = {key: _pattern(key, value) for key, value in first.items()}
    fields = [_BLANK.join([b'"%b"' % key.encode(), b":", value]) for key, (value, _) in values.items() if value]
    if len(fields) < len(values):
        return None
    record = _BLANK.join([rb"\{", (_BLANK + b"," + _BLANK).join(fields), rb"\}"])
    text = text.rstrip() + b"\n"
    if not re.fullmatch(rb"(?:%b%b[ \t\r]*+\n)++" % (_BLANK, record), text):
        return None
    try:
        text.decode()
        frame = pl.read_ndjson(text, schema={key: dtype for key, (_, dtype) in values.items()})
    except (pl.exceptions.PolarsError, ValueError):
        return None
    whole = frame.height == text.count(b"\n") and not any(column.null_count() for column in frame)
    return frame if whole else None


def _pattern(key: str, value: Any) -> tuple[bytes, Any]:
    """Return how a value like this one is written in all records, and its type; empty for what takes more care."""
    if isinstance(value, str):
        return _TEXT, pl.String
    if isinstance(value, bool) or not isinstance(value, int | float):
        return b"", None
    if key in ("score", "rank", "grade", "relevance"):
        return _NUMBER, pl.Float64
    return (_WHOLE, pl.Int64) if isinstance(value, int) else (b"", None)


def _careful(text: bytes, begin: int) -> Part:
    records: list[dict[str, Any]] = []
    lines: list[int] = []
    for at, line in enumerate(text.split(b"\n"), start=begin):
        if not line.strip():
            continue
        record = loads_line(line, at)
        with errors_at(line=at):
            if not isinstance(record, dict):
                raise DataError("not-an-object")
            records.append({key: _normalised(key, value) for key, value in record.items()})
        lines.append(at)
    keys = dict.fromkeys(key for record in records for key in record)
    frame = pl.DataFrame({key: mixed_series(key, [record.get(key) for record in records]) for key in keys})
    return frame, lines.__getitem__


def _normalised(key: str, value: Any) -> Any:
    """Make identifiers text, and true a number as it is elsewhere, so that a column has one type in every batch."""
    if ALIASES.get(key, key) in ("tiers", "items", "nonrelevant") and isinstance(value, list):
        return [[as_id(item) for item in tier] if isinstance(tier, list) else as_id(tier) for tier in value]
    if key in ("score", "rank") and isinstance(value, bool):
        return int(value)
    return as_id(value) if ALIASES.get(key, key) in ("query", "item") and value is not None else value
