"""Files and folders: opened, decompressed, their kind detected, and what they hold."""

from __future__ import annotations

import io
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote

from rankdev._common.checks import check_path
from rankdev._common.lazy import pl
from rankdev._common.work import refuse_lost_threads
from rankdev.data.formats import BYTE_ORDER_MARK, ENDINGS, NO_LINES, READERS, LineOf, kind_of
from rankdev.data.options import ReadOptions, warn_of
from rankdev.data.tables import is_table, table_of_records
from rankdev.data.trec import HEAD_BYTES, RUN, Layout, end_of_queries, read_trec
from rankdev.data.write import PathLike, note_reading, plain_suffix
from rankdev.errors import DataError, UsageError, errors_at

LINE_BYTES = 64 << 20
PART_BYTES = 1 << 20
_UNPACKED_BYTES = 1 << 20  # what comes out of a packed piece at the most
_ZSTD_BYTES = 1 << 10  # unpacked at once: its library knows no most, and makes up to 32 MB of this
_GZIP, _ZSTD, _SKIPPABLE = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x2a\x4d\x18"
_OTHER_ARCHIVES = {b"\xfd7zX": "xz", b"7z\xbc\xaf": "7z", b"\x04\x22\x4d\x18": "lz4", b"Rar!": "rar"}
_OTHER_ARCHIVES |= {b"BZh%d" % level: "bzip2" for level in range(1, 10)}
_PARQUET = {".parquet", ".pq"}
_DATA = {*ENDINGS, ".xlsx", ".run", ".trec", ".res"} - _PARQUET
_VERSIONED = ("_delta_log", ".hoodie")  # which of the files are still part of the table is written there
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


