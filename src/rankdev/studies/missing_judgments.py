"""Scores and system rankings after some judgments are removed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankdev._common.arrays import Floats
from rankdev._common.checks import check_number, check_seed, check_whole, is_list
from rankdev._common.result import Result
from rankdev._common.tables import check_mapping
from rankdev._common.work import Progress
from rankdev.core.references import References, ReferencesLike
from rankdev.core.runs import RunLike
from rankdev.display.cells import interval, number
from rankdev.display.dispatch import draws, reports
from rankdev.display.report import Report, Table
from rankdev.display.style import PAGE, colour_of, figure, shortened, styled, titled
from rankdev.errors import DataError, UsageError, counted, shown, suggestion
from rankdev.io.loading import load_inputs
from rankdev.measures import parse_all
from rankdev.statistics.power.intervals import NORMAL
from rankdev.studies._removal import Rescoring, of_fractions, of_teams, resampled_weights

if TYPE_CHECKING:
    from matplotlib.figure import Figure


MEASURES = "RDQ@10,RDQ(penalty=m1)@10,nDCG@10,AP@10,RBP(p=0.8)@10,Compat(p=0.95)@10"
OF_JUDGED = "RDQ(judged_only=True)@10,nDCG(judged_only=True)@10,Bpref"  # need to know what was judged nonrelevant


@dataclass(frozen=True, eq=False, kw_only=True)
class LeaveOut(Result):
    """Scores and rankings of systems after some judgments are removed.

    Arrays are ``[case, resample, measure]``; the first resample is all queries as they are.

    Attributes
    ----------
    measures : tuple of str
        Names of the measures.
    teams : dict of str to tuple of str
        Systems of each team.
    cases : tuple of (str, str, int)
        Kind, name and number of removed judgments: of a team, whose unique contributions to the pool are removed, or
        of a fraction of all judgments, drawn at random.
    tau, tau_ap : array
        Rank correlation of the systems with the ranking by all judgments.
    shift : array
        Mean change of all scores.
    own, places : array
        For teams, how much more their own systems lose than others, in score and in ranks.
    pool_depth, draws, resamples, seed : int
        Parameters of the study.
    remarks : tuple of str
        Notes on the data.

    See Also
    --------
    rankdev.studies.leave_out : Returns the study.
    """

    made_with = ("pool_depth", "draws", "resamples", "seed")

    measures: tuple[str, ...]
    teams: Mapping[str, tuple[str, ...]] = field(repr=False)
    cases: tuple[tuple[str, str, int], ...] = field(repr=False)
    tau: Floats = field(repr=False)
    tau_ap: Floats = field(repr=False)
    shift: Floats = field(repr=False)
    own: Floats = field(repr=False)
    places: Floats = field(repr=False)
    pool_depth: int
    draws: int
    resamples: int
    seed: int
    remarks: tuple[str, ...] = ()

    def to_polars(self) -> pl.DataFrame:
        """Return one row per kind of removal and measure, with means over cases.

        Returns
        -------
        polars.DataFrame
            Columns left_out, measure, tau, tau_ap, shift, own, places, each number followed by the limits of its 95%
            interval over queries, such as tau_low and tau_high; ``own`` and ``places`` are for teams only.

        Examples
        --------
        >>> lists = {"x": {"q": ["a", "b"]}, "y": {"q": ["c", "b"]}}
        >>> found = leave_out({"q": ["a", "b", "c"]}, lists, "AP@2", shares=[], pool_depth=1, resamples=20)
        >>> found.to_polars()["left_out"].to_list()
        ['a team']
        """
        rows = []
        for name, places in self.groups().items():
            for m, measure in enumerate(self.measures):
                row: dict[str, Any] = {"left_out": name, "measure": measure}
                for what in ("tau", "tau_ap", "shift", "own", "places"):
                    row |= _with_limits(what, getattr(self, what)[places, :, m].mean(axis=0))
                rows.append(row)
        return pl.DataFrame(rows, infer_schema_length=None).fill_nan(None)

    def by_team(self) -> pl.DataFrame:
        """Return one row per team and measure.

        Returns
        -------
        polars.DataFrame
            Columns team, systems, judgments (removed), measure, tau, own, places, with the limits of their intervals.

        Examples
        --------
        >>> lists = {"x": {"q": ["a", "b"]}, "y": {"q": ["c", "b"]}}
        >>> found = leave_out({"q": ["a", "b", "c"]}, lists, "AP@2", shares=[], pool_depth=1, resamples=20)
        >>> found.by_team()["team"].to_list()
        ['x', 'y']
        """
        rows = []
        for case, (kind, name, judgments) in enumerate(self.cases):
            for m, measure in enumerate(self.measures if kind == "team" else ()):
                row = {"team": name, "systems": len(self.teams[name]), "judgments": judgments, "measure": measure}
                for what in ("tau", "own", "places"):
                    row |= _with_limits(what, getattr(self, what)[case, :, m])
                rows.append(row)
        names = {"team": pl.String, "systems": pl.Int64, "judgments": pl.Int64, "measure": pl.String}
        numbers = [f"{what}{end}" for what in ("tau", "own", "places") for end in ("", "_low", "_high")]
        return pl.DataFrame(rows, schema=names | dict.fromkeys(numbers, pl.Float64)).fill_nan(None)

    def groups(self) -> dict[str, list[int]]:
        """Return the cases of every kind of removal: those of all teams, and those of each fraction.

        Returns
        -------
        dict of str to list of int
            Indices into ``cases``.

        Examples
        --------
        >>> lists = {"x": {"q": ["a", "b"]}, "y": {"q": ["c", "b"]}}
        >>> leave_out({"q": ["a", "b", "c"]}, lists, "AP@2", shares=[0.5], draws=2, pool_depth=1, resamples=20).groups()
        {'a team': [0, 1], '50% of judgments': [2, 3]}
        """
        found: dict[str, list[int]] = {}
        for case, (kind, name, _) in enumerate(self.cases):
            found.setdefault("a team" if kind == "team" else name, []).append(case)
        return found


def leave_out(
    references: ReferencesLike,
    runs: Mapping[str, RunLike],
    measures: Any = None,
    *,
    teams: Mapping[str, str] | None = None,
    shares: Sequence[float] = (0.1, 0.3, 0.5),
    pool_depth: int = 10,
    draws: int = 5,
    resamples: int = 200,
    seed: int = 0,
    progress: Progress | None = None,
) -> LeaveOut:
    """Remove judgments, and measure how scores and rankings of systems change.

    What a team alone contributed to the pool, the judged items that only its runs have among the first
    ``pool_depth``, is removed as if the team had not taken part. Intervals resample queries.

    Parameters
    ----------
    references : References, path, table or dict
        Judgments: lists, tiers or grades.
    runs : dict of str to Run, path, table or dict
        Each system's ranking; at least two systems.
    measures : str, Measure or list of them, optional
        Default: RDQ, nDCG, AP, RBP and Compat at 10, and measures of judged items where nonrelevant items are known.
    teams : dict of str to str, optional
        Team of each system. Default: every system is its own team.
    shares : list of float, default (0.1, 0.3, 0.5)
        Fractions of all judgments that are removed at random.
    pool_depth : int, default 10
        Depth of the pool.
    draws : int, default 5
        Random draws per fraction.
    resamples : int, default 200
        Resamples of queries for intervals.
    seed : int, default 0
        Seed of draws and resamples.
    progress : callable, optional
        ``progress(done, total, text)``.

    Returns
    -------
    LeaveOut
        Rank correlations, and changes of scores and ranks.

    Examples
    --------
    >>> judged = {f"q{i}": {"a": 2, "b": 1, "c": 0} for i in range(4)}
    >>> lists = {"x": {q: ["a", "b"] for q in judged}, "y": {q: ["c", "b"] for q in judged}}
    >>> found = leave_out(References.from_grades(judged), lists, "nDCG@2", shares=[], pool_depth=1, resamples=20)
    >>> [round(value, 2) for value in found.by_team()["own"]]
    [-0.76, 0.0]
    """
    pool_depth, draws = check_whole("pool_depth", pool_depth, 1), check_whole("draws", draws, 1)
    resamples, seed = check_whole("resamples", resamples, 20), check_seed(seed)
    if not is_list(shares):
        raise UsageError(f"shares must be a list such as [0.1, 0.5]; got {shown(shares)}")
    wanted = [check_number("each of shares", value, 0, 1) for value in shares]
    known, loaded = load_inputs(references, runs)
    if len(loaded) < 2:
        raise DataError("an order of systems needs at least two runs")
    texts = [str(measure) for measure in parse_all(_usual(known) if measures is None else measures)]
    named = _teams(teams, list(loaded))
    work = Rescoring(known, loaded, texts, resampled_weights(len(known), resamples, seed))
    lost = [*of_teams(work, named, pool_depth), *of_fractions(work, wanted, draws, seed)]
    parts = []
    for done, (kind, name, rows) in enumerate(lost):
        if progress is not None:
            progress(done, len(lost), f"{kind} {name}")
        parts.append(work.without(rows, [work.systems.index(system) for system in named.get(name, ())]))
    if not parts:
        raise DataError("nothing to leave out: no team has unique contributions, and shares is empty")
    cases = tuple((kind, name, len(rows)) for kind, name, rows in lost)
    tau, ap, shift, own, places = (np.stack(array) for array in zip(*parts, strict=True))
    return LeaveOut(
        measures=work.measures,
        teams=named,
        cases=cases,
        tau=tau,
        tau_ap=ap,
        shift=shift,
        own=own,
        places=places,
        pool_depth=pool_depth,
        draws=draws,
        resamples=resamples,
        seed=seed,
        remarks=tuple(work.remarks),
    )


def _usual(references: References) -> str:
    measures = MEASURES if references.grades is not None else MEASURES.replace("nDCG@", "nDCG(gains=inverse)@")
    later = OF_JUDGED if references.grades is not None else OF_JUDGED.replace("nDCG(", "nDCG(gains=inverse,")
    return measures if references.nonrelevant is None else f"{measures},{later}"


def _teams(teams: Mapping[str, str] | None, systems: Sequence[str]) -> dict[str, tuple[str, ...]]:
    given = check_mapping({name: name for name in systems} if teams is None else teams, "teams", "{system: team}")
    for name in systems:
        if name not in given:
            raise UsageError(f"teams does not name the team of {shown(name)}; name the team of every system")
    for name in given:
        if name not in systems:
            raise UsageError(f"teams names {shown(name)}, which is not a system{suggestion(str(name), systems)}")
    found: dict[str, list[str]] = {}
    for name in systems:
        found.setdefault(str(given[name]), []).append(name)
    return {team: tuple(names) for team, names in found.items()}


def _with_limits(name: str, values: Floats) -> dict[str, float]:
    """Return the value on all queries, and limits 1.96 standard errors over resamples around it.

    Quantiles of the resamples would be too low: resampled rankings agree less with each other than whole ones do.
    """
    half = NORMAL * values[1:].std(ddof=1)
    most = 1.0 if name.startswith("tau") else np.inf
    low, high = max(values[0] - half, -most), min(values[0] + half, most)
    return {name: float(values[0]), f"{name}_low": float(low), f"{name}_high": float(high)}


TEAM = "a team"
NAMES = {"tau": "τ", "tau_ap": "τ_ap", "shift": "all scores", "own": "own scores", "places": "places lost"}


@reports(LeaveOut)
def leave_out_report(found: LeaveOut) -> Report:
    """Show, for every kind of removal, how stable rankings are and what a team's own systems lose."""
    rows = found.to_polars()
    tables = []
    for name, cases in found.groups().items():
        part = rows.filter(left_out=name)
        columns = ("tau", "tau_ap", "own", "places") if name == TEAM else ("tau", "tau_ap", "shift")
        shown: dict[str, Any] = {"measure": part["measure"]}
        for column in columns:
            digits = 1 if column == "places" else 3
            shown[NAMES[column]] = [
                f"{number(value, digits)} {interval(low, high, digits)}"
                for value, low, high in part.select(column, f"{column}_low", f"{column}_high").iter_rows()
            ]
        removed = np.mean([found.cases[case][2] for case in cases])
        of = f"mean over {counted(len(cases), 'team')}" if name == TEAM else f"mean over {counted(len(cases), 'draw')}"
        title = f"Without {name}: {removed:,.0f} judgments removed, {of}"
        tables.append(Table(pl.DataFrame(shown), title, names=("measure",), right=[NAMES[name] for name in columns]))
    closing = (
        "τ, τ_ap: correlation with the ranking of systems by all judgments; own scores: change of the left-out team's"
        " systems minus that of the others; places lost: how far they fall; 95% intervals over queries",
    )
    return Report(
        rows,
        tables,
        closing=closing,
        remarks=found.remarks,
        command="study leave-out",
        parameters=found.parameters,
        summary=rows,
        more={"teams": found.by_team()},
    )


