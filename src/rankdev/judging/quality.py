"""How reliable judges are: speed, sides, gold pairs (whose answer is known), agreement with others.

The owner may look at any time, as often as they like. Limits are those of a confidence sequence: they hold for all
numbers of answers at once (Robbins 1970, a mixture of binomial likelihoods), for values from 0 to 1 whatever their
distribution.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import polars as pl

from rankdev._common.arrays import Floats
from rankdev.data.write import PathLike
from rankdev.errors import DataError, Note, counted, errors_at
from rankdev.judging.items import Pool, read_table_with
from rankdev.judging.store import SCORES, Pair, sorted_pair

COLUMNS = ("query", "first", "second", "outcome")
ALPHA = 0.05
FAST = 1.0  # seconds: nobody reads two items in less
FEW = 20  # answers, or pairs judged by two, below which nothing is said
HALVINGS = 50
PAIR = ["query", "a", "b"]
SIDE = 0.5  # of the answers of somebody who looks at the items are for the left: sides are random


def read_gold(path: PathLike, pool: Pool) -> dict[Pair, str | None]:
    """Read the better item of pairs, None where both are equally good: query, first, second, and outcome."""
    frame, source = read_table_with(COLUMNS, path)
    found: dict[Pair, str | None] = {}
    for number, row in enumerate(frame.select(COLUMNS).iter_rows()):
        query, first, second, outcome = ("" if value is None else str(value) for value in row)
        better = {"first": first, "second": second, "tie": None}
        pair = sorted_pair((query, first, second))
        with source.located(), errors_at(row=number):
            if outcome not in better:
                raise DataError("bad-value", name="outcome", value=outcome, expected="first, second or tie")
            if first == second:
                raise DataError("self-compared", query=query, item=first)
            pool.check(query, first, second)
            if pair in found:
                raise DataError("appears-twice", query=query, what="pair", value=(first, second))
        found[pair] = better[outcome]
    return found


CHECKS = {  # least and most of what is expected, and what is noted where the whole interval is below or above that
    "fast": (0.0, 0.5, "", "fast-judge"),
    "left": (SIDE, SIDE, "right-judge", "left-judge"),
    "gold": (0.8, 1.0, "misses-gold", ""),
    "others": (0.5, 1.0, "disagrees", ""),
}


def limits(total: Floats, n: Floats, alpha: float) -> tuple[Floats, Floats]:
    """Return limits of a mean from the sum of n values from 0 to 1 that hold for all n at once; 0 and 1 where n is 0.

    A fraction p is excluded where the Beta(½, ½) mixture of likelihoods exceeds its likelihood 1 ÷ ``alpha`` times.
    """
    from scipy.special import betaln, xlogy

    total, n = np.asarray(total, float), np.asarray(n, float)
    reach = betaln(total + 0.5, n - total + 0.5) - betaln(0.5, 0.5) + np.log(alpha)
    mean = np.divide(total, n, out=np.full_like(n, 0.5), where=n > 0)
    ends = []
    for end in (0.0, 1.0):
        inside, outside = mean.copy(), np.full_like(mean, end)
        for _ in range(HALVINGS):
            middle = (inside + outside) / 2
            within = xlogy(total, middle) + xlogy(n - total, 1 - middle) > reach
            inside, outside = np.where(within, middle, inside), np.where(within, outside, middle)
        ends.append(np.where(n > 0, outside, end))
    return ends[0], ends[1]


def judge_quality(
    answers: pl.DataFrame, gold: Mapping[Pair, str | None], models: Collection[str] = ()
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Compute how reliable the people are who gave the answers, a row each, with remarks; ``models`` are left out."""
    score = pl.col("outcome").replace_strict(SCORES, default=None)
    people = sided(answers.filter(~pl.col("worker").is_in(list(models))), "first", "second", score)
    values = {"fast": _fast(people), "left": _left(people), "gold": _gold(people, gold), "others": _others(people)}
    judges = _judges(people, values)
    remarks = []
    if judges.height and not any(judges[f"{name}_n"].sum() for name in ("gold", "others")):
        remarks.append(Note("random-unseen"))
    if judges.height and judges["notes"].list.len().sum():
        remarks.append(Note("notes-of-judges", alpha=ALPHA))
    shown = ("judge", "answers", "skips", "ties", "seconds", *_columns(CHECKS), "enough", "notes")
    return judges.select(shown), tuple(remarks)


