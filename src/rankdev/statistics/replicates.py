"""Systems with several runs, such as training with several seeds: a run is a sample of its system, as queries are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rankdev._common.checks import is_list
from rankdev.errors import Note, UsageError
from rankdev.evaluation.scores import Scores

FEWEST = 3  # runs of a system: with two, tests reject too often (.13 for .05)


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
    def averaged(self) -> Scores:
        """Scores of the systems: means over their runs."""
        values = [self.scores.values[runs].mean(axis=0) for runs in self.members.values()]
        return replace(self.scores, systems=tuple(self.members), values=np.stack(values), coverage=())

    @property
    def remarks(self) -> tuple[Note, ...]:
        """Note how many runs each system has, and that a single run is taken as deterministic."""
        single = [name for name, count in self.counts.items() if count == 1]
        notes = [Note("of-runs", runs=list(self.counts.items()))]
        return tuple(notes + ([Note("single-run", systems=single, count=len(single))] if single else []))


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

    >>> scores = Scores(("a1", "b", "a2", "a3"), ("q",), ("P@1",), np.array([[[1.0]], [[0.5]], [[0.0]], [[0.5]]]))
    >>> found = replicated(scores, {"a": ["a1", "a2", "a3"]})
    >>> found.counts, found.averaged.averages.tolist()
    ({'a': 3, 'b': 1}, [[0.5], [0.5]])
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
    for name, count in found.counts.items():
        if 1 < count < FEWEST or max(found.counts.values()) == 1:
            raise UsageError(
                "too-few", what=f"the variance between runs of {name}", least=FEWEST, unit="run", count=count
            )
    return found
