"""Variance components of scores, and the reliability that follows for other numbers of queries.

Generalizability theory: systems and queries are samples, crossed; queries belong to collections where there are any,
and runs, such as those of several seeds, to systems.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import polars as pl

from rankdev._common.arrays import Floats
from rankdev._common.checks import check_number, check_whole
from rankdev._common.result import Result
from rankdev.errors import DataError, UsageError
from rankdev.evaluation.scores import Scores, ScoresLike
from rankdev.statistics._generalizability import ONE, RUNS, SEVERAL, Components, components, components_of_runs
from rankdev.statistics.panels import alike, as_scores, is_several, panels
from rankdev.statistics.replicates import replicated


@dataclass(frozen=True, eq=False)
class Variance(Result):
    """Variance components of every measure, and the reliability coefficients that follow from them.

    Attributes
    ----------
    measures : tuple of str
        Measures whose variance was split.
    collections : tuple of str
        Names of the collections.
    components : tuple of Components
        Estimated components of each measure.
    reliability : float
        The Eρ² that ``needed`` queries reach.
    remarks : tuple of str
        Notes on the estimates.
    replicates : dict of str to int, optional
        Runs of each system, where some have several.

    See Also
    --------
    variance : Returns it.
    """

    display: ClassVar = "rankdev.display.power"

    measures: tuple[str, ...]
    collections: tuple[str, ...]
    components: tuple[Components, ...] = field(repr=False)
    reliability: float
    remarks: tuple[str, ...] = ()
    replicates: dict[str, int] | None = None

    made_with = ("reliability", "replicates")

    @property
    def _unused(self) -> tuple[str, ...]:
        return ("replicates",) if self.replicates is None else ()

    def to_polars(self) -> pl.DataFrame:
        """Return one row per measure and component.

        Returns
        -------
        polars.DataFrame
            Columns measure, component, variance, share (its fraction of the total).

        Examples
        --------
        >>> import numpy as np
        >>> import rankdev as rd
        >>> judged = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
        >>> scores = rd.Scores(tuple("abcdef"), tuple("1234"), ("M",), np.array(judged, float)[:, :, None])
        >>> rd.variance(scores).to_polars()["component"].to_list()
        ['system', 'query', 'system × query']
        """
        rows = []
        for measure, parts in zip(self.measures, self.components, strict=True):
            names = SEVERAL if len(self.collections) > 1 else RUNS if self.replicates else ONE
            kept = [(name, self._part(parts, name)) for name in names]
            total = sum(value for _, value in kept)
            rows += [(measure, name, value, value / total if total else None) for name, value in kept]
        schema = {"measure": pl.String, "component": pl.String, "variance": pl.Float64, "share": pl.Float64}
        return pl.DataFrame(rows, schema, orient="row")

    @staticmethod
    def _part(parts: Components, name: str) -> float:
        return float(getattr(parts, name.replace(" × ", "_")))

    def summary(self) -> pl.DataFrame:
        """Return the reliability of each measure.

        Returns
        -------
        polars.DataFrame
            Columns measure, queries, e_rho2, low, high (95% interval of Eρ²), phi, needed (queries with which Eρ²
            reaches ``reliability``), needed_low, needed_high.

        Examples
        --------
        >>> import numpy as np
        >>> import rankdev as rd
        >>> judged = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
        >>> scores = rd.Scores(tuple("abcdef"), tuple("1234"), ("M",), np.array(judged, float)[:, :, None])
        >>> rd.variance(scores, reliability=0.9).summary().select("queries", "needed").row(0)
        (4, 4.0)
        """
        rows = []
        for measure, parts in zip(self.measures, self.components, strict=True):
            low, high = parts.needed_limits(self.reliability) if len(self.collections) == 1 else (None, None)
            row = (measure, sum(parts.sizes), parts.relative(), *parts.limits, parts.absolute())
            rows.append((*row, parts.needed(self.reliability), low, high))
        names = ("e_rho2", "low", "high", "phi", "needed", "needed_low", "needed_high")
        schema = {"measure": pl.String, "queries": pl.Int64, **dict.fromkeys(names, pl.Float64)}
        return pl.DataFrame(rows, schema, orient="row").fill_nan(None)

    def design(self, sizes: Sequence[int], runs: int | None = None) -> pl.DataFrame:
        """Return both coefficients for other numbers of queries.

        Parameters
        ----------
        sizes : sequence of int
            Numbers of queries, of each collection.
        runs : int, optional
            Runs of each system, with ``replicates``. Default: as many as there are.

        Returns
        -------
        polars.DataFrame
            Columns measure, n, e_rho2, phi.

        Examples
        --------
        >>> import numpy as np
        >>> import rankdev as rd
        >>> judged = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
        >>> scores = rd.Scores(tuple("abcdef"), tuple("1234"), ("M",), np.array(judged, float)[:, :, None])
        >>> rd.variance(scores).design([4, 40])["e_rho2"].round(3).to_list()
        [0.909, 0.99]
        """
        if not len(sizes) or min(sizes) < 1:
            raise UsageError("sizes must hold numbers of queries of at least 1")
        if runs is not None:
            check_whole("runs", runs, 1)
            if self.replicates is None:
                raise UsageError(
                    "runs is for systems with several runs; give variance their replicates, or leave it out"
                )
        frames = [
            pl.DataFrame(
                {
                    "measure": [measure] * len(sizes),
                    "n": list(sizes),
                    "e_rho2": parts.relative(sizes, runs=runs),
                    "phi": parts.absolute(sizes, runs=runs),
                }
            )
            for measure, parts in zip(self.measures, self.components, strict=True)
        ]
        return pl.concat(frames).fill_nan(None)


def variance(
    scores: ScoresLike | Mapping[str, ScoresLike],
    *,
    measures: Sequence[str] | None = None,
    reliability: float = 0.95,
    replicates: Mapping[str, Sequence[str]] | None = None,
) -> Variance:
    """Split the variance of scores into systems, queries and their interaction; with several runs, into runs too.

    Unbiased estimates from mean squares, 0 where they are negative. Eρ² is the fraction of the variance of observed
    system means that is between systems, for comparisons; Φ counts the difficulty of queries as noise too.

    Parameters
    ----------
    scores : Scores, table, path, or dict of str to these
        Scores of the systems; of several collections of the same systems by name.
    measures : sequence of str, optional
        Measures to analyse. Default: all.
    reliability : float, default 0.95
        The Eρ² that the reported number of needed queries reaches.
    replicates : dict of str to list of str, optional
        Systems with several runs, as in :func:`significance`, for one collection: how much of the variance is due to
        the run, and Eρ² of means over runs. Runs of all systems are taken to vary alike.

    Returns
    -------
    Variance
        Variance components and reliability coefficients of each measure.

    Examples
    --------
    >>> import numpy as np
    >>> import rankdev as rd
    >>> judged = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    >>> scores = rd.Scores(tuple("abcdef"), tuple("1234"), ("M",), np.array(judged, float)[:, :, None])
    >>> rd.variance(scores).summary().select("e_rho2", "phi").row(0)  # Shrout and Fleiss (1979): .91 and .62
    (0.9093155423770..., 0.6200505475989...)
    """
    reliability = check_number("reliability", reliability, 0, 1)
    parts = alike(scores, measures) if is_several(scores) else {"all": as_scores(scores, measures)}
    first = next(iter(parts.values()))
    runs = None
    if replicates is not None:
        if len(parts) > 1:
            raise UsageError("replicates is for one collection; leave it out, or give the scores of one")
        runs = replicated(first, replicates)
        if len(runs.members) < 2:
            raise UsageError("components of variance need at least two systems; all runs are of one")
        singles, first = _tables(first), runs.averaged
        members = list(runs.members.values())
        found = tuple(components_of_runs(table.T, members) for table in singles)
    else:
        tables = [_tables(part) for part in parts.values()]
        found = tuple(components([table[m] for table in tables]) for m in range(len(first.measures)))
    remarks = tuple(
        f"{measure}: the estimate for {', '.join(part.negative)} is negative and set to 0"
        for measure, part in zip(first.measures, found, strict=True)
        if part.negative
    )
    if runs is not None:
        remarks += runs.remarks
    return Variance(first.measures, tuple(parts), found, reliability, remarks, None if runs is None else runs.counts)


def _tables(scores: Scores) -> list[Floats]:
    """Return a table of systems × common queries per measure."""
    found: dict[int, Floats] = {}
    for panel in panels(scores):
        if len(panel.queries) < 2:
            raise DataError("components of variance need at least two queries for which all systems have a value")
        for m, place in enumerate(panel.places):
            found[place] = panel.values[:, :, m].T
    return [found[place] for place in range(len(scores.measures))]
