"""Whether a conclusion holds for all that scores could be: under another order of equal scores, or without gaps."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rankdev._common.arrays import Bools
from rankdev.errors import RankdevError, RankdevWarning
from rankdev.evaluation.health import Check, Limits
from rankdev.evaluation.scores import Scores
from rankdev.statistics.replicates import replicated
from rankdev.statistics.significance.result import Significance
from rankdev.statistics.verdict import Verdict, verdicts

MOVES = 0.05  # of the mean of a single system, which has no conclusion to change
ERRORS = 1.5  # standard errors; 1.96 are significant at 5% where there are many queries, fewer are not
Test = Callable[[Scores], Significance]


def weighed(
    scores: Scores,
    checks: Sequence[Sequence[Check]],
    found: Significance | None,
    test: Test,
    clusters: Mapping[str, Any] | None = None,
    replicates: Mapping[str, Sequence[str]] | None = None,
) -> list[list[Check]]:
    """Make a problem of each check within whose limits the conclusion could change.

    ``scores`` are those of single runs, and ``test`` tests what they are replaced by. Tried are the worst scores of the
    winner with the best of all others, or, where there is none, the best scores of one system with the worst of all
    others, for each system that could then win. Scores between these are not tried.
    """
    cases = _Cases(scores, found, test, clusters, replicates)
    return [
        [_settled(check, cases.could_change(m, check.limits)) if check.limits else check for check in of_measure]
        for m, of_measure in enumerate(checks)
    ]


def _settled(check: Check, problem: bool) -> Check:
    assert check.limits is not None
    return (
        replace(check, level="problem", text=check.limits.text, limits=None) if problem else replace(check, limits=None)
    )


class _Cases:
    def __init__(
        self,
        scores: Scores,
        found: Significance | None,
        test: Test,
        clusters: Mapping[str, Any] | None,
        replicates: Mapping[str, Sequence[str]] | None,
    ) -> None:
        self.single, self.found, self.test = scores, found, test
        self.clusters, self.replicates = clusters, replicates
        self.scores = self._of_systems(scores)
        self.verdicts = verdicts(self.scores, found, [[] for _ in scores.measures], clusters)

    def _of_systems(self, scores: Scores) -> Scores:
        return scores if self.replicates is None else replicated(scores, self.replicates).averaged

    def could_change(self, m: int, limits: Limits) -> bool:
        """Tell whether the conclusion about a measure could change within limits."""
        now = self.verdicts[m]
        if self.found is None:
            return bool(np.nanmean(limits.high) - np.nanmean(limits.low) > MOVES)
        one = self.single.select(measures=[now.measure])
        good, bad = (replace(one, values=values[:, :, None]) for values in (limits.high, limits.low))
        if now.measure in self.found.lower_is_better:
            good, bad = bad, good
        if now.level == "winner":
            then = self._verdict(now.best, bad, good)
            return then is None or (then.level, then.best) != ("winner", now.best)
        return any(
            then is None or then.level == "winner"
            for then in (self._verdict(name, good, bad) for name in self._hopeful(good, bad))
        )

    def _hopeful(self, good: Scores, bad: Scores) -> list[str]:
        """Name the systems that are ahead of all others by as many standard errors as any test asks for."""
        sign = -1.0 if good.measures[0] in good.lower_is_better else 1.0
        best, worst = (sign * self._of_systems(part).values[:, :, 0] for part in (good, bad))
        names = []
        for s, name in enumerate(self.scores.systems):
            apart = best[s] - np.delete(worst, s, axis=0)
            with np.errstate(divide="ignore", invalid="ignore"):
                errors = np.nanmean(apart, axis=1) / np.nanstd(apart, axis=1) * np.sqrt(apart.shape[1])
            if (errors >= ERRORS).all():
                names.append(name)
        return names

    def _verdict(self, system: str, own: Scores, others: Scores) -> Verdict | None:
        """Conclude from these scores of one system and of all others; None where they cannot be tested."""
        runs = [system] if self.replicates is None else [*self.replicates.get(system, [system])]
        mine: Bools = np.isin(own.systems, runs)
        case = replace(own, values=np.where(mine[:, None, None], own.values, others.values))
        try:
            with warnings.catch_warnings(action="ignore", category=RankdevWarning):  # about scores that nobody has
                found = self.test(case)
        except RankdevError:
            return None
        return verdicts(self._of_systems(case), found, [[]], self.clusters)[0]
