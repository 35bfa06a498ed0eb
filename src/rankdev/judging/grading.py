"""Grading: one item at a time, on a scale that the owner sets."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

from rankdev.errors import UsageError
from rankdev.judging.items import Pool
from rankdev.judging.store import Pair
from rankdev.judging.strategies import ListStrategy

MOST = 10  # grades: each has a digit as its key


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


class GradeStrategy(ListStrategy):
    """Asks for grades, one query after the other, each item of at most ``repeats`` judges.

    Each judge sees the items of a query in a random order of their own: that of a pool would show what systems rank
    first.
    """

    graded = True
    in_a_row = inf

    def __init__(self, pool: Pool, scale: Scale, *, repeats: int = 1) -> None:
        super().__init__({query: [(query, item, "") for item in items] for query, items in pool.items.items()}, repeats)
        self.scale, self.outcomes = scale, (*(str(value) for value, _ in scale.grades), "skip")

    def _in_order(self, stay: str, busy: Mapping[str, int]) -> list[str]:
        """Sort queries: the one that the judge is working on, then those that fewest others are working on."""
        return sorted(self._judges, key=lambda query: (query != stay, busy[query]))

    def _chosen(self, questions: list[Pair], judge: str) -> Pair:
        return min(questions, key=lambda question: random.Random("\0".join([judge, *question])).random())

    def presented(self, pair: Pair, chance: float) -> Pair:
        """Return the question as it is: there is one item."""
        return pair
