"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import gzip
import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from rankdev._common.checks import check_path
from rankdev._common.files_in_use import PathLike, is_special, note_writing, refusal
from rankdev.errors import UsageError

if sys.platform != "win32":
    import fcntl

_UNFINISHED = re.compile(r"\.rankdev\.[0-9a-f]{16}")
_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/(\d+)")
_STREAMS = {"/dev/stdout": 1, "/dev/stderr": 2}


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
def _opened(path: PathLike) -> Iterator[IO[bytes]]:
    if str(path) == "-":
        yield _standard_output()
        sys.stdout.flush()
        return
    descriptor = _descriptor(str(path))
    if descriptor is not None:  # a file that is open already, perhaps for appending, is not replaced
        if sys.stdout is not None:
            sys.stdout.flush()
        with open(os.dup(descriptor), "wb") as raw:
            yield raw
        return
    note_writing(path)
    if is_special(path):
        with open(path, "wb") as raw:
            yield raw
        return
    with _replacing(Path(os.path.realpath(path))) as raw:
        yield raw


def is_stream(path: PathLike) -> bool:
    """Return whether this is standard output, an open descriptor, a pipe or a device, whose name has no format."""
    return str(path) == "-" or _descriptor(str(path)) is not None or is_special(path)


def _standard_output() -> IO[bytes]:
    if sys.stdout is None:
        raise OSError(errno.EBADF, "it is closed")
    sys.stdout.flush()
    return sys.stdout.buffer


def _descriptor(path: str) -> int | None:
    """Return the descriptor of names such as /dev/stdout and /dev/fd/63, and links to them."""
    for _ in range(20):
        path = os.path.abspath(path)
        if path in _STREAMS:
            return _STREAMS[path]
        if found := _DESCRIPTOR.fullmatch(path):
            return int(found[1])
        if not os.path.islink(path):
            return None
        path = os.path.join(os.path.dirname(path), os.readlink(path))
    return None


@contextmanager
def _replacing(target: Path) -> Iterator[IO[bytes]]:
    """Write to a file without a name, or with a hidden one where that cannot be, and name it at the end."""
    before = _replaceable(target)
    _sweep(target.parent)
    hidden = target.parent / f".rankdev.{secrets.token_hex(8)}"
    try:
        with open(_unseen(hidden), "w+b") as raw:
            if before is not None:
                _same_rights(raw.fileno(), before)
            yield raw
            raw.flush()
            _settle(raw.fileno())  # or a loss of power may leave the name without the content
            if not hidden.exists():
                _name(raw, hidden)
            os.replace(hidden, target)
        _settle_folder(target.parent)
    except BaseException:
        hidden.unlink(missing_ok=True)
        raise


def _replaceable(target: Path) -> os.stat_result | None:
    """Return what is there, if anything; refuse folders, and files that are protected against writing."""
    try:
        before = target.stat()
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(before.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, refusal(target.parent))
    return before


def _unseen(hidden: Path) -> int:
    """Open a file that has no name, so that it vanishes with its process; the umask gives its mode."""
    unnamed = getattr(os, "O_TMPFILE", 0)
    if unnamed and os.path.isdir("/proc/self/fd"):
        with suppress(OSError):  # not every file system can
            return _locked(os.open(hidden.parent, unnamed | os.O_RDWR, 0o666))
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    return _locked(os.open(hidden, flags, 0o666))


def _name(raw: IO[bytes], hidden: Path) -> None:
    """Name a file that has no name, or copy it where the system does not allow that."""
    folder = os.open(hidden.parent, os.O_RDONLY)
    try:
        # with a folder's descriptor Python calls linkat, which follows the link in /proc to the open file
        os.link(f"/proc/self/fd/{raw.fileno()}", hidden.name, dst_dir_fd=folder, follow_symlinks=True)
    except OSError:
        raw.seek(0)
        with open(hidden, "xb") as copy:
            os.fchmod(copy.fileno(), stat.S_IMODE(os.fstat(raw.fileno()).st_mode))
            shutil.copyfileobj(raw, copy)
            copy.flush()
            _settle(copy.fileno())
    finally:
        os.close(folder)


def _settle(descriptor: int) -> None:
    """Wait until a file or a folder is on the disk."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS):  # not every file system can
            raise


def _settle_folder(folder: Path) -> None:
    if sys.platform == "win32":
        return
    with suppress(OSError):  # the file is there; its folder may be one that can be written and not read
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            _settle(descriptor)
        finally:
            os.close(descriptor)


def _same_rights(descriptor: int, before: os.stat_result) -> None:
    if sys.platform == "win32":
        return
    now = os.fstat(descriptor)
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        with suppress(PermissionError):
            os.fchown(descriptor, before.st_uid, before.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(before.st_mode))


def _sweep(folder: Path) -> None:
    """Remove what a killed process left with a hidden name: nobody holds its lock any more."""
    if sys.platform == "win32":
        return
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _UNFINISHED.fullmatch(entry.name):
                with suppress(OSError):
                    descriptor = os.open(entry.path, os.O_RDONLY | os.O_NONBLOCK)
                    try:
                        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        os.unlink(entry.path)
                    finally:
                        os.close(descriptor)


def _locked(descriptor: int) -> int:
    if sys.platform != "win32":
        with suppress(OSError):  # a file system without locks: what is left there stays
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return descriptor


@contextmanager
def _packed(raw: IO[bytes], suffix: str) -> Iterator[IO[bytes]]:
    if suffix == ".gz":
        with gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0) as stream:
            yield stream  # type: ignore[misc]
    elif suffix == ".zst":
        import zstandard

        with zstandard.ZstdCompressor(write_checksum=True).stream_writer(raw, closefd=False) as stream:
            yield stream
    else:
        yield raw
