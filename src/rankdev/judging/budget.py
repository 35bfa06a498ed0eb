"""What calls of a language model use: tokens and their cost, kept within a budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rankdev._common.checks import check_number
from rankdev.errors import DataError, UsageError, shown
from rankdev.judging._judges import BudgetSpentError


@dataclass(frozen=True)
class Usage:
    """What a :class:`ChatJudge` has used so far.

    Attributes
    ----------
    calls : int
        Replies of the server.
    prompt_tokens, completion_tokens : int
        Tokens sent and received, as the server counts them.
    cost : float or None
        Their price; None where no prices were given.
    answers : int
        Questions answered.
    skipped : int
        Questions without a valid answer.
    invalid : int
        Replies that were none of A, B and equal.
    retried : int
        Calls made again because the server was busy or the connection failed.
    changed : int
        Questions whose answer changed with the order of the items, where both orders are asked.
    """

    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    answers: int
    skipped: int
    invalid: int
    retried: int
    changed: int

    @property
    def tokens(self) -> int:
        """Tokens sent and received."""
        return self.prompt_tokens + self.completion_tokens


@dataclass
class Purse:
    """Counts tokens, and refuses calls that would exceed a budget; the caller holds a lock."""

    price: tuple[float, float] | None
    most_tokens: int | None
    most_cost: float | None
    calls: int = 0
    prompt: int = 0
    completion: int = 0
    running: int = 0  # calls without a reply yet
    largest: tuple[int, int] = (0, 0)

    def __post_init__(self) -> None:
        if self.most_cost is not None and self.price is None:
            raise UsageError("budget_cost= needs price=, of a million tokens sent and of a million received")

    def reserve(self) -> None:
        """Refuse a call if it, and those under way, are as large as the largest so far and exceed the budget."""
        ahead = self.running + 1
        prompt, completion = (
            spent + ahead * most for spent, most in zip((self.prompt, self.completion), self.largest, strict=True)
        )
        if self.most_tokens is not None and prompt + completion > self.most_tokens:
            raise BudgetSpentError(f"another call may exceed the budget of {self.most_tokens:,} tokens")
        if self.most_cost is not None and self.cost(prompt, completion) > self.most_cost:
            raise BudgetSpentError(f"another call may exceed the budget of {self.most_cost:g}")
        self.running += 1

    def settle(self, tokens: tuple[int, int] | None) -> None:
        """Count a call that has ended; None: without a reply."""
        self.running -= 1
        if tokens is None:
            return
        prompt, completion = tokens
        self.calls += 1
        self.prompt += prompt
        self.completion += completion
        self.largest = max(self.largest[0], prompt), max(self.largest[1], completion)

    def tokens(self, found: Mapping[str, Any]) -> tuple[int, int]:
        """Return the tokens of a reply; with a budget, a server that does not count them is refused."""
        usage = found.get("usage")
        counts = [usage.get(name) for name in ("prompt_tokens", "completion_tokens")] if isinstance(usage, dict) else []
        if len(counts) == 2 and all(isinstance(n, int) and n >= 0 for n in counts):
            return int(counts[0] or 0), int(counts[1] or 0)
        if self.most_tokens is not None or self.most_cost is not None:
            raise DataError("the server does not count tokens (usage), so that no budget can be kept; give none")
        return 0, 0

    def cost(self, prompt: int, completion: int) -> float:
        """Return the price of tokens."""
        sent, received = self.price or (0.0, 0.0)
        return (prompt * sent + completion * received) / 1e6

    def spent(self) -> dict[str, Any]:
        """Return what was used so far."""
        cost = None if self.price is None else self.cost(self.prompt, self.completion)
        return {
            "calls": self.calls,
            "prompt_tokens": self.prompt,
            "completion_tokens": self.completion,
            "cost": cost,
        }


def prices(price: Any) -> tuple[float, float] | None:
    """Check the prices of a million tokens sent and of a million received."""
    if price is None:
        return None
    if isinstance(price, str) or not isinstance(price, Sequence) or len(price) != 2:
        raise UsageError(f"price must be (of a million tokens sent, of a million received); got {shown(price)}")
    sent, received = (check_number("price", each, 0, ends=True) for each in price)
    return sent, received
