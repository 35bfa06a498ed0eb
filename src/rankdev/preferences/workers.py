"""Who judged: how good each worker is, and what a worker says more than once counted once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from rankdev._common.arrays import Floats
from rankdev._common.result import Result

if TYPE_CHECKING:
    from rankdev.preferences.judgments import Preferences


@dataclass(frozen=True, eq=False)
class WorkerQuality(Result):
    """How often each worker says what the strengths say: 1 always, ½ at random, 0 the opposite.

    ``low`` and ``high`` enclose the quality with probability 1 − ``alpha``, given the fitted strengths. Ties say
    nothing about it: a worker who always answers "equal" may be careful.
    """

    display: ClassVar = "rankdev.display.preferences"

    workers: tuple[str, ...]
    quality: Floats = field(repr=False)
    low: Floats = field(repr=False)
    high: Floats = field(repr=False)
    judgments: npt.NDArray[np.int64] = field(repr=False)
    prior: tuple[float, float] = (2.0, 1.0)
    alpha: float = 0.05

    @property
    def verdicts(self) -> list[str]:
        """Call each worker good, inverted, a suspected spammer, or say that the judgments are too few.

        good: surely better than chance. inverted: surely worse. spammer: the interval holds chance (½) and
        ends below ¾, so that the judgments show there is little in them. unclear: anything else.
        """
        return [
            "good" if low > 0.5 else "inverted" if high < 0.5 else "spammer" if high < 0.75 else "unclear"
            for low, high in zip(self.low.tolist(), self.high.tolist(), strict=True)
        ]

    def suspects(self) -> dict[str, list[str]]:
        """Name the suspected spammers and the inverted workers."""
        named = list(zip(self.workers, self.verdicts, strict=True))
        return {kind: [w for w, verdict in named if verdict == kind] for kind in ("spammer", "inverted")}

    def to_polars(self) -> pl.DataFrame:
        """One row per worker: worker, judgments, quality, low, high, verdict."""
        return pl.DataFrame(
            {
                "worker": list(self.workers),
                "judgments": self.judgments,
                "quality": self.quality,
                "low": self.low,
                "high": self.high,
                "verdict": self.verdicts,
            }
        )


INVERTED_BELOW = -3.1  # standard errors: one worker in a thousand who answers at random is taken to be inverted


def flipped(judged: Preferences, inverted: list[str], fitted: Callable[[Preferences], Floats]) -> Preferences:
    """Give the judgments with those of inverted workers the other way round.

    Only of workers whose answers contradict what all others say beyond chance: strengths are ``fitted`` again without
    the worker, so that random answers are not turned round to agree.
    """
    turn = np.zeros(len(judged), bool)
    weight = np.ones(len(judged)) if judged.weight is None else judged.weight
    for name in inverted:
        mine = judged.worker == judged.workers.index(name)
        strength = fitted(replace(judged, weight=np.where(mine, 0.0, weight)))
        lead = np.tanh((strength[judged.winner] - strength[judged.loser]) / 2)[mine & ~judged.tie]
        turn |= mine & (lead.sum() < INVERTED_BELOW * np.sqrt((lead**2).sum()))
    if not turn.any():
        return judged
    return replace(
        judged,
        winner=np.where(turn, judged.loser, judged.winner),
        loser=np.where(turn, judged.winner, judged.loser),
        winner_first=None if judged.winner_first is None else judged.winner_first ^ turn,
    )


def counted_once(preferences: Preferences) -> Preferences:
    """Let the answers of one worker to one pair weigh as much together as a single one.

    Two answers of the same person, or of a language model asked again, are no independent evidence.

    >>> from rankdev.preferences import Preferences
    >>> counted_once(Preferences.from_rows([("q", "x", "y", "ann")] * 2 + [("q", "x", "y", "bob")])).weight.tolist()
    [0.5, 0.5, 1.0]
    """
    if preferences.worker is None:
        return preferences
    key = preferences.pairs.of.astype(np.int64) * len(preferences.workers) + preferences.worker
    _, which, times = np.unique(key, return_inverse=True, return_counts=True)
    if times.max(initial=1) == 1:
        return preferences
    share = 1.0 / times[which]
    return replace(preferences, weight=share if preferences.weight is None else share * preferences.weight)


def workers_by_query(preferences: Preferences) -> npt.NDArray[np.int64]:
    """How many workers judged each query; 0 where nobody wrote down who did."""
    queries = len(preferences.queries)
    if preferences.worker is None:
        return np.zeros(queries, np.int64)
    key = preferences.item_query[preferences.winner].astype(np.int64) * len(preferences.workers) + preferences.worker
    return np.bincount(np.unique(key) // len(preferences.workers), minlength=queries)
