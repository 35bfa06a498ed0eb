"""Agreement of measures with assessors: side-by-side preferences between the lists of two systems."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from rankdev._common.arrays import Floats, Ints
from rankdev._common.checks import check_number
from rankdev._common.result import Result, Tabular
from rankdev._common.view import Dots, Panel, Tab, View
from rankdev.data.tables import as_frame, text_column
from rankdev.errors import DataError, Note, nearest
from rankdev.evaluation.scores import Scores, ScoresLike
from rankdev.statistics.design import Design
from rankdev.statistics.inputs import as_scores
from rankdev.statistics.paired import student
from rankdev.statistics.pairs import Family

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


TIES = frozenset({"tie", "tied", "equal", "same", "both", "none", "draw", "neither", "0", ""})
FEW = 30  # queries below which intervals are wide
ROUNDING = 1e-9  # a smaller difference of scores counts as 0


@dataclass(frozen=True, eq=False, kw_only=True)
class AgreementWithPeople(Result):
    """How often each measure prefers the list that assessors prefer.

    Attributes
    ----------
    measures : tuple of str
        Measures that were compared with the assessors.
    agreement : ndarray
        Fraction of the preferences (ties left out) that each measure predicts; a measure without a difference counts
        half.
    units : ndarray
        Query (or cluster) of each preference, as numbers.
    differences : ndarray
        Differences a − b of the measures, ``[preference, measure]``.
    preferred : ndarray
        Preferences of the assessors: 1 for a, −1 for b.
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
                "How often a measure prefers what assessors prefer: {preferred:preference}, {queries:query}",
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
            [Panel("agreement", "fraction of the preferences predicted, {level} interval; 0.5 is chance")],
            "{measure} agrees with assessors most often, over {preferred:preference}",
            sort="agreement",
        ),
    )
    made_with = ("alpha", "clusters")

    measures: tuple[str, ...]
    agreement: Floats = field(repr=False)
    units: Ints = field(repr=False)
    differences: Floats = field(repr=False)
    preferred: Ints = field(repr=False)
    queries: int
    ties: int
    ceiling: float | None
    alpha: float
    remarks: tuple[str, ...] = ()
    clusters: int | None = None

    @property
    def hits(self) -> Floats:
        """How far each measure predicts each preference: 1, 0, or ½ without a difference; ``[preference, measure]``."""
        return concordance(self.differences, self.preferred[:, None])

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
        return pl.DataFrame({**columns, "verdicts": len(self.preferred)})

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
        names = {"a": [self.measures[i] for i in first], "b": [self.measures[i] for i in second]}
        apart = self.agreement[first] - self.agreement[second]
        low, high = -np.ones(len(first)), np.ones(len(first))
        if len(first) and self.units.max() > 0:
            family = Family(self.hits, np.arange(len(self.units)), first, second, 1.0, self.units)
            level = self.alpha / len(first)
            low, high = student(family, level).interval(family, np.full(len(first), level))
        return pl.DataFrame({**names, "difference": apart, "low": low, "high": high})

    @property
    def significant(self) -> list[bool]:
        """Which rows of ``between()`` have an interval that excludes 0."""
        pairs = self.between()
        return ((pairs["low"] > 0) | (pairs["high"] < 0)).to_list()


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
    verdicts : table or list of dict
        Side-by-side preferences: columns query, a, b (systems), winner (a system or ``tie``), and judge where there
        were several.
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
    judged = Verdicts.from_table(verdicts, known)
    apart = known.values[judged.a, judged.query] - known.values[judged.b, judged.query]
    whole = np.isfinite(apart).all(axis=1)
    decided = whole & (judged.preferred != 0)
    if not decided.any():
        raise DataError("no-preference")
    apart, preferred, query = apart[decided], judged.preferred[decided], judged.query[decided]
    names, code = np.unique(query, return_inverse=True)
    design = Design.of(known, clusters=clusters, least=1)
    code = design.members(names)[code]
    return AgreementWithPeople(
        measures=known.measures,
        agreement=concordance(apart, preferred[:, None]).mean(axis=0),
        units=code,
        differences=apart,
        preferred=preferred,
        queries=len(names),
        ties=int((judged.preferred[whole] == 0).sum()),
        ceiling=judged.agreement_of_judges(),
        alpha=alpha,
        remarks=(*judged.remarks, *design.on_clusters("the sample"), *_few(len(names), int((~whole).sum()))),
        clusters=None if clusters is None else int(code.max()) + 1,
    )


