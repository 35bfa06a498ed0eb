"""Files, pipes and standard input opened for reading, and unpacked in pieces of bounded size."""

from __future__ import annotations

import io
import os
import select
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import IO, Any

from rankdev.errors import UsageError

MAGIC_BYTES = 4  # how much of a file tells how it is packed
_GZIP_BYTES, _UNPACKED_BYTES = 1 << 16, 1 << 20  # unpacked at once, and what comes out at the most
_ZSTD_BYTES = 1 << 10  # unpacked at once: its library knows no most, and makes up to 32 MB of this
_WAIT_MS = 200
_GZIP, _ZSTD, _SKIPPABLE = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x2a\x4d\x18"


def opened(path: str, waiting: Callable[[], None]) -> Any:
    """Open a file, or standard input for ``-``; ``waiting`` is called while a pipe or a terminal has nothing to give.

    Nothing blocks for good, so that the reader can be interrupted, also in a thread: ``waiting`` raises to end it.
    """
    raw = _standard_input() if path == "-" else _file(path)
    return io.BufferedReader(_Patient(raw, waiting), 1 << 16) if _may_wait(raw) else raw


def size_of(source: object) -> int:
    """Give the bytes of a file as it lies there, packed or not; 0 for a pipe and for what is no file."""
    try:
        return os.stat(source).st_size if isinstance(source, str | os.PathLike) else 0
    except (OSError, ValueError):
        return 0


def unpacked(begin: bytes, packed: IO[bytes]) -> IO[bytes] | None:
    """Give the unpacked stream of a file that begins with these bytes; None where it is not packed."""
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
    """Unpack gzip members or zstd frames, one after the other; notice where the last is cut short."""
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


class _Patient(io.RawIOBase):
    """A pipe or a terminal, read when it has something; polars' signal handler would restart a read that blocks."""

    def __init__(self, raw: Any, waiting: Callable[[], None]) -> None:
        self._raw = raw
        self._owned = raw is not getattr(sys.stdin, "buffer", None)
        self._waiting = waiting
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
                self._waiting()
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
        raise UsageError("standard input is closed; give a file, or pipe something in")
    return sys.stdin.buffer


def _file(path: str) -> Any:
    try:
        if os.name == "posix" and stat.S_ISFIFO(os.stat(path).st_mode):  # to open it would wait for a writer
            return open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))
        return open(path, "rb")
    except FileNotFoundError:
        raise UsageError(f"{path}: there is no such file") from None
    except IsADirectoryError:
        raise UsageError(f"{path}: this is a folder; give a file") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be opened ({error.strerror})") from None


def _may_wait(raw: Any) -> bool:
    try:
        mode = os.fstat(raw.fileno()).st_mode
    except (OSError, AttributeError):  # what stands in for standard input may have no descriptor
        return False
    return os.name == "posix" and (stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode))
