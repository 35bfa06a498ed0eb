"""The pages that judges have open: what is on each screen, and since when; and what each judge has answered."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic

from rankdev.judging.items import Pair, sorted_pair
from rankdev.judging.store import StoredAnswer

AWAY = 600.0  # seconds after which a question on a screen may go to others
LOOKING = 120.0  # the same for a page that has answered nothing yet: many only look around
MANY = 1000  # open pages to remember; beyond, those that were left long ago are forgotten
Place = tuple[str, str]  # query and item


@dataclass(kw_only=True)
class Screen:
    """A page that a judge has open: when its question was shown, and when the page was last heard of."""

    since: float = 0.0
    seen: float = field(default_factory=monotonic)
    used: bool = False  # whether anything was answered here

    @property
    def open(self) -> bool:
        """Whether somebody may still be looking at it."""
        return monotonic() - self.seen < (AWAY if self.used else LOOKING)

    @property
    def seconds(self) -> float:
        """How long the question has been there."""
        return monotonic() - self.since

    def touch(self, *, used: bool) -> None:
        """Note that the page was heard of."""
        self.seen, self.used = monotonic(), self.used or used


@dataclass(kw_only=True)
class ItemScreen(Screen):
    """A page that asks for grades: the item on its screen."""

    asked: Place | None = None

    def show(self, place: Place | None) -> None:
        """Put an item on the screen."""
        self.asked, self.since = place, monotonic()


@dataclass
class Judge:
    """What one judge has answered; the pairs are not asked again."""

    answered: int = 0
    done: set[Pair] = field(default_factory=set)

    def note(self, answer: StoredAnswer, times: int) -> None:
        """Count an answer, or take it back."""
        self.answered += times
        (self.done.add if times > 0 else self.done.discard)(sorted_pair(answer.pair))


@dataclass(kw_only=True)
class PairScreen(Screen):
    """A page that asks for preferences: the pair on its screen, and the next ones."""

    judge: Judge
    asked: Pair | None = None
    query: str | None = None  # see `place`
    row: int = 0
    ready: list[Pair] = field(default_factory=list)
    fresh: bool = False  # whether the ready questions were chosen after the judge's last answer

    @property
    def place(self) -> tuple[str | None, int]:
        """The query of the pairs shown last, and how many they were."""
        return self.query, self.row

    def show(self, pair: Pair) -> None:
        """Put a question on the screen."""
        self.row = self.row + 1 if pair[0] == self.query else 1
        self.asked, self.query, self.since = pair, pair[0], monotonic()

    def turn(self) -> None:
        """Put the next question on an empty screen."""
        if self.asked is None and self.ready:
            self.show(self.ready.pop(0))
