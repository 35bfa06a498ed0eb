"""Agreement of measures with assessors: side-by-side preferences between the lists of two systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import polars as pl

from rankdev._common.arrays import Floats, Ints
from rankdev._common.checks import check_number
from rankdev._common.result import Result
from rankdev._common.view import Dot, Dots, Tab, View
from rankdev.errors import DataError, Note, nearest
from rankdev.evaluation.scores import ScoresLike
from rankdev.preferences.judgments import Preferences
from rankdev.preferences.tiers import as_preferences
from rankdev.statistics.design import Design, in_pairs
from rankdev.statistics.inputs import as_scores
from rankdev.statistics.pairs import Family
from rankdev.statistics.tests import student

FEW = 30  # queries below which intervals are wide
ROUNDING = 1e-9  # a smaller difference of scores counts as 0


@dataclass(frozen=True, eq=False, kw_only=True)
class AgreementWithPeople(Result):
    """How often each measure prefers the list that assessors prefer.

    Attributes
    ----------
    measures : tuple of str
        Measures that were compared with the assessors.
    hits : ndarray
        How far each measure predicts each preference, ``[preference, measure]``: 1, 0, or ½ where it has no difference.
    units : ndarray
        Query (or cluster) of each preference, as numbers.
    queries : int
        Queries with a preference.
    ties : int
        Comparisons without a preference.
    ceiling : float or None
        How often one judge predicts another on the same two lists; None without such pairs of judges.
    alpha : float
        Intervals have confidence 1 − alpha.
    remarks : tuple of str
        Notes on the preferences.
    clusters : int, optional
        Clusters of queries that intervals are over.

    See Also
    --------
    agreement_with_people : Returns it.
    """

    view: ClassVar = View(
        [
            Tab(
                "How often a measure prefers what assessors prefer: {hits:preference}, {queries:query}",
                ("measure", "agreement", "low"),
                digits=3,
                sort="agreement",
            ),
            Tab(
                "Differences between measures; their intervals hold for all pairs together",
                ("a", "b", "difference", "low"),
                frame="between",
            ),
        ],
        "agreement",
        closing=["agreement between judges: {ceiling:.3f}", "{ties:tie} left out; 0.5 is chance"],
        more={"between": "between"},
        figure=Dots(
            ["measure"],
            [Dot("agreement", "fraction of the preferences predicted, {level} interval; 0.5 is chance")],
            "{most} agrees with assessors most often, in {highest} of {hits:preference}",
            sort="agreement",
        ),
    )
    made_with = ("alpha", "clusters")

    measures: tuple[str, ...]
    hits: Floats = field(repr=False)
    units: Ints = field(repr=False)
    queries: int
    ties: int
    ceiling: float | None
    alpha: float
    remarks: tuple[str, ...] = ()
    clusters: int | None = None

    @property
    def agreement(self) -> Floats:
        """Fraction of the preferences (ties left out) that each measure predicts."""
        return np.asarray(self.hits.mean(axis=0))

    def to_polars(self) -> pl.DataFrame:
        """Return one row per measure.

        Returns
        -------
        polars.DataFrame
            Columns measure, agreement, low, high, ``verdicts`` (number of preferences, without ties).

        Examples
        --------
        >>> import rankdev as rd
        >>> values = np.array([[[1.0, 0.4], [0.5, 0.6]], [[0.0, 0.3], [0.2, 0.9]]])
        >>> scores = rd.Scores(("x", "y"), ("q1", "q2"), ("P@1", "AP@5"), values)
        >>> said = [{"query": q, "a": "x", "b": "y", "winner": name} for q, name in (("q1", "x"), ("q2", "y"))]
        >>> found = rd.agreement_with_people(scores, said)
        >>> found.to_polars().select("measure", "agreement", "verdicts").rows()
        [('P@1', 0.5, 2), ('AP@5', 1.0, 2)]
        """
        hits = [np.bincount(self.units, column) for column in self.hits.T]
        low, high = fraction_limits(
            np.array(hits, np.float64).T, np.bincount(self.units).astype(np.float64), self.alpha
        )
        columns = {"measure": list(self.measures), "agreement": self.agreement, "low": low, "high": high}
        return pl.DataFrame({**columns, "verdicts": len(self.hits)})

    def between(self) -> pl.DataFrame:
        """Compare the agreement of every two measures, on the same preferences.

        By Student's t over queries, as :func:`significance` has it for clusters. Intervals hold for all pairs of
        measures together (Bonferroni), so that none of many equally good measures stands out by chance.

        Returns
        -------
        polars.DataFrame
            Columns a, b (measures), difference, low, high.

        Examples
        --------
        >>> import rankdev as rd
        >>> values = np.array([[[1.0, 0.4], [0.5, 0.6]], [[0.0, 0.3], [0.2, 0.9]]])
        >>> scores = rd.Scores(("x", "y"), ("q1", "q2"), ("P@1", "AP@5"), values)
        >>> said = [{"query": q, "a": "x", "b": "y", "winner": name} for q, name in (("q1", "x"), ("q2", "y"))]
        >>> found = rd.agreement_with_people(scores, said)
        >>> found.between().select("a", "b", "difference").row(0)
        ('P@1', 'AP@5', -0.5)
        """
        first, second = np.triu_indices(len(self.measures), 1)
        apart = self.agreement[first] - self.agreement[second]
        low, high = -np.ones(len(first)), np.ones(len(first))
        if len(first) and self.units.max() > 0:
            family = Family(self.hits, np.arange(len(self.units)), first, second, 1.0, self.units)
            level = self.alpha / len(first)
            low, high = student(family, level).interval(family, np.full(len(first), level))
        return in_pairs(self.measures).with_columns(difference=apart, low=low, high=high)


def agreement_with_people(
    scores: ScoresLike,
    verdicts: Any,
    *,
    measures: Sequence[str] | None = None,
    alpha: float = 0.05,
    clusters: Mapping[str, Any] | None = None,
) -> AgreementWithPeople:
    """Estimate how often each measure prefers the list that assessors prefer.

    Ties are counted but not predicted. Intervals are over queries, each with all its preferences: a measure that
    predicts 8 of 8 has the interval .63 to 1.

    Parameters
    ----------
    scores : Scores, table or path
        Scores of the systems.
    verdicts : Preferences, table or list of dict
        Side-by-side preferences between systems, in any form that :meth:`Preferences.from_table` takes: columns query,
        a, b (systems), winner (a system or ``tie``), and judge where there were several.
    measures : sequence of str, optional
        Measures to compare. Default: all.
    alpha : float, default 0.05
        Intervals have confidence 1 − alpha.
    clusters : dict of str to str, optional
        The cluster of each query, as in :func:`significance`. Intervals are then over clusters.

    Returns
    -------
    AgreementWithPeople
        Agreement of each measure, with its interval.

    Examples
    --------
    >>> import rankdev as rd
    >>> scores = rd.Scores(("x", "y"), ("q1", "q2"), ("P@1",), np.array([[[1.0], [0.5]], [[0.0], [0.2]]]))
    >>> said = [{"query": q, "a": "x", "b": "y", "winner": name} for q, name in (("q1", "x"), ("q2", "y"))]
    >>> rd.agreement_with_people(scores, said).agreement.tolist()
    [0.5]
    """
    known = as_scores(scores, measures).oriented
    alpha = check_number("alpha", alpha, 0, 1)
    given = as_preferences(verdicts)
    place = {name: i for i, name in enumerate(known.queries)}
    said = given.select([name for name in given.queries if name in place])
    query = np.array([place[name] for name in said.queries], np.int64)[said.item_query[said.winner]]
    winner, loser = (_systems(said, known.systems)[side] for side in (said.winner, said.loser))
    apart = known.values[winner, query] - known.values[loser, query]
    whole = np.isfinite(apart).all(axis=1)
    decided = whole & ~said.tie
    if not decided.any():
        raise DataError("no-preference")
    names, code = np.unique(query[decided], return_inverse=True)
    design = Design.of(known, clusters=clusters, least=1)
    code = design.members(names)[code]
    counts = {"unscored": len(given) - len(said), "unvalued": int((~whole).sum())}
    notes = [Note(kind, count=count, preferences=len(given)) for kind, count in counts.items() if count]
    notes += [Note("weights-ignored")] if given.weight is not None else []
    few = [Note("few-queries", count=len(names), least=FEW)] if len(names) < FEW else []
    return AgreementWithPeople(
        measures=known.measures,
        hits=np.where(np.abs(apart[decided]) <= ROUNDING, 0.5, apart[decided] > 0),
        units=code,
        queries=len(names),
        ties=int((whole & said.tie).sum()),
        ceiling=_of_judges(said),
        alpha=alpha,
        remarks=(*given.remarks, *notes, *few, *design.on_clusters("the sample")),
        clusters=None if clusters is None else int(code.max()) + 1,
    )


def _systems(said: Preferences, systems: Sequence[str]) -> Ints:
    """Return the place of each item, which is a system, among those with scores."""
    for name in said.items:
        if name not in systems:
            near = nearest(name, systems)
            raise DataError(
                "not-a-choice", role="preferences", name="system", value=name, near=near, known=list(systems)
            )
    return np.array([systems.index(name) for name in said.items], np.int64)


def _of_judges(said: Preferences) -> float | None:
    """Return how often one judge's preference predicts another's on the same two lists; None with one judge."""
    if said.worker is None:
        return None
    sign = np.where(said.tie, 0, np.where(said.winner < said.loser, 1, -1))
    answers = pl.DataFrame({"pair": said.pairs.of, "judge": said.worker, "sign": sign})
    answers = answers.unique(["pair", "judge"], keep="last", maintain_order=True)
    met = answers.join(answers, on="pair").filter(pl.col("judge") != pl.col("judge_right"), pl.col("sign") != 0)
    found: float | None = met.select(((1 + pl.col("sign") * pl.col("sign_right")) / 2).mean()).item()
    return found


def fraction_limits(hits: Floats, counts: Floats, level: float) -> tuple[Floats, Floats]:
    """Return limits of Σ hits ÷ Σ counts over queries, ``hits[query, measure]``, each wrong with ``level`` ÷ 2.

    Clopper and Pearson's (1934), for as many answers as tell as much as these do (Korn and Graubard 1998): answers to
    one query are alike, so that a query counts as one where all answers agree.

    >>> low, high = fraction_limits(np.ones((8, 1)), np.ones(8), 0.05)
    >>> low.round(2).tolist(), high.tolist()
    ([0.63], [1.0])
    """
    from scipy import special

    share, found = counts / counts.sum(), hits.sum(axis=0) / counts.sum()
    queries = 1 / float((share**2).sum())  # of equal size, that would tell as much
    residual = hits / counts.sum() - found * share[:, None]
    variance = (residual**2 / np.maximum(1 - share, 1e-9)[:, None]).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        number = np.where(variance > 0, np.minimum(found * (1 - found) / variance, counts.sum()), queries)
    # few queries show their own variance badly
    many, few = (special.stdtrit(np.maximum(each - 1, 1.0), 1 - level / 2) for each in (number, queries))
    number = number * np.minimum(many / few, 1.0) ** 2
    won, lost = found * number, (1 - found) * number
    low = np.where(won > 0, special.betaincinv(np.maximum(won, 1e-9), lost + 1, level / 2), 0.0)
    high = np.where(lost > 0, special.betaincinv(won + 1, np.maximum(lost, 1e-9), 1 - level / 2), 1.0)
    return low, high