class Source:
    """A file or standard input (``-``), decompressed, or a folder; knows its kind, and how to read it.

    An error inside that is about a row gets the file and the line.
    """

    def __init__(self, path: PathLike, read: ReadOptions | None = None, **options: Any) -> None:
        self._path = check_path(path)
        self.name = "standard input" if self._path == "-" else self._path
        self.line_of: LineOf = NO_LINES
        self.options = read or ReadOptions(**options)
        self._warns = read is None  # else whoever reads tells what may be wrong
        refuse_lost_threads()
        if self._path != "-" and os.path.isdir(self._path):
            self.kind, self._raw = "folder", io.BytesIO()
            return
        with errors_at(path=self.name):
            self._raw = _opened(self._path)
            try:
                self._open()
            except BaseException:
                self._close()
                raise

    def _open(self) -> None:
        """Find out of which kind it is by its beginning, without a byte-order mark."""
        self._state = _state(self._raw)
        with suppress(OSError, AttributeError):  # what stands in for standard input may have no descriptor
            note_reading("/dev/stdin" if self._path == "-" else self._path, self._raw.fileno())
        self._pieces = self._decompressed()
        self._head = next(self._pieces, b"").removeprefix(BYTE_ORDER_MARK)
        while len(self._head) < HEAD_BYTES and (piece := next(self._pieces, None)) is not None:
            self._head += piece
        self.kind = kind_of(self._head, plain_suffix(self._path), self.options.columns or {})
        if self.kind not in ("parquet", "xlsx"):
            self._pieces = map(_of_text, self._pieces)

    def _close(self) -> None:
        if self._path != "-":  # standard input stays open
            self._raw.close()

    @cached_property
    def content(self) -> bytes:
        """All that it holds."""
        taken, size = list[bytes](), 0  # of the line, or of the text in a document, that the last piece is in
        end = b'"' if self.kind == "json" else b"\n"
        for piece in chain([self._head], self._pieces):
            taken.append(piece)
            size = len(piece) - piece.rfind(end) - 1 + (size if end not in piece else 0)
            if size > LINE_BYTES and self.kind not in ("parquet", "xlsx"):
                raise DataError("long-line", most=LINE_BYTES >> 20)
        return b"".join(taken)

    def parts(self) -> Iterator[bytes]:
        """Yield parts of a text in turn, each of whole lines; what is last of a query stays for the next."""
        taken, size = [self._head], len(self._head)
        for piece in self._pieces:
            end = end_of_queries(piece) if size + len(piece) >= PART_BYTES else 0
            if end:
                yield b"".join([*taken, memoryview(piece)[:end]])
                taken, size = [], 0
            taken.append(piece[end:])
            size += len(taken[-1])
            if size > LINE_BYTES:  # as much in one query, or in one line
                raise DataError("too-big")
        yield b"".join(taken)

    def value(self, layout: Layout = RUN) -> Any:
        """Return what it holds: a table, a list of records, a JSON document, or rows of TREC text."""
        if self.kind == "trec":
            rows, _, self.line_of = read_trec(self.content, layout, self.options)
            return rows
        if self.kind == "folder":
            value = read_folder(Path(self._path))
        else:
            value, self.line_of = READERS[self.kind](self.content, self.options)
        if isinstance(value, pl.DataFrame):
            if value.is_empty():
                raise DataError("no-rows", what="table")
            if any((column.str.len_bytes() > LINE_BYTES).any() for column in value.select(pl.col(str))):
                raise DataError("long-line", most=LINE_BYTES >> 20)
        return value

    def frame(self, *names: str) -> pl.DataFrame:
        """Return a table, its columns as they are named there; an error names those that were expected."""
        value: Any = None if self.kind == "trec" else table_of_records(self.value())
        if not is_table(value):
            raise DataError("not-a-table", columns=names)
        return value

    def named(self, *names: str) -> pl.DataFrame:
        """Return a table, its columns renamed to rankdev's names."""
        return self.options.named(self.frame(*names))

    @contextmanager
    def located(self) -> Iterator[None]:
        """Add to an error about a row the file, and the line where it has lines."""
        try:
            yield
        except DataError as error:
            self._locate(error)
            raise

    def _locate(self, error: DataError) -> None:
        row = error.fields.get("row")
        error.at(path=self.name, line=None if row is None else self.line_of(row))

    def _decompressed(self) -> Iterator[bytes]:
        """Yield the content in pieces: gzip members or zstd frames, one after the other, or the file as it is."""
        begin = self._read(4)
        other = _OTHER_ARCHIVES.get(begin)
        if other is not None:
            raise DataError("decompress-first", format=other)
        if begin.startswith(_GZIP):
            return self._unpacked(begin, partial(zlib.decompressobj, 16 + zlib.MAX_WBITS), zlib.error, _UNPACKED_BYTES)
        if begin == _ZSTD or (begin[1:] == _SKIPPABLE and begin[0] >> 4 == 5):
            import zstandard

            return self._unpacked(begin, zstandard.ZstdDecompressor().decompressobj, zstandard.ZstdError)
        return self._plain(begin)

    def _plain(self, begin: bytes) -> Iterator[bytes]:
        while piece := begin + self._read(PART_BYTES):
            begin = b""
            yield piece

    def _unpacked(
        self, begin: bytes, new_frame: Callable[[], Any], broken: type[Exception], *most: int
    ) -> Iterator[bytes]:
        """Decompress members or frames; raise where the last is cut short."""
        frame, rest = None, begin
        while rest or (rest := self._read(_UNPACKED_BYTES // 16 if most else _ZSTD_BYTES)):
            if frame is None:
                rest = rest.lstrip(b"\0")  # what pads a gzip file at its end
                frame = new_frame() if rest else None
                continue
            try:
                yield frame.decompress(rest, *most)
            except broken as error:
                raise DataError("damaged", why=str(error)) from None
            frame, rest = (None, frame.unused_data) if frame.eof else (frame, frame.unconsumed_tail)
        if frame is not None:
            raise DataError("damaged", why="the compressed data end too early")

    def _read(self, size: int) -> bytes:
        try:
            piece: bytes = self._raw.read(size)
        except OSError as error:
            raise DataError("damaged", why=str(error)) from None
        if self._state is not None and _state(self._raw) != self._state:
            raise DataError("changed")
        return piece

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._close()
        if kind is MemoryError:
            raise DataError("too-big", path=self.name) from None
        if isinstance(error, DataError):
            self._locate(error)
        elif kind is None and self._warns:
            self.options.check_met()
            warn_of(note.at(path=self.name) for note in self.options.notes)


def _of_text(piece: bytes) -> bytes:
    """Return a piece of text; refuse zeros, which a broken copy has where lines were."""
    if b"\0" in piece:
        raise DataError("binary-file")
    return piece


def _opened(path: str) -> Any:
    if path == "-":
        if sys.stdin is None or sys.stdin.closed:
            raise UsageError("closed-input", path="standard input")
        return sys.stdin.buffer
    try:
        return open(path, "rb")
    except FileNotFoundError:
        raise UsageError("no-file", path=path) from None
    except OSError as error:
        raise UsageError("cannot-open", path=path, why=error.strerror) from None


def _state(raw: Any) -> tuple[int, int] | None:
    """Return the size of a file and when it was last written; None for anything that is not a file."""
    try:
        there = os.fstat(raw.fileno())
    except (OSError, AttributeError):  # what stands in for standard input may have no descriptor
        return None
    return (there.st_size, there.st_mtime_ns) if stat.S_ISREG(there.st_mode) else None


def read_folder(folder: Path) -> pl.DataFrame:
    """Read the Parquet files of a folder as one table, in the order of their names.

    Names that begin with a dot or an underscore are not data: Spark keeps what is unfinished there. Columns may be in
    the names of folders, as in ``query=q1/part-0.parquet``. What would be left out or counted twice is refused.
    """
    if any((folder / name).exists() for name in _VERSIONED):
        raise UsageError("versioned-folder", path=folder)
    files = {path.relative_to(folder): plain_suffix(path) for path in sorted(folder.rglob("*")) if path.is_file()}
    files = {path: suffix for path, suffix in files.items() if not any(part[0] in "._" for part in path.parts)}
    if not any(suffix in _PARQUET or not path.suffix for path, suffix in files.items()):  # Hive: 000000_0
        raise UsageError("is-folder", path=folder)
    tables = []
    for path, suffix in files.items():
        if suffix in _DATA:
            raise UsageError("not-parquet", path=folder / path)
        if suffix not in _PARQUET and path.suffix:
            continue
        with Source(folder / path) as source:
            if source.kind != "parquet":
                raise UsageError("not-parquet", path=folder / path)
            frame, _ = READERS["parquet"](source.content, source.options)
        parts = [part.partition("=") for part in path.parent.parts if "=" in part]
        places = {name: None if value == _NO_VALUE else unquote(value) for name, _, value in parts}
        tables.append(frame.with_columns(**{n: pl.lit(v) for n, v in places.items() if n not in frame.columns}))
    return pl.concat(tables, how="diagonal_relaxed", rechunk=True)
