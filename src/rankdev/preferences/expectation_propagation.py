"""Posterior of strengths given pairwise answers, by expectation propagation.

Strengths are normal a priori; answers follow Bradley and Terry's model, or Davidson's where there are ties, and a
fraction of them is random. Each pair's likelihood is approximated by a normal factor (a site) of the difference of its
two strengths, so that mean and variance of the difference are right given all other sites. Unlike Laplace's method at
the mode, it holds where a judge is nearly consistent, and whatever chose the pairs (Minka 2001).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rankdev._common.arrays import Floats, Ints

NODES, FEW_NODES = 31, 15  # of the numerical integration over one difference, and over a narrow one
NARROW = 16.0  # variance of such a difference, or 1 + a quarter of answers × variance, at most
REACH = 6.0  # standard deviations that it covers
DAMPING = 0.8  # fraction of a site's change that is made at once, from the second sweep on
WILD = 1.0  # standard deviations: sites that still move by more have run away
CAUTIOUS, LONG = 0.2, 60  # what DAMPING is then, and the number of sweeps
SMALLEST = 1e-8  # precision of a site
NEWTON = 6
TOGETHER = 2048  # differences that are integrated at a time: few enough for the processor's cache


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers of several problems, ``[problem, pair]``: how often the first item won, lost and tied.

    Every pair occurs once in a problem; problems with fewer pairs are padded with pairs of item 0 with itself.
    """

    first: Ints
    second: Ints
    won: Floats
    lost: Floats
    tied: Floats

    @classmethod
    def of_wins(cls, wins: Floats) -> Answers:
        """Take ``wins[problem, item, other]``; a tie is half a win for each."""
        problems, n, _ = wins.shape
        i, j = np.triu_indices(n, 1)
        counts = wins[:, i, j] + wins[:, j, i]
        width = max(1, int((counts > 0).sum(axis=1).max(initial=0)))
        kept = np.argsort(counts <= 0, axis=1, kind="stable")[:, :width]  # pairs with answers first
        if not len(i):
            nothing = np.zeros((problems, 1))
            return cls(nothing.astype(np.int64), nothing.astype(np.int64), nothing, nothing, nothing)
        row = np.arange(problems)[:, None]
        real = counts[row, kept] > 0
        first, second = np.where(real, i[kept], 0), np.where(real, j[kept], 0)
        return cls(first, second, wins[row, first, second], wins[row, second, first], np.zeros(first.shape))

    @property
    def number(self) -> Floats:
        """Number of answers to each pair."""
        return self.won + self.lost + self.tied

    def rows(self, chosen: Ints) -> Answers:
        """Choose problems, or repeat them."""
        return Answers(*(part[chosen] for part in vars(self).values()))


@dataclass(frozen=True, eq=False)
class Prior:
    """Strengths N(``mean``, ``deviation``²), ``[problem, item]`` and ``[problem]``; and how answers come about.

    A fraction ``lapse`` of the answers is random. ``tie_rate`` is Davidson's ν; 0 counts a tie as half a win each.
    """

    mean: Floats
    deviation: Floats
    lapse: Floats
    tie_rate: float = 0.0

    def rows(self, chosen: Ints) -> Prior:
        """Choose problems."""
        return Prior(self.mean[chosen], self.deviation[chosen], self.lapse[chosen], self.tie_rate)


@dataclass(frozen=True, eq=False)
class Normal:
    """Normal approximations: means, covariances and log evidence of each problem; and the sites they are made of."""

    mean: Floats
    covariance: Floats
    evidence: Floats
    precision: Floats  # of each site, [problem, pair]
    shift: Floats  # precision × mean of each site
    above: Floats  # probability that the first item of each pair is stronger; no normal approximation

    def difference(self, i: Ints, j: Ints) -> tuple[Floats, Floats]:
        """Mean and variance of the difference of items i and j, ``[problem, pair]``."""
        variance = self.covariance[:, i, i] + self.covariance[:, j, j] - 2 * self.covariance[:, i, j]
        return self.mean[:, i] - self.mean[:, j], np.maximum(variance, 1e-12)


def propagate(
    answers: Answers,
    prior: Prior,
    start: tuple[Floats, Floats] | None = None,
    *,
    sweeps: int = 20,
    tolerance: float = 1e-4,
) -> Normal:
    """Approximate the posterior; ``start`` are the sites of an earlier one (precision, shift) to begin with.

    Problems are finished one by one, so that the result of one does not depend on the others. Where answers contradict
    each other under a prior of large differences, sites may run away: they still move by more than a standard deviation
    at the end, or the evidence, a log probability, is above 0. Such problems are begun again in small steps, and if the
    evidence stays above 0 have that of random answers, which is less than theirs.
    """
    found, change = _propagated(answers, prior, start, DAMPING, sweeps, tolerance)
    wild = np.flatnonzero((change > WILD) | ~(found.evidence <= 0))
    if len(wild):
        tamed, _ = _propagated(answers.rows(wild), prior.rows(wild), None, CAUTIOUS, LONG, tolerance)
        at_random = answers.number[wild].sum(axis=1) * np.log(np.maximum(prior.lapse[wild], 1e-3) / 3)
        np.copyto(tamed.evidence, at_random, where=~(tamed.evidence <= 0))
        for name, values in vars(tamed).items():
            getattr(found, name)[wild] = values
    return found


