"""A judging session: asks questions, keeps answers, and shows the owner the results so far."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from math import comb
from time import monotonic
from typing import Any

import polars as pl

from rankdev.errors import UsageError
from rankdev.io.preferences import as_judgments
from rankdev.judging._questions import Questions
from rankdev.judging.items import Items, Pair, sorted_pair
from rankdev.judging.store import Store, StoredAnswer, check_name
from rankdev.judging.strategies import Strategy
from rankdev.preferences import Preferences, tiers_from_preferences

OUTCOMES = ("first", "second", "tie", "skip")
AT_ANY_TIME = "One may look after every answer: a posterior probability does not depend on when one stops."
LONGEST_COMMENT = 2000
MANY = 1000  # lists on screens to remember
LEAST = 0.4  # seconds: the second click of a double click comes sooner, and nobody reads a pair in less


class TooSoonError(UsageError):
    """An answer to a pair that was just put on the screen."""


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
        list_size: int = 6,
        checked: str | None = None,
        least: float = LEAST,
    ) -> None:
        self.items, self.store, self.list_size, self.least = items, store, list_size, least
        self._random = random.SystemRandom()
        self._lists: dict[tuple[str, str, frozenset[str]], float] = {}  # when a list was put on a page's screen
        answers = [StoredAnswer(*row) for row in store.answers().iter_rows()]
        before = [answer for answer in answers if self._knows(answer)]
        self.unmatched = len(answers) - len(before)
        self.questions = Questions(strategy, [answer for answer in before if answer.worker != checked])

    def question(self, name: str, page: str = "") -> dict[str, Any]:
        """Return the question that a judge is to answer now."""
        check_name(name)
        self.store.check()  # nobody should read a pair in vain
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
        self._refuse_slips(self.questions.seconds_shown(name, page, answer.pair))
        twice = sorted_pair(answer.pair) in self.questions.compared(name) and not self.store.has(request)
        if not twice and self.store.add(request, [answer]):
            self.questions.note([answer], 1, page)
        return {**self.question(name, page), "saved": not twice}

    def leave(self, name: str, page: str) -> dict[str, Any]:
        """Let others have the questions of a page that was closed."""
        self.questions.leave(name, page)
        return {}

    def ranking(
        self,
        name: str,
        request: str,
        query: str,
        shown: Sequence[str],
        tiers: Sequence[Sequence[str]],
        page: str = "",
    ) -> dict[str, Any]:
        """Keep a ranking of several items, with ties, as judgments of all its pairs with a total weight of n − 1.

        ``shown`` is the order in which the page had shown them: of two items the higher one was seen first.
        """
        check_name(name)
        rank = {item: place for place, tier in enumerate(tiers) for item in tier}
        if len(shown) < 2 or sorted(shown) != sorted(item for tier in tiers for item in tier) or len(rank) < len(shown):
            raise UsageError("a ranking must have the two or more items that were shown, each once")
        self.items.pool.check(query, *shown)
        if (name, page, frozenset(shown)) in self._lists:
            self._refuse_slips(monotonic() - self._lists[name, page, frozenset(shown)])
        kept, compared = self.store.pairs(request), self.questions.compared(name)
        answers = [
            StoredAnswer(query, a, b, _outcome(rank[a], rank[b]), name, 2 / len(shown))
            for a, b in combinations(shown, 2)
            if ((query, a, b) in kept if kept else sorted_pair((query, a, b)) not in compared)
        ]
        if answers and self.store.add(request, answers):
            self.questions.note(answers, 1, page)
        return {**self.next_list(name, page), "saved": bool(answers)}

    def next_list(self, name: str, page: str = "", again: Sequence[Pair] = ()) -> dict[str, Any]:
        """Return items of one query to put in order, with as many pairs as possible that are new to the judge.

        None where there is nothing new in any unsettled query. ``again`` are pairs of a list to show once more.
        """
        check_name(name)
        self.store.check()
        if again:
            query, items = again[0][0], list(dict.fromkeys(item for _, *pair in again for item in pair))
        else:
            query, items = self._new_list(name)
        if not items:
            return {"query": None, "items": None, "progress": self._progress(name)}
        if len(self._lists) >= MANY:
            self._lists.clear()
        self._lists[name, page, frozenset(items)] = monotonic()
        return {
            "query": self.items.query(query),
            "items": [self.items.shown(query, item) for item in items],
            "progress": self._progress(name),
        }

    def _new_list(self, name: str) -> tuple[str, list[str]]:
        """Choose a query that is unsettled, if possible one that the judge has read about, and items of it."""
        compared: dict[str, dict[str, set[str]]] = {}
        for query, a, b in self.questions.compared(name):
            for item, other in ((a, b), (b, a)):
                compared.setdefault(query, {}).setdefault(item, set()).add(other)
        pool = self.items.pool.items
        unsettled = [query for query in pool if query in self.questions.unsettled]
        for query in sorted(unsettled, key=lambda query: query not in compared):
            known = compared.get(query, {})
            if any(len(known.get(item, ())) < len(pool[query]) - 1 for item in pool[query]):
                shuffled = self._random.sample(pool[query], len(pool[query]))
                return query, _least_compared(shuffled, known, self.list_size)
        return "", []

    def _refuse_slips(self, shown: float | None) -> None:
        if shown is not None and shown < self.least:
            raise TooSoonError(f"a question can be answered when it has been shown for {self.least:g} seconds")

    def undo(self, name: str, page: str = "") -> dict[str, Any]:
        """Take back the judge's last answer, and ask it again."""
        check_name(name)
        taken = self.store.undo(name, self._knows)
        self.questions.note(taken, -1, page)
        if len(taken) == 1:
            self.questions.ask_again(name, page, taken[0].pair)
        lists = {"list": self.next_list(name, page, [answer.pair for answer in taken])} if len(taken) > 1 else {}
        return {**self.question(name, page), **lists, "undone": len(taken) > 0}

    def overview(self, query: object) -> dict[str, Any]:
        """Return what the owner sees: the number of judgments of each judge, and the tiers of one query."""
        judgments = as_judgments(self.store.answers())
        counts = Counter(judgments["query"].to_list())
        pool = self.items.pool.items
        queries = [
            {**self.items.query(name), "items": len(items), "judgments": counts[name]} for name, items in pool.items()
        ]
        chosen = query if isinstance(query, str) and query in pool else max(pool, key=lambda name: counts[name])
        return {
            "judges": self.questions.answered(),
            "queries": queries,
            "query": chosen,
            "tiers": self._tiers(judgments, chosen),
            "verdict": None if self.questions.verdict is None else f"{self.questions.verdict} {AT_ANY_TIME}",
            "decision": self.questions.decision,
            **self.questions.state,
        }

    def _tiers(self, judged: pl.DataFrame, query: str) -> list[list[dict[str, Any]]]:
        mine = judged.filter(judged["query"] == query)
        if mine.is_empty():
            return []
        found = tiers_from_preferences(Preferences.from_table(mine), disconnected="largest")
        known = self.items.content
        return [
            [{"item": item, "title": known.get((query, item), {}).get("title", "")} for item in tier]
            for tier in found.tiers[query]
        ]

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
            raise UsageError("an answer must have query, first, second, outcome and comment, all text")
        query, first, second, outcome, comment = (str(value) for value in values)
        if outcome not in OUTCOMES or first == second:
            raise UsageError(f"an answer must be one of {', '.join(OUTCOMES)} about two items")
        if len(comment) > LONGEST_COMMENT:
            raise UsageError(f"a comment may have at most {LONGEST_COMMENT:,} characters; shorten it")
        self.items.pool.check(query, first, second)
        return StoredAnswer(query, first, second, outcome, name, 1.0, comment)


def _outcome(first: int, second: int) -> str:
    return "tie" if first == second else "first" if first < second else "second"


def _least_compared(items: Sequence[str], compared: Mapping[str, set[str]], size: int) -> list[str]:
    """Choose items one by one, each with as few as possible of those chosen before it compared already."""
    chosen = [min(items, key=lambda item: len(compared.get(item, ())))]
    rest = [item for item in items if item != chosen[0]]
    while rest and len(chosen) < size:
        known = {item: len(compared.get(item, set()).intersection(chosen)) for item in rest}
        best = min(rest, key=lambda item: (known[item], len(compared.get(item, ()))))
        if known[best] == len(chosen):
            break  # nothing about it would be new
        chosen.append(best)
        rest.remove(best)
    return chosen
