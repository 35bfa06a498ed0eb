"""Tables and figures of the study of a track."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankdev.display.agreement import plot_agreement, plot_sensitivity
from rankdev.display.cells import count, counts, interval, number
from rankdev.display.power import plot_power, plot_stability
from rankdev.display.report import Report, Table
from rankdev.display.style import PAGE, figure, looks, save, styled, titled
from rankdev.errors import counted
from rankdev.statistics.sensitivity import Sensitivity
from rankdev.studies.track.study import KINDS, Track

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
        f"protocol: {plan.subsamples} subsamples, {plan.permutations:,} sign flips per test, seed {study.seed}; 95%"
        " intervals over the choice of queries; within buckets queries are drawn with replacement, as new ones",
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
    records, rows = [], []
    for row in study.power.summary(study.n).sort("p50", descending=True, maintain_order=True).iter_rows(named=True):
        records += [
            _fact("power", row["measure"], text, row[name], _limits(row, name))
            for name, text in (*((name, f"{name}@{study.n}") for name in ("p10", "p50", "p90")), ("n80", "n80"))
        ]
        shown = {"measure": row["measure"], **{name: row[name] for name in ("p10", "p50")}}
        shown["95%"] = interval(*_limits(row, "p50"), 3)
        shown |= {"p90": row["p90"], "n80": row["n80"], "n80, 95%": counts(*_limits(row, "n80"))}
        rows.append(shown)
    if study.n != PAPER and PAPER in study.power.sizes:
        more = {row["measure"]: row for row in study.power.summary(PAPER).iter_rows(named=True)}
        for shown in rows:
            row = more[shown["measure"]]
            shown |= {f"p50@{PAPER}": row["p50"], f"95%@{PAPER}": interval(*_limits(row, "p50"), 3)}
            records.append(_fact("power", row["measure"], f"p50@{PAPER}", row["p50"], _limits(row, "p50")))
    title = f"Tables 2 and 4: power at {study.n} queries over pairs"
    right = [name for name in rows[0] if "95%" in name]
    return Table(pl.DataFrame(rows), title, digits=3, formats={"n80": count}, right=right), records


def _by_kind(study: Track) -> Iterator[tuple[Table, list[Fact]]]:
    """The right half of Table 2: median power by kind of references."""
    for kind in KINDS:
        buckets = [bucket for bucket in study.buckets if bucket.kind == kind]
        if not buckets:
            continue
        records, columns = list[Fact](), {"measure": list(study.scores.measures)}
        for bucket in buckets:
            texts = []
            for row in bucket.power.summary(study.n).iter_rows(named=True):
                limits = _limits(row, "p50")
                texts.append(f"{number(row['p50'], 2)} {interval(*limits, 2)}")
                records.append(_fact(f"{kind} {bucket.label}", row["measure"], f"p50@{study.n}", row["p50"], limits))
            columns[f"{bucket.label}: {bucket.queries}"] = texts
        title = f"Median power at {study.n} queries by {kind}; after the colon, queries"
        yield Table(pl.DataFrame(columns), title, names=("measure",), right=list(columns)[1:]), records


def _advice(study: Track) -> tuple[Table, list[Fact]]:
    """Compare the power of M1 and M2, on all queries and by kind of references."""
    m1, usual, mild = (next(name for name in study.measures[0] if text in name) for text in ("=m1", "RDQ@", "alpha=4"))
    parts = [("all queries", "", study.power), *((part.kind, part.label, part.power) for part in study.buckets)]
    rows, records = [], []
    for kind, label, power in parts:
        table = power.differences(study.n)
        for other in (usual, mild):
            value, low, high = _between(table, m1, other)
            conclusion = "M1 more" if low > 0 else "M2 more" if high < 0 else "not clear"
            records.append(_fact(f"{kind} {label}".strip(), f"{m1} − {other}", f"p50@{study.n}", value, (low, high)))
            rows.append((kind, label, other, value, interval(low, high, 3), conclusion))
    title = f"M1 or M2? Median power of {m1} minus that of M2"
    schema = ["by", "items", "M2", "M1 − M2", "95%", "verdict"]
    return Table(pl.DataFrame(rows, schema=schema, orient="row"), title, digits=3, right=("95%",)), records


def _between(table: pl.DataFrame, a: str, b: str) -> tuple[float, float, float]:
    """Return a − b with its interval, whichever of the two comes first in the table."""
    found = table.filter(pl.col("a").is_in([a, b]) & pl.col("b").is_in([a, b])).row(0, named=True)
    value, low, high = (float(found[name]) for name in ("difference", "low", "high"))
    return (value, low, high) if found["a"] == a else (-value, -high, -low)


def _stability(study: Track) -> tuple[Table, list[Fact]]:
    """Table 3: how well subsamples keep the order of systems."""
    assert study.stability is not None
    sizes = [n for n in STABLE if n in study.stability.sizes] or list(study.stability.sizes[:1])
    found = study.stability.to_polars()
    limits = {(row["measure"], row["n"]): (row["low"], row["high"]) for row in found.iter_rows(named=True)}
    rows, records = [], []
    for row in study.stability.summary(sizes).sort("auc", descending=True, nulls_last=True).iter_rows(named=True):
        shown: dict[str, Any] = {"measure": row["measure"]}
        for n in sizes:
            shown |= {f"tau_{n}": row[f"tau_{n}"], f"95%@{n}": interval(*limits[row["measure"], n], 3)}
            records.append(_fact("stability", row["measure"], f"tau_{n}", row[f"tau_{n}"], limits[row["measure"], n]))
        reached = (row["n_at_0.8_low"], row["n_at_0.8_high"])
        records += [
            _fact("stability", row["measure"], "auc", row["auc"]),
            _fact("stability", row["measure"], "n_at_0.8", row["n_at_0.8"], reached),
        ]
        rows.append({**shown, "auc": row["auc"], "n_at_0.8": row["n_at_0.8"]})
    right = [name for name in rows[0] if "95%" in name]
    title = "Table 3: stability of the order of systems"
    return Table(pl.DataFrame(rows), title, digits=3, formats={"n_at_0.8": count}, right=right), records


def _grid(study: Track) -> tuple[Table, list[Fact]]:
    """Figure 1: median power over the grid of α and λ, and how far its cells are from each other."""
    assert study.grid is not None
    summary = study.grid.summary(study.n)
    records = [
        _fact("Figure 1", row["measure"], f"p50@{study.n}", row["p50"], _limits(row, "p50"))
        for row in summary.iter_rows(named=True)
    ]
    alphas, lams = (sorted(set(values)) for values in zip(*study.cells, strict=True))
    value = dict(zip(study.cells, summary["p50"], strict=True))  # measures are in the grid's order
    columns: dict[str, Any] = {"alpha": [f"{alpha:g}" for alpha in alphas]}
    columns |= {f"lam={lam:g}": [value[alpha, lam] for alpha in alphas] for lam in lams}
    ranked = summary.sort("p50", descending=True, maintain_order=True)
    best, worst = (ranked.row(place, named=True) for place in (0, -1))
    apart, low, high = _between(study.grid.differences(study.n), best["measure"], worst["measure"])
    note = (
        f"highest {best['measure']} {number(best['p50'], 3)} {interval(*_limits(best, 'p50'), 3)}, lowest"
        f" {worst['measure']} {number(worst['p50'], 3)}; apart by {number(apart, 3)} {interval(low, high, 3)}"
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
            low, high = found.tau_limits[:, 0, 0, i, j].tolist()
            texts.append(f"{number(found.tau[0, i, j], 2)} {interval(low, high, 2)}")
            pair = f"{a} ~ {b}"
            records += [
                _fact("Figure 2", pair, "tau", _known(found.tau[0, i, j]), (low, high)),
                _fact("Figure 2", pair, "r", _known(found.r[0, i, j])),
            ]
        columns[a] = texts
    title = "Figure 2: Kendall τ between orders of systems; in brackets, 95% for the true orders"
    return Table(pl.DataFrame(columns), title, right=own), records


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _limits(row: Mapping[str, Any], name: str) -> tuple[float | None, float | None]:
    return row[f"{name}_low"], row[f"{name}_high"]


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
    """Draw the median power of every measure in each bucket, with its interval; one panel per kind of bucket."""
    kinds = [kind for kind in KINDS if any(part.kind == kind for part in study.buckets)]
    measures = list(study.scores.measures)
    drawn, axes = figure(PAGE, 3.6, 1, len(kinds), sharey=True)
    look, step = looks(measures), 0.8 / len(measures)
    for axis, kind in zip(axes[0], kinds, strict=True):
        parts = [part for part in study.buckets if part.kind == kind]
        for m, measure in enumerate(measures):
            rows = [part.power.summary(study.n).row(m, named=True) for part in parts]
            value, low, high = (np.array([row[name] for row in rows]) for name in ("p50", "p50_low", "p50_high"))
            at = np.arange(len(parts)) + (m - len(measures) / 2 + 0.5) * step
            style: dict[str, Any] = {"color": look[measure]["color"], "marker": look[measure]["marker"]}
            limits = np.stack([value - low, high - value])
            axis.errorbar(at, value, limits, linestyle="none", markersize=3, linewidth=0.8, label=measure, **style)
        axis.set_xticks(range(len(parts)), [f"{part.label}\n{part.queries} queries" for part in parts])
        axis.grid(visible=False, axis="x")
        axis.set(xlabel=f"{kind} (items)", ylim=(0, 1.02))
    axes[0, 0].set_ylabel(f"median power at {study.n} queries")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    drawn.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=6)
    return titled(drawn, "Which measure has the most power, by kind of references? (95% intervals)")
