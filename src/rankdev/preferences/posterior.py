"""Posterior of the strengths of each query, with what its answers have in common with those of other queries.

How far strengths scatter, how many answers are given at random and how many are ties is learnt from all queries
together: a mixture over a grid of the first two, weighted by their evidence. Valid whatever chose the pairs. A judge
who is nearly consistent makes the strengths scatter widely, and that is what makes transitivity count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankdev._common.arrays import Bools, Floats, Ints
from rankdev.preferences.expectation_propagation import (
    Answers,
    Normal,
    Prior,
    chances,
    estimated_tie_rate,
    propagate,
    tie_divisor,
)

if TYPE_CHECKING:
    from rankdev.preferences.judgments import Preferences

SPREADS = np.array([0.05, 0.3, 0.6, 1.0, 1.6, 2.5, 4.0, 7.0, 12.0, 25.0, 60.0])
LAPSES = np.array([0.0, 0.05, 0.15, 0.3])
SPREAD, LAPSE = (part.ravel() for part in np.meshgrid(SPREADS, LAPSES, indexing="ij"))
LOG_PRIOR = (-0.5 * (np.log(SPREAD / 2.2) / 1.45) ** 2) + np.tile(np.log([0.55, 0.2, 0.15, 0.1]), len(SPREADS))
LOG_PRIOR[np.equal(SPREAD, SPREADS[-1])] += 3.0  # many judges are consistent, but for lapses
LOG_PRIOR -= np.logaddexp.reduce(LOG_PRIOR)

OTHERS = 4.0  # queries that the evidence of all others counts for at most, so that each may differ from them
GROWTH = 1.4  # a query's evidence is computed again when its answers have grown by this factor
LEAST = 0.02  # weight, relative to the largest, of what stays in the mixture
FAR = 14.0  # log evidence behind the best, from which a spread and lapse is not computed again
PARTS, SWEEPS = 6, 4  # most parts of a mixture, and sweeps after an answer
MOVES = 2  # of every item of a sample
MANY, MANY_PARTS, MANY_SWEEPS = 100, 2, 1  # the same with more items than that, where each costs more


@dataclass(frozen=True, eq=False)
class Mixture:
    """Posterior of a query's strengths: a few normal distributions, each with its weight and fraction of lapses."""

    weight: Floats
    spread: Floats
    lapse: Floats
    tie_rate: float
    mean: Floats  # [part, item]
    covariance: Floats  # [part, item, item]
    told: Floats  # [answer, 4]: winner, loser, whether they tied, how often

    @property
    def strength(self) -> Floats:
        """Expected strength of each item."""
        return np.asarray(self.weight @ self.mean)

    def draw(self, noise: Floats) -> tuple[Floats, Ints]:
        """Turn standard normal ``noise[draw, item]`` into strengths; and the part of the mixture each is from."""
        part = np.searchsorted(np.cumsum(self.weight), (np.arange(len(noise)) + 0.5) / len(noise) * (1 - 1e-12))
        drawn = np.empty_like(noise)
        for k in np.unique(part):
            factor = np.linalg.cholesky(self.covariance[k] + 1e-10 * np.eye(noise.shape[1]))
            drawn[part == k] = self.mean[k] + noise[part == k] @ factor.T
        return drawn, part

    def sample(self, noise: Floats, rng: np.random.Generator, items: Ints) -> tuple[Floats, Ints]:
        """Draw from the posterior itself, as :meth:`draw` does from its normal approximations.

        These have too many pairs in the wrong order where the judge is nearly consistent. So ``items`` of a draw move
        on in turn, each to a strength that is proposed by the approximation given the other items and accepted by how
        probable the answers are there (Metropolis and Hastings).
        """
        drawn, part = self.draw(noise)
        strength = np.ascontiguousarray(drawn.T)  # items are rows, as each moves in all draws at once
        known = np.linalg.inv(self.covariance)
        pull = np.einsum("kij,kj->ik", known, self.mean)[:, part]
        own, lapse, place = self.spread[part] ** -2.0, self.lapse[part], part * len(part) + np.arange(len(part))
        moves = []
        for item in items:
            mine = self.told[(self.told[:, :2] == item).any(axis=1)]
            won, width = mine[:, :1] == item, (1 / known[:, item, item])[part]
            other = np.where(won[:, 0], mine[:, 1], mine[:, 0]).astype(np.int64)
            moves += [(item, other, np.where(won, 1.0, -1.0), mine[:, 2:3] > 0, mine[:, 3], width)] if len(mine) else []
        both = np.empty((2, len(part)))  # strengths now and as proposed
        for item, other, sign, tied, times, width in moves * MOVES:
            both[0] = strength[item]
            centre = both[0] - width * ((known[:, item] @ strength).take(place) - pull[item])
            both[1] = centre + np.sqrt(width) * rng.standard_normal(len(part))
            behind = sign * (strength[other] - both[:, None])
            value = times @ np.log(self._chance(behind, tied, lapse))
            value += ((both - centre) ** 2 / width - own * both**2) / 2
            better = np.log(rng.random(len(part))) < value[1] - value[0]
            np.copyto(strength[item], both[1], where=better)
        return strength.T, part

    def _chance(self, behind: Floats, tied: Bools, lapse: Floats) -> Floats:
        """Probability of answers in favour of items that are behind by so much, ``[…, answer, draw]``."""
        if self.tie_rate:
            win, _, tie = chances(-behind, lapse, self.tie_rate)
            return np.maximum(np.where(tied, tie, win), 1e-300)
        odds = np.exp(np.minimum(behind, 600.0, out=behind), out=behind)
        odds += 1.0
        return np.divide(1 - lapse, odds, out=odds) + lapse / 2


