"""The desk behind the page: who is asked what, and what is known so far.

The next pairs of every judge are chosen while the judge looks at the present one, so that nobody waits for a fit;
several, since on a busy machine a fit may last longer than an answer.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from threading import Condition, Lock, Thread
from typing import Any

import polars as pl

from rankdev.errors import DataError, UsageError
from rankdev.formats.judgment_database import as_judgments
from rankdev.judging.pool import Pair
from rankdev.judging.seeking import Seeker
from rankdev.preferences import Preferences, tiers_from_preferences
from rankdev.web.items import Exhibits
from rankdev.web.store import Said, Store

OUTCOMES = ("first", "second", "tie", "skip")
AWAY = 600.0  # seconds after which a judge's open question may go to others
AHEAD = 5  # questions that are ready for a judge; chosen again after each answer, if there is time
LONGEST_NAME, LONGEST_COMMENT = 80, 2000


@dataclass
class _Judge:
    """One judge at work: the question on the screen, those after it, and the pairs not to be asked again."""

    answered: int = 0
    asked: Pair | None = None
    ready: list[Pair] = field(default_factory=list)
    fresh: bool = False  # what is ready was chosen since the judge's last answer, as far as there is anything to ask
    done: set[Pair] = field(default_factory=set)
    seen: float = field(default_factory=time.monotonic)

    def turn(self) -> None:
        """Put the next question on an empty screen."""
        if self.asked is None and self.ready:
            self.asked = self.ready.pop(0)


class Desk:
    """Serves questions and takes answers of any number of judges at once."""

    def __init__(self, exhibits: Exhibits, store: Store, seeker: Seeker, *, list_size: int = 6) -> None:
        self.exhibits, self.store, self.seeker, self.list_size = exhibits, store, seeker, list_size
        self._pictures = {key: number for number, key in enumerate(exhibits.pictures)}
        self._random = random.SystemRandom()
        self._judges: dict[str, _Judge] = {}
        self._mine = Lock()  # judges, lessons and counts: held for moments
        self._learning = Lock()  # the seeker: held while it fits
        self._lessons: list[tuple[Said, int]] = []
        self._work = Condition(self._mine)
        self._total = self._strange = 0
        self._state: dict[str, int] = {}  # queries that are open, and judgments left
        self._closed = False
        self._recall()
        with self._learning:
            self._learn()
        self._thread = Thread(target=self._background, daemon=True)
        self._thread.start()

    def question(self, name: str) -> dict[str, Any]:
        """Give the question that a judge is to answer now."""
        with self._work:
            judge = self._judge(name)
            judge.turn()
            self._work.notify()
        if judge.asked is None:
            self._prepare(name)
            with self._work:
                judge.turn()
                self._work.notify()
        return self._told(name)

    def answer(self, name: str, request: str, said: Mapping[str, Any]) -> dict[str, Any]:
        """Keep an answer; it is on the disk when this returns. Give the next question."""
        answer = self._checked(name, said)
        if self.store.add(request, [answer]):
            self._note([answer], 1)
        return self.question(name)

    def ranking(
        self, name: str, request: str, query: str, shown: Sequence[str], tiers: Sequence[Sequence[str]]
    ) -> dict[str, Any]:
        """Keep an order of several items, with ties, as judgments of all its pairs that together weigh n − 1.

        ``shown`` is the order in which the page had shown them: of two items the higher one was seen first.
        """
        _check_name(name)
        rank = {item: place for place, tier in enumerate(tiers) for item in tier}
        if len(shown) < 2 or sorted(shown) != sorted(item for tier in tiers for item in tier) or len(rank) < len(shown):
            raise UsageError("an order holds two or more items, those that were shown, each once")
        self.exhibits.pool.check(query, *shown)
        answers = [
            Said(query, a, b, _outcome(rank[a], rank[b]), name, 2 / len(shown)) for a, b in combinations(shown, 2)
        ]
        if self.store.add(request, answers):
            self._note(answers, 1)
        return self.next_list(name)

    def next_list(self, name: str) -> dict[str, Any]:
        """Give some items of one query to put in order: those that the judge has compared least."""
        with self._mine:
            judge = self._judge(name)
            counts = Counter((query, item) for query, a, b in judge.done for item in (a, b))
        pool = self.exhibits.pool.items

        def seen(query: str) -> float:
            return sum(counts[query, item] for item in pool[query]) / len(pool[query])

        queries = [query for query, items in pool.items() if len(items) > 1]
        self._random.shuffle(queries)
        query = min(queries, key=seen)
        items = self._random.sample(pool[query], len(pool[query]))
        items = sorted(items, key=lambda item: counts[query, item])[: self.list_size]
        return {
            "query": self._query(query),
            "items": [self.exhibits.shown(query, item) | self._picture(query, item) for item in items],
            "progress": self._progress(name),
        }

    def undo(self, name: str) -> dict[str, Any]:
        """Take back the judge's last answer, and ask it again."""
        taken = self.store.undo(name)
        self._note(taken, -1)
        with self._mine:
            judge = self._judge(name)
            if len(taken) == 1:
                judge.ready = [judge.asked, *judge.ready] if judge.asked else judge.ready
                judge.asked = taken[0].query, taken[0].first, taken[0].second
        return {**self.question(name), "undone": len(taken) > 0}

    def overview(self, query: str | None) -> dict[str, Any]:
        """Give the owner what there is: who judged how much, and the tiers of one query."""
        judgments = as_judgments(self.store.answers())
        counts = judgments["query"].value_counts()
        per_query = dict(zip(counts["query"].to_list(), counts["count"].to_list(), strict=True))
        with self._mine:
            judges = {name: judge.answered for name, judge in self._judges.items()}
        names = [
            {**self._query(name), "items": len(items), "judgments": per_query.get(name, 0)}
            for name, items in self.exhibits.pool.items.items()
        ]
        pool = self.exhibits.pool.items
        chosen = query if query in pool else max(pool, key=lambda name: per_query.get(name, 0))
        return {
            "judges": judges,
            "queries": names,
            "query": chosen,
            "tiers": self._tiers(judgments, chosen),
            **self._state,
        }

    def _tiers(self, judged: pl.DataFrame, query: str) -> list[list[dict[str, Any]]]:
        mine = judged.filter(judged["query"] == query)
        if mine.is_empty():
            return []
        found = tiers_from_preferences(Preferences.from_table(mine), disconnected="largest")
        known = self.exhibits.content
        return [
            [{"item": item, "title": known.get((query, item), {}).get("title", "")} for item in tier]
            for tier in found.tiers[query]
        ]

    def close(self) -> None:
        """Stop choosing."""
        with self._work:
            self._closed = True
            self._work.notify()
        self._thread.join()

    # what judges are asked

    def _judge(self, name: str) -> _Judge:
        _check_name(name)
        judge = self._judges.setdefault(name, _Judge())
        judge.seen = time.monotonic()
        return judge

    def _prepare(self, name: str) -> None:
        """Choose pairs that the judge has not had and that no other judge is to have; sides at random."""
        with self._learning:
            self._learn()
            with self._mine:
                judge = self._judges[name]
                judge.fresh = True  # unless an answer comes meanwhile
                theirs = {_sorted(pair) for other in self._here() if other is not judge for pair in other.ready}
                taken = self._taken(judge)
            chosen = self._choose(taken | theirs, AHEAD) if self.seeker.unsettled() else []
            with self._mine:
                taken = self._taken(judge)
                judge.ready = [pair for pair in chosen if _sorted(pair) not in taken]
                if not judge.ready and theirs:  # the last pairs go to whoever is there first
                    judge.ready = self._choose(taken, 1) if self.seeker.unsettled() else []
                    for other in self._judges.values():
                        if other is not judge:
                            other.ready = [
                                pair for pair in other.ready if _sorted(pair) not in map(_sorted, judge.ready)
                            ]

    def _here(self) -> list[_Judge]:
        return [judge for judge in self._judges.values() if time.monotonic() - judge.seen < AWAY]

    def _taken(self, judge: _Judge) -> set[Pair]:
        """Pairs that are on a screen, were answered since the last lesson, or that the judge has had."""
        screens = {_sorted(other.asked) for other in self._here() if other.asked is not None}
        return screens | {_sorted((said.query, said.first, said.second)) for said, _ in self._lessons} | judge.done

    def _choose(self, taken: set[Pair], number: int) -> list[Pair]:
        chosen: list[Pair] = []
        while len(chosen) < number:
            pair = self.seeker.ask(taken | {_sorted(other) for other in chosen})
            if pair is None:
                break
            query, a, b = pair
            chosen.append((query, a, b) if self._random.random() < 0.5 else (query, b, a))
        return chosen

    def _told(self, name: str) -> dict[str, Any]:
        with self._mine:
            pair = self._judges[name].asked
        progress = self._progress(name)
        if pair is None:
            return {"question": None, "progress": progress}
        query, first, second = pair
        sides = [self.exhibits.shown(query, item) | self._picture(query, item) for item in (first, second)]
        return {"question": {"query": self._query(query), "sides": sides}, "progress": progress}

    def _query(self, query: str) -> dict[str, str]:
        return {"id": query, "text": self.exhibits.query_text.get(query, query)}

    def _picture(self, query: str, item: str) -> dict[str, int]:
        number = self._pictures.get((query, item))
        return {} if number is None else {"picture": number}

    def _progress(self, name: str) -> dict[str, int]:
        with self._mine:
            mine = self._judges[name].answered
            return {"mine": mine, "all": self._total, "queries": len(self.exhibits.pool.items), **self._state}

    # what answers teach

    def _checked(self, name: str, said: Mapping[str, Any]) -> Said:
        _check_name(name)
        words = [said.get(key) for key in ("query", "first", "second", "outcome", "comment")]
        if not all(isinstance(word, str) for word in words):
            raise UsageError("an answer has query, first, second, outcome and comment, all text")
        query, first, second, outcome, comment = (str(word) for word in words)
        if outcome not in OUTCOMES or first == second or len(comment) > LONGEST_COMMENT:
            raise UsageError(f"an answer is one of {', '.join(OUTCOMES)} about two items")
        self.exhibits.pool.check(query, first, second)
        return Said(query, first, second, outcome, name, 1.0, comment)

    def _note(self, answers: Sequence[Said], times: int) -> None:
        """Queue answers to be learned from; ``times=-1`` takes them back."""
        if not answers:
            return
        with self._work:
            judge = self._judge(answers[0].worker)
            judge.answered += times
            for answer in answers:
                pair = _sorted((answer.query, answer.first, answer.second))
                (judge.done.add if times > 0 else judge.done.discard)(pair)
                if judge.asked is not None and _sorted(judge.asked) == pair:
                    judge.asked = None
                judge.ready = [other for other in judge.ready if _sorted(other) != pair]
            judge.fresh = False
            for other in self._judges.values():
                other.fresh &= len(other.ready) > 0  # there may be something to ask again
            self._total += times
            self._lessons += [(answer, times) for answer in answers]
            self._work.notify()

    def _learn(self) -> None:
        """Tell the seeker what was answered since; the caller holds the lock for learning."""
        with self._mine:
            lessons, self._lessons = self._lessons, []
        for answer, times in lessons:
            if answer.outcome == "skip":
                continue
            won, lost = (answer.second, answer.first) if answer.outcome == "second" else (answer.first, answer.second)
            self.seeker.tell(answer.query, won, lost, tie=answer.outcome == "tie", times=times * answer.weight)
        if lessons or not self._state:
            unsettled = set(self.seeker.unsettled())
            state = {"open": len(unsettled), "left": self.seeker.left()}
            with self._mine:
                self._state = state
                for judge in self._judges.values():
                    judge.ready = [pair for pair in judge.ready if pair[0] in unsettled]

    def _recall(self) -> None:
        """Learn what the database holds; what is about other items is left aside."""
        requests: set[tuple[str, str]] = set()
        for row in self.store.answers().iter_rows():
            said = Said(*row)
            try:
                self.exhibits.pool.check(said.query, said.first, said.second)
            except DataError:
                self._strange += 1
                continue
            judge = self._judges.setdefault(said.worker, _Judge(seen=-AWAY))
            judge.done.add(_sorted((said.query, said.first, said.second)))
            if said.weight == 1 or (said.worker, said.at) not in requests:
                judge.answered += 1
                self._total += 1
            requests.add((said.worker, said.at))
            self._lessons.append((said, 1))

    @property
    def strange(self) -> int:
        """How many answers of the database are about other items than these."""
        return self._strange

    def _background(self) -> None:
        """Learn, and have the next questions ready for every judge who has one on the screen."""
        while True:
            with self._work:
                while not self._closed and not self._lessons and not self._waiting():
                    self._work.wait()
                if self._closed:
                    return
                waiting = self._waiting()
            for name in waiting:
                self._prepare(name)
            with self._learning:
                self._learn()

    def _waiting(self) -> list[str]:
        """Name the judges to choose for, those with the fewest questions ready first."""
        waiting = [name for name, judge in self._judges.items() if judge.asked is not None and not judge.fresh]
        return sorted(waiting, key=lambda name: len(self._judges[name].ready))


def _check_name(name: str) -> None:
    if not name or len(name) > LONGEST_NAME or not name.isprintable() or name != name.strip():
        raise UsageError(f"a judge's name has 1 to {LONGEST_NAME} printable characters")


def _outcome(first: int, second: int) -> str:
    return "tie" if first == second else "first" if first < second else "second"


def _sorted(pair: Pair) -> Pair:
    query, a, b = pair
    return query, min(a, b), max(a, b)
