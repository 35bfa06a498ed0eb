"""Numbers of docs/studies.md and docs/answers.md: python -m benchmarks.studies DATA [--keep]

Power and stability of measures on simulated points of interest; power of the paper's measures at 25 queries on public
passage runs of TREC Deep Learning and how they agree, sizes of tiers of its document judgments, and what systems lose
whose team had not contributed to the pool of 2021.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import rankdev as rd
from benchmarks.history import Row, report
from rankdev.studies import leave_out
from rankdev.studies.poi.study import run_poi
from rankdev.studies.trec_dl.study import BASELINES, RDQ, TierStatistics, all_tiers

MEASURES = ("nDCG(dcg=exp-log2)@10", "RDQ(penalty=m1)@10", "RDQ@10", "RDQ(alpha=4)@10", "AP@10")
LEFT_OUT = (
    *("RDQ@10", "RDQ(penalty=m1)@10", "nDCG@10", "AP@10", "RBP(p=0.8)@10", "Compat(p=0.95)@10"),
    *("RDQ(judged_only=True)@10", "nDCG(judged_only=True)@10", "Bpref"),
)
TEAMS = {  # of TREC DL 2021, by how the names of their runs begin; the first that fits
    **dict.fromkeys(("p_bm25", "paug_bm25"), "organisers"),
    **dict.fromkeys(("bl_bcai", "bcai"), "bcai"),
    **{name: name for name in ("Fast", "NLE", "TUW", "WLU", "ielab", "ihsm", "mono", "p_", "pash", "pass", "top1000")},
    **{name: name for name in ("uog", "wat", "yorku")},
}


def runs_of(folder: Path) -> dict[str, Path]:
    """Return the runs of a folder, by name."""
    return {
        path.name.removeprefix("input.").removesuffix(".gz").removesuffix(".run"): path
        for path in sorted(folder.glob("*.gz"))
    }


def main(data: Path, keep: bool) -> None:
    """Report all tables."""
    report("Simulated points of interest", simulated(), keep=keep)
    passages = data / "trec-dl/passage"
    scores = {
        year: rd.evaluate(passages / f"qrels.dl{year}-passage.txt", runs_of(passages / f"dl{year}"), MEASURES)
        for year in ("19", "20")
    }
    references, runs = passages / "dl21/qrels.dl21-passage.txt", runs_of(passages / "dl21/runs")
    of = {"2019+2020": rd.Scores.pooled(scores), "2021": rd.evaluate(references, runs, MEASURES)}
    power = {
        name: rd.power(each, sizes=[25], subsamples=300, permutations=1000, p_value="paper").summary()
        for name, each in of.items()
    }
    table: list[Row] = [
        {"measure": name, **{year: at(each, name) for year, each in power.items()}} for name in MEASURES
    ]
    report("Power on TREC DL", table, keep=keep)
    report("Agreement on TREC DL", agreements(passages), keep=keep)
    names = {"2019": "dl19-doc-msmarco-v2", "2020": "dl20-doc-msmarco-v2", "2021": "dl21-doc"}
    documents = {year: rd.read_references(data / f"trec-dl/doc/qrels.{name}.txt") for year, name in names.items()}
    report("Tiers of TREC DL documents", [sizes(one) for one in all_tiers(documents)], keep=keep)
    teams = {run: next(team for start, team in TEAMS.items() if run.startswith(start)) for run in runs}
    found = leave_out(references, runs, LEFT_OUT, teams=teams, shares=[0.1, 0.5])
    removed = [number for kind, _, number in found.cases if kind == "team"]
    report("Left out of TREC DL", [lost(found.to_polars(), measure) for measure in LEFT_OUT], keep=keep)
    print(f"{len(removed)} teams, {sum(removed) / max(len(removed), 1):.0f} judgments each")


def simulated() -> list[Row]:
    """Return power at 100 queries, queries for power .8 (None: not reached) and stability, by measure."""
    facts = run_poi().to_polars().filter(pl.col("part").is_in(["Table 2", "Table 3"]))
    kept = {"p50": "median power at 100", "n80": "queries for .8", "auc": "stability"}
    found: dict[str, dict[str, float | None]] = {}
    for _, measure, statistic, value, _ in facts.iter_rows():
        if statistic in kept:
            found.setdefault(measure, {})[kept[statistic]] = value if np.isfinite(value) else None
    return [{"measure": measure, **numbers} for measure, numbers in found.items()]


def at(table: pl.DataFrame, measure: str) -> float:
    """Return the median power of a measure at 25 queries."""
    return float(table.filter(measure=measure)["p50"].item())


def agreements(passages: Path) -> list[Row]:
    """Return the least and the largest agreement of variants of RDQ with other measures, year by year."""
    folders = {"2019": ("qrels.dl19-passage.txt", "dl19"), "2020": ("qrels.dl20-passage.txt", "dl20")}
    folders |= {"2021": ("dl21/qrels.dl21-passage.txt", "dl21/runs")}
    rows: list[Row] = []
    for year, (qrels, runs) in folders.items():
        found = rd.agreement(rd.evaluate(passages / qrels, runs_of(passages / runs), [*RDQ, *BASELINES]))
        block = np.ix_(*([found.measures.index(name) for name in group] for group in (RDQ, BASELINES)))
        ends = {name: values[0][block] for name, values in (("τ", found.tau), ("r", found.r))}
        least = {f"least {name}": float(values.min()) for name, values in ends.items()}
        rows.append(
            {"year": year, **least, **{f"largest {name}": float(values.max()) for name, values in ends.items()}}
        )
    return rows


def sizes(one: TierStatistics) -> Row:
    """Return how large the tiers of some document judgments are."""
    numbers = {"relevant per query": one.relevant, "median tier": one.median_tier, "mean tier": one.mean_tier}
    return {"document judgments": one.name, "queries": one.queries, **numbers}


def lost(table: pl.DataFrame, measure: str) -> Row:
    """Return what is lost under one measure."""
    found = {row["left_out"]: row for row in table.filter(measure=measure).iter_rows(named=True)}
    team, *others = found.values()
    shown = {"places lost by the left-out team": interval(team, "places", 1), "τ without a team": interval(team, "tau")}
    return {"measure": measure, **shown, **{f"τ without {row['left_out']}": interval(row, "tau") for row in others}}


def interval(row: dict[str, Any], name: str, digits: int = 3) -> str:
    """Write a number with its interval."""
    value, low, high = (row[key] for key in (name, f"{name}_low", f"{name}_high"))
    return f"{value:.{digits}f} [{low:.{digits - 1 or 1}f}, {high:.{digits - 1 or 1}f}]"


if __name__ == "__main__":
    main(Path(sys.argv[1]), "--keep" in sys.argv)
