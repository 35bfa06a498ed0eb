"""Files that appear whole or not at all, and never replace what the same command reads or has written."""

from __future__ import annotations

import errno
import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
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


@dataclass
class _InUse:
    """What a command reads and writes, by the keys of each file; and how an announced output was called."""

    read: set[Any] = field(default_factory=set)
    announced: dict[Any, PathLike] = field(default_factory=dict)
    written: set[Any] = field(default_factory=set)


_commands: list[_InUse] = []


@contextmanager
def one_command() -> Iterator[None]:
    """Check all files read and written inside against each other; outside, a file may be read and then replaced."""
    _commands.append(_InUse())
    try:
        yield
    finally:
        _commands.pop()


def announce_output(path: PathLike) -> None:
    """Register an output before the work begins: refused at once where it cannot be written."""
    if not _commands:
        return
    now, keys = _commands[-1], {"-"} if str(path) == "-" else _keys(path)
    if str(path) != "-" and not is_special(path):
        folder = os.path.dirname(os.path.realpath(path))
        if keys & now.read:
            raise UsageError("being-read", path=path)
        if os.path.isdir(path):
            raise UsageError("cannot-write", path=path, why=os.strerror(errno.EISDIR))
        if not os.path.isdir(folder):
            raise UsageError("cannot-write", path=path, why=os.strerror(errno.ENOENT))
        if not os.access(folder, os.W_OK):
            raise UsageError("cannot-write", path=path, why=refusal(folder))
    if keys & now.announced.keys():
        raise UsageError("same-output", path=path)
    now.announced |= dict.fromkeys(keys, path)


def note_reading(path: PathLike, descriptor: int) -> None:
    """Register an input; refused where it is announced as an output."""
    if not _commands or is_special(descriptor):
        return
    now, keys = _commands[-1], _keys(path) | _keys(descriptor)
    now.read |= keys
    for key in keys & now.announced.keys():
        raise UsageError("being-read", path=now.announced[key])


def note_writing(path: PathLike) -> None:
    """Register an output; refused where it is an input, or was written before."""
    if not _commands or is_special(path):
        return
    now, keys = _commands[-1], _keys(path)
    if keys & now.read:
        raise UsageError("being-read", path=path)
    if keys & now.written:
        raise UsageError("same-output", path=path)
    now.written |= keys


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
    note_writing(path)
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
