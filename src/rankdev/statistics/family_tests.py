"""Tests of families of pairs, corrected together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankdev._common.arrays import Floats
from rankdev.evaluation.scores import Scores
from rankdev.statistics.bounded_mean import widened
from rankdev.statistics.corrections import CORRECTIONS
from rankdev.statistics.effect_sizes import effect_limits, fraction_won
from rankdev.statistics.pair_tests import Significance
from rankdev.statistics.paired import Drawing, Tested
from rankdev.statistics.panels import Family, Indices

Perform = Callable[[Family, int, Drawing], Tested]  # a test of a family, by the number of its measure


@dataclass(frozen=True)
class Corrected:
    """The columns of one family, and how they were found."""

    columns: dict[str, Any]
    drawn: int
    enumerated: int
    drawn_for_intervals: int
    warned: tuple[str, ...]
    note: str


def corrected(
    groups: Sequence[Sequence[tuple[int, Family]]],
    perform: Perform,
    correction: str,
    drawing: Drawing,
    anytime: bool,
) -> list[Corrected]:
    """Test the families of each group, with the number of their measure, and correct each group."""
    results = []
    draws = CORRECTIONS[correction].draws
    for group in groups:
        families = [one for _, one in group]
        tested = [perform(one, m, drawing) for m, one in group]
        adjusted = CORRECTIONS[correction].correct(families, tested, drawing)
        for one, found, other in zip(families, tested, adjusted, strict=True):
            low, high = other.low, other.high
            if not anytime:  # which knows no less
                low, high = widened(one.flipped, other.level or drawing.alpha / one.pairs, low, high)
            half = (other.high - other.low) / 2
            results.append(
                Corrected(
                    {**one.statistics, "low": low, "high": high, "needed": half, "p": found.p, "p_adjusted": other.p},
                    max(found.permutations, other.permutations) if draws else found.permutations,
                    0 if draws else found.enumerated,
                    other.permutations,
                    found.warnings,
                    found.note,
                )
            )
    return results


def result_of(
    scores: Scores,
    families: Sequence[Family],
    pairs: tuple[Indices, Indices],
    found: Sequence[Corrected],
    **made: Any,
) -> Significance:
    """Make the result of some families, one per measure."""
    return Significance(
        columns=_table(scores, *pairs, [one.columns for one in found]),
        needed=np.concatenate([one.columns["needed"] for one in found]),
        effect_limits=None
        if made["test"] == "betting" or made["replicates"]
        else _effect_limits(scores, families, made["alpha"]),
        lower_is_better=scores.lower_is_better,
        permutations=max(one.drawn for one in found),
        enumerated=sum(one.enumerated for one in found),
        interval_permutations=max(one.drawn_for_intervals for one in found),
        remarks=tuple(
            dict.fromkeys([*(text for one in found for text in one.warned), *(one.note for one in found if one.note)])
        ),
        **made,
    )


def _effect_limits(scores: Scores, families: Sequence[Family], alpha: float) -> Floats:
    """Return limits of effects, and of the fractions of queries that a wins: ``[limit, row]``."""
    found = []
    for measure, one in zip(scores.measures, families, strict=True):
        low, high = fraction_won(one, alpha)
        won = (1 - high, 1 - low) if measure in scores.lower_is_better else (low, high)
        found.append(np.stack([*effect_limits(one, alpha), *won]))
    return np.concatenate(found, axis=1)


def _table(scores: Scores, first: Indices, second: Indices, columns: list[dict[str, Any]]) -> dict[str, Any]:
    table: dict[str, Any] = {
        "measure": [name for name in scores.measures for _ in first],
        "a": [scores.systems[i] for i in first] * len(scores.measures),
        "b": [scores.systems[i] for i in second] * len(scores.measures),
    }
    for m, measure in enumerate(scores.measures):
        if measure in scores.lower_is_better:
            columns[m] |= {"wins": columns[m]["losses"], "losses": columns[m]["wins"]}
    for name in ("difference", "low", "high", "effect", "wins", "ties", "losses", "p", "p_adjusted"):
        joined = np.concatenate([column[name] for column in columns])
        table[name] = joined.astype(np.int64) if name in ("wins", "ties", "losses") else joined
    return table
