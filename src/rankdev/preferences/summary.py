"""What came out, in plain words: tiers, what could not be decided, and how many more judgments would."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from rankdev.preferences.tiers import Tiers
from rankdev.results import Result

if TYPE_CHECKING:
    import polars as pl

TOO_CLOSE = 0.1  # in log-strength: the better of two wins 52.5% of the time


@dataclass(frozen=True)
class QuerySummary:
    """One query: ``undecided`` neighbours share a tier; ``more`` judgments should separate them.

    ``too_close`` of the undecided are nearly equal and left out of ``more``, which is None where the method
    has no likelihood to estimate it from.
    """

    query: str
    items: int
    comparisons: int
    tiers: int
    undecided: int
    too_close: int
    more: int | None


@dataclass(frozen=True)
class Summary(Result):
    """A row a query, and remarks on the data; ``str()`` gives the whole in plain words."""

    queries: tuple[QuerySummary, ...]
    remarks: tuple[str, ...] = field(default=())

    def to_polars(self) -> pl.DataFrame:
        """One row a query: query, items, comparisons, tiers, undecided, too_close, more."""
        import polars as pl

        names = list(QuerySummary.__dataclass_fields__)
        return pl.DataFrame({name: [getattr(row, name) for row in self.queries] for name in names})


def summarise(result: Tiers) -> Summary:
    """Say what the tiers decide, what they leave open, and what it would take.

    >>> from rankdev.preferences import tiers_from_preferences
    >>> print(summarise(tiers_from_preferences([("q", "x", "y")] * 2 + [("q", "y", "x")])))
    1 query, 2 items, 3 comparisons, 1 tier.
    1 pair of neighbours could not be separated: tied.
    About 38 more judgments should separate 1 of them.
    """
    fit = result.strengths
    judged = np.bincount(fit.preferences.item_query[fit.preferences.winner], minlength=len(result.tiers))
    rows = []
    for number, (query, tiers) in enumerate(result.tiers.items()):
        undecided, close, more = _open_neighbours(result, number, [len(tier) for tier in tiers])
        items = sum(len(tier) for tier in tiers)
        rows.append(QuerySummary(query, items, int(judged[number]), len(tiers), undecided, close, more))
    return Summary(tuple(rows), tuple(_remarks(result)))


def _open_neighbours(result: Tiers, number: int, sizes: list[int]) -> tuple[int, int, int | None]:
    """Neighbours in one tier; the nearly equal among them; comparisons of the others until they differ.

    n answers to a pair add n p(1 − p) to its information 1/Var; they suffice when d² · information reaches
    the critical value.
    """
    from scipy.special import chdtri

    fit = result.strengths
    start, stop = fit.pairs.starts[number], fit.pairs.starts[number + 1]
    order = np.argsort(-fit.values[start:stop], kind="stable")
    inside = np.ones(max(len(order) - 1, 0), bool)
    inside[np.cumsum(sizes[:-1], dtype=np.int64) - 1] = False
    pairs = result.close[number]
    unclear = pairs.i[(pairs.j == pairs.i + 1) & (pairs.p >= result.alpha)]
    inside &= np.isin(np.arange(len(inside)), unclear)
    d = -np.diff(fit.values[start:stop][order])[inside]
    close = d < TOO_CLOSE
    if fit.curvature is None:
        return len(d), int(close.sum()), None
    between = np.diff(fit.factors[number][order], axis=0)[inside]
    known = 1 / np.maximum((between**2).sum(axis=1), 1e-12)
    each = 0.25 / np.cosh(d / 2) ** 2
    missing = (float(chdtri(1, result.alpha)) / np.maximum(d, TOO_CLOSE) ** 2 - known) / each
    return len(d), int(close.sum()), int(np.ceil(np.maximum(missing, 1.0))[~close].sum())


def _remarks(result: Tiers) -> list[str]:
    fit = result.strengths
    found = fit.preferences.diagnostics().values
    duplicates, contradictions, single = (
        int(found[name].sum()) for name in ("duplicates", "contradictions", "single_workers")
    )
    lines = []
    if duplicates:
        lines.append(f"{duplicates:,} judgments repeat one of the same worker; together they count once.")
    if contradictions:
        lines.append(f"On {contradictions:,} pairs a worker gives different answers; together they count once.")
    if single:
        lines.append(f"{single:,} workers judged only once; their quality cannot be told.")
    if fit.workers is not None:
        suspects = fit.workers.suspects()
        for kind, words in (("spammer", "seem to answer at random"), ("inverted", "seem to answer the opposite")):
            if suspects[kind]:
                named = ", ".join(suspects[kind][:10]) + (" …" if len(suspects[kind]) > 10 else "")
                lines.append(f"{len(suspects[kind]):,} workers {words}: {named}.")
    if not fit.converged:
        lines.append(f"The fit did not settle in {fit.iterations} steps; raise ridge.")
    return lines
