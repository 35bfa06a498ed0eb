"""The health of a comparison's data: what is missing, unjudged, tied or repeated, and whether references have order.

A problem makes scores mean something else than they seem to, so that no conclusion follows from them; a caution is
worth a look. Equal scores and missing queries are a problem where they could change the conclusion, which
:mod:`rankdev.statistics.worst_cases` finds out. The limits are conventions, in one place.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from rankdev._common.arrays import Floats
from rankdev.core.references import References
from rankdev.core.runs import Run
from rankdev.errors import RankdevWarning, counted, listed, printable
from rankdev.evaluation._ranges import Ranges, is_exact, over_orders, ties_that_decide, with_missing
from rankdev.evaluation._strictness import little_order
from rankdev.evaluation.coverage import Coverage
from rankdev.evaluation.evaluate import Empty, evaluate_all
from rankdev.evaluation.scores import Scores
from rankdev.measures import parse
from rankdev.measures.base import Measure

LACKS = 0.05  # of the queries: a run that lacks fewer may well have nothing to return there
BROKEN = 0.5  # of the queries: a run that lacks more is not the run that was meant, whatever the conclusion
UNJUDGED = 0.1  # of the items looked at
FEW = 3  # queries: on fewer, a run may well return no relevant item
OWN_WORDS = ("The references", "Tied scores")  # how texts begin that do not begin with a name
NAMED = 3  # systems that a sentence names; more are counted

Level = Literal["good", "unknown", "caution", "problem"]


@dataclass(frozen=True, eq=False)
class Limits:
    """What scores could also be, ``[system, query]``, and what is to be said where that could change the conclusion."""

    low: Floats
    high: Floats
    text: str


@dataclass(frozen=True)
class Check:
    """One thing that was looked at: what it is, how it is, a number or a few words, and a sentence.

    With ``limits``, it is a problem if the conclusion could change within them.
    """

    name: str
    level: Level
    value: str
    text: str
    limits: Limits | None = field(default=None, repr=False, compare=False)


def health(
    references: References,
    runs: Mapping[str, Run],
    scores: Scores,
    measures: Sequence[Measure],
    *,
    empty: Empty,
    k: int,
) -> list[list[Check]]:
    """Check the data of a comparison, for each of the measures; ``k`` is the number of positions looked at."""
    stated = references.nonrelevant is not None and len(references.nonrelevant.item_ids) > 0
    looked_at = [parse(text) for text in ("SetR", "NumRet", *([f"Judged@{k}"] if stated else []))]
    with warnings.catch_warnings(action="ignore", category=RankdevWarning):  # the scores have warned
        counts = evaluate_all(references, runs, looked_at, order=None, ties=None, empty=empty, progress=None)
    shared = [_unjudged(counts, k) if stated else _unstated(k), _duplicates(runs, scores.coverage)]
    missing, orders = with_missing(references, runs, scores), over_orders(references, runs, measures, scores)
    unmatched, last = [*_unmatched(counts)], [*_without_items(scores)]
    return [
        [
            _missing(scores, m, missing),
            *unmatched,
            _tied(scores, m, orders, is_exact(measure)),
            *shared,
            _order(references, measure),
            *last,
        ]
        for m, measure in enumerate(measures)
    ]


def _missing(scores: Scores, m: int, ranges: Ranges) -> Check:
    name = "Queries missing from runs"
    lacking = [entry for entry in scores.coverage if entry.missing]
    if not lacking:
        return Check(name, "good", "none", "Every run answers every query.")
    most = max(entry.missing / max(1, entry.queries) for entry in lacking)
    worst = max(lacking, key=lambda entry: entry.missing)
    answers = _listed(
        lacking,
        lambda entry: (
            f"{printable(entry.system)} answers only {entry.queries - entry.missing:,} of"
            f" {counted(entry.queries, 'query')}"
        ),
        "run",
    )
    value = f"{worst.missing:,} of {worst.queries:,}" + (
        f", {counted(len(lacking), 'run')}" if len(lacking) > 1 else ""
    )
    text = f"{answers}; missing queries count as 0."
    if not LACKS < most <= BROKEN:
        return Check(name, "caution" if most <= LACKS else "problem", value, text)
    they = "it" if len(lacking) == 1 else "they"
    same = f" The conclusion would be the same whatever {they} scored there." if len(scores.systems) > 1 else ""
    return Check(name, "caution", value, f"{text}{same}", _limits(ranges, m, text))


def _unmatched(counts: Scores) -> Iterator[Check]:
    """Find runs that return no relevant item at all."""
    found = counts.values[:, :, 0].sum(axis=1)
    known = counts.reference_sizes is None or int(counts.reference_sizes.sum()) > 0
    without = [system for system, number in zip(counts.systems, found, strict=True) if not number and known]
    if without:
        who = _listed(without, printable, "run")
        verb = "returns" if len(without) == 1 else "return"
        yield Check(
            "Runs without a relevant item",
            "problem" if len(counts.queries) >= FEW else "caution",
            f"{len(without):,} of {len(counts.systems):,}",
            f"{who} {verb} no relevant item for any query. Check that the ids of items are those of the references.",
        )


def _tied(scores: Scores, m: int, ranges: Ranges, exact: bool) -> Check:
    name, measure = "Tied scores", scores.measures[m]
    decided = {entry.system: ties_that_decide(entry, measure) for entry in scores.coverage}
    if not any(decided.values()):
        averaged = any(entry.averaged for entry in scores.coverage)
        text = "Scores are means over all orders of tied items." if averaged else "No tie affects a score."
        return Check(name, "good", "averaged" if averaged else "none", text)
    low, high = (replace(scores, values=values).averages[:, m] for values in ranges)
    widest = int(np.argmax(np.nan_to_num(high - low)))
    system, queries, several = printable(scores.systems[widest]), len(scores.queries), len(scores.systems) > 1
    having, most = sum(1 for count in decided.values() if count), max(decided.values())
    share = f"{most:,} of {queries:,}"
    span = f"is {low[widest]:.4f} to {high[widest]:.4f}"
    over = "Over all their orders" if exact else "With the best or the worst of them first"
    if having == 1:
        text = f"Tied scores affect {measure} on {share} queries of {system}. {over} its mean {span}."
    else:
        runs = counted(having, "run", of=len(decided))
        text = (
            f"Tied scores affect {measure} in {runs}, on up to {share} queries. {over} the mean of"
            f" {system}, which moves most, {span}."
        )
    problem = (
        f"{text}{' That can change the conclusion.' if several else ''} Use ranks (--order rank), more digits, or the"
        " mean over all orders (--ties expected)."
    )
    same = f" {'No order' if exact else 'Neither'} changes the conclusion." if several else ""
    value = f"{share}{' at most' if having > 1 else ''}"
    return Check(name, "caution", value, f"{text}{same}", _limits(ranges, m, problem))


def _limits(ranges: Ranges, m: int, text: str) -> Limits:
    low, high = ranges
    return Limits(low[:, :, m], high[:, :, m], text)


def _unstated(k: int) -> Check:
    text = "The references list relevant items only; all others count as nonrelevant."
    return Check(f"Unjudged in the first {k}", "unknown", "unknown", text)


def _unjudged(counts: Scores, k: int) -> Check:
    name = f"Unjudged in the first {k}"
    judged, returned = counts.values[:, :, 2], counts.values[:, :, 1] > 0
    unjudged = (returned * (1 - judged)).sum(axis=1) / np.maximum(1, returned.sum(axis=1))
    worst = int(np.argmax(unjudged))
    most, several = float(unjudged[worst]), len(unjudged) > 1
    if most < 0.0005:
        return Check(name, "good", "none", "Every item looked at was judged.")
    best = int(np.argmin(unjudged))
    ends = [f"{unjudged[i]:.1%} ({printable(counts.systems[i])})" for i in (best, worst)]
    share = f"From {ends[0]} to {ends[1]}" if several else f"{most:.1%}"
    text = f"{share} of the first {k} items are unjudged; they count as nonrelevant."
    value = f"{most:.1%}{' at most' if several else ''}"
    return Check(name, "caution" if most >= UNJUDGED else "good", value, text)


def _duplicates(runs: Mapping[str, Run], coverage: Sequence[Coverage]) -> Check:
    name = "Repeated items"
    left = {entry.system: entry.left_out for entry in coverage}
    repeated = {
        name: left.get(name, 0) + (0 if run.repeats is None else int(run.repeats.sum())) for name, run in runs.items()
    }
    having = {system: number for system, number in repeated.items() if number}
    if not having:
        return Check(name, "good", "none", "No run returns an item twice for a query.")
    total = sum(having.values())
    where = _listed(list(having.items()), lambda item: f"{printable(item[0])} {item[1]:,}", "run")
    return Check(name, "caution", f"{total:,}", f"Runs return items twice for a query, which count once: {where}.")


def _order(references: References, measure: Measure) -> Check:
    name = "Order of the references"
    found = little_order(references, [measure])
    if found is None:
        graded = references.grades is not None
        tiers = int(references.tier_counts.max(initial=0))
        text = "The references are graded." if graded else "The references have enough order."
        return Check(name, "good", counted(tiers, "grade") if graded else "enough", text)
    flat = found.one == found.several
    text = (
        f"The references do not order their items, so {found.measure} ignores the order: a reversed ranking"
        f" would score {found.reversed_score:.2f}."
        if flat
        else str(found)
    )
    return Check(name, "problem" if flat else "caution", "none" if flat else "little", text)


def _without_items(scores: Scores) -> Iterator[Check]:
    kept = 0 if scores.reference_sizes is None else int((scores.reference_sizes == 0).sum())
    if not kept:
        return
    queries = len(scores.queries)
    text = (
        f"{counted(kept, 'query', 'has', of=queries)} no relevant item, and every system scores 0 there; empty='skip'"
        " leaves them out."
    )
    level: Level = "problem" if kept == queries else "caution"
    yield Check("Queries without a relevant item", level, f"{kept:,} of {queries:,}", text)


def _listed(entries: Sequence[Any], written: Callable[..., str], noun: str) -> str:
    """Write a few entries, and count the others."""
    texts = [written(entry) for entry in entries[:NAMED]]
    if len(entries) > NAMED:
        texts.append(counted(len(entries) - NAMED, f"more {noun}"))
    return listed(texts)
