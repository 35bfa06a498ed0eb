"""Files: opened, decompressed, their kind detected."""

from __future__ import annotations

import io
import os
import select
import stat
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self, TypeVar

from rankdev._common import files_in_use
from rankdev._common.checks import check_path
from rankdev._common.names import NONE
from rankdev._common.work import Progress, refuse_lost_threads
from rankdev.data.formats import TABLE_FORMATS, begins_json
from rankdev.data.formats.base import BYTE_ORDER_MARK
from rankdev.data.options import ReadOptions, tell
from rankdev.errors import DataError, UsageError, errors_at

MAGIC_BYTES = 4  # how much of a file tells how it is packed
_GZIP_BYTES, _UNPACKED_BYTES = 1 << 16, 1 << 20  # unpacked at once, and what comes out at the most
_ZSTD_BYTES = 1 << 10  # unpacked at once: its library knows no most, and makes up to 32 MB of this
_WAIT_MS = 200
_GZIP, _ZSTD, _SKIPPABLE = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x2a\x4d\x18"


def opened(path: str) -> Any:
    """Open a file, or standard input for ``-``; a pipe or a terminal is waited for so that Ctrl-C ends it."""
    raw = _standard_input() if path == "-" else _file(path)
    return io.BufferedReader(_Interruptible(raw), 1 << 16) if _may_wait(raw) else raw


def size_of(source: object) -> int:
    """Return the size of a file in bytes, compressed or not; 0 for a pipe and for anything that is not a file."""
    try:
        return os.stat(source).st_size if isinstance(source, str | os.PathLike) else 0
    except (OSError, ValueError):
        return 0


def unpacked(begin: bytes, packed: IO[bytes]) -> IO[bytes] | None:
    """Return the decompressed stream of a file that begins with these bytes; None where it is not compressed."""
    if begin.startswith(_GZIP):
        new_member = partial(zlib.decompressobj, 16 + zlib.MAX_WBITS)
        pieces = _pieces(begin, packed, new_member, zlib.error, _GZIP_BYTES, _UNPACKED_BYTES)
    elif begin == _ZSTD or (begin[1:] == _SKIPPABLE and begin[0] >> 4 == 5):
        import zstandard

        new_frame = zstandard.ZstdDecompressor().decompressobj
        pieces = _pieces(begin, packed, new_frame, zstandard.ZstdError, _ZSTD_BYTES)
    else:
        return None
    return io.BufferedReader(_Joined(pieces), 1 << 20)


def _pieces(
    begin: bytes, packed: IO[bytes], new_frame: Callable[[], Any], broken: type[Exception], size: int, *most: int
) -> Iterator[bytes]:
    """Decompress gzip members or zstd frames, one after the other; raise where the last is cut short."""
    frame, rest = None, begin
    while rest or (rest := packed.read(size)):
        if frame is None:
            rest = rest.lstrip(b"\0")  # what pads a gzip file at its end
            frame = new_frame() if rest else None
            continue
        try:
            yield frame.decompress(rest, *most)
        except broken as error:
            raise OSError(str(error)) from None
        frame, rest = (None, frame.unused_data) if frame.eof else (frame, frame.unconsumed_tail)
    if frame is not None:
        raise EOFError("the compressed data end too early")


class _Joined(io.RawIOBase):
    """Pieces of bytes as a stream."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._ready = memoryview(piece)
        count = min(len(buffer), len(self._ready))
        buffer[:count], self._ready = self._ready[:count], self._ready[count:]
        return count


class _Interruptible(io.RawIOBase):
    """A pipe or a terminal, read when it has something; polars' signal handler would restart a read that blocks."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self._owned = raw is not getattr(sys.stdin, "buffer", None)
        self._poll = select.poll()
        self._poll.register(raw.fileno(), select.POLLIN)

    def fileno(self) -> int:
        number: int = self._raw.fileno()
        return number

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            while not self._poll.poll(_WAIT_MS):
                pass
            try:
                return os.readv(self.fileno(), [buffer])
            except BlockingIOError:
                continue

    def close(self) -> None:
        if self._owned:
            self._raw.close()
        super().close()


def _standard_input() -> Any:
    if sys.stdin is None or sys.stdin.closed:
        raise UsageError("closed-input")
    return sys.stdin.buffer


def _file(path: str) -> Any:
    try:
        if os.name == "posix" and stat.S_ISFIFO(os.stat(path).st_mode):  # to open it would wait for a writer
            return open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))
        return open(path, "rb")
    except FileNotFoundError:
        raise UsageError("no-file", path=path) from None
    except IsADirectoryError:
        raise UsageError("is-folder", path=path) from None
    except OSError as error:
        raise UsageError("cannot-open", path=path, why=error.strerror) from None


def _may_wait(raw: Any) -> bool:
    try:
        mode = os.fstat(raw.fileno()).st_mode
    except (OSError, AttributeError):  # what stands in for standard input may have no descriptor
        return False
    return os.name == "posix" and (stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode))


PathLike = files_in_use.PathLike

Content = TypeVar("Content")

