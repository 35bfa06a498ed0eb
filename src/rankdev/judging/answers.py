"""Answers in a file: each is on the disk before the next question, and the loop goes on where it was."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankdev.errors import DataError, FileFormatError
from rankdev.judging.pool import Pool
from rankdev.tabular import as_id


@dataclass(frozen=True)
class Answer:
    """The winner (of a tie: the item shown first), the loser, and which of them was shown first."""

    query: str
    winner: str
    loser: str
    tie: bool
    first: str

    def record(self) -> dict[str, Any]:
        """Give what a file of preferences holds."""
        return dict(vars(self))


class AnswerFile:
    """A JSONL file of answers, readable by ``read_preferences`` at any time."""

    def __init__(self, path: str | os.PathLike[str], pool: Pool) -> None:
        self.path = Path(path)
        self.before = self._read(pool)
        try:
            self._stream = self.path.open("ab")
        except OSError as error:
            raise DataError(f"{self.path}: {error.strerror}") from None

    def add(self, answer: Answer) -> None:
        """Write an answer through to the disk."""
        self._stream.write(json.dumps(answer.record(), ensure_ascii=False).encode() + b"\n")
        self._stream.flush()
        os.fsync(self._stream.fileno())

    def close(self) -> None:
        """Close the file."""
        self._stream.close()

    def _read(self, pool: Pool) -> list[Answer]:
        """Read what was answered; a last line without its end was never acknowledged, and is taken off."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise DataError(f"{self.path}: {error.strerror}") from None
        whole = content[: content.rfind(b"\n") + 1]
        answers = [self._answer(line, number, pool) for number, line in enumerate(whole.split(b"\n")[:-1], 1)]
        if len(whole) < len(content):
            if not content[len(whole) :].startswith(b'{"query": '[: len(content) - len(whole)]):
                raise FileFormatError(self.path, "this is not a file of answers; give another name", len(answers) + 1)
            os.truncate(self.path, len(whole))
        return answers

    def _answer(self, line: bytes, number: int, pool: Pool) -> Answer:
        try:
            record = json.loads(line)
            query, winner, loser, first = (as_id(record[name]) for name in ("query", "winner", "loser", "first"))
            answer = Answer(query, winner, loser, record["tie"] is True, first)
        except (ValueError, KeyError, TypeError):
            expected = '{"query": …, "winner": …, "loser": …, "tie": …, "first": …}'
            raise FileFormatError(self.path, f"this is not an answer; expected {expected}", number) from None
        try:
            pool.check(answer.query, answer.winner, answer.loser)
        except DataError as error:
            raise FileFormatError(
                self.path, f"{error}; continue with the same items, or give another file", number
            ) from None
        return answer
