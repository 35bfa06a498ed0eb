"""Power in docs/answers.md and docs/studies.md: python -m benchmarks.answers DATA [--keep]

The map of simulated pairs of systems, overall and by kind of references; where the paper's systems and those of TREC
Deep Learning 2021 lie on it; M1 and M2 on that track with five kinds of references; pairs of simulated rankers with a
significant difference, by how good the rankers are.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import rankdev as rd
from benchmarks.history import Row, report, shown
from benchmarks.preferences.orders import model_judgments, preference_references
from benchmarks.studies import runs_of
from rankdev.statistics.power import power
from rankdev.studies import place_runs, power_map, power_maps, simulate
from rankdev.studies._published import published
from rankdev.studies.maps._plots import FAR
from rankdev.studies.maps.real_pairs import place_of
from rankdev.studies.maps.result import PowerMap, PowerMaps
from rankdev.studies.track.study import Track, _kinds_of_references, run_trec

LEADS = ((0, 0.2), (0.1, 0.1), (0.2, 0), (0.2, 0.1))  # in retrieval and in order
SIZES: dict[float, str] = {3: "3 items", 10: "10 items", 30: "30 items", 100: "100 items"}
TIES: dict[float, str] = {0: "no ties", 0.5: "half tied", 0.9: "9 of 10 tied"}
FACTORS: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {  # of the errors of models and settings
    "almost equal": ((1, 1.01, 0.97, 0.99), (1.06, 1.01, 1)),
    "the default": ((1, 1.04, 0.92, 0.97), (1.2, 1.07, 1)),
    "further apart": ((1, 1.05, 0.9, 0.95), (1.3, 1.1, 1)),
    "furthest apart": ((1, 1.1, 0.85, 0.95), (1.5, 1.2, 1)),
}
M1, M2, SHARP = "RDQ(penalty=m1)@10", "RDQ@10", "RDQ(alpha=4)@10"


def main(data: Path, keep: bool) -> None:
    """Report all tables."""
    report("Simulated rankers", [counts(name) for name in FACTORS], keep=keep)
    found = power_map()
    report("Power map", [regret(row) for row in found.summary().iter_rows(named=True)], keep=keep)
    report("Power map, best measures", list(best(found)), keep=keep)
    by_size, by_ties = power_maps(reference_sizes=list(SIZES)), power_maps(ties=list(TIES))
    report("Power map by reference size", by_references(by_size, SIZES), keep=keep)
    report("Power map by ties", by_references(by_ties, TIES), keep=keep)
    report("The paper on the power map", list(paper(found)), keep=keep)
    folder = data / "trec-dl/passage/dl21"
    runs, grades = runs_of(folder / "runs"), folder / "qrels.dl21-passage.txt"
    report("Pairs of TREC DL 2021", list(real_pairs(grades, runs)), keep=keep)
    by_judge = preference_references(data)
    authors = data / "preferences/dl21-llm/prefs.dl21"
    few = rd.References.from_preferences(model_judgments(data), rule="partition", disconnected="largest")
    kinds = {
        "grades": rd.read_references(grades),
        "the crowd's preferences, default tiers": by_judge["people"],
        "a model's preferences, default tiers": by_judge["model"],
        "… the order its authors derived": rd.read_references(authors),
        "… in few tiers (rule partition)": few,
    }
    tracks = {name: run_trec(runs, references) for name, references in kinds.items()}
    table = [row for name, references in kinds.items() for row in on_track(name, references, tracks[name])]
    report("M1 and M2 on TREC DL 2021", table, keep=keep)
    report("Power by kind of references", list(powers(tracks)), keep=keep)


def counts(name: str) -> Row:
    """Count pairs of simulated rankers that differ significantly by all, most, any or none of the paper's measures."""
    models, settings = FACTORS[name]
    made = simulate(
        models=dict(zip(("v72", "v74", "v75", "v81"), models, strict=True)),
        settings=dict(zip(("mp3", "mp4", "mp5"), settings, strict=True)),
    )
    found = power(rd.evaluate(made.references, dict(made.runs), "paper@5"), sizes=[100], subsamples=1).verdicts()
    numbers = {"all": "all", "≥ 7": "most", "any": "any", "none": "none"}
    factors = {"models": ", ".join(map("{:g}".format, models)), "settings": ", ".join(map("{:g}".format, settings))}
    return {"rankers": name, **factors, **{column: found[key] for column, key in numbers.items()}}


def regret(row: Mapping[str, Any]) -> Row:
    """Return how far a measure falls short of the best one."""
    mean = shown(row["regret"], row["low"], row["high"])
    return {"measure": row["measure"], "mean regret": mean, "largest regret": row["worst"], "best in": row["wins"]}


def best(found: PowerMap) -> Iterator[Row]:
    """Yield the best measure where systems differ in order, in retrieval and in both."""
    rows = {(row["retrieval"], row["order"]): row for row in found.winners().iter_rows(named=True)}
    for lead in LEADS:
        names = {"lead in retrieval, order": ", ".join(map("{:g}".format, lead)), "best": rows[lead]["winner"]}
        yield {**names, "power": rows[lead]["power"], "others not clearly worse": rows[lead]["rivals"]}


