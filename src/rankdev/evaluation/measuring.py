"""One ranking, scored against its reference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np

from rankdev._common.checks import check_choice, is_list
from rankdev._common.ids import as_id
from rankdev.data.reference import Reference
from rankdev.data.run import Run
from rankdev.errors import DataError
from rankdev.measures import Measure, parse
from rankdev.measures.match import Ideals, Match
from rankdev.measures.rdq import RDQ


def score(reference: Any, ranking: Iterable[Any], measure: str | Measure = "RDQ@10") -> float:
    """Score one ranking.

    Parameters
    ----------
    reference : Reference, list of str or list of lists of str
        Relevant items or tiers, best first.
    ranking : iterable of str, or dict of str to float
        Items, best first, or the score of each item.
    measure : str or Measure, default "RDQ@10"
        Such as ``"nDCG(gains=binary)@5"``.

    Returns
    -------
    float
        NaN where the measure is not available.

    Examples
    --------
    >>> score(["d1", "d2"], ["d2", "d1"], "AP@5"), round(score(["d1", "d2"], ["d2", "d1"]), 4)
    (1.0, 0.5255)
    """
    return float(parse(measure).score(match_one(Reference.of(reference), items_of(ranking)))[0])


def match_one(reference: Reference, ranking: Sequence[str]) -> Match:
    """Match one ranking with its reference: first occurrences of reference items."""
    place = {item: i for i, item in enumerate(reference)}
    first = {item: position for position, item in reversed(list(enumerate(ranking)))}
    hits = sorted((position, place[item]) for item, position in first.items() if item in place)
    nonrelevant = reference.nonrelevant or {}
    judged = sorted((position, nonrelevant[item]) for item, position in first.items() if item in nonrelevant)
    known = reference.nonrelevant is not None
    ideals = Ideals(
        np.array([0, len(reference)]),
        np.array(list(reference.values()), np.int64),
        None if reference.grades is None else np.array([reference.grades[item] for item in reference]),
        np.array([0, len(nonrelevant)]) if known else None,
        np.array(list(nonrelevant.values()), np.float64) if known else None,
    )
    return Match(
        ideals,
        np.zeros(len(hits), np.int64),
        np.array([position for position, _ in hits], np.int64),
        np.array([index for _, index in hits], np.int64),
        np.array([len(ranking)]),
        np.zeros(len(judged), np.int64),
        np.array([position for position, _ in judged], np.int64),
        np.array([grade for _, grade in judged], np.float64),
    )


def items_of(ranking: Iterable[Any]) -> list[str]:
    """Return the ids of a ranking, best first."""
    if isinstance(ranking, Mapping):  # item → score, as in a run
        return Run.from_scores({"ranking": ranking}).get("ranking", [])
    if isinstance(ranking, Set) or not is_list(ranking):
        raise DataError("not-a-ranking", value=ranking)
    return [as_id(item) for item in ranking]


def rdq_with(k: int | None, parameters: dict[str, Any]) -> RDQ:
    """Make RDQ@k; refuse parameters that it does not have."""
    known = [entry.name for entry in RDQ.parameters()]
    for name in parameters:
        check_choice("parameter", name, known)
    return RDQ(cutoff=k, **parameters)
