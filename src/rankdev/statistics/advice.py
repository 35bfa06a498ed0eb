"""Which of several measures has the most power for these systems, and which may have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import polars as pl
from scipy import special

from rankdev._common.arrays import Bools, Floats
from rankdev._common.checks import FINEST, check_kind, check_number
from rankdev._common.result import Result
from rankdev.errors import DataError, UsageError, listed
from rankdev.evaluation.losses import Losses
from rankdev.evaluation.scores import Scores, ScoresLike
from rankdev.statistics.contrasts import AT_ONCE
from rankdev.statistics.panels import about_clusters, as_scores, carried, panels
from rankdev.statistics.power.student import LIMIT, power_of, queries_for, smallest

LEAST = 10  # queries below which nothing is said
ROUNDING = 1e-12
LARGEST = 10.0  # effect of a difference that is the same for all queries


@dataclass(frozen=True, eq=False, kw_only=True)
class Advice(Result):
    """Mean power of measures over all pairs of systems, and the measures that may have the most.

    Attributes
    ----------
    systems, measures : tuple of str
        Systems whose pairs are to be distinguished, and the measures to choose from.
    n : int
        Number of queries at which power is compared: where its mean over measures and pairs is half of what any
        number of queries would reach.
    power : ndarray
        Mean power of each measure at n queries.
    behind : ndarray
        ``[measure, 3]``: how far each measure's power is behind the best one's, and the limits of an interval.
    may_be_best : ndarray
        Measures that no other is significantly better than, by power and by the mean effect (differences in standard
        deviations). The measure that is truly best is one of them with probability 1 - alpha.
    needed : ndarray
        Queries at which the power of the median pair is 0.8 (N80); infinite above ten million.
    opposed : ndarray
        Fraction of pairs of systems that each measure orders differently from the best one.
    losses : Losses, optional
        What the systems lose, by retrieval, cutoff and order.
    queries : int
        Queries, or clusters of them, that all systems and measures have a value for.
    alpha : float
        Level of the tests, and of this choice.
    remarks : tuple of str
        Notes on the scores.

    See Also
    --------
    rankdev.advise : Returns it.
    """

    display: ClassVar = "rankdev.display.agreement"
    made_with = ("n", "alpha")

    systems: tuple[str, ...]
    measures: tuple[str, ...]
    n: int
    power: Floats = field(repr=False)
    behind: Floats = field(repr=False)
    may_be_best: Bools = field(repr=False)
    needed: Floats = field(repr=False)
    opposed: Floats = field(repr=False)
    losses: Losses | None = field(default=None, repr=False)
    queries: int
    alpha: float = 0.05
    remarks: tuple[str, ...] = ()

    @property
    def best(self) -> str:
        """The measure with the most power here.

        Examples
        --------
        >>> import rankdev as rd
        >>> rng = np.random.default_rng(0)
        >>> values = rng.normal([[[0.5, 0.1]], [[0.0, 0.0]]], 1.0, (2, 40, 2))
        >>> rd.advise(rd.Scores(("x", "y"), tuple("q%d" % i for i in range(40)), ("P@1", "P@2"), values)).best
        'P@1'
        """
        return self.measures[int(np.argmax(self.power))]

    @property
    def shares(self) -> dict[str, float]:
        """What the systems' differences are made of: the mean distance of each kind of loss, as a fraction of all.

        Examples
        --------
        >>> import rankdev as rd
        >>> references = {"q%d" % i: ["a", "b"] for i in range(10)}
        >>> runs = {"x": {q: ["a", "b"] for q in references}, "y": {q: ["b", "a"] for q in references}}
        >>> scores, lost = rd.evaluate(references, runs, ["RDQ@2", "P@1"]), rd.losses(references, runs, "RDQ@2")
        >>> rd.advise(scores, losses=lost).shares
        {'retrieval': 0.0, 'cutoff': 0.0, 'order': 1.0}
        """
        if self.losses is None:
            return {}
        rows = self.losses.to_polars()
        parts = {name: rows[f"lost_by_{name}"].to_numpy() for name in ("retrieval", "cutoff", "order")}
        apart = {name: float(np.abs(np.subtract.outer(part, part)).mean()) for name, part in parts.items()}
        total = sum(apart.values())
        return {name: value / total for name, value in apart.items()} if total > ROUNDING else {}

    @property
    def conclusion(self) -> str:
        """The advice as text.

        Examples
        --------
        >>> import rankdev as rd
        >>> rng = np.random.default_rng(0)
        >>> values = rng.normal([[[0.5, 0.1]], [[0.0, 0.0]]], 1.0, (2, 40, 2))
        >>> scores = rd.Scores(("x", "y"), tuple("q%d" % i for i in range(40)), ("P@1", "P@2"), values)
        >>> rd.advise(scores).conclusion
        'Use P@1: it has the most power to distinguish these systems. Not P@2.'
        """
        rows = self.to_polars()
        others = rows.filter("may_be_best", pl.col("measure") != self.best)["measure"].to_list()
        worse = rows.filter(~pl.col("may_be_best"))["measure"].to_list()
        if not worse:
            no_difference = "No measure is significantly better than another at distinguishing these systems"
            return f"{no_difference}: choose by what users want."
        as_good = f"; {listed(others)} may be as good" if others else ""
        return f"Use {self.best}: it has the most power to distinguish these systems{as_good}. Not {listed(worse)}."

    def to_polars(self) -> pl.DataFrame:
        """Return one row per measure, the one with the most power first.

        Returns
        -------
        polars.DataFrame
            Columns measure, power, behind, low, high, may_be_best, needed, opposed.

        Examples
        --------
        >>> import rankdev as rd
        >>> rng = np.random.default_rng(0)
        >>> values = rng.normal([[[0.5, 0.1]], [[0.0, 0.0]]], 1.0, (2, 40, 2))
        >>> scores = rd.Scores(("x", "y"), tuple("q%d" % i for i in range(40)), ("P@1", "P@2"), values)
        >>> rd.advise(scores).to_polars()["measure"].to_list()
        ['P@1', 'P@2']
        """
        columns = {
            "measure": self.measures,
            "power": self.power,
            **{name: self.behind[:, i] for i, name in enumerate(("behind", "low", "high"))},
            "may_be_best": self.may_be_best,
            "needed": self.needed,
            "opposed": self.opposed,
        }
        return pl.DataFrame(columns).sort("power", descending=True, maintain_order=True)


def advise(
    scores: ScoresLike,
    *,
    measures: Sequence[str] | None = None,
    losses: Losses | None = None,
    clusters: Mapping[str, Any] | None = None,
    alpha: float = 0.05,
) -> Advice:
    """Estimate which measure needs the fewest queries to distinguish these systems, and which may need as few.

    The queries at hand are a pilot: the power of the paired t-test follows from the mean and the standard deviation of
    each pair's differences, and a jackknife over queries estimates how much of a lead is chance. Only power is
    compared: a measure may detect differences that no user notices. Decide first what to measure, then
    choose by power.

    Parameters
    ----------
    scores : Scores, table or path
        Scores of at least two systems under at least two measures, for at least ten queries.
    measures : sequence of str, optional
        Measures to choose from. Default: all.
    losses : Losses, optional
        What :func:`losses` found for these systems, to report what they differ in.
    clusters : dict of str to str, optional
        The cluster of each query, as in :func:`significance`. Clusters are then counted, not queries.
    alpha : float, default 0.05
        Level of the test whose power is compared, and probability that the best measure is not among those kept.

    Returns
    -------
    Advice
        Power, queries needed, and whether each measure may be the best.

    Examples
    --------
    >>> import rankdev as rd
    >>> rng = np.random.default_rng(0)
    >>> values = rng.normal([[[0.5, 0.1]], [[0.0, 0.0]]], 1.0, (2, 40, 2))
    >>> scores = rd.Scores(("x", "y"), tuple("q%d" % i for i in range(40)), ("P@1", "P@2"), values)
    >>> rd.advise(scores).may_be_best.tolist()
    [True, False]
    """
    chosen = as_scores(scores, measures).oriented
    alpha = check_number("alpha", alpha, FINEST, 1)
    if losses is not None:
        check_kind("losses", losses, Losses, "make them with rd.losses(references, runs)")
    if len(chosen.measures) < 2:
        raise UsageError(f"advice needs at least two measures; got {', '.join(chosen.measures) or 'none'}")
    common = _common(chosen)
    (panel,) = panels(common, clusters=clusters)
    values = panel.values.transpose(2, 1, 0)
    count = values.shape[2]
    if count < LEAST:
        what = "queries" if clusters is None else "clusters"
        raise DataError(f"advice needs at least {LEAST} {what} that every measure has a value for; got {count}")
    pairs = np.triu_indices(len(common.systems), 1)
    differences = [part[pairs[0]] - part[pairs[1]] for part in values]
    effects = np.stack([_effect(part.mean(axis=1), part.var(axis=1, ddof=1)) for part in differences])
    n = _middle(effects, alpha)
    power = power_of(n, alpha)(effects).mean(axis=1)
    parts = [_without_each(part, n, alpha) for part in differences]
    error, size_error = (_error(np.stack(each)) for each in zip(*parts, strict=True))
    lead, limit = power[:, None] - power, special.stdtrit(count - 1, 1 - alpha / 2 / (len(power) - 1))
    size = np.abs(effects).mean(axis=1)
    better = (lead > limit * error) & (size[:, None] - size > limit * size_error)
    best = int(np.argmax(power))
    spread = limit * error[best]
    signs = np.sign(effects)
    return Advice(
        systems=common.systems,
        measures=common.measures,
        n=n,
        power=power,
        behind=np.clip(np.column_stack([lead[best], lead[best] - spread, lead[best] + spread]), -1, 1),
        may_be_best=~better.any(axis=0),
        needed=np.array([queries_for(size, 0.8, alpha) for size in np.median(np.abs(effects), axis=1)]),
        opposed=(signs * signs[best] < 0).mean(axis=1),
        losses=losses,
        queries=count,
        alpha=alpha,
        remarks=(*about_clusters(common, clusters), *carried(chosen)),
    )


def _common(scores: Scores) -> Scores:
    """Keep the queries for which every system has a value under every measure, so that measures see the same ones."""
    known: Bools = np.asarray(np.isfinite(scores.values).all(axis=(0, 2)))
    if known.all() or not known.any():
        return scores
    return scores.select(queries=[query for query, has in zip(scores.queries, known, strict=True) if has])


def _effect(mean: Floats, variance: Floats) -> Floats:
    """Return mean over standard deviation, at most ``LARGEST``, which any test sees."""
    mean = np.where(np.abs(mean) < ROUNDING, 0.0, mean)
    return np.clip(mean / np.sqrt(np.maximum(variance, ROUNDING**2)), -LARGEST, LARGEST)


def _middle(effects: Floats, alpha: float) -> int:
    """Return the number of queries at which mean power is half of what any number of queries reaches."""
    reached = np.mean(effects != 0)
    if not reached:
        raise DataError("all systems have the same means under every measure; there is nothing to distinguish")
    return int(min(smallest(lambda n: power_of(int(n), alpha)(effects).mean() >= reached / 2, 2, LIMIT), LIMIT))


def _without_each(differences: Floats, n: int, alpha: float) -> tuple[Floats, Floats]:
    """Return the mean power and effect over pairs, without each query in turn; differences are ``[pair, query]``."""
    pairs, count = differences.shape
    power, size = np.zeros(count), np.zeros(count)
    for block in np.array_split(differences, -(-differences.size // AT_ONCE)):
        mean = (block.sum(axis=1, keepdims=True) - block) / (count - 1)
        squares = ((block**2).sum(axis=1, keepdims=True) - block**2) / (count - 1)
        variance = np.maximum(squares - mean**2, 0.0) * (count - 1) / (count - 2)
        effect = _effect(mean, variance)
        power += power_of(n, alpha)(effect).sum(axis=0)
        size += np.abs(effect).sum(axis=0)
    return power / pairs, size / pairs


def _error(without: Floats) -> Floats:
    """Return the jackknife's standard error of every two measures' difference."""
    count = without.shape[1]
    centred = without - without.mean(axis=1, keepdims=True)
    products = centred @ centred.T
    own = np.diag(products)
    return np.sqrt(np.maximum(own[:, None] + own - 2 * products, 0.0) * (count - 1) / count)
