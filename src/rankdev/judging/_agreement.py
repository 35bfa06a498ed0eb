"""How far people agree with a model on the pairs that both judged: fractions, and limits over queries."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from rankdev._common.arrays import Floats

MOST = 1024  # further queries that are considered
CHANCE = 0.5


def sided(frame: pl.DataFrame) -> pl.DataFrame:
    """Return pairs with sorted items, and the score of the first of them: 1 won, ½ tied, 0 lost."""
    first = pl.min_horizontal("winner", "loser")
    score = pl.when("tie").then(0.5).when(pl.col("winner") == first).then(1.0).otherwise(0.0)
    weight = pl.col("weight") if "weight" in frame.columns else pl.lit(1.0)
    return frame.select(
        "query", a=first, b=pl.max_horizontal("winner", "loser"), score=score, worker="worker", weight=weight
    )


def shared_answers(mine: pl.DataFrame, theirs: pl.DataFrame) -> pl.DataFrame:
    """Return people's answers to the model's pairs, with how far each agrees."""
    model = sided(mine).group_by("query", "a", "b").agg(pl.col("score").mean().alias("by_model"))
    joined = sided(theirs).join(model, on=["query", "a", "b"], maintain_order="left")
    return joined.with_columns(agrees=1 - (pl.col("score") - pl.col("by_model")).abs())


def mean_agreement(both: pl.DataFrame, alpha: float, unit: str | None) -> tuple[float, float, float]:
    """Return the mean agreement and its limits; answers of one ``unit`` vary together."""
    weighted = both.select(*([unit] if unit else []), hits=pl.col("agrees") * pl.col("weight"), counts="weight")
    sums = weighted.group_by(unit, maintain_order=True).sum() if unit else weighted
    hits, counts = sums["hits"].to_numpy(), sums["counts"].to_numpy()
    return agreement_limits(hits, counts, alpha)


def agreement_limits(hits: Floats, counts: Floats, alpha: float) -> tuple[float, float, float]:
    from rankdev.statistics.bounded_values import fraction_limits

    low, high = fraction_limits(hits[:, None], counts, alpha)
    return float(hits.sum() / counts.sum()), float(low[0]), float(high[0])


def first_wins(mine: pl.DataFrame, alpha: float) -> tuple[float, float, float]:
    """Return how often the item shown first won, with limits."""
    won = pl.when("tie").then(0.5).otherwise((pl.col("first") == pl.col("winner")).cast(pl.Float64))
    return mean_agreement(mine.select("query", agrees=won, weight=pl.lit(1.0)), alpha, "query")


def agreement_table(both: pl.DataFrame, by: str, unit: str | None, alpha: float, name: str) -> pl.DataFrame:
    rows = [
        (key[0], part.height, *mean_agreement(part, alpha, unit))
        for key, part in both.group_by(by, maintain_order=True)
    ]
    kinds = {name: pl.String, "answers": pl.Int64, **dict.fromkeys(("agreement", "low", "high"), pl.Float64)}
    return pl.DataFrame(rows, schema=kinds, orient="row")


def between_people(theirs: pl.DataFrame) -> float | None:
    """Return the mean agreement of two people who judged the same pair."""
    mine = sided(theirs)
    pairs = mine.join(mine, on=["query", "a", "b"], suffix="_other").filter(pl.col("worker") < pl.col("worker_other"))
    if pairs.is_empty():
        return None
    return float((1 - (pairs["score"] - pairs["score_other"]).abs()).mean())  # type: ignore[arg-type]


def more_answers(both: pl.DataFrame, found: tuple[float, float, float], verdict: str, alpha: float) -> int | None:
    """Return the number of further answers that could change the conclusion."""
    agreement, low, high = found
    sums = both.group_by("query", maintain_order=True).agg(
        (pl.col("agrees") * pl.col("weight")).sum().alias("hits"), pl.col("weight").sum()
    )
    hits, counts = sums["hits"].to_numpy(), sums["weight"].to_numpy()
    usual = float(counts.mean())
    if verdict == "undecided":
        apart = abs(agreement - CHANCE)
        reach = agreement - low if agreement > CHANCE else high - agreement
        needed = (reach / apart) ** 2 - 1 if apart > 0 else np.inf
        return None if needed > MOST else max(1, int(np.ceil(both.height * needed)))
    against = 0.0 if verdict == "better than chance" else usual

    def changed(more: int) -> bool:
        _, down, up = agreement_limits(np.append(hits, [against] * more), np.append(counts, [usual] * more), alpha)
        return down <= CHANCE if verdict == "better than chance" else up >= CHANCE

    more = smallest(changed)
    return None if more is None else int(np.ceil(more * usual))


def smallest(holds: Callable[[int], bool]) -> int | None:
    """Return the smallest positive integer for which a monotone condition holds; None above :data:`MOST`."""
    high = 1
    while not holds(high):
        high *= 2
        if high > MOST:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
