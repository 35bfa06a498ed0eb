"""A judging session: which question each judge has on the screen, and what becomes of the answers."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from threading import Lock
from time import monotonic
from typing import Any

from rankdev.errors import DataError, UsageError
from rankdev.judging.items import Items
from rankdev.judging.links import folded
from rankdev.judging.store import Answer, Pair, Store, check_name, sorted_pair
from rankdev.judging.strategies import Strategy

LONGEST_COMMENT = 2000
HISTORY = 50  # answers that a judge can look at again
LEAST = 0.4  # seconds: the second click of a double click comes sooner, and nobody reads a pair in less
GOLD_SHARE = 0.1  # of the questions, while a judge has not answered all gold pairs
AWAY = 600.0  # seconds after which a question on a screen may go to others
LOOKING = 120.0  # the same for a page that has answered nothing yet: many only look around
MANY = 1000  # open pages to remember; beyond, those that were left long ago are forgotten


@dataclass
class Screen:
    """A page that a judge has open: its question, when that was shown, and when the page was last heard of."""

    asked: Pair | None = None
    since: float = 0.0
    row: int = 0  # how many questions about the query there were in a row
    seen: float = field(default_factory=monotonic)
    used: bool = False  # whether anything was answered here
    query: str = ""  # of the last question

    @property
    def open(self) -> bool:
        """Whether somebody may still be looking at it."""
        return monotonic() - self.seen < (AWAY if self.used else LOOKING)

    def show(self, asked: Pair | None) -> None:
        """Put a question on the screen."""
        self.asked, self.since = asked, monotonic()
        if asked is not None:
            self.row = self.row + 1 if asked[0] == self.query else 1
            self.query = asked[0]

    def seconds_shown(self, least: float) -> float:
        """Return how long the question has been there; refuse an answer to one that nobody can have read yet."""
        seconds = monotonic() - self.since
        if seconds < least:
            raise UsageError("too-soon", seconds=least)
        return round(seconds, 3)


class Screens:
    """The pages that judges have open, by judge and page: a judge may have several."""

    def __init__(self) -> None:
        self._screens: dict[tuple[str, str], Screen] = {}

    def find(self, name: str, page: str, *, used: bool = False) -> Screen:
        """Find a judge's page; what it had may have gone to others since it was last heard of."""
        if len(self._screens) >= MANY:
            self._screens = {key: screen for key, screen in self._screens.items() if screen.open}
        screen = self._screens.setdefault((name, page), Screen())
        if not screen.open:
            screen.asked = None
        screen.seen, screen.used = monotonic(), screen.used or used
        return screen

    def others(self, screen: Screen) -> Iterator[tuple[str, Pair]]:
        """Yield judge and question of each other page that somebody may be looking at."""
        for (name, _), other in self._screens.items():
            if other is not screen and other.asked is not None and other.open:
                yield name, other.asked

    def clear(self, name: str, asked: Pair) -> None:
        """Take a question off all pages of a judge, since it was answered on one."""
        for (judge, _), screen in self._screens.items():
            if judge == name and screen.asked is not None and {*screen.asked} == {*asked}:
                screen.asked = None

    def leave(self, name: str, page: str | None = None) -> None:
        """Forget a page that was closed, or all pages of a judge: their questions go to others."""
        self._screens = {key: s for key, s in self._screens.items() if key[0] != name or page not in (None, key[1])}


