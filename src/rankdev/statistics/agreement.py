"""Agreement between measures: do they order and space the systems alike?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import polars as pl

from rankdev._common.arrays import Floats
from rankdev._common.checks import check_seed, check_whole
from rankdev._common.result import Result
from rankdev.errors import DataError, Note, UsageError
from rankdev.evaluation.scores import Scores, ScoresLike
from rankdev.statistics.panels import about_clusters, as_scores, carried, numbered, pairs_of, panels, summed
from rankdev.statistics.rank_correlation import tau_ap, tau_b, tau_limits

SAMPLED = "drawn for the intervals"


@dataclass(frozen=True, eq=False, kw_only=True)
class Agreement(Result):
    """Rank correlation and Pearson correlation between measures, over the means of the systems.

    Attributes
    ----------
    datasets : tuple of str
        Names of the data sets.
    measures : tuple of str
        Measures that are correlated.
    tau : ndarray
        Kendall's τ-b, ``[dataset, a, b]``; NaN where a measure has the same mean for all systems.
    r : ndarray
        Pearson's r, in the same layout.
    remarks : tuple of str
        Notes on the scores, such as queries that were left out.
    tau_ap : ndarray, optional
        τ_ap, in the same layout: the mean of both directions.
    tau_limits : ndarray, optional
        Limits of 95% intervals of τ and τ_ap at infinitely many queries, ``[limit, τ or τ_ap, dataset, a, b]``.
    resamples : int
        Posterior draws behind the intervals; 0 without intervals.
    seed : int
        Seed of these draws.

    See Also
    --------
    agreement : Returns it.
    """

    display: ClassVar = "rankdev.display.agreement"

    datasets: tuple[str, ...]
    measures: tuple[str, ...]
    tau: Floats = field(repr=False)
    r: Floats = field(repr=False)
    remarks: tuple[str, ...] = ()
    tau_ap: Floats | None = field(default=None, repr=False)
    tau_limits: Floats | None = field(default=None, repr=False)
    resamples: int = 0
    seed: int = 0

    made_with = ("resamples", "seed")

    @property
    def _unused(self) -> tuple[str, ...]:
        return () if self.resamples else ("seed",)

    def to_polars(self) -> pl.DataFrame:
        """Return one row per data set and pair of measures.

        Returns
        -------
        polars.DataFrame
            Columns dataset, a, b, tau, r.

        Examples
        --------
        >>> import rankdev as rd
        >>> values = np.array([[[0.1, 0.3]], [[0.2, 0.2]], [[0.3, 0.4]]])
        >>> scores = rd.Scores(("x", "y", "z"), ("q",), ("P@1", "P@2"), values)
        >>> rd.agreement(scores).to_polars().columns
        ['dataset', 'a', 'b', 'tau', 'r']
        """
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
        """Return the table with τ_ap and, where there are any, the intervals.

        Returns
        -------
        polars.DataFrame
            Columns dataset, a, b, tau, r, tau_ap; with intervals also low and high (of τ), tau_ap_low, tau_ap_high.

        Examples
        --------
        >>> import rankdev as rd
        >>> values = np.array([[[0.1, 0.3]], [[0.2, 0.2]], [[0.3, 0.4]]])
        >>> scores = rd.Scores(("x", "y", "z"), ("q",), ("P@1", "P@2"), values)
        >>> rd.agreement(scores).summary()["tau_ap"].to_list()
        [0.5]
        """
        upper = (slice(None), *np.triu_indices(len(self.measures), 1))
        frame = self.to_polars()
        if self.tau_ap is not None:
            frame = frame.with_columns(tau_ap=pl.Series(self.tau_ap[upper].ravel()))
        if self.tau_limits is not None:
            for which, names in enumerate((("low", "high"), ("tau_ap_low", "tau_ap_high"))):
                limits = {name: pl.Series(self.tau_limits[i, which][upper].ravel()) for i, name in enumerate(names)}
                frame = frame.with_columns(**limits)
        return frame.fill_nan(None)


def agreement(
    scores: ScoresLike | Mapping[str, ScoresLike],
    *,
    measures: Sequence[str] | None = None,
    resamples: int = 0,
    clusters: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> Agreement:
    """Correlate measures over the means of the systems, for each data set.

    Kendall's τ-b and Pearson's r, and τ_ap, which weights the top of the ranking more (the mean of both directions).

    Parameters
    ----------
    scores : Scores, table, path, or dict of str to these
        Scores of one data set, or of several by name.
    measures : sequence of str, optional
        Measures to correlate. Default: all.
    resamples : int, default 0
        Number of posterior draws used for 95% intervals of τ and τ_ap at infinitely many queries; 0 for no intervals.
    clusters : dict of str to str, optional
        The cluster of each query, as in :func:`significance`. The intervals are then over clusters.
    seed : int, default 0
        Seed of these draws.

    Returns
    -------
    Agreement
        Correlations of every two measures, for each data set.

    Examples
    --------
    >>> import rankdev as rd
    >>> values = np.array([[[0.1, 0.3]], [[0.2, 0.2]], [[0.3, 0.4]]])
    >>> scores = rd.Scores(("x", "y", "z"), ("q",), ("P@1", "P@2"), values)
    >>> rd.agreement(scores).to_polars().select("a", "b", "tau", "r").row(0)
    ('P@1', 'P@2', 0.3333333333333333, 0.5)
    """
    named = scores if isinstance(scores, Mapping) else {"all": scores}
    if not named:
        raise UsageError("none-given", what="collections")
    parts = {str(name): as_scores(part, measures).oriented for name, part in named.items()}
    chosen = next(iter(parts.values())).measures
    for name, part in parts.items():
        if set(part.measures) != set(chosen):
            raise DataError("unlike-collection", collection=name)
    if len(chosen) < 2:
        raise UsageError("too-few", what="agreement", least=2, unit="measure", count=len(chosen))
    resamples, seed = check_whole("resamples", resamples, 0), check_seed(seed)
    if clusters is not None and not resamples:
        raise UsageError("needed", name="resamples", use="clusters")
    aligned = [part.select(measures=chosen) for part in parts.values()]
    tau, r, ap = (np.stack(matrices) for matrices in zip(*map(_correlations, aligned), strict=True))
    limits = np.stack([_limits(part, clusters, resamples, seed) for part in aligned], axis=2) if resamples else None
    outside = [] if limits is None else _outside(chosen, tau, limits[:, 0])
    return Agreement(
        datasets=tuple(parts),
        measures=chosen,
        tau=tau,
        r=r,
        remarks=(
            *outside,
            *(line for part in aligned for line in about_clusters(part, clusters, SAMPLED)),
            *(note if len(parts) == 1 else note.at(collection=name) for name in parts for note in carried(parts[name])),
        ),
        tau_ap=ap,
        tau_limits=limits,
        resamples=resamples,
        seed=seed,
    )


def _limits(scores: Scores, clusters: Mapping[str, Any] | None, draws: int, seed: int) -> Floats:
    """Return the limits of the intervals of τ and τ_ap between the true orders: ``[limit, τ or τ_ap, a, b]``."""
    size = len(scores.measures)
    limits = np.full((2, 2, size, size), np.nan)
    for a in range(size):
        for b in range(a + 1, size):
            known = np.isfinite(scores.values[:, :, [a, b]]).all(axis=(0, 2))
            if known.sum() > 1:
                one, other = (scores.values[:, known, m].T for m in (a, b))
                if clusters is not None:
                    members = numbered(scores, np.flatnonzero(known), clusters)
                    one, other = (summed(values, members)[0] for values in (one, other))
                rng = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, a, b])))
                limits[:, :, a, b] = limits[:, :, b, a] = tau_limits(one, other, draws, rng)
    return limits


def _outside(measures: Sequence[str], tau: Floats, limits: Floats) -> list[Note]:
    """Explain where a τ is outside its own interval, which is about the true order of systems."""
    low, high = limits
    with np.errstate(invalid="ignore"):
        places = np.argwhere(np.triu((tau < low) | (tau > high), 1))
    if not len(places):
        return []
    dataset, a, b = places[0]
    found, *ends = (float(values[dataset, a, b]) for values in (tau, low, high))
    shown = {"a": measures[a], "b": measures[b], "tau": found, "low": ends[0], "high": ends[1]}
    return [Note("outside-interval", count=len(places), **shown)]


def _correlations(scores: Scores) -> tuple[Floats, Floats, Floats]:
    """Return τ, r and τ_ap of every two measures, over the queries that both have; NaN where there are none."""
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
    """Correlate each row of ``a`` with each of ``b``; NaN where a row is constant."""
    first, second = _centred(a), _centred(b)
    lengths = (np.sqrt((part**2).sum(axis=1)) for part in (first, second))
    with np.errstate(invalid="ignore"):
        r: Floats = np.clip(first @ second.T / np.outer(*lengths), -1.0, 1.0)
    return r


def _centred(means: Floats) -> Floats:
    centred = means - means.mean(axis=1, keepdims=True)
    centred[np.ptp(means, axis=1) <= 1e-12] = 0.0
    return centred
