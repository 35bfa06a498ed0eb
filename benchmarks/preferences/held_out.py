"""Do tiers predict judgments that they were not made from? python -m benchmarks.preferences.held_out DATA [--keep]

The judgments of each query are split at random. References are made from one part by each rule, and predict the other:
of two items in different tiers the one above wins, and items of one tier are equal. "right" is the fraction of held-out
judgments that agree (half of a win where the reference ties the items, half of a tie where it orders them); by the
other count a tie is half right whatever the reference says. The log loss is that of Bradley–Terry strengths of the
tiers (ridge 1) fitted to the first part, a tie half a win each. All are means over random splits.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import polars as pl
from benchmarks.history import Row, report
from benchmarks.preferences.judges import image_judgments

import rankdev as rd
from rankdev.io.preferences import read_preferences
from rankdev.preferences import Preferences
from rankdev.preferences.evidence import newton_fit

RULES = ("auto", "strict", "bic", "partition", "leader")
QUERIES = 30  # of each collection at most
SPLITS = 5


def collections(data: Path) -> dict[str, Preferences]:
    """Crowds and a language model, with and without ties."""
    folder = data / "preferences"
    rounds = [read_preferences(folder / f"dl21-llm/rounds/judge.0{k}.gz").to_polars() for k in range(6)]
    arguments = read_preferences(folder / "arguments/pairs_by_worker.tsv.gz")
    found = {
        "arguments, crowd, ties": arguments,
        "arguments, without ties": Preferences.from_table(arguments.to_polars().filter(~pl.col("tie"))),
        "TREC DL 2021, crowd": read_preferences(folder / "dl21-crowd/judgments.txt.gz"),
        "TREC DL 2021, language model": Preferences.from_table(pl.concat(rounds)),
        "images, assessors, ties": image_judgments(folder / "image-serp"),
    }
    return {name: judged.select(judged.queries[:QUERIES]) for name, judged in found.items()}


def split(judged: Preferences, part: float, rng: np.random.Generator) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Cut the judgments of each query in two at random."""
    table = judged.to_polars().drop("first", strict=False)
    drawn = rng.random(len(table)) < part
    return table.filter(drawn), table.filter(~drawn)


def predictions(train: pl.DataFrame, test: pl.DataFrame) -> np.ndarray:
    """Agreement by both counts and log loss of the held-out judgments, [rule, what]."""
    fit = rd.strengths(Preferences.from_table(train))
    result = []
    for rule in RULES:
        right, half, loss, count = 0.0, 0.0, 0.0, 0
        cuts = rd.tiers(fit, rule=rule).tiers
        for (query,), rows in test.group_by("query", maintain_order=True):
            place = {item: k for k, tier in enumerate(cuts.get(str(query), [])) for item in tier}
            known = rows.filter(pl.col("winner").is_in(list(place)) & pl.col("loser").is_in(list(place)))
            mine = train.filter(query=query).filter(
                pl.col("winner").is_in(list(place)) & pl.col("loser").is_in(list(place))
            )
            if not len(known):
                continue
            strength = tier_strengths(mine, place, len(cuts[str(query)]))
            won, lost = (np.array([place[item] for item in known[side]]) for side in ("winner", "loser"))
            score = np.where(known["tie"], 0.5, 1.0)
            said = np.sign(lost - won)  # 1: the winner is above
            agrees = np.where(known["tie"], np.where(said == 0, 1.0, 0.5), 0.5 + said / 2)
            chance = 1 / (1 + np.exp(strength[lost] - strength[won]))
            right += float(agrees.sum())
            half += float(np.where(known["tie"], 0.5, agrees).sum())
            loss -= float((score * np.log(chance) + (1 - score) * np.log(1 - chance)).sum())
            count += len(known)
        result.append((right / count, half / count, loss / count))
    return np.array(result)


def tier_strengths(judged: pl.DataFrame, place: dict[str, int], tiers: int) -> np.ndarray:
    wins = np.zeros((tiers, tiers))
    won, lost = (np.array([place[item] for item in judged[side]]) for side in ("winner", "loser"))
    tie = judged["tie"].to_numpy()
    np.add.at(wins, (won, lost), np.where(tie, 0.5, 1.0))
    np.add.at(wins, (lost, won), np.where(tie, 0.5, 0.0))
    np.fill_diagonal(wins, 0.0)
    return newton_fit(wins, np.zeros(tiers), 1.0, enough=1e-3)


def main(data: Path, keep: bool) -> None:
    """Report the table of docs/preferences.md."""
    table: list[Row] = []
    for name, judged in collections(data).items():
        for part in (0.5, 0.15):
            rng = np.random.default_rng([7, round(100 * part)])
            found = np.mean([predictions(*split(judged, part, rng)) for _ in range(SPLITS)], axis=0)
            right, half, loss = found.T.tolist()
            table.append(
                {
                    "judgments": f"{name}, {part:.0%}",
                    **{rule: f"{right[k]:.3f}, {loss[k]:.3f}" for k, rule in enumerate(RULES)},
                    "behind the best": max(right) - right[0],
                    "behind, ties half": max(half) - half[0],
                    "more log loss": loss[0] - min(loss),
                }
            )
    report("Held-out judgments", table, keep=keep)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(Path(sys.argv[1]), "--keep" in sys.argv)
