"""One ranking by hand: matched with its reference and scored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np

from rankdev.arguments import is_list
from rankdev.errors import DataError, UsageError, shown, suggestion
from rankdev.measures import Measure, parse
from rankdev.measures.match import Ideals, Match
from rankdev.measures.rdq import RDQ
from rankdev.references.reference import Reference
from rankdev.tabular import as_id


def score(reference: Any, ranking: Iterable[Any], measure: str | Measure) -> float:
    """Score one ranking with any measure; NaN where it is not available.

    >>> score(["d1", "d2"], ["d2", "d1"], "AP@5")
    1.0
    """
    return float(parse(measure).score(match_one(Reference.of(reference), items_of(ranking)))[0])


def rdq(reference: Any, ranking: Iterable[Any], k: int | None = None, **parameters: Any) -> float:
    """Score one ranking with RDQ@k.

    ``reference`` is a list of items, best first, a mapping item → rank or a Reference; ``parameters`` are those of
    the measure: penalty, alpha, lam, weights, tail.

    >>> round(rdq(["d1", "d2"], ["d2", "d1"], k=5), 4)
    0.5255
    """
    return score(reference, ranking, rdq_with(k, parameters))


def match_one(reference: Reference, ranking: Sequence[str]) -> Match:
    """Match one ranking with its reference: first occurrences of reference items."""
    place = {item: i for i, item in enumerate(reference)}
    first = {item: position for position, item in reversed(list(enumerate(ranking)))}
    hits = sorted((position, place[item]) for item, position in first.items() if item in place)
    worthless = reference.worthless or {}
    poor = sorted((position, worthless[item]) for item, position in first.items() if item in worthless)
    known = reference.worthless is not None
    ideals = Ideals(
        np.array([0, len(reference)]),
        np.array(list(reference.values()), np.int64),
        None if reference.grades is None else np.array([reference.grades[item] for item in reference]),
        np.array([0, len(worthless)]) if known else None,
        np.array(list(worthless.values()), np.float64) if known else None,
    )
    return Match(
        ideals,
        np.zeros(len(hits), np.int64),
        np.array([position for position, _ in hits], np.int64),
        np.array([index for _, index in hits], np.int64),
        np.array([len(ranking)]),
        np.zeros(len(poor), np.int64),
        np.array([position for position, _ in poor], np.int64),
        np.array([grade for _, grade in poor], np.float64),
    )


def items_of(ranking: Iterable[Any]) -> list[str]:
    """Give the ids of a ranking, best first."""
    if isinstance(ranking, Mapping):  # item → score, as in a run
        from rankdev.runs import Run

        return Run.from_scores({"ranking": ranking}).get("ranking", [])
    if isinstance(ranking, Set) or not is_list(ranking):
        raise DataError(f"a ranking is a list of items, best first, or a mapping item → score; got {shown(ranking)}")
    return [as_id(item) for item in ranking]


def rdq_with(k: int | None, parameters: dict[str, Any]) -> RDQ:
    """Make RDQ@k; refuse parameters that it does not have."""
    known = [entry.name for entry in RDQ.parameters()]
    for name in parameters:
        if name not in known:
            raise UsageError(f"unknown parameter {name!r}; RDQ has {', '.join(known)}{suggestion(name, known)}")
    return RDQ(cutoff=k, **parameters)
