"""Do people agree? Side-by-side verdicts on the lists of two systems, beside what each measure says of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from rankdev._common.arrays import Floats, Ints
from rankdev._common.checks import check_number, check_seed, check_whole
from rankdev._common.result import Result
from rankdev._common.tables import Tabular, as_frame, text_column
from rankdev.errors import DataError, counted, shown, suggestion
from rankdev.evaluation.scores import Scores
from rankdev.statistics.panels import as_scores

if TYPE_CHECKING:
    from collections.abc import Sequence


TIES = frozenset({"tie", "tied", "equal", "same", "both", "none", "draw", "neither", "0", ""})
ROUNDING = 1e-9  # a smaller difference of scores is none
THIRDS = ("small", "medium", "large")


@dataclass(frozen=True, eq=False, kw_only=True)
class AgreementWithPeople(Result):
    """How often each measure prefers the list that people prefer.

    ``agreement[measure]`` is the share of verdicts with a preference that the measure predicts; where it sees no
    difference it is right half the time. ``draws[resample, measure]`` are the same over resampled queries.
    ``ceiling`` is how often one judge predicts another about the same two lists, where several judged them.
    ``differences[verdict, measure]`` are the measures' differences a − b and ``preferred`` people's: 1, −1.
    """

    display: ClassVar = "rankdev.display.agreement"
    made_with = ("resamples", "alpha", "seed")

    measures: tuple[str, ...]
    agreement: Floats = field(repr=False)
    draws: Floats = field(repr=False)
    differences: Floats = field(repr=False)
    preferred: Ints = field(repr=False)
    queries: int
    ties: int
    ceiling: float | None
    resamples: int
    alpha: float
    seed: int
    remarks: tuple[str, ...] = ()

    def to_polars(self) -> pl.DataFrame:
        """One row per measure: measure, agreement, low, high, verdicts (those with a preference)."""
        low, high = self._ends(self.draws)
        columns = {"measure": list(self.measures), "agreement": self.agreement, "low": low, "high": high}
        return pl.DataFrame({**columns, "verdicts": len(self.preferred)})

    def between(self) -> pl.DataFrame:
        """Does one measure agree more than another? One row per pair: a, b, difference, low, high.

        The same verdicts and the same resampled queries serve both, so that the interval is narrower than those of
        the two measures suggest.
        """
        first, second = np.triu_indices(len(self.measures), 1)
        low, high = self._ends(self.draws[:, first] - self.draws[:, second])
        names = {"a": [self.measures[i] for i in first], "b": [self.measures[i] for i in second]}
        apart = self.agreement[first] - self.agreement[second]
        return pl.DataFrame({**names, "difference": apart, "low": low, "high": high})

    def by_size(self) -> pl.DataFrame:
        """By the size of a measure's own difference, in thirds: measure, size, from, to, agreement, verdicts."""
        rows: list[tuple[Any, ...]] = []
        for m, measure in enumerate(self.measures):
            size = np.abs(self.differences[:, m])
            hits = concordance(self.differences[:, m], self.preferred)
            for name, part in zip(THIRDS, np.array_split(np.argsort(size, kind="stable"), 3), strict=True):
                if len(part):
                    rows.append((measure, name, size[part].min(), size[part].max(), hits[part].mean(), len(part)))
        names = ["measure", "size", "from", "to", "agreement", "verdicts"]
        return pl.DataFrame(rows, schema=names, orient="row")

    def _ends(self, draws: Floats) -> Floats:
        tail = self.alpha / 2
        return np.quantile(draws, [tail, 1 - tail], axis=0)


def agreement_with_people(
    scores: Scores | Any,
    verdicts: Any,
    *,
    measures: Sequence[str] | None = None,
    resamples: int = 1000,
    alpha: float = 0.05,
    seed: int = 0,
) -> AgreementWithPeople:
    """Say how often each measure prefers the list that people prefer.

    ``verdicts`` is a table with the columns query, a, b (systems) and winner, which names a system or says ``tie``;
    ``judge`` where several people judged. Verdicts without a preference are counted and predict nothing. Intervals
    resample queries with all that was said about them.

    >>> scores = Scores(("x", "y"), ("q1", "q2"), ("P@1",), np.array([[[1.0], [0.5]], [[0.0], [0.2]]]))
    >>> said = [{"query": "q1", "a": "x", "b": "y", "winner": "x"}, {"query": "q2", "a": "x", "b": "y", "winner": "y"}]
    >>> agreement_with_people(scores, said).agreement.tolist()
    [0.5]
    """
    known = as_scores(scores, measures)
    resamples = check_whole("resamples", resamples, 20)
    alpha = check_number("alpha", alpha, 0, 1)
    seed = check_seed(seed)
    said = Verdicts.from_table(verdicts, known)
    apart = known.values[said.a, said.query] - known.values[said.b, said.query]
    whole = np.isfinite(apart).all(axis=1)
    decided = whole & (said.preferred != 0)
    if not decided.any():
        raise DataError("no verdict prefers a list that was scored; agreement needs some")
    apart, preferred, query = apart[decided], said.preferred[decided], said.query[decided]
    hits = concordance(apart, preferred[:, None])
    names, code = np.unique(query, return_inverse=True)
    sums = np.stack([np.bincount(code, column, len(names)) for column in hits.T], axis=1)
    weight = np.random.default_rng(seed).multinomial(len(names), np.full(len(names), 1 / len(names)), size=resamples)
    draws = (weight @ sums) / (weight @ np.bincount(code))[:, None]
    return AgreementWithPeople(
        measures=known.measures,
        agreement=hits.mean(axis=0),
        draws=draws,
        differences=apart,
        preferred=preferred,
        queries=len(names),
        ties=int((said.preferred[whole] == 0).sum()),
        ceiling=said.agreement_of_judges(),
        resamples=resamples,
        alpha=alpha,
        seed=seed,
        remarks=(*said.remarks, *_few(len(names), int((~whole).sum()))),
    )


