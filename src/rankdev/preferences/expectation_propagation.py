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

NODES = 31  # of the numerical integration over one difference
REACH = 6.0  # standard deviations that it covers
DAMPING = 0.8  # fraction of a site's change that is made at once, from the second sweep on
SMALLEST = 1e-8  # precision of a site
NEWTON = 6
EVENLY = np.linspace(-1, 1, NODES)


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

    def repeat(self, problems: int) -> Answers:
        """Repeat the answers of one problem."""
        return Answers(*(np.broadcast_to(part, (problems, part.shape[1])) for part in vars(self).values()))


@dataclass(frozen=True, eq=False)
class Prior:
    """Strengths N(``mean``, ``deviation``²), ``[problem, item]`` and ``[problem]``; and how answers come about.

    A fraction ``lapse`` of the answers is random. ``tie_rate`` is Davidson's ν; 0 counts a tie as half a win each.
    """

    mean: Floats
    deviation: Floats
    lapse: Floats
    tie_rate: float = 0.0


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
    """Approximate the posterior; ``start`` are the sites of an earlier one (precision, shift) to begin with."""
    row = np.arange(len(prior.mean))[:, None]
    i, j, used = answers.first, answers.second, answers.number > 0
    precision, shift = (np.zeros(i.shape), np.zeros(i.shape)) if start is None else start
    for sweep in range(sweeps):
        found = _combine(answers, prior, precision, shift)
        d, v = found.mean[row, i] - found.mean[row, j], np.where(used, _variance(found.covariance, row, i, j), 1.0)
        rest = np.maximum(1 / v - precision, 1e-6)  # precision of the cavity: the difference without this site
        centre = (d / v - shift) / rest
        log_mass, mean, variance, above = tilted(centre, 1 / rest, answers, prior)
        new_precision = np.where(used, np.maximum(1 / variance - rest, SMALLEST), 0.0)
        new_shift = np.where(used, mean / variance - centre * rest, 0.0)
        change = max(
            np.abs((new_precision - precision) * v).max(initial=0),
            np.abs((new_shift - shift) * np.sqrt(v)).max(initial=0),
        )
        if change < tolerance:
            break
        step = DAMPING if sweep else 1.0
        precision = precision + step * (new_precision - precision)
        shift = shift + step * (new_shift - shift)
    else:
        found = _combine(answers, prior, precision, shift)
    # at a fixed point: what each site lacks, and the integral of prior × sites
    both = rest + precision
    scale = log_mass + 0.5 * np.log(both / rest) + 0.5 * (centre**2 * rest - (centre * rest + shift) ** 2 / both)
    return replace(found, evidence=found.evidence + np.where(used, scale, 0.0).sum(axis=1), above=above)


def tilted(centre: Floats, variance: Floats, answers: Answers, prior: Prior) -> tuple[Floats, ...]:
    """Log integral, mean, variance and share above 0 of N(centre, variance) × likelihood, by numerical integration.

    The nodes are dense around the mode, where the likelihood may change quickly, and sparse in the tails: there the
    product falls at least as fast as the normal itself.
    """
    spread = np.sqrt(variance)
    mode, curvature = _mode(centre, variance, answers)
    scale = 1.5 / np.sqrt(np.maximum(1.0, curvature))
    high = np.arcsinh(REACH * spread / scale)
    step = 2 * high / (NODES - 1)
    grown = np.exp(high[..., None] * EVENLY)
    x = mode[..., None] + (scale / 2)[..., None] * (grown - 1 / grown)
    likelihood, log_scale = _likelihood(x, answers, prior)
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


def _mode(centre: Floats, variance: Floats, answers: Answers) -> tuple[Floats, Floats]:
    """Mode of N(centre, variance) × likelihood of answers without lapses, ties half a win each; and its curvature."""
    won, lost = answers.won + answers.tied / 2, answers.lost + answers.tied / 2
    mode = np.log((won + 0.5) / (lost + 0.5))
    for _ in range(NEWTON):
        chance = 0.5 + 0.5 * np.tanh(mode / 2)
        curvature = 1 / variance + (won + lost) * chance * (1 - chance)
        mode = mode + (won - (won + lost) * chance - (mode - centre) / variance) / curvature
    return mode, curvature


def _likelihood(d: Floats, answers: Answers, prior: Prior) -> tuple[Floats, Floats]:
    """Probability of the answers to each pair at differences ``d[problem, pair, node]``, and the log of its scale."""
    won, lost, tied = (part[..., None] for part in (answers.won, answers.lost, answers.tied))
    lapse = prior.lapse[:, None, None]
    if prior.tie_rate == 0 and not tied.any() and (won + lost == 1).all():  # the usual case, and the quickest
        chance = 1 / (1 + np.exp(np.minimum(np.where(won == 1, -d, d), 700.0)))
        return lapse / 2 + (1 - lapse) * chance, np.zeros(d.shape[:2])
    if prior.tie_rate == 0:
        won, lost = won + tied / 2, lost + tied / 2
    win, loss, tie = chances(d, lapse, prior.tie_rate)
    found = won * np.log(np.maximum(win, 1e-300)) + lost * np.log(np.maximum(loss, 1e-300))
    if prior.tie_rate:
        found += tied * np.log(np.maximum(tie, 1e-300))
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
