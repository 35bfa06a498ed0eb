"""ranx: our references and runs as its Qrels and Run.

Its Qrels and Run are accepted wherever rankdev takes references and runs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rankdev._common.checks import bad_type
from rankdev.data.references import References
from rankdev.data.run import Run
from rankdev.errors import DataError, MissingExtraError

LARGEST = 2**53  # whole numbers up to here are exact


def to_ranx(value: References | Run, name: str | None = None) -> Any:
    """Convert references to ``ranx.Qrels`` or a run to ``ranx.Run``.

    Grades must be whole numbers there; references without grades get one for each tier, the best tier the highest, and
    items that are known to be nonrelevant get 0.
    A run keeps its scores, so that it can be fused. Where they are equal, ranx would order items in its own way: the
    later one gets the next lower number, in the single precision by which trec_eval compares.

    Parameters
    ----------
    value : References or Run
        What to convert.
    name : str, optional
        Name of the run.

    Returns
    -------
    ranx.Qrels or ranx.Run
        The same in ranx.

    Examples
    --------
    >>> dict(to_ranx(References.from_lists({"q": ["d1", "d2"]})).to_dict())  # doctest: +SKIP
    {'q': {'d1': 2, 'd2': 1}}
    """
    try:
        import ranx
    except ImportError:
        raise MissingExtraError("ranx", "ranx", "to_ranx") from None
    if isinstance(value, References):
        return ranx.Qrels(_grades(value))
    if not isinstance(value, Run):
        raise bad_type("value", "References or a Run", value, "such as Run.of(…)")
    scores = {query: _falling(value, query) for query in value}
    if not any(scores.values()):
        raise DataError("empty", name="the run", expected="at least one item")
    return ranx.Run({query: items for query, items in scores.items() if items}, name=name)


def _falling(run: Run, query: str) -> dict[str, float]:
    """Score the items of a query so that each scores less than the one above it."""
    items = run[query]
    scores = -np.arange(len(items)) if run.scores is None else run.scores[run.rows(query)]
    with np.errstate(over="ignore"):
        keys = scores.astype(np.float32)
    found: dict[str, float] = {}
    above = np.float32(np.inf)
    for item, score, key in zip(items, scores.tolist(), keys, strict=True):
        if item not in found:
            lower = key < above
            above = key if lower else np.nextafter(above, np.float32(-np.inf))
            found[item] = float(score if lower else above)
    return found


def _grades(references: References) -> dict[str, dict[str, int]]:
    grades: dict[str, dict[str, int]] = {}
    for query, reference in references.items():
        tiers = max(reference.values(), default=0)
        given = reference.grades or {item: tiers + 1 - rank for item, rank in reference.items()}
        for item, grade in given.items():
            if grade != int(grade) or grade > LARGEST:
                expected = "a whole number; ranx takes no others"
                raise DataError("bad-value", query=query, item=item, name="the grade", value=grade, expected=expected)
        # grades below 0 mark unjudged items; a query without any other is kept all the same
        nonrelevant = {item: 0 for item, grade in (reference.nonrelevant or {}).items() if grade == 0 or not given}
        grades[query] = {item: int(grade) for item, grade in given.items()} | nonrelevant
    return grades