def _columns(names: Collection[str]) -> list[str]:
    return [f"{name}{part}" for name in names for part in ("", "_low", "_high", "_n")]


def sided(frame: pl.DataFrame, first: str, second: str, score: pl.Expr) -> pl.DataFrame:
    """Add the pair with its items sorted, and what the first of these scored: 1 better, ½ equal, 0 worse."""
    swapped = pl.col(second) < pl.col(first)
    a, b = pl.min_horizontal(first, second), pl.max_horizontal(first, second)
    return frame.with_columns(a=a, b=b, score=pl.when(swapped).then(1 - score).otherwise(score))


def _fast(people: pl.DataFrame) -> pl.DataFrame:
    return people.filter(pl.col("seconds").is_not_null()).with_columns(value=pl.col("seconds") < FAST)


def _left(people: pl.DataFrame) -> pl.DataFrame:
    sides = pl.col("outcome").is_in(["first", "second"])
    return people.filter(sides).with_columns(value=pl.col("outcome") == "first")


def _gold(people: pl.DataFrame, gold: Mapping[Pair, str | None]) -> pl.DataFrame:
    rows = [(q, a, b, 0.5 if better is None else float(better == a)) for (q, a, b), better in gold.items()]
    schema = {**dict.fromkeys(PAIR, pl.String), "expected": pl.Float64}
    known = pl.DataFrame(rows, schema=schema, orient="row")
    given = people.filter(pl.col("kind") == "gold", pl.col("outcome") != "skip").join(known, on=PAIR)
    return given.with_columns(value=1 - (pl.col("score") - pl.col("expected")).abs())


def _others(people: pl.DataFrame) -> pl.DataFrame:
    """Compare each answer with those of others to the same pair; the newest of each judge."""
    judged = people.filter(pl.col("outcome") != "skip", pl.col("kind") == "")
    mine = judged.unique(["worker", *PAIR], keep="last", maintain_order=True)
    alike = sum(
        (1 - (pl.col("score") - value).abs()) * (pl.col("score") == value).sum().over(PAIR) for value in (0.0, 0.5, 1.0)
    )
    n = pl.len().over(PAIR)
    return mine.with_columns(value=(alike - 1) / (n - 1)).filter(n > 1)


def _judges(people: pl.DataFrame, values: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    table = people.group_by(judge="worker").agg(
        answers=pl.len(),
        skips=(pl.col("outcome") == "skip").sum(),
        ties=(pl.col("outcome") == "tie").sum(),
        seconds=pl.col("seconds").median(),
    )
    table = table.sort("judge")
    alpha = ALPHA / max(1, len(CHECKS) * table.height)
    notes: list[list[str]] = [[] for _ in range(table.height)]
    for check, (least, most, below, above) in CHECKS.items():
        value = pl.col("value").cast(pl.Float64)
        sums = values[check].group_by(judge="worker").agg(total=value.sum(), n=pl.len())
        joined = table.select("judge").join(sums, on="judge", how="left", maintain_order="left")
        total, n = (joined[name].fill_null(0).cast(pl.Float64).to_numpy() for name in ("total", "n"))
        low, high = limits(total, n, ALPHA)
        surely_low, surely_high = limits(total, n, alpha)
        for k in range(table.height):
            if surely_high[k] < least:
                notes[k].append(Note(below))
            elif surely_low[k] > most:
                notes[k].append(Note(above))
        mean = joined["total"] / joined["n"]
        columns = (mean, pl.Series(low), pl.Series(high), pl.Series(n.astype(np.int64)))
        table = table.with_columns(c.alias(name) for name, c in zip(_columns([check]), columns, strict=True))
    enough = pl.col("answers") >= FEW
    return table.with_columns(enough=enough, notes=pl.Series(notes, dtype=pl.List(pl.String)))


def noticed(row: Mapping[str, Any]) -> str:
    """Report what was noticed about a judge."""
    if row["notes"]:
        return "; ".join(row["notes"])
    return "nothing noticed" if row["enough"] else f"too few answers to tell ({counted(row['answers'], 'answer')})"
