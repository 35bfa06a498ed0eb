"""Grading: one item at a time, on a scale that the owner sets."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any

from rankdev.errors import DataError, UsageError
from rankdev.judging.items import Items
from rankdev.judging.session import LEAST, Screen, Screens, check_comment
from rankdev.judging.store import Grade, Store, check_name

MOST = 10  # grades: each has a digit as its key
Place = tuple[str, str]  # query and item


@dataclass(frozen=True)
class Scale:
    """Grades from worst to best, each with a label that may be empty."""

    grades: tuple[tuple[int, str], ...]

    @classmethod
    def parse(cls, text: str) -> Scale:
        """Read a range, labels, or grades with labels."""
        wrong = UsageError("not-a-scale", value=text)
        parts = [part.strip() for part in text.split(",")]
        if span := re.fullmatch(r"(-?\d{1,3})\s*-\s*(-?\d{1,3})", text.strip()):
            low, high = int(span[1]), int(span[2])
            grades = [(value, "") for value in range(low, min(high, low + MOST) + 1)]
        elif all("=" in part for part in parts):
            named = [re.fullmatch(r"(-?\d{1,3})\s*=\s*(\S.*)", part) for part in parts]
            grades = [(int(part[1]), part[2].strip()) for part in named if part]
            if not all(named):
                raise wrong
        elif any("=" in part for part in parts) or not all(parts):
            raise wrong
        else:
            grades = list(enumerate(parts))
        values, labels = [value for value, _ in grades], [label for _, label in grades if label]
        if not 2 <= len(grades) <= MOST or values != sorted(set(values)) or len(set(labels)) < len(labels):
            raise wrong
        if not all(label.isprintable() and len(label) <= 60 for label in labels):
            raise wrong
        return cls(tuple(grades))

    def shown(self) -> list[dict[str, Any]]:
        """Return what the page shows: each grade with its key, its own digit where all have one."""
        own = all(0 <= value <= 9 for value, _ in self.grades)
        return [
            {"grade": value, "label": label, "key": str(value if own else (number + 1) % MOST)}
            for number, (value, label) in enumerate(self.grades)
        ]


class Grading:
    """Asks any number of judges for grades, one query after the other, each item of at most ``repeats`` judges.

    Each judge sees the items of a query in a random order of their own: that of a pool would show what systems rank
    first.
    """

    def __init__(self, items: Items, store: Store, scale: Scale, *, repeats: int = 1, least: float = LEAST) -> None:
        self.items, self.store, self.scale, self.repeats, self.least = items, store, scale, repeats, least
        self._lock = Lock()
        self._screens = Screens()
        self._done: dict[str, dict[Place, None]] = {}  # by judge, in the order given
        self._counts: Counter[Place] = Counter()  # grades of each item, without those that skip it
        known = {value for value, _ in scale.grades}
        for grade in store.grades():
            if grade.grade is not None and grade.grade not in known:
                raise DataError("other-scale", path=store.path, grade=grade.grade)
            if items.pool.knows(grade.query, grade.item):
                self._note(grade, 1)

    def question(self, name: str, page: str = "") -> dict[str, Any]:
        """Return the item that a judge is to grade now; None where nothing is left."""
        check_name(name)
        self.store.check()
        with self._lock:
            return self._question(name, self._screens.find(name, page))

    def grade(self, name: str, request: str, reply: Mapping[str, Any], page: str = "") -> dict[str, Any]:
        """Keep a grade, on disk when this returns; return the next item. ``saved`` is False for a second grade."""
        given = self._checked(name, reply)
        place = given.query, given.item
        with self._lock:
            screen = self._screens.find(name, page, used=True)
            if screen.asked == place:
                screen.seconds_shown(self.least)
            twice = place in self._done.get(name, {}) and not self.store.has(request, Grade)
            if not twice and self.store.add(request, given):
                self._note(given, 1)
            self._screens.clear(name, place)
            return {**self._question(name, screen), "saved": not twice}

    def undo(self, name: str, page: str = "") -> dict[str, Any]:
        """Take back the judge's last grade, and ask for it again."""
        check_name(name)
        with self._lock:
            taken = self.store.undo_grade(name, self.items.pool.knows)
            screen = self._screens.find(name, page, used=True)
            if taken is not None:
                self._note(taken, -1)
                screen.show((taken.query, taken.item))
            return {**self._question(name, screen), "undone": taken is not None}

    def leave(self, name: str, page: str | None = None) -> None:
        """Let others have the item of a page that was closed."""
        with self._lock:
            self._screens.leave(name, page)

    def answered(self) -> list[str]:
        """List the judges who gave grades."""
        return [name for name, places in self._done.items() if places]

    def _question(self, name: str, screen: Screen) -> dict[str, Any]:
        if screen.asked is None:
            screen.show(self._chosen(name, screen))
        shown = None
        if screen.asked is not None:
            query, item = screen.asked
            shown = {"query": self.items.query(query), "side": self.items.shown(query, item)}
        return {"grading": shown, "progress": self._progress(name)}

    def _chosen(self, name: str, screen: Screen) -> Place | None:
        """Choose an item of the query that the judge is working on, or of the one that fewest others are working on."""
        mine, others = self._done.get(name, {}), Counter[Place]()
        for judge, asked in self._screens.others(screen):
            others[asked] += self.repeats if judge == name else 1
        last = next(reversed(mine), ("", ""))[0]
        busy = Counter(query for query, _ in others)
        for query in sorted(self.items.pool.items, key=lambda query: (query != last, busy[query])):
            places = [(query, item) for item in self.items.pool.items[query]]
            open_ = [p for p in places if p not in mine and self._counts[p] + others[p] < self.repeats]
            if open_:
                return min(open_, key=lambda place: random.Random("\0".join([name, *place])).random())
        return None

    def _note(self, grade: Grade, times: int) -> None:
        """Count a grade, or take it back."""
        place, mine = (grade.query, grade.item), self._done.setdefault(grade.worker, {})
        if times > 0:
            mine[place] = None
        else:
            mine.pop(place, None)
        if grade.grade is not None:
            self._counts[place] += times

    def _progress(self, name: str) -> dict[str, int]:
        """Count what is done and what is left: exact, since nothing is estimated."""
        wanted = self.repeats * sum(map(len, self.items.pool.items.values()))
        left = wanted - sum(min(self.repeats, count) for count in self._counts.values())
        done = {"mine": len(self._done.get(name, {})), "all": sum(map(len, self._done.values()))}
        return {**done, "left": left, "judges": self._screens.working(name)}

    def _checked(self, name: str, reply: Mapping[str, Any]) -> Grade:
        check_name(name)
        query, item, comment, grade = (reply.get(key) for key in ("query", "item", "comment", "grade"))
        if not (isinstance(query, str) and isinstance(item, str) and isinstance(comment, str)):
            raise UsageError("bad-request", expected="query, item and comment, all text")
        check_comment(comment)
        values = [value for value, _ in self.scale.grades]
        if grade is not None and (isinstance(grade, bool) or grade not in values):
            raise UsageError("bad-request", expected=f"grade, one of {', '.join(map(str, values))} or null")
        self.items.pool.check(query, item)
        return Grade(query, item, None if grade is None else int(grade), name, comment)
