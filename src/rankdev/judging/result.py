"""Answers, and the result of collecting them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankdev._common.arrays import Floats
from rankdev._common.result import Result
from rankdev.display.dispatch import reports
from rankdev.display.report import Report, Table
from rankdev.errors import DataError, counted
from rankdev.judging.items import Pool
from rankdev.preferences import Preferences, references_from_preferences

if TYPE_CHECKING:
    from rankdev.data.references import References


@dataclass(frozen=True)
class Answer:
    """An answer of the judge.

    Attributes
    ----------
    query, winner, loser : str
        Query and items; of a tie, the winner is the item shown first.
    tie : bool
        Whether both are equally good.
    first : str
        Item that was shown first.
    comment : str
        What the judge said besides.
    """

    query: str
    winner: str
    loser: str
    tie: bool
    first: str
    comment: str = ""

    @property
    def second(self) -> str:
        """Item that was shown second."""
        return self.loser if self.first == self.winner else self.winner

    def record(self) -> dict[str, Any]:
        """Return the answer as a record of a file of preferences."""
        return {name: value for name, value in vars(self).items() if name != "comment" or value}


@dataclass(frozen=True, eq=False, kw_only=True)
class Collected(Result):
    """What a judge was asked and answered, and why the loop stopped.

    Attributes
    ----------
    pool : Pool
        Items to be judged.
    answers : tuple of Answer
        Answers in the order asked, those of an earlier call with the same file included.
    stopped : str
        Why the loop stopped.
    goal : str
        What the questions were about.
    budget : int or None
        Largest number of questions.
    repeats : int
        How often a pair may be asked.
    error : float
        Accepted fraction of wrong relations, or of wrong items at the top.
    probability : float or None
        Probability with which the fraction of wrong relations is at most ``error``; None: on average.
    seed : int
        Seed of random choices.
    strengths : dict of str to ndarray
        Expected strength of each item, by which they are ordered, in the order of the pool.
    errors : dict of str to float
        Fraction of pair relations expected to be wrong in each query, or of the top.
    unsettled : tuple of str
        Queries in which the goal is not reached.
    remarks : tuple of str
        Notes.

    See Also
    --------
    collect : Collect judgments.
    """

    pool: Pool = field(repr=False)
    answers: tuple[Answer, ...] = field(repr=False)
    stopped: str
    goal: str
    budget: int | None
    repeats: int
    error: float
    probability: float | None
    seed: int
    strengths: dict[str, Floats] = field(repr=False)
    errors: dict[str, float] = field(repr=False)
    unsettled: tuple[str, ...] = field(default=(), repr=False)
    remarks: tuple[str, ...] = ()

    made_with = ("goal", "budget", "repeats", "error", "probability", "seed")

    @property
    def asked(self) -> int:
        """Number of questions asked, those of an earlier call with the same file included."""
        return len(self.answers)

    @cached_property
    def preferences(self) -> Preferences:
        """Answers as preferences, with those that grades imply where the loop started from grades."""
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
            raise DataError("none-given", what="judgments")
        return references_from_preferences(judged.select(compared), disconnected="largest")

    def to_polars(self) -> pl.DataFrame:
        """Tabulate the questions.

        Returns
        -------
        polars.DataFrame
            One row per question, in the order asked: query, first, second (as shown), winner (null: equal).

        Examples
        --------
        >>> from rankdev.judging import collect
        >>> collect(lambda query, a, b: "x", {"q": ["x", "y"]}).to_polars()["winner"].to_list()
        ['x', 'x']
        """
        rows = [(a.query, a.first, a.second, None if a.tie else a.winner) for a in self.answers]
        return pl.DataFrame(rows, schema=dict.fromkeys(("query", "first", "second", "winner"), pl.String), orient="row")

    def summary(self) -> pl.DataFrame:
        """Tabulate the questions of each query.

        Returns
        -------
        polars.DataFrame
            One row per query: query, items, asked, settled, error (the fraction expected to be wrong).

        Examples
        --------
        >>> from rankdev.judging import collect
        >>> collect(lambda query, a, b: "x", {"q": ["x", "y"]}, budget=1).summary().rows()[0][:4]
        ('q', 2, 1, False)
        """
        asked = [answer.query for answer in self.answers]
        rows = [
            (q, len(items), asked.count(q), q not in self.unsettled, self.errors[q])
            for q, items in self.pool.items.items()
        ]
        names = {
            "query": pl.String,
            "items": pl.Int64,
            "asked": pl.Int64,
            "settled": pl.Boolean,
            "error": pl.Float64,
        }
        return pl.DataFrame(rows, schema=names, orient="row")


class JudgeError(DataError):
    """A judge failed or gave an invalid answer.

    Attributes
    ----------
    collected : Collected or None
        All other answers.

    See Also
    --------
    collect : Raises it.
    """

    collected: Collected | None = None


@reports(Collected)
def collected_report(found: Collected) -> Report:
    """Report what was asked, why it stopped and the result; a row per query."""
    lines = [f"{counted(found.asked, 'judgment')}; {found.stopped}."]
    what = {"order": "of the pairs in each query", "top": "of each query's top"}[found.goal]
    lines.append(f"About {np.mean(list(found.errors.values())):.0%} {what} are expected to be wrong.")
    return Report(found.to_polars(), [Table(found.summary(), "What was asked")], opening=lines, remarks=found.remarks)
