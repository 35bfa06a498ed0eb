"""Preferences between systems from clicks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from rankdev._common.checks import check_choice, check_seed
from rankdev._common.columns import text_column
from rankdev._common.result import Result
from rankdev._common.tables import as_frame, check_mapping
from rankdev.display.dispatch import reports
from rankdev.display.report import Report, Table
from rankdev.errors import DataError
from rankdev.learning._log import click_column, named_columns, positions_of

OUTCOMES = {
    "clicks": "the number of clicks",
    "any": "whether anything was clicked",
    "first": "1 ÷ the position of the first click, 0 without any",
}


@dataclass(frozen=True, eq=False)
class ClickVerdicts(Result):
    """Preferences of users between pairs of systems, as :func:`tune` and :func:`agreement_with_people` take them.

    Attributes
    ----------
    verdicts : polars.DataFrame
        One row per preference: query, a, b, winner (a system, or tie).
    sessions : int
        Number of sessions.
    ties : int
        Preferences without a difference, which predict nothing.
    outcome : str
        What was compared.
    design : str
        ``interleaved`` where every session showed items of several systems, ``split`` where each showed the list of
        one.
    seed : int
        Seed of the random pairing of sessions.
    remarks : tuple of str
        Notes.

    See Also
    --------
    verdicts_from_clicks : Make them.
    """

    made_with = ("outcome", "design", "seed")

    verdicts: pl.DataFrame = field(repr=False)
    sessions: int
    ties: int
    outcome: str
    design: str
    seed: int
    remarks: tuple[str, ...] = ()

    def to_polars(self) -> pl.DataFrame:
        """Return the preferences.

        Returns
        -------
        polars.DataFrame
            One row per preference: query, a, b, winner (a system, or tie).

        Examples
        --------
        >>> log = [{"query": "q", "session": 1, "system": x, "clicked": c} for x, c in (("a", 1), ("b", 0))]
        >>> verdicts_from_clicks(log).to_polars().rows()
        [('q', 'a', 'b', 'a')]
        """
        return self.verdicts

    def summary(self) -> pl.DataFrame:
        """Count the preferences of each pair of systems.

        Returns
        -------
        polars.DataFrame
            One row per pair of systems: a, b, ``verdicts``, prefer_a, prefer_b, tie.

        Examples
        --------
        >>> log = [{"query": "q", "session": 1, "system": x, "clicked": c} for x, c in (("a", 1), ("b", 0))]
        >>> verdicts_from_clicks(log).summary().rows()
        [('a', 'b', 1, 1, 0, 0)]
        """
        won = [(pl.col("winner") == pl.col(side)).sum().alias(f"prefer_{side}") for side in ("a", "b")]
        neither = (pl.col("winner") == "tie").sum().alias("tie")
        return self.verdicts.group_by("a", "b", maintain_order=True).agg(pl.len().alias("verdicts"), *won, neither)


def verdicts_from_clicks(
    log: Any, *, outcome: str = "clicks", columns: Mapping[str, str] | None = None, seed: int = 0
) -> ClickVerdicts:
    """Turn a log of impressions into preferences between systems: which one got more clicks.

    Where a session shows items of several systems (interleaving), it is a preference for each two of them. Where each
    session shows the list of one system (split traffic), sessions of the same query are paired at random across
    systems, each at most once per pair of systems; this compares systems only if users were assigned at random.

    Parameters
    ----------
    log : table or records
        One row per impression: query, session, system (whose item it is), clicked (0 or 1), and position for
        ``outcome="first"``.
    outcome : {"clicks", "any", "first"}
        What is compared: the number of clicks, whether anything was clicked, or 1 ÷ the position of the first click.
    columns : dict of str to str, optional
        Names of columns in the log, such as ``{"clicked": "was_clicked"}``.
    seed : int, default 0
        Seed of the random pairing of sessions.

    Returns
    -------
    ClickVerdicts
        One preference per session and pair of systems.

    Examples
    --------
    >>> log = [{"query": "q", "session": s, "system": x, "clicked": c} for s in (1, 2) for x, c in (("a", 1), ("b", 0))]
    >>> verdicts_from_clicks(log).to_polars().rows()
    [('q', 'a', 'b', 'a'), ('q', 'a', 'b', 'a')]
    """
    check_choice("outcome", outcome, tuple(OUTCOMES))
    seed = check_seed(seed)
    named = {} if columns is None else check_mapping(columns, "columns", "{name here: name in the log}")
    outcomes = _outcomes(named_columns(as_frame(log), named), outcome)
    counts = outcomes.select(pl.len().over("query", "session")).to_series()
    if counts.max() == 1:
        design, joined = "split", _paired(outcomes, seed)
    elif counts.min() == 1:
        alone = outcomes.filter(counts == 1).row(0, named=True)
        raise DataError(
            f"session {alone['session']!r} shows items of {alone['system']!r} only, others of several; analyse logs"
            " of interleaved lists and of split traffic separately"
        )
    else:
        design, joined = (
            "interleaved",
            outcomes.join(outcomes, on=["query", "session"], suffix="_b", maintain_order="left"),
        )
    pairs = joined.filter(pl.col("system") < pl.col("system_b"))
    if pairs.is_empty():
        raise DataError("no query was shown by two systems: there is nothing to compare")
    apart = pl.col("value") - pl.col("value_b")
    winner = pl.when(apart > 0).then(pl.col("system")).when(apart < 0).then(pl.col("system_b")).otherwise(pl.lit("tie"))
    verdicts = pairs.select("query", a="system", b="system_b", winner=winner)
    sessions = outcomes.select(pl.struct("query", "session").n_unique()).item()
    ties = int((verdicts["winner"] == "tie").sum())
    note = f"{len(verdicts):,} preferences from {sessions:,} sessions ({design}), {ties:,} without a difference"
    return ClickVerdicts(verdicts, sessions, ties, outcome, design, seed, (note,))


def _outcomes(frame: pl.DataFrame, outcome: str) -> pl.DataFrame:
    """Compute the outcome of each session for each system's items: query, session, system, value."""
    names = {name: text_column(frame, name, "a click log") for name in ("query", "session", "system")}
    reserved = names["system"] == "tie"
    if reserved.any():
        raise DataError("a click log: a system cannot be called 'tie'; rename it", int(reserved.arg_max() or 0))
    columns: dict[str, Any] = {**names, "clicked": click_column(frame)}
    if outcome == "first":
        columns["clicked"] = columns["clicked"] / positions_of(frame)
    total = pl.col("clicked").sum() if outcome == "clicks" else pl.col("clicked").max()
    keys = ("query", "session", "system")
    return pl.DataFrame(columns).group_by(*keys, maintain_order=True).agg(value=total)


def _paired(outcomes: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Pair the sessions of a query at random across systems: the first of one with the first of another, and so on."""
    shuffled = outcomes[np.random.default_rng(seed).permutation(outcomes.height)]
    numbered = shuffled.with_columns(turn=pl.int_range(pl.len()).over("query", "system")).drop("session")
    return numbered.join(numbered, on=["query", "turn"], suffix="_b", maintain_order="left")


@reports(ClickVerdicts)
def click_verdicts_report(found: ClickVerdicts) -> Report:
    """Show how often each of two systems won."""
    names = {"prefer_a": "for a", "prefer_b": "for b", "tie": "neither"}
    table = Table(found.summary().rename(names), f"Preferences from clicks: {OUTCOMES[found.outcome]}")
    return Report(found.verdicts, [table], remarks=found.remarks, parameters=found.parameters, summary=found.summary())
