"""Numbers of docs/research.md on points of interest and TREC Deep Learning.

``python -m experiments.trec_dl DATA [--keep]``: the simulated points of interest; on public passage runs in
DATA/trec-dl/passage the power of the paper's measures and how they agree; sizes of tiers of document judgments in
DATA/trec-dl/doc; M1 and M2 on the runs of 2021 with references from grades and from DATA/preferences.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import polars as pl
from benchmarks.history import Row, report
from benchmarks.preferences.orders import model_judgments, preference_references

import rankdev as rd
from rankdev.data.files import runs_in
from rankdev.studies.poi import run_poi
from rankdev.studies.track import Track, run_track, tier_statistics

M1, M2, SHARP, NATIVE = "RDQ(penalty=m1)@10", "RDQ@10", "RDQ(alpha=4)@10", "nDCG(dcg=exp-log2)@10"
POWER = (NATIVE, M1, M2, SHARP, "AP@10")
RDQ = (M1, M2, SHARP)
OTHERS = ("AP@10", "nDCG(gains=binary)@10", NATIVE, *(f"Compat(p={p})@10" for p in (0.95, 0.9, 0.8)))
OTHERS = (*OTHERS, *(f"RBP(p={p})@10" for p in (0.9, 0.8, 0.5)))
YEARS = {"2019": ("qrels.dl19-passage.txt", "dl19"), "2020": ("qrels.dl20-passage.txt", "dl20")}
YEARS |= {"2021": ("dl21/qrels.dl21-passage.txt", "dl21/runs")}
DOCUMENTS = {"2019": "dl19-doc-msmarco-v2", "2020": "dl20-doc-msmarco-v2", "2021": "dl21-doc"}


def simulated(quick: bool) -> list[Row]:
    """Return power at 100 queries, queries for power .8 (None: not reached) and stability, by measure."""
    facts = run_poi(quick=quick).to_polars().filter(pl.col("part").is_in(["Table 2", "Table 3"]))
    kept = {"p50": "median power at 100", "n80": "queries for .8", "auc": "stability"}
    found: dict[str, dict[str, float | None]] = {}
    for _, measure, statistic, value, _ in facts.iter_rows():
        if statistic in kept:
            found.setdefault(measure, {})[kept[statistic]] = value if np.isfinite(value) else None
    return [{"measure": measure, **numbers} for measure, numbers in found.items()]


def power(scores: Mapping[str, rd.Scores], quick: bool) -> list[Row]:
    """Return the median power of measures at 25 queries by the paper's protocol; years with the same systems pooled."""
    parts = {"2019+2020": rd.Scores.pooled({year: scores[year] for year in ("2019", "2020")}), "2021": scores["2021"]}
    size = {"subsamples": 20, "permutations": 60} if quick else {"subsamples": 300, "permutations": 1000}
    columns = {
        name: dict(rd.power(part, sizes=[25], p_value="paper", **size).summary().select("measure", "p50").iter_rows())
        for name, part in parts.items()
    }
    return [{"measure": name, **{year: column[name] for year, column in columns.items()}} for name in POWER]


def agreements(scores: Mapping[str, rd.Scores]) -> Iterator[Row]:
    """Yield the least and the largest agreement of variants of RDQ with other measures, year by year."""
    for year, entry in scores.items():
        found = rd.agreement(entry)
        block = np.ix_(*([found.measures.index(name) for name in group] for group in (RDQ, OTHERS)))
        ends = {name: values[0][block] for name, values in (("τ", found.tau), ("r", found.r))}
        least = {f"least {name}": float(values.min()) for name, values in ends.items()}
        yield {"year": year, **least, **{f"largest {name}": float(values.max()) for name, values in ends.items()}}


def tiers(documents: Mapping[str, rd.References]) -> Iterator[Row]:
    """Yield how large the tiers of document judgments are, year by year and pooled."""
    for name, part in {**{year: [entry] for year, entry in documents.items()}, "pooled": documents.values()}.items():
        one = tier_statistics(*part)
        numbers = {"relevant per query": one["relevant"], "median tier": one["median"], "mean tier": one["mean"]}
        yield {"document judgments": name, "queries": sum(map(len, part)), **numbers}


