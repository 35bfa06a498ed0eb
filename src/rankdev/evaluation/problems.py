"""Problems of the data with which nothing can be decided: one list for every command.

Whatever the scores show, a run whose ids are not those of the references, that answers hardly any query, or whose items
hardly anybody judged, is not the run that was meant to be compared.
"""

from __future__ import annotations

from collections.abc import Iterable

from rankdev.errors import Note
from rankdev.evaluation.coverage import Coverage
from rankdev.evaluation.scores import Scores

FEW = 3  # queries: on fewer, a run may well return no relevant item
ANSWERED = 0.5  # of the queries
UNJUDGED = 0.9  # of the items looked at


def problems(scores: Scores) -> tuple[Note, ...]:
    """Return what is wrong with the runs that were scored, a note each; scores from elsewhere have none."""
    return tuple(note for entry in scores.coverage for note in [_problem(entry)] if note is not None)


def _problem(entry: Coverage) -> Note | None:
    if entry.queries >= FEW and (strange := strange_ids(entry)):
        return strange
    answered = entry.queries - entry.missing
    if answered < ANSWERED * entry.queries:
        return Note("few-answered", system=entry.system, count=answered, queries=entry.queries)
    if entry.looked_at and entry.unjudged >= UNJUDGED * entry.looked_at:
        return Note("mostly-unjudged", system=entry.system, share=entry.unjudged / entry.looked_at)
    return None


def strange_ids(entry: Coverage) -> Note | None:
    """Note that a run returns no relevant item at all, with ids from both sides and how they differ."""
    if entry.ids is None:
        return None
    run_id, reference_id, how = entry.ids
    return Note("no-relevant-item", system=entry.system, run_id=run_id, reference_id=reference_id, how=how)


def unjudged_share(scores: Scores) -> str:
    """State how much of what measures look at nobody judged; nothing where that is not known, or all was.

    >>> from rankdev import References, evaluate
    >>> references = References.from_grades({"q": {"a": 1, "b": 0}})
    >>> unjudged_share(evaluate(references, {"s": {"q": ["a", "x"]}}, "nDCG@2"))
    '50% of the top 2 unjudged'
    """
    known = [entry for entry in scores.coverage if entry.looked_at]
    if not any(entry.unjudged for entry in known):
        return ""
    shares = [f"{entry.unjudged / entry.looked_at:.0%}" for entry in known]
    most = max(shares, key=lambda share: int(share[:-1]))
    return f"{'up to ' if len(set(shares)) > 1 else ''}{most} of the top {known[0].depth} unjudged"


def troubled(parts: Iterable[Scores]) -> tuple[Coverage, ...]:
    """Return what is known of the runs with a problem, of several collections."""
    return tuple(entry for part in parts for entry in part.coverage if _problem(entry) is not None)
