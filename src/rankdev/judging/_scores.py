"""Scores of systems by people's judgments, estimated with a model's, and what further judgments would change."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankdev._common.arrays import Floats
from rankdev.errors import DataError, counted
from rankdev.judging._agreement import MOST, sided, smallest
from rankdev.preferences import references_from_preferences

if TYPE_CHECKING:  # loaded on use otherwise: collecting needs none of these
    from rankdev.evaluation.scores import Scores
    from rankdev.statistics.prediction_powered import PredictionPowered


def estimated_scores(
    mine: pl.DataFrame,
    theirs: pl.DataFrame,
    skipped: Collection[tuple[str, str, str]],
    runs: Mapping[str, Any],
    measures: str | Sequence[str],
    alpha: float,
) -> tuple[PredictionPowered, pl.DataFrame, list[str]]:
    """Score the runs by references of people and of the model, and join the two."""
    from rankdev.statistics.prediction_powered import FEWEST, prediction_powered

    pair = ["query", "a", "b"]
    asked = sided(mine).select(pair).unique()
    sides = {"a": pl.min_horizontal("winner", "loser"), "b": pl.max_horizontal("winner", "loser")}
    given = theirs.with_columns(**sides).join(asked, on=pair, how="semi")
    passed = pl.DataFrame(sorted(skipped), schema=dict.fromkeys(pair, pl.String), orient="row")
    known = pl.concat([given.select(pair), passed.join(asked, on=pair, how="semi")]).unique()
    begun, open_ = set(known["query"]), set(asked.join(known, on=pair, how="anti")["query"])
    finished = sorted((begun - open_) & set(given["query"]))
    if len(finished) < FEWEST:
        raise DataError(
            f"people have finished {counted(len(finished), 'query')} that the model judged; scores need at least"
            f" {FEWEST}: in each, an answer to every pair that the model answered"
        )
    left = len(begun) - len(finished)
    remarks = [f"{counted(left, 'query', 'is')} left out of the scores: people have not finished."] if left else []
    judged = given.filter(pl.col("query").is_in(finished))
    human, model = (scored(part.select("query", "winner", "loser", "tie"), runs, measures) for part in (judged, mine))
    found = prediction_powered(human, model, alpha=alpha)
    return found, decision_table(_decided(found, human, model, judged.height / len(finished), alpha)), remarks


def scored(judged: pl.DataFrame, runs: Mapping[str, Any], measures: str | Sequence[str]) -> Scores:
    """Score runs by references that depend on their own query only, so that people's queries are a sample."""
    from rankdev.evaluation.evaluate import evaluate

    references = references_from_preferences(judged, rule="strict", disconnected="largest")
    return evaluate(references, runs, measures)


def _decided(
    found: PredictionPowered, human: Scores, model: Scores, usual: float, alpha: float
) -> list[tuple[Any, ...]]:
    """Return for each pair of systems the conclusion, and how many further queries could change it."""
    there = {query: k for k, query in enumerate(model.queries)}
    common = [there[query] for query in human.queries]
    others = np.setdiff1d(np.arange(len(model.queries)), common)
    rows: list[tuple[Any, ...]] = []
    for row in found.to_polars().drop_nulls("b").iter_rows(named=True):
        m = human.measures.index(row["measure"])
        a, b = (human.systems.index(row[side]) for side in "ab")
        people, by_model = (part.values[a, :, m] - part.values[b, :, m] for part in (human, model))
        more = _more_queries(people, by_model[common], by_model[others], row, alpha)
        better = "a" if row["low"] > 0 else "b" if row["high"] < 0 else ""
        verdict = f"{row[better]} is better" if better else "undecided"
        answers = None if more is None else int(np.ceil(more * usual))
        rows.append(
            (row["measure"], row["a"], row["b"], row["estimate"], row["low"], row["high"], verdict, more, answers)
        )
    return rows


def _more_queries(people: Floats, both: Floats, rest: Floats, row: Mapping[str, Any], alpha: float) -> int | None:
    """Return how many further queries could change a conclusion.

    For a decided pair, the number that changes it if people see the opposite difference in each. For an undecided one,
    about how many decide it if the difference stays; None where the model has too few queries for any number.
    """
    from rankdev.statistics.prediction_powered import estimate

    wide = (row["high"] - row["low"]) / 2  # it holds for all pairs together, and may be wider than that of one
    alone = estimate(people, both, rest, alpha)
    factor = wide / max((alone["high"] - alone["low"]) / 2, 1e-12)

    def undecided(more: int) -> bool:
        expected = np.full(more, float(np.concatenate([both, rest]).mean()))
        opposite = np.full(more, -row["estimate"])
        then = estimate(np.append(people, opposite), np.append(both, expected), rest, alpha)
        return bool(np.sign(row["estimate"]) * then["estimate"] <= factor * (then["high"] - then["low"]) / 2)

    if row["low"] > 0 or row["high"] < 0:
        return smallest(undecided)
    trust = row["trust"]
    residual = float((people - trust * both).var(ddof=1)) / len(people)
    outside = trust**2 * float(np.concatenate([both, rest]).var(ddof=1)) / len(rest)
    target = (row["estimate"] / wide) ** 2 * (residual + outside) if wide > 0 else 0.0
    needed = len(people) * (residual / (target - outside) - 1) if target > outside else np.inf
    return None if needed > MOST else max(1, int(np.ceil(needed)))


def decision_table(rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    texts, numbers = ("measure", "a", "b"), ("difference", "low", "high")
    kinds: dict[str, Any] = {**dict.fromkeys(texts, pl.String), **dict.fromkeys(numbers, pl.Float64)}
    kinds |= {"verdict": pl.String, "more": pl.Int64, "more_answers": pl.Int64}
    return pl.DataFrame(rows, schema=kinds, orient="row")


def decision_line(row: Mapping[str, Any], rest: int) -> str:
    """State the conclusion about a pair of systems; ``rest`` queries are judged by the model alone."""
    pair = f"{row['measure']}, {row['a']} and {row['b']}: {row['verdict']}"
    if row["more"] is None:
        return f"{pair}; no number of further answers in reach would change that"
    more = f"{counted(row['more'], 'more query')} judged by people ({counted(row['more_answers'], 'answer')})"
    if row["verdict"] == "undecided":
        lacking = f"; the model has judged {rest:,} more, and must judge others too" if row["more"] > rest else ""
        return f"{pair}; about {more} would decide it{lacking}"
    return f"{pair}; {more}, if they see the opposite, would change that"
