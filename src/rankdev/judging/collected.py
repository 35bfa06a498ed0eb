"""What collecting gives: the answers, and all that follows from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankdev.errors import DataError
from rankdev.judging.answers import Answer
from rankdev.judging.pool import Pool
from rankdev.preferences import Preferences, references_from_preferences
from rankdev.results import Result

if TYPE_CHECKING:
    from rankdev.references.references import References


@dataclass(frozen=True)
class Better:
    """The system that leads, the next, the expected difference of their means, and the probability that it leads."""

    system: str
    other: str
    measure: str
    difference: float
    probability: float


@dataclass(frozen=True, eq=False)
class Collected(Result):
    """What a judge was asked and answered, and why the loop stopped; ``verdict`` where the goal was a decision."""

    pool: Pool = field(repr=False)
    answers: tuple[Answer, ...] = field(repr=False)
    stopped: str
    goal: str
    budget: int | None
    repeats: int
    sure: float
    seed: int
    unsettled: tuple[str, ...] = field(default=(), repr=False)
    verdict: Better | None = None
    remarks: tuple[str, ...] = ()

    made_with = ("goal", "budget", "repeats", "sure", "seed")

    @property
    def asked(self) -> int:
        """How many questions were asked, those of an earlier call with the same file included."""
        return len(self.answers)

    @cached_property
    def preferences(self) -> Preferences:
        """The answers; with what the grades say, where the loop started from grades."""
        records = [answer.record() for answer in self.answers]
        if not records:
            return self.pool.start()
        judged = Preferences.from_rows(records, items=self.pool.items)
        return judged if self.pool.grades is None else judged.with_grades(self.pool.grades)

    @cached_property
    def references(self) -> References:
        """References made of the preferences; items that no answer connects with the others are left out."""
        judged = self.preferences
        compared = {judged.queries[k] for k in np.unique(judged.item_query[judged.winner])}
        if not compared:
            raise DataError("no references yet: nothing was asked")
        return references_from_preferences(judged.select(compared), disconnected="largest", seed=self.seed)

    def to_polars(self) -> pl.DataFrame:
        """One row per question, in the order asked: query, first, second (as shown), winner (null: equal)."""
        rows = [
            (a.query, a.first, a.loser if a.first == a.winner else a.winner, None if a.tie else a.winner)
            for a in self.answers
        ]
        return pl.DataFrame(rows, schema=dict.fromkeys(("query", "first", "second", "winner"), pl.String), orient="row")

    def summary(self) -> pl.DataFrame:
        """One row per query: query, items, asked, settled."""
        asked = [answer.query for answer in self.answers]
        rows = [(q, len(items), asked.count(q), q not in self.unsettled) for q, items in self.pool.items.items()]
        names = {"query": pl.String, "items": pl.Int64, "asked": pl.Int64, "settled": pl.Boolean}
        return pl.DataFrame(rows, schema=names, orient="row")


class JudgeError(DataError):
    """A judge that failed or gave an invalid answer; ``collected`` has all earlier answers."""

    def __init__(self, message: str, collected: Collected | None = None) -> None:
        super().__init__(message)
        self.collected = collected
