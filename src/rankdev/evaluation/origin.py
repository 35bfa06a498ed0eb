"""What scores were made from, so that scores kept in a file are compared only with what was made in the same way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankdev.data.options import ReadOptions
from rankdev.errors import DataError
from rankdev.evaluation.scores import Scores

if TYPE_CHECKING:
    from rankdev.data.references import References, ReferencesLike
    from rankdev.data.run import Run, RunLike

CONVENTIONS = 1  # one more whenever the text of a measure comes to mean another number
USUAL = {"order": "score", "ties": "trec_eval", "empty": "zero"}  # what None denotes


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
    like: Origin | None = None,
    **options: Any,
) -> Scores:
    """Add to scores the digests of the references and runs that they were made from; ``like`` sets the depth."""
    from rankdev.data.files import references_of, run_of
    from rankdev.evaluation.join import deepest
    from rankdev.measures.syntax import parse_all

    depth = deepest(parse_all(scores.measures)) if like is None else like.depth
    read = ReadOptions(**options, depth=depth)
    lists = {name: lists_digest(run_of(name, run, read), scores.queries, depth) for name, run in runs.items()}
    digest = references_digest(references_of(references, read))
    return replace(scores, origin=Origin(digest, lists, depth, duplicates=read.counting, collapse=read.collapse))


def same_lists(scores: Scores, a: str, b: str) -> bool:
    """Check whether two systems are known to return the same lists, as deep as the measures look."""
    lists = {} if scores.origin is None else scores.origin.lists
    if a not in lists or lists[a] != lists.get(b):
        return False
    first, second = scores.select(systems=[a, b]).values
    return np.array_equal(first, second, equal_nan=True)


def references_digest(references: References) -> str:
    """Return a text that is the same for equal references only."""
    queries = pl.DataFrame({"query": pl.Series(sorted(references.queries), dtype=pl.String)})
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
        raise DataError("not-one-system", count=len(other.systems), names=other.systems[:8])
    for measure in scores.measures:
        if measure not in other.measures:
            raise DataError("lacks-measure", measure=measure, known=other.measures)
    for difference in chain(_changed_references(scores, other), _changed_settings(scores, other)):
        raise difference
    return other.select(measures=scores.measures, queries=list(scores.queries))


def _changed_references(scores: Scores, other: Scores) -> Iterator[DataError]:
    """Name what changed in the references, as far as it is known."""
    then, now = ({name: i for i, name in enumerate(known.queries)} for known in (other, scores))
    for how, queries in (("added", now.keys() - then.keys()), ("removed", then.keys() - now.keys())):
        if queries:
            yield DataError("other-queries", count=len(queries), how=how, example=min(queries))
    sizes = other.reference_sizes, scores.reference_sizes
    if sizes[0] is not None and sizes[1] is not None:
        resized = [name for name, i in now.items() if sizes[1][i] != sizes[0][then[name]]]
        if resized:
            yield DataError("other-references", query=resized[0])
    before, after = other.origin, scores.origin
    if before is not None and after is not None and before.references != after.references:
        yield DataError("other-references")


def _changed_settings(scores: Scores, other: Scores) -> Iterator[DataError]:
    changes = [(name, *(getattr(known, name) or usual for known in (other, scores))) for name, usual in USUAL.items()]
    before, after = other.origin, scores.origin
    if before is not None and after is not None:
        changes += [(name, getattr(before, name), getattr(after, name)) for name in ("collapse", "conventions")]
        if before.duplicates and after.duplicates:  # without, there were none
            changes.append(("duplicates", before.duplicates, after.duplicates))
    for name, was, now in changes:
        if was != now:
            yield DataError("other-setting", name=name, before=was, now=now)
    kinds = {kind.label: kind for kind in other.kinds}
    for kind in scores.kinds:
        if kinds[kind.label] != kind:
            yield DataError("other-definition", measure=kind.label)
