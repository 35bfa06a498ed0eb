"""Where answers are kept while they are collected: a file of preferences, or the database of ``rankdev judge``."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from rankdev._common.ids import as_id
from rankdev.errors import DataError, FileFormatError
from rankdev.io.judgment_database import is_database
from rankdev.judging._database import claimed
from rankdev.judging.items import Pair, Pool
from rankdev.judging.result import Answer
from rankdev.judging.store import Store, StoredAnswer, check_name

DATABASES = (".sqlite", ".sqlite3", ".db")


def kept_in(path: str, pool: Pool, judge: Any) -> AnswerFile | AnswerDatabase:
    """Open the file or database that keeps a judge's answers, recognised by its name or first bytes."""
    if not is_database(path) and Path(path).suffix.lower() not in DATABASES:
        return AnswerFile(path, pool)
    name = getattr(judge, "name", None) or getattr(judge, "__name__", type(judge).__name__)
    return AnswerDatabase(path, pool, str(name))


class AnswerFile:
    """A JSONL file of answers, readable by ``read_preferences`` at any time."""

    def __init__(self, path: str | os.PathLike[str], pool: Pool) -> None:
        self.path = Path(path)
        try:
            self._stream = self.path.open("ab")
        except OSError as error:
            raise DataError(f"{self.path}: {error.strerror}") from None
        try:
            if not claimed(self._stream):
                raise DataError(f"{self.path}: another process writes its answers there; choose another file")
            self.before = self._read(pool)
        except BaseException:
            self._stream.close()
            raise
        self.skipped: list[Pair] = []
        self._failed = ""
        self.unmatched = 0

    def add(self, answer: Answer) -> None:
        """Write an answer through to disk."""
        if self._failed:  # its last line may be incomplete, and must stay the last
            raise DataError(self._failed)
        try:
            self._stream.write(json.dumps(answer.record(), ensure_ascii=False).encode() + b"\n")
            self._stream.flush()
            os.fsync(self._stream.fileno())
        except OSError as error:
            self._failed = f"{self.path}: the answer cannot be written ({error.strerror})"
            raise DataError(self._failed) from None

    def skip(self, query: str, first: str, second: str, reason: str) -> None:
        """Do nothing: a file of preferences has no place for a question without an answer."""

    def close(self) -> None:
        """Close the file."""
        with suppress(OSError):  # what could not be written was reported before
            self._stream.close()

    def _read(self, pool: Pool) -> list[Answer]:
        """Read earlier answers; an incomplete last line was never acknowledged, and is removed."""
        try:
            content = self.path.read_bytes()
        except OSError as error:
            raise DataError(f"{self.path}: {error.strerror}") from None
        whole = content[: content.rfind(b"\n") + 1]
        answers = [self._answer(line, number, pool) for number, line in enumerate(whole.split(b"\n")[:-1], 1)]
        if len(whole) < len(content):
            if not content[len(whole) :].startswith(b'{"query": '[: len(content) - len(whole)]):
                raise FileFormatError(self.path, "this is not a file of answers; choose another name", len(answers) + 1)
            os.truncate(self.path, len(whole))
        return answers

    def _answer(self, line: bytes, number: int, pool: Pool) -> Answer:
        try:
            record = json.loads(line)
            query, winner, loser, first = (as_id(record[name]) for name in ("query", "winner", "loser", "first"))
            answer = Answer(query, winner, loser, record["tie"] is True, first, str(record.get("comment", "")))
        except (ValueError, KeyError, TypeError):
            expected = '{"query": …, "winner": …, "loser": …, "tie": …, "first": …}'
            raise FileFormatError(self.path, f"this is not an answer; expected {expected}", number) from None
        try:
            pool.check(answer.query, answer.winner, answer.loser)
        except DataError as error:
            raise FileFormatError(
                self.path, f"{error}; resume with the same items, or choose another file", number
            ) from None
        return answer


class AnswerDatabase:
    """The answers of one judge in a database, next to those of others, which are left alone.

    ``unmatched`` counts this judge's answers about other items, which are ignored.
    """

    def __init__(self, path: str, pool: Pool, name: str) -> None:
        check_name(name)
        self.path, self.name = Path(path), name
        self._store = Store(path)
        try:
            mine = [a for row in self._store.answers().iter_rows() if (a := StoredAnswer(*row)).worker == name]
        except BaseException:
            self._store.close()
            raise
        known = [answer for answer in mine if pool.knows(*answer.pair)]
        self.unmatched = len(mine) - len(known)
        self.before = [
            Answer(a.query, *_order(a), a.outcome == "tie", a.first, a.comment) for a in known if a.outcome != "skip"
        ]
        self.skipped = [answer.pair for answer in known if answer.outcome == "skip"]

    def add(self, answer: Answer) -> None:
        """Write an answer through to disk."""
        outcome = "tie" if answer.tie else "first" if answer.winner == answer.first else "second"
        self._write(answer.query, answer.first, answer.second, outcome, answer.comment)

    def skip(self, query: str, first: str, second: str, reason: str) -> None:
        """Record that a pair was asked but not answered."""
        self._write(query, first, second, "skip", reason)

    def close(self) -> None:
        """Close the database."""
        self._store.close()

    def _write(self, query: str, first: str, second: str, outcome: str, comment: str) -> None:
        answer = StoredAnswer(query, first, second, outcome, self.name, comment=comment, program=1)
        self._store.add(uuid4().hex, answer)


def _order(answer: StoredAnswer) -> tuple[str, str]:
    """Return winner and loser."""
    return (answer.second, answer.first) if answer.outcome == "second" else (answer.first, answer.second)