def _propagated(
    answers: Answers,
    prior: Prior,
    start: tuple[Floats, Floats] | None,
    damping: float,
    sweeps: int,
    tolerance: float,
) -> tuple[Normal, Floats]:
    """Approximate the posterior; and return how far the sites of each problem moved at last, in standard deviations."""
    i, j, number = answers.first, answers.second, answers.number
    precision, shift = (np.zeros(i.shape) if start is None else start[k].copy() for k in range(2))
    log_mass, centre, above = np.zeros((3, *i.shape))
    rest = np.ones(i.shape)  # precision of the cavity: of the difference without this site
    active, moved = np.arange(len(i)), np.zeros(len(i))
    for sweep in range(sweeps):
        row = np.arange(len(active))[:, None]
        found = _combine(answers.rows(active), prior.rows(active), precision[active], shift[active])
        variance = _variance(found.covariance, row, i[active], j[active])
        at, pair = np.nonzero(number[active])
        used = active[at], pair
        v, d = variance[at, pair], found.mean[at, i[used]] - found.mean[at, j[used]]
        rest[used] = np.maximum(1 / v - precision[used], 1e-6)
        centre[used] = (d / v - shift[used]) / rest[used]
        each = centre[used], answers.won[used], answers.lost[used], answers.tied[used], prior.lapse[active[at]]
        log_mass[used], mean, spread, above[used] = _tilted_in_parts(1 / rest[used], number[used], each, prior.tie_rate)
        new_precision = np.maximum(1 / spread - rest[used], SMALLEST)
        # the mean stays right where the precision is too small, so that sites of random answers do not run away
        new_shift = mean * (new_precision + rest[used]) - centre[used] * rest[used]
        change = np.zeros(len(active))
        np.maximum.at(change, at, np.abs((new_precision - precision[used]) * v))
        np.maximum.at(change, at, np.abs((new_shift - shift[used]) * np.sqrt(v)))
        moved[active] = change
        moves = change >= tolerance
        step = np.where(moves[at], damping if sweep or damping < DAMPING else 1.0, 0.0)
        precision[used] += step * (new_precision - precision[used])
        shift[used] += step * (new_shift - shift[used])
        active = active[moves]
        if not len(active):
            break
    found = _combine(answers, prior, precision, shift)
    # at a fixed point: what each site lacks, and the integral of prior × sites
    both = rest + precision
    scale = log_mass + 0.5 * np.log(both / rest) + 0.5 * (centre**2 * rest - (centre * rest + shift) ** 2 / both)
    return replace(found, evidence=found.evidence + scale.sum(axis=1), above=above), moved


def _tilted_in_parts(variance: Floats, number: Floats, columns: tuple[Floats, ...], tie_rate: float) -> Floats:
    """Compute :func:`tilted` of many differences, those that are narrow with fewer nodes."""
    result = np.empty((4, len(variance)))
    narrow = np.maximum(variance, 1 + number * variance / 4) < NARROW
    for kind, nodes in ((narrow, FEW_NODES), (~narrow, NODES)):
        chosen = np.flatnonzero(kind)
        for start in range(0, len(chosen), TOGETHER):
            mine = chosen[start : start + TOGETHER]
            centre, won, lost, tied, lapse = (column[mine] for column in columns)
            result[:, mine] = tilted(centre, variance[mine], won, lost, tied, lapse, tie_rate, nodes)
    return result


def tilted(
    centre: Floats,
    variance: Floats,
    won: Floats,
    lost: Floats,
    tied: Floats,
    lapse: Floats,
    tie_rate: float,
    nodes: int = NODES,
) -> tuple[Floats, ...]:
    """Log integral, mean, variance and share above 0 of N(centre, variance) × likelihood, by numerical integration.

    The nodes are dense around the mode, where the likelihood may change quickly, and sparse in the tails: there the
    product falls at least as fast as the normal itself.
    """
    spread = np.sqrt(variance)
    mode, curvature = _mode(centre, variance, won + tied / 2, lost + tied / 2)
    scale = 1.5 / np.sqrt(np.maximum(1.0, curvature))
    high = np.arcsinh(REACH * spread / scale)
    step = 2 * high / (nodes - 1)
    grown = np.exp(high[..., None] * np.linspace(-1, 1, nodes))
    x = mode[..., None] + (scale / 2)[..., None] * (grown - 1 / grown)
    likelihood, log_scale = _likelihood(x, won, lost, tied, lapse, tie_rate)
    away = ((mode - centre) / spread) ** 2 / 2
    density = np.exp(np.minimum(away[..., None] - 0.5 * ((x - centre[..., None]) / spread[..., None]) ** 2, 600.0))
    mass = density * likelihood * (grown + 1 / grown)
    whole = np.maximum(mass.sum(axis=-1), 1e-300)
    mean = (mass * x).sum(axis=-1) / whole
    second = (mass * (x - mean[..., None]) ** 2).sum(axis=-1) / whole
    log_mass = np.log(whole * step * scale / 2 / spread) + log_scale - away - 0.5 * np.log(2 * np.pi)
    width = (step * scale / 2)[..., None] * (grown + 1 / grown)
    above = (mass * np.clip(0.5 + x / width, 0, 1)).sum(axis=-1) / whole
    return log_mass, mean, np.maximum(second, 1e-12), above


