"""How well distributions of strengths explain the judgments of queries: one tier, tiers, strict orders, and mixtures.

A shape is a distribution from which the strengths of a query's items may have been drawn. Its evidence is the
probability of the judgments under it, as a logarithm, that of "all equal" being 0. It is found in two steps.
Expectation propagation gives the evidence, the means and the variances for normal strengths of several spreads. Leaving
the normal prior out of an item's mean and variance leaves the evidence of the judgments on the item, a normal
observation of its strength; and the evidence for another shape follows from the observations of all items.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from rankdev._common.arrays import Bools, Floats, Ints
from rankdev.preferences.expectation_propagation import Answers, Normal, Prior, propagate

SPREADS: Floats = 0.2 * 1.5 ** np.arange(9.0)  # of strengths, a priori: .2 to 5.1
SMALLEST_GAP, LARGEST_GAP, GAPS = 0.3, 4.0, 13  # between neighbouring tiers, and how many of them are tried
WIDEST = 4.5  # spread of tiers
LOCATIONS = np.linspace(-2.2, 2.2, 25)  # of a shape, in standard deviations around the observations' mean
GROWTH, LIMIT = 1.25, 0.5  # of the correction for correlated observations: of a gain, and of a loss in nats
FAR = 20.0  # nats behind the best normal strengths, from which there is no such correction
FEW_ITEMS, WINDOW = 20, 12  # items up to which pairs of tiers are summed, and those around a cut that may be in either
TOGETHER = 64  # queries that are summed at a time
KINDS = ("one", "strict", "mixed", "tiers")


class Shape(NamedTuple):
    """A mixture of normal distributions, scaled by each of ``spreads``; a component of width 0 is a tier."""

    kind: str
    weight: Floats
    centre: Floats
    width: Floats
    spreads: Floats
    prior: float  # of the shape among those of its kind (and number of tiers)


@cache
def shapes() -> tuple[Shape, ...]:
    """List all shapes but "all equal"."""
    return (*_strict(), *_mixed(), *_tiers())


def _strict() -> Iterator[Shape]:
    """Normal strengths (as probable as the others together), uniform, few strong, few weak, long tails."""
    yield Shape("strict", np.ones(1), np.zeros(1), np.ones(1), SPREADS, 1.0)
    u = (np.arange(400) + 0.5) / 400
    steps = [0, 8, 24, 56, 104, 168, 232, 296, 344, 376, 392, 400]  # finer in the tails
    tails = -np.sign(u - 0.5) * np.log(1 - np.abs(2 * u - 1))
    for quantiles, edges in ((u, range(0, 401, 50)), (-np.log(u), steps), (np.log(u), steps), (tails, steps)):
        ranked = np.sort((quantiles - quantiles.mean()) / quantiles.std())
        cells = [ranked[a:b] for a, b in pairwise(edges)]
        weight, centre, width = (np.array([f(cell) for cell in cells]) for f in (len, np.mean, np.std))
        yield Shape("strict", weight / 400, centre, np.maximum(width, 0.08), SPREADS, 0.25)


def _mixed() -> Iterator[Shape]:
    """One tier somewhere, and other items in a strict order around it."""
    for share in (0.35, 0.5, 0.65, 0.8, 0.9):
        for place in (-1.6, -0.8, 0.0, 0.8, 1.6):
            weight, centre = np.array([share, 1 - share]), np.array([place, 0.0]) - share * place
            yield Shape("mixed", weight, centre, np.array([0.0, 1.0]), SPREADS, np.exp(-(place**2) / 2))


def _tiers() -> Iterator[Shape]:
    """Two to six tiers, of equal and of unequal sizes and distances."""
    sizes: dict[int, list[tuple[float, ...]]] = {
        2: [(0.08, 0.92), (0.2, 0.8), (0.5, 0.5), (0.8, 0.2), (0.92, 0.08)],
        3: [(1, 1, 1), (1, 2, 4), (4, 2, 1), (1, 3, 1), (1, 1.5, 9)],
        4: [(1, 1, 1, 1), (1, 2, 3, 5), (5, 3, 2, 1)],
        5: [(1, 1, 1, 1, 1), (1, 2, 2, 3, 4), (4, 3, 2, 2, 1)],
        6: [(1, 1, 1, 1, 1, 1), (1, 1, 2, 2, 3, 4)],
    }
    gaps: dict[int, list[tuple[float, ...]]] = {3: [(1, 1), (1, 2), (2, 1)], 4: [(1, 1, 1), (1, 1, 2), (2, 1, 1)]}
    for number, each in sizes.items():
        for gap in gaps.get(number, [(1,) * (number - 1)]):
            for size in each:
                weight = np.array(size, float) / sum(size)
                centre = -np.append(0.0, np.cumsum(gap)) / np.mean(gap)
                centre -= weight @ centre
                spread = np.sqrt(weight @ centre**2)
                scales = np.geomspace(SMALLEST_GAP, min(LARGEST_GAP, WIDEST / spread), GAPS)
                yield Shape("tiers", weight, centre / spread, np.zeros(number), scales * spread, 1.0)


class Hypothesis(NamedTuple):
    """A shape of one spread; "all equal" has no shape."""

    kind: str
    shape: int
    tiers: int
    spread: float
    prior: float  # among hypotheses of its kind and number of tiers, up to a factor


@cache
def hypotheses() -> tuple[Hypothesis, ...]:
    """List what is compared: "all equal" first, then shape by shape, spread by spread."""
    found = [Hypothesis("one", -1, 1, 0.0, 1.0)]
    for number, shape in enumerate(shapes()):
        tiers = len(shape.weight) if shape.kind == "tiers" else 0
        found += [Hypothesis(shape.kind, number, tiers, spread, shape.prior) for spread in shape.spreads.tolist()]
    return tuple(found)


def possible(size: int) -> Bools:
    """Which hypotheses apply to so many items: those of fewer tiers than items, and of two tiers."""
    return np.array([hypothesis.tiers < max(size, 3) for hypothesis in hypotheses()])


@cache
def _unequal_pairs() -> Ints:
    """Number the hypotheses of two tiers of unequal sizes.

    Equal ones compete with even orders, whose evidence is too small for the same reason: both stay approximations.
    """
    each = [h.tiers == 2 and not np.isclose(*shapes()[h.shape].weight) for h in hypotheses()]
    return np.flatnonzero(each)


@cache
def _two_tiers(n: int) -> Bools:
    """List ways to put ordered items into an upper and a lower tier, ``[way, item]``; true is above."""
    width = min(n, WINDOW)
    free = (np.arange(2**width)[:, None] >> np.arange(width)) & 1 == 1
    found = []
    for start in range(n - width + 1):
        new = free if start == 0 else free[free[:, -1]]  # others are in the window before
        ways = np.zeros((len(new), n), bool)
        ways[:, :start] = True
        ways[:, start : start + width] = new
        found.append(ways)
    return np.concatenate(found)


def normal_posteriors(answers: Answers, items: int, tie_rate: float, spreads: Floats) -> Iterator[Normal]:
    """Approximate the posteriors of strengths N(0, spread²), for one spread after the other.

    The evidence of "all equal" is 0. The sites of a spread are where those of the next one start.
    """
    problems, sites = len(answers.first), None
    equal = -answers.number.sum(axis=1) * np.log(2 + tie_rate)
    for spread in spreads:
        prior = Prior(np.zeros((problems, items)), np.full(problems, spread), np.zeros(problems), tie_rate)
        found = propagate(answers, prior, sites, tolerance=1e-3)
        sites = found.precision, found.shift
        yield replace(found, evidence=found.evidence - equal)


@dataclass(frozen=True, eq=False, kw_only=True)
class Observations:
    """Evidence of the judgments on queries of one size; arrays by query, and by the three most probable spreads."""

    spread: Floats  # of the normal approximations
    mean: Floats  # of these
    covariance: Floats
    normal: Floats  # their evidence
    value: Floats  # observation of each item
    variance: Floats
    own: Floats  # variance of each item's strength
    correlation: Floats  # of two items' strengths, but for a common shift; 0 on the diagonal
    reference: Floats  # log density of the observations under the normal prior, but for a common shift
    strict: Floats  # evidence of normal strengths of all ``SPREADS``
    wins: Floats
    tie_rate: float

    @classmethod
    def of(cls, wins: Floats, tie_rate: float) -> Observations:
        """Approximate each query's posterior for every spread, and leave the prior out of each item's.

        ``wins[query, item, other]``: a tie is half a win for each.
        """
        queries, n, _ = wins.shape
        found = list(normal_posteriors(Answers.of_wins(wins), n, tie_rate, SPREADS))
        strict = np.stack([part.evidence for part in found], axis=1)
        first = np.clip(strict.argmax(axis=1) - 1, 0, len(SPREADS) - 3)[:, None] + np.arange(3)
        kept = np.arange(queries)[:, None], first
        mean, covariance = (
            np.stack([getattr(one, part) for one in found], axis=1)[kept] for part in ("mean", "covariance")
        )
        covariance = covariance - covariance.mean(axis=2, keepdims=True)
        covariance -= covariance.mean(axis=3, keepdims=True)
        mean = mean - mean.mean(axis=2, keepdims=True)
        own = np.diagonal(covariance, axis1=2, axis2=3) * n / (n - 1)
        spread = SPREADS[first]
        prior = spread[..., None] ** -2.0
        variance = 1 / np.maximum(1 / own - prior, 1e-3 * prior)
        value = variance * mean / own
        reference = _normal_density(value, variance + spread[..., None] ** 2)
        root = np.sqrt(own)
        correlation = (covariance / (root[..., None] * root[..., None, :]) + 1 / n) * (1 - np.eye(n))
        return cls(
            spread=spread,
            mean=mean,
            covariance=covariance,
            normal=strict[kept],
            value=value,
            variance=variance,
            own=own,
            correlation=correlation,
            reference=reference,
            strict=strict,
            wins=wins,
            tie_rate=tie_rate,
        )

    @property
    def reliability(self) -> Floats:
        """Part of the spread of strengths that is not error, for each query, at its most probable spread."""
        at = np.arange(len(self.spread)), self.normal.argmax(axis=1)
        error = 1 / (1 / self.variance[at]).mean(axis=1)
        return np.asarray(self.spread[at] ** 2 / (self.spread[at] ** 2 + error))

    def evidence(self) -> Floats:
        """Evidence of every hypothesis for every query."""
        parts = [np.zeros((len(self.strict), 1)), self.strict]
        parts += [self._components(shape)[0] for shape in shapes()[1:]]
        result = np.concatenate(parts, axis=1)
        result[:, ~possible(self.value.shape[2])] = -np.inf
        if self.value.shape[2] <= FEW_ITEMS:
            two = _unequal_pairs()
            result[:, two] = self._ways_to_two_tiers([hypotheses()[k] for k in two])
        return result

    def _ways_to_two_tiers(self, two: list[Hypothesis]) -> Floats:
        """Sum over the ways to put the items into two tiers: evidence[query, hypothesis].

        All ways with up to 12 items, and exact; with more, those where the first item of the lower tier and the last of
        the upper one are among 12 neighbours in the order of strengths. Where the tiers were hardly compared with each
        other, the strengths of their items are so dependent that taking items one by one fails.
        """
        n = self.wins.shape[1]
        above = _two_tiers(n)
        i, j = np.triu_indices(n, 1)
        sign = above[:, i].astype(float) - above[:, j]
        order = np.argsort(-self.mean[:, 1], axis=1, kind="stable")
        wins = self.wins[np.arange(len(order))[:, None, None], order[:, :, None], order[:, None, :]]
        good = above.sum(axis=1)[:, None]
        result = np.empty((len(self.wins), len(two)))
        for start in range(0, len(result), TOGETHER):
            part = wins[start : start + TOGETHER]
            won, lost = part[:, i, j], part[:, j, i]
            lead, across = sign @ (won - lost).T / 2, np.abs(sign) @ (won + lost).T  # [way, query]
            for k, hypothesis in enumerate(two):
                shape = shapes()[hypothesis.shape]
                gap = hypothesis.spread * float(shape.centre[0] - shape.centre[1])
                loss = np.log((2 * np.cosh(gap / 2) + self.tie_rate) / (2 + self.tie_rate))
                prior = good * np.log(shape.weight[0]) + (n - good) * np.log(shape.weight[1])
                each = gap * lead - loss * across + prior
                top = each.max(axis=0)
                result[start : start + TOGETHER, k] = top + np.log(np.exp(each - top).sum(axis=0))
        return result

    def _nearest(self, spreads: Floats) -> Ints:
        """Number the approximations to start from, those of the nearest spread."""
        off = np.log(spreads)[:, None] - np.log(self.spread)[:, None, :]
        return np.asarray(np.abs(off).argmin(axis=2))

    def _components(self, shape: Shape, chosen: Ints | None = None) -> tuple[Floats, Floats, Floats, Ints]:
        """Compute evidence[query, spread], the weight of each location, and the components of the items there."""
        spreads = shape.spreads if chosen is None else shape.spreads[chosen]
        near = self._nearest(spreads)
        at = np.arange(len(near))[:, None], near
        value, variance = self.value[at], self.variance[at]  # query, spread, item
        known = 1 / variance
        middle = (value * known).sum(axis=2) / known.sum(axis=2)
        step = np.sqrt((spreads**2 + 1 / known.mean(axis=2)) / value.shape[2])
        location = middle[..., None] + step[..., None] * LOCATIONS
        off = value[:, :, None, :] - location[..., None]  # query, spread, location, item
        scale = spreads[:, None, None]
        density = np.empty((*off.shape, len(shape.weight)))
        for k, (weight, centre, width) in enumerate(zip(shape.weight, shape.centre, shape.width, strict=True)):
            total = variance[:, :, None, :] + (scale * width) ** 2
            density[..., k] = weight / np.sqrt(total) * np.exp(-((off - scale * centre) ** 2) / (2 * total))
        summed = density.sum(axis=4) + 1e-280
        each = np.log(summed).sum(axis=3)
        top = each.max(axis=2, keepdims=True)
        likely = np.exp(each - top)
        whole = likely.sum(axis=2)
        spacing = step * (LOCATIONS[1] - LOCATIONS[0])
        evidence = top[..., 0] + np.log(whole * spacing) - value.shape[2] / 2 * np.log(2 * np.pi)
        evidence += self.normal[at] - self.reference[at]
        likely, member = likely / whole[..., None], density / summed[..., None]
        if chosen is None:
            best = np.maximum(self.strict.max(axis=1), 0.0)
            rows = np.nonzero(evidence > best[:, None] - FAR)
            evidence[rows] += self._correlated(
                shape, spreads[rows[1]], (rows[0], near[rows]), off[rows], likely[rows], member[rows]
            )
        return evidence, likely, member, near

    def _correlated(
        self, shape: Shape, spreads: Floats, at: tuple[Ints, Ints], off: Floats, likely: Floats, member: Floats
    ) -> Floats:
        """Correct for the correlation of observations, but for that of a common shift; one query and spread a row.

        A shape changes an item's mean by a standard deviations and its mean square by √2 b; two items that are
        correlated by r change the evidence by r a a' + r² b b' in addition, to second order. Small gains are larger
        than that and large ones smaller, about as the logarithm.
        """
        mean, own = self.mean[at], self.own[at]
        scale, variance = spreads[:, None, None], self.variance[at][:, None, :]
        moved, square = np.zeros((2, *mean.shape))
        for k, (centre, width) in enumerate(zip(shape.centre, shape.width, strict=True)):
            weight = likely[..., None] * member[..., k]
            part = variance / (variance + (scale * width) ** 2)  # of the way from the observation to the centre
            gap = (self.value[at] - mean)[:, None, :] - part * (off - scale * centre)
            moved += (weight * gap).sum(axis=1)
            square += (weight * (gap**2 + (1 - part) * variance)).sum(axis=1)
        a, b = moved / np.sqrt(own), (square / own - 1) / np.sqrt(2)
        r = self.correlation[at]
        change = (a * (r @ a[..., None])[..., 0]).sum(axis=1) + (b * (r**2 @ b[..., None])[..., 0]).sum(axis=1)
        return np.where(change > 0, GROWTH * np.log1p(np.maximum(change, 0.0) / 2), np.maximum(change / 2, -LIMIT))

    def relations(self, probability: Floats) -> tuple[Floats, Floats]:
        """Average over hypotheses: the probability, for items i and j, that they are equal and that i is better."""
        queries, n = len(probability), self.value.shape[2]
        likely = np.where(probability.max(axis=0) > 2e-3, probability, 0.0)
        likely /= likely.sum(axis=1, keepdims=True)
        equal, better = np.zeros((2, queries, n, n))
        equal += likely[:, 0, None, None]
        start = 1
        for shape in shapes():
            stop = start + len(shape.spreads)
            chosen = np.flatnonzero(likely[:, start:stop].any(axis=0))
            weight = likely[:, start + chosen]
            start = stop
            if not len(chosen):
                continue
            if shape.kind == "strict":
                better += self._order(weight, self._nearest(shape.spreads[chosen]))
                continue
            _, at_location, member, near = self._components(shape, chosen)
            at_location = at_location * weight[..., None]
            atoms = member[..., shape.width == 0]
            equal += _product(atoms * at_location[..., None, None], atoms)
            if shape.kind == "tiers":
                below = np.cumsum(member[..., ::-1], axis=-1)[..., ::-1] - member
                better += _product(member * at_location[..., None, None], below)
            else:
                apart = weight[..., None, None] - np.stack(
                    [
                        _product(atoms[:, [k]] * at_location[:, [k], :, None, None], atoms[:, [k]])
                        for k in range(len(chosen))
                    ],
                    axis=1,
                )
                better += self._order(apart, near)
        return equal, better

    def _order(self, weight: Floats, near: Ints) -> Floats:
        """Probability that i is better than j under normal posteriors, weighted, summed over spreads."""
        from scipy.special import ndtr

        weight = weight if weight.ndim == 4 else weight[..., None, None]
        result = np.zeros((len(weight), *self.covariance.shape[2:]))
        rows = np.arange(len(weight))
        for k in range(weight.shape[1]):
            mean, covariance = self.mean[rows, near[:, k]], self.covariance[rows, near[:, k]]
            own = np.diagonal(covariance, axis1=1, axis2=2)
            variance = own[:, :, None] + own[:, None, :] - 2 * covariance
            gap = mean[:, :, None] - mean[:, None, :]
            result += weight[:, k] * ndtr(gap / np.sqrt(np.maximum(variance, 1e-12)))
        return result


def _normal_density(value: Floats, variance: Floats) -> Floats:
    """Integrate ∏ N(value; shift, variance) over the shift; logarithm."""
    known = 1 / variance
    whole = known.sum(axis=-1)
    shift = (known * value).sum(axis=-1) / whole
    squares = (known * (value - shift[..., None]) ** 2).sum(axis=-1)
    n = value.shape[-1]
    return np.asarray(-(squares + np.log(variance).sum(axis=-1) + np.log(whole) + (n - 1) * np.log(2 * np.pi)) / 2)


def _product(left: Floats, right: Floats) -> Floats:
    """Sum left[query, spread, location, i, component] · right[…, j, component] over all but query, i and j."""
    queries, n = left.shape[0], left.shape[3]
    one, other = (part.transpose(0, 3, 1, 2, 4).reshape(queries, n, -1) for part in (left, right))
    return np.asarray(one @ other.transpose(0, 2, 1))
