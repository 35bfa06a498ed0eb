"""JSON documents and lines of JSON records."""

from __future__ import annotations

import codecs
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from operator import add
from typing import Any, TypeVar

import polars as pl

from rankdev.errors import DataError, FileFormatError, shown
from rankdev.formats.parts import Part
from rankdev.formats.streams import Source
from rankdev.tabular import ALIASES, as_id, first_line, mixed_series

Found = TypeVar("Found")
_WHITE_SPACE = re.compile(r"[ \t\n\r]*")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_KEY = re.compile(r"[\w-]+", re.ASCII)
_BLANK = rb"[ \t]*+"
_CHARACTERS = rb'[^"\\\x00-\x1f]*+'
_ESCAPE = rb'\\(?:["\\/bfnrt]|u(?![dD][89a-fA-F])[0-9a-fA-F]{4})'
_TEXT = rb'"' + _CHARACTERS + rb"(?:" + _ESCAPE + _CHARACTERS + rb')*+"'
_WHOLE = rb"-?(?:0|[1-9][0-9]{0,17}+)"
_NUMBER = rb"-?(?:0|[1-9][0-9]{0,17}+)(?:\.[0-9]++)?(?:[eE][-+]?[0-9]{1,3}+)?"


def read_json(source: Source) -> dict[str, Any]:
    """Read one JSON object."""
    try:
        value = loads(source.read())
    except DataError as error:
        raise FileFormatError(source.name, str(error)) from None
    except (ValueError, RecursionError) as error:
        raise not_json(source.name, error) from None
    if not isinstance(value, dict) or not value:
        raise FileFormatError(source.name, "expected a JSON object that maps each query to its items")
    return value


def not_json(name: str, error: ValueError | RecursionError) -> FileFormatError:
    """Say where a document ceases to be JSON."""
    line = error.lineno if isinstance(error, json.JSONDecodeError) else None
    return FileFormatError(name, f"this is not JSON ({first_line(error)})", line)


def loads(content: bytes) -> Any:
    """Read JSON in which no name of an object appears twice and every text is text."""
    value = json.loads(content.decode(), object_pairs_hook=unrepeated)
    if _SURROGATE.search(content):
        json.dumps(value, ensure_ascii=False).encode()  # fails where half a pair stands alone, which is not text
    return value


def unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a name that appears twice in an object, where JSON would keep the last."""
    value = dict(pairs)
    if len(value) < len(pairs):
        name = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise DataError(f"{shown(name)} appears twice in the same object; keep one")
    return value


def jsonl_parts(name: str, batches: Iterable[bytes]) -> Iterator[Part]:
    """Give the records in parts, one for each batch of lines."""
    line = 1
    for text in batches:
        frame = _alike(text)
        if frame is not None:
            yield frame, partial(add, line)
        elif text.strip():
            yield _careful(name, text, line)
        line += text.count(b"\n")


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
    shapes = {key: _shape(key, value) for key, value in first.items()}
    fields = [_BLANK.join([b'"%b"' % key.encode(), b":", shape]) for key, (shape, _) in shapes.items() if shape]
    if len(fields) < len(shapes):
        return None
    record = _BLANK.join([rb"\{", (_BLANK + b"," + _BLANK).join(fields), rb"\}"])
    text = text.rstrip() + b"\n"
    if not re.fullmatch(rb"(?:%b%b[ \t\r]*+\n)++" % (_BLANK, record), text):
        return None
    try:
        text.decode()
        frame = pl.read_ndjson(text, schema={key: dtype for key, (_, dtype) in shapes.items()})
    except (pl.exceptions.PolarsError, ValueError):
        return None
    whole = frame.height == text.count(b"\n") and not any(column.null_count() for column in frame)
    return frame if whole else None


def _shape(key: str, value: Any) -> tuple[bytes, Any]:
    """How a value like this one is written in all records; empty for what takes more care."""
    if isinstance(value, str):
        return _TEXT, pl.String
    if isinstance(value, bool) or not isinstance(value, int | float):
        return b"", None
    if key in ("score", "rank", "grade", "relevance"):
        return _NUMBER, pl.Float64
    return (_WHOLE, pl.Int64) if isinstance(value, int) else (b"", None)


def _careful(name: str, text: bytes, first_line: int) -> Part:
    records: list[dict[str, Any]] = []
    lines: list[int] = []
    for at, line in enumerate(text.split(b"\n"), start=first_line):
        if not line.strip():
            continue
        try:
            record = loads(line)
            if not isinstance(record, dict):
                raise DataError("this line is not a JSON object; expected one object on each line")
            records.append({key: _plain(key, value) for key, value in record.items()})
            lines.append(at)
        except DataError as error:
            raise FileFormatError(name, str(error), at) from None
        except UnicodeDecodeError:
            raise FileFormatError(name, "this line is not UTF-8; save the file as UTF-8", at) from None
        except (ValueError, RecursionError) as error:
            message = f"this line is not JSON ({error}); expected one object on each line"
            raise FileFormatError(name, message, at) from None
    keys = dict.fromkeys(key for record in records for key in record)
    frame = pl.DataFrame({key: mixed_series(key, [record.get(key) for record in records]) for key in keys})
    return frame, lines.__getitem__


def _plain(key: str, value: Any) -> Any:
    """Make identifiers text, and true a number as it is elsewhere, so that a column has one type in every batch."""
    if key in ("tiers", "items", "worthless") and isinstance(value, list):
        return [[as_id(item) for item in tier] if isinstance(tier, list) else as_id(tier) for tier in value]
    if key in ("score", "rank") and isinstance(value, bool):
        return int(value)
    return as_id(value) if ALIASES.get(key, key) in ("query", "item") and value is not None else value


def json_entries(source: Source) -> Iterator[tuple[str, Any]]:
    """Give the members of one JSON object, one after the other, without ever holding the whole document."""
    document = _Document(source)
    names: set[str] = set()
    try:
        if document.mark() != "{" or document.look() == "}":
            raise DataError("expected a JSON object that maps each query to its items")
        while not names or document.mark() == ",":
            name, value = document.complete(document.member)
            if name in names:
                raise DataError(f"{shown(name)} appears twice in the same object; keep one")
            names.add(name)
            yield name, value
        if document.mark():
            raise ValueError("there is more after its end")
    except (ValueError, RecursionError) as error:
        raise document.wrong(error) from None


class _Document:
    """A JSON text of which only a window is in memory."""

    def __init__(self, source: Source) -> None:
        self._name = source.name
        self._pieces = source.pieces()
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._parse = json.JSONDecoder(object_pairs_hook=unrepeated).raw_decode
        self._window, self._at = "", 0
        self._lines = 0  # before the window

    def complete(self, read: Callable[[], Found]) -> Found:
        """Read something, with a larger window where it goes on behind this one."""
        while True:
            begin = self._at
            try:
                return read()
            except json.JSONDecodeError as error:
                cut_short = error.pos > len(self._window) - 16 or error.msg.startswith("Unterminated")
                self._at = begin
                if not cut_short or not self._enlarge():
                    raise

    def member(self) -> tuple[str, Any]:
        """Read a name and its value, up to the mark behind it."""
        name, self._at = self._parse(self._window, self._skip())
        if not isinstance(name, str):
            raise ValueError("a name is not text")
        if self._window[self._skip() : self._at + 1] != ":":
            raise json.JSONDecodeError("Expecting ':' delimiter", self._window, self._at)
        self._at += 1
        value, self._at = self._parse(self._window, self._skip())
        if self._window[self._skip() : self._at + 1] not in (",", "}"):  # a number might go on
            raise json.JSONDecodeError("Expecting ',' delimiter", self._window, self._at)
        return name, value

    def look(self) -> str:
        """Give the next character that is no white space; nothing at the end."""
        while self._skip() == len(self._window) and self._enlarge():
            pass
        return self._window[self._at : self._at + 1]

    def mark(self) -> str:
        """Take the next character that is no white space; nothing at the end."""
        found = self.look()
        self._at += len(found)
        return found

    def wrong(self, error: ValueError | RecursionError) -> FileFormatError:
        """Say what is wrong, and on which line where that is known."""
        if isinstance(error, DataError):
            return FileFormatError(self._name, str(error))
        if isinstance(error, json.JSONDecodeError):
            line = self._lines + error.lineno
            return FileFormatError(self._name, f"this is not JSON ({error.msg})", line)
        return FileFormatError(self._name, f"this is not JSON ({first_line(error)})")

    def _skip(self) -> int:
        space = _WHITE_SPACE.match(self._window, self._at)
        self._at = space.end() if space else self._at
        return self._at

    def _enlarge(self) -> bool:
        """Drop what is read and at least double what is left; False at the end of the document."""
        left = len(self._window) - self._at
        texts: list[str] = []
        while sum(map(len, texts)) <= left and (piece := next(self._pieces, None)) is not None:
            texts.append(self._decoder.decode(piece))
        if not texts:
            self._decoder.decode(b"", final=True)  # fails where the last character is cut short
            return False
        self._lines += self._window.count("\n", 0, self._at)
        self._window, self._at = "".join([self._window[self._at :], *texts]), 0
        return True