@draws(LeaveOut)
@styled
def plot_leave_out(found: LeaveOut) -> Figure:
    """Draw how stable rankings are for every kind of removal, and the places that left-out teams lose."""
    groups = list(found.groups())
    with_teams = TEAM in groups
    drawn, axes = figure(PAGE, 0.9 + 0.24 * len(found.measures) * 1.4, 1, 1 + with_teams, sharey=True)
    rows, at = found.to_polars(), np.arange(len(found.measures))[::-1]
    step = 0.7 / len(groups)
    shades = [str(shade) for shade in np.linspace(0, 0.65, len(groups))]
    for place, (name, shade) in enumerate(zip(groups, shades, strict=True)):
        part = rows.filter(left_out=name)
        height = at + (len(groups) / 2 - 0.5 - place) * step
        _dots(axes[0, 0], part, "tau", height, color=shade, marker="os^Dv<>"[place % 7], label=f"without {name}")
    axes[0, 0].set_yticks(at, [shortened(name) for name in found.measures])
    axes[0, 0].set_ylim(-0.6, len(at) - 0.4)
    axes[0, 0].set(xlabel="Kendall τ with the ranking by all judgments")
    if with_teams:
        part = rows.filter(left_out=TEAM)
        for i, name in enumerate(found.measures):
            _dots(axes[0, 1], part[i : i + 1], "places", at[i : i + 1], color=colour_of(name), marker="o")
        axes[0, 1].axvline(0, color="#777777", linewidth=0.8)
        axes[0, 1].set(xlabel="places a left-out team's systems lose")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    drawn.legend(handles, labels, loc="outside lower center", ncols=len(groups), frameon=False)
    return titled(drawn, "Are rankings of systems stable without some of the judgments? (95% intervals)")


def _dots(axis: Any, part: pl.DataFrame, what: str, height: Any, **look: Any) -> None:
    value, low, high = (part[name].to_numpy() for name in (what, f"{what}_low", f"{what}_high"))
    limits = np.stack([value - low, high - value])
    axis.errorbar(value, height, xerr=limits, linestyle="none", markersize=3.5, linewidth=1, **look)
