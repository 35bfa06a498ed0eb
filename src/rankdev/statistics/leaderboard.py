"""Leaderboards: systems in order, with the ranks that the decisions about pairs leave them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl

from rankdev._common.arrays import Floats
from rankdev._common.result import Result
from rankdev._common.view import Dot, Dots, Tab, View
from rankdev.errors import DataError, Note, UsageError
from rankdev.evaluation.coverage import troubled
from rankdev.evaluation.scores import Scores, ScoresLike
from rankdev.measures.base import MeasureInfo
from rankdev.statistics.design import Design
from rankdev.statistics.inputs import alike, as_scores, complete, is_several
from rankdev.statistics.significance import Procedure, Significance, compared
from rankdev.statistics.tests import USUAL


@dataclass(frozen=True, eq=False, kw_only=True)
class Leaderboard(Result):
    """Systems in order, with what is decided about their ranks.

    Attributes
    ----------
    frame : polars.DataFrame
        The table of :meth:`to_polars`.
    tests : Significance
        The decisions about all pairs.
    collections : tuple of str
        Collections; a single one where there is just one.
    remarks : tuple of str
        Notes on the tests and the scores.

    See Also
    --------
    leaderboard : Returns it.
    """

    view: ClassVar = View(
        [Tab(columns=("rank", "system", "mean", "borda", "low", "rank_low", "may_be_best"), by="measure")],
        "leaderboard",
        opening=["{conclusion}"],
        closing=[("{tests.method}, {tests.drawn}", "{over}", "{tests.unjudged}")],
        brief=True,
        figure=Dots(
            ["system"],
            [
                Dot("mean", "mean {measure}, {level} interval"),
                Dot("rank", "rank, and those that remain possible", "rank_low", "rank_high"),
            ],
            facets=False,
        ),
    )

    frame: pl.DataFrame = field(repr=False)
    tests: Significance = field(repr=False)
    collections: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of the tests."""
        return self.tests.parameters

    @property
    def over(self) -> str:
        """What means are over, where there are several collections."""
        return f"means over {len(self.collections)} collections" if len(self.collections) > 1 else ""

    @property
    def alpha(self) -> float:
        """Level of the tests."""
        return self.tests.alpha

    @property
    def problems(self) -> tuple[Note, ...]:
        """What is wrong with the data, so that nothing is decided."""
        return self.tests.problems

    @property
    def conclusion(self) -> str:
        """The leader of each measure, and who cannot be told from it."""
        return self.tests.conclusion

    def concluded(self, measure: str) -> str:
        """Return what is decided in one measure."""
        return self.tests.concluded(measure)

    def to_polars(self) -> pl.DataFrame:
        """Return one row per measure and system, best first.

        Returns
        -------
        polars.DataFrame
            Columns measure, rank, system, mean, low, high (interval of the mean by itself), rank_low (1 + the systems
            that are better), rank_high (that of the last, less the systems that are worse), may_be_best (no system is
            better). Over several collections also borda: the fraction of systems beaten, mean over collections.

        Examples
        --------
        >>> import rankdev as rd
        >>> values = np.random.default_rng(0).normal([[[0.0]], [[0.1]], [[0.9]]], 1, (3, 40, 1))
        >>> scores = rd.Scores(("a", "b", "c"), tuple(map(str, range(40))), ("P@5",), values)
        >>> rd.leaderboard(scores).to_polars().select("rank", "system", "rank_low", "rank_high", "may_be_best").rows()
        [(1, 'c', 1, 2, True), (2, 'b', 1, 3, True), (3, 'a', 2, 3, False)]
        """
        return self.frame

    def not_told_from(self, measure: str | None = None) -> dict[str, list[str]]:
        """Return, for each system, those that it cannot be told from, best first; of the first measure by default."""
        return self.tests.not_told_from(self.tests.measures[0] if measure is None else measure)