def concordance(apart: Floats, preferred: Any) -> Floats:
    """Return 1 where a difference has the sign of the preference, 0 where the opposite, ½ where there is none."""
    signs = np.where(np.abs(apart) <= ROUNDING, 0.0, np.sign(apart))
    return np.asarray((1 + signs * preferred) / 2)


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


def _few(queries: int, gaps: int) -> list[Note]:
    few = [Note("few-queries", count=queries, least=FEW)] if queries < FEW else []
    return [*([Note("unvalued", count=gaps)] if gaps else []), *few]


@dataclass(frozen=True, eq=False)
class Verdicts:
    """Preferences between pairs of lists, one entry each; ``preferred`` is 1 for a, −1 for b and 0 for a tie."""

    query: Ints
    a: Ints
    b: Ints
    preferred: Ints
    judge: tuple[str, ...] | None
    remarks: tuple[str, ...]

    @classmethod
    def from_table(cls, table: Any, scores: Scores) -> Verdicts:
        """Read the columns query, a, b, winner and judge; preferences on queries that were not scored are left out."""
        records = isinstance(table, list) and all(isinstance(row, dict) for row in table)
        given = table.to_polars() if isinstance(table, Tabular) else table
        frame = as_frame(pl.DataFrame(table, infer_schema_length=None) if records else given)
        query, a, b = (text_column(frame, name, "preferences") for name in ("query", "a", "b"))
        if "winner" not in frame.columns:
            raise DataError("no-column", role="preferences", name="winner", known=frame.columns)
        winner = frame["winner"].cast(pl.String).fill_null("")
        place = {name: i for i, name in enumerate(scores.queries)}
        systems = {name: i for i, name in enumerate(scores.systems)}
        kept = [i for i, name in enumerate(query) if name in place]
        pairs = []
        for row in kept:
            for name in (a[row], b[row]):
                if name not in systems:
                    raise _unknown("system", name, row, list(systems))
            pairs.append((place[query[row]], systems[a[row]], systems[b[row]], _sign(winner[row], a[row], b[row], row)))
        columns = np.array(pairs, np.int64).reshape(-1, 4).T
        judge = None if "judge" not in frame.columns else tuple(str(frame["judge"][row]) for row in kept)
        lost = frame.height - len(kept)
        inherited = getattr(table, "remarks", ()) if isinstance(table, Tabular) else ()
        remarks = (*inherited, *([Note("unscored", count=lost, preferences=frame.height)] if lost else []))
        places, first, second, preferred = columns
        return cls(places, first, second, preferred, judge, remarks)

    def agreement_of_judges(self) -> float | None:
        """Return how often one judge's preference predicts another's on the same two lists; None with one judge."""
        if self.judge is None:
            return None
        groups: dict[tuple[int, int, int], dict[str, int]] = {}
        for query, a, b, preferred, judge in zip(
            self.query.tolist(), self.a.tolist(), self.b.tolist(), self.preferred.tolist(), self.judge, strict=True
        ):
            key, sign = ((query, a, b), preferred) if a < b else ((query, b, a), -preferred)
            groups.setdefault(key, {})[judge] = sign
        hits = [
            (1 + one * other) / 2
            for by_judge in groups.values()
            for first, one in by_judge.items()
            for second, other in by_judge.items()
            if first != second and one
        ]
        return float(np.mean(hits)) if hits else None


def _sign(winner: str, a: str, b: str, row: int) -> int:
    if winner == a:
        return 1
    if winner == b:
        return -1
    word = winner.strip().lower()
    if word in TIES:
        return 0
    if word in ("a", "b"):
        return 1 if word == "a" else -1
    raise _unknown("winner", winner, row, [a, b, "tie"])


def _unknown(name: str, value: str, row: int, known: list[str]) -> DataError:
    near = nearest(value, known)
    return DataError("not-a-choice", role="preferences", row=row, name=name, value=value, near=near, known=known)
