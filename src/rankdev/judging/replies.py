"""Replies of a judge other than the better item: a comment, no answer to one question, the end of all answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from rankdev.errors import DataError


@dataclass(frozen=True)
class Reply:
    """An answer, None for equally good, with a comment that is kept with it."""

    answer: Any
    comment: str = ""


class CommentingJudge(ABC):
    """A judge with comments on its answers; called, it leaves them out."""

    @abstractmethod
    def reply(self, query: Any, a: Any, b: Any) -> Reply:
        """Ask which of two items is better; return the answer with a comment.

        Parameters
        ----------
        query : object
            The query.
        a, b : object
            The items, ``a`` shown first.

        Returns
        -------
        Reply
            The answer: ``a``, ``b``, or None for equally good; and a comment.
        """

    def __call__(self, query: Any, a: Any, b: Any) -> Any:
        """Ask which of two items is better.

        Parameters
        ----------
        query : object
            The query.
        a, b : object
            The items, ``a`` shown first.

        Returns
        -------
        object
            ``a``, ``b``, or None for equally good.
        """
        return self.reply(query, a, b).answer


class NoAnswerError(DataError):
    """A judge raises it where it cannot answer one question: the pair is skipped, and the loop continues.

    Parameters
    ----------
    message : str
        Why there is no answer.

    See Also
    --------
    collect : Skips such pairs.
    """


class BudgetSpentError(DataError):
    """A judge raises it where it may answer no more: the loop stops, with all that was collected.

    Parameters
    ----------
    message : str
        What was spent.

    See Also
    --------
    collect : Stops.
    """
