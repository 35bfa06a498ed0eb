"""Judges: what they reply other than the better item, and how several questions are asked at once.

A judge is a function, a coroutine function, or answers many questions in one call.
"""

from __future__ import annotations

import inspect
import signal
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Lock, Thread, current_thread, main_thread
from typing import TYPE_CHECKING, Any

from rankdev.errors import DataError, shown

if TYPE_CHECKING:
    import asyncio

Question = tuple[Any, Any, Any]  # query, the item shown first, the other
Outcome = tuple[int, Any]  # number of the question, and the reply or an exception


@dataclass(frozen=True)
class Reply:
    """An answer, None for equally good, with a comment that is kept with it."""

    answer: Any
    comment: str = ""


class CommentingJudge(ABC):
    """A judge that comments on its answers; a simple call leaves the comments out."""

    @abstractmethod
    def reply(self, query: Any, a: Any, b: Any) -> Reply:
        """Ask which of two items is better; return the answer with a comment.

        Parameters
        ----------
        query : object
            The query.
        a, b : object
            The items, ``a`` shown first.

        Returns
        -------
        Reply
            The answer: ``a``, ``b``, or None for equally good; and a comment.
        """

    def __call__(self, query: Any, a: Any, b: Any) -> Any:
        """Ask which of two items is better.

        Parameters
        ----------
        query : object
            The query.
        a, b : object
            The items, ``a`` shown first.

        Returns
        -------
        object
            ``a``, ``b``, or None for equally good.
        """
        return self.reply(query, a, b).answer


class NoAnswerError(DataError):
    """Raised by a judge that cannot answer a question: the pair is skipped, and the loop continues.

    Parameters
    ----------
    message : str
        Why there is no answer.

    See Also
    --------
    collect : Skips such pairs.
    """


class BudgetSpentError(DataError):
    """Raised by a judge that may answer no more questions: the loop stops, and returns all that was collected.

    Parameters
    ----------
    message : str
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


class Asker:
    """Puts questions to a judge: a function, a coroutine function, or with ``batch``, many at once."""

    def __init__(self, judge: Any) -> None:
        self.judge = judge
        self._call: Callable[..., Any] = judge.reply if isinstance(judge, CommentingJudge) else judge
        self._batch: Callable[..., Any] | None = getattr(judge, "batch", None)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None
        self._lock = Lock()

    def ask(self, questions: Sequence[Question]) -> Iterator[Outcome]:
        """Ask all questions at once, and yield the outcomes as they come; a lone question in this thread."""
        if self._batch is not None:
            yield from enumerate(self._all(questions))
        elif len(questions) == 1:
            yield 0, self._one(questions[0])
        else:
            yield from self._together(questions)

    def close(self) -> None:
        """End the event loop, where there is one."""
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def _one(self, question: Question) -> Any:
        try:
            return self._finished(self._call(*question))
        except Exception as error:
            return error

    def _all(self, questions: Sequence[Question]) -> Sequence[Any]:
        assert self._batch is not None
        try:
            replies = self._finished(self._batch(list(questions)))
            if not isinstance(replies, list | tuple) or len(replies) != len(questions):
                raise DataError(f"batch must return a list of {len(questions)} answers; got {shown(replies)}")
        except Exception as error:
            return [error] * len(questions)
        return replies

    def _together(self, questions: Sequence[Question]) -> Iterator[Outcome]:
        done: SimpleQueue[Outcome] = SimpleQueue()

        def run(number: int) -> None:
            done.put((number, self._one(questions[number])))

        for number in range(len(questions)):
            Thread(target=run, args=(number,), daemon=True).start()
        for _ in questions:
            yield done.get()

    def _finished(self, reply: Any) -> Any:
        """Wait for the reply of a coroutine, on one event loop for all questions."""
        if not inspect.isawaitable(reply):
            return reply

        async def awaited() -> Any:
            return await reply

        import asyncio

        return asyncio.run_coroutine_threadsafe(awaited(), self._events()).result()

    def _events(self) -> asyncio.AbstractEventLoop:
        """Return an event loop in a thread of its own, since one may be running in this thread (in a notebook)."""
        import asyncio

        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = Thread(target=self._loop.run_forever, daemon=True)
                self._thread.start()
            return self._loop
