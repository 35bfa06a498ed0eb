"""RDQ and its position weights."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankdev._common.arrays import Floats, Ints
from rankdev.errors import MeasureError, nearest
from rankdev.measures.base import POSITIVE, UNIT_RANGE, JudgedOnly, Number, bad_parameter, parameter
from rankdev.measures.match import Match, TiedMatch, scaled, total


@dataclass(frozen=True)
class PositionWeights:
    """Weights of the first positions, then ``tail`` for all others; positive and never increasing.

    >>> PRESETS["carousel"].first(5).tolist()
    [1.0, 1.0, 1.0, 0.1, 0.1]
    """

    head: tuple[float, ...]
    tail: float | None = None

    def __post_init__(self) -> None:
        values = [*self.head, *([] if self.tail is None else [self.tail])]
        if not self.head:
            raise bad_parameter("weights", (), "at least one weight")
        for i, value in enumerate(values):
            name = f"weight {i + 1}" if i < len(self.head) else "tail"
            if POSITIVE.read(value) is None:
                raise bad_parameter(name, value, POSITIVE.text)
            if i and value > values[i - 1]:
                raise MeasureError("rising-weights", name=name, value=value, before=values[i - 1])
        object.__setattr__(self, "head", tuple(float(value) for value in self.head))

    def check_reach(self, count: int) -> None:
        """Refuse weights that end before position ``count``."""
        if count > len(self.head) and self.tail is None:
            raise MeasureError("short-weights", count=len(self.head), position=count, last=self.head[-1])

    def first(self, count: int) -> Floats:
        """Return the weights of the first ``count`` positions."""
        self.check_reach(count)
        tail = np.full(max(0, count - len(self.head)), self.tail, dtype=np.float64)
        return np.concatenate([np.array(self.head[:count], dtype=np.float64), tail])

    def relative(self, count: int) -> Floats:
        """Return the first ``count`` weights divided by a power of two, so that no sum of them overflows."""
        return scaled(self.first(count), self.head[0])


PRESETS = {
    "vertical": PositionWeights((1, 0.9, 0.8, 0.8, 0.7, 0.6, 0.5, 0.5, 0.4, 0.4, 0.4, 0.3, 0.3, 0.2, 0.2, 0.2), 0.1),
    "stepped": PositionWeights((1, 0.8, 0.8, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5), 0.1),
    "carousel": PositionWeights((1, 1, 1), 0.1),
    "uniform": PositionWeights((1,), 1),
}


def position_weights(weights: str | Sequence[float], tail: float | None) -> PositionWeights:
    """Find a preset by name, or make weights of a list."""
    if not isinstance(weights, str | Iterable):
        raise bad_parameter("weights", weights, "the name of a preset or a list of numbers")
    if not isinstance(weights, str):
        return PositionWeights(tuple(weights), tail)
    if weights not in PRESETS:
        near, known = nearest(weights, PRESETS), [*PRESETS, "a list"]
        raise MeasureError("not-a-choice", name="weights", value=weights, near=near, known=known)
    if tail is not None:
        raise MeasureError("not-needed", name="tail", use="a list of weights")
    return PRESETS[weights]


LAMBDA = Number("a number from 0 to 1e100", 0, 1e100)  # beyond, its product with a rank could overflow


@dataclass(frozen=True, kw_only=True)
class RDQ(JudgedOnly):
    """Rank-Deviation Quality against an ordered reference.

    RDQ@k = Σ μ(i) · credit(i) ÷ Σ_{i ≤ min(k, m)} μ(i), over first occurrences of reference items.
    """

    name: ClassVar[str] = "RDQ"
    range: ClassVar[tuple[float, float]] = UNIT_RANGE
    source: ClassVar[str] = "Zhou, Moschitti and Class, Rank-Deviation Quality"
    averages_ties: ClassVar[bool] = True

    penalty: str = parameter("m2", "credit: m2 by distance, m1 by ratio", choices=("m1", "m2"))
    alpha: float = parameter(1.0, "tolerance to displacement (m2)", number=POSITIVE)
    lam: float = parameter(0.2, "extra tolerance for lower ranks (m2)", number=LAMBDA)
    weights: str | tuple[float, ...] = parameter("vertical", "a preset, or a list")
    tail: float | None = parameter(None, "weight of positions after the list", number=POSITIVE)

    def __post_init__(self) -> None:
        super().__post_init__()
        chosen = self.position_weights
        if not isinstance(self.weights, str):
            object.__setattr__(self, "weights", chosen.head)
        if self.cutoff is not None:
            chosen.check_reach(self.cutoff)

    @property
    def position_weights(self) -> PositionWeights:
        """Position weights μ."""
        return position_weights(self.weights, self.tail)

    def score_considered(self, match: Match) -> Floats:
        """Score every query."""
        depth = match.depth(self.cutoff)
        sizes = match.ideals.sizes
        counted = sizes if self.cutoff is None else np.minimum(sizes, self.cutoff)
        weights = self.position_weights.relative(max(depth, int(counted.max())))
        best = np.cumsum(weights)[counted - 1]
        return np.where(sizes > 0, np.minimum(1.0, self._gained(match, weights[:depth]) / best), 0.0)

    def _gained(self, match: Match, weights: Floats) -> Floats:
        """Sum the weighted credit over the positions of each query."""
        if isinstance(match, TiedMatch):
            return self._expected(match, weights)
        ranks = match.ranks(self.cutoff)
        ideal = match.ideals.ideal_ranks(len(weights))
        credit = self.credit(ideal, ranks, np.maximum(match.ideals.sizes, 1)[:, None])
        return total(weights * np.where(ranks > 0, credit, 0.0))

    def _expected(self, match: TiedMatch, weights: Floats) -> Floats:
        """Sum the mean weighted credit of each hit over all positions that it may take."""
        ideals, gained = match.ideals, np.zeros(match.queries)
        ideal = ideals.ideal_ranks(len(weights))
        for hit, position in match.placings(self.cutoff):
            query = match.query[hit]
            credit = self.credit(ideal[query, position], ideals.ranks[match.place[hit]], ideals.sizes[query])
            gained += np.bincount(query, weights[position] * credit / match.tie_size[hit], match.queries)
        return gained

    def shares(self, sizes: Ints, depth: int) -> Floats:
        """Return what an item with full credit at [query, position] adds to the score, by the size of the reference."""
        counted = np.minimum(np.maximum(sizes, 1), self.cutoff or np.inf).astype(np.int64)
        weights = self.position_weights.relative(max(depth, int(counted.max(initial=1))))
        return np.asarray(weights[:depth] / np.cumsum(weights)[counted - 1][:, None])

    def credit(self, ideal: Ints, rank: Ints, size: Ints) -> Floats:
        """Return the credit ρ of an item of ``rank`` at a position whose ideal rank is ``ideal``; 1 is full credit."""
        rank = np.maximum(rank, 1)
        if self.penalty == "m1":
            return np.minimum(1.0, ideal / rank)
        with np.errstate(over="ignore"):  # a distance of very many tolerances leaves no credit
            tolerance = np.sqrt(size) * self.alpha * (1 + self.lam * (rank - 1))
            return np.asarray(np.exp(-np.abs(ideal - rank) / tolerance))
