"""Answers on disk, and the result of collecting them."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankdev._common.arrays import Floats
from rankdev._common.result import Result
from rankdev._common.tables import as_id
from rankdev.display.dispatch import reports
from rankdev.display.report import Report, Table
from rankdev.errors import DataError, FileFormatError, counted
from rankdev.judging.items import Pool
from rankdev.preferences import Preferences, references_from_preferences

if TYPE_CHECKING:
    from rankdev.core.references import References


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
    """

    query: str
    winner: str
    loser: str
    tie: bool
    first: str

    def record(self) -> dict[str, Any]:
        """Return the answer as a record of a file of preferences."""
        return dict(vars(self))


class AnswerFile:
    """A JSONL file of answers, readable by ``read_preferences`` at any time."""

    def __init__(self, path: str | os.PathLike[str], pool: Pool) -> None:
        self.path = Path(path)
        self.before = self._read(pool)
        try:
            self._stream = self.path.open("ab")
        except OSError as error:
            raise DataError(f"{self.path}: {error.strerror}") from None

    def add(self, answer: Answer) -> None:
        """Write an answer through to disk."""
        self._stream.write(json.dumps(answer.record(), ensure_ascii=False).encode() + b"\n")
        self._stream.flush()
        os.fsync(self._stream.fileno())

    def close(self) -> None:
        """Close the file."""
        self._stream.close()

    def _read(self, pool: Pool) -> list[Answer]:
        """Read earlier answers; an incomplete last line was never acknowledged, and is removed."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise DataError(f"{self.path}: {error.strerror}") from None
        whole = content[: content.rfind(b"\n") + 1]
        answers = [self._answer(line, number, pool) for number, line in enumerate(whole.split(b"\n")[:-1], 1)]
        if len(whole) < len(content):
            if not content[len(whole) :].startswith(b'{"query": '[: len(content) - len(whole)]):
                raise FileFormatError(self.path, "this is not a file of answers; choose another name", len(answers) + 1)
            os.truncate(self.path, len(whole))
        return answers

    def _answer(self, line: bytes, number: int, pool: Pool) -> Answer:
        try:
            record = json.loads(line)
            query, winner, loser, first = (as_id(record[name]) for name in ("query", "winner", "loser", "first"))
            answer = Answer(query, winner, loser, record["tie"] is True, first)
        except (ValueError, KeyError, TypeError):
            expected = '{"query": …, "winner": …, "loser": …, "tie": …, "first": …}'
            raise FileFormatError(self.path, f"this is not an answer; expected {expected}", number) from None
        try:
            pool.check(answer.query, answer.winner, answer.loser)
        except DataError as error:
            raise FileFormatError(
                self.path, f"{error}; resume with the same items, or choose another file", number
            ) from None
        return answer


@dataclass(frozen=True)
class Better:
    """The leading system.

    Attributes
    ----------
    system, other : str
        The leading system and the next.
    measure : str
        Measure they are compared by.
    difference : float
        Expected difference of their means.
    probability : float
        Probability that ``system`` is better.
    """

    system: str
    other: str
    measure: str
    difference: float
    probability: float

    def __str__(self) -> str:
        """Return the conclusion as a sentence."""
        chance = "more than 0.999" if self.probability >= 0.9995 else f"{self.probability:.3f}"
        return (
            f"{self.system} is better than {self.other} with probability {chance};"
            f" {self.measure} differs by {self.difference:.4f}."
        )


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
        Accepted fraction of wrong relations, or probability of a wrong conclusion.
    probability : float or None
        Probability with which the fraction of wrong relations is at most ``error``; None: on average.
    seed : int
        Seed of random choices.
    strengths : dict of str to ndarray
        Expected strength of each item, by which they are ordered, in the order of the pool.
    errors : dict of str to float
        Fraction of pair relations expected to be wrong in each query (of the top; probability of a wrong conclusion).
    unsettled : tuple of str
        Queries in which the goal is not reached.
    verdict : Better or None
        Which system is better, where that was the goal.
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
    verdict: Better | None = None
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
            raise DataError("no references yet: nothing was judged")
        return references_from_preferences(judged.select(compared), disconnected="largest", seed=self.seed)

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
        ['x']
        """
        rows = [
            (a.query, a.first, a.loser if a.first == a.winner else a.winner, None if a.tie else a.winner)
            for a in self.answers
        ]
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

    Parameters
    ----------
    message : str
        What went wrong, and at which question.
    collected : Collected, optional
        All earlier answers.

    See Also
    --------
    collect : Raises it.
    """

    def __init__(self, message: str, collected: Collected | None = None) -> None:
        super().__init__(message)
        self.collected = collected


@reports(Collected)
def collected_report(found: Collected) -> Report:
    """Report what was asked, why it stopped and the result; a row per query."""
    lines = [f"{counted(found.asked, 'judgment')}; {found.stopped}."]
    if found.verdict is None:
        what = {"order": "of the pairs in each query", "top": "of each query's top"}[found.goal]
        lines.append(f"About {np.mean(list(found.errors.values())):.0%} {what} are expected to be wrong.")
    else:
        lines.append(str(found.verdict))
    return Report(found.to_polars(), [Table(found.summary(), "What was asked")], opening=lines, remarks=found.remarks)
