"""Answers in SQLite, written through to disk before they are acknowledged."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import polars as pl

from rankdev.data.database import COLUMNS, GRADE_COLUMNS, read_answers, read_given_grades
from rankdev.errors import DataError, UsageError
from rankdev.judging._database import Database
from rankdev.judging.items import Pair

LONGEST_NAME = 80


def check_name(name: str) -> None:
    """Reject a name that no judge can have."""
    if not name or len(name) > LONGEST_NAME or not name.isprintable() or name != name.strip():
        raise UsageError("bad-name", most=LONGEST_NAME)


@dataclass(frozen=True)
class StoredAnswer:
    """An answer of a judge; ``first`` was on the left."""

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


@dataclass(frozen=True)
class StoredGrade:
    """A grade that a judge gave to an item; None where it was skipped."""

    query: str
    item: str
    grade: int | None
    worker: str
    comment: str = ""
    at: str = ""


class Store(Database):
    """Answers and grades of a project."""

    def add(self, request: str, answer: StoredAnswer) -> bool:
        """Keep an answer; False if the same request was kept before."""
        with self._writing() as connection:
            before = connection.execute(
                "SELECT query, first, second, outcome, worker FROM answers WHERE request = ?", (request,)
            ).fetchone()
            if before is None:
                _insert(connection, request, replace(answer, at=_now()))
            elif before != (*answer.pair, answer.outcome, answer.worker):
                raise DataError("other-answer")
        return before is None

    def has(self, request: str) -> bool:
        """Return whether a request was kept before."""
        with self._writing() as connection:
            return connection.execute("SELECT 1 FROM answers WHERE request = ?", (request,)).fetchone() is not None

    def add_grade(self, request: str, grade: StoredGrade) -> bool:
        """Keep a grade; False if the same request was kept before."""
        row = (request, grade.query, grade.item, grade.grade, grade.worker)
        with self._writing() as connection:
            before = connection.execute(
                "SELECT request, query, item, grade, worker FROM grades WHERE request = ?", (request,)
            ).fetchone()
            if before is None:
                connection.execute(
                    "INSERT INTO grades (request, query, item, grade, worker, comment, at) VALUES (?,?,?,?,?,?,?)",
                    (*row, grade.comment, _now()),
                )
            elif before != row:
                raise DataError("other-answer")
        return before is None

    def has_grade(self, request: str) -> bool:
        """Return whether a grade was kept before."""
        with self._writing() as connection:
            return connection.execute("SELECT 1 FROM grades WHERE request = ?", (request,)).fetchone() is not None

    def undo_grade(self, worker: str, known: Callable[[str, str], bool]) -> StoredGrade | None:
        """Take back the last grade of a judge, unless its item is unknown; nothing is deleted."""
        with self._writing() as connection:
            last = connection.execute(
                f"SELECT id, {', '.join(GRADE_COLUMNS)} FROM grades WHERE worker = ? AND NOT undone"
                " ORDER BY id DESC LIMIT 1",
                (worker,),
            ).fetchone()
            if last is None or not known(*last[1:3]):
                return None
            connection.execute("UPDATE grades SET undone = 1 WHERE id = ?", last[:1])
        return StoredGrade(*last[1:])

    def grades(self) -> list[StoredGrade]:
        """Return all grades that were not taken back."""
        self.check()
        return [StoredGrade(*row) for row in read_given_grades(self.path).iter_rows()]

    def undo(
        self, worker: str, known: Callable[[StoredAnswer], bool]
    ) -> tuple[StoredAnswer | None, StoredAnswer | None]:
        """Take back the last answer of a judge, unless its items are unknown; nothing is deleted.

        Return what was taken back, and what is valid again: where a change was taken back, the answer before it.
        """
        with self._writing() as connection:
            last = _select(connection, "worker = ? AND NOT undone ORDER BY id DESC LIMIT 1", worker)
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
    ) -> tuple[StoredAnswer, StoredAnswer] | None:
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
            new = _insert(connection, request, changed)
            connection.execute(
                "UPDATE answers SET undone = 1, ended = ?, replaced_by = ? WHERE id = ?", (changed.at, new, number)
            )
        return old, changed

    def last(self, worker: str, most: int) -> list[tuple[int, StoredAnswer]]:
        """Return the last answers of a judge with their numbers, the newest first."""
        with self._writing() as connection:
            return _select(connection, "worker = ? AND NOT undone ORDER BY id DESC LIMIT ?", worker, most)

    def answers(self) -> pl.DataFrame:
        """Return all answers that were not taken back or changed."""
        self.check()
        return read_answers(self.path)

    def everything(self) -> pl.DataFrame:
        """Return all answers; those that were taken back or changed are marked."""
        self.check()
        return read_answers(self.path, ended=True)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _insert(connection: sqlite3.Connection, request: str, answer: StoredAnswer) -> int | None:
    """Write one row; return its number."""
    names = ("request", *COLUMNS)
    values = (request, *(getattr(answer, name) for name in COLUMNS))
    marks = ", ".join("?" * len(names))
    return connection.execute(f"INSERT INTO answers ({', '.join(names)}) VALUES ({marks})", values).lastrowid


def _select(connection: sqlite3.Connection, where: str, *values: object) -> list[tuple[int, StoredAnswer]]:
    """Read answers with their numbers."""
    rows = connection.execute(f"SELECT id, {', '.join(COLUMNS)} FROM answers WHERE {where}", values).fetchall()
    return [(number, StoredAnswer(*row)) for number, *row in rows]