class _Query:
    """Answers of one query, and the sites of its fits."""

    def __init__(self, items: int) -> None:
        self.items = items
        self.place: dict[tuple[int, int], int] = {}
        self.counts: list[list[float]] = []
        self.sites: dict[int, tuple[Floats, Floats]] = {}  # by place in the grid
        self.evidence = np.zeros(len(SPREAD))
        self.evaluated = 0.0  # number of answers that the evidence is about
        self.ties = (0.0, 0.0)  # their number, and what Davidson's rate is divided by
        self.mixture: Mixture | None = None

    @property
    def number(self) -> float:
        """Number of answers."""
        return float(sum(map(sum, self.counts)))

    @property
    def told(self) -> Floats:
        """Answers as ``Mixture`` has them."""
        rows = [
            (*(pair if outcome != 1 else pair[::-1]), outcome == 2, count)
            for pair, at in self.place.items()
            for outcome, count in enumerate(self.counts[at])
            if count > 0
        ]
        return np.array(rows, np.float64).reshape(-1, 4)

    def tell(self, i: int, j: int, outcome: int, times: float) -> None:
        """Add an answer: i won (0), lost (1) or tied (2)."""
        if i > j:
            i, j, outcome = j, i, (1, 0, 2)[outcome]
        at = self.place.setdefault((i, j), len(self.counts))
        if at == len(self.counts):
            self.counts.append([0.0, 0.0, 0.0])
        self.counts[at][outcome] = max(0.0, self.counts[at][outcome] + times)
        self.mixture = None
        if times < 0:
            self.sites, self.evaluated = {}, 0.0

    def fit(self, parts: Ints, tie_rate: float, sweeps: int) -> tuple[Ints, Normal, Answers]:
        """Approximate the posterior of the items with answers, for places in the grid."""
        pairs = np.array(list(self.place)).reshape(-1, 2)
        seen, numbered = np.unique(pairs, return_inverse=True)
        first, second = numbered.reshape(-1, 2).T
        one = Answers(first[None], second[None], *np.array(self.counts).reshape(-1, 3).T[:, None])
        answers = one.rows(np.zeros(len(parts), np.int64))
        start = np.zeros((2, len(parts), len(pairs)))
        for row, part in enumerate(parts):
            if (sites := self.sites.get(int(part))) is not None:
                start[:, row, : sites[0].shape[-1]] = sites
        prior = Prior(np.zeros((len(parts), len(seen))), SPREAD[parts], LAPSE[parts], tie_rate)
        found = propagate(answers, prior, (start[0], start[1]), sweeps=sweeps, tolerance=1e-3)
        for row, part in enumerate(parts):
            self.sites[int(part)] = found.precision[row], found.shift[row]
        return seen, found, answers

    def evaluate(self, log_weight: Floats, tie_rate: float) -> None:
        """Compute the evidence of the grid again; what is far behind with the answers so far stays as far behind."""
        behind = log_weight + self.evidence
        near = behind > behind.max() - FAR if self.evaluated else np.ones(len(behind), bool)
        parts = np.flatnonzero(near)
        _, found, answers = self.fit(parts, tie_rate, 8)
        self.evidence = np.where(near, 0.0, self.evidence + (found.evidence - self.evidence[parts]).max())
        self.evidence[parts] = found.evidence
        self.evaluated = self.number
        best = int(np.argmax((log_weight + self.evidence)[parts]))
        self.ties = float(answers.tied[0].sum()), float(tie_divisor(answers, found, tie_rate)[best])


