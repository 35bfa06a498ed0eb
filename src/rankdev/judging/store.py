"""Answers in SQLite, written through to disk before they are acknowledged."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import astuple, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import IO, Any

import polars as pl

from rankdev.data.database import COLUMNS, SCHEMA, is_database, read_answers
from rankdev.errors import DataError, UsageError

try:
    import fcntl
except ImportError:  # Windows: a database can be opened twice
    fcntl = None  # type: ignore[assignment]

LONGEST_NAME = 80
PRIVATE = 0o600  # answers and names are for the owner's eyes, unless the owner decides otherwise
PATIENCE = 2.0  # seconds to wait for a lock of another program
LAST = "worker = ? AND (kind = 'grade') = ? AND NOT undone ORDER BY id DESC"
SAID = COLUMNS.index("worker") + 1  # columns that are the same where an answer is sent again
SCORES = {"first": 1.0, "tie": 0.5, "second": 0.0}  # what an outcome is to the first item
Pair = tuple[str, str, str]  # query and two of its items; the second is empty where one item is graded


def sorted_pair(pair: Pair) -> Pair:
    """Return a pair with its items sorted, so that both orders are equal."""
    query, a, b = pair
    return (query, b, a) if b and b < a else pair


def check_name(name: str) -> None:
    """Reject a name that no judge can have."""
    if not name or len(name) > LONGEST_NAME or not name.isprintable() or name != name.strip():
        raise UsageError("bad-name", most=LONGEST_NAME)


class StoreError(DataError):
    """The database cannot be used: what is wrong with it, and what to do."""


@dataclass(frozen=True)
class Answer:
    """An answer of a judge about two items, ``first`` on the left; or of kind ``grade`` about one, its grade."""

    query: str
    first: str
    second: str
    outcome: str
    worker: str
    comment: str = ""
    at: str = ""
    seconds: float | None = None
    kind: str = ""
    program: int = 0

    @property
    def pair(self) -> Pair:
        """Query and items, as they were shown."""
        return self.query, self.first, self.second

    @property
    def items(self) -> tuple[str, ...]:
        """The two items, or the one that was graded."""
        return (self.first, self.second) if self.second else (self.first,)


class Store:
    """The database of one project; one process at a time writes to it, any number may read it.

    An answer that was kept is in the file itself, not in another one next to it, so that a copy of the file has it.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._lock = Lock()
        with ExitStack() as opened:
            self._own, self._file, self._connection = self._open(opened)
            self._opened = opened.pop_all()

    def add(self, request: str, given: Answer) -> bool:
        """Keep an answer; False if the same request was kept before."""
        values = astuple(replace(given, at=_now()))
        with self._writing() as connection:
            before = _select(connection, "request = ?", request)
            if not before:
                _insert(connection, request, values)
            elif astuple(before[0][1])[:SAID] != values[:SAID]:
                raise DataError("other-answer")
        return not before

    def has(self, request: str) -> bool:
        """Return whether a request was kept before."""
        with self._writing() as connection:
            return bool(_select(connection, "request = ?", request))

    def undo(
        self, worker: str, known: Callable[[Answer], bool], *, graded: bool = False
    ) -> tuple[Answer | None, Answer | None]:
        """Take back the last answer of a judge, unless its items are unknown; nothing is deleted.

        Return what was taken back, and what is valid again: where a change was taken back, the answer before it.
        """
        with self._writing() as connection:
            last = _select(connection, f"{LAST} LIMIT 1", worker, graded)
            if not last or not known(last[0][1]):
                return None, None
            number, taken = last[0]
            connection.execute("UPDATE answers SET undone = 1, ended = ? WHERE id = ?", (_now(), number))
            again = _select(connection, "replaced_by = ?", number)
            connection.execute(
                "UPDATE answers SET undone = 0, ended = NULL, replaced_by = NULL WHERE replaced_by = ?", (number,)
            )
        return taken, again[0][1] if again else None

    def change(
        self, request: str, number: int, worker: str, outcome: str, comment: str
    ) -> tuple[Answer, Answer] | None:
        """Change an answer of a judge; the old one is kept and marked. Return both, or None for a repetition."""
        with self._writing() as connection:
            for _, before in _select(connection, "request = ?", request):
                if (before.worker, before.outcome, before.comment) == (worker, outcome, comment):
                    return None
                raise DataError("other-answer")
            found = _select(connection, "id = ? AND worker = ? AND NOT undone", number, worker)
            if not found:
                raise DataError("answer-gone")
            old = found[0][1]
            changed = replace(old, outcome=outcome, comment=comment, at=_now())
            new = _insert(connection, request, astuple(changed))
            connection.execute(
                "UPDATE answers SET undone = 1, ended = ?, replaced_by = ? WHERE id = ?", (changed.at, new, number)
            )
        return old, changed

    def last(self, worker: str, most: int, *, graded: bool = False) -> list[tuple[int, Answer]]:
        """Return the last answers of a judge with their numbers, the newest first."""
        with self._writing() as connection:
            return _select(connection, f"{LAST} LIMIT ?", worker, graded, most)

    def answers(self, *, graded: bool = False, ended: bool = False) -> pl.DataFrame:
        """Return the answers as a table, see :func:`~rankdev.data.database.read_answers`."""
        self.check()
        return read_answers(self.path, graded=graded, ended=ended)

    def given(self, *, graded: bool = False) -> list[Answer]:
        """Return all answers that were not taken back or changed."""
        return [Answer(*row) for row in self.answers(graded=graded).iter_rows()]

    def check(self) -> None:
        """Raise :class:`StoreError` where the file was moved, deleted or replaced: answers would go nowhere."""
        with suppress(OSError):
            if os.path.samestat(os.fstat(self._file), self.path.stat()):
                return
        raise StoreError("database-gone", path=self.path)

    def remembered(self) -> dict[str, Any]:
        """Return what :meth:`remember` was given, by this process or the one before."""
        with self._lock:
            self._own.seek(0)
            content = self._own.read()
        try:
            found = json.loads(content)
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    def remember(self, **what: Any) -> None:
        """Keep secrets of the server next to the database, not in it: a copy for others should not have them."""
        if hasattr(os, "fchmod"):
            os.fchmod(self._own.fileno(), PRIVATE)
        content = json.dumps(self.remembered() | what).encode()
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
            self._opened.close()

    def _open(self, opened: ExitStack) -> tuple[IO[bytes], int, sqlite3.Connection]:
        """Open the file of its own, which keeps other processes out, the database, and a connection to it."""
        try:
            file = self.path.resolve()  # links to one file are one database
            if not file.parent.is_dir():
                raise StoreError("no-folder", path=self.path, folder=file.parent)
            if file.exists() and not (file.is_file() and (not file.stat().st_size or is_database(file))):
                raise DataError("not-a-database", path=self.path)
            own = os.fdopen(os.open(f"{file}-judging", os.O_RDWR | os.O_CREAT, PRIVATE), "r+b")
            opened.callback(own.close)
            self._claim(own)
            number = os.open(file, os.O_RDONLY | os.O_CREAT, PRIVATE)
            opened.callback(os.close, number)
            connection = sqlite3.connect(file, timeout=PATIENCE, check_same_thread=False, isolation_level=None)
            opened.callback(connection.close)
            self._refuse_others(connection)
            connection.execute("PRAGMA journal_mode=DELETE")
            connection.execute("PRAGMA synchronous=EXTRA")
            connection.execute(SCHEMA)
            connection.execute("PRAGMA user_version=1")  # a disk that cannot be written to is noticed here
        except (OSError, sqlite3.Error) as error:
            raise StoreError("cannot-open", path=self.path, why=str(error)) from None
        return own, number, connection

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Write all or nothing, into the file that was opened; it is on disk at the end."""
        connection = self._connection
        with self._lock:
            self.check()
            try:
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")
            except sqlite3.Error as error:
                raise StoreError("not-saved", path=self.path, why=str(error)) from None
            finally:
                with suppress(sqlite3.Error):
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")

    def _refuse_others(self, connection: sqlite3.Connection) -> None:
        """Refuse the database of another program before anything is written to it."""
        try:
            if connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                connection.execute(f"SELECT request, undone, {', '.join(COLUMNS)} FROM answers LIMIT 1")
        except sqlite3.OperationalError:
            raise DataError("not-a-database", path=self.path) from None

    def _claim(self, own: IO[bytes]) -> None:
        """Reject a second process, which would not see the answers of this one."""
        try:
            if fcntl is not None:
                fcntl.flock(own, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise StoreError("in-use", path=self.path) from None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _insert(connection: sqlite3.Connection, request: str, values: tuple[Any, ...]) -> int | None:
    """Write one answer; return its number."""
    names = ("request", *COLUMNS)
    sql = f"INSERT INTO answers ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
    return connection.execute(sql, (request, *values)).lastrowid


def _select(connection: sqlite3.Connection, where: str, *values: object) -> list[tuple[int, Answer]]:
    """Read answers with their numbers."""
    rows = connection.execute(f"SELECT id, {', '.join(COLUMNS)} FROM answers WHERE {where}", values).fetchall()
    return [(number, Answer(*row)) for number, *row in rows]
