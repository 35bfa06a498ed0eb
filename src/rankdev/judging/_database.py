"""An SQLite file that one process writes to: opened, locked, and checked before every change."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import IO, Any

from rankdev.data.database import COLUMNS, GRADES, SCHEMA, is_database
from rankdev.errors import DataError

try:
    import fcntl
except ImportError:  # Windows: a database can be opened twice
    fcntl = None  # type: ignore[assignment]


PRIVATE = 0o600  # answers and names are for the owner's eyes, unless the owner decides otherwise
PATIENCE = 2.0  # seconds to wait for a lock of another program


class StoreError(DataError):
    """The database cannot be used: what is wrong with it, and what to do."""


class Database:
    """The database of one project; one process at a time writes to it, any number may read it.

    An answer that was kept is in the file itself, not in another one next to it, so that a copy of the file has it.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._lock = Lock()
        self.version = 0  # changes with the answers
        self._own: IO[bytes] | None = None
        self._file: int | None = None
        self._connection: sqlite3.Connection | None = None
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        try:
            file = self.path.resolve()  # links to one file are one database
            if not file.parent.is_dir():
                raise StoreError("no-folder", path=self.path, folder=file.parent)
            if file.exists() and not (file.is_file() and (not file.stat().st_size or is_database(file))):
                raise DataError("not-a-database", path=self.path)
            self._claim(Path(f"{file}-judging"))
            self._file = os.open(file, os.O_RDONLY | os.O_CREAT, PRIVATE)
            self._connection = sqlite3.connect(file, timeout=PATIENCE, check_same_thread=False, isolation_level=None)
            self._refuse_others()
            self._connection.execute("PRAGMA journal_mode=DELETE")
            self._connection.execute("PRAGMA synchronous=EXTRA")
            self._connection.execute(SCHEMA)
            self._connection.execute(GRADES)
            self._connection.execute("PRAGMA user_version=1")  # a disk that cannot be written to is noticed here
        except (OSError, sqlite3.Error) as error:
            raise StoreError("cannot-open", path=self.path, why=str(error)) from None

    def check(self) -> None:
        """Raise :class:`StoreError` where the file was moved, deleted or replaced: answers would go nowhere."""
        assert self._file is not None
        with suppress(OSError):
            if os.path.samestat(os.fstat(self._file), self.path.stat()):
                return
        raise StoreError("database-gone", path=self.path)

    def remembered(self) -> dict[str, Any]:
        """Return what :meth:`remember` was given, by this process or the one before."""
        assert self._own is not None
        with self._lock:
            self._own.seek(0)
            content = self._own.read()
        try:
            found = json.loads(content)
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    def remember(self, what: dict[str, Any]) -> None:
        """Keep secrets of the server next to the database, not in it: a copy for others should not have them."""
        assert self._own is not None
        if hasattr(os, "fchmod"):
            os.fchmod(self._own.fileno(), PRIVATE)
        content = json.dumps(what).encode()
        with self._lock:
            before = self._own.seek(0, os.SEEK_END)
            self._own.seek(0)
            self._own.write(content.ljust(before))  # in one piece, so that a process killed here loses no link
            self._own.flush()
            self._own.truncate(len(content))
            os.fsync(self._own.fileno())

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            if self._file is not None:
                os.close(self._file)
            if self._own is not None:
                self._own.close()
            self._own = self._file = self._connection = None

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Write all or nothing, into the file that was opened; it is on disk at the end."""
        connection = self._connection
        with self._lock:
            if connection is None or self._connection is None:
                raise StoreError("database-gone", path=self.path)
            self.check()
            try:
                connection.execute("BEGIN IMMEDIATE")
                changes = connection.total_changes
                yield connection
                connection.execute("COMMIT")
            except sqlite3.Error as error:
                raise StoreError("not-saved", path=self.path, why=str(error)) from None
            finally:
                if connection.in_transaction:
                    with suppress(sqlite3.Error):
                        connection.execute("ROLLBACK")
            self.version += connection.total_changes > changes

    def _refuse_others(self) -> None:
        """Refuse the database of another program before anything is written to it."""
        assert self._connection is not None
        tables = [name for (name,) in self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        try:
            if tables:
                self._connection.execute(f"SELECT request, undone, {', '.join(COLUMNS)} FROM answers LIMIT 1")
        except sqlite3.OperationalError:
            raise DataError("not-a-database", path=self.path) from None

    def _claim(self, path: Path) -> None:
        """Reject a second process, which would not see the answers of this one."""
        handle = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE), "r+b")
        try:
            if fcntl is not None:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            handle.close()
            raise StoreError("in-use", path=self.path) from None
        self._own = handle