class Posteriors:
    """Posteriors of several queries, updated answer by answer."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self._queries = [_Query(size) for size in sizes]
        self._total = np.zeros(len(SPREAD))  # evidence of all queries
        self.tie_rate = 0.0

    @classmethod
    def of(cls, preferences: Preferences) -> Posteriors:
        """Take judgments; items are numbered within each query of the preferences."""
        starts, pairs = preferences.starts, preferences.pairs
        found = cls(np.diff(starts).tolist())
        query = np.searchsorted(starts, pairs.first, side="right") - 1
        won, lost = pairs.score - pairs.ties / 2, pairs.count - pairs.score - pairs.ties / 2
        columns = query, pairs.first - starts[query], pairs.second - starts[query], won, lost, pairs.ties
        for number, i, j, *counts in zip(*(column.tolist() for column in columns), strict=True):
            for outcome, count in enumerate(counts):
                if count > 0:
                    found._queries[number].tell(i, j, outcome, count)
        if pairs.ties.any():
            found.tie_rate = 0.5  # until it is estimated
        return found

    def tell(self, query: int, i: int, j: int, *, tie: bool = False, times: float = 1.0) -> None:
        """Add an answer: item i won, or neither; negative ``times`` takes it back."""
        self._queries[query].tell(i, j, 2 if tie else 0, times)
        if tie and self.tie_rate == 0:
            self.tie_rate = 0.5  # until it is estimated

    def __getitem__(self, query: int) -> Mixture:
        mine = self._queries[query]
        if mine.mixture is None:
            if mine.number >= GROWTH * mine.evaluated + 2:
                self._evaluate(mine)
            mine.mixture = self._mixture(query)
        return mine.mixture

    def _evaluate(self, mine: _Query) -> None:
        self._total -= mine.evidence
        mine.evaluate(self._log_weight(mine), self.tie_rate)
        self._total += mine.evidence
        self._estimate_tie_rate()

    def _estimate_tie_rate(self) -> None:
        ties, divisor = np.sum([query.ties for query in self._queries], axis=0)
        rate = estimated_tie_rate(float(ties), float(divisor))
        if abs(rate - self.tie_rate) > 0.1 * self.tie_rate:
            self.tie_rate = rate

    def _log_weight(self, mine: _Query) -> Floats:
        """Log weight of the grid by the evidence of other queries."""
        others = sum(query.evaluated > 0 for query in self._queries) - (mine.evaluated > 0)
        rest = self._total - mine.evidence
        return LOG_PRIOR + rest * min(1.0, OTHERS / max(others, 1))

    def _mixture(self, number: int) -> Mixture:
        mine = self._queries[number]
        log_weight = self._log_weight(mine) + mine.evidence
        parts, sweeps = (PARTS, SWEEPS) if len(np.unique(list(mine.place))) <= MANY else (MANY_PARTS, MANY_SWEEPS)
        order = np.argsort(-log_weight, kind="stable")[:parts]
        kept = order[log_weight[order] > log_weight[order[0]] + np.log(LEAST)]
        weight = np.exp(log_weight[kept] - log_weight[kept[0]])
        mean = np.zeros((len(kept), mine.items))
        covariance = np.zeros((len(kept), mine.items, mine.items))
        covariance[:, np.arange(mine.items), np.arange(mine.items)] = (SPREAD[kept] ** 2)[:, None]
        weight /= weight.sum()
        if mine.counts:
            seen, found, _ = mine.fit(kept, self.tie_rate, sweeps)
            mean[:, seen] = found.mean
            covariance[:, seen[:, None], seen] = found.covariance
        return Mixture(weight, SPREAD[kept], LAPSE[kept], self.tie_rate, mean, covariance, mine.told)
