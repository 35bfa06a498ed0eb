"""Ask a judge the questions that a strategy chooses, and keep every answer.

A judge is a function of a query and two items; its answers may be kept in a database of ``rankdev judge``.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from threading import Thread, current_thread, main_thread
from typing import Any
from uuid import uuid4

import numpy as np

from rankdev.data.ids import is_integer
from rankdev.errors import DataError, Note, RankdevError
from rankdev.judging._strategies import Strategy
from rankdev.judging.items import Pair, Pool, sorted_pair
from rankdev.judging.result import Answer, JudgeError
from rankdev.judging.store import Store, StoredAnswer, check_name

MOST_SILENT = 10  # pairs that a judge may skip in a row
Question = tuple[Any, Any, Any]  # query, the item shown first, the other


@dataclass(frozen=True)
class Reply:
    """An answer, None for equally good, with a comment that is kept with it; what a judge's ``reply`` returns."""

    answer: Any
    comment: str = ""


class _ReasonError(DataError):
    def __init__(self, why: str | RankdevError, /) -> None:
        super().__init__("because", why=why)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.fields["why"],)


class NoAnswerError(_ReasonError):
    """Raised by a judge that cannot answer a question: the pair is skipped, and the loop continues.

    Parameters
    ----------
    why : str
        Why there is no answer.

    See Also
    --------
    collect : Skips such pairs.
    """


class BudgetSpentError(_ReasonError):
    """Raised by a judge that may answer no more questions: the loop stops, and returns all that was collected.

    Parameters
    ----------
    why : str
        What was spent.

    See Also
    --------
    collect : Stops.
    """


@contextmanager
def finishing() -> Iterator[None]:
    """Finish what is under way before a KeyboardInterrupt is raised, unless there is a second one."""
    usual = signal.default_int_handler
    if current_thread() is not main_thread() or signal.getsignal(signal.SIGINT) is not usual:
        yield
        return
    interrupts: list[int] = []

    def wait(number: int, _: object) -> None:
        interrupts.append(number)
        if len(interrupts) > 1:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, wait)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
    if interrupts:
        raise KeyboardInterrupt


def replies(judge: Callable[..., Any], questions: Sequence[Question]) -> Iterator[tuple[int, Any]]:
    """Ask all questions at once, each in a thread; yield the number of each and the reply, or an exception."""
    call: Callable[..., Any] = getattr(judge, "reply", judge)

    def one(question: Question) -> Any:
        try:
            return call(*question)
        except Exception as error:
            return error

    if len(questions) == 1:
        yield 0, one(questions[0])
        return
    done: SimpleQueue[tuple[int, Any]] = SimpleQueue()
    for number, question in enumerate(questions):
        Thread(target=lambda k=number, asked=question: done.put((k, one(asked))), daemon=True).start()
    for _ in questions:
        yield done.get()


class AnswerFile:
    """The answers of one judge in a database of ``rankdev judge``, next to those of others, which are left alone.

    ``unmatched`` counts this judge's answers about other items, which are ignored.
    """

    def __init__(self, path: str, pool: Pool, judge: Any) -> None:
        name = str(getattr(judge, "name", None) or getattr(judge, "__name__", type(judge).__name__))
        check_name(name)
        self.path, self.name = Path(path), name
        self._store = Store(path)
        try:
            mine = [answer for answer in self._store.given() if answer.worker == name]
        except BaseException:
            self._store.close()
            raise
        known = [answer for answer in mine if pool.knows(*answer.pair)]
        self.unmatched = len(mine) - len(known)
        self.before = [
            Answer(a.query, *_order(a), a.outcome == "tie", a.first, a.comment) for a in known if a.outcome != "skip"
        ]
        skipped = [answer for answer in known if answer.outcome == "skip"]
        self.skipped, self.reason = [answer.pair for answer in skipped], skipped[-1].comment if skipped else ""

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


class QuestionLoop:
    """Asks the judge; the order of presentation depends on the seed and the number of the question."""

    def __init__(
        self, judge: Callable[..., Any], pool: Pool, strategy: Strategy, file: AnswerFile | None, seed: int
    ) -> None:
        self.judge, self.pool, self.strategy, self.file, self.seed = judge, pool, strategy, file, seed
        self.answers: list[Answer] = []
        self.shown: dict[tuple[str, frozenset[str]], str] = {}  # which of the two was shown first when last asked
        self.skipped = [sorted_pair(pair) for pair in file.skipped] if file else []
        self.silent = 0  # skipped since the last answer
        self.reason: Any = file.reason if file else ""  # why the last was skipped
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
                for k, reply in replies(self.judge, asked):
                    found[k] = self._kept(asked[k], self._read(asked[k], reply))
            finally:
                for k in sorted(found):
                    self._note(asked[k], found[k])
        failures = [found[k] for k in sorted(found) if isinstance(found[k], Exception)]
        if self.silent >= MOST_SILENT:
            failures.append(JudgeError("silent-judge", count=self.silent, why=self.reason))
        for kind in (JudgeError, BudgetSpentError):
            if failed := next((each for each in failures if isinstance(each, kind)), None):
                kept = "error.collected" if self.file is None else self.file.path
                raise failed.at(answers=len(self.answers), kept=kept)

    def remarks(self) -> tuple[str, ...]:
        """Note what was skipped and ignored."""
        notes = []
        if self.skipped:
            notes.append(Note("skipped-pairs", count=len(self.skipped), why=self.reason))
        if self.file is not None and self.file.unmatched:
            notes.append(Note("other-items", count=self.file.unmatched, path=self.file.path))
        return tuple(notes)

    def _read(self, question: Pair, reply: Any) -> Answer | Exception:
        """Return the answer that a reply is, or why it is none."""
        query, first, second = question
        if isinstance(reply, NoAnswerError | BudgetSpentError):
            return reply
        if isinstance(reply, Exception):
            why = reply if isinstance(reply, RankdevError) else f"{type(reply).__name__}: {reply}"
            failed = JudgeError("judge-failed", query=query, first=first, second=second, why=why)
            failed.__cause__ = reply
            return failed
        answer, comment = (reply.answer, reply.comment) if isinstance(reply, Reply) else (reply, "")
        answer = str(answer) if is_integer(answer) else answer
        if not (answer is None or (isinstance(answer, str) and answer in (first, second))):
            return JudgeError("not-an-answer", query=query, value=answer, first=first, second=second)
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
            return JudgeError("answer-lost", why=error)
        return found

    def _note(self, question: Pair, found: Answer | Exception) -> None:
        if isinstance(found, Answer):
            self._learn(found)
            self.silent = 0
        elif isinstance(found, NoAnswerError):
            self.skipped.append(sorted_pair(question))
            self.silent += 1
            self.reason = found.fields["why"]

    def _presented(self, query: str, a: str, b: str, number: int) -> Pair:
        before = self.shown.get((query, frozenset((a, b))))
        swap = before == a if before else np.random.default_rng((self.seed, number)).random() < 0.5
        return (query, b, a) if swap else (query, a, b)

    def _learn(self, answer: Answer) -> None:
        self.answers.append(answer)
        self.shown[answer.query, frozenset((answer.winner, answer.loser))] = answer.first
        self.strategy.tell(answer.query, answer.winner, answer.loser, tie=answer.tie)