def _mode(centre: Floats, variance: Floats, won: Floats, lost: Floats) -> tuple[Floats, Floats]:
    """Mode of N(centre, variance) × likelihood of answers without lapses, ties half a win each; and its curvature."""
    mode = np.log((won + 0.5) / (lost + 0.5))
    for _ in range(NEWTON):
        chance = 0.5 + 0.5 * np.tanh(mode / 2)
        curvature = 1 / variance + (won + lost) * chance * (1 - chance)
        mode = mode + (won - (won + lost) * chance - (mode - centre) / variance) / curvature
    return mode, curvature


def _likelihood(
    d: Floats, won: Floats, lost: Floats, tied: Floats, lapse: Floats, tie_rate: float
) -> tuple[Floats, Floats]:
    """Probability of the answers to each pair at differences ``d[…, node]``, and the log of its scale."""
    won, lost, tied, lapse = (part[..., None] for part in (won, lost, tied, lapse))
    if tie_rate == 0:
        won, lost, tied = won + tied / 2, lost + tied / 2, 0.0 * tied
    if tie_rate == 0 and (won + lost == 1).all() and (won * lost == 0).all():  # the usual case, and the quickest
        chance = 1 / (1 + np.exp(np.minimum(np.where(won == 1, -d, d), 700.0)))
        return lapse / 2 + (1 - lapse) * chance, np.zeros(d.shape[:-1])
    if lapse.any():
        win, loss, tie = chances(d, lapse, tie_rate)
        found = won * np.log(np.maximum(win, 1e-300)) + lost * np.log(np.maximum(loss, 1e-300))
        if tie_rate:
            found += tied * np.log(np.maximum(tie, 1e-300))
    else:
        size = np.abs(d)
        small = np.exp(-size)
        total = 1 + small + tie_rate * np.sqrt(small) if tie_rate else 1 + small
        found = (won - lost) / 2 * d - (won + lost + tied) * (size / 2 + np.log(total))
        if tie_rate:
            found += tied * np.log(tie_rate)
    top = found.max(axis=-1, keepdims=True)
    return np.exp(found - top), top[..., 0]


def chances(d: Floats, lapse: Floats | float, tie_rate: float) -> tuple[Floats, Floats, Floats]:
    """Probabilities that the first wins, loses and ties, at differences d (Davidson 1970, with random answers)."""
    small = np.exp(-np.abs(d))
    tie = tie_rate * np.sqrt(small) if tie_rate else np.zeros(())
    total = 1 + small + tie
    better, worse = 1 / total, small / total
    at_random = lapse / (3 if tie_rate else 2)
    win, loss = np.where(d > 0, better, worse), np.where(d > 0, worse, better)
    return at_random + (1 - lapse) * win, at_random + (1 - lapse) * loss, at_random + (1 - lapse) * tie / total


def _combine(answers: Answers, prior: Prior, precision: Floats, shift: Floats) -> Normal:
    """Multiply prior and sites; ``evidence`` is the log integral of the product, the sites without constants."""
    from scipy.linalg.lapack import dpotrf, dtrtri

    problems, n = prior.mean.shape
    row, i, j = np.arange(problems)[:, None], answers.first, answers.second
    own = (prior.deviation**-2.0)[:, None]
    known = np.zeros((problems, n, n))
    known[row, i, j], known[row, j, i] = -precision, -precision
    known[:, np.arange(n), np.arange(n)] = 0.0  # padding
    known[:, np.arange(n), np.arange(n)] = own - known.sum(axis=2)
    pull = own * prior.mean
    np.add.at(pull, (row, i), shift)
    np.add.at(pull, (row, j), -shift)
    inverse, log_size = np.empty_like(known), np.empty(problems)
    for problem in range(problems):  # dpotri would start threads for any size, which wait for each other
        factor, _ = dpotrf(known[problem])
        inverse[problem], _ = dtrtri(factor)
        log_size[problem] = np.log(factor.diagonal()).sum()
    covariance = inverse @ inverse.transpose(0, 2, 1)
    mean = np.einsum("pij,pj->pi", covariance, pull)
    evidence = 0.5 * (pull * mean).sum(axis=1) - 0.5 * own[:, 0] * (prior.mean**2).sum(axis=1)
    evidence += n / 2 * np.log(own[:, 0]) - log_size
    return Normal(mean, covariance, evidence, precision, shift, np.zeros(0))


def _variance(covariance: Floats, row: Ints, i: Ints, j: Ints) -> Floats:
    return np.maximum(covariance[row, i, i] + covariance[row, j, j] - 2 * covariance[row, i, j], 1e-12)
