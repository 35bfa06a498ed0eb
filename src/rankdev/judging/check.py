"""How far a model's judgments can be trusted: people are asked what it was asked, and their answers compared."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from rankdev._common.checks import check_choice, check_names, check_number
from rankdev._common.result import Result
from rankdev._common.view import Col, Tab, View
from rankdev.data.database import is_database, read_answers
from rankdev.errors import DataError, Note, UsageError, counted
from rankdev.judging.quality import PAIR, sided
from rankdev.preferences import Preferences, references_from_preferences
from rankdev.preferences.tiers import as_preferences

if TYPE_CHECKING:  # loaded on use otherwise: collecting needs none of these
    from rankdev.evaluation.scores import Scores
    from rankdev.statistics.prediction_powered import PredictionPowered

CHANCE = 0.5


@dataclass(frozen=True, eq=False, kw_only=True)
class ModelCheck(Result):
    """How far people agree with a model on the pairs that both judged, and what follows for scores.

    An answer agrees fully, half (one of the two finds the items equal) or not at all.

    Attributes
    ----------
    model : str
        Name of the model.
    answers : int
        Answers of people to pairs that the model has judged.
    queries : int
        Queries of these answers.
    agreement, low, high : float
        Mean agreement of these answers with the model, and its confidence interval over queries.
    verdict : {"better than chance", "worse than chance", "undecided"}
        Whether the interval excludes chance.
    between_people : float or None
        Mean agreement of two people on the same pair; None where no pair was judged by two.
    judges : polars.DataFrame
        One row per person: judge, answers, agreement, low, high.
    scores : PredictionPowered or None
        Scores of the runs by people's judgments, estimated from both, where runs were given.
    alpha : float
        Intervals are at level 1 − ``alpha``.
    remarks : tuple of str
        Notes.

    See Also
    --------
    check_model : Make it.
    """

    model: str
    answers: int
    queries: int
    agreement: float
    low: float
    high: float
    verdict: str
    between_people: float | None
    judges: pl.DataFrame = field(repr=False)
    scores: PredictionPowered | None = field(repr=False)
    alpha: float
    remarks: tuple[str, ...] = ()

    made_with = ("alpha",)
    view: ClassVar = View(
        [
            Tab("Agreement with each person", frame="judges", digits=3),
            Tab(
                "Scores by people's judgments, estimated from both",
                ("measure", Col(("a", "b"), "pair", "difference"), "estimate", "low", "verdict"),
                frame="_estimates",
                digits=3,
            ),
        ],
        opening=["{conclusion}"],
    )

    @property
    def conclusion(self) -> str:
        """How far the model can be trusted, a line each."""
        where = f"{counted(self.answers, 'answer')} about {counted(self.queries, 'query')}"
        between = f"{100 * (1 - self.alpha):g}% interval {self.low:.0%} to {self.high:.0%}"
        lines = [f"{self.model} agrees with people on {self.agreement:.0%} of {where}; {between}."]
        undecided = "Whether that is better than chance is undecided: ask people about more queries."
        lines.append(undecided if self.verdict == "undecided" else f"It is {self.verdict}.")
        if self.between_people is not None:
            lines.append(f"Two people agree on {self.between_people:.0%} of the pairs that both judged.")
        return "\n".join(lines)

    def _estimates(self) -> pl.DataFrame:
        """Return the scores of systems and their differences, where runs were given."""
        from rankdev.statistics.decision import verdicts

        if self.scores is None:
            return pl.DataFrame()
        table = self.scores.to_polars()
        gain, low, high = (table[name].to_numpy() for name in ("estimate", "low", "high"))
        gain = np.where(table["measure"].is_in(self.scores.lower_is_better), -gain, gain)
        decided = pl.Series(verdicts(gain, low, high, ((low > 0) | (high < 0)).tolist()))
        return table.with_columns(verdict=pl.when(pl.col("b").is_not_null()).then(decided))

    def to_polars(self) -> pl.DataFrame:
        """Tabulate the agreement with all people, and with each.

        Returns
        -------
        polars.DataFrame
            One row for all (judge null), then one per person: judge, answers, agreement, low, high.

        Examples
        --------
        >>> rows = [("q", "x", "y", who) for who in ("small", "ann")]
        >>> check_model(rows, "small").to_polars().select("judge", "answers", "agreement").rows()
        [(None, 1, 1.0), ('ann', 1, 1.0)]
        """
        everybody = (None, self.answers, self.agreement, self.low, self.high)
        return pl.concat([pl.DataFrame([everybody], schema=self.judges.schema, orient="row"), self.judges])


def check_model(
    judgments: Any,
    model: str,
    *,
    runs: Mapping[str, Any] | None = None,
    measures: str | Sequence[str] | None = None,
    leave_out: Sequence[str] = (),
    alpha: float = 0.05,
) -> ModelCheck:
    """Compare a model's judgments with people's on the same pairs, and estimate scores from both.

    Scores are estimated by prediction-powered inference: the mean of the model's scores over all queries that it
    judged, corrected by the difference between people and model on the queries that people have finished. These should
    be a random sample of the queries; ``rankdev judge --check`` asks them in a random order.

    Parameters
    ----------
    judgments : path, Preferences, table or rows
        Judgments with workers; a database of ``rankdev judge`` knows skipped pairs too.
    model : str
        Name of the worker that is the model.
    runs : dict of str to Run, path, table or dict, optional
        Two or more systems to score.
    measures : str or list of str, optional
        Measures of the systems, such as RDQ@5.
    leave_out : list of str, optional
        Workers that are neither the model nor people, such as other models.
    alpha : float, default 0.05
        Intervals are at level 1 − ``alpha``.

    Returns
    -------
    ModelCheck
        Agreement by judge, a conclusion, and estimated scores.

    Examples
    --------
    >>> rows = [(f"q{k}", "x", "y", who) for k in range(12) for who in ("small", "ann")]
    >>> check_model(rows, "small").verdict
    'better than chance'
    """
    alpha = check_number("alpha", alpha, 0, 1)
    if (runs is None) != (measures is None):
        missing, given = ("runs", "measures") if runs is None else ("measures", "runs")
        raise UsageError("needed", name=missing, use=given)
    judged, skipped = _read(judgments)
    frame = judged.to_polars()
    weight = pl.col("weight") if "weight" in frame.columns else pl.lit(1.0)
    won = pl.when("tie").then(0.5).otherwise(1.0)
    frame = sided(frame, "winner", "loser", won).with_columns(weight=weight)
    names = check_names("leave_out", leave_out)
    for name in (model, *names):
        check_choice("worker", name, judged.workers)
    mine = frame.filter(pl.col("worker") == model)
    theirs = frame.filter(~pl.col("worker").is_in([model, *names]))
    both = theirs.join(mine.group_by(PAIR).agg(by_model=pl.col("score").mean()), on=PAIR, maintain_order="left")
    if both.is_empty():
        raise DataError("no-shared-pair", model=model)
    both = both.with_columns(agrees=1 - (pl.col("score") - pl.col("by_model")).abs())
    agreement, low, high = _mean_agreement(both, alpha)
    verdict = "better than chance" if low > CHANCE else "worse than chance" if high < CHANCE else "undecided"
    scores, remarks = None, list[str]()
    if runs is not None and measures is not None:
        scores, remarks = _estimated_scores(mine, theirs, skipped, runs, measures, alpha)
    return ModelCheck(
        model=model,
        answers=both.height,
        queries=both["query"].n_unique(),
        agreement=agreement,
        low=low,
        high=high,
        verdict=verdict,
        between_people=_between_people(theirs),
        judges=_by_judge(both, alpha),
        scores=scores,
        alpha=alpha,
        remarks=(*judged.remarks, *remarks),
    )


def _read(judgments: Any) -> tuple[Preferences, set[tuple[str, str, str]]]:
    """Return the judgments, and the pairs that a person skipped."""
    from rankdev.preferences.files import read_preferences

    path = isinstance(judgments, str | os.PathLike)
    found, skipped = read_preferences(judgments) if path else as_preferences(judgments), set()
    if path and is_database(judgments):
        left = read_answers(judgments).filter(pl.col("outcome") == "skip", pl.col("kind") == "")
        skipped = {(query, min(a, b), max(a, b)) for query, a, b in left.select("query", "first", "second").rows()}
    if found.worker is None:
        raise DataError("no-workers")
    return found, skipped


def _mean_agreement(both: pl.DataFrame, alpha: float) -> tuple[float, float, float]:
    """Return the mean agreement and its limits; answers about one query vary together."""
    from rankdev.statistics.agreement_with_people import fraction_limits

    agreed, weight = (pl.col("agrees") * pl.col("weight")).sum(), pl.col("weight").sum()
    sums = both.group_by("query", maintain_order=True).agg(agreed=agreed, weight=weight)
    hits, counts = sums["agreed"].to_numpy(), sums["weight"].to_numpy()
    low, high = fraction_limits(hits[:, None], counts, alpha)
    return float(hits.sum() / counts.sum()), float(low[0]), float(high[0])


def _by_judge(both: pl.DataFrame, alpha: float) -> pl.DataFrame:
    """Tabulate the agreement with each person."""
    rows = [
        (key[0], part.height, *_mean_agreement(part, alpha))
        for key, part in both.group_by("worker", maintain_order=True)
    ]
    kinds = {"judge": pl.String, "answers": pl.Int64, **dict.fromkeys(("agreement", "low", "high"), pl.Float64)}
    return pl.DataFrame(rows, schema=kinds, orient="row")


def _between_people(theirs: pl.DataFrame) -> float | None:
    """Return the mean agreement of two people who judged the same pair."""
    pairs = theirs.join(theirs, on=PAIR, suffix="_other").filter(pl.col("worker") < pl.col("worker_other"))
    return pairs.select((1 - (pl.col("score") - pl.col("score_other")).abs()).mean()).item()


def _estimated_scores(
    mine: pl.DataFrame,
    theirs: pl.DataFrame,
    skipped: Collection[tuple[str, str, str]],
    runs: Mapping[str, Any],
    measures: str | Sequence[str],
    alpha: float,
) -> tuple[PredictionPowered, list[str]]:
    """Score the runs by references of people and of the model, and join the two."""
    from rankdev.statistics.prediction_powered import FEWEST, prediction_powered

    asked = mine.select(PAIR).unique()
    given = theirs.join(asked, on=PAIR, how="semi")
    passed = pl.DataFrame(sorted(skipped), schema=dict.fromkeys(PAIR, pl.String), orient="row")
    known = pl.concat([given.select(PAIR), passed.join(asked, on=PAIR, how="semi")]).unique()
    begun, open_ = set(known["query"]), set(asked.join(known, on=PAIR, how="anti")["query"])
    finished = sorted((begun - open_) & set(given["query"]))
    if len(finished) < FEWEST:
        raise DataError("few-finished", count=len(finished), least=FEWEST)
    left = len(begun) - len(finished)
    remarks: list[str] = [Note("unfinished-queries", count=left)] if left else []
    judged = given.filter(pl.col("query").is_in(finished))
    human, model = (scored(part.select("query", "winner", "loser", "tie"), runs, measures) for part in (judged, mine))
    return prediction_powered(human, model, alpha=alpha), remarks


def scored(judged: pl.DataFrame, runs: Mapping[str, Any], measures: str | Sequence[str]) -> Scores:
    """Score runs by references that depend on their own query only, so that people's queries are a sample."""
    from rankdev.evaluation.evaluate import evaluate

    references = references_from_preferences(judged, rule="strict", disconnected="largest")
    return evaluate(references, runs, measures)
