"""Names of columns of judgments, and what their outcomes mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from numbers import Real

import polars as pl

from rankdev._common.checks import check_choice
from rankdev.data.tables import QUERIES, number_column, plain_name
from rankdev.errors import DataError, UsageError, shown

ROLES = (
    *("query", "item_a", "item_b", "winner", "loser", "tie", "worker", "weight", "count"),
    *("probability", "share", "first"),
)

# normalised names, the most specific first
NAMES: dict[str, tuple[str, ...]] = {
    "query": ("qid", "queryid", "topicid", "query", "topic", "prompt", "instruction", *QUERIES),
    "worker": tuple(
        name + ending
        for name in ("worker", "annotator", "assessor", "judge", "rater", "labeler", "labeller", "evaluator", "user")
        for ending in ("id", "")
    ),
    "tie": ("tie",),
    "weight": ("weight",),
    "count": ("count", "counts", "times"),
    "probability": ("probabilitya",),  # not prob_a: without its underscore it is short for any probability
    "share": ("share",),
    "first": ("first", "shownfirst"),
}
WON_LOST = (("winner", "loser"), ("chosen", "rejected"), ("better", "worse"), ("preferred", "other"))
SIDES = (
    *((stem + "a", stem + "b") for stem in ("", "item", "model", "doc", "system", "option", "response", "answer")),
    *((stem + "1", stem + "2") for stem in ("a", "arg", "item", "doc", "text", "model", "option", "response")),
    ("left", "right"),
    ("first", "second"),
)
SAYS_WHO = ("winner", "preferred", "choice", "selected", "better")  # such a column has the winner, not a degree
SAYS = (*SAYS_WHO, "label", "preference", "answer", "judgment", "judgement", "verdict", "result", "outcome", "grade")


Values = str | Mapping[str, str | float] | None

READINGS = ("items", "position", "graded", "graded-first", "probability")
FIRST = ("a", "a1", "1", "left", "first", "item_a", "item1", "model_a", "option_a")
SECOND = ("b", "a2", "2", "right", "second", "item_b", "item2", "model_b", "option_b")
TIE = (
    *("tie", "equal", "tied", "both", "=", "same", "neither", "draw", "equally", "no preference", "no difference"),
    *("tie (bothbad)", "bothbad", "both bad", "tie (bothgood)", "bothgood", "both good"),
)
MEANT = {"first": -1.0, "second": 1.0, "tie": 0.0}


def read_outcomes(a: pl.Series, b: pl.Series, outcome: pl.Series, values: Values) -> pl.DataFrame:
    """Read winner, loser, tie and winner_first of each row, and weight or share where the outcomes have them.

    A row that ``values`` maps to ``skip`` is null in all columns.
    """
    table = pl.DataFrame({"a": a, "b": b, "o": _as_text(outcome)})
    if isinstance(values, str) and values in ("probability", "graded", "graded-first"):
        numbers = number_column(outcome.to_frame(), outcome.name, "preferences")
        if values == "probability":
            return _by_probability(table, numbers, outcome.name)
        return _by_lead(table, numbers if values == "graded" else -numbers)
    if isinstance(values, Mapping):
        return _by_lead(table, _translated(table["o"], values, outcome.name))
    if values is not None:
        check_choice("values", values, READINGS)
    return _by_lead(table, _lead(table, outcome.name, values))


def _as_text(outcome: pl.Series) -> pl.Series:
    if outcome.dtype.is_nested():
        raise DataError("bad-column", name=outcome.name, type=str(outcome.dtype), expected="one outcome a row")
    if outcome.dtype.is_float():  # as pandas makes of whole numbers where a row has none
        outcome = outcome.fill_nan(None)
        whole = outcome.cast(pl.Int64, strict=False)
        outcome = whole if ((outcome == whole).fill_null(False) | outcome.is_null()).all() else outcome
    return outcome.cast(pl.String).str.strip_chars()


def _by_lead(table: pl.DataFrame, lead: pl.Series) -> pl.DataFrame:
    """Read −1 as first, 1 as second, 0 as a tie; where the numbers differ in size, they are weights.

    The weights are scaled so that their sum is their effective sample size (Kish 1965); the variance that counts
    of judgments imply is then correct where items are equal.
    """
    columns = {**_sides(pl.col("lead") > 0), "tie": pl.col("lead") == 0}
    size = lead.abs()
    given = size.filter(size > 0)
    if given.n_unique() > 1:
        scale = float(given.sum()) / float((given**2).sum())
        columns["weight"] = pl.when(pl.col("lead") == 0).then(1.0).otherwise(pl.col("lead").abs() * scale)
    known = pl.col("lead").is_not_null()
    return table.with_columns(lead=lead).select(pl.when(known).then(e).alias(name) for name, e in columns.items())


def check_each(good: pl.Series, values: pl.Series, name: str, expected: str | Callable[[int], str]) -> None:
    """Reject the first value that is not good; what is expected may depend on the row."""
    if not good.all():
        row = int((~good).arg_max() or 0)
        wanted = expected if isinstance(expected, str) else expected(row)
        raise DataError("bad-value", row=row, name=name, value=values[row], expected=wanted)


def _by_probability(table: pl.DataFrame, numbers: pl.Series, name: str) -> pl.DataFrame:
    check_each(numbers.is_between(0, 1), numbers, name, "a probability from 0 to 1 that the first item wins")
    share = pl.max_horizontal("p", 1 - pl.col("p"))
    return table.with_columns(p=numbers).select(**_sides(pl.col("p") < 0.5), tie=pl.lit(False), share=share)


def _sides(swap: pl.Expr) -> dict[str, pl.Expr]:
    """Winner and loser of a and b, b where ``swap``; a was shown first."""
    winner, loser = (pl.when(swap).then(one).otherwise(other) for one, other in ("ba", "ab"))
    return {"winner": winner, "loser": loser, "winner_first": ~swap}


def _translated(answers: pl.Series, values: Mapping[str, str | float], name: str) -> pl.Series:
    meaning = {str(word).lower(): _meant(word, meant) for word, meant in values.items()}
    lower = answers.str.to_lowercase()
    unknown = ~lower.is_in(list(meaning))
    if unknown.any():
        row = int(unknown.arg_max() or 0)
        raise DataError("unexplained-value", row=row, name=name, value=answers[row])
    return lower.replace_strict(meaning, return_dtype=pl.Float64)


def _meant(word: str, meant: str | float) -> float | None:
    if isinstance(meant, Real) and isfinite(meant):
        return float(meant)
    if meant == "skip":
        return None
    if meant in MEANT:
        return MEANT[meant]
    expected = "first, second, tie, skip or a number"
    raise UsageError("bad-value", name=f"values[{word!r}]", value=meant, expected=expected)


def _lead(table: pl.DataFrame, name: str, reading: str | None) -> pl.Series:
    """Read outcomes as item ids or as positions, whichever fits all rows; reject where both or neither do."""
    word = pl.col("o").str.to_lowercase()
    tie = pl.when(word.is_in(TIE)).then(0.0)
    ids = pl.when(pl.col("o") == pl.col("a")).then(-1.0).when(pl.col("o") == pl.col("b")).then(1.0)
    places = pl.when(word.is_in(FIRST)).then(-1.0).when(word.is_in(SECOND)).then(1.0)
    both = table.select(items=pl.coalesce(ids, tie), position=pl.coalesce(places, tie))
    if reading is None:
        reading = _which(both, table["o"], name)
    sides = table.select("a", "b")
    check_each(
        both[reading].is_not_null(),
        table["o"],
        name,
        lambda row: ", ".join(map(shown, sides.row(row))) + " or a word for a tie",
    )
    return both[reading]


def _which(both: pl.DataFrame, answers: pl.Series, name: str) -> str:
    given = set(answers.unique())
    numbers = answers.cast(pl.Float64, strict=False)
    by_item, by_place = both["items"].null_count() == 0, both["position"].null_count() == 0
    if by_item and not by_place:
        return "items"
    if not numbers.null_count() and (numbers < 0).any():
        raise DataError("no-direction", name=name)
    if by_place:
        conflict = both["items"].is_not_null() & (both["items"] != both["position"])
        if conflict.any():
            row = int(conflict.arg_max() or 0)
            raise DataError("item-or-position", row=row, name=name, value=answers[row])
        if given <= {"1", "2"} and plain_name(name) not in SAYS_WHO:
            raise DataError("position-or-degree", name=name, values=sorted(given))
        return "position"
    if "0" in given and given <= {"0", "1", "2"}:
        raise DataError("ambiguous-outcomes", name=name, values=sorted(given))
    fewer = both["position"].null_count() < both["items"].null_count()
    return "position" if fewer else "items"
