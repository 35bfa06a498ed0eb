"""The judging loop: choose a pair, ask the judge, update, until the budget is spent or the goal is reached."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np

from rankdev._common.checks import check_choice, check_number, check_path, check_seed, check_whole
from rankdev.errors import DataError, RankdevError, UsageError, counted, shown
from rankdev.judging._answer_files import AnswerDatabase, AnswerFile, kept_in
from rankdev.judging._judges import Asker, BudgetSpentError, NoAnswerError, Reply, finishing
from rankdev.judging.items import Pair, Pool, sorted_pair
from rankdev.judging.result import Answer, Better, Collected, JudgeError
from rankdev.judging.strategies import NEEDS_RUNS, DecisionStrategy, OrderStrategy, Rule, Strategy, SystemScores
from rankdev.measures import Measure
from rankdev.preferences import Preferences

GOALS = ("order", "top", "decide")
OUT_OF_REACH = "no number of answers will do"
MOST_SILENT = 10  # pairs that a judge may skip in a row
MOST_AT_ONCE = 1000


def collect(
    judge: Callable[[Any, Any, Any], Any],
    items: Any,
    *,
    budget: int | None = None,
    goal: str = "order",
    top: int = 5,
    runs: Any = None,
    measure: str | Measure | None = None,
    repeats: int = 1,
    error: float | None = None,
    probability: float | None = None,
    file: str | os.PathLike[str] | None = None,
    parallel: int = 1,
    seed: int = 0,
) -> Collected:
    """Ask a judge which of two items is better, until the goal is reached or the budget is spent.

    Each time, the pair is asked whose answer is expected to be most informative about the goal. Which of the two is
    shown first is random. The loop stops when the goal is reached: when at most a fraction ``error`` of the pair
    relations, or of the top, is expected to be wrong, or the conclusion is wrong with a probability of at most
    ``error``. It also stops when the budget is spent, when no pair is left, and, without a budget, where no number of
    answers will do.

    Parameters
    ----------
    judge : callable
        ``judge(query, a, b)`` returns a, b, or None for equally good; ``a`` is shown first. It may be a coroutine
        function. A judge with a method ``batch([(query, a, b), …])``, which returns a list of answers, is asked the
        ``parallel`` questions of a round in one call. :class:`rankdev.judging.ChatJudge` is a language model. A judge
        that raises :class:`rankdev.judging.NoAnswerError` skips the pair, and one that raises
        :class:`rankdev.judging.BudgetSpentError` ends the loop.
    items : dict or table
        ``{query: [item, …]}``, or grades ``{query: {item: grade}}`` to start from; or a table with the columns query,
        item and perhaps grade, such as :func:`rankdev.pool` returns.
    budget : int, optional
        Largest number of questions, those of earlier calls with the same file included; they are spread over all
        queries. Default: no limit, and one query is finished before the next.
    goal : {"order", "top", "decide"}
        Whether questions are about the order of all items, about the first ``top`` places, or about which of the
        systems in ``runs`` is better by ``measure``.
    top : int, default 5
        Places that count, for ``goal="top"``.
    runs : dict of str to Run, path, table or dict, optional
        Two or more systems, for ``goal="decide"``.
    measure : str or Measure, optional
        Measure of the systems, for ``goal="decide"``.
    repeats : int, default 1
        How often a pair may be asked, each time in the other order.
    error : float, optional
        Fraction of wrong pair relations that is accepted (``order``), of wrong items at the top (``top``), or
        probability of a wrong conclusion (``decide``); below .5. Default: .05, but .1 of the top.
    probability : float, optional
        Ask on until the fraction that is wrong is at most ``error`` with this probability, in each query; from .5 to 1.
        Default: until it is so on average.
    file : path, optional
        Where answers are kept: every answer is on disk before it counts. Call again with the same file to resume.
        A name that ends in .sqlite or .db is a database of ``rankdev judge``, which has the answers of other judges
        too; any other is a JSONL file.
    parallel : int, default 1
        Questions asked at once, in threads; the judge must allow it. They are chosen together, before the first of them
        is answered, so that the answers do not depend on how long each takes.
    seed : int, default 0
        Seed of random choices.

    Returns
    -------
    Collected
        The answers, and the references or the decision they lead to.

    Raises
    ------
    JudgeError
        If the judge fails or returns something else, or skips ten pairs in a row; its ``collected`` has all other
        answers. So has that of a KeyboardInterrupt.

    Examples
    --------
    >>> found = collect(lambda query, a, b: min(a, b), {"q": list("hcafbgde")})
    >>> found.asked, found.stopped
    (23, 'order settled')
    >>> list(found.references["q"])
    ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
    """
    _check(judge, budget, goal)
    seed = check_seed(seed)
    pool = Pool.of(items)
    rule = Rule(accepted_error(error, goal), _probability(probability, goal))
    strategy = strategy_for(
        pool, goal, rule, top=top, runs=runs, measure=measure, repeats=repeats, seed=seed, spread=budget is not None
    )
    parallel = check_whole("parallel", parallel, 1, MOST_AT_ONCE)
    kept = kept_in(check_path(file), pool, judge) if file is not None else None
    asker = Asker(judge)
    loop = _Loop(asker, pool, strategy, kept, seed)

    def result(stopped: str) -> Collected:
        given_up = {} if budget is not None and stopped != OUT_OF_REACH else strategy.given_up()
        return Collected(
            pool=pool,
            answers=tuple(loop.answers),
            stopped=stopped,
            goal=goal,
            budget=budget,
            repeats=repeats,
            error=rule.error,
            probability=probability,
            seed=seed,
            strengths=strategy.strengths(),
            errors=strategy.errors(),
            unsettled=(*strategy.unsettled(), *given_up),
            verdict=leading(strategy),
            remarks=(*_remarks(pool, loop.answers), *_out_of_reach(given_up, pool), *loop.remarks()),
        )

    reached = {"order": "order settled", "top": f"top {top} settled", "decide": "decision reached"}[goal]
    try:
        while budget is None or loop.asked < budget:
            if not strategy.unsettled():
                return result(OUT_OF_REACH if strategy.given_up() else reached)
            pairs = loop.choose(parallel if budget is None else min(parallel, budget - loop.asked))
            if not pairs:
                return result("no pair left to ask")
            try:
                loop.put(pairs)
            except _NoAnswersError as failed:
                raise JudgeError(str(failed), result("the judge gave no answer")) from failed.__cause__
            except BudgetSpentError as spent:
                return result(str(spent))
        return result("budget spent" if strategy.unsettled() else reached)
    except KeyboardInterrupt as interrupt:
        with suppress(Exception):  # in the middle of an update there may be none
            interrupt.collected = result("interrupted")  # type: ignore[attr-defined]
        raise
    finally:
        asker.close()
        if kept is not None:
            kept.close()


def strategy_for(
    pool: Pool,
    goal: str,
    rule: Rule,
    *,
    top: int = 5,
    runs: Any = None,
    measure: str | Measure | None = None,
    repeats: int = 1,
    seed: int = 0,
    spread: bool = False,
) -> Strategy:
    """Make the strategy of a goal."""
    repeats = check_whole("repeats", repeats, 1)
    if goal == "decide":
        if measure is None:
            raise UsageError(NEEDS_RUNS)
        return DecisionStrategy(
            pool, SystemScores.of(pool.items, runs, measure), rule.error, repeats=repeats, seed=seed
        )
    if runs is not None or measure is not None:
        raise UsageError(f"runs and measure belong to goal='decide'; got goal={goal!r}")
    places = check_whole("top", top, 1) if goal == "top" else None
    return OrderStrategy(pool, replace(rule, top=places), repeats=repeats, seed=seed, spread=spread)


class _NoAnswersError(Exception):
    """The judge failed, or returned something that is not an answer."""


class _Loop:
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
        given = self.pool.given
        found: dict[int, Answer | Exception] = {}
        with finishing() if len(pairs) > 1 else nullcontext():
            try:
                for k, reply in self.asker.ask([(given[q,], given[q, a], given[q, b]) for q, a, b in asked]):
                    found[k] = self._kept(asked[k], self._read(asked[k], reply))
            finally:
                for k in sorted(found):
                    self._note(asked[k], found[k])
        failures = [found[k] for k in sorted(found) if isinstance(found[k], Exception)]
        for kind in (_NoAnswersError, BudgetSpentError):
            if failed := next((each for each in failures if isinstance(each, kind)), None):
                if isinstance(failed, _NoAnswersError):
                    raise _NoAnswersError(f"{failed}; {self._where()}") from failed.__cause__
                raise failed
        if self.silent >= MOST_SILENT:
            raise _NoAnswersError(
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
            failed = _NoAnswersError(f"query {query!r}, {first!r} or {second!r}: the judge failed ({kind}{reply})")
            failed.__cause__ = reply
            return failed
        answer, comment = (reply.answer, reply.comment) if isinstance(reply, Reply) else (reply, "")
        asked = self.pool.given[query, first], self.pool.given[query, second]
        valid = isinstance(answer, str | Integral) and not isinstance(answer, bool) and answer in asked
        if not (answer is None or valid):
            return _NoAnswersError(
                f"query {query!r}: the judge returned {shown(answer)}; expected {shown(asked[0])}, {shown(asked[1])} or"
                " None for equally good"
            )
        winner, loser = (second, first) if answer is not None and answer == asked[1] else (first, second)
        return Answer(query, winner, loser, answer is None, first, comment)

    def _kept(self, question: Pair, found: Answer | Exception) -> Answer | Exception:
        """Write to disk what was found; return it, or why it could not be written."""
        try:
            if self.file is not None and isinstance(found, Answer):
                self.file.add(found)
            elif self.file is not None and isinstance(found, NoAnswerError):
                self.file.skip(*question, str(found))
        except DataError as error:
            return _NoAnswersError(str(error))
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


def leading(strategy: Strategy) -> Better | None:
    """Return the system that leads, where the goal is to decide between systems."""
    if not isinstance(strategy, DecisionStrategy) or not isinstance(strategy.scores, SystemScores):
        return None
    systems = strategy.scores
    found = strategy.verdict()
    names = systems.systems
    return Better(names[found.best], names[found.other], str(systems.measure), found.difference, found.probability)


def _remarks(pool: Pool, answers: list[Answer]) -> tuple[str, ...]:
    """Note items that no answer connects with the others."""
    records = [answer.record() for answer in answers]
    if pool.grades is not None or not records:
        return ()
    judged = Preferences.from_rows(records, items=pool.items)
    kept = judged.select({answer.query for answer in answers}).largest_groups()
    lost = len(judged.items) - len(kept.items)
    if not lost:
        return ()
    few = counted(lost, "item", "was", of=len(judged.items))
    return (f"{few} not compared with the others; references leave {'it' if lost == 1 else 'them'} out.",)


def _out_of_reach(given_up: dict[str, float], pool: Pool) -> tuple[str, ...]:
    """Note the queries in which the goal cannot be reached."""
    if not given_up:
        return ()
    few = counted(len(given_up), "query", "cannot", of=len(pool.items))
    wrong = np.mean(list(given_up.values()))
    return (
        f"{few} be settled: with an answer to every pair about {wrong:.0%} would still be wrong. Accept a larger error,"
        " allow more repeats, or give a budget.",
    )


def accepted_error(error: float | None, goal: str) -> float:
    """Check the fraction that may be wrong; by default one in twenty, at the top one in ten."""
    return (0.1 if goal == "top" else 0.05) if error is None else check_number("error", error, 0, 0.5)


def _probability(probability: float | None, goal: str) -> float | None:
    if probability is None:
        return None
    if goal == "decide":
        raise UsageError("probability belongs to goal='order' or 'top'; a conclusion is wrong with probability error")
    return check_number("probability", probability, 0.5, 1)


def _check(judge: object, budget: int | None, goal: str) -> None:
    if not callable(judge):
        raise UsageError(f"judge must be a function of a query and two items; got {shown(judge)}")
    check_choice("goal", goal, GOALS)
    if budget is not None:
        check_whole("budget", budget, 1)
