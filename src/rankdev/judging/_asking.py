"""Ask a judge the questions that a strategy chooses, and keep every answer."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from rankdev._common.ids import is_integer
from rankdev.errors import DataError, RankdevError, counted, shown
from rankdev.judging._answer_files import AnswerDatabase, AnswerFile
from rankdev.judging._judges import Asker, BudgetSpentError, NoAnswerError, Reply, finishing
from rankdev.judging._strategies import Strategy
from rankdev.judging.items import Pair, Pool, sorted_pair
from rankdev.judging.result import Answer

MOST_SILENT = 10  # pairs that a judge may skip in a row


class InvalidReplyError(Exception):
    """The judge failed, or returned something that is not an answer."""


class QuestionLoop:
    """Asks the judge; the order of presentation depends on the seed and the number of the question."""

    def __init__(
        self, asker: Asker, pool: Pool, strategy: Strategy, file: AnswerFile | AnswerDatabase | None, seed: int
    ) -> None:
        self.asker, self.pool, self.strategy, self.file, self.seed = asker, pool, strategy, file, seed
        self.answers: list[Answer] = []
        self.shown: dict[tuple[str, frozenset[str]], str] = {}  # which of the two was shown first when last asked
        self.skipped = [sorted_pair(pair) for pair in file.skipped] if file else []
        self.silent = 0  # skipped since the last answer
        self.reason = ""  # why the last was skipped
        for answer in file.before if file else ():
            self._learn(answer)
            strategy.unsettled()  # as after every answer, so that resuming asks what one call would have asked

    @property
    def asked(self) -> int:
        """Number of questions, answered or skipped."""
        return len(self.answers) + len(self.skipped)

    def choose(self, number: int) -> list[Pair]:
        """Choose what to ask at once; no pair twice, and none that was skipped."""
        chosen: list[Pair] = []
        while len(chosen) < number:
            pair = self.strategy.ask(self.skipped, chosen)
            if pair is None:
                break
            chosen.append(pair)
        return chosen

    def put(self, pairs: Sequence[Pair]) -> None:
        """Ask questions at once; keep each answer as it comes, and then update the strategy in the order asked.

        Whatever happens to one of them, the answers to the others count.
        """
        asked = [self._presented(*pair, self.asked + k) for k, pair in enumerate(pairs)]
        found: dict[int, Answer | Exception] = {}
        with finishing() if len(pairs) > 1 else nullcontext():
            try:
                for k, reply in self.asker.ask(asked):
                    found[k] = self._kept(asked[k], self._read(asked[k], reply))
            finally:
                for k in sorted(found):
                    self._note(asked[k], found[k])
        failures = [found[k] for k in sorted(found) if isinstance(found[k], Exception)]
        for kind in (InvalidReplyError, BudgetSpentError):
            if failed := next((each for each in failures if isinstance(each, kind)), None):
                if isinstance(failed, InvalidReplyError):
                    raise InvalidReplyError(f"{failed}; {self._where()}") from failed.__cause__
                raise failed
        if self.silent >= MOST_SILENT:
            raise InvalidReplyError(
                f"the judge gave no answer to {self.silent} questions in a row; the last: {self.reason};"
                f" {self._where()}"
            )

    def remarks(self) -> tuple[str, ...]:
        """Note what was skipped and ignored."""
        lines = []
        if self.skipped:
            why = f"; the last: {self.reason}" if self.reason else ""
            lines.append(f"{counted(len(self.skipped), 'pair', 'was')} skipped by the judge{why}.")
        if self.file is not None and self.file.unmatched:
            lines.append(f"{counted(self.file.unmatched, 'answer')} in {self.file.path} ignored: about other items.")
        return tuple(lines)

    def _read(self, question: Pair, reply: Any) -> Answer | Exception:
        """Return the answer that a reply is, or why it is none."""
        query, first, second = question
        if isinstance(reply, NoAnswerError | BudgetSpentError):
            return reply
        if isinstance(reply, Exception):
            kind = "" if isinstance(reply, RankdevError) else f"{type(reply).__name__}: "
            failed = InvalidReplyError(f"query {query!r}, {first!r} or {second!r}: the judge failed ({kind}{reply})")
            failed.__cause__ = reply
            return failed
        answer, comment = (reply.answer, reply.comment) if isinstance(reply, Reply) else (reply, "")
        answer = str(answer) if is_integer(answer) else answer
        if not (answer is None or (isinstance(answer, str) and answer in (first, second))):
            return InvalidReplyError(
                f"query {query!r}: the judge returned {shown(answer)}; expected {shown(first)}, {shown(second)} or"
                " None for equally good"
            )
        winner, loser = (second, first) if answer == second else (first, second)
        return Answer(query, winner, loser, answer is None, first, comment)

    def _kept(self, question: Pair, found: Answer | Exception) -> Answer | Exception:
        """Write to disk what was found; return it, or why it could not be written."""
        try:
            if self.file is not None and isinstance(found, Answer):
                self.file.add(found)
            elif self.file is not None and isinstance(found, NoAnswerError):
                self.file.skip(*question, str(found))
        except DataError as error:
            return InvalidReplyError(str(error))
        return found

    def _note(self, question: Pair, found: Answer | Exception) -> None:
        if isinstance(found, Answer):
            self._learn(found)
            self.silent = 0
        elif isinstance(found, NoAnswerError):
            self.skipped.append(sorted_pair(question))
            self.silent += 1
            self.reason = str(found)

    def _presented(self, query: str, a: str, b: str, number: int) -> Pair:
        before = self.shown.get((query, frozenset((a, b))))
        swap = before == a if before else np.random.default_rng((self.seed, number)).random() < 0.5
        return (query, b, a) if swap else (query, a, b)

    def _learn(self, answer: Answer) -> None:
        self.answers.append(answer)
        self.shown[answer.query, frozenset((answer.winner, answer.loser))] = answer.first
        self.strategy.tell(answer.query, answer.winner, answer.loser, tie=answer.tie)

    def _where(self) -> str:
        count = len(self.answers)
        if not count:
            return "there are no other answers"
        where = "the error's collected" if self.file is None else str(self.file.path)
        return f"{counted(count, 'answer', 'is')} in {where}"
