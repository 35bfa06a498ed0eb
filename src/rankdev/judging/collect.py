"""The judging loop: choose a pair, ask the judge, update, until the budget is spent or the order is settled.

A judge is a function of a query and two items; its answers may be kept in a database of ``rankdev judge``.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import astuple, dataclass, field
from functools import cached_property
from queue import SimpleQueue
from threading import Thread, current_thread, main_thread
from typing import TYPE_CHECKING, Any, ClassVar
from uuid import uuid4

import numpy as np
import polars as pl

from rankdev._common.checks import check_path, check_seed, check_whole
from rankdev._common.result import Result
from rankdev._common.view import Tab, View
from rankdev._common.work import Progress
from rankdev.data.database import COLUMNS, as_judgments
from rankdev.data.ids import is_integer
from rankdev.errors import DataError, Note, RankdevError, UsageError, counted
from rankdev.judging.items import Pool
from rankdev.judging.store import Answer, Pair, Store, check_name
from rankdev.judging.strategies import OrderStrategy
from rankdev.preferences import Preferences, references_from_preferences

if TYPE_CHECKING:
    from rankdev.data.references import References

SETTLED = "order settled"
MOST_AT_ONCE = 1000
MOST_SILENT = 10  # pairs that a judge may skip in a row


class NoAnswerError(DataError):
    """Raised by a judge that cannot answer a question: the pair is skipped, and the loop continues.

    Parameters
    ----------
    why : str
        Why there is no answer.

    See Also
    --------
    collect : Skips such pairs.
    """

    def __init__(self, why: str | RankdevError, /) -> None:
        super().__init__("because", why=why)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.fields["why"],)


class JudgeError(DataError):
    """A judge failed or gave an invalid answer.

    Attributes
    ----------
    collected : Collected or None
        All other answers.

    See Also
    --------
    collect : Raises it.
    """

    collected: Collected | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Collected(Result):
    """What a judge was asked and answered, and why the loop stopped.

    Attributes
    ----------
    pool : Pool
        Items to be judged.
    answers : tuple of Answer
        Answers in the order asked, those of an earlier call with the same file included.
    preferences : Preferences
        The answers, with what grades imply where the loop started from grades.
    stopped : str
        Why the loop stopped.
    budget : int or None
        Largest number of questions.
    repeats : int
        How often a pair may be asked.
    error : float
        Accepted fraction of wrong relations.
    probability : float or None
        Probability with which neighbours are to be separated too.
    seed : int
        Seed of random choices.
    errors : dict of str to float
        Fraction of pair relations expected to be wrong in each query.
    unsettled : tuple of str
        Queries whose order is not settled.
    remarks : tuple of str
        Notes.

    See Also
    --------
    collect : Collect judgments.
    """

    pool: Pool = field(repr=False)
    answers: tuple[Answer, ...] = field(repr=False)
    preferences: Preferences = field(repr=False)
    stopped: str
    budget: int | None
    repeats: int
    error: float
    probability: float | None
    seed: int
    errors: dict[str, float] = field(repr=False)
    unsettled: tuple[str, ...] = field(default=(), repr=False)
    remarks: tuple[str, ...] = ()

    made_with = ("budget", "repeats", "error", "probability", "seed")
    view: ClassVar = View([Tab("What was asked", frame="summary")], opening=["{conclusion}"])

    @property
    def conclusion(self) -> str:
        """What was asked, why it stopped, and how much is expected to be wrong."""
        wrong = f"About {np.mean(list(self.errors.values())):.0%} of the pairs in each query are expected to be wrong."
        return f"{counted(self.asked, 'judgment')}; {self.stopped}.\n{wrong}"

    @property
    def asked(self) -> int:
        """Number of questions answered, those of an earlier call with the same file included."""
        return len(self.answers)

    @cached_property
    def references(self) -> References:
        """References made of the preferences; items that no answer connects with the others are left out."""
        if not len(self.preferences):
            raise DataError("none-given", what="judgments")
        return references_from_preferences(self.preferences, disconnected="largest")

    def to_polars(self) -> pl.DataFrame:
        """Tabulate the questions.

        Returns
        -------
        polars.DataFrame
            One row per question, in the order asked: query, first, second (as shown), winner (null: equal).

        Examples
        --------
        >>> from rankdev.judging import collect
        >>> collect(lambda query, a, b: "x", {"q": ["x", "y"]}).to_polars()["winner"].to_list()
        ['x', 'x']
        """
        rows = [(*answer.pair, getattr(answer, answer.outcome, None)) for answer in self.answers]
        return pl.DataFrame(rows, schema=dict.fromkeys(("query", "first", "second", "winner"), pl.String), orient="row")

    def summary(self) -> pl.DataFrame:
        """Tabulate the questions of each query.

        Returns
        -------
        polars.DataFrame
            One row per query: query, items, asked, settled, error (the fraction expected to be wrong).

        Examples
        --------
        >>> from rankdev.judging import collect
        >>> collect(lambda query, a, b: "x", {"q": ["x", "y"]}, budget=1).summary().rows()[0][:4]
        ('q', 2, 1, False)
        """
        asked = [answer.query for answer in self.answers]
        rows = [
            (q, len(items), asked.count(q), q not in self.unsettled, self.errors[q])
            for q, items in self.pool.items.items()
        ]
        kinds = (pl.String, pl.Int64, pl.Int64, pl.Boolean, pl.Float64)
        names = ("query", "items", "asked", "settled", "error")
        return pl.DataFrame(rows, schema=dict(zip(names, kinds, strict=True)), orient="row")


def collect(
    judge: Callable[[Any, Any, Any], Any],
    items: Any,
    *,
    budget: int | None = None,
    repeats: int = 2,
    error: float = 0.05,
    probability: float | None = None,
    file: str | os.PathLike[str] | None = None,
    parallel: int = 1,
    seed: int = 0,
    progress: Progress | None = None,
) -> Collected:
    """Ask a judge which of two items is better, until the order is settled or the budget is spent.

    Every question is about the pair whose answer is expected to be most informative about the strengths. Which of the
    two is shown first is random. The loop stops when the order is settled: when at most a fraction ``error`` of the
    pair relations is expected to be wrong. It also stops when the budget is spent, when no pair is left,
    and, without a budget, when a query has twice the answers that sorting needs. What is expected to be wrong is what
    :func:`rankdev.tiers` would say.

    Parameters
    ----------
    judge : callable
        ``judge(query, a, b)`` takes ids as text and returns a, b, or None for equally good; ``a`` is shown first.
        :class:`rankdev.judging.ChatJudge` is a language model. A judge that raises
        :class:`rankdev.judging.NoAnswerError` skips the pair.
    items : dict or table
        ``{query: [item, …]}``, or grades ``{query: {item: grade}}`` to start from; or a table with the columns query,
        item and perhaps grade, such as :func:`rankdev.pool` returns.
    budget : int, optional
        Largest number of questions, those of earlier calls with the same file included; they are spread over all
        queries. Default: no limit, and one query is finished before the next.
    repeats : int, default 2
        How often a pair may be asked, each time in the other order; one question in eight is asked again.
    error : float, default .05
        Fraction of wrong pair relations that is accepted; below .5.
    probability : float, optional
        Continue until, in each query, every two neighbours are separated with this probability
        too, as :func:`rankdev.tiers` states it; from .5 to 1. Default: until few are expected to be wrong.
    file : path, optional
        A database of ``rankdev judge`` where answers are kept, next to those of other judges: every answer is on disk
        before it counts. Call again with the same file to resume.
    parallel : int, default 1
        Questions asked at once, in threads; the judge must allow it. They are chosen together, before the first of them
        is answered, so that the answers do not depend on how long each takes.
    seed : int, default 0
        Seed of random choices.
    progress : callable, optional
        Called as ``progress(done, total, note)`` after each answer, or several at once; the total is an estimate where
        there is no budget.

    Returns
    -------
    Collected
        The answers, and the references they lead to.

    Raises
    ------
    JudgeError
        If the judge fails or returns something else, or skips ten pairs in a row; its ``collected`` has all other
        answers. So has that of a KeyboardInterrupt.

    Examples
    --------
    >>> found = collect(lambda query, a, b: min(a, b), {"q": list("hcafbgde")})
    >>> found.asked, found.stopped
    (33, 'order settled')
    >>> list(found.references["q"])
    ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
    """
    if not callable(judge):
        raise UsageError("bad-value", name="judge", value=judge, expected="a function of a query and two items")
    if budget is not None:
        check_whole("budget", budget, 1)
    seed, parallel = check_seed(seed), check_whole("parallel", parallel, 1, MOST_AT_ONCE)
    pool, spread = Pool.of(items), budget is not None
    strategy = OrderStrategy(pool, error=error, probability=probability, repeats=repeats, seed=seed, spread=spread)
    loop = QuestionLoop(judge, strategy, None if file is None else check_path(file), seed)

    def result(stopped: str) -> Collected:
        given_up, judged = strategy.given_up(), _judged(pool, loop.answers)
        return Collected(
            pool=pool,
            answers=tuple(loop.answers),
            preferences=judged,
            stopped=stopped,
            budget=budget,
            repeats=repeats,
            error=strategy.error,
            probability=probability,
            seed=seed,
            errors=strategy.errors(),
            unsettled=(*strategy.unsettled(), *given_up),
            remarks=(*_notes(pool, judged, given_up), *loop.remarks()),
        )

    try:
        loop.resume(pool)
        while budget is None or loop.asked < budget:
            if not strategy.unsettled():
                return result("more answers would hardly help" if strategy.given_up() else SETTLED)
            pairs = loop.choose(parallel if budget is None else min(parallel, budget - loop.asked))
            if not pairs:
                return result("no useful pair left to ask")
            try:
                loop.put(pairs)
            except JudgeError as failed:
                failed.collected = result("the judge gave no answer")
                raise
            if progress is not None:
                progress(loop.asked, budget or loop.asked + strategy.left(), counted(loop.asked, "answer"))
        return result("budget spent" if strategy.unsettled() else SETTLED)
    except KeyboardInterrupt as interrupt:
        with suppress(Exception):  # in the middle of an update there may be none
            interrupt.collected = result("interrupted")  # type: ignore[attr-defined]
        raise
    finally:
        loop.close()


def _judged(pool: Pool, answers: Sequence[Answer]) -> Preferences:
    """Return the answers as preferences, with what grades imply."""
    if not answers:
        return pool.start()
    table = pl.DataFrame([astuple(answer) for answer in answers], COLUMNS, orient="row", infer_schema_length=None)
    judged = Preferences.from_table(as_judgments(table).drop("worker"), items=pool.items)
    return judged if pool.grades is None else judged.with_grades(pool.grades)


def _notes(pool: Pool, judged: Preferences, given_up: dict[str, float]) -> Iterator[Note]:
    """Note items that no answer connects with the others, and queries whose order cannot be settled."""
    begun = {judged.queries[query] for query in judged.item_query[judged.winner]}
    if pool.grades is None and begun:
        kept = judged.select(begun).largest_groups()
        if lost := len(judged.items) - len(kept.items):
            yield Note("uncompared", count=lost, items=len(judged.items))
    if given_up:
        wrong = float(np.mean(list(given_up.values())))
        yield Note("out-of-reach", count=len(given_up), queries=len(pool.items), wrong=wrong)


class QuestionLoop:
    """Asks the judge, and keeps the answers, in a database if there is one, next to those of others.

    The order of presentation depends on the seed and the number of the question.
    """

    def __init__(self, judge: Callable[..., Any], strategy: OrderStrategy, path: str | None, seed: int) -> None:
        self.judge, self.strategy, self.path, self.seed = judge, strategy, path, seed
        self.name = str(getattr(judge, "name", None) or getattr(judge, "__name__", type(judge).__name__))
        self.answers: list[Answer] = []
        self.skipped: list[Answer] = []
        self._silent = self._unmatched = 0  # skipped since the last answer; answers about other items
        if path is not None:
            check_name(self.name)
        self._store = None if path is None else Store(path)

    def resume(self, pool: Pool) -> None:
        """Take the answers of before into account."""
        for answer in self._store.given() if self._store is not None else ():
            if answer.worker == self.name and pool.knows(*answer.pair):
                self._learn(answer)
            else:
                self._unmatched += answer.worker == self.name
        self._silent = 0

    @property
    def asked(self) -> int:
        """Number of questions, answered or skipped."""
        return len(self.answers) + len(self.skipped)

    def choose(self, number: int) -> list[Pair]:
        """Choose what to ask at once; no pair twice, and none that was skipped."""
        chosen: list[Pair] = []
        skipped = [answer.pair for answer in self.skipped]
        while len(chosen) < number:
            pair = self.strategy.ask(skipped, chosen, judge=self.name)
            if pair is None:
                break
            chosen.append(pair)
        return chosen

    def put(self, pairs: Sequence[Pair]) -> None:
        """Ask questions at once; keep each answer as it comes, and then update the strategy in the order asked.

        Whatever happens to one of them, the answers to the others count.
        """
        chances = (np.random.default_rng((self.seed, self.asked + k)).random() for k in range(len(pairs)))
        asked = [self.strategy.presented(pair, chance) for pair, chance in zip(pairs, chances, strict=True)]
        found: dict[int, Answer | JudgeError] = {}
        with _finishing() if len(pairs) > 1 else nullcontext():
            try:
                for k, reply in _replies(self.judge, asked):
                    found[k] = self._kept(self._read(asked[k], reply))
            finally:
                results = [found[k] for k in sorted(found)]
                for answer in results:
                    if isinstance(answer, Answer):
                        self._learn(answer)
        failures = [failed for failed in results if isinstance(failed, JudgeError)]
        if self._silent >= MOST_SILENT:
            failures.append(JudgeError("silent-judge", count=self._silent, why=self.skipped[-1].comment))
        if failures:
            raise failures[0].at(answers=len(self.answers), kept=self.path or "error.collected")

    def remarks(self) -> Iterator[Note]:
        """Note what was skipped and ignored."""
        if self.skipped:
            yield Note("skipped-pairs", count=len(self.skipped), why=self.skipped[-1].comment)
        if self._unmatched:
            yield Note("other-items", count=self._unmatched, path=self.path)

    def close(self) -> None:
        """Close the database."""
        if self._store is not None:
            self._store.close()

    def _read(self, question: Pair, reply: Any) -> Answer | JudgeError:
        """Return the answer that a reply is, or why it is none."""
        query, first, second = question
        if isinstance(reply, NoAnswerError):
            return Answer(*question, "skip", self.name, str(reply), program=1)
        if isinstance(reply, Exception):
            why = reply if isinstance(reply, RankdevError) else f"{type(reply).__name__}: {reply}"
            failed = JudgeError("judge-failed", query=query, first=first, second=second, why=why)
            failed.__cause__ = reply
            return failed
        said = str(reply) if is_integer(reply) else reply
        if said is None or (isinstance(said, str) and said in (first, second)):
            outcome = "tie" if said is None else "first" if said == first else "second"
            return Answer(*question, outcome, self.name, program=1)
        return JudgeError("not-an-answer", query=query, value=said, first=first, second=second)

    def _kept(self, found: Answer | JudgeError) -> Answer | JudgeError:
        """Write an answer to disk; return it, or why it could not be written."""
        try:
            if self._store is not None and isinstance(found, Answer):
                self._store.add(uuid4().hex, found)
        except DataError as error:
            return JudgeError("answer-lost", why=error)
        return found

    def _learn(self, answer: Answer) -> None:
        skipped = answer.outcome == "skip"
        (self.skipped if skipped else self.answers).append(answer)
        self._silent = self._silent + 1 if skipped else 0
        self.strategy.tell(answer)


def _replies(judge: Callable[..., Any], questions: Sequence[Pair]) -> Iterator[tuple[int, Any]]:
    """Ask all questions at once, each in a thread; yield the number of each and the reply, or an exception."""

    def one(question: Pair) -> Any:
        try:
            return judge(*question)
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


@contextmanager
def _finishing() -> Iterator[None]:
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
