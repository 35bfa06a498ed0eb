"""Answers in SQLite, written through to disk before they are acknowledged."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import IO

import polars as pl

from rankdev.errors import DataError, FileFormatError, UsageError
from rankdev.io.preferences import COLUMNS, SCHEMA, is_database, read_answers
from rankdev.judging.items import Pair

try:
    import fcntl
except ImportError:  # Windows: a database can be opened twice
    fcntl = None  # type: ignore[assignment]


LONGEST_NAME = 80


def check_name(name: str) -> None:
    """Reject a name that no judge can have."""
    if not name or len(name) > LONGEST_NAME or not name.isprintable() or name != name.strip():
        raise UsageError(
            f"a judge's name must have 1 to {LONGEST_NAME} printable characters, without leading or trailing spaces"
        )


def claimed(handle: IO[bytes]) -> bool:
    """Lock a file for this process until it is closed; False where another has it."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@dataclass(frozen=True)
class StoredAnswer:
    """An answer of a judge; ``first`` was on the left."""

    query: str
    first: str
    second: str
    outcome: str
    worker: str
    weight: float = 1.0
    comment: str = ""
    at: str = ""

    @property
    def pair(self) -> Pair:
        """Query and items, as they were shown."""
        return self.query, self.first, self.second


class Store:
    """The database of one project; one process at a time writes to it, any number may read it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._lock = Lock()
        try:
            if self.path.exists() and self.path.stat().st_size and not is_database(self.path):
                raise FileFormatError(path, "this is not a database; choose another name")
            self._connection = sqlite3.connect(self.path, check_same_thread=False, isolation_level=None)
            self._own = self._claim()
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=FULL")
            self._connection.execute(SCHEMA)
            self._connection.execute(f"SELECT {', '.join(COLUMNS)} FROM answers LIMIT 1")
        except (OSError, sqlite3.Error) as error:
            raise DataError(f"{self.path}: the database cannot be opened ({error})") from None

    def add(self, request: str, answers: Sequence[StoredAnswer]) -> bool:
        """Keep the answers of one request, all or none; False if the same request was kept before."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        rows = [
            (request, part, a.query, a.first, a.second, a.outcome, a.worker, a.weight, a.comment, now)
            for part, a in enumerate(answers)
        ]
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._connection.executemany(
                    f"INSERT INTO answers (request, part, {', '.join(COLUMNS)}) VALUES (?,?,?,?,?,?,?,?,?,?)", rows
                )
                self._connection.execute("COMMIT")
            except sqlite3.IntegrityError:
                self._connection.execute("ROLLBACK")
                before = self._connection.execute(
                    "SELECT query, first, second, outcome, worker FROM answers WHERE request = ? ORDER BY part",
                    (request,),
                ).fetchall()
                if before != [(a.query, a.first, a.second, a.outcome, a.worker) for a in answers]:
                    raise DataError("this request was made before, with another answer; load the page again") from None
                return False
            except BaseException:
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise
        return True

    def undo(self, worker: str, known: Callable[[StoredAnswer], bool]) -> list[StoredAnswer]:
        """Take back the last request of a judge, unless its items are unknown; nothing is deleted."""
        with self._lock:
            last = self._connection.execute(
                "SELECT request FROM answers WHERE worker = ? AND NOT undone ORDER BY id DESC LIMIT 1", (worker,)
            ).fetchone()
            if last is None:
                return []
            rows = self._connection.execute(
                f"SELECT {', '.join(COLUMNS)} FROM answers WHERE request = ? ORDER BY part", last
            ).fetchall()
            answers = [StoredAnswer(*row) for row in rows]
            if not all(map(known, answers)):
                return []
            self._connection.execute("UPDATE answers SET undone = 1 WHERE request = ?", last)
        return answers

    def answers(self) -> pl.DataFrame:
        """Return all answers that were not taken back."""
        return read_answers(self.path)

    def close(self) -> None:
        """Close the database, with everything in one file."""
        with self._lock:
            self._connection.close()
            if self._own is not None:
                self._own.close()

    def _claim(self) -> IO[bytes] | None:
        """Reject a second process, which would not see the answers of this one."""
        if fcntl is None:
            return None
        handle = Path(f"{self.path}-judging").open("wb")  # noqa: SIM115 (held until the end)
        if not claimed(handle):
            handle.close()
            raise DataError(f"{self.path}: another process has it open; end it first, or use its page") from None
        return handle