class Session:
    """Asks questions and takes answers of any number of judges at once: about pairs, or grades of items.

    ``unmatched`` counts the answers in the database that are about other items than these; they are ignored. Those of
    ``checked``, a model, do not count as answers: others are asked the same. A pair that was on the screen for less
    than ``least`` seconds was not seen, and its answer is a slip. ``gold`` has the better item of pairs whose answer is
    known, which are mixed in and are no judgments. ``page`` is one of several that a judge has open.
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
        self.items, self.store, self.strategy, self.least = items, store, strategy, least
        self.checked, self.gold = checked, gold or {}
        self._lock = Lock()
        self._screens = Screens()
        self._chance = random.SystemRandom()
        answers = store.given(graded=strategy.graded)
        if other := next((answer.outcome for answer in answers if answer.outcome not in strategy.outcomes), None):
            raise DataError("other-scale", path=store.path, grade=int(other))
        known = [answer for answer in answers if self._knows(answer)]
        self.unmatched = len(answers) - len(known)
        self._programs = {folded(answer.worker) for answer in answers if answer.program} | {folded(checked or "")}
        self._answers: dict[str, list[Answer]] = defaultdict(list)  # of each judge
        for answer in known:
            if answer.worker != checked:
                self._count(answer, 1)

    def check_person(self, name: str) -> None:
        """Refuse what is no name, and the name of a model to people: their answers would be taken for its."""
        check_name(name)
        if folded(name) in self._programs:
            raise UsageError("name-of-model", name=name)

    def question(self, name: str, page: str = "") -> dict[str, Any]:
        """Return the question that a judge is to answer now, and what is done and left."""
        self.store.check()  # nobody should read a pair for nothing
        with self._lock:
            return self._question(name, self._screens.find(name, page))

    def answer(self, name: str, request: str, reply: Mapping[str, Any], page: str = "") -> dict[str, Any]:
        """Keep an answer, on disk when this returns; return the next question.

        An answer to a pair that the judge has answered on another page is not kept: ``saved`` is False.
        """
        answer = self._checked(name, reply)
        pair = sorted_pair(answer.pair)
        with self._lock:
            screen = self._screens.find(name, page, used=True)
            here = screen.asked is not None and sorted_pair(screen.asked) == pair
            seconds = screen.seconds_shown(self.least) if here else None  # not known, as after a restart
            before = any(sorted_pair(given.pair) == pair for given in self._answers[name])
            twice = before and not here and not self.store.has(request)
            kind = "grade" if self.strategy.graded else "gold" if pair in self.gold else ""
            answer = replace(answer, kind=kind, seconds=seconds)
            if not twice and self.store.add(request, answer):
                self._count(answer, 1)
                self._screens.clear(name, answer.pair)
            return {**self._question(name, screen), "saved": not twice}

    def leave(self, name: str, page: str | None = None) -> None:
        """Let others have the questions of a page that was closed, or of all pages of a judge."""
        with self._lock:
            self._screens.leave(name, page)

    def undo(self, name: str, page: str = "") -> dict[str, Any]:
        """Take back the judge's last answer, and ask it again."""
        with self._lock:
            taken, again = self.store.undo(name, self._knows, graded=self.strategy.graded)
            screen = self._screens.find(name, page, used=True)
            if taken is not None:
                self._count(taken, -1)
            if again is not None:  # the last answer was a change, which is undone
                self._count(again, 1)
            elif taken is not None:
                screen.show(taken.pair)
            return {**self._question(name, screen), "undone": taken is not None}

    def history(self, name: str) -> dict[str, Any]:
        """Return the last answers of a judge, the newest first."""
        last = self.store.last(name, HISTORY, graded=self.strategy.graded)
        return {"history": [self._past(number, answer) for number, answer in last if self._knows(answer)]}

    def change(self, name: str, request: str, number: object, outcome: object, comment: object) -> dict[str, Any]:
        """Change an earlier answer of a judge, on disk when this returns; the old one is kept and marked."""
        if not isinstance(number, int) or isinstance(number, bool) or not 0 < number < 1 << 62:
            raise UsageError("bad-request", expected="answer, the number of one that was listed")
        said = self._said(outcome, comment)
        with self._lock:
            changed = self.store.change(request, number, name, *said)
            if changed is not None and self._knows(changed[0]):
                for answer, times in zip(changed, (-1, 1), strict=True):
                    self._count(answer, times)
            return {**self.history(name), "progress": self._progress(name), "saved": True}

    def answered(self) -> dict[str, int]:
        """Count the answers of each judge."""
        with self._lock:
            return {name: len(answers) for name, answers in self._answers.items() if answers}

    def state(self) -> dict[str, Any]:
        """Count what is open, for the owner: queries unsettled and given up, judgments left, what may be wrong."""
        with self._lock:
            errors = self.strategy.errors()
            return {
                "open": len(self.strategy.unsettled()),
                "given_up": len(self.strategy.given_up()),
                "error": sum(errors.values()) / len(errors) if errors else None,
                "left": self.strategy.left(),
            }

    def _question(self, name: str, screen: Screen) -> dict[str, Any]:
        if screen.asked is None:
            screen.show(self._chosen(name, screen))
        asked = None
        if screen.asked is not None:
            query, *items = screen.asked
            sides = [self.items.shown(query, item) for item in items if item]
            asked = {"query": self.items.query(query), "sides": sides}
        return {"question": asked, "progress": self._progress(name)}

    def _chosen(self, name: str, screen: Screen) -> Pair | None:
        """Choose a question, several of one query in a row; now and then a gold pair.

        A judge reads each query anew, and remembers the pair just answered: it is not asked again at once.
        """
        if not self.strategy.unsettled():
            return None
        mine = self._answers[name]
        skip = {*self.gold, *(sorted_pair(answer.pair) for answer in mine if answer.outcome == "skip")}
        last = {sorted_pair(answer.pair) for answer in mine[-1:]}
        busy = [(judge, sorted_pair(asked)) for judge, asked in self._screens.others(screen)]
        skip |= {pair for judge, pair in busy if judge == name}
        under_way, stay = [pair for _, pair in busy], screen.query if screen.row < self.strategy.in_a_row else ""
        pair = self.strategy.ask(skip | last, under_way, stay=stay, judge=name)
        pair = pair or self.strategy.ask(skip, under_way, stay=stay, judge=name)
        if pair is not None and self._chance.random() < GOLD_SHARE:
            done = {sorted_pair(answer.pair) for answer in mine} | {asked for judge, asked in busy if judge == name}
            if open_ := [gold for gold in self.gold if gold not in done]:
                pair = self._chance.choice(open_)
        return pair and self.strategy.presented(pair, self._chance.random())

    def _count(self, answer: Answer, times: int) -> None:
        """Count an answer, or take it back; the strategy knows neither gold pairs nor what was skipped."""
        mine = self._answers[answer.worker]
        if times > 0:
            mine.append(answer)
        else:
            same = [k for k, given in enumerate(mine) if (given.pair, given.outcome) == (answer.pair, answer.outcome)]
            del mine[same[-1]]
        if answer.kind != "gold":
            self.strategy.tell(answer, times)

    def _past(self, number: int, given: Answer) -> dict[str, Any]:
        sides = [{"item": item, **self.items.content[given.query, item]} for item in given.items]
        said = {"answer": number, "at": given.at, "outcome": given.outcome, "comment": given.comment}
        return {"query": self.items.query(given.query), "sides": sides, **said}

    def _progress(self, name: str) -> dict[str, Any]:
        return {
            "mine": len(self._answers[name]),
            "all": sum(map(len, self._answers.values())),
            "left": self.strategy.left(),
            "exact": self.strategy.exact,
        }

    def _knows(self, answer: Answer) -> bool:
        return self.items.pool.knows(answer.query, *answer.items)

    def _checked(self, name: str, reply: Mapping[str, Any]) -> Answer:
        query, first, second = asked = [reply.get(key) for key in ("query", "first", "second")]
        graded = self.strategy.graded
        if not all(isinstance(value, str) for value in asked) or first == second or bool(second) == graded:
            raise UsageError("bad-request", expected=f"a query and {'one item' if graded else 'two items'}, all text")
        outcome, comment = self._said(reply.get("outcome"), reply.get("comment"))
        answer = Answer(str(query), str(first), str(second), outcome, name, comment)
        self.items.pool.check(answer.query, *answer.items)
        return answer

    def _said(self, outcome: object, comment: object) -> tuple[str, str]:
        """Refuse an outcome that there is not, and a comment that is no text or too long."""
        if outcome not in self.strategy.outcomes or not isinstance(comment, str):
            expected = f"outcome, one of {', '.join(self.strategy.outcomes)}, and comment, a text"
            raise UsageError("bad-request", expected=expected)
        if len(comment) > LONGEST_COMMENT:
            raise UsageError("too-long", what="a comment", most=LONGEST_COMMENT)
        return str(outcome), comment
