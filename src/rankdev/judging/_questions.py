"""Questions of each judge, and updates of the strategy.

The next pairs of every judge are chosen while the judge looks at the current one, so that no judge waits for a fit;
several, since on a busy machine a fit may take longer than an answer.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from threading import Condition, Lock, Thread
from typing import Any

from rankdev.judging.collect import leading
from rankdev.judging.items import Pair, sorted_pair
from rankdev.judging.result import Better
from rankdev.judging.store import StoredAnswer
from rankdev.judging.strategies import Strategy

AWAY = 600.0  # seconds after which a judge's question may go to others
AHEAD = 5  # questions kept ready for a judge; chosen again after each answer, if there is time


@dataclass
class _Judge:
    """State of one judge: the question on the screen, the next ones, and the pairs not to be asked again."""

    answered: int = 0
    asked: Pair | None = None
    ready: list[Pair] = field(default_factory=list)
    fresh: bool = False  # whether the ready questions were chosen after the judge's last answer
    done: set[Pair] = field(default_factory=set)
    seen: float = field(default_factory=time.monotonic)

    def turn(self) -> None:
        """Put the next question on an empty screen."""
        if self.asked is None and self.ready:
            self.asked = self.ready.pop(0)


class Questions:
    """Chooses pairs for any number of judges at once, and updates the strategy; ``before`` are earlier answers."""

    def __init__(self, strategy: Strategy, before: Iterable[StoredAnswer]) -> None:
        self.strategy = strategy
        self._random = random.SystemRandom()
        self._judges: dict[str, _Judge] = {}
        self._lock = Lock()  # guards judges, pending answers and counts; held briefly
        self._fitting = Lock()  # guards the strategy; held while it fits
        self._pending: list[tuple[StoredAnswer, int]] = []
        self._work = Condition(self._lock)
        self._total = 0
        self._state: dict[str, Any] = {}
        self._verdict: Better | None = None
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

    def ask(self, name: str) -> Pair | None:
        """Return the pair that a judge is to compare now; None where there is nothing to ask."""
        with self._work:
            judge = self._judge(name)
            judge.turn()
            self._work.notify()
        if judge.asked is None:
            self._prepare(name)
            with self._work:
                judge.turn()
                self._work.notify()
        with self._lock:
            return judge.asked

    def ask_again(self, name: str, pair: Pair) -> None:
        """Put a pair on a judge's screen; what was there comes next."""
        with self._lock:
            judge = self._judge(name)
            judge.ready = [judge.asked, *judge.ready] if judge.asked else judge.ready
            judge.asked = pair

    def compared(self, name: str) -> set[Pair]:
        """Return the pairs that a judge has answered."""
        with self._lock:
            return set(self._judge(name).done)

    def answered(self) -> dict[str, int]:
        """Count the answers of each judge."""
        with self._lock:
            return {name: judge.answered for name, judge in self._judges.items()}

    def progress(self, name: str) -> dict[str, int]:
        """Count a judge's answers and those of all."""
        with self._lock:
            return {"mine": self._judges[name].answered, "all": self._total}

    def note(self, answers: Sequence[StoredAnswer], times: int) -> None:
        """Queue answers of one judge for the strategy; ``times=-1`` takes them back."""
        if not answers:
            return
        with self._work:
            judge = self._judge(answers[0].worker)
            judge.answered += times
            for answer in answers:
                pair = sorted_pair(answer.pair)
                (judge.done.add if times > 0 else judge.done.discard)(pair)
                if judge.asked is not None and sorted_pair(judge.asked) == pair:
                    judge.asked = None
                judge.ready = [other for other in judge.ready if sorted_pair(other) != pair]
            judge.fresh = False
            for other in self._judges.values():
                other.fresh &= len(other.ready) > 0  # there may be something to ask again
            self._total += times
            self._pending += [(answer, times) for answer in answers]
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
            judge = self._judges.setdefault(answer.worker, _Judge(seen=-AWAY))
            judge.done.add(sorted_pair(answer.pair))
            if answer.weight == 1 or (answer.worker, answer.at) not in lists:
                judge.answered += 1
                self._total += 1
            lists.add((answer.worker, answer.at))
            self._pending.append((answer, 1))

    def _judge(self, name: str) -> _Judge:
        judge = self._judges.setdefault(name, _Judge())
        judge.seen = time.monotonic()
        return judge

    def _prepare(self, name: str) -> None:
        """Choose pairs that are new to the judge and not chosen for other judges; sides at random."""
        with self._fitting:
            self._learn()
            with self._lock:
                judge = self._judges[name]
                judge.fresh = True  # unless an answer comes meanwhile
                theirs = {sorted_pair(pair) for other in self._here() if other is not judge for pair in other.ready}
                taken = self._taken(judge)
            chosen = self._choose(taken | theirs, AHEAD)
            with self._lock:
                taken = self._taken(judge)
                judge.ready = [pair for pair in chosen if sorted_pair(pair) not in taken]
                if not judge.ready and theirs:  # the last pairs go to the judge who asks first
                    judge.ready = self._choose(taken, 1)
                    mine = {sorted_pair(pair) for pair in judge.ready}
                    for other in self._judges.values():
                        if other is not judge:
                            other.ready = [pair for pair in other.ready if sorted_pair(pair) not in mine]

    def _here(self) -> list[_Judge]:
        return [judge for judge in self._judges.values() if time.monotonic() - judge.seen < AWAY]

    def _taken(self, judge: _Judge) -> set[Pair]:
        """Pairs on a screen, answered since the last update, or known to the judge."""
        screens = {sorted_pair(other.asked) for other in self._here() if other.asked is not None}
        return screens | {sorted_pair(answer.pair) for answer, _ in self._pending} | judge.done

    def _choose(self, taken: set[Pair], number: int) -> list[Pair]:
        chosen: list[Pair] = []
        if not self.strategy.unsettled():
            return chosen
        while len(chosen) < number:
            pair = self.strategy.ask(taken | {sorted_pair(other) for other in chosen})
            if pair is None:
                break
            query, a, b = pair
            chosen.append((query, a, b) if self._random.random() < 0.5 else (query, b, a))
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
            with self._lock:
                self._state, self._verdict = state, verdict
                for judge in self._judges.values():
                    judge.ready = [pair for pair in judge.ready if pair[0] in unsettled]

    def _background(self) -> None:
        """Update the strategy, and prepare questions for every judge who has one on the screen."""
        while True:
            with self._work:
                while not self._closed and not self._pending and not self._waiting():
                    self._work.wait()
                if self._closed:
                    return
                waiting = self._waiting()
            for name in waiting:
                self._prepare(name)
            with self._fitting:
                self._learn()

    def _waiting(self) -> list[str]:
        """List the judges to choose for, those with the fewest questions ready first."""
        waiting = [name for name, judge in self._judges.items() if judge.asked is not None and not judge.fresh]
        return sorted(waiting, key=lambda name: len(self._judges[name].ready))
