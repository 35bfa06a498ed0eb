"""A judging session: asks questions, and keeps answers."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from math import comb
from time import monotonic
from typing import Any

import polars as pl

from rankdev._common.checks import check_number, check_whole
from rankdev.errors import UsageError, counted
from rankdev.judging._questions import Questions
from rankdev.judging._screens import MANY
from rankdev.judging._strategies import Strategy
from rankdev.judging.items import Items, Pair, sorted_pair
from rankdev.judging.links import folded
from rankdev.judging.quality import Probes
from rankdev.judging.store import Store, StoredAnswer, check_name

OUTCOMES = ("first", "second", "tie", "skip")
LONGEST_COMMENT = 2000
HISTORY = 50  # answers that a judge can look at again
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
        probes: Probes | None = None,
        limit: int | None = None,
        share: float = 1.0,
    ) -> None:
        self.items, self.store, self.list_size, self.least = items, store, list_size, least
        self.limit = None if limit is None else check_whole("limit", limit, 1)
        self.places: Mapping[str, int] = {}  # of judges with a link of their own
        self._share = check_share(share)
        self._known: tuple[int, pl.DataFrame, int] | None = None  # those of a version of the answers
        self._random, self.checked = random.SystemRandom(), checked
        answers = [StoredAnswer(*row) for row in store.answers().iter_rows()]
        before = [answer for answer in answers if self._knows(answer)]
        self.unmatched = len(answers) - len(before)
        models = {answer.worker for answer in answers if answer.program}
        self._models = {folded(name) for name in (models if checked is None else {*models, checked})}
        self._lists: dict[tuple[str, str], tuple[str, frozenset[str], float]] = {}  # on the screens of judges
        others = [answer for answer in before if answer.worker != checked]
        self.questions = Questions(strategy, others, probes, self.assigned)

    def check_person(self, name: str) -> None:
        """Refuse the name of a model to people: their answers would be taken for its."""
        if folded(name) in self._models:
            raise UsageError(f"{name!r} is the name of a model here; choose another name")

    def question(self, name: str, page: str = "") -> dict[str, Any]:
        """Return the question that a judge is to answer now."""
        check_name(name)
        self.store.check()  # nobody should read a pair for nothing
        if self._full(name):
            return {"question": None, "progress": self._progress(name), "limit": self.limit}
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
        self._check_assigned(name, answer.query, request)
        shown = self.questions.seconds_shown(name, page, answer.pair)
        self._refuse_slips(shown)
        kind = self.questions.kind(name, answer.pair)
        again = sorted_pair(answer.pair) in self.questions.compared(name) and kind != "repeat"
        twice = again and not self.store.has(request)
        answer = replace(answer, kind=kind, seconds=None if shown is None else round(shown, 3))
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
        self._check_assigned(name, query, request)
        self._check_seen(name, page, query, shown, request)
        kept, compared, gold = self.store.pairs(request), self.questions.compared(name), self.questions.probes.gold
        answers = [
            StoredAnswer(query, a, b, _outcome(rank[a], rank[b]), name, 2 / len(shown), kind=kind)
            for a, b in combinations(shown, 2)
            if ((query, a, b) in kept if kept else sorted_pair((query, a, b)) not in compared)
            for kind in ["gold" if sorted_pair((query, a, b)) in gold else ""]
        ]
        if answers and self.store.add(request, answers):
            self.questions.note(answers, 1, page)
        return {**self.next_list(name, page), "saved": bool(answers)}

    def _check_seen(self, name: str, page: str, query: str, shown: Sequence[str], request: str) -> None:
        """Refuse a ranking of a list that has only just been shown, unless it is sent again."""
        listed, items, since = self._lists.get((name, page), ("", frozenset(), 0.0))
        if (listed, items) == (query, frozenset(shown)) and not self.store.has(request):
            self._refuse_slips(monotonic() - since)

    def next_list(self, name: str, page: str = "", again: Sequence[Pair] = ()) -> dict[str, Any]:
        """Return items of one query to put in order, with as many pairs as possible that are new to the judge.

        None where there is nothing new in any unsettled query. ``again`` are pairs of a list to show once more.
        """
        check_name(name)
        self.store.check()
        if self._full(name) and not again:
            return {"query": None, "items": None, "progress": self._progress(name), "limit": self.limit}
        if again:
            query, items = again[0][0], list(dict.fromkeys(item for _, *pair in again for item in pair))
        else:
            query, items = self._new_list(name)
        if not items:
            return {"query": None, "items": None, "progress": self._progress(name)}
        self._lists.pop((name, page), None)
        self._lists[name, page] = query, frozenset(items), monotonic()
        if len(self._lists) > MANY:  # the oldest goes
            self._lists.pop(next(iter(self._lists)), None)
        return {
            "query": self.items.query(query),
            "items": [self.items.shown(query, item) for item in items],
            "progress": self._progress(name),
        }

    def assigned(self, name: str) -> frozenset[str] | None:
        """Return the queries of a judge with a link; no query has two judges before each has one. None means all."""
        place, queries = self.places.get(name), self._drawn
        if place is None or self._share == 1:
            return None
        size = max(1, round(self._share * len(queries)))
        return frozenset(queries[(place * size + k) % len(queries)] for k in range(size))

    @cached_property
    def _drawn(self) -> list[str]:
        """The queries in a random order that is the same at every start."""
        queries = sorted(self.items.pool.items)
        random.Random(0).shuffle(queries)
        return queries

    def _full(self, name: str) -> bool:
        return self.limit is not None and self.questions.progress(name)["mine"] >= self.limit

    def _thanks(self) -> str:
        return f"You have given the {counted(self.limit or 0, 'answer')} that you were asked for. Thank you!"

    def _check_assigned(self, name: str, query: str, request: str) -> None:
        """Refuse an answer beyond a judge's limit, or about a query that is not the judge's."""
        mine = self.assigned(name)
        if mine is not None and query not in mine:
            raise UsageError(f"query {query!r} is not among those that you are asked about")
        if self._full(name) and not self.store.has(request):
            raise UsageError(self._thanks())

    def _new_list(self, name: str) -> tuple[str, list[str]]:
        """Choose a query that is unsettled, if possible one that the judge has read about, and items of it."""
        compared: dict[str, dict[str, set[str]]] = {}
        for query, a, b in self.questions.compared(name):
            for item, other in ((a, b), (b, a)):
                compared.setdefault(query, {}).setdefault(item, set()).add(other)
        pool = self.items.pool.items
        mine = self.assigned(name)
        unsettled = [q for q in pool if q in self.questions.unsettled and (mine is None or q in mine)]
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
        taken, again = self.store.undo(name, self._knows)
        if again:  # the last answer was a change, which is undone
            self.questions.change(taken[0], again[0])
            return {**self.question(name, page), "undone": True}
        self.questions.note(taken, -1, page)
        if len(taken) == 1:
            self.questions.ask_again(name, page, taken[0].pair)
        lists = {"list": self.next_list(name, page, [answer.pair for answer in taken])} if len(taken) > 1 else {}
        return {**self.question(name, page), **lists, "undone": len(taken) > 0}

    def history(self, name: str) -> dict[str, Any]:
        """Return the last answers of a judge, the newest first; of a list, only its number of items."""
        check_name(name)
        found = [
            (number, answers) for number, answers in self.store.last(name, HISTORY) if all(map(self._knows, answers))
        ]
        return {"history": [self._past(number, answers) for number, answers in found]}

    def change(self, name: str, request: str, number: object, outcome: object, comment: object) -> dict[str, Any]:
        """Change an earlier answer of a judge, on disk when this returns; the old one is kept and marked."""
        check_name(name)
        if not isinstance(number, int) or isinstance(number, bool) or not 0 < number < 1 << 62:
            raise UsageError("a change needs answer, the number of one that was listed")
        if outcome not in OUTCOMES or not isinstance(comment, str):
            raise UsageError(f"a change needs outcome, one of {', '.join(OUTCOMES)}, and comment, a text")
        _check_comment(comment)
        changed = self.store.change(request, number, name, str(outcome), comment)
        if changed and self._knows(changed[0]):
            self.questions.change(*changed)
        return {**self.history(name), "progress": self._progress(name), "saved": True}

    def _past(self, number: int, answers: Sequence[StoredAnswer]) -> dict[str, Any]:
        given = answers[0]
        entry = {"answer": number, "query": self.items.query(given.query), "at": given.at}
        if len(answers) > 1:
            return {**entry, "items": len({item for answer in answers for item in (answer.first, answer.second)})}
        sides = [self.items.shown(given.query, item) for item in (given.first, given.second)]
        return {**entry, "sides": sides, "outcome": given.outcome, "comment": given.comment}

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
            raise UsageError("an answer must have query, first, second, outcome and comment, all text")
        query, first, second, outcome, comment = (str(value) for value in values)
        if outcome not in OUTCOMES or first == second:
            raise UsageError(f"an answer must be one of {', '.join(OUTCOMES)} about two items")
        _check_comment(comment)
        self.items.pool.check(query, first, second)
        return StoredAnswer(query, first, second, outcome, name, 1.0, comment)


def check_share(share: float) -> float:
    """Return the fraction of the queries that each judge is asked about."""
    return share if share == 1 else check_number("share", share, 0, 1)


def _check_comment(comment: str) -> None:
    if len(comment) > LONGEST_COMMENT:
        raise UsageError(f"a comment may have at most {LONGEST_COMMENT:,} characters; shorten it")


def _outcome(first: int, second: int) -> str:
    return "tie" if first == second else "first" if first < second else "second"


def _least_compared(items: Sequence[str], compared: Mapping[str, set[str]], size: int) -> list[str]:
    """Choose items one by one, each compared with as few as possible of those chosen before it."""
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
