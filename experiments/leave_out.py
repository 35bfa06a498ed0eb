"""What a team's systems lose if it had not contributed to the pool: ``python -m experiments.leave_out DATA [--keep]``.

Judged items that only one team's runs return among the first ten are removed, team by team, and fractions of all
judgments at random. DATA has TREC Deep Learning 2021 in trec-dl/passage/dl21.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
from benchmarks.history import Row, report

import rankdev as rd
from rankdev.data.files import runs_in
from rankdev.statistics.agreement import tau_b

Floats = npt.NDArray[np.float64]
TIED = 1e-12
NORMAL = 1.959963984540054
MEASURES = (
    *("RDQ@10", "RDQ(penalty=m1)@10", "nDCG@10", "AP@10", "RBP(p=0.8)@10", "Compat(p=0.95)@10"),
    *("RDQ(judged_only=True)@10", "nDCG(judged_only=True)@10", "Bpref"),
)
TEAMS = {  # of TREC DL 2021, by how the names of their runs begin; the first that fits
    **dict.fromkeys(("p_bm25", "paug_bm25"), "organisers"),
    **dict.fromkeys(("bl_bcai", "bcai"), "bcai"),
    **{name: name for name in ("Fast", "NLE", "TUW", "WLU", "ielab", "ihsm", "mono", "p_", "pash", "pass", "top1000")},
    **{name: name for name in ("uog", "wat", "yorku")},
}


def leave_out(
    references: rd.References,
    runs: Mapping[str, rd.Run],
    teams: Mapping[str, str],
    *,
    measures: Sequence[str] = MEASURES,
    shares: Sequence[float] = (0.1, 0.5),
    depth: int = 10,
    draws: int = 5,
    resamples: int = 200,
) -> list[Row]:
    """Return, by measure, places that a left-out team loses and τ with the ranking of systems by all judgments.

    Intervals are 1.96 standard errors over resampled queries.
    """
    judged = references.to_polars(nonrelevant=True).drop("rank")
    place = {query: i for i, query in enumerate(references.queries)}
    rng = np.random.default_rng(0)
    drawn = rng.multinomial(len(place), np.full(len(place), 1 / len(place)), size=resamples)
    weights = np.concatenate([np.ones((1, len(place))), drawn]) / len(place)

    def means(kept: pl.DataFrame) -> Floats:
        """Return ``[resample, measure, system]``; a query without judgments scores 0 for all systems."""
        scores = rd.evaluate(rd.References.from_table(kept), dict(runs), list(measures))
        values = np.zeros((len(runs), len(place), len(measures)))
        values[:, [place[query] for query in scores.queries]] = np.nan_to_num(scores.values)
        return np.einsum("rq,sqm->rms", weights, values)

    whole = means(judged)
    taus: dict[str, list[Floats]] = {}
    fallen, removed = [], []
    for name, rows in (*_of_teams(judged, runs, teams, depth), *_of_shares(judged, shares, draws)):
        found = means(judged.filter(~pl.Series(np.isin(np.arange(judged.height), rows))))
        own = [i for i, system in enumerate(runs) if teams[system] == name]
        taus.setdefault("a team" if own else name, []).append(tau_b(found, whole, TIED))
        if own:
            fallen.append((_rank(found) - _rank(whole))[..., own].mean(axis=2))
            removed.append(len(rows))
    print(f"{len(removed)} teams, {np.mean(removed):.0f} judgments each")
    columns = {f"τ without {name}": np.mean(values, axis=0) for name, values in taus.items()}
    lost = np.mean(fallen, axis=0)
    return [
        {"measure": measure, "places lost by the left-out team": _interval(lost[:, m], 1)}
        | {name: _interval(values[:, m], 3, 1.0) for name, values in columns.items()}
        for m, measure in enumerate(measures)
    ]


def _of_teams(
    judged: pl.DataFrame, runs: Mapping[str, rd.Run], teams: Mapping[str, str], depth: int
) -> Iterator[tuple[str, npt.NDArray[np.int64]]]:
    """Yield the rows that each team alone contributed; a team without any is left out."""
    parts = [
        run.to_polars().filter(pl.col("rank") <= depth).select("query", "item", team=pl.lit(teams[name]))
        for name, run in runs.items()
    ]
    alone = pl.concat(parts).unique().filter(pl.len().over("query", "item") == 1)
    found = judged.select("query", "item").with_row_index("row").join(alone, on=["query", "item"])
    for team in dict.fromkeys(teams[name] for name in runs):
        rows = found.filter(team=team)["row"].to_numpy()
        if len(rows):
            yield team, rows


def _of_shares(
    judged: pl.DataFrame, shares: Sequence[float], draws: int
) -> Iterator[tuple[str, npt.NDArray[np.int64]]]:
    """Draw fractions of all judgments; larger ones include the smaller ones of the same draw."""
    orders = [np.random.default_rng([0, draw]).permutation(judged.height) for draw in range(draws)]
    for share in shares:
        for order in orders:
            yield f"{100 * share:g}% of judgments", order[: round(share * len(order))]


def _rank(means: Floats) -> Floats:
    """Rank the systems from the top, ties at their mean rank."""
    above = means[..., None, :] - means[..., :, None]
    return np.asarray((above > TIED).sum(axis=-1) + (np.abs(above) <= TIED).sum(axis=-1) / 2)


def _interval(values: Floats, digits: int, most: float = np.inf) -> str:
    """Write the value on all queries; quantiles of resamples would be too low: resampled rankings agree less."""
    half = NORMAL * values[1:].std(ddof=1)
    low, high = max(values[0] - half, -most), min(values[0] + half, most)
    return f"{values[0]:.{digits}f} [{low:.{digits - 1 or 1}f}, {high:.{digits - 1 or 1}f}]"


def main(arguments: list[str] | None = None) -> None:
    """Report what is lost on TREC Deep Learning 2021."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--keep", action="store_true", help="add the table to benchmarks/history.jsonl")
    given = parser.parse_args(arguments)
    warnings.simplefilter("ignore", rd.RankdevWarning)
    folder = given.data / "trec-dl/passage/dl21"
    runs = {name.removeprefix("input."): rd.read_run(path) for name, path in runs_in(folder / "runs").items()}
    teams = {run: next(team for start, team in TEAMS.items() if run.startswith(start)) for run in runs}
    rows = leave_out(rd.read_references(folder / "qrels.dl21-passage.txt"), runs, teams)
    report("Left out of TREC DL", rows, keep=given.keep)


if __name__ == "__main__":
    main()
