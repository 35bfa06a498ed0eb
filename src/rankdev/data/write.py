"""Files that appear whole or not at all, and never replace what the same command reads or has written."""

from __future__ import annotations

import errno
import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import IO, Any

from rankdev._common.checks import check_path
from rankdev.errors import UsageError

PathLike = str | os.PathLike[str]
_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/(\d+)")
_STREAMS = {"/dev/stdout": 1, "/dev/stderr": 2}
_COMPRESSED = {".gz", ".zst"}


def plain_suffix(path: PathLike) -> str:
    """Return the extension of a file without .gz and .zst."""
    suffixes = [suffix.lower() for suffix in Path(str(path)).suffixes]
    while suffixes and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def _keys(path: PathLike | int) -> set[Any]:
    """Return what a file is known by: its place and, where it exists, its identity; links are the same file."""
    keys: set[Any] = set() if isinstance(path, int) else {os.path.realpath(path)}
    with suppress(OSError, ValueError):
        there = os.stat(path)
        keys.add((there.st_dev, there.st_ino))
    return keys


_commands: list[dict[str, dict[Any, PathLike]]] = []  # of each, what it reads, announces and writes, by _keys


@contextmanager
def one_command() -> Iterator[None]:
    """Check all files read and written inside against each other; outside, a file may be read and then replaced."""
    _commands.append({"read": {}, "announced": {}, "written": {}})
    try:
        yield
    finally:
        _commands.pop()


def _use(role: str, path: PathLike, keys: set[Any], **refused: str) -> None:
    """Register a file of a command; refused where it has another role, by the kind of error for that."""
    for other, kind in refused.items():
        known = _commands[-1][other]
        for key in keys & known.keys():
            raise UsageError(kind, path=known[key] if role == "read" else path)
    _commands[-1][role] |= dict.fromkeys(keys, path)


def announce_output(path: PathLike) -> None:
    """Register an output before the work begins: refused at once where it cannot be written."""
    if not _commands:
        return
    keys = {"-"} if str(path) == "-" else _keys(path)
    _use("announced", path, keys, read="being-read", announced="same-output")
    if str(path) != "-" and not is_special(path):
        folder = os.path.dirname(os.path.realpath(path))
        if os.path.isdir(path):
            raise UsageError("cannot-write", path=path, why=os.strerror(errno.EISDIR))
        if not os.path.isdir(folder):
            raise UsageError("cannot-write", path=path, why=os.strerror(errno.ENOENT))
        if not os.access(folder, os.W_OK):
            raise UsageError("cannot-write", path=path, why=refusal(folder))


def note_reading(path: PathLike, descriptor: int) -> None:
    """Register an input; refused where it is announced as an output."""
    if _commands and not is_special(descriptor):
        _use("read", path, _keys(path) | _keys(descriptor), announced="being-read")


def refusal(folder: PathLike) -> str:
    """Return why a folder cannot be written to."""
    read_only = hasattr(os, "statvfs") and os.statvfs(folder).f_flag & os.ST_RDONLY
    return os.strerror(errno.EROFS if read_only else errno.EACCES)


def is_special(path: PathLike | int) -> bool:
    """Return whether this is a pipe, a terminal or a device, which hold nothing that could be lost."""
    try:
        there = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not (S_ISREG(there) or S_ISDIR(there))


def is_stream(path: PathLike) -> bool:
    """Return whether this is standard output, an open descriptor, a pipe or a device, whose name has no format."""
    return str(path) == "-" or _descriptor(str(path)) is not None or is_special(path)


def _descriptor(path: str) -> int | None:
    """Return the descriptor of names such as /dev/stdout and /dev/fd/63."""
    path = os.path.abspath(path)
    found = _DESCRIPTOR.fullmatch(path)
    return _STREAMS.get(path) if found is None else int(found[1])


@contextmanager
def writing(path: PathLike) -> Iterator[IO[bytes]]:
    """Open for writing, compressed according to its extension; the file appears only when everything is written.

    A file that was there keeps its mode. Pipes, devices and open descriptors (``/dev/stdout``) are written as they are.
    """
    path = check_path(path)
    name = "standard output" if path == "-" else path
    try:
        with _opened(path) as raw, _packed(raw, Path(path).suffix.lower()) as stream:
            yield stream
    except BrokenPipeError:  # whoever reads has had enough: the command line ends quietly
        raise
    except OSError as error:
        raise UsageError("cannot-write", path=name, why=error.strerror or str(error)) from None


@contextmanager
def _opened(path: str) -> Iterator[IO[bytes]]:
    descriptor = _descriptor(path)
    if path == "-" or descriptor is not None:  # which may be open for appending, and is not replaced
        if sys.stdout is None:
            raise OSError(errno.EBADF, "it is closed")
        sys.stdout.flush()
        if descriptor is None:
            yield sys.stdout.buffer
            sys.stdout.flush()
        else:
            with open(os.dup(descriptor), "wb") as raw:
                yield raw
        return
    if _commands and not is_special(path):
        _use("written", path, _keys(path), read="being-read", written="same-output")
    if is_special(path):
        with open(path, "wb") as raw:
            yield raw
    else:
        with _replacing(Path(os.path.realpath(path))) as raw:
            yield raw


@contextmanager
def _replacing(target: Path) -> Iterator[IO[bytes]]:
    """Write to a file with a hidden name in the same folder, close it, and let it take the place of the target."""
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, refusal(target.parent))
    hidden = target.parent / f".rankdev.{os.urandom(8).hex()}"
    try:
        with open(hidden, "xb") as raw:
            yield raw
            raw.flush()
            _settle(raw.fileno())  # or a loss of power may leave the name without the content
        if target.exists():
            shutil.copymode(target, hidden)
        os.replace(hidden, target)
    finally:
        hidden.unlink(missing_ok=True)


def _settle(descriptor: int) -> None:
    """Wait until a file is on the disk."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS):  # not every file system can
            raise


@contextmanager
def _packed(raw: IO[bytes], suffix: str) -> Iterator[IO[bytes]]:
    if suffix == ".gz":
        import gzip

        with gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0) as stream:
            yield stream  # type: ignore[misc]
    elif suffix == ".zst":
        import zstandard

        with zstandard.ZstdCompressor(write_checksum=True).stream_writer(raw, closefd=False) as stream:
            yield stream
    else:
        yield raw
