"""Bytes in and out: paths and standard streams, plain, gzip or zstd, in batches of whole lines."""

from __future__ import annotations

import gzip
import io
import json
import os
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Literal, Self

from rankdev.errors import FileFormatError, UsageError

Kind = Literal["trec", "csv", "tsv", "json", "jsonl", "parquet"]
PathLike = str | os.PathLike[str]

BATCH_BYTES = 32 << 20
_GZIP, _ZSTD, _PARQUET, _BOM = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PAR1", b"\xef\xbb\xbf"
_COMPRESSED = {".gz", ".zst"}


class Source:
    """A file or standard input (``-``), opened and unpacked; knows what kind of file it seems to be."""

    def __init__(self, path: PathLike, progress: Callable[[int], None] | None = None) -> None:
        self.name = "standard input" if str(path) == "-" else str(path)
        self._path = str(path)
        self._progress = progress
        self._reported = 0
        self._raw = _open(self._path)
        self._stream = self._unpacked()
        self._head = self._guarded(lambda: self._stream.read(1 << 16))
        if self._head.startswith(_BOM):
            self._head = self._head[len(_BOM) :]
        self._check_text()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._path != "-":
            self._raw.close()

    @property
    def kind(self) -> Kind:
        """What the first bytes and the name say the file is."""
        text = self._head.lstrip()
        suffix = plain_suffix(self._path)
        if self._head.startswith(_PARQUET):
            return "parquet"
        if text[:1] in (b"{", b"["):
            return "jsonl" if _is_record(text.partition(b"\n")[0]) else "json"
        if suffix in (".json", ".jsonl", ".parquet"):
            raise FileFormatError(self.name, f"the content is not {suffix[1:]}; check the file or its name")
        return _delimited(text.partition(b"\n")[0], suffix)

    def read(self) -> bytes:
        """Give everything."""
        return b"".join(self.batches())

    def batches(self, size: int = BATCH_BYTES) -> Iterator[bytes]:
        """Give pieces of about ``size`` bytes that end where a line ends."""
        head, self._head = self._head, b""
        while True:
            piece = head + self._guarded(lambda: self._stream.read(size))
            head = b""
            if not piece:
                return
            if not piece.endswith(b"\n"):
                piece += self._guarded(self._stream.readline)
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
            import zstandard

            unpacked = zstandard.ZstdDecompressor().stream_reader(self._raw, read_across_frames=True)
            return io.BufferedReader(unpacked)
        return self._raw

    def _check_text(self) -> None:
        if not self._head.strip():
            raise FileFormatError(self.name, "the file is empty")
        if self._head[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise FileFormatError(self.name, "the file is UTF-16; save it as UTF-8")
        if b"\0" in self._head and not self._head.startswith(_PARQUET):
            raise FileFormatError(self.name, "this is a binary file; expected text or Parquet")

    def _guarded(self, read: Callable[[], bytes]) -> bytes:
        try:
            return read()
        except (EOFError, OSError, zlib.error) as error:
            raise FileFormatError(
                self.name, f"the file cannot be read to its end ({error}); it may be damaged"
            ) from None
        except Exception as error:
            if type(error).__name__ == "ZstdError":
                raise FileFormatError(self.name, f"the zstd data are damaged ({error})") from None
            raise


def plain_suffix(path: PathLike) -> str:
    """Give the ending of a file's name, looking through .gz and .zst."""
    suffixes = [suffix.lower() for suffix in Path(str(path)).suffixes]
    while suffixes and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


@contextmanager
def writing(path: PathLike) -> Iterator[IO[bytes]]:
    """Open for writing, packed as the name says; the file appears only when everything is written."""
    if str(path) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = Path(path)
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise UsageError(f"{path}: cannot write here ({error.strerror}); choose another place") from None
    try:
        with os.fdopen(handle, "wb") as raw, _packed(raw, target.suffix.lower()) as stream:
            yield stream
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


@contextmanager
def _packed(raw: IO[bytes], suffix: str) -> Iterator[IO[bytes]]:
    if suffix == ".gz":
        with gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0) as stream:
            yield stream  # type: ignore[misc]
    elif suffix == ".zst":
        import zstandard

        with zstandard.ZstdCompressor().stream_writer(raw, closefd=False) as stream:
            yield stream
    else:
        yield raw


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _open(path: str) -> Any:
    if path == "-":
        return sys.stdin.buffer
    try:
        return open(path, "rb")
    except FileNotFoundError:
        raise UsageError(f"{path}: there is no such file") from None
    except IsADirectoryError:
        raise UsageError(f"{path}: this is a folder; give a file") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be opened ({error.strerror})") from None


def _is_record(line: bytes) -> bool:
    """Tell a line of JSONL, an object about one query, from the beginning of one JSON document."""
    try:
        value = json.loads(line)
    except ValueError:
        return line.lstrip().startswith(b'{"query"')
    return isinstance(value, dict) and not isinstance(value.get("query", {}), dict | list)


def _delimited(line: bytes, suffix: str) -> Kind:
    for kind, mark in (("csv", b","), ("tsv", b"\t")):
        names = {name.strip(b' "\r').lower() for name in line.split(mark)}
        if suffix == f".{kind}" or len(names & {b"query", b"item", b"query_id", b"qid", b"doc_id", b"docno"}) > 1:
            return kind  # type: ignore[return-value]
    return "trec"
