"""Do measures order and space the systems alike?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import polars as pl

from rankdev._common.arrays import Floats
from rankdev._common.checks import check_seed, check_whole
from rankdev._common.result import Result
from rankdev.errors import DataError, UsageError
from rankdev.evaluation.scores import Scores, ScoresLike
from rankdev.statistics.panels import as_scores, carried, pairs_of, panels
from rankdev.statistics.rank_correlation import ends_of_tau, tau_ap, tau_b


@dataclass(frozen=True, eq=False, kw_only=True)
class Agreement(Result):
    """Kendall τ-b and Pearson r between measures over system means: ``tau[dataset, a, b]``, ``r`` alike.

    NaN where a measure gives all systems the same mean. ``tau_ends`` are the ends of 95% intervals of τ and of τ_ap
    between the true orders, ``[end, τ or τ_ap, dataset, a, b]``.
    """

    display: ClassVar = "rankdev.display.agreement"

    datasets: tuple[str, ...]
    measures: tuple[str, ...]
    tau: Floats = field(repr=False)
    r: Floats = field(repr=False)
    remarks: tuple[str, ...] = ()
    tau_ap: Floats | None = field(default=None, repr=False)
    tau_ends: Floats | None = field(default=None, repr=False)
    resamples: int = 0
    seed: int = 0

    made_with = ("resamples", "seed")

    def to_polars(self) -> pl.DataFrame:
        """One row a data set and pair of measures: dataset, a, b, tau, r."""
        pairs = pairs_of(self.measures)
        upper = (slice(None), *np.triu_indices(len(self.measures), 1))
        frame = pl.DataFrame(
            {
                "dataset": [name for name in self.datasets for _ in pairs],
                "a": [a for a, _ in pairs] * len(self.datasets),
                "b": [b for _, b in pairs] * len(self.datasets),
                "tau": self.tau[upper].ravel(),
                "r": self.r[upper].ravel(),
            }
        )
        return frame.fill_nan(None)

    def summary(self) -> pl.DataFrame:
        """The same with tau_ap; where there are intervals, with low and high of τ, tau_ap_low and tau_ap_high."""
        upper = (slice(None), *np.triu_indices(len(self.measures), 1))
        frame = self.to_polars()
        if self.tau_ap is not None:
            frame = frame.with_columns(tau_ap=pl.Series(self.tau_ap[upper].ravel()))
        if self.tau_ends is not None:
            for which, names in enumerate((("low", "high"), ("tau_ap_low", "tau_ap_high"))):
                ends = {name: pl.Series(self.tau_ends[end, which][upper].ravel()) for end, name in enumerate(names)}
                frame = frame.with_columns(**ends)
        return frame.fill_nan(None)


def agreement(
    scores: ScoresLike | Mapping[str, ScoresLike],
    *,
    measures: Sequence[str] | None = None,
    resamples: int = 0,
    seed: int = 0,
) -> Agreement:
    """Correlate measures over the systems' means, for each data set.

    Besides Kendall's τ-b and Pearson's r there is τ_ap, which weights the top of the order more, as the mean of both
    directions. ``resamples`` is how often true means of the systems are drawn, for 95% intervals of both between the
    orders that ever more queries would give.

    >>> values = np.array([[[0.1, 0.3]], [[0.2, 0.2]], [[0.3, 0.4]]])
    >>> scores = Scores(("x", "y", "z"), ("q",), ("P@1", "P@2"), values)
    >>> agreement(scores).to_polars().select("a", "b", "tau", "r").row(0)
    ('P@1', 'P@2', 0.3333333333333333, 0.5)
    """
    named = scores if isinstance(scores, Mapping) else {"all": scores}
    if not named:
        raise UsageError("agreement needs the scores of at least one data set")
    parts = {str(name): as_scores(part, measures) for name, part in named.items()}
    chosen = next(iter(parts.values())).measures
    for name, part in parts.items():
        if set(part.measures) != set(chosen):
            raise DataError(f"data set {name!r} has other measures than the first; name common ones in measures=")
    if len(chosen) < 2:
        raise UsageError(f"agreement needs at least two measures; got {', '.join(chosen) or 'none'}")
    resamples, seed = check_whole("resamples", resamples, 0), check_seed(seed)
    aligned = [part.select(measures=chosen) for part in parts.values()]
    tau, r, ap = (np.stack(matrices) for matrices in zip(*map(_correlations, aligned), strict=True))
    ends = np.stack([_ends(part, resamples, seed) for part in aligned], axis=2) if resamples else None
    return Agreement(
        datasets=tuple(parts),
        measures=chosen,
        tau=tau,
        r=r,
        remarks=tuple(_carried(parts)),
        tau_ap=ap,
        tau_ends=ends,
        resamples=resamples,
        seed=seed,
    )


def _ends(scores: Scores, draws: int, seed: int) -> Floats:
    """Give the ends of the intervals of τ and τ_ap between the true orders: ``[end, τ or τ_ap, a, b]``."""
    size = len(scores.measures)
    ends = np.full((2, 2, size, size), np.nan)
    for a in range(size):
        for b in range(a + 1, size):
            known = np.isfinite(scores.values[:, :, [a, b]]).all(axis=(0, 2))
            if known.sum() > 1:
                one, other = (scores.values[:, known, m].T for m in (a, b))
                rng = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, a, b])))
                ends[:, :, a, b] = ends[:, :, b, a] = ends_of_tau(one, other, draws, rng)
    return ends


def _carried(parts: Mapping[str, Scores]) -> Iterator[str]:
    for name, part in parts.items():
        yield from (line if len(parts) == 1 else f"{name}: {line}" for line in carried(part))


def _correlations(scores: Scores) -> tuple[Floats, Floats, Floats]:
    """Give τ, r and τ_ap of every two measures, over the queries that both have; unknown where there are none."""
    size = (len(scores.measures), len(scores.measures))
    tau, r, ap = (np.full(size, np.nan) for _ in range(3))
    groups = panels(scores)
    for one in groups:
        for other in groups:
            _, mine, yours = np.intersect1d(one.queries, other.queries, return_indices=True)
            if len(mine):
                a, b = one.values[mine].mean(axis=0).T, other.values[yours].mean(axis=0).T
                block = np.ix_(one.places, other.places)
                tau[block] = tau_b(a[:, None], b[None], tolerance=1e-12)
                r[block] = _pearson(a, b)
                ap[block] = (tau_ap(a[:, None], b[None], 1e-12) + tau_ap(b[None], a[:, None], 1e-12)) / 2
    return tau, r, ap


def _pearson(a: Floats, b: Floats) -> Floats:
    """Correlate each row of ``a`` with each of ``b``; unknown where a row is constant."""
    first, second = _centred(a), _centred(b)
    lengths = (np.sqrt((part**2).sum(axis=1)) for part in (first, second))
    with np.errstate(invalid="ignore"):
        r: Floats = np.clip(first @ second.T / np.outer(*lengths), -1.0, 1.0)
    return r


def _centred(means: Floats) -> Floats:
    centred = means - means.mean(axis=1, keepdims=True)
    centred[np.ptp(means, axis=1) <= 1e-12] = 0.0
    return centred
