"""Systems with several runs, such as training with several seeds: a run is a sample of its system, as queries are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from rankdev._common.arrays import Floats
from rankdev._common.checks import is_list
from rankdev.errors import Note, UsageError
from rankdev.evaluation.scores import Scores
from rankdev.statistics.contrasts import Family, symmetric
from rankdev.statistics.paired import Tested

FEW = 3  # degrees of freedom of the runs below which the test errs too often: .09 where two meet two


@dataclass(frozen=True, eq=False)
class Replicated:
    """Scores of single runs, and which of them each system has."""

    scores: Scores
    members: dict[str, list[int]]

    @property
    def counts(self) -> dict[str, int]:
        """Runs of each system."""
        return {name: len(runs) for name, runs in self.members.items()}

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the variance between runs of a system."""
        return sum(count - 1 for count in self.counts.values())

    @property
    def averaged(self) -> Scores:
        """Scores of the systems: means over their runs."""
        values = [self.scores.values[runs].mean(axis=0) for runs in self.members.values()]
        return replace(self.scores, systems=tuple(self.members), values=np.stack(values), coverage=())

    @property
    def remarks(self) -> tuple[Note, ...]:
        """Note how many runs each system has, and whether they are few."""
        few = [Note("few-runs")] if self.freedom < FEW else []
        return (Note("of-runs", runs=list(self.counts.items())), *few)


def in_words(counts: Mapping[str, int]) -> str:
    """Return how many runs each system has, as text.

    >>> in_words({"a": 3, "b": 3}), in_words({"a": 3, "b": 1})
    ('3 of each system', 'a 3, b 1')
    """
    if len(set(counts.values())) == 1:
        return f"{next(iter(counts.values()))} of each system"
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def replicated(scores: Scores, replicates: Mapping[str, Sequence[str]]) -> Replicated:
    """Group runs by system; runs that no system names are systems with a single run.

    >>> scores = Scores(("a-1", "b", "a-2"), ("q",), ("P@1",), np.array([[[1.0]], [[0.5]], [[0.0]]]))
    >>> found = replicated(scores, {"a": ["a-1", "a-2"]})
    >>> found.counts, found.averaged.averages.tolist()
    ({'a': 2, 'b': 1}, [[0.5], [0.5]])
    """
    if not isinstance(replicates, Mapping) or not all(is_list(runs) and len(runs) for runs in replicates.values()):
        raise UsageError("bad-value", name="replicates", value=replicates, expected="{system: [run, …]}")
    owner: dict[str, str] = {}
    for name, runs in replicates.items():
        for run in scores.select(systems=list(runs)).systems:  # refuses unknown names
            if run in owner:
                raise UsageError("appears-twice", role="replicates", what="run", value=run)
            owner[run] = name
    members: dict[str, list[int]] = {}
    for i, run in enumerate(scores.systems):
        if run not in owner and run in replicates:
            raise UsageError("unlisted-run", role="replicates", run=run)
        members.setdefault(owner.get(run, run), []).append(i)
    found = Replicated(scores, members)
    if not found.freedom:
        raise UsageError("too-few", what="the variance between the runs of a system", least=2, unit="run", count=1)
    return found


def between_runs(values: Floats, members: Sequence[Sequence[int]]) -> tuple[float, float]:
    """Return the variance of run means, ``values[query, run]``, and the part of it that queries explain; pooled.

    The second is the mean square of the interaction of runs and queries, divided by the number of queries.
    """
    queries, free = len(values), sum(len(runs) - 1 for runs in members)
    means = interaction = 0.0
    for runs in members:
        own = values[:, runs]
        each = own.mean(axis=0)
        means += float(((each - each.mean()) ** 2).sum())
        interaction += float(((own - own.mean(axis=1, keepdims=True) - each + each.mean()) ** 2).sum())
    return means / free, interaction / (free * max(queries - 1, 1) * queries)


def over_runs(family: Family, values: Floats, members: Sequence[Sequence[int]]) -> Tested:
    """Test mean differences that vary with the queries and with the runs; ``values[query, run]`` are single runs.

    The variance between runs is pooled over systems; degrees of freedom are Satterthwaite's.
    """
    queries = len(values)
    runs = np.array([len(each) for each in members])
    share = 1 / runs[family.first] + 1 / runs[family.second]
    means, interaction = between_runs(values, members)
    by_queries = family.error**2
    added = max(means - interaction, 0.0) * share
    error = np.sqrt(by_queries + added)
    freedom = np.full(family.pairs, queries - 1.0)
    if added.any():
        part = by_queries**2 / (queries - 1) + (means * share) ** 2 / sum(runs - 1)
        freedom = np.maximum(error**4 / part, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(family.mean == 0, 0.0, np.abs(family.mean) / error)
    p = 2 * special.stdtr(freedom, -t)
    p[error == 0] = np.where(family.mean[error == 0] == 0, 1.0, 2.0 ** (1 - queries))

    def interval(level: float) -> tuple[Floats, Floats]:
        half = special.stdtrit(freedom, 1 - level / 2) * error
        low, high = symmetric(family, 0.0, level)  # for pairs without any variance
        return np.where(error > 0, family.mean - half, low), np.where(error > 0, family.mean + half, high)

    return Tested(p, interval, single=False)
