"""Questions of each judge, on each page that the judge has open, and updates of the strategy.

The next pairs of every page are chosen while the judge looks at the current one, so that no judge waits for a fit;
several, since on a busy machine a fit may take longer than an answer.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from threading import Condition, Lock, Thread
from time import monotonic
from typing import Any

from rankdev.judging.collect import leading
from rankdev.judging.items import Pair, sorted_pair
from rankdev.judging.quality import APART, GOLD_SHARE, Probes
from rankdev.judging.result import Better
from rankdev.judging.store import StoredAnswer
from rankdev.judging.strategies import Strategy

AWAY = 600.0  # seconds after which a question on a screen may go to others
LOOKING = 120.0  # the same for a page that has answered nothing yet: many only look around
STAY = 5  # pairs of one query in a row, before another may be chosen
AHEAD = 5  # questions kept ready for a page; chosen again after each answer, if there is time
MANY = 1000  # open pages to remember; beyond, those that were left long ago are forgotten


@dataclass
class _Judge:
    """What one judge has answered; the pairs are not asked again, except a few of those ``given`` as judgments."""

    name: str
    answered: int = 0
    done: set[Pair] = field(default_factory=set)
    given: list[Pair] = field(default_factory=list)  # as shown, in this order
    repeated: set[Pair] = field(default_factory=set)

    def note(self, answer: StoredAnswer, times: int) -> None:
        """Count an answer, or take it back."""
        pair = sorted_pair(answer.pair)
        if answer.kind == "repeat":
            (self.repeated.add if times > 0 else self.repeated.discard)(pair)
            return
        (self.done.add if times > 0 else self.done.discard)(pair)
        if answer.kind or answer.outcome == "skip" or answer.weight < 1:
            return
        if times > 0:
            self.given.append(answer.pair)
        elif answer.pair in self.given:
            self.given.remove(answer.pair)

    def repeatable(self) -> list[Pair]:
        """List the pairs that can be asked again, as they were shown: not lately, and once."""
        return [pair for pair in self.given[:-APART] if sorted_pair(pair) not in self.repeated]


@dataclass
class _Desk:
    """One page that a judge has open: the question on its screen, since when, and the next ones."""

    judge: _Judge
    asked: Pair | None = None
    query: str | None = None  # of the pairs shown last, and how many they were
    row: int = 0
    since: float = 0.0
    ready: list[Pair] = field(default_factory=list)
    fresh: bool = False  # whether the ready questions were chosen after the judge's last answer
    used: bool = False  # whether anything was answered here
    seen: float = field(default_factory=monotonic)

    @property
    def open(self) -> bool:
        """Whether somebody may still be looking at it."""
        return monotonic() - self.seen < (AWAY if self.used else LOOKING)

    def show(self, pair: Pair) -> None:
        """Put a question on the screen."""
        self.row = self.row + 1 if pair[0] == self.query else 1
        self.asked, self.query, self.since = pair, pair[0], monotonic()

    def turn(self) -> None:
        """Put the next question on an empty screen."""
        if self.asked is None and self.ready:
            self.show(self.ready.pop(0))


class Questions:
    """Chooses pairs for any number of judges at once, and updates the strategy; ``before`` are earlier answers.

    ``probes`` are mixed in. ``assigned`` has the queries that a judge is asked about, None for all.
    """

    def __init__(
        self,
        strategy: Strategy,
        before: Iterable[StoredAnswer],
        probes: Probes | None = None,
        assigned: Callable[[str], Collection[str] | None] = lambda name: None,
    ) -> None:
        self.strategy, self.probes, self._assigned = strategy, probes or Probes(), assigned
        self._random = random.SystemRandom()
        self._judges: dict[str, _Judge] = {}
        self._desks: dict[tuple[str, str], _Desk] = {}  # by judge and page
        self._lock = Lock()  # guards judges, their pages, pending answers and counts; held briefly
        self._fitting = Lock()  # guards the strategy; held while it fits
        self._pending: list[tuple[StoredAnswer, int]] = []
        self._work = Condition(self._lock)
        self._total = 0
        self._state: dict[str, Any] = {}
        self._verdict: Better | None = None
        self._trail: list[tuple[int, str, float]] = []
        self._unsettled: frozenset[str] = frozenset()
        self._closed = False
        self._recall(before)
        with self._fitting:
            self._learn()
        self._thread = Thread(target=self._background, daemon=True)
        self._thread.start()

    @property
    def state(self) -> dict[str, Any]:
        """Counts of queries unsettled and given up, and of judgments left; and the fraction expected to be wrong."""
        return self._state

    @property
    def verdict(self) -> Better | None:
        """The system that leads, where the goal is to decide between systems; not for judges, whom it might sway."""
        return self._verdict

    @property
    def decision(self) -> dict[str, Any] | None:
        """How the conclusion forms: after how many answers which system led, and how probably."""
        if self._verdict is None:
            return None
        with self._lock:
            trail = list(self._trail)
        needed = 1 - getattr(self.strategy, "error", 0.05)
        return {"decided": self._verdict.probability >= needed, "needed": needed, "trail": trail}

    @property
    def unsettled(self) -> frozenset[str]:
        """Queries in which there is something to ask."""
        return self._unsettled

    def ask(self, name: str, page: str = "") -> Pair | None:
        """Return the pair to be compared now on a judge's page; None where there is nothing to ask."""
        with self._work:
            desk = self._desk(name, page)
            self._turn(desk)
            self._work.notify()
        if desk.asked is None:
            self._prepare(desk, 1)
            with self._work:
                self._turn(desk)
                self._work.notify()
        with self._lock:
            return desk.asked

    def ask_again(self, name: str, page: str, pair: Pair) -> None:
        """Put a pair on a judge's screen; what was there comes next."""
        with self._lock:
            desk = self._desk(name, page)
            desk.ready = [desk.asked, *desk.ready] if desk.asked else desk.ready
            desk.show(pair)

    def _turn(self, desk: _Desk) -> None:
        """Put the next question on an empty screen; now and then one about the judge, while there are others."""
        if desk.asked is None and desk.ready and (probe := self._probe(desk)) is not None:
            desk.show(probe)
        desk.turn()

    def _probe(self, desk: _Desk) -> Pair | None:
        """Draw whether it is time for a question about the judge, and which: nobody can tell it from the others."""
        probes, judge, draw = self.probes, desk.judge, self._random.random()
        if draw >= probes.repeats + (GOLD_SHARE if probes.gold else 0):
            return None
        screens = {sorted_pair(other.asked) for other in self._desks.values() if other.judge is judge and other.asked}
        queries = self._assigned(judge.name)
        if draw < probes.repeats:  # the other way round, so that a preference for a side shows
            open_ = [(query, b, a) for query, a, b in judge.repeatable()]
        else:
            open_ = [_sided(pair, self._random) for pair in probes.gold if pair not in judge.done]
        open_ = [p for p in open_ if sorted_pair(p) not in screens and (queries is None or p[0] in queries)]
        return self._random.choice(open_) if open_ else None

    def kind(self, name: str, pair: Pair) -> str:
        """Return whether an answer to a pair now is a judgment (""), about a gold pair, or a repetition."""
        with self._lock:
            judge = self._judge(name)
            if sorted_pair(pair) in self.probes.gold:
                return "gold"
            again = sorted_pair(pair) in judge.done and self.probes.repeats
            return "repeat" if again and sorted_pair(pair) in map(sorted_pair, judge.repeatable()) else ""

    def leave(self, name: str, page: str | None = None) -> None:
        """Take a page that was closed, or all of a judge, off the list: the questions go to others."""
        with self._lock:
            for key in [key for key in self._desks if key[0] == name and page in (None, key[1])]:
                del self._desks[key]

    def seconds_shown(self, name: str, page: str, pair: Pair) -> float | None:
        """Return how long a pair has been on a page's screen; None where that is not known, as after a restart."""
        with self._lock:
            desk = self._desks.get((name, page))
            if desk is None or desk.asked is None or sorted_pair(desk.asked) != sorted_pair(pair):
                return None
            return monotonic() - desk.since

    def compared(self, name: str) -> set[Pair]:
        """Return the pairs that a judge has answered."""
        with self._lock:
            return set(self._judge(name).done)

    def answered(self) -> dict[str, int]:
        """Count the answers of each judge."""
        with self._lock:
            return {name: judge.answered for name, judge in self._judges.items() if judge.answered}

    def progress(self, name: str) -> dict[str, int]:
        """Count a judge's answers and those of all."""
        with self._lock:
            judges = {key for key, desk in self._desks.items() if desk.used and desk.open}
            working = len({judge for judge, _ in judges} | {name})
            return {"mine": self._judge(name).answered, "all": self._total, "judges": working}

    def note(self, answers: Sequence[StoredAnswer], times: int, page: str = "") -> None:
        """Queue answers of one judge for the strategy; ``times=-1`` takes them back."""
        if not answers:
            return
        with self._work:
            judge = self._desk(answers[0].worker, page, used=True).judge
            judge.answered += times
            pairs = {sorted_pair(answer.pair) for answer in answers}
            for answer in answers:
                judge.note(answer, times)
            for desk in self._desks.values():
                if desk.judge is judge:
                    if desk.asked is not None and sorted_pair(desk.asked) in pairs:
                        desk.asked = None
                    desk.ready = [other for other in desk.ready if sorted_pair(other) not in pairs]
                    desk.fresh = False
                desk.fresh &= len(desk.ready) > 0  # there may be something to ask again
            self._total += times
            self._pending += [(answer, times) for answer in answers if not answer.kind]
            self._work.notify()

    def change(self, old: StoredAnswer, new: StoredAnswer) -> None:
        """Queue that an answer was changed."""
        if not old.kind:
            with self._work:
                self._pending += [(old, -1), (new, 1)]
                for desk in self._desks.values():
                    desk.fresh = False
                self._work.notify()

    def close(self) -> None:
        """Stop choosing questions."""
        with self._work:
            self._closed = True
            self._work.notify()
        self._thread.join()

    def _recall(self, before: Iterable[StoredAnswer]) -> None:
        """Queue earlier answers; the pairs of one list, which have one time, count as one answer."""
        lists: set[tuple[str, str]] = set()
        for answer in before:
            judge = self._judge(answer.worker)
            judge.note(answer, 1)
            if answer.weight == 1 or (answer.worker, answer.at) not in lists:
                judge.answered += 1
                self._total += 1
            lists.add((answer.worker, answer.at))
            if not answer.kind:
                self._pending.append((answer, 1))

    def _judge(self, name: str) -> _Judge:
        return self._judges.setdefault(name, _Judge(name))

    def _desk(self, name: str, page: str, *, used: bool = False) -> _Desk:
        """Find a judge's page; what it had may have gone to others since it was last seen."""
        desk = self._desks.get((name, page))
        if desk is None:
            if len(self._desks) >= MANY:
                self._desks = {key: kept for key, kept in self._desks.items() if kept.open}
            desk = self._desks[name, page] = _Desk(self._judge(name))
        if not desk.open:
            desk.asked, desk.ready, desk.fresh = None, [], False
        desk.seen, desk.used = monotonic(), desk.used or used
        return desk

    def _prepare(self, desk: _Desk, number: int = AHEAD) -> None:
        """Choose pairs that are new to the judge and not chosen for another page; sides at random."""
        with self._fitting:
            self._learn()
            with self._lock:
                desk.fresh = number == AHEAD  # unless an answer comes meanwhile
                theirs = {sorted_pair(pair) for other in self._others(desk) for pair in other.ready}
                taken = self._taken(desk)
            queries = self._assigned(desk.judge.name)
            chosen = self._choose(desk, taken | theirs, number, queries)
            with self._lock:
                taken = self._taken(desk)
                desk.ready = [pair for pair in chosen if sorted_pair(pair) not in taken]
                if not desk.ready and theirs:  # the last pairs go to the page that asks first
                    desk.ready = self._choose(desk, taken, 1, queries)
                    mine = {sorted_pair(pair) for pair in desk.ready}
                    for other in self._desks.values():
                        if other is not desk:
                            other.ready = [pair for pair in other.ready if sorted_pair(pair) not in mine]

    def _others(self, desk: _Desk) -> list[_Desk]:
        return [other for other in self._desks.values() if other is not desk and other.open]

    def _screens(self, desk: _Desk) -> set[Pair]:
        """Pairs on the other screens."""
        return {sorted_pair(other.asked) for other in self._others(desk) if other.asked is not None}

    def _taken(self, desk: _Desk) -> set[Pair]:
        """Pairs on a screen, answered since the last update, or known to the judge."""
        mine = {sorted_pair(desk.asked)} if desk.asked is not None else set()
        pending = {sorted_pair(answer.pair) for answer, _ in self._pending}
        return self._screens(desk) | mine | pending | desk.judge.done | self.probes.gold.keys()

    def _choose(self, desk: _Desk, taken: set[Pair], number: int, queries: Collection[str] | None) -> list[Pair]:
        """Choose pairs, several of one query in a row: a judge has to read each query anew."""
        chosen: list[Pair] = []
        last, row = desk.query, desk.row
        if not self.strategy.unsettled():
            return chosen
        while len(chosen) < number:
            stay = last if row < STAY else None
            pair = self.strategy.ask(taken | {sorted_pair(other) for other in chosen}, within=queries, stay=stay)
            if pair is None:
                break
            last, row = pair[0], row + 1 if pair[0] == last else 1
            chosen.append(_sided(pair, self._random))
        return chosen

    def _learn(self) -> None:
        """Update the strategy with the answers since the last update; the caller holds its lock."""
        with self._lock:
            pending, self._pending = self._pending, []
        for answer, times in pending:
            if answer.outcome == "skip":
                continue
            won, lost = (answer.second, answer.first) if answer.outcome == "second" else (answer.first, answer.second)
            self.strategy.tell(answer.query, won, lost, tie=answer.outcome == "tie", times=times * answer.weight)
        if pending or not self._state:
            unsettled = set(self.strategy.unsettled())
            errors, left = self.strategy.errors(), self.strategy.left()
            state = {
                "open": len(unsettled),
                "given_up": len(self.strategy.given_up()),
                "error": sum(errors.values()) / len(errors) if errors else None,
                "left": left.about,
                "low": left.low,
                "high": left.high,
            }
            verdict = leading(self.strategy)
            if verdict is not None:
                state["decided"] = not unsettled
            with self._lock:
                self._state, self._verdict, self._unsettled = state, verdict, frozenset(unsettled)
                if verdict is not None:
                    self._trail.append((self._total, verdict.system, verdict.probability))
                    if len(self._trail) > MANY:
                        self._trail = [*self._trail[:-1:2], self._trail[-1]]
                for desk in self._desks.values():
                    desk.ready = [pair for pair in desk.ready if pair[0] in unsettled]

    def _background(self) -> None:
        """Update the strategy, and prepare questions for every judge who has one on the screen."""
        while True:
            with self._work:
                while not self._closed and not self._pending and not self._waiting():
                    self._work.wait()
                if self._closed:
                    return
                waiting = self._waiting()
            for desk in waiting:
                self._prepare(desk)
            with self._fitting:
                self._learn()

    def _waiting(self) -> list[_Desk]:
        """List the pages to choose for, those with the fewest questions ready first."""
        waiting = [desk for desk in self._desks.values() if desk.asked is not None and not desk.fresh and desk.open]
        return sorted(waiting, key=lambda desk: len(desk.ready))


def _sided(pair: Pair, rng: random.Random) -> Pair:
    """Put the items of a pair left and right at random."""
    query, a, b = pair
    return (query, a, b) if rng.random() < 0.5 else (query, b, a)
