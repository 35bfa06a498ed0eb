"""Measures that ask only whether an item is relevant: P, R, RR, AP and RBP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankdev.arrays import Floats, Ints
from rankdev.errors import MeasureError
from rankdev.measures.base import POSITIVE, SHARE, Measure, parameter
from rankdev.measures.match import Match, total

REL = "the lowest grade that counts as relevant; without it, every reference item"


@dataclass(frozen=True, kw_only=True)
class P(Measure):
    """P@k = relevant items in the first k ÷ k."""

    name: ClassVar[str] = "P"
    summary: ClassVar[str] = "precision: share of the first k that is relevant"

    rel: float | None = parameter(None, REL, number=POSITIVE)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cutoff is None:
            raise MeasureError("P needs a cutoff, such as P@10")

    def score(self, match: Match) -> Floats:
        """Score every query."""
        return np.asarray(match.hits(self.cutoff, self.rel).sum(axis=1) / self.cutoff)


@dataclass(frozen=True, kw_only=True)
class R(Measure):
    """R@k = relevant items in the first k ÷ all relevant items."""

    name: ClassVar[str] = "R"
    summary: ClassVar[str] = "recall: share of the relevant items in the first k"

    rel: float | None = parameter(None, REL, number=POSITIVE)

    def score(self, match: Match) -> Floats:
        """Score every query."""
        return _over(match.hits(self.cutoff, self.rel).sum(axis=1), match.relevant(self.rel))


@dataclass(frozen=True, kw_only=True)
class RR(Measure):
    """RR@k = 1 ÷ the position of the first relevant item in the first k."""

    name: ClassVar[str] = "RR"
    summary: ClassVar[str] = "reciprocal rank of the first relevant item"

    rel: float | None = parameter(None, REL, number=POSITIVE)

    def score(self, match: Match) -> Floats:
        """Score every query."""
        hits = match.hits(self.cutoff, self.rel)
        return np.where(hits.any(axis=1), 1.0 / (hits.argmax(axis=1) + 1), 0.0)


@dataclass(frozen=True, kw_only=True)
class AP(Measure):
    """AP@k = Σ precision at each relevant item in the first k ÷ all relevant items."""

    name: ClassVar[str] = "AP"
    summary: ClassVar[str] = "average precision"
    source: ClassVar[str] = "Buckley and Voorhees 2000"

    rel: float | None = parameter(None, REL, number=POSITIVE)

    def score(self, match: Match) -> Floats:
        """Score every query."""
        hits = match.hits(self.cutoff, self.rel)
        precision = np.cumsum(hits, axis=1) / np.arange(1, hits.shape[1] + 1)
        return _over(total(np.where(hits, precision, 0.0)), match.relevant(self.rel))


@dataclass(frozen=True, kw_only=True)
class RBP(Measure):
    """RBP(p)@k = (1 − p) Σ p^(i − 1) over relevant items; not normalised."""

    name: ClassVar[str] = "RBP"
    summary: ClassVar[str] = "rank-biased precision"
    source: ClassVar[str] = "Moffat and Zobel 2008"

    p: float = parameter(0.8, "persistence", number=SHARE, written=True)
    rel: float | None = parameter(None, REL, number=POSITIVE)

    def score(self, match: Match) -> Floats:
        """Score every query."""
        hits = match.hits(self.cutoff, self.rel)
        return (1 - self.p) * total(np.where(hits, self.p ** np.arange(hits.shape[1]), 0.0))


def _over(part: Floats, whole: Ints) -> Floats:
    """Divide; 0 where a query has no item of the grade asked for, as trec_eval does."""
    return np.where(whole > 0, part / np.maximum(whole, 1), 0.0)
