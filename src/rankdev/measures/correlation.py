"""Rank correlations, available only where a run and its reference hold the same items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankdev.arrays import Bools, Floats
from rankdev.measures.base import Measure
from rankdev.measures.match import Match


@dataclass(frozen=True, kw_only=True)
class Tau(Measure):
    """Kendall's τ-b between positions and reference ranks."""

    name: ClassVar[str] = "Tau"
    summary: ClassVar[str] = "Kendall's τ where run and reference hold the same items"
    source: ClassVar[str] = "Kendall 1938"

    def score(self, match: Match) -> Floats:
        """Score every query."""
        available = _comparable(match, self.cutoff)
        ranks = match.ranks(self.cutoff)[available]
        size = match.ideals.sizes[available]
        concordance = np.zeros(len(size))
        tied = np.zeros(len(size))
        for lag in range(1, ranks.shape[1]):
            step = ranks[:, lag:] - ranks[:, :-lag]
            inside = ranks[:, lag:] > 0
            concordance += (np.sign(step) * inside).sum(axis=1)
            tied += ((step == 0) & inside).sum(axis=1)
        pairs = size * (size - 1) / 2
        return _place(available, concordance / np.sqrt(pairs * (pairs - tied)))


@dataclass(frozen=True, kw_only=True)
class Rho(Measure):
    """Spearman's ρ between positions and reference ranks, tied items sharing their mean rank."""

    name: ClassVar[str] = "Rho"
    summary: ClassVar[str] = "Spearman's ρ where run and reference hold the same items"
    source: ClassVar[str] = "Spearman 1904"

    def score(self, match: Match) -> Floats:
        """Score every query."""
        available = _comparable(match, self.cutoff)
        inside = available[match.query]
        query, place = match.query[inside], match.place[inside]
        centre = (match.ideals.sizes[query] - 1) / 2
        position = match.position[inside] - centre
        rank = match.tier_starts[place] + (match.tier_sizes[place] - 1) / 2 - centre
        products = (
            np.bincount(query, x * y, match.queries) for x, y in ((position, rank), (position,) * 2, (rank,) * 2)
        )
        together, positions, ranks = (product[available] for product in products)
        return _place(available, together / np.sqrt(positions * ranks))


def _comparable(match: Match, cutoff: int | None) -> Bools:
    """Tell where the first ``cutoff`` positions hold exactly the reference items and the ranks are not constant."""
    reach = match.depth(cutoff)
    found = np.bincount(match.query[match.position < reach], minlength=match.queries)
    returned = np.minimum(match.lengths, reach)
    sizes = match.ideals.sizes
    return np.asarray((found == sizes) & (returned == sizes) & (match.ideals.tiers > 1))


def _place(available: Bools, values: Floats) -> Floats:
    scores = np.full(len(available), np.nan)
    scores[available] = np.clip(values, -1.0, 1.0)
    return scores
