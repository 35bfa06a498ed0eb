"""What scores were made from, so that scores kept in a file are compared only with what was made in the same way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankdev._common.reading import reading
from rankdev.core.ordering import TREC_EVAL
from rankdev.errors import DataError, counted, shown
from rankdev.evaluation.scores import Scores
from rankdev.io.trec import PLAIN, Dialect

if TYPE_CHECKING:
    from rankdev.core.ordering import Order, Ties
    from rankdev.core.references import References, ReferencesLike
    from rankdev.core.runs import Run, RunLike

CONVENTIONS = 1  # one more whenever the text of a measure comes to mean another number
USUAL = {"order": TREC_EVAL.order, "ties": TREC_EVAL.ties, "empty": "zero"}  # what None denotes


@dataclass(frozen=True)
class Origin:
    """What scores were made from.

    Attributes
    ----------
    references : str
        Digest of the references, whatever the order of their queries.
    lists : dict of str to str
        Digest of each system's lists, to ``depth``.
    depth : int, optional
        How many positions of a list the measures look at; None for all.
    conventions : int
        Number of the definitions of the measures.
    duplicates, collapse : str, optional
        How runs were read, as in :func:`evaluate`.
    """

    references: str
    lists: Mapping[str, str] = field(default_factory=dict)
    depth: int | None = None
    conventions: int = CONVENTIONS
    duplicates: str | None = None
    collapse: str | None = None


def with_origin(
    scores: Scores,
    references: ReferencesLike,
    runs: Mapping[str, RunLike],
    *,
    order: Order | None = None,
    ties: Ties | None = None,
    dialect: Dialect = PLAIN,
    like: Origin | None = None,
) -> Scores:
    """Add to scores the digests of the references and runs that they were made from; ``like`` sets the depth."""
    from rankdev.evaluation.measuring import deepest
    from rankdev.io.loading import load_references, load_run
    from rankdev.measures.syntax import parse_all

    depth = deepest(parse_all(scores.measures)) if like is None else like.depth
    lists = {
        name: lists_digest(load_run(name, run, order, ties, depth, dialect=dialect), scores.queries, depth)
        for name, run in runs.items()
    }
    digest, how = references_digest(load_references(references, dialect=dialect)), reading()
    return replace(scores, origin=Origin(digest, lists, depth, duplicates=how.duplicates, collapse=how.collapse))


def same_lists(scores: Scores, a: str, b: str) -> bool:
    """Check whether two systems are known to return the same lists, as deep as the measures look."""
    lists = {} if scores.origin is None else scores.origin.lists
    if a not in lists or lists[a] != lists.get(b):
        return False
    first, second = scores.select(systems=[a, b]).values
    return np.array_equal(first, second, equal_nan=True)


def references_digest(references: References) -> str:
    """Return a text that is the same for equal references only."""
    queries = pl.DataFrame({"query": references.queries.sort()})
    return _digest(queries, references.canonical())


def lists_digest(run: Run, queries: tuple[str, ...], depth: int | None) -> str:
    """Return a text that is the same only for equal lists of these queries, as deep as this."""
    rows = run.to_polars().select("query", "rank", "item").filter(pl.col("query").is_in(list(queries)))
    return _digest((rows if depth is None else rows.filter(pl.col("rank") <= depth)).sort("query", "rank"))


def _digest(*tables: pl.DataFrame) -> str:
    """Digest tables by the bytes of their columns, which no version of a library writes differently."""
    found = blake2b(digest_size=16)
    for table in tables:
        for column in table:
            found.update(f"{column.name} {len(column)} ".encode())
            if column.dtype == pl.String:
                found.update(column.str.len_bytes().to_numpy().astype("<i8").tobytes())
                found.update((column.str.join("").item() or "").encode())
            else:
                found.update(column.cast(pl.Float64).fill_null(0.0).to_numpy().astype("<f8").tobytes())
    return found.hexdigest()


def with_system(scores: Scores, other: Scores, role: str) -> tuple[Scores, str]:
    """Add a system that was scored at another time; refuse one that was not scored in the same way.

    Return also its name, which is its role where the name is taken.
    """
    added = _alike(scores, other)
    name = role if added.systems[0] in scores.systems else added.systems[0]
    joined = replace(
        scores,
        systems=(*scores.systems, name),
        values=np.concatenate([scores.values, added.values]),
        coverage=(*scores.coverage, *(replace(entry, system=name) for entry in added.coverage)),
        notes=tuple(dict.fromkeys([*scores.notes, *added.notes])),
        origin=_with_lists(scores.origin, other.origin, other.systems[0], name),
    )
    return joined, name


def _with_lists(origin: Origin | None, other: Origin | None, system: str, name: str) -> Origin | None:
    if origin is None or other is None or origin.depth != other.depth or system not in other.lists:
        return origin
    return replace(origin, lists={**origin.lists, name: other.lists[system]})


def _alike(scores: Scores, other: Scores) -> Scores:
    """Return another system's scores by the same measures on the same queries."""
    if len(other.systems) != 1:
        known = ", ".join(other.systems[:8])
        raise DataError(f"it has {counted(len(other.systems), 'system')} ({known}); expected scores of one")
    for measure in scores.measures:
        if measure not in other.measures:
            raise DataError(f"it has no scores by {measure}, only by {', '.join(other.measures)}")
    changed = [*_changed_references(scores, other), *_changed_parameters(scores, other)]
    if changed:
        raise DataError(f"it was computed differently: {'; '.join(changed)}")
    return other.select(measures=scores.measures, queries=list(scores.queries))


def _changed_references(scores: Scores, other: Scores) -> list[str]:
    """Name what changed in the references, as far as it is known."""
    then, now = set(other.queries), set(scores.queries)
    new = [query for query in scores.queries if query not in then]
    gone = [query for query in other.queries if query not in now]
    found = [
        f"{counted(len(queries), 'query', 'was')} {how} since, such as {shown(queries[0])}"
        for queries, how in ((new, "added"), (gone, "removed"))
        if queries
    ]
    known = scores.reference_sizes, other.reference_sizes
    if not found and known[0] is not None and known[1] is not None:
        sizes = dict(zip(other.queries, known[1].tolist(), strict=True))
        here = zip(scores.queries, known[0].tolist(), strict=True)
        resized = [query for query, size in here if sizes[query] != size]
        if resized:
            some = counted(len(resized), "query", "has", of=len(sizes))
            found.append(f"{some} another number of reference items, such as {shown(resized[0])}")
    both = scores.origin, other.origin
    if not found and both[0] is not None and both[1] is not None and both[0].references != both[1].references:
        found.append("the references of some queries have other items, ranks or grades")
    return found


def _changed_parameters(scores: Scores, other: Scores) -> list[str]:
    found = []
    for name, usual in USUAL.items():
        then, now = getattr(other, name) or usual, getattr(scores, name) or usual
        if then != now:
            found.append(f"{name} was {then!r} and is {now!r}")
    kinds = {kind.label: kind for kind in other.kinds}
    found += [f"{kind.label} was defined differently" for kind in scores.kinds if kinds[kind.label] != kind]
    before, after = other.origin, scores.origin
    if before is None or after is None:
        return found
    if before.collapse != after.collapse:
        found.append(f"collapse was {shown(before.collapse)} and is {shown(after.collapse)}")
    if before.duplicates and after.duplicates and before.duplicates != after.duplicates:  # without, there were none
        found.append(f"duplicates was {before.duplicates!r} and is {after.duplicates!r}")
    if before.conventions != after.conventions:
        found.append("that version of rankdev defined measures differently")
    return found