def leaderboard(
    scores: ScoresLike | Mapping[str, ScoresLike],
    *,
    measures: Sequence[str] | None = None,
    test: Literal["t", "randomization"] = "t",
    correction: Literal["holm", "bh", "none"] = "holm",
    alpha: float = 0.05,
    permutations: int = USUAL,
    seed: int = 0,
    clusters: Mapping[str, Any] | None = None,
    replicates: Mapping[str, Sequence[str]] | None = None,
) -> Leaderboard:
    """Rank systems, with the ranks that the tests of all pairs leave them.

    The decisions are those of :func:`significance`: a system ranks below those that are better and above those that are
    worse. With Holm's correction, with confidence 1 − alpha the true ranks of all systems lie within these limits.

    Parameters
    ----------
    scores : Scores, table, path, or dict of str to these
        Scores of the systems; those of several collections by name, in which the systems are the same: their means are
        averaged. Collections with one measure each may have different ones.
    measures : sequence of str, optional
        Measures, each with a leaderboard of its own. Default: all.
    test : {"t", "randomization"}
        Paired test. See :func:`significance`.
    correction : {"holm", "bh", "none"}
        Correction. See :func:`significance`.
    alpha : float, default 0.05
        Level of the tests. Intervals have confidence 1 − alpha.
    permutations : int, default 100000
        Sign flips that are drawn.
    seed : int, default 0
        Seed of the flips.
    clusters : dict of str to str, optional
        The cluster of each query; for a single collection. See :func:`significance`.
    replicates : dict of str to list of str, optional
        Systems with several runs; for a single collection. See :func:`significance`.

    Returns
    -------
    Leaderboard
        Systems in order, for each measure.

    Examples
    --------
    >>> import rankdev as rd
    >>> values = np.random.default_rng(0).normal([[[0.0]], [[0.1]], [[0.9]]], 1, (3, 40, 1))
    >>> scores = rd.Scores(("a", "b", "c"), tuple(map(str, range(40))), ("P@5",), values)
    >>> print(rd.leaderboard(scores).conclusion)
    c leads in P@5. b cannot be told from it.
    """
    parts = (
        _collections(scores, measures) if is_several(scores) else {"all": as_scores(scores, measures, weighted=True)}
    )
    for name, given in (("clusters", clusters), ("replicates", replicates)):
        if given is not None and len(parts) > 1:
            raise UsageError("single-collection", name=name)
    whole = _joined(parts) if len(parts) > 1 else next(iter(parts.values()))
    design = Design.of(whole, clusters=clusters, replicates=replicates, weighted=True)
    found = compared(design, Procedure(test, correction, alpha=alpha, permutations=permutations, seed=seed))
    limits = design.mean_limits(alpha) if len(parts) == 1 else None
    frames = [_board(parts, m, found, limits) for m in range(len(whole.measures))]
    notes = [*found.remarks]
    if len(parts) > 1:
        notes += [note.at(collection=name) for name, part in parts.items() for note in part.remarks]
    return Leaderboard(
        frame=pl.concat(frames),
        tests=found,
        collections=tuple(parts),
        remarks=tuple(dict.fromkeys(notes)),
    )


def _collections(scores: Mapping[str, ScoresLike], measures: Sequence[str] | None) -> dict[str, Scores]:
    """Bring collections to the same systems and measures; where each has one measure of its own, it is called score."""
    if measures is None:
        parts = {str(name): as_scores(part) for name, part in scores.items()}
        if len({part.measures for part in parts.values()}) > 1 and all(len(p.measures) == 1 for p in parts.values()):
            kinds = (MeasureInfo("score"),)
            return alike(
                {name: replace(p.oriented, measures=("score",), kinds=kinds) for name, p in parts.items()}, None
            )
    return alike(scores, measures)


def _board(
    parts: Mapping[str, Scores], m: int, found: Significance, limits: tuple[Floats, Floats] | None
) -> pl.DataFrame:
    measure = found.measures[m]
    rows = found.standing(measure)
    order = [found.systems.index(name) for name in rows["system"]]
    low, high = np.full((2, len(order)), np.nan) if limits is None else (limit[order, m] for limit in limits)
    rows = rows.select(
        pl.lit(measure).alias("measure"),
        *("rank", "system", "mean"),
        *(pl.Series(name, limit).fill_nan(None) for name, limit in (("low", low), ("high", high))),
        *("rank_low", "rank_high", "may_be_best"),
    )
    if len(parts) == 1:
        return rows
    signed = np.stack([complete(part.oriented).averages[order, m] for part in parts.values()])  # [collection, system]
    beaten = np.sign(signed[:, :, None] - signed[:, None, :]).sum(axis=2) / 2 + (len(order) - 1) / 2
    return rows.with_columns(borda=pl.Series((beaten / max(1, len(order) - 1)).mean(axis=0)))


def _joined(parts: Mapping[str, Scores]) -> Scores:
    """Join queries of collections into one table, whose means are the means over collections of their means."""
    first = next(iter(parts.values()))
    counts = np.stack([np.isfinite(part.values).all(axis=0).sum(axis=0) for part in parts.values()])
    for part, m in np.argwhere(counts == 0):
        raise DataError("no-common-query", collection=list(parts)[part], measure=first.measures[m])
    scales = counts.sum(axis=0) / (len(parts) * counts)  # [collection, measure]
    values = np.concatenate([part.values * scale for part, scale in zip(parts.values(), scales, strict=True)], axis=1)
    queries = tuple(map(str, range(values.shape[1])))
    kinds = tuple(replace(kind, range=(-np.inf, np.inf)) for kind in first.kinds)
    return Scores(first.systems, queries, first.measures, values, kinds=kinds, coverage=troubled(parts.values()))