def concordance(apart: Floats, preferred: Any) -> Floats:
    """Give 1 where a difference has the sign that people prefer, 0 where the other, ½ where there is none."""
    signs = np.where(np.abs(apart) <= ROUNDING, 0.0, np.sign(apart))
    return np.asarray((1 + signs * preferred) / 2)


def _few(queries: int, gaps: int) -> list[str]:
    lines = []
    if gaps:
        lines.append(f"{counted(gaps, 'verdict', 'is')} left out, because a measure has no value there")
    if queries < 30:
        lines.append(f"verdicts on {counted(queries, 'query')} are few: intervals over fewer than 30 are rough")
    return lines


@dataclass(frozen=True, eq=False)
class Verdicts:
    """Verdicts on pairs of lists, one entry each; ``preferred`` is 1 for a, −1 for b and 0 for a tie."""

    query: Ints
    a: Ints
    b: Ints
    preferred: Ints
    judge: tuple[str, ...] | None
    remarks: tuple[str, ...]

    @classmethod
    def from_table(cls, table: Any, scores: Scores) -> Verdicts:
        """Read the columns query, a, b, winner and judge; verdicts on queries that were not scored are left out."""
        records = isinstance(table, list) and all(isinstance(row, dict) for row in table)
        given = table.to_polars() if isinstance(table, Tabular) else table
        frame = as_frame(pl.DataFrame(table, infer_schema_length=None) if records else given)
        query, a, b = (text_column(frame, name, "verdicts") for name in ("query", "a", "b"))
        if "winner" not in frame.columns:
            raise DataError(f"verdicts: column 'winner' is missing; found {', '.join(frame.columns)}")
        winner = frame["winner"].cast(pl.String).fill_null("")
        place = {name: i for i, name in enumerate(scores.queries)}
        systems = {name: i for i, name in enumerate(scores.systems)}
        kept = [i for i, name in enumerate(query) if name in place]
        pairs = []
        for row in kept:
            for name in (a[row], b[row]):
                if name not in systems:
                    hint = suggestion(name, systems)
                    raise DataError(f"verdicts: row {row} names system {shown(name)}, which was not scored{hint}", row)
            pairs.append((place[query[row]], systems[a[row]], systems[b[row]], _sign(winner[row], a[row], b[row], row)))
        columns = np.array(pairs, np.int64).reshape(-1, 4).T
        judge = None if "judge" not in frame.columns else tuple(str(frame["judge"][row]) for row in kept)
        lost = frame.height - len(kept)
        strange = counted(lost, "verdict", "is", of=frame.height)
        told = getattr(table, "remarks", ()) if isinstance(table, Tabular) else ()
        remarks = (*told, *([f"{strange} on queries that were not scored"] if lost else []))
        places, first, second, preferred = columns
        return cls(places, first, second, preferred, judge, remarks)

    def agreement_of_judges(self) -> float | None:
        """How often one judge's verdict predicts another's on the same two lists; None where there is one judge."""
        if self.judge is None:
            return None
        groups: dict[tuple[int, int, int], dict[str, int]] = {}
        for query, a, b, said, judge in zip(
            self.query.tolist(), self.a.tolist(), self.b.tolist(), self.preferred.tolist(), self.judge, strict=True
        ):
            key, sign = ((query, a, b), said) if a < b else ((query, b, a), -said)
            groups.setdefault(key, {})[judge] = sign
        hits = [
            (1 + one * other) / 2
            for said_by in groups.values()
            for first, one in said_by.items()
            for second, other in said_by.items()
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
    raise DataError(f"verdicts: row {row} has winner {shown(winner)}; expected {shown(a)}, {shown(b)} or tie", row)
