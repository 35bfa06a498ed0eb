"""ranx: our references and runs as its Qrels and Run. Its own are taken wherever rankdev takes references and runs."""

from __future__ import annotations

from typing import Any

from rankdev.errors import DataError, MissingExtraError, UsageError
from rankdev.references.references import References
from rankdev.runs import Run


def to_ranx(value: References | Run, name: str | None = None) -> Any:
    """Give references as ``ranx.Qrels`` or a run as ``ranx.Run``.

    Grades must be whole numbers there; references without grades get one for each tier, the best tier the highest.
    Items of a run get new scores that keep their order: where scores are equal, ranx would order them in its own way.
    """
    try:
        import ranx
    except ImportError:
        raise MissingExtraError("ranx", "ranx", "to_ranx") from None
    if isinstance(value, References):
        return ranx.Qrels(_grades(value))
    if not isinstance(value, Run):
        raise UsageError(f"to_ranx takes References or a Run; got {type(value).__name__}")
    scores = {query: {item: float(-i) for i, item in enumerate(dict.fromkeys(value[query]))} for query in value}
    return ranx.Run({query: items for query, items in scores.items() if items}, name=name)


def _grades(references: References) -> dict[str, dict[str, int]]:
    grades: dict[str, dict[str, int]] = {}
    for query, reference in references.items():
        tiers = max(reference.values(), default=0)
        given = reference.grades or {item: tiers + 1 - rank for item, rank in reference.items()}
        for item, grade in given.items():
            if grade != int(grade):
                raise DataError(
                    f"query {query!r}: item {item!r} has the grade {grade:g}; ranx takes whole numbers only"
                )
        grades[query] = {item: int(grade) for item, grade in given.items()}
    return {query: entries for query, entries in grades.items() if entries}
