"""Scores in files, and scores of another day: how they were made is in the metadata of Parquet files.

Text formats hold values only, and are read as scores from elsewhere.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from rankdev import __version__
from rankdev._common.lazy import pl
from rankdev.data.files import references_of
from rankdev.data.options import ReadOptions
from rankdev.data.references import References, ReferencesLike
from rankdev.data.sources import Source
from rankdev.data.write import PathLike
from rankdev.errors import DataError, Note
from rankdev.evaluation.coverage import Coverage
from rankdev.evaluation.scores import Scores
from rankdev.measures.base import MeasureInfo

METADATA = "rankdev"  # key in Parquet files
USUAL = {"order": "score", "ties": "trec_eval", "empty": "zero", "collapse": None}  # options, and what None denotes


def read_scores(path: PathLike, *, columns: Mapping[str, str] | None = None) -> Scores:
    """Read scores from a file.

    Parameters
    ----------
    path : path
        CSV, TSV, JSONL, JSON (a list of records) or Parquet with the columns system, query, measure, value, such as
        ``rankdev eval -q -o FILE`` writes. Rows without a query are means and left out.
    columns : dict of str to str, optional
        Names of the file's columns, by ours: ``{"value": "score"}``.

    Returns
    -------
    Scores
        With how they were made, where rankdev wrote the file as Parquet.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> file = Path(mkdtemp(), "scores.csv")
    >>> _ = file.write_text("system,query,measure,value\\nbm25,q1,AP@5,0.5\\nbm25,q2,AP@5,1.0\\n")
    >>> read_scores(file).means.tolist()
    [[0.75]]
    """
    with Source(path, columns=columns) as source:
        scores = Scores.from_table(source.named("system", "query", "measure", "value"))
        parquet = source.kind == "parquet"
        provenance = pl.read_parquet_metadata(io.BytesIO(source.content)).get(METADATA, "") if parquet else ""
        return _with_provenance(scores, provenance) if '"measures"' in provenance else scores  # others are of results


def provenance_of(scores: Scores) -> str:
    """Write down how scores were made, as JSON."""
    sizes = scores.reference_sizes
    content = {
        "version": __version__,
        **{name: getattr(scores, name) for name in (*USUAL, "digest")},
        "measures": [asdict(kind) for kind in scores.kinds],
        "coverage": [asdict(entry) for entry in scores.coverage],
        "reference_sizes": None if sizes is None else sizes.tolist(),
        "queries": scores.queries,
        "notes": [(note.kind, note.fields) for note in scores.notes],
    }
    return json.dumps(content, ensure_ascii=False)


def _with_provenance(scores: Scores, text: str) -> Scores:
    """Add to scores how they were made; systems, queries and measures may have been left out since."""
    try:
        content: dict[str, Any] = json.loads(text)
        measures = [MeasureInfo(**entry | {"range": tuple(entry["range"])}) for entry in content["measures"]]
        kinds = {kind.label: kind for kind in measures}
        sizes = dict(zip(content["queries"], content["reference_sizes"] or (), strict=False))
        return replace(
            scores,
            reference_sizes=np.array([sizes[name] for name in scores.queries], np.int64) if sizes else None,
            coverage=tuple(Coverage(**entry) for entry in content["coverage"] if entry["system"] in scores.systems),
            notes=tuple(Note(kind, **fields) for kind, fields in content["notes"]),
            kinds=tuple(kinds.get(kind.label, kind) for kind in scores.kinds),
            **{name: content[name] for name in (*USUAL, "digest")},
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise DataError("bad-provenance", error=str(error)) from None


def with_digest(scores: Scores, references: ReferencesLike, **options: Any) -> Scores:
    """Add to scores the digest of the references that they were made with; ``options`` are those of ReadOptions."""
    return replace(scores, digest=digest_of(references_of(references, ReadOptions(**options))))


def digest_of(references: References) -> str:
    """Return a text that is the same for equal references only, by bytes that no version of a library changes."""
    from hashlib import blake2b  # which loads OpenSSL

    found = blake2b(digest_size=16)
    queries = pl.Series("query", sorted(references.queries), pl.String)
    for column in (queries, *references.canonical()):
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
    if len(other.systems) != 1:
        raise DataError("not-one-system", count=len(other.systems), names=other.systems[:8])
    for difference in _differences(scores, other):
        raise difference
    added = other.select(measures=scores.measures, queries=list(scores.queries))
    name = role if added.systems[0] in scores.systems else added.systems[0]
    joined = replace(
        scores,
        systems=(*scores.systems, name),
        values=np.concatenate([scores.values, added.values]),
        coverage=(*scores.coverage, *(replace(entry, system=name) for entry in added.coverage)),
        notes=tuple(dict.fromkeys([*scores.notes, *added.notes])),
    )
    return joined, name


def _differences(now: Scores, then: Scores) -> Iterator[DataError]:
    """Name what changed in measures, references and options, as far as it is known."""
    for measure in now.measures:
        if measure not in then.measures:
            yield DataError("lacks-measure", measure=measure, known=then.measures)
    before, after = dict.fromkeys(then.queries), dict.fromkeys(now.queries)
    for how, queries in (("added", after.keys() - before.keys()), ("removed", before.keys() - after.keys())):
        if queries:
            yield DataError("other-queries", count=len(queries), how=how, example=min(queries))
    if now.reference_sizes is not None and then.reference_sizes is not None:
        sizes = dict(zip(then.queries, then.reference_sizes.tolist(), strict=True))
        for query, size in zip(now.queries, now.reference_sizes.tolist(), strict=True):
            if size != sizes[query]:
                yield DataError("other-references", query=query)
    if now.digest and then.digest and now.digest != then.digest:
        yield DataError("other-references")
    for name, usual in USUAL.items():
        was, is_now = (getattr(scores, name) or usual for scores in (then, now))
        if was != is_now:
            yield DataError("other-setting", name=name, before=was, now=is_now)
    kinds = {kind.label: kind for kind in then.kinds}
    for kind in now.kinds:
        if kinds[kind.label] != kind:
            yield DataError("other-definition", measure=kind.label)
