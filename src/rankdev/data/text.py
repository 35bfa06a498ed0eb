"""Files: opened, decompressed, their kind detected."""

from __future__ import annotations

import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property, partial
from types import TracebackType
from typing import Any, Self

from rankdev._common.checks import check_path
from rankdev._common.work import Progress, refuse_lost_threads
from rankdev.data.options import ReadOptions, tell
from rankdev.data.write import PathLike, note_reading, plain_suffix
from rankdev.errors import DataError, UsageError, errors_at

HEAD_BYTES = 1 << 16
LINE_BYTES = 64 << 20
_PIECE_BYTES = 4 << 20
_UNPACKED_BYTES = 1 << 20  # what comes out of a packed piece at the most
_ZSTD_BYTES = 1 << 10  # unpacked at once: its library knows no most, and makes up to 32 MB of this
_GZIP, _ZSTD, _SKIPPABLE = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x2a\x4d\x18"
_OTHER_ARCHIVES = {b"BZh": "bzip2", b"\xfd7zX": "xz", b"7z\xbc\xaf": "7z"}
BYTE_ORDER_MARK = "\ufeff".encode()


def size_of(source: object) -> int:
    """Return the size of a file in bytes, compressed or not; 0 for a pipe and for anything that is not a file."""
    try:
        return os.stat(source).st_size if isinstance(source, str | os.PathLike) else 0
    except (OSError, ValueError):
        return 0


class Source:
    """A file or standard input (``-``), opened and decompressed; knows its kind, and how it is to be read."""

    def __init__(
        self,
        path: PathLike,
        read: ReadOptions | None = None,
        progress: Progress | None = None,
        columns: Mapping[str, str] | None = None,
    ) -> None:
        from rankdev.data.formats import kind_of

        self._path = check_path(path)
        self.name = "standard input" if self._path == "-" else self._path
        self.options, self._progress = read or ReadOptions(columns=columns), progress
        self._tells = read is None  # else whoever reads tells what may be wrong
        refuse_lost_threads()
        self._raw = _opened(self._path)
        self._state, self._size = _state(self._raw), size_of(path)
        self._done = 0
        with suppress(OSError, AttributeError):  # what stands in for standard input may have no descriptor
            note_reading("/dev/stdin" if self._path == "-" else self._path, self._raw.fileno())
        try:
            with errors_at(path=self.name):
                self._pieces = self._decompressed()
                self.head = next(self._pieces, b"").removeprefix(BYTE_ORDER_MARK)
                while len(self.head) < HEAD_BYTES and (piece := next(self._pieces, None)) is not None:
                    self.head += piece
                self.kind = kind_of(self.head, plain_suffix(self._path), self.options.columns or {})
        except BaseException:
            self.close()
            raise

    @cached_property
    def content(self) -> bytes:
        """Everything, without a byte-order mark at its beginning."""
        pieces, begin = [self.head], 0  # of the line that the last piece is in
        for piece in self._pieces:
            pieces.append(piece)
            begin = 0 if b"\n" in piece else begin + len(piece)
            if begin > LINE_BYTES and self.kind in ("csv", "tsv", "jsonl", "trec"):
                raise DataError("long-line", most=LINE_BYTES >> 20)
        return b"".join(pieces)

    def first_line(self) -> bytes:
        """Return the first line, with its end, where it is not too long."""
        line, end, _ = self.head.partition(b"\n")
        return line + end

    def _decompressed(self) -> Iterator[bytes]:
        """Yield the content in pieces: gzip members or zstd frames, one after the other, or the file as it is."""
        begin = self._read(4)
        other = _OTHER_ARCHIVES.get(begin) or _OTHER_ARCHIVES.get(begin[:3])
        if other is not None:
            raise DataError("decompress-first", format=other)
        if begin.startswith(_GZIP):
            return self._unpacked(begin, partial(zlib.decompressobj, 16 + zlib.MAX_WBITS), zlib.error, _UNPACKED_BYTES)
        if begin == _ZSTD or (begin[1:] == _SKIPPABLE and begin[0] >> 4 == 5):
            import zstandard

            return self._unpacked(begin, zstandard.ZstdDecompressor().decompressobj, zstandard.ZstdError)
        return self._plain(begin)

    def _plain(self, begin: bytes) -> Iterator[bytes]:
        while piece := begin + self._read(_PIECE_BYTES):
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
        self._done += len(piece)
        self._check_unchanged()
        if self._progress is not None:
            self._progress(self._done, max(self._done, self._size), self.name)
        return piece

    def _check_unchanged(self) -> None:
        if _state(self._raw) != self._state:
            raise DataError("changed")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with errors_at(path=self.name):
            try:
                if kind is None or isinstance(error, DataError):
                    self._check_unchanged()
            finally:
                self.close()
            if kind is MemoryError:
                raise DataError("too-big") from None
        if isinstance(error, DataError):
            error.at(path=self.name)
        elif kind is None and self._tells:
            self.options.check_met()
            tell(note.at(path=self.name) for note in self.options.notes)

    def close(self) -> None:
        """Close the file; standard input stays open."""
        if self._path != "-":
            self._raw.close()


def _opened(path: str) -> Any:
    if path == "-":
        if sys.stdin is None or sys.stdin.closed:
            raise UsageError("closed-input")
        return sys.stdin.buffer
    try:
        return open(path, "rb")
    except FileNotFoundError:
        raise UsageError("no-file", path=path) from None
    except IsADirectoryError:
        raise UsageError("is-folder", path=path) from None
    except OSError as error:
        raise UsageError("cannot-open", path=path, why=error.strerror) from None


def _state(raw: Any) -> tuple[int, int] | None:
    """Return the size of a file and when it was last written; None for anything that is not a file."""
    try:
        there = os.fstat(raw.fileno())
    except (OSError, AttributeError):  # what stands in for standard input may have no descriptor
        return None
    return (there.st_size, there.st_mtime_ns) if stat.S_ISREG(there.st_mode) else None
