"""Tables and figures of the study of a track."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankdev.display.agreement import plot_agreement, plot_sensitivity
from rankdev.display.cells import count, interval, number
from rankdev.display.power import plot_power, plot_stability
from rankdev.display.report import Report, Table
from rankdev.display.style import PAGE, figure, looks, save, styled, titled
from rankdev.errors import counted
from rankdev.statistics.sensitivity import Sensitivity
from rankdev.studies.track import KINDS, Track

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Fact = dict[str, Any]
SCHEMA = {"part": pl.String, "measure": pl.String, "statistic": pl.String}
PAPER = 100  # queries at which the paper reports power
STABLE = (25, 50, 100, 200)


def track_report(study: Track) -> Report:
    """Show power, whole and in buckets, the advice on M1 and M2, stability, Figure 1 and Figure 2."""
    parts = [_power(study), *_by_kind(study), _advice(study)]
    later = ((_stability, study.stability), (_grid, study.grid), (_agreement, study.agreement))
    parts += [show(study) for show, found in later if found is not None]
    records = [record for _, facts in parts for record in facts]
    frame = pl.DataFrame(records, schema=SCHEMA | dict.fromkeys(("value", "low", "high"), pl.Float64))
    pairs = counted(study.power.verdicts()["pairs"], "pair")
    about = study.tiers
    queries = counted(len(study.scores.queries), "query")
    opening = (
        f"{counted(len(study.scores.systems), 'system')}, {pairs}, {queries}; {number(about.relevant, 1)} reference"
        f" items per query, tiers of {number(about.median_tier, 1)} items (median; mean {number(about.mean_tier, 1)})",
    )
    plan = study.protocol
    closing = (
        f"protocol: {plan.subsamples} subsamples, {plan.permutations:,} sign flips per test, seed {study.seed}; within"
        " buckets queries are drawn with replacement, as new ones",
    )
    parameters = {"n": study.n, **vars(plan), "seed": study.seed, "complete": study.complete}
    tables = [table for table, _ in parts if table is not None]
    return Report(
        frame,
        tables,
        opening=opening,
        closing=closing,
        remarks=study.notes,
        command="study track",
        parameters=parameters,
    )


def _fact(part: str, measure: str, statistic: str, value: float | None, limits: Sequence[float | None] = ()) -> Fact:
    low, high = limits or (None, None)
    return {"part": part, "measure": measure, "statistic": statistic, "value": value, "low": low, "high": high}


def _power(study: Track) -> tuple[Table, list[Fact]]:
    """Tables 2 and 4: percentiles of power over pairs, and N80."""
    frame = study.power.summary(study.n).sort("p50", descending=True, maintain_order=True)
    names = {name: f"{name}@{study.n}" for name in ("p10", "p50", "p90")} | {"n80": "n80"}
    records = [
        _fact("power", row["measure"], text, row[name])
        for row in frame.iter_rows(named=True)
        for name, text in names.items()
    ]
    if study.n != PAPER and PAPER in study.power.sizes:
        more = study.power.summary(PAPER).select("measure", pl.col("p50").alias(f"p50@{PAPER}"))
        records += [_fact("power", measure, f"p50@{PAPER}", value) for measure, value in more.iter_rows()]
        frame = frame.join(more, on="measure", how="left", maintain_order="left")
    title = f"Tables 2 and 4: power at {study.n} queries over pairs"
    return Table(frame, title, digits=3, formats={"n80": count}), records


def _by_kind(study: Track) -> Iterator[tuple[Table, list[Fact]]]:
    """The right half of Table 2: median power by kind of references."""
    for kind in KINDS:
        buckets = [bucket for bucket in study.buckets if bucket.kind == kind]
        if not buckets:
            continue
        records, columns = list[Fact](), {"measure": list(study.scores.measures)}
        for bucket in buckets:
            medians = bucket.power.summary(study.n).select("measure", "p50").rows()
            records += [_fact(f"{kind} {bucket.label}", measure, f"p50@{study.n}", value) for measure, value in medians]
            columns[f"{bucket.label}: {bucket.queries}"] = [value for _, value in medians]
        title = f"Median power at {study.n} queries by {kind}; after the colon, queries"
        yield Table(pl.DataFrame(columns), title, names=("measure",), digits=2), records


def _advice(study: Track) -> tuple[Table, list[Fact]]:
    """Compare the power of M1 and M2, on all queries and by kind of references."""
    m1, usual, mild = (next(name for name in study.measures[0] if text in name) for text in ("=m1", "RDQ@", "alpha=4"))
    parts = [("all queries", "", study.power), *((part.kind, part.label, part.power) for part in study.buckets)]
    rows, records = [], []
    for kind, label, power in parts:
        median = dict(power.summary(study.n).select("measure", "p50").rows())
        for other in (usual, mild):
            value = median[m1] - median[other]
            records.append(_fact(f"{kind} {label}".strip(), f"{m1} − {other}", f"p50@{study.n}", value))
            rows.append((kind, label, other, value))
    title = f"M1 or M2? Median power of {m1} minus that of M2"
    return Table(pl.DataFrame(rows, schema=["by", "items", "M2", "M1 − M2"], orient="row"), title, digits=3), records


def _stability(study: Track) -> tuple[Table, list[Fact]]:
    """Table 3: how well subsamples keep the order of systems."""
    assert study.stability is not None
    sizes = [n for n in STABLE if n in study.stability.sizes] or list(study.stability.sizes[:1])
    rows, records = [], []
    for row in study.stability.summary(sizes).sort("auc", descending=True, nulls_last=True).iter_rows(named=True):
        shown = {name: row[name] for name in (*(f"tau_{n}" for n in sizes), "auc", "n_at_0.8")}
        records += [_fact("stability", row["measure"], name, value) for name, value in shown.items()]
        rows.append({"measure": row["measure"], **shown})
    title = "Table 3: stability of the order of systems"
    return Table(pl.DataFrame(rows), title, digits=3, formats={"n_at_0.8": count}), records


def _grid(study: Track) -> tuple[Table, list[Fact]]:
    """Figure 1: median power over the grid of α and λ, and how far its cells are from each other."""
    assert study.grid is not None
    summary = study.grid.summary(study.n)
    records = [_fact("Figure 1", row["measure"], f"p50@{study.n}", row["p50"]) for row in summary.iter_rows(named=True)]
    alphas, lams = (sorted(set(values)) for values in zip(*study.cells, strict=True))
    value = dict(zip(study.cells, summary["p50"], strict=True))  # measures are in the grid's order
    columns: dict[str, Any] = {"alpha": [f"{alpha:g}" for alpha in alphas]}
    columns |= {f"lam={lam:g}": [value[alpha, lam] for alpha in alphas] for lam in lams}
    ranked = summary.sort("p50", descending=True, maintain_order=True)
    best, worst = (ranked.row(place, named=True) for place in (0, -1))
    note = (
        f"highest {best['measure']} {number(best['p50'], 3)}, lowest {worst['measure']} {number(worst['p50'], 3)};"
        f" apart by {number(best['p50'] - worst['p50'], 3)}"
    )
    title = f"Figure 1: median power at {study.n} queries by parameters of M2"
    return Table(pl.DataFrame(columns), title, (note,), digits=3), records


def _agreement(study: Track) -> tuple[Table, list[Fact]]:
    """Figure 2: τ of each RDQ variant with every other measure."""
    found = study.agreement
    assert found is not None
    assert found.tau_limits is not None
    own, others = study.measures
    columns, records = {"measure": list(others)}, []
    for a in own:
        texts = []
        for b in others:
            i, j = found.measures.index(a), found.measures.index(b)
            low, high = found.tau_limits[:, 0, i, j].tolist()
            texts.append(f"{number(found.tau[0, i, j], 2)} {interval(low, high, 2)}")
            pair = f"{a} ~ {b}"
            records += [
                _fact("Figure 2", pair, "tau", _known(found.tau[0, i, j]), (low, high)),
                _fact("Figure 2", pair, "r", _known(found.r[0, i, j])),
            ]
        columns[a] = texts
    title = "Figure 2: Kendall τ between orders of systems; in brackets, 95%"
    return Table(pl.DataFrame(columns), title, right=own), records


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


REPORTED = [(1, 0.2), (4, 0.2)]  # (α, λ) of the paper's experiments, in red frames


def save_track_figures(study: Track, folder: str | Path) -> list[Path]:
    """Write the figures of what is finished; return their paths."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    figures = {"power.png": plot_power(study.power)}
    if study.grid is not None:
        figures["figure1.png"] = plot_sensitivity(_parameter_grid(study), REPORTED)
    if study.agreement is not None:
        figures["figure2.png"] = plot_agreement(study.agreement, *study.measures)
    if study.stability is not None:
        figures["stability.png"] = plot_stability(study.stability)
    if study.buckets:
        figures["buckets.png"] = plot_buckets(study)
    return [save(drawn, target / name) for name, drawn in figures.items()]