def kinds_of_references(data: Path) -> dict[str, rd.References]:
    """Return references of 2021 from grades and from preferences."""
    by_judge = preference_references(data)
    return {
        "grades": rd.read_references(data / "trec-dl/passage/dl21/qrels.dl21-passage.txt"),
        "the crowd's preferences, tiers": by_judge["people"],
        "a model's preferences, tiers": by_judge["model"],
        "… the order its authors derived": rd.read_references(data / "preferences/dl21-llm/prefs.dl21"),
        "… in a strict order": rd.References.from_preferences(model_judgments(data), rule="strict"),
    }


def m1_and_m2(kinds: Mapping[str, rd.References], tracks: Mapping[str, Track]) -> Iterator[Row]:
    """Yield the power of M1 and M2 with each kind of references, for grades also by the size of tiers."""
    for name, references in kinds.items():
        track = tracks[name]
        (part,) = track.parts
        facts = track.to_polars().filter(statistic="p50@25")
        sizes = dict(zip(references.queries, references.sizes / np.maximum(references.tier_counts, 1), strict=True))
        tier = float(np.median([sizes[query] for query in part.scores.queries]))
        ours = {"RDQ(penalty=m1)": _cell(facts, "power", M1), "RDQ": _cell(facts, "power", M2)}
        row = {"references": name, "queries": len(part.scores.queries), "items per tier": tier, **ours}
        yield {**row, "M1 − M2": _cell(facts, "power", M1, M2)}
        for bucket in part.buckets if name == "grades" else ():
            if bucket.kind == "tier size":
                differs = _cell(facts, f"{bucket.kind} {bucket.label}", M1, M2)
                yield {"references": f"… tier size {bucket.label}", "queries": bucket.queries, "M1 − M2": differs}


def power_by_references(tracks: Mapping[str, Track]) -> Iterator[Row]:
    """Yield the power of every measure, and of the best cell of Figure 1, with each kind of references."""
    tables = {name: track.to_polars().filter(statistic="p50@25") for name, track in tracks.items()}
    rows: list[tuple[str, ...]] = [("power", measure) for measure in next(iter(tracks.values())).measures]
    rows += [("power", M1, SHARP)]
    rows += [("Figure 1", cell) for cell in ("RDQ(alpha=0.5,lam=0)@10", "RDQ(alpha=4,lam=0)@10")]
    for row in rows:
        yield {"measure": " − ".join(row[1:]), **{name: _cell(table, *row) for name, table in tables.items()}}
    best = {name: table.filter(part="Figure 1").sort("value")["measure"][-1] for name, table in tables.items()}
    cells = {name: _cell(table, "Figure 1", best[name]) for name, table in tables.items()}
    yield {"measure": "the best of 25 cells", **cells}


def _cell(facts: pl.DataFrame, part: str, measure: str, other: str | None = None) -> str | None:
    """Write one power, or the difference of two; None where there is none."""
    known = dict(facts.filter(part=part).select("measure", "value").iter_rows())
    if measure not in known:
        return None
    return f"{known[measure] - known.get(other, 0):.3f}"


def main(arguments: list[str] | None = None) -> None:
    """Report all tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--keep", action="store_true", help="add the tables to benchmarks/history.jsonl")
    parser.add_argument("--quick", action="store_true", help="fewer subsamples and flips")
    given = parser.parse_args(arguments)
    data, keep, quick = given.data, given.keep, given.quick
    warnings.simplefilter("ignore", rd.RankdevWarning)
    report("Simulated points of interest", simulated(quick), keep=keep)
    passages = data / "trec-dl/passage"
    files = {year: (passages / qrels, runs_in(passages / runs)) for year, (qrels, runs) in YEARS.items()}
    scores = {year: rd.evaluate(*each, [*RDQ, *OTHERS]) for year, each in files.items()}
    report("Power on TREC DL", power(scores, quick), keep=keep)
    report("Agreement on TREC DL", list(agreements(scores)), keep=keep)
    documents = {y: rd.read_references(data / f"trec-dl/doc/qrels.{name}.txt") for y, name in DOCUMENTS.items()}
    report("Tiers of TREC DL documents", list(tiers(documents)), keep=keep)
    runs = {name: rd.read_run(path) for name, path in runs_in(passages / "dl21/runs").items()}
    kinds = kinds_of_references(data)
    tracks = {name: run_track({name: (references, runs)}, quick=quick) for name, references in kinds.items()}
    report("M1 and M2 on TREC DL 2021", list(m1_and_m2(kinds, tracks)), keep=keep)
    report("Power by kind of references", list(power_by_references(tracks)), keep=keep)


if __name__ == "__main__":
    main()
