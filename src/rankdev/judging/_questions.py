"""The questions of each judge, on each page that the judge has open, and updates of the strategy.

The next pairs of every page are chosen while the judge looks at the current one, so that no judge waits for a fit;
several, since on a busy machine a fit may take longer than an answer.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from threading import Condition, Lock, Thread
from typing import Any

from rankdev.judging._screens import MANY, Judge, PairScreen
from rankdev.judging._strategies import Strategy
from rankdev.judging.items import Pair, sorted_pair
from rankdev.judging.quality import GOLD_SHARE
from rankdev.judging.store import StoredAnswer

STAY = 5  # pairs of one query in a row, before another may be chosen
AHEAD = 5  # questions kept ready for a page; chosen again after each answer, if there is time


class Questions:
    """Chooses pairs for any number of judges at once, and updates the strategy; ``before`` are earlier answers.

    ``gold`` has the better item of pairs whose answer is known, which are mixed in and are no judgments.
    """

    def __init__(
        self,
        strategy: Strategy,
        before: Iterable[StoredAnswer],
        gold: Mapping[Pair, str | None] | None = None,
    ) -> None:
        self.strategy, self.gold = strategy, gold or {}
        self._random = random.SystemRandom()
        self._judges: dict[str, Judge] = {}
        self._screens: dict[tuple[str, str], PairScreen] = {}  # by judge and page
        self._lock = Lock()  # guards judges, their pages, pending answers and counts; held briefly
        self._fitting = Lock()  # guards the strategy; held while it fits
        self._pending: list[tuple[StoredAnswer, int]] = []
        self._work = Condition(self._lock)
        self._total = 0
        self._state: dict[str, Any] = {}
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
    def unsettled(self) -> frozenset[str]:
        """Queries in which there is something to ask."""
        return self._unsettled

    def ask(self, name: str, page: str = "") -> Pair | None:
        """Return the pair to be compared now on a judge's page; None where there is nothing to ask."""
        with self._work:
            screen = self._screen(name, page)
            self._turn(screen)
            asked = screen.asked
        if asked is None:
            asked = self._prepare(screen, now=True)
        with self._work:
            self._work.notify()
        return asked

    def ask_again(self, name: str, page: str, pair: Pair) -> None:
        """Put a pair on a judge's screen; what was there comes next."""
        with self._lock:
            screen = self._screen(name, page)
            screen.ready = [screen.asked, *screen.ready] if screen.asked else screen.ready
            screen.show(pair)

    def _turn(self, screen: PairScreen) -> None:
        """Put the next question on an empty screen; now and then a gold pair, which looks like any other."""
        if screen.asked is None and screen.ready and self._random.random() < GOLD_SHARE:
            mine = [other.asked for other in self._screens.values() if other.judge is screen.judge]
            done = screen.judge.done | {sorted_pair(pair) for pair in mine if pair is not None}
            if open_ := [pair for pair in self.gold if pair not in done]:
                screen.show(_sided(self._random.choice(open_), self._random))
        screen.turn()

    def leave(self, name: str, page: str | None = None) -> None:
        """Forget a page that was closed, or all pages of a judge: their questions go to others."""
        with self._lock:
            for key in [key for key in self._screens if key[0] == name and page in (None, key[1])]:
                del self._screens[key]

    def seconds_shown(self, name: str, page: str, pair: Pair) -> float | None:
        """Return how long a pair has been on a page's screen; None where that is not known, as after a restart."""
        with self._lock:
            screen = self._screens.get((name, page))
            if screen is None or screen.asked is None or sorted_pair(screen.asked) != sorted_pair(pair):
                return None
            return screen.seconds

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
            judges = {key for key, screen in self._screens.items() if screen.used and screen.open}
            working = len({judge for judge, _ in judges} | {name})
            return {"mine": self._judge(name).answered, "all": self._total, "judges": working}

    def note(self, answer: StoredAnswer, times: int, page: str = "") -> None:
        """Queue an answer for the strategy; ``times=-1`` takes it back."""
        with self._work:
            judge = self._screen(answer.worker, page, used=True).judge
            judge.note(answer, times)
            pair = sorted_pair(answer.pair)
            for screen in self._screens.values():
                if screen.judge is judge:
                    if screen.asked is not None and sorted_pair(screen.asked) == pair:
                        screen.asked = None
                    screen.ready = [other for other in screen.ready if sorted_pair(other) != pair]
                    screen.fresh = False
                screen.fresh &= len(screen.ready) > 0  # there may be something to ask again
            self._total += times
            if not answer.kind:
                self._pending.append((answer, times))
            self._work.notify()

    def change(self, old: StoredAnswer, new: StoredAnswer) -> None:
        """Queue the change of an answer."""
        if not old.kind:
            with self._work:
                self._pending += [(old, -1), (new, 1)]
                for screen in self._screens.values():
                    screen.fresh = False
                self._work.notify()

    def close(self) -> None:
        """Stop choosing questions."""
        with self._work:
            self._closed = True
            self._work.notify()
        self._thread.join()

    def _recall(self, before: Iterable[StoredAnswer]) -> None:
        """Queue earlier answers."""
        for answer in before:
            judge = self._judge(answer.worker)
            judge.note(answer, 1)
            self._total += 1
            if not answer.kind:
                self._pending.append((answer, 1))

    def _judge(self, name: str) -> Judge:
        return self._judges.setdefault(name, Judge())

    def _screen(self, name: str, page: str, *, used: bool = False) -> PairScreen:
        """Find a judge's page; what it had may have gone to others since it was last seen."""
        screen = self._screens.get((name, page))
        if screen is None:
            if len(self._screens) >= MANY:
                self._screens = {key: kept for key, kept in self._screens.items() if kept.open}
            screen = self._screens[name, page] = PairScreen(judge=self._judge(name))
        if not screen.open:
            screen.asked, screen.ready, screen.fresh = None, [], False
        screen.touch(used=used)
        return screen

    def _prepare(self, screen: PairScreen, *, now: bool = False) -> Pair | None:
        """Choose pairs that are new to the judge and not chosen for another page; ``now`` shows one, and returns it."""
        with self._fitting:
            self._learn()
            with self._lock:
                screen.fresh = not now  # unless an answer comes meanwhile
                theirs = {sorted_pair(pair) for other in self._others(screen) for pair in other.ready}
                taken, place = self._taken(screen), screen.place
            found = self._choose(place, taken | theirs, 1 if now else AHEAD)
            with self._lock:  # until a pair is on the screen: no other page can take it
                taken = self._taken(screen)
                chosen = [pair for pair in found if sorted_pair(pair) not in taken]
                if now and not chosen and (found or theirs):  # the last pairs go to the page that asks first
                    chosen = self._choose(screen.place, taken, 1)
                    mine = {sorted_pair(pair) for pair in chosen}
                    for other in self._others(screen):
                        other.ready = [pair for pair in other.ready if sorted_pair(pair) not in mine]
                if chosen and screen.place != place and screen.row < STAY and chosen[0][0] != screen.query:
                    screen.fresh = False  # the judge reads another query since: what is ready for it stays
                else:
                    screen.ready = chosen
                if now:
                    self._turn(screen)
                return screen.asked

    def _others(self, screen: PairScreen) -> list[PairScreen]:
        return [other for other in self._screens.values() if other is not screen and other.open]

    def _on_others(self, screen: PairScreen) -> set[Pair]:
        """Return the pairs on the other screens."""
        return {sorted_pair(other.asked) for other in self._others(screen) if other.asked is not None}

    def _taken(self, screen: PairScreen) -> set[Pair]:
        """Return the pairs on a screen, answered since the last update, or known to the judge."""
        mine = {sorted_pair(screen.asked)} if screen.asked is not None else set()
        pending = {sorted_pair(answer.pair) for answer, _ in self._pending}
        return self._on_others(screen) | mine | pending | screen.judge.done | self.gold.keys()

    def _choose(self, place: tuple[str | None, int], taken: set[Pair], number: int) -> list[Pair]:
        """Choose pairs, several of one query in a row: a judge has to read each query anew; sides at random."""
        chosen: list[Pair] = []
        last, row = place
        if not self.strategy.unsettled():
            return chosen
        while len(chosen) < number:
            stay = last if row < STAY else None
            pair = self.strategy.ask(taken | {sorted_pair(other) for other in chosen}, stay=stay)
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
            self.strategy.tell(answer.query, won, lost, tie=answer.outcome == "tie", times=times)
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
            with self._lock:
                self._state, self._unsettled = state, frozenset(unsettled)
                for screen in self._screens.values():
                    screen.ready = [pair for pair in screen.ready if pair[0] in unsettled]

    def _background(self) -> None:
        """Update the strategy, and prepare questions for every judge who has one on the screen."""
        while True:
            with self._work:
                while not self._closed and not self._pending and not self._waiting():
                    self._work.wait()
                if self._closed:
                    return
                waiting = self._waiting()
            for screen in waiting:
                self._prepare(screen)
            with self._fitting:
                self._learn()

    def _waiting(self) -> list[PairScreen]:
        """List the pages to choose for, those with the fewest questions ready first."""
        waiting = [
            screen for screen in self._screens.values() if screen.asked is not None and not screen.fresh and screen.open
        ]
        return sorted(waiting, key=lambda screen: len(screen.ready))


def _sided(pair: Pair, rng: random.Random) -> Pair:
    """Put the items of a pair left and right at random."""
    query, a, b = pair
    return (query, a, b) if rng.random() < 0.5 else (query, b, a)
