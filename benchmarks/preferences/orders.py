"""Do measures on grades order systems as preferences do? `python -m benchmarks.preferences.orders DATA [--keep]`.

The 63 runs of TREC Deep Learning 2021, ordered by each measure on the track's grades, and their order by references
made from assessors' and from a language model's preferences. A measure may agree with a reference because both have the
same form, so that three measures read the preferences, and their mean is shown. Intervals are 1.96 standard errors over
resampled queries.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from benchmarks.history import report, shown

import rankdev as rd
from rankdev._common.arrays import Floats
from rankdev.preferences import Preferences
from rankdev.preferences.files import read_preferences
from rankdev.statistics.agreement import tau_b

READERS = ("RDQ@10", "nDCG(gains=inverse,dcg=exp-log2)@10", "Compat(p=0.95)@10")
RESAMPLES = 500


def model_judgments(data: Path) -> Preferences:
    """Read the model's preferences, all rounds together."""
    rounds = [read_preferences(data / f"preferences/dl21-llm/rounds/judge.0{k}.gz").to_polars() for k in range(6)]
    return Preferences.from_table(pl.concat(rounds))


def preference_references(data: Path) -> dict[str, rd.References]:
    """Make references from the assessors' and the model's preferences."""
    assessors = read_preferences(data / "preferences/dl21-crowd/judgments.txt.gz")
    judged = {"people": assessors, "model": model_judgments(data)}
    return {name: rd.References.from_preferences(part, disconnected="largest") for name, part in judged.items()}


def main(data: Path, keep: bool) -> None:
    """Report τ of every measure on grades with the preferences' orders."""
    folder = data / "trec-dl/passage/dl21"
    runs: dict[str, Any] = {path.name.removesuffix(".gz"): rd.read_run(path) for path in folder.glob("runs/*.gz")}
    grades = rd.read_references(folder / "qrels.dl21-passage.txt")
    scores = rd.evaluate(grades, runs, ["paper@10", "nDCG(dcg=exp-log2)@10", "nDCG@10", "RR@10", "P@1"])
    rng = np.random.default_rng(0)
    rows: dict[str, dict[str, Any]] = {name: {"measure on grades": name} for name in scores.measures}
    for name, references in preference_references(data).items():
        by = rd.evaluate(references, runs, READERS)
        common = [query for query in scores.queries if query in set(by.queries)]
        first, second = (
            part.values[:, [part.queries.index(query) for query in common]].transpose(2, 1, 0) for part in (scores, by)
        )
        draws = rng.multinomial(len(common), np.full(len(common), 1 / len(common)), size=RESAMPLES)
        weights = np.concatenate([np.ones((1, len(common))), draws])
        tau = np.stack([agreements(first, second, weight) for weight in weights])  # [resample, measure, reader]
        mean = tau.mean(axis=2)
        best = mean[:, mean[0].argmax()]
        title = {"people": "crowd", "model": "a model (GPT-4o)"}[name]
        for m, measure in enumerate(scores.measures):
            rows[measure] |= {f"{title}, {len(common)} queries": _with_ends(mean[:, m])}
            rows[measure] |= {f"{title}, behind the best": _with_ends(best - mean[:, m])}
    table = sorted(rows.values(), key=lambda row: list(row.values())[1], reverse=True)
    report("Orders by preferences", table, keep=keep)


def agreements(measures: Floats, readers: Floats, weight: Floats) -> Floats:
    """Compute τ of each measure's order with each reader's, by weighted means over queries."""
    one, other = (np.einsum("mqs,q->ms", part, weight) for part in (measures, readers))
    return tau_b(one[:, None], other[None], tolerance=1e-12)


def _with_ends(values: Floats) -> str:
    reach = 1.96 * values[1:].std(ddof=1)
    return shown(values[0], values[0] - reach, min(values[0] + reach, 1))


if __name__ == "__main__":
    warnings.simplefilter("ignore", rd.RankdevWarning)
    main(Path(sys.argv[1]), "--keep" in sys.argv)