HEAD_BYTES = 1 << 16
LINE_BYTES = 64 << 20
BATCH_BYTES = 4 << 20  # small enough for the allocator to use the same memory again for each batch
_COMPRESSED = {".gz", ".zst"}


class Source:
    """A file or standard input (``-``), opened and decompressed; knows its kind, and how it is to be read."""

    def __init__(
        self,
        path: PathLike,
        read: ReadOptions | None = None,
        progress: Progress | None = None,
        columns: Mapping[str, str] | None = None,
    ) -> None:
        self._path = check_path(path)
        self.name = "standard input" if self._path == "-" else self._path
        self.options, self._progress = read or ReadOptions(columns=columns), progress
        self._tells = read is None  # else whoever reads tells what may be wrong
        self._reported, self._size = 0, size_of(path)
        refuse_lost_threads()
        self._raw = opened(self._path)
        self._state = _state(self._raw)
        try:
            _remember(self._path, self._raw)
            begin = self._guarded(lambda: self._raw.read(MAGIC_BYTES))
            stream = unpacked(begin, self._raw)
            self._stream: IO[bytes] = stream or self._raw
            head = self._guarded(lambda: self._stream.read(HEAD_BYTES))
            self._head = (head if stream else begin + head).removeprefix(BYTE_ORDER_MARK)
            self.kind = self._known_kind()
        except BaseException as error:
            self.close()
            if isinstance(error, DataError):
                error.at(path=self.name)
            raise

    def first_line(self) -> bytes:
        """Return the first line, with its end, where it is not too long; it remains to be read."""
        line, end, _ = self._head.partition(b"\n")
        return line + end

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

    def read(self) -> bytes:
        """Return everything."""
        return b"".join(self.pieces())

    def pieces(self) -> Iterator[bytes]:
        """Yield pieces of about ``BATCH_BYTES`` that end anywhere."""
        head, self._head = self._head, b""
        while piece := head + self._guarded(lambda: self._stream.read(BATCH_BYTES)):
            head = b""
            self._report(len(piece))
            yield piece

    def batches(self) -> Iterator[bytes]:
        """Yield pieces of about ``BATCH_BYTES`` that end where a line ends."""
        for piece in self.pieces():
            if piece.endswith(b"\n"):
                yield piece
                continue
            rest = self._guarded(lambda: self._stream.readline(LINE_BYTES))
            if len(rest) == LINE_BYTES:
                raise DataError("long-line", most=LINE_BYTES >> 20)
            self._report(len(rest))
            yield piece + rest

    def _report(self, size: int) -> None:
        """Report how far the file is read: by its own size where that is known, not by what is decompressed."""
        self._check_unchanged()
        if self._progress is not None:
            at = self._raw.tell() if self._raw.seekable() else self._reported + size
            self._reported = max(at, self._reported)
            self._progress(self._reported, max(self._reported, self._size), self.name)

    def _check_unchanged(self) -> None:
        if _state(self._raw) != self._state:
            raise DataError("changed")

    def _known_kind(self) -> str:
        if not self._head.strip():
            raise DataError("empty-file")
        if self._head[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise DataError("not-utf8")
        suffix = plain_suffix(self._path)
        kind = kind_of(self._head, suffix, self.options.columns or NONE)
        if not (kind in TABLE_FORMATS and TABLE_FORMATS[kind].binary) and b"\0" in self._head:
            raise DataError("binary-file")
        certain = ["json", *(known.name for known in TABLE_FORMATS.values() if not known.ending_decides)]
        if suffix[1:] in certain and kind not in certain:
            raise DataError("wrong-content", expected=suffix[1:])
        return kind

    def _guarded(self, read: Callable[[], Content]) -> Content:
        try:
            return read()
        except (EOFError, OSError) as error:
            raise DataError("damaged", why=str(error)) from None


def kind_of(head: bytes, suffix: str = "", columns: Mapping[str, str] = NONE) -> str:
    """Infer the kind of file from its first bytes and its extension.

    That is one of the formats of tables, ``"json"`` for a document, or ``"trec"`` for columns without names.
    """
    for known in sorted(TABLE_FORMATS.values(), key=lambda known: not known.binary):
        if known.recognises(head, suffix, columns):
            return known.name
    return "json" if begins_json(head, suffix) else "trec"


def plain_suffix(path: PathLike) -> str:
    """Return the extension of a file without .gz and .zst."""
    suffixes = [suffix.lower() for suffix in Path(str(path)).suffixes]
    while suffixes and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def _state(raw: Any) -> tuple[int, int] | None:
    """Return the size of a file and when it was last written; None for anything that is not a file."""
    try:
        there = os.fstat(raw.fileno())
    except (OSError, AttributeError):  # what stands in for standard input may have no descriptor
        return None
    return (there.st_size, there.st_mtime_ns) if stat.S_ISREG(there.st_mode) else None


def _remember(path: str, raw: Any) -> None:
    """Register a file that is read, standard input too, so that no command writes over it."""
    with suppress(OSError, AttributeError):  # what stands in for standard input may have no descriptor
        files_in_use.note_reading("/dev/stdin" if path == "-" else path, raw.fileno())
