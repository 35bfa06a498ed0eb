"""Who is asked what, and what answers teach.

The next pairs of every judge are chosen while the judge looks at the present one, so that nobody waits for a fit;
several, since on a busy machine a fit may last longer than an answer.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from threading import Condition, Lock, Thread

from rankdev.judging.items import Pair, sorted_pair
from rankdev.judging.store import StoredAnswer
from rankdev.judging.strategies import Strategy

AWAY = 600.0  # seconds after which a judge's open question may go to others
AHEAD = 5  # questions that are ready for a judge; chosen again after each answer, if there is time


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


class Questions:
    """Chooses pairs for any number of judges at once, and learns from their answers; ``before`` are earlier ones."""

    def __init__(self, strategy: Strategy, before: Iterable[StoredAnswer]) -> None:
        self.strategy = strategy
        self._random = random.SystemRandom()
        self._judges: dict[str, _Judge] = {}
        self._mine = Lock()  # judges, lessons and counts: held for moments
        self._learning = Lock()  # the strategy: held while it fits
        self._lessons: list[tuple[StoredAnswer, int]] = []
        self._work = Condition(self._mine)
        self._total = 0
        self._state: dict[str, int] = {}
        self._closed = False
        self._recall(before)
        with self._learning:
            self._learn()
        self._thread = Thread(target=self._background, daemon=True)
        self._thread.start()

    @property
    def state(self) -> dict[str, int]:
        """How many queries are open, and how many judgments are left."""
        return self._state

    def ask(self, name: str) -> Pair | None:
        """Give the pair that a judge is to compare now; None where there is nothing to ask."""
        with self._work:
            judge = self._judge(name)
            judge.turn()
            self._work.notify()
        if judge.asked is None:
            self._prepare(name)
            with self._work:
                judge.turn()
                self._work.notify()
        with self._mine:
            return judge.asked

    def ask_again(self, name: str, pair: Pair) -> None:
        """Put a pair on a judge's screen; what was there comes next."""
        with self._mine:
            judge = self._judge(name)
            judge.ready = [judge.asked, *judge.ready] if judge.asked else judge.ready
            judge.asked = pair

    def compared(self, name: str) -> set[Pair]:
        """Give the pairs that a judge has answered."""
        with self._mine:
            return set(self._judge(name).done)

    def answered(self) -> dict[str, int]:
        """Count the answers of each judge."""
        with self._mine:
            return {name: judge.answered for name, judge in self._judges.items()}

    def progress(self, name: str) -> dict[str, int]:
        """Count a judge's answers and those of all."""
        with self._mine:
            return {"mine": self._judges[name].answered, "all": self._total}

    def note(self, answers: Sequence[StoredAnswer], times: int) -> None:
        """Queue answers of one judge to be learned from; ``times=-1`` takes them back."""
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
            self._lessons += [(answer, times) for answer in answers]
            self._work.notify()

    def close(self) -> None:
        """Stop choosing."""
        with self._work:
            self._closed = True
            self._work.notify()
        self._thread.join()

    def _recall(self, before: Iterable[StoredAnswer]) -> None:
        """Queue earlier answers; the pairs of one list, which have one time, count as one answer."""
        lists: set[tuple[str, str]] = set()
        for said in before:
            judge = self._judges.setdefault(said.worker, _Judge(seen=-AWAY))
            judge.done.add(sorted_pair(said.pair))
            if said.weight == 1 or (said.worker, said.at) not in lists:
                judge.answered += 1
                self._total += 1
            lists.add((said.worker, said.at))
            self._lessons.append((said, 1))

    def _judge(self, name: str) -> _Judge:
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
                theirs = {sorted_pair(pair) for other in self._here() if other is not judge for pair in other.ready}
                taken = self._taken(judge)
            chosen = self._choose(taken | theirs, AHEAD)
            with self._mine:
                taken = self._taken(judge)
                judge.ready = [pair for pair in chosen if sorted_pair(pair) not in taken]
                if not judge.ready and theirs:  # the last pairs go to whoever is there first
                    judge.ready = self._choose(taken, 1)
                    mine = {sorted_pair(pair) for pair in judge.ready}
                    for other in self._judges.values():
                        if other is not judge:
                            other.ready = [pair for pair in other.ready if sorted_pair(pair) not in mine]

    def _here(self) -> list[_Judge]:
        return [judge for judge in self._judges.values() if time.monotonic() - judge.seen < AWAY]

    def _taken(self, judge: _Judge) -> set[Pair]:
        """Pairs that are on a screen, were answered since the last lesson, or that the judge has had."""
        screens = {sorted_pair(other.asked) for other in self._here() if other.asked is not None}
        return screens | {sorted_pair(said.pair) for said, _ in self._lessons} | judge.done

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
        """Tell the strategy what was answered since; the caller holds the lock for learning."""
        with self._mine:
            lessons, self._lessons = self._lessons, []
        for answer, times in lessons:
            if answer.outcome == "skip":
                continue
            won, lost = (answer.second, answer.first) if answer.outcome == "second" else (answer.first, answer.second)
            self.strategy.tell(answer.query, won, lost, tie=answer.outcome == "tie", times=times * answer.weight)
        if lessons or not self._state:
            unsettled = set(self.strategy.unsettled())
            state = {"open": len(unsettled), "left": self.strategy.left()}
            with self._mine:
                self._state = state
                for judge in self._judges.values():
                    judge.ready = [pair for pair in judge.ready if pair[0] in unsettled]

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
