"""A judging session: asks questions, and keeps answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from math import comb
from typing import Any

import polars as pl

from rankdev.errors import UsageError
from rankdev.judging._questions import Questions
from rankdev.judging._strategies import Strategy
from rankdev.judging.items import Items, Pair, sorted_pair
from rankdev.judging.links import folded
from rankdev.judging.store import Store, StoredAnswer, check_name

OUTCOMES = ("first", "second", "tie", "skip")
LONGEST_COMMENT = 2000
HISTORY = 50  # answers that a judge can look at again
LEAST = 0.4  # seconds: the second click of a double click comes sooner, and nobody reads a pair in less


class Session:
    """Asks questions and takes answers of any number of judges at once.

    ``unmatched`` counts the answers in the database that are about other items than these; they are ignored. Those of
    ``checked``, a model, do not count as answers: others are asked the same. A pair that was on the screen for less
    than ``least`` seconds was not seen, and its answer is a slip. ``page`` is one of several that a judge has open.
    """

    def __init__(
        self,
        items: Items,
        store: Store,
        strategy: Strategy,
        *,
        checked: str | None = None,
        least: float = LEAST,
        gold: Mapping[Pair, str | None] | None = None,
    ) -> None:
        self.items, self.store, self.least = items, store, least
        self._known: tuple[int, pl.DataFrame, int] | None = None  # those of a version of the answers
        self.checked = checked
        answers = store.given()
        before = [answer for answer in answers if self._knows(answer)]
        self.unmatched = len(answers) - len(before)
        models = {answer.worker for answer in answers if answer.program}
        self._models = {folded(name) for name in (models if checked is None else {*models, checked})}
        others = [answer for answer in before if answer.worker != checked]
        self.questions = Questions(strategy, others, gold)

    def check_person(self, name: str) -> None:
        """Refuse the name of a model to people: their answers would be taken for its."""
        if folded(name) in self._models:
            raise UsageError("name-of-model", name=name)

    def question(self, name: str, page: str = "") -> dict[str, Any]:
        """Return the question that a judge is to answer now."""
        check_name(name)
        self.store.check()  # nobody should read a pair for nothing
        pair = self.questions.ask(name, page)
        if pair is None:
            return {"question": None, "progress": self._progress(name)}
        query, *items = pair
        sides = [self.items.shown(query, item) for item in items]
        return {"question": {"query": self.items.query(query), "sides": sides}, "progress": self._progress(name)}

    def answer(self, name: str, request: str, reply: Mapping[str, Any], page: str = "") -> dict[str, Any]:
        """Keep an answer, on disk when this returns; return the next question.

        An answer to a pair that the judge has answered on another page is not kept: ``saved`` is False.
        """
        answer = self._checked(name, reply)
        shown = self.questions.seconds_shown(name, page, answer.pair)
        check_shown(shown, self.least)
        kind = "gold" if sorted_pair(answer.pair) in self.questions.gold else ""
        twice = sorted_pair(answer.pair) in self.questions.compared(name) and not self.store.has(request)
        answer = replace(answer, kind=kind, seconds=None if shown is None else round(shown, 3))
        if not twice and self.store.add(request, answer):
            self.questions.note(answer, 1, page)
        return {**self.question(name, page), "saved": not twice}

    def leave(self, name: str, page: str) -> dict[str, Any]:
        """Let others have the questions of a page that was closed."""
        self.questions.leave(name, page)
        return {}

    def undo(self, name: str, page: str = "") -> dict[str, Any]:
        """Take back the judge's last answer, and ask it again."""
        check_name(name)
        taken, again = self.store.undo(name, self._knows)
        if taken is not None and again is not None:  # the last answer was a change, which is undone
            self.questions.change(taken, again)
        elif taken is not None:
            self.questions.note(taken, -1, page)
            self.questions.ask_again(name, page, taken.pair)
        return {**self.question(name, page), "undone": taken is not None}

    def history(self, name: str) -> dict[str, Any]:
        """Return the last answers of a judge, the newest first."""
        check_name(name)
        found = [(number, answer) for number, answer in self.store.last(name, HISTORY) if self._knows(answer)]
        return {"history": [self._past(number, answer) for number, answer in found]}

    def change(self, name: str, request: str, number: object, outcome: object, comment: object) -> dict[str, Any]:
        """Change an earlier answer of a judge, on disk when this returns; the old one is kept and marked."""
        check_name(name)
        if not isinstance(number, int) or isinstance(number, bool) or not 0 < number < 1 << 62:
            raise UsageError("bad-request", expected="answer, the number of one that was listed")
        if outcome not in OUTCOMES or not isinstance(comment, str):
            raise UsageError("bad-request", expected=f"outcome, one of {', '.join(OUTCOMES)}, and comment, a text")
        check_comment(comment)
        changed = self.store.change(request, number, name, str(outcome), comment)
        if changed is not None and self._knows(changed[0]):
            self.questions.change(*changed)
        return {**self.history(name), "progress": self._progress(name), "saved": True}

    def _past(self, number: int, given: StoredAnswer) -> dict[str, Any]:
        sides = [self.items.shown(given.query, item) for item in (given.first, given.second)]
        entry = {"answer": number, "query": self.items.query(given.query), "at": given.at, "sides": sides}
        return {**entry, "outcome": given.outcome, "comment": given.comment}

    def known_answers(self) -> tuple[pl.DataFrame, int]:
        """Return the answers about known items, and the number of others: the file of items may have changed."""
        self.store.check()
        version = self.store.version
        if self._known is None or self._known[0] != version:
            answers = found = self.store.answers()
            for side in ("first", "second"):
                mine, known = ["query", side], ["query", "item"]
                found = found.join(self._listed, left_on=mine, right_on=known, how="semi", maintain_order="left")
            self._known = version, found, len(answers) - len(found)
        return self._known[1:]

    @cached_property
    def _listed(self) -> pl.DataFrame:
        rows = [(query, item) for query, items in self.items.pool.items.items() for item in items]
        return pl.DataFrame(rows, schema={"query": pl.String, "item": pl.String}, orient="row")

    def close(self) -> None:
        """Stop choosing questions."""
        self.questions.close()

    def _progress(self, name: str) -> dict[str, Any]:
        counts = self.questions.progress(name)
        pool, done = self.items.pool.items, Counter(query for query, _, _ in self.questions.compared(name))
        yours = sum(comb(len(pool[query]), 2) - done[query] for query in self.questions.unsettled)
        return {**counts, "yours": yours, "queries": len(pool), **self.questions.state}

    def _knows(self, answer: StoredAnswer) -> bool:
        return self.items.pool.knows(*answer.pair)

    def _checked(self, name: str, reply: Mapping[str, Any]) -> StoredAnswer:
        check_name(name)
        values = [reply.get(key) for key in ("query", "first", "second", "outcome", "comment")]
        if not all(isinstance(value, str) for value in values):
            raise UsageError("bad-request", expected="query, first, second, outcome and comment, all text")
        query, first, second, outcome, comment = (str(value) for value in values)
        if outcome not in OUTCOMES or first == second:
            raise UsageError("bad-request", expected=f"outcome, one of {', '.join(OUTCOMES)}, about two items")
        check_comment(comment)
        self.items.pool.check(query, first, second)
        return StoredAnswer(query, first, second, outcome, name, comment)


def check_comment(comment: str) -> None:
    """Refuse a comment that is too long."""
    if len(comment) > LONGEST_COMMENT:
        raise UsageError("too-long", what="a comment", most=LONGEST_COMMENT)


def check_shown(seconds: float | None, least: float) -> None:
    """Refuse an answer to what was just put on the screen."""
    if seconds is not None and seconds < least:
        raise UsageError("too-soon", seconds=least)
