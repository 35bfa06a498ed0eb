"""Bytes in: paths and standard streams, plain, gzip or zstd, in batches of whole lines."""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Literal, Self

from rankdev import files_in_use
from rankdev.errors import FileFormatError, UsageError
from rankdev.tabular import ALIASES

Kind = Literal["trec", "csv", "tsv", "json", "jsonl", "parquet"]
PathLike = files_in_use.PathLike

HEAD_BYTES = 1 << 16
BATCH_BYTES = 16 << 20  # small enough for the allocator to use the same memory again for each batch
_GZIP, _ZSTD, _PARQUET, _BOM = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PAR1", b"\xef\xbb\xbf"
_MARKS: dict[Kind, bytes] = {"csv": b",", "tsv": b"\t"}
_COMPRESSED = {".gz", ".zst"}
_BESIDE_QUERY = {"item", "winner", "a", "a1", "arg1", "measure"}  # what a table of ours has besides queries
_JSON_BEGINS = re.compile(rb'\s*(\{\s*(["}]|$)|\[\s*([\[{"\]]|$))')


class Source:
    """A file or standard input (``-``), opened and unpacked; knows what kind of file it seems to be."""

    def __init__(self, path: PathLike, progress: Callable[[int], None] | None = None) -> None:
        self.name = "standard input" if str(path) == "-" else str(path)
        self._path = str(path)
        self._progress = progress
        self._reported = 0
        self._raw = _open(self._path)
        try:
            _remember(self._path, self._raw)
            self._stream = self._unpacked()
            self._head = self._guarded(lambda: self._stream.read(HEAD_BYTES)).removeprefix(_BOM)
            self.kind = self._known_kind()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; standard input stays open."""
        if self._path != "-":
            self._raw.close()

    def read(self) -> bytes:
        """Give everything."""
        return b"".join(self.batches())

    def batches(self) -> Iterator[bytes]:
        """Give pieces of about ``BATCH_BYTES`` that end where a line ends."""
        head, self._head = self._head, b""
        while True:
            parts = [head, self._guarded(lambda: self._stream.read(BATCH_BYTES))]
            head = b""
            if not parts[1].endswith(b"\n"):
                parts.append(self._guarded(self._stream.readline))
            piece = b"".join(parts)
            if not piece:
                return
            if self._progress is not None:
                at = self._raw.tell() if self._raw.seekable() else self._reported + len(piece)
                self._progress(at - self._reported)
                self._reported = at
            yield piece

    def _unpacked(self) -> IO[bytes]:
        head = self._guarded(lambda: self._raw.peek(4)[:4])
        if head.startswith(_GZIP):
            return io.BufferedReader(gzip.GzipFile(fileobj=self._raw))
        if head.startswith(_ZSTD):
            return io.BufferedReader(_Unzstd(self._raw), 1 << 20)
        return self._raw

    def _known_kind(self) -> Kind:
        if not self._head.strip():
            raise FileFormatError(self.name, "the file is empty")
        if self._head[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise FileFormatError(self.name, "the file is UTF-16; save it as UTF-8")
        suffix = plain_suffix(self._path)
        kind = kind_of(self._head, suffix)
        if kind != "parquet" and b"\0" in self._head:
            raise FileFormatError(self.name, "this is a binary file; expected text or Parquet")
        if suffix in (".json", ".jsonl", ".parquet") and kind not in ("json", "jsonl", "parquet"):
            raise FileFormatError(self.name, f"the content is not {suffix[1:]}; check the file or its name")
        return kind

    def _guarded(self, read: Callable[[], bytes]) -> bytes:
        try:
            return read()
        except (EOFError, OSError, zlib.error) as error:
            raise FileFormatError(
                self.name, f"the file cannot be read to its end ({error}); it may be damaged"
            ) from None


class _Unzstd(io.RawIOBase):
    """Unpacked zstd frames; unlike zstandard's own reader, it notices where the last frame is cut short."""

    def __init__(self, packed: IO[bytes]) -> None:
        self._packed = packed
        self._frame: Any = None
        self._rest = b""
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            packed = self._rest or self._packed.read(1 << 17)
            if not packed:
                if self._frame is not None:
                    raise EOFError("the zstd data end too early")
                return 0
            self._ready = memoryview(self._unpack(packed))
        count = min(len(buffer), len(self._ready))
        buffer[:count], self._ready = self._ready[:count], self._ready[count:]
        return count

    def _unpack(self, packed: bytes) -> bytes:
        import zstandard

        frame = self._frame or zstandard.ZstdDecompressor().decompressobj()
        try:
            unpacked: bytes = frame.decompress(packed)
        except zstandard.ZstdError as error:
            raise OSError(str(error)) from None
        self._frame, self._rest = (None, frame.unused_data) if frame.eof else (frame, b"")
        return unpacked


def kind_of(head: bytes, suffix: str = "") -> Kind:
    """Tell from the first bytes, and the ending of the name, what kind of file it seems to be."""
    if head.startswith(_PARQUET) and b"\0" in head:  # a text may begin with these letters
        return "parquet"
    line = head.lstrip().partition(b"\n")[0]
    if suffix not in (".csv", ".tsv") and _JSON_BEGINS.match(head):
        return "jsonl" if suffix == ".jsonl" or _is_record(line) else "json"
    return _delimited(line, suffix)


def plain_suffix(path: PathLike) -> str:
    """Give the ending of a file's name, looking through .gz and .zst."""
    suffixes = [suffix.lower() for suffix in Path(str(path)).suffixes]
    while suffixes and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def _open(path: str) -> Any:
    if path == "-":
        if sys.stdin is None:
            raise UsageError("standard input is closed; give a file, or pipe something in")
        return sys.stdin.buffer
    try:
        return open(path, "rb")
    except FileNotFoundError:
        raise UsageError(f"{path}: there is no such file") from None
    except IsADirectoryError:
        raise UsageError(f"{path}: this is a folder; give a file") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be opened ({error.strerror})") from None
    except ValueError:
        raise UsageError(f"{path!r} is not the name of a file") from None


def _remember(path: str, raw: Any) -> None:
    """Note a file that is read, standard input too, so that no command writes over it."""
    with suppress(OSError, AttributeError):  # what stands in for standard input may have no descriptor
        files_in_use.note_reading("/dev/stdin" if path == "-" else path, raw.fileno())


def _is_record(line: bytes) -> bool:
    """Tell a line of JSONL, an object about one query, from a JSON document, which maps queries to items."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return line.startswith(b'{"query"')
    return isinstance(value, dict) and any(not isinstance(entry, dict | list) for entry in value.values())


def _delimited(line: bytes, suffix: str) -> Kind:
    if suffix in (".csv", ".tsv"):
        return "csv" if suffix == ".csv" else "tsv"
    for kind, mark in _MARKS.items():
        names = {name.strip(b' "\r').decode(errors="replace").lower() for name in line.split(mark)}
        known = {ALIASES.get(name, name) for name in names}
        if "query" in known and known & _BESIDE_QUERY:
            return kind
    return "trec"
