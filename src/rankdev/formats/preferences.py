"""Files of pairwise judgments."""

from __future__ import annotations

import gzip
import io
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rankdev.errors import DataError, FileFormatError, MissingExtraError
from rankdev.references.preferences import Preferences
from rankdev.references.preferences.columns import RowError, columns_of, encode

if TYPE_CHECKING:
    import polars as pl

PACKED = (".gz", ".zst")
SHAPES = "'topic a b winner' or 'query preferred other'"


def read_preferences(path: str | Path, *, items: Mapping[str, Iterable[str]] | None = None) -> Preferences:
    """Read judgments from CSV, TSV, JSONL or Parquet, or from lines ``topic a b winner``.

    Anything not named ``.csv``, ``.tsv``, ``.jsonl`` or ``.parquet`` is read as lines of words: four are
    ``topic a b winner``, three are ``query preferred other``. ``.gz`` and ``.zst`` are unpacked, ``-`` is
    standard input. ``items`` lists what may be compared, by query.
    """
    name = str(path)
    frame, lines = _load(name, _bytes(name))
    try:
        return Preferences(**encode(columns_of(frame), items))
    except RowError as error:
        raise FileFormatError(name, error.message, lines[error.row]) from None
    except FileFormatError:
        raise
    except DataError as error:
        raise FileFormatError(name, str(error).removeprefix("preferences: ")) from None


def _bytes(name: str) -> bytes:
    if name == "-":
        return sys.stdin.buffer.read()
    try:
        raw = Path(name).read_bytes()
    except OSError as error:
        raise FileFormatError(name, f"cannot be read: {error.strerror}") from None
    try:
        if name.endswith(".gz"):
            return gzip.decompress(raw)
        if name.endswith(".zst"):
            return _unzstd(raw)
    except (OSError, EOFError) as error:
        raise FileFormatError(name, f"cannot be unpacked: {error}") from None
    return raw


def _unzstd(raw: bytes) -> bytes:
    try:
        import zstandard
    except ImportError:
        raise MissingExtraError("zstandard", "zstd", "reading .zst files") from None
    try:
        with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(raw)) as stream:
            return bytes(stream.read())
    except zstandard.ZstdError as error:
        raise OSError(str(error)) from None


def _load(name: str, raw: bytes) -> tuple[pl.DataFrame, list[int] | range]:
    """Give the table in a file and the line of each of its rows."""
    import polars as pl

    stem = name
    for suffix in PACKED:
        stem = stem.removesuffix(suffix)
    kind = Path(stem).suffix.lower()
    try:
        if kind in (".csv", ".tsv"):
            separator = "," if kind == ".csv" else "\t"
            frame = pl.read_csv(raw, separator=separator, infer_schema=False, truncate_ragged_lines=False)
            return frame, range(2, len(frame) + 3)
        if kind == ".parquet":
            frame = pl.read_parquet(raw)
            return frame, range(1, len(frame) + 2)
    except pl.exceptions.PolarsError as error:
        raise FileFormatError(name, f"not a {kind[1:]} table: {str(error).splitlines()[0]}") from None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileFormatError(name, f"not UTF-8 text: {error.reason}") from None
    return _json_lines(name, text) if kind in (".jsonl", ".ndjson") else _word_lines(name, text)


def _json_lines(name: str, text: str) -> tuple[pl.DataFrame, list[int]]:
    import polars as pl

    rows, lines = [], []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise FileFormatError(name, f"not JSON: {error.msg}", number) from None
        if not isinstance(row, dict):
            raise FileFormatError(name, "expected an object with query, winner, loser", number)
        rows.append({key: None if value is None else str(value) for key, value in row.items()})
        lines.append(number)
    keys = dict.fromkeys(key for row in rows for key in row)
    columns = {key: [row.get(key) for row in rows] for key in keys}
    return pl.DataFrame(columns, schema=dict.fromkeys(keys, pl.String)), lines


def _word_lines(name: str, text: str) -> tuple[pl.DataFrame, list[int]]:
    import polars as pl

    rows, lines = [], []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) not in (3, 4) or (rows and len(words) != len(rows[0])):
            expected = f"{len(rows[0])} words like the lines before" if rows else SHAPES
            raise FileFormatError(name, f"expected {expected}; found {len(words)} words", number)
        rows.append(words)
        lines.append(number)
    if not rows:
        raise FileFormatError(name, f"no comparisons; expected lines {SHAPES}")
    names = ["query", "winner", "loser"] if len(rows[0]) == 3 else ["query", "a", "b", "winner"]
    values = {key: list(column) for key, column in zip(names, zip(*rows, strict=True), strict=True)}
    return pl.DataFrame(values), lines
