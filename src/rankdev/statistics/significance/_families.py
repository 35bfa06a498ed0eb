"""Tests of families of pairs, corrected together: of all queries, and of those of each segment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rankdev._common.arrays import Floats
from rankdev.errors import DataError, counted
from rankdev.evaluation.scores import Scores
from rankdev.statistics._effect_sizes import effect_limits, fraction_won
from rankdev.statistics.bounded_values import widened
from rankdev.statistics.contrasts import Family
from rankdev.statistics.corrections import CORRECTIONS
from rankdev.statistics.paired import Drawing, Tested
from rankdev.statistics.panels import Indices
from rankdev.statistics.segments import named_segments, places
from rankdev.statistics.significance.result import Significance

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
) -> list[Corrected]:
    """Test the families of each group, with the number of their measure, and correct each group."""
    results = []
    for group in groups:
        families = [one for _, one in group]
        tested = [perform(one, m, drawing) for m, one in group]
        adjusted = CORRECTIONS[correction](families, tested, drawing)
        for one, found, other in zip(families, tested, adjusted, strict=True):
            low, high = widened(one.flipped, other.level, other.low, other.high)
            half = (other.high - other.low) / 2
            results.append(
                Corrected(
                    {**one.statistics, "low": low, "high": high, "needed": half, "p": found.p, "p_adjusted": other.p},
                    found.permutations,
                    found.enumerated,
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
        effect_limits=None if made["replicates"] else _effect_limits(scores, families, made["alpha"]),
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


def with_segments(
    whole: Significance,
    scores: Scores,
    families: Sequence[Family],
    segments: Any,
    perform: Perform,
    drawing: Drawing,
    made: Mapping[str, Any],
) -> Significance:
    """Add the tests of segments, corrected together."""
    located, notes = places(scores.queries, named_segments(segments))
    parts = {name: [one.only(np.isin(one.queries, queries)) for one in families] for name, queries in located.items()}
    for name, own in list(parts.items()):
        few = min(len(one.flipped.values) if len(one.values) else 0 for one in own)
        if few < (2 if whole.test == "t" or whole.clusters is not None else 1):
            what = "query" if whole.clusters is None else "cluster"
            notes.append(f"segment {name!r} is left out: {counted(few, what, 'is')} too few for the test")
            del parts[name]
    if not parts:
        raise DataError(f"segments: no segment can be tested; {'; '.join(notes)}")
    each = range(len(families))
    order = [(name, m) for m in each for name in parts]  # those of a measure are corrected together
    size = len(order) if whole.family == "all" else len(parts)
    groups = [[(m, parts[name][m]) for name, m in order[start : start + size]] for start in range(0, len(order), size)]
    over = size * families[0].pairs if whole.correction != "none" else 1

    def alone(one: Family, m: int, how: Drawing) -> Tested:
        return replace(perform(one, m, how), single=False)  # max-T over unequal segments is as wide as the smallest's

    found = corrected(groups, alone, whole.correction, replace(drawing, comparisons=over))
    pairs = families[0].first, families[0].second
    results = {
        name: result_of(scores, own, pairs, [found[order.index((name, m))] for m in each], **made)
        for name, own in parts.items()
    }
    return replace(whole, segments=results, remarks=(*whole.remarks, *notes))
