"""The judging loop: choose a pair, ask the judge, update, until the budget is spent or the goal is reached."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from rankdev._common.checks import check_choice, check_number, check_path, check_seed, check_whole
from rankdev.errors import Note, UsageError
from rankdev.judging._asking import AnswerFile, BudgetSpentError, QuestionLoop
from rankdev.judging._strategies import OrderStrategy
from rankdev.judging.items import Pool
from rankdev.judging.progress import Rule
from rankdev.judging.result import Answer, Collected, JudgeError
from rankdev.preferences import Preferences

GOALS = ("order", "top")
OUT_OF_REACH = "more answers would hardly help"
MOST_AT_ONCE = 1000


def collect(
    judge: Callable[[Any, Any, Any], Any],
    items: Any,
    *,
    budget: int | None = None,
    goal: str = "order",
    top: int = 5,
    repeats: int = 2,
    error: float | None = None,
    probability: float | None = None,
    file: str | os.PathLike[str] | None = None,
    parallel: int = 1,
    seed: int = 0,
) -> Collected:
    """Ask a judge which of two items is better, until the goal is reached or the budget is spent.

    Every question is about the pair whose answer is expected to be most informative about the goal. Which of the two
    is shown first is random. The loop stops when the goal is reached: when at most a fraction ``error`` of the pair
    relations, or of the top, is expected to be wrong. It also stops when the budget is spent, when no pair is left,
    and, without a budget, when a query has twice the answers that sorting needs. What is expected to be wrong is what
    :func:`rankdev.tiers` would say.

    Parameters
    ----------
    judge : callable
        ``judge(query, a, b)`` takes ids as text and returns a, b, or None for equally good; ``a`` is shown first.
        :class:`rankdev.judging.ChatJudge` is a language model. A judge that raises
        :class:`rankdev.judging.NoAnswerError` skips the pair, and one that raises
        :class:`rankdev.judging.BudgetSpentError` ends the loop.
    items : dict or table
        ``{query: [item, …]}``, or grades ``{query: {item: grade}}`` to start from; or a table with the columns query,
        item and perhaps grade, such as :func:`rankdev.pool` returns.
    budget : int, optional
        Largest number of questions, those of earlier calls with the same file included; they are spread over all
        queries. Default: no limit, and one query is finished before the next.
    goal : {"order", "top"}
        Whether questions are about the order of all items, or about the first ``top`` places.
    top : int, default 5
        Places that count, for ``goal="top"``.
    repeats : int, default 2
        How often a pair may be asked, each time in the other order; one question in eight is asked again.
    error : float, optional
        Fraction of wrong pair relations that is accepted (``order``), or of wrong items at the top (``top``); below .5.
        Default: .05, but .1 of the top.
    probability : float, optional
        Continue until, in each query, every two neighbours (or the top and the rest) are separated with this
        probability too, as :func:`rankdev.tiers` states it; from .5 to 1. Default: until few are expected to be wrong.
    file : path, optional
        A database of ``rankdev judge`` where answers are kept, next to those of other judges: every answer is on disk
        before it counts. Call again with the same file to resume.
    parallel : int, default 1
        Questions asked at once, in threads; the judge must allow it. They are chosen together, before the first of them
        is answered, so that the answers do not depend on how long each takes.
    seed : int, default 0
        Seed of random choices.

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
    _check(judge, budget, goal)
    seed = check_seed(seed)
    pool = Pool.of(items)
    if probability is not None:
        probability = check_number("probability", probability, 0.5, 1)
    rule = Rule(accepted_error(error, goal), probability)
    strategy = strategy_for(pool, goal, rule, top=top, repeats=repeats, seed=seed, spread=budget is not None)
    parallel = check_whole("parallel", parallel, 1, MOST_AT_ONCE)
    kept = AnswerFile(check_path(file), pool, judge) if file is not None else None
    loop = QuestionLoop(judge, pool, strategy, kept, seed)

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
            remarks=(*_remarks(pool, loop.answers), *_out_of_reach(given_up, pool), *loop.remarks()),
        )

    reached = {"order": "order settled", "top": f"top {top} settled"}[goal]
    try:
        while budget is None or loop.asked < budget:
            if not strategy.unsettled():
                return result(OUT_OF_REACH if strategy.given_up() else reached)
            pairs = loop.choose(parallel if budget is None else min(parallel, budget - loop.asked))
            if not pairs:
                return result("no useful pair left to ask")
            try:
                loop.put(pairs)
            except JudgeError as failed:
                failed.collected = result("the judge gave no answer")
                raise
            except BudgetSpentError as spent:
                return result(str(spent))
        return result("budget spent" if strategy.unsettled() else reached)
    except KeyboardInterrupt as interrupt:
        with suppress(Exception):  # in the middle of an update there may be none
            interrupt.collected = result("interrupted")  # type: ignore[attr-defined]
        raise
    finally:
        if kept is not None:
            kept.close()


def strategy_for(
    pool: Pool,
    goal: str,
    rule: Rule,
    *,
    top: int = 5,
    repeats: int = 1,
    seed: int = 0,
    spread: bool = False,
) -> OrderStrategy:
    """Make the strategy of a goal."""
    repeats = check_whole("repeats", repeats, 1)
    places = check_whole("top", top, 1) if goal == "top" else None
    return OrderStrategy(pool, replace(rule, top=places), repeats=repeats, seed=seed, spread=spread)


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
    return (Note("uncompared", count=lost, items=len(judged.items)),)


def _out_of_reach(given_up: dict[str, float], pool: Pool) -> tuple[str, ...]:
    """Note the queries in which the goal cannot be reached."""
    if not given_up:
        return ()
    wrong = float(np.mean(list(given_up.values())))
    return (Note("out-of-reach", count=len(given_up), queries=len(pool.items), wrong=wrong),)


def accepted_error(error: float | None, goal: str) -> float:
    """Check the fraction that may be wrong; by default one in twenty, at the top one in ten."""
    return (0.1 if goal == "top" else 0.05) if error is None else check_number("error", error, 0, 0.5)


def _check(judge: object, budget: int | None, goal: str) -> None:
    if not callable(judge):
        raise UsageError("bad-value", name="judge", value=judge, expected="a function of a query and two items")
    check_choice("goal", goal, GOALS)
    if budget is not None:
        check_whole("budget", budget, 1)