def by_references(maps: PowerMaps, names: Mapping[float, str]) -> list[Row]:
    """Return mean regret, a column for each kind of references."""
    table: dict[str, dict[str, Any]] = {}
    for row in maps.summary().iter_rows(named=True):
        cell = shown(row["regret"], row["low"], row["high"])
        table.setdefault(row["measure"], {})[names[row[maps.axes[0]]]] = cell
    return [{"measure": measure, **cells} for measure, cells in sorted(table.items())]


def paper(found: PowerMap) -> Iterator[Row]:
    """Yield the place of the map that is closest to the paper's powers, and the powers there."""
    known = published("poi")
    at = known["power_columns"].index("p50")
    place = place_of(found, {measure: row[at] for measure, row in known["power"].items()})
    leads = {"retrieval": place.retrieval, "order": place.order}
    for (name, lead), low, high in zip(leads.items(), *place.limits, strict=True):
        yield {"what": f"lead in {name}", "map": shown(lead, low, high, 2)}
    yield {"what": "τ of the order of measures", "map": place.tau}
    yield {"what": "root mean square difference", "map": place.apart}
    rows = zip(place.measures, place.power, *place.power_limits, place.published, strict=True)
    for name, value, low, high, theirs in rows:
        yield {"what": name, "map": shown(value, low, high), "paper": float(theirs)}


def real_pairs(references: Path, runs: Mapping[str, Path]) -> Iterator[Row]:
    """Yield what the pairs of a track's systems differ by, and how well their place predicts powers."""
    found = place_runs(references, runs)
    shares = {"above the cutoff": found.by_retrieval}
    lost = rd.losses(references, runs, "RDQ@5").to_polars()
    parts = lost.select("lost_by_retrieval", "lost_by_cutoff", "lost_by_order").to_numpy()
    first, second = np.triu_indices(len(parts), 1)
    apart = np.abs(parts[second] - parts[first])
    apart /= np.maximum(apart.sum(axis=1, keepdims=True), 1e-12)
    shares |= dict(zip(("not returned", "returned below the cutoff", "order"), apart.T, strict=True))
    for name, values in shares.items():
        low, median, high = np.quantile(100 * values, [0.25, 0.5, 0.75]).tolist()
        yield {"what": f"{name}, %", "value": median, "low": low, "high": high}
    yield {"what": "opposed leads, %", "value": 100 * found.opposed}
    yield {"what": "far from any simulated pair, %", "value": 100 * float((found.far > FAR).mean())}
    for way, right, low, high in found.summary().iter_rows():
        yield {"what": way, "value": right, "low": low, "high": high}


def on_track(name: str, references: rd.References, track: Track) -> Iterator[Row]:
    """Yield the power of M1 and M2 with one kind of references, for grades also by the size of tiers."""
    facts = track.to_polars().filter(statistic="p50@25")

    def cell(part: str, measure: str) -> str:
        row = facts.filter(part=part, measure=measure).row(0, named=True)
        return shown(row["value"], row["low"], row["high"])

    _, sizes = _kinds_of_references(references, track.scores)
    tier = {"queries": len(track.scores.queries), "items per tier": float(np.median(sizes))}
    ours = {"RDQ(penalty=m1)": cell("power", M1), "RDQ": cell("power", M2)}
    yield {"references": name, **tier, **ours, "M1 − M2": cell("all queries", f"{M1} − {M2}")}
    if name == "grades":
        for bucket in track.buckets:
            if bucket.kind == "tier size":
                differs = cell(f"{bucket.kind} {bucket.label}", f"{M1} − {M2}")
                yield {"references": f"… tier size {bucket.label}", "queries": bucket.queries, "M1 − M2": differs}


def powers(tracks: Mapping[str, Track]) -> Iterator[Row]:
    """Yield the power of every measure, and of the best cell of Figure 1, with each kind of references."""
    tables = {name: track.to_polars().filter(statistic="p50@25") for name, track in tracks.items()}
    for measure in next(iter(tracks.values())).scores.measures:
        yield {"measure": measure, **{name: value(table, "power", measure) for name, table in tables.items()}}
    difference = f"{M1} − {SHARP}"
    yield {"measure": difference, **{name: value(table, "all queries", difference) for name, table in tables.items()}}
    for cell in ("RDQ(alpha=0.5,lam=0)@10", "RDQ(alpha=4,lam=0)@10"):
        yield {"measure": cell, **{name: value(table, "Figure 1", cell) for name, table in tables.items()}}
    best_cells = {name: table.filter(part="Figure 1").sort("value")["measure"][-1] for name, table in tables.items()}
    yield {
        "measure": "the best of 25 cells",
        **{name: value(tables[name], "Figure 1", cell) for name, cell in best_cells.items()},
    }


def value(table: pl.DataFrame, part: str, measure: str) -> str | None:
    """Write one power with its interval."""
    rows = table.filter(part=part, measure=measure).rows(named=True)
    return shown(rows[0]["value"], rows[0]["low"], rows[0]["high"]) if rows else None


if __name__ == "__main__":
    warnings.simplefilter("ignore", rd.RankdevWarning)
    main(Path(sys.argv[1]), "--keep" in sys.argv)
