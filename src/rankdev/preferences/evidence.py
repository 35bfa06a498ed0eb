"""Evidence for one tier, some tiers and a strict order, given the judgments of a query."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rankdev._common.arrays import Floats, Ints
from rankdev.preferences._fitting import safe_length

if TYPE_CHECKING:
    from rankdev.preferences.strengths import Strengths


RIDGE = 0.1
STRICT_SPREADS = np.array([0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0])  # of the strengths of items, a priori
TIER_SPREADS = np.array([0.25, 0.75, 1.5, 3.0])  # of the strengths of tiers
ONE_BY_ONE = 40  # tiers from which neighbours are joined one pair at a time; before, a tenth of them


@dataclass(frozen=True, eq=False)
class Cut:
    """A contiguous cut of the order into tiers, fitted: strengths of tiers, and what follows."""

    starts: Ints
    strength: Floats
    wins: Floats  # tiers × tiers, how often the row won
    inner: float  # judgments inside tiers, each of log-likelihood log ½

    @property
    def tiers(self) -> int:
        """How many tiers."""
        return len(self.starts)

    @cached_property
    def likelihood(self) -> float:
        """Log-likelihood, without any penalty."""
        return float(_likelihood(self.wins, self.strength[None])[0]) - self.inner * np.log(2)

    @cached_property
    def covariance(self) -> Floats:
        """Covariance of the tiers' strengths."""
        known = _information(self.wins, self.strength) + RIDGE * np.eye(self.tiers)
        return np.asarray(np.linalg.inv(known), np.float64)

    def evidence(self, spreads: Floats) -> float:
        """Log marginal likelihood, strengths N(0, spread²) a priori, averaged over spreads: Laplace's method.

        From spread to spread, the largest first, the best strengths are a step or two away.
        """
        strength, each = self.strength, []
        for precision in np.sort(spreads)[::-1] ** -2.0:
            strength = newton_fit(self.wins, strength, precision, enough=0.3)
            fit = _likelihood(self.wins, strength[None])[0] - precision / 2 * strength @ strength
            spread_out = np.eye(self.tiers) + _information(self.wins, strength) / precision
            each.append(fit - np.linalg.slogdet(spread_out)[1] / 2)
        return float(np.logaddexp.reduce(each) - np.log(len(spreads))) - self.inner * np.log(2)