def _parameter_grid(study: Track) -> Sensitivity:
    assert study.grid is not None
    found = study.grid
    median = np.median(found.power[:, :, 0], axis=1)
    return Sensitivity(
        measure=study.measures[0][0],
        axes=("alpha", "lam"),
        cells=study.cells,
        measures=found.measures,
        power=median,
        n=study.n,
        subsamples=found.subsamples,
        permutations=found.permutations,
        alpha=found.alpha,
        p_value=found.p_value,
        seed=found.seed,
    )


@styled
def plot_buckets(study: Track) -> Figure:
    """Draw the median power of every measure in each bucket; one panel per kind of bucket."""
    kinds = [kind for kind in KINDS if any(part.kind == kind for part in study.buckets)]
    measures = list(study.scores.measures)
    drawn, axes = figure(PAGE, 3.6, 1, len(kinds), sharey=True)
    look, step = looks(measures), 0.8 / len(measures)
    for axis, kind in zip(axes[0], kinds, strict=True):
        parts = [part for part in study.buckets if part.kind == kind]
        for m, measure in enumerate(measures):
            value = [part.power.summary(study.n)["p50"][m] for part in parts]
            at = np.arange(len(parts)) + (m - len(measures) / 2 + 0.5) * step
            style: dict[str, Any] = {"color": look[measure]["color"], "marker": look[measure]["marker"]}
            axis.plot(at, value, linestyle="none", markersize=3, label=measure, **style)
        axis.set_xticks(range(len(parts)), [f"{part.label}\n{part.queries} queries" for part in parts])
        axis.grid(visible=False, axis="x")
        axis.set(xlabel=f"{kind} (items)", ylim=(0, 1.02))
    axes[0, 0].set_ylabel(f"median power at {study.n} queries")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    drawn.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=6)
    return titled(drawn, "Which measure has the most power, by kind of references?")
