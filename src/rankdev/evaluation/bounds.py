"""Scores where returned items are unjudged: with all of them nonrelevant, and each as good as can be."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from rankdev._common.arrays import Floats
from rankdev._common.lazy import pl
from rankdev._common.result import Result
from rankdev._common.view import Col, Dot, Dots, Tab, View
from rankdev.data.files import load_inputs
from rankdev.data.options import Order, ReadOptions, Ties, check_one_order
from rankdev.data.references import References, ReferencesLike
from rankdev.data.run import RunLike
from rankdev.errors import DataError, RankdevWarning
from rankdev.evaluation.evaluate import evaluate_all
from rankdev.evaluation.scores import Scores
from rankdev.measures import parse_all
from rankdev.measures.base import MeasureLike


@dataclass(frozen=True, eq=False, kw_only=True)
class Bounds(Result):
    """What scores are if unjudged items are all nonrelevant, and if they are all as good as can be.

    Attributes
    ----------
    scores : Scores
        The scores with unjudged items taken as nonrelevant.
    limits : numpy.ndarray
        ``[limit, system, query, measure]``: the lower and the higher of the two scores.
    judged : numpy.ndarray
        ``[system, measure]``: fraction of the items looked at that were judged.
    remarks : tuple of str
        Notes on the result.

    See Also
    --------
    rankdev.bounds : Returns it.
    """

    view: ClassVar = View(
        [Tab(columns=("system", "score", Col(("low", "high"), "could be", "interval"), "judged"), by="measure")],
        "bounds",
        closing=["could be: with the unjudged items all nonrelevant, and all as good as can be"],
        figure=Dots(
            ["system"],
            [Dot("score", "{measure}; line: how far unjudged items could change it")],
            "Unjudged items leave {measure} open by up to {widest}",
        ),
    )

    scores: Scores = field(repr=False)
    limits: Floats = field(repr=False)
    judged: Floats = field(repr=False)
    remarks: tuple[str, ...] = ()

    def to_polars(self) -> pl.DataFrame:
        """Return one row per system and measure.

        Returns
        -------
        polars.DataFrame
            Columns system, measure, score, low, high and judged (fraction of items).

        Examples
        --------
        >>> known = References.from_grades({"q": {"d1": 1, "d2": 0}})
        >>> bounds(known, {"mine": {"q": ["d1", "x"]}}, "P@2").to_polars().row(0)
        ('mine', 'P@2', 0.5, 0.5, 1.0, 0.5)
        """
        systems, measures = self.scores.systems, self.scores.measures
        low, high = (replace(self.scores, values=values).means for values in self.limits)
        names = {"system": np.repeat(systems, len(measures)), "measure": measures * len(systems)}
        values = {"score": self.scores.means, "low": low, "high": high, "judged": self.judged}
        return pl.DataFrame({**names, **{name: value.ravel() for name, value in values.items()}})


def bounds(
    references: ReferencesLike,
    runs: Mapping[str, RunLike],
    measures: MeasureLike | Iterable[MeasureLike] = "RDQ@10",
    *,
    order: Order | None = None,
    ties: Ties | None = None,
    **read: Any,
) -> Bounds:
    """Compute each score with its unjudged items all nonrelevant, and with each of them as good as can be.

    An item as good as can be has the highest grade of the collection, or is in the first tier where there are no
    grades; the number of relevant items, the ideal ranks and what the score is divided by follow. Only unjudged items
    that a run returns, as far as a measure looks, are taken so. However these items are
    judged, measures to which relevant items only add (P, RBP, ERR) are between the two scores. For RDQ, nDCG and AP the
    two are not limits: these can be beyond them if some of the items are relevant and others are not.

    Parameters
    ----------
    references : References, path, table or dict
        Ideal order of each query. They must state which items were judged nonrelevant.
    runs : dict of str to Run, path, table or dict
        Each system's ranking.
    measures : str, Measure or list of them, default "RDQ@10"
        What to compute.
    order : {"score", "rank"}, optional
        What orders a run. Default: score; a Run keeps its own.
    ties : str, optional
        How ties are broken; see docs/files.md#ties.
    **read : Any
        How runs are read, as in :func:`evaluate`: duplicates, columns, ranks, collapse, strict.

    Returns
    -------
    Bounds
        Both scores.

    Examples
    --------
    >>> known = References.from_lists({"q": ["d1"]}, nonrelevant={"q": ["d9"]})
    >>> found = bounds(known, {"mine": {"q": ["d1", "x"]}, "other": {"q": ["d9", "x"]}}, "RDQ@2")
    >>> [round(value, 4) for value in found.to_polars()["high"]]
    [1.0, 0.4737]
    """
    wanted = parse_all(measures)
    known, loaded = load_inputs(references, runs, order=order, ties=ties, **read)
    if known.nonrelevant is None:
        raise DataError("no-nonrelevant")
    for run in loaded.values():
        check_one_order(run.read.ties, "a bound")
    scores = evaluate_all(known, loaded, wanted, ReadOptions())
    best, judged = scores.values.copy(), np.zeros((len(loaded), len(wanted)))
    for s, (name, run) in enumerate(loaded.items()):
        for reach in {measure.reach for measure in wanted}:
            same = [m for m, measure in enumerate(wanted) if measure.reach == reach]
            returned = {query: dict.fromkeys(run.get(query, [])[:reach]) for query in known}
            completed, added = _completed(known, returned)
            with warnings.catch_warnings(action="ignore", category=RankdevWarning):  # the scores have warned
                best[s][:, same] = evaluate_all(
                    completed, {name: run}, [wanted[m] for m in same], ReadOptions()
                ).values[0]
            count = sum(map(len, returned.values()))
            judged[s, same] = (count - added) / max(count, 1)
    limits = np.stack([np.fmin(scores.values, best), np.fmax(scores.values, best)])
    return Bounds(scores=scores, limits=limits, judged=judged, remarks=scores.remarks)


def _completed(known: References, returned: Mapping[str, Iterable[str]]) -> tuple[References, int]:
    """Add the items that are not judged as the best, and count them."""
    top = 1.0 if known.grades is None else float(known.grades.max(initial=0.0)) or 1.0
    added, entries, nonrelevant = 0, dict[str, Any](), dict[str, list[str]]()
    for query, items in returned.items():
        reference = known[query]
        poor = reference.nonrelevant or {}
        new = [item for item in items if item not in reference and item not in poor]
        added += len(new)
        if reference.grades is not None:
            entries[query] = {**reference.grades, **poor, **dict.fromkeys(new, top)}
        else:
            first, *others = reference.tiers or [[]]
            entries[query], nonrelevant[query] = [tier for tier in ([*first, *new], *others) if tier], list(poor)
    if known.grades is not None:
        return References.from_grades(entries), added
    return References.from_tiers(entries, nonrelevant=nonrelevant), added
