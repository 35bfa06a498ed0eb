"""Workers: the quality of each, and repeated answers weighted as one."""

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
    """How often each worker answers as the strengths imply: 1 always, ½ at random, 0 the opposite.

    Ties carry no information on quality: a worker who always answers "equal" may be careful.

    Attributes
    ----------
    workers : tuple of str
        Workers.
    quality, low, high : array of float
        Estimate for each worker, and its interval of probability 1 − ``alpha``, given the fitted strengths.
    judgments : array of int
        Number of judgments of each worker.
    prior : tuple of float
        Beta prior of the quality.
    alpha : float
        Level of the intervals.

    See Also
    --------
    strengths : ``strengths(preferences, "crowd-bt").workers``.
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
        """Classify each worker as good, inverted, spammer or unclear.

        good: significantly better than chance. inverted: significantly worse. spammer: the interval contains chance (½)
        and its upper limit is below ¾, so that the judgments carry little information. unclear: anything else.
        """
        return [
            "good" if low > 0.5 else "inverted" if high < 0.5 else "spammer" if high < 0.75 else "unclear"
            for low, high in zip(self.low.tolist(), self.high.tolist(), strict=True)
        ]

    def suspects(self) -> dict[str, list[str]]:
        """Name the suspected spammers and the inverted workers.

        Returns
        -------
        dict of str to list of str
            Workers by kind: ``spammer`` and ``inverted``.

        Examples
        --------
        >>> import numpy as np
        >>> quality, low, high = np.array([[0.9, 0.1], [0.8, 0.0], [1.0, 0.3]])
        >>> WorkerQuality(("ann", "bob"), quality, low, high, np.array([50, 50])).suspects()
        {'spammer': [], 'inverted': ['bob']}
        """
        named = list(zip(self.workers, self.verdicts, strict=True))
        return {kind: [worker for worker, found in named if found == kind] for kind in ("spammer", "inverted")}

    def to_polars(self) -> pl.DataFrame:
        """Tabulate the quality of each worker.

        Returns
        -------
        polars.DataFrame
            One row per worker: worker, judgments, quality, low, high, ``verdict``.

        Examples
        --------
        >>> import numpy as np
        >>> WorkerQuality(("ann",), *np.array([[0.9], [0.8], [1.0]]), np.array([50])).to_polars().rows()
        [('ann', 50, 0.9, 0.8, 1.0, 'good')]
        """
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


INVERTED_BELOW = -3.1  # z: one worker in a thousand who answers at random is taken for inverted


def flipped(judged: Preferences, inverted: list[str], fitted: Callable[[Preferences], Floats]) -> Preferences:
    """Reverse the judgments of inverted workers.

    Only those of workers whose answers contradict all others' beyond chance: strengths are ``fitted`` again without
    the worker, so that random answers are not reversed to agree.
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
    """Weight the answers of one worker to one pair so that they count as one, where others judged the query too.

    Two answers of one assessor, or of a language model asked again, are not independent evidence on what several think.
    Where one worker judged alone they are: on what this worker thinks.

    >>> from rankdev.preferences import Preferences
    >>> counted_once(Preferences.from_rows([("q", "x", "y", "ann")] * 2 + [("q", "x", "y", "bob")])).weight.tolist()
    [0.5, 0.5, 1.0]
    """
    if preferences.worker is None:
        return preferences
    key = preferences.pairs.of.astype(np.int64) * len(preferences.workers) + preferences.worker
    _, which, times = np.unique(key, return_inverse=True, return_counts=True)
    several = workers_by_query(preferences)[preferences.item_query[preferences.winner]] > 1
    if not several.any() or times.max(initial=1) == 1:
        return preferences
    weight = np.where(several, 1.0 / times[which], 1.0)
    return replace(preferences, weight=weight if preferences.weight is None else weight * preferences.weight)


def workers_by_query(preferences: Preferences) -> npt.NDArray[np.int64]:
    """Number of workers of each query; 0 where workers were not recorded."""
    queries = len(preferences.queries)
    if preferences.worker is None:
        return np.zeros(queries, np.int64)
    key = preferences.item_query[preferences.winner].astype(np.int64) * len(preferences.workers) + preferences.worker
    return np.bincount(np.unique(key) // len(preferences.workers), minlength=queries)
