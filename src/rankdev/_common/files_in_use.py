"""The files that one command reads and writes, so that no output replaces an input or another output."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from stat import S_ISDIR, S_ISREG

from rankdev.errors import UsageError

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class _File:
    """A file by its name and, where it exists, by its identity: links and other spellings are the same file."""

    name: str
    place: str
    identity: tuple[int, int] | None

    @classmethod
    def at(cls, path: PathLike) -> _File:
        identity = None
        with suppress(OSError, ValueError):
            there = os.stat(path)
            identity = (there.st_dev, there.st_ino)
        return cls(os.fspath(path), os.path.realpath(path), identity)

    def same(self, other: _File) -> bool:
        return self.place == other.place or (self.identity is not None and self.identity == other.identity)


@dataclass
class _InUse:
    read: list[_File] = field(default_factory=list)
    announced: list[_File] = field(default_factory=list)
    written: list[_File] = field(default_factory=list)


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
    now = _commands[-1]
    target = _File.at(path)
    if str(path) == "-":
        target = _File("-", "-", None)
    elif not is_special(path):
        _refuse_an_input(target, now)
        if os.path.isdir(path):
            raise UsageError("cannot-write", path=path, why=os.strerror(errno.EISDIR))
        folder = os.path.dirname(target.place)
        if not os.path.isdir(folder):
            raise UsageError("cannot-write", path=path, why=os.strerror(errno.ENOENT))
        if not os.access(folder, os.W_OK):
            raise UsageError("cannot-write", path=path, why=refusal(folder))
    if any(target.same(other) for other in now.announced):
        raise UsageError("same-output", path=path)
    now.announced.append(target)


def note_reading(path: PathLike, descriptor: int) -> None:
    """Register an input; refused where it is announced as an output."""
    if not _commands or is_special(descriptor):
        return
    now, there = _commands[-1], os.fstat(descriptor)
    file = _File(os.fspath(path), os.path.realpath(path), (there.st_dev, there.st_ino))
    now.read.append(file)
    for target in now.announced:
        _refuse_an_input(target, now)


def note_writing(path: PathLike) -> None:
    """Register an output; refused where it is an input, or was written before."""
    if not _commands or is_special(path):
        return
    now, target = _commands[-1], _File.at(path)
    _refuse_an_input(target, now)
    if any(target.same(other) for other in now.written):
        raise UsageError("same-output", path=path)
    now.written.append(target)


def _refuse_an_input(target: _File, now: _InUse) -> None:
    if any(target.same(file) for file in now.read):
        raise UsageError("being-read", path=target.name)


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