def merging_path(wins: Floats, levels: Ints | None = None) -> list[Cut]:
    """Join the neighbouring tiers that differ least, refit, and repeat, from one tier per level to one tier.

    ``wins[i, j]`` counts how often the item in place i won against the one in place j; ``levels`` are the places
    where tiers may start (default: every item).
    """
    path = [_joined(wins, np.arange(len(wins)) if levels is None else levels)]
    while path[-1].tiers > 1:
        cut = path[-1]
        between = cut.covariance.diagonal()
        variance = between[1:] + between[:-1] - 2 * cut.covariance.diagonal(1)
        statistic = np.diff(cut.strength) ** 2 / np.maximum(variance, 1e-300)
        joined = _disjoint(statistic, 1 if cut.tiers <= ONE_BY_ONE else cut.tiers // 10)
        kept = np.setdiff1d(np.arange(cut.tiers), joined + 1)
        path.append(_joined(cut.wins, kept, cut))
    return path


def _joined(wins: Floats, kept: Ints, cut: Cut | None = None) -> Cut:
    """Join the tiers between the places ``kept``, and fit their strengths."""
    summed = np.add.reduceat(np.add.reduceat(wins, kept, axis=0), kept, axis=1)
    inside = float(np.trace(summed))
    np.fill_diagonal(summed, 0.0)
    if cut is None:
        return _fitted(kept, summed, inside, np.zeros(len(kept)))
    return _fitted(cut.starts[kept], summed, cut.inner + inside, cut.strength[kept])


def _disjoint(statistic: Floats, number: int) -> Ints:
    """Take the smallest statistics, no two of them neighbours; of equal ones the first."""
    open_ = np.array(statistic)
    chosen: list[int] = []
    while len(chosen) < number and np.isfinite(least := open_.min(initial=np.inf)):
        k = int(np.argmax(open_ <= least * (1 + 1e-6) + 1e-9))
        chosen.append(k)
        open_[max(k - 1, 0) : k + 2] = np.inf
    return np.array(sorted(chosen), np.int64)


def _fitted(starts: Ints, wins: Floats, inner: float, strength: Floats) -> Cut:
    return Cut(starts, newton_fit(wins, strength, RIDGE, enough=1e-2), wins, inner)


def newton_fit(wins: Floats, strength: Floats, ridge: float, enough: float) -> Floats:
    """Maximise the penalised likelihood by Newton's method, until a step is small (the error left is its square)."""
    won, count = wins.sum(axis=1), wins + wins.T
    for _ in range(60):
        chance = 0.5 + 0.5 * np.tanh((strength[:, None] - strength) / 2)
        slope = won - (count * chance).sum(axis=1) - ridge * strength
        curved = count * chance * chance.T
        step = np.linalg.solve(np.diag(curved.sum(axis=1) + ridge) - curved, slope)
        change = np.ptp(step)
        strength = strength + safe_length(change) * step
        if change < enough:
            break
    return strength


def _information(wins: Floats, strength: Floats) -> Floats:
    lead = np.tanh((strength[:, None] - strength) / 2)
    weights = (wins + wins.T) * (0.25 - 0.25 * lead * lead)
    return np.asarray(np.diag(weights.sum(axis=1)) - weights)


def _likelihood(wins: Floats, strengths: Floats) -> Floats:
    """Log-likelihood of each row of strengths; only pairs with judgments count."""
    i, j = np.nonzero(wins)
    d = strengths[:, i] - strengths[:, j]
    return np.asarray((np.minimum(d, 0) - np.log1p(np.exp(-np.abs(d)))) @ wins[i, j])


@dataclass(frozen=True, eq=False)
class TierPosterior:
    """Posterior probabilities of one tier, of some tiers and of a strict order; and the cuts compared."""

    one: float
    some: float
    strict: float
    apart: Cut  # every item a tier
    tiers: Cut  # the cut that represents "some tiers"

    def tie_and_reversal(self) -> tuple[Floats, Floats]:
        """Posterior probabilities for every two places in the order: of a tie, and of the reverse order."""
        from scipy.special import ndtr

        n = self.apart.tiers
        label = np.searchsorted(self.tiers.starts, np.arange(n), side="right")
        tie = self.one + self.some * (label[:, None] == label)
        strength, covariance = self.apart.strength, self.apart.covariance
        spread = np.sqrt(np.maximum(covariance.diagonal()[:, None] + covariance.diagonal() - 2 * covariance, 1e-300))
        return tie, self.strict * ndtr(-np.abs(strength[:, None] - strength) / spread)


def tier_posterior(wins: Floats, levels: Ints | None = None) -> TierPosterior:
    """Compare one tier, some tiers and a strict order by their evidence.

    A priori every number of tiers, then every size of tiers has the same weight; the constants that favour tiers
    (1, and .2 per item) and one tier (3 over the items, so that short lists of equal items stay one tier nine times in
    ten) were set by simulation.
    """
    from scipy.special import expit

    n, judgments = len(wins), float(wins.sum())
    path = merging_path(wins, levels)
    apart = path[0] if path[0].tiers == n else _joined(wins, np.arange(n))
    one, strict = -judgments * np.log(2), apart.evidence(STRICT_SPREADS)
    inner = [cut for cut in path if 1 < cut.tiers < n]
    if inner:
        each = np.array([cut.evidence(TIER_SPREADS) + _log_prior(cut.starts, n) for cut in inner])
        before = path[0].tiers + (path[0] is inner[0])
        represented = np.log(-np.diff([before, *(cut.tiers for cut in inner)]))  # numbers of tiers passed over
        some = 1 + float(np.logaddexp.reduce(each + represented))
        best = inner[int(np.argmax(each))] if some > strict else by_bic(path, judgments)
    else:
        some, best = -np.inf, path[-1]
    w_one = float(expit(one + 3 / n - np.logaddexp(some, strict)))
    leaning = float(expit(some + 0.2 * n - strict))
    return TierPosterior(w_one, (1 - w_one) * leaning, (1 - w_one) * (1 - leaning), apart, best)


def _log_prior(starts: Ints, n: int) -> float:
    from scipy.special import gammaln

    k, sizes = len(starts), np.diff([*starts, n])
    return float(gammaln(k + 1) + gammaln(k) + gammaln(sizes + 1).sum() - gammaln(n + k) - np.log(n - 2))


def by_bic(path: list[Cut], judgments: float) -> Cut:
    """Take the cut with the best likelihood, less half the logarithm of the judgments for every tier."""
    return max(path, key=lambda cut: cut.likelihood - cut.tiers / 2 * np.log(max(judgments, 2.0)))


def effective_wins(fit: Strengths, query: int) -> Floats:
    """Count wins between places in the order of strengths, scaled to their number of independent judgments.

    A tie is half a win each, and where there are ties all count more, since ties vary less than wins and losses.
    Where workers' judgments are correlated, or the order of presentation was corrected for, all count less.
    """
    start, stop = (int(place) for place in fit.pairs.starts[query : query + 2])
    seen = fit.inference_fit
    pairs, n = seen.pairs, stop - start
    mine = slice(*np.searchsorted(pairs.first, [start, stop]))
    place = np.empty(n, np.int64)
    place[np.argsort(-fit.values[start:stop], kind="stable")] = np.arange(n)
    i, j = place[pairs.first[mine] - start], place[pairs.second[mine] - start]
    wins = np.zeros((n, n))
    wins[i, j], wins[j, i] = pairs.score[mine], pairs.count[mine] - pairs.score[mine]
    ties = min(pairs.ties[mine].sum() / max(pairs.count[mine].sum(), 1e-300), 0.95)
    wins /= 1 - ties
    return np.asarray(wins / fit.inflation[query])
