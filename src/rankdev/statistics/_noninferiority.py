"""Non-inferiority of a candidate: comparisons with a margin, on all queries and in segments, and what they decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl

from rankdev.errors import DataError, counted, shown
from rankdev.evaluation.scores import Scores
from rankdev.statistics.contrasts import Family, families_of
from rankdev.statistics.equivalence import interval
from rankdev.statistics.segments import ALL

Verdict = Literal["pass", "fail", "undecided"]
ROUNDING = 1e-9  # a smaller loss counts as 0


@dataclass(frozen=True)
class _Comparison:
    """The candidate and another system under one measure, on all queries or on those of a segment.

    More is better in the family's values, and not in the ``scores``, whose queries it numbers.
    """

    scores: Scores
    family: Family
    against: str
    release: bool
    segment: str = ALL

    @property
    def queries(self) -> list[str]:
        return [self.scores.queries[i] for i in self.family.queries]

    def limits(self, level: float) -> tuple[float, float]:
        """Return limits of the difference, each of which is wrong with this probability."""
        low, high = interval(self.family, 2 * level)
        return float(low[0]), float(high[0])

    @property
    def label(self) -> str:
        where = f" in segment {self.segment}" if self.segment != ALL else ""
        return f"{self.scores.measures[0]}{where}{f' against release {self.against}' if self.release else ''}"


def comparisons(chosen: Scores, against: str, clusters: Mapping[str, Any] | None) -> list[_Comparison]:
    """Compare the first system with another one, by each measure."""
    pair = chosen.select(systems=[against, chosen.systems[0]])
    families = families_of(pair.oriented, np.array([1]), np.array([0]), clusters)
    return [
        _Comparison(pair.select(measures=[measure]), family, against, against != chosen.systems[1])
        for measure, family in zip(pair.measures, families, strict=True)
    ]


def by_segment(
    compared: Sequence[_Comparison], segments: Mapping[str, frozenset[str]]
) -> tuple[list[_Comparison], list[str]]:
    """Compare on the queries of each segment; note those that have none."""
    found, empty = [], []
    for segment, queries in segments.items():
        for whole in compared:
            kept = np.array([query in queries for query in whole.queries])
            if not kept.any():
                measure = whole.scores.measures[0]
                empty.append(f"segment {segment!r} has no query with a value of {measure}, and guards nothing")
                continue
            family = whole.family.only(kept)
            if family.clusters is not None and not family.clusters.any():
                raise DataError(
                    f"segments: all queries of {shown(segment)} are in one cluster, which tells nothing about others"
                )
            found.append(replace(whole, family=family, segment=segment))
    return found, empty


def upper_limits(compared: Sequence[_Comparison], margin: float, alpha: float) -> list[float]:
    """Return the upper limit of each difference, at the level at which Holm's method decides whether it fails."""
    limits, kept, before = [0.0] * len(compared), list(range(len(compared))), 0
    while len(kept) != before:
        before = len(kept)
        for i in kept:
            limits[i] = compared[i].limits(alpha / len(kept))[1]
        kept = [i for i in kept if limits[i] >= -margin]
    return limits


@dataclass(frozen=True)
class Guards:
    """What single queries may lose."""

    margin: float | None = None
    required: frozenset[str] = frozenset()


@dataclass(frozen=True)
class _Decided:
    """What one comparison decides: its row, reasons by what they are for, and the queries by what they lost."""

    row: dict[str, Any]
    reasons: list[tuple[Verdict, str]]
    worst: pl.DataFrame


def decide(one: _Comparison, margin: float, guards: Guards, unchanged: bool, alpha: float, high: float) -> _Decided:
    """Decide one comparison, whose upper limit is known."""
    scores, family, measure = one.scores, one.family, one.scores.measures[0]
    low = one.limits(alpha)[0]
    verdict: Verdict = "pass" if low > -margin or unchanged else "fail" if high < -margin else "undecided"
    gained = family.values[:, 1] - family.values[:, 0]
    known = {name: values[0] for name, values in family.statistics.items()}
    turned = measure in scores.lower_is_better
    values = scores.values[:, family.queries, 0]
    compared = scores if len(family.queries) == len(scores.queries) else scores.select(queries=family.queries)
    means = compared.averages[:, 0]  # also of counts, so that their difference is that of the row
    row = {
        "measure": measure,
        "against": one.against,
        "segment": one.segment,
        "baseline": float(means[0]),
        "candidate": float(means[1]),
        "difference": float(-known["difference"] if turned else known["difference"]),
        "low": -high if turned else low,
        "high": -low if turned else high,
        **{name: int(known[name]) for name in ("wins", "ties", "losses")},
        "lost": max(0.0, -float(gained.min())),
    }
    reasons = [(verdict, _reason(one.label, row, verdict, margin, unchanged))]
    for query, gain in zip(one.queries, gained, strict=True) if one.segment == ALL else ():
        allowed = 0.0 if query in guards.required else guards.margin
        if allowed is not None and -gain > allowed + ROUNDING:
            verdict = "fail"
            why = "it must not lose anything" if query in guards.required else f"at most {allowed:g} is allowed"
            reasons.append(("fail", f"{one.label}: query {query} loses {-gain:.4f}; {why}."))
    worst = pl.DataFrame(
        {"measure": measure, "query": one.queries, "baseline": values[0], "candidate": values[1], "lost": -gained}
    )
    lost = worst.filter(pl.col("lost") > ROUNDING).sort("lost", descending=True, maintain_order=True)
    text = " ".join(reason for _, reason in reasons)
    return _Decided({**row, "verdict": verdict, "reason": text}, reasons, lost)


def _reason(label: str, row: dict[str, Any], verdict: Verdict, margin: float, unchanged: bool) -> str:
    found = f"{row['difference']:+.4f} [{row['low']:.4f}, {row['high']:.4f}]"
    on = f"on {counted(row['wins'] + row['ties'] + row['losses'], 'query')}"
    if unchanged:
        return f"{label}: the lists are the same {on}."
    by = f" by more than {margin:g}" if margin else ""
    if verdict == "pass":
        return f"{label}: {f'not worse{by}' if margin else 'better'}, {found} {on}."
    if verdict == "fail":
        return f"{label}: worse{by}, {found} {on}."
    return f"{label}: cannot tell whether it is worse{by}, {found} {on}; more queries are needed."
