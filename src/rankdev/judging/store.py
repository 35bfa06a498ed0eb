"""Answers in SQLite, written through to disk before they are acknowledged."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import polars as pl

from rankdev.errors import DataError, UsageError
from rankdev.io.judgment_database import COLUMNS, GRADE_COLUMNS, read_answers, read_given_grades
from rankdev.judging._database import Database
from rankdev.judging.items import Pair

LONGEST_NAME = 80


def check_name(name: str) -> None:
    """Reject a name that no judge can have."""
    if not name or len(name) > LONGEST_NAME or not name.isprintable() or name != name.strip():
        raise UsageError(
            f"a judge's name must have 1 to {LONGEST_NAME} printable characters, without leading or trailing spaces"
        )


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

    def add(self, request: str, answers: Sequence[StoredAnswer]) -> bool:
        """Keep the answers of one request, all or none; False if the same request was kept before."""
        now = _now()
        with self._writing() as connection:
            before = connection.execute(
                "SELECT query, first, second, outcome, worker FROM answers WHERE request = ? ORDER BY part", (request,)
            ).fetchall()
            if not before:
                for part, answer in enumerate(answers):
                    _insert(connection, request, part, replace(answer, at=now))
            elif before != [(a.query, a.first, a.second, a.outcome, a.worker) for a in answers]:
                raise DataError("this request was made before, with another answer; load the page again")
        return not before

    def has(self, request: str) -> bool:
        """Return whether a request was kept before."""
        with self._writing() as connection:
            return connection.execute("SELECT 1 FROM answers WHERE request = ?", (request,)).fetchone() is not None

    def pairs(self, request: str) -> list[Pair]:
        """Return the pairs that were kept of a request."""
        with self._writing() as connection:
            rows = connection.execute("SELECT query, first, second FROM answers WHERE request = ?", (request,))
            return [(query, first, second) for query, first, second in rows]

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
                raise DataError("this request was made before, with another grade; load the page again")
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

    def undo(self, worker: str, known: Callable[[StoredAnswer], bool]) -> tuple[list[StoredAnswer], list[StoredAnswer]]:
        """Take back the last request of a judge, unless its items are unknown; nothing is deleted.

        Return what was taken back, and what is valid again: where a change was taken back, the answer before it.
        """
        with self._writing() as connection:
            last = connection.execute(
                "SELECT request, id FROM answers WHERE worker = ? AND NOT undone ORDER BY id DESC LIMIT 1", (worker,)
            ).fetchone()
            if last is None:
                return [], []
            request, number = last
            answers = _select(connection, "request = ? ORDER BY part", request)
            if not all(map(known, answers)):
                return [], []
            connection.execute("UPDATE answers SET undone = 1, ended = ? WHERE request = ?", (_now(), request))
            again = _select(connection, "replaced_by = ?", number)
            connection.execute(
                "UPDATE answers SET undone = 0, ended = NULL, replaced_by = NULL WHERE replaced_by = ?", (number,)
            )
        return answers, again

    def change(self, request: str, number: int, worker: str, outcome: str, comment: str) -> list[StoredAnswer]:
        """Change an answer of a judge; the old one is kept and marked. Return both, or nothing for a repetition."""
        with self._writing() as connection:
            before = _select(connection, "request = ?", request)
            if before:
                if [(a.worker, a.outcome, a.comment) for a in before] == [(worker, outcome, comment)]:
                    return []
                raise DataError("this request was made before, with another answer; load the page again")
            found = _select(connection, "id = ? AND worker = ? AND NOT undone", number, worker)
            if not found:
                raise DataError("this answer is not there any more: it was taken back or changed; open the list again")
            (alone,) = connection.execute(
                "SELECT count(*) = 1 FROM answers WHERE request = (SELECT request FROM answers WHERE id = ?)", (number,)
            ).fetchone()
            if not alone:
                raise DataError(
                    "a list cannot be changed pair by pair; take it back with Undo while it is the last answer"
                )
            changed = replace(found[0], outcome=outcome, comment=comment, at=_now())
            new = _insert(connection, request, 0, changed)
            connection.execute(
                "UPDATE answers SET undone = 1, ended = ?, replaced_by = ? WHERE id = ?", (changed.at, new, number)
            )
        return [found[0], changed]

    def last(self, worker: str, most: int) -> list[tuple[int, list[StoredAnswer]]]:
        """Return number and pairs of the last answers of a judge, the newest first; a list has several pairs."""
        with self._writing() as connection:
            requests = connection.execute(
                "SELECT id, request FROM answers WHERE worker = ? AND NOT undone AND part = 0 ORDER BY id DESC LIMIT ?",
                (worker, most),
            ).fetchall()
            return [(number, _select(connection, "request = ? ORDER BY part", name)) for number, name in requests]

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


def _insert(connection: sqlite3.Connection, request: str, part: int, answer: StoredAnswer) -> int | None:
    """Write one row; return its number."""
    names = ("request", "part", *COLUMNS)
    values = (request, part, *(getattr(answer, name) for name in COLUMNS))
    marks = ", ".join("?" * len(names))
    return connection.execute(f"INSERT INTO answers ({', '.join(names)}) VALUES ({marks})", values).lastrowid


def _select(connection: sqlite3.Connection, where: str, *values: object) -> list[StoredAnswer]:
    rows = connection.execute(f"SELECT {', '.join(COLUMNS)} FROM answers WHERE {where}", values).fetchall()
    return [StoredAnswer(*row) for row in rows]
