"""scikit-learn: a scorer that gets the query of each row by metadata routing."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from rankdev.data.ids import as_id
from rankdev.data.references import References
from rankdev.errors import DataError, MissingExtraError, UsageError
from rankdev.evaluation.evaluate import evaluate
from rankdev.measures import Measure, parse

try:
    from sklearn import config_context
    from sklearn.metrics import make_scorer
except ImportError:
    raise MissingExtraError("scikit-learn", "sklearn", "a scorer for scikit-learn") from None


def scorer(
    measure: str | Measure = "RDQ@10", *, response_method: str | tuple[str, ...] = ("decision_function", "predict")
) -> Any:
    """Make a scorer for ``cross_val_score``, ``GridSearchCV`` and the like: the mean of a measure over queries.

    It requests ``groups``, the query of each row; scikit-learn passes them on with ``enable_metadata_routing=True``.
    Labels read as grades: every distinct positive one is a tier of its query. Rows with equal predictions count as the
    mean over all their orders, so measures without such a mean are refused. Split by query, with ``GroupKFold`` or the
    like: of a query that is split, each part is scored as if it were whole.

    Parameters
    ----------
    measure : str or Measure, default "RDQ@10"
        What is averaged.
    response_method : str or tuple of str, default ("decision_function", "predict")
        As for ``sklearn.metrics.make_scorer``.

    Returns
    -------
    callable
        A scorer of scikit-learn.

    Examples
    --------
    >>> callable(scorer("RDQ@5"))
    True
    """
    with config_context(enable_metadata_routing=True):
        made = make_scorer(mean_score, response_method=response_method, measure=str(parse(measure)))
        return made.set_score_request(groups=True)


def mean_score(labels: Any, predictions: Any, groups: Any = None, measure: str | Measure = "RDQ@10") -> float:
    """Score predictions for rows in any order: the mean over queries.

    Parameters
    ----------
    labels : array
        Grade of each row.
    predictions : array
        Score of each row.
    groups : array
        Query of each row.
    measure : str or Measure, default "RDQ@10"
        What is averaged.

    Returns
    -------
    float
        Mean over queries.

    Examples
    --------
    >>> mean_score([2, 1, 0], [0.9, 0.4, 0.1], ["q", "q", "q"])
    1.0
    """
    if groups is None:
        raise UsageError("no-routing")
    rows = {"grade": _numbers("labels", labels), "score": _numbers("predictions", predictions), "query": _names(groups)}
    if len({values.shape for values in rows.values()}) > 1 or rows["grade"].ndim != 1:
        names, shapes = ("labels", "predictions", "groups"), [values.shape for values in rows.values()]
        raise DataError("bad-shape", names=names, expected="[row]", shapes=shapes)
    items = pl.int_range(len(labels), eager=True).cast(pl.String)
    frame = pl.DataFrame({"item": items, **rows}).with_columns(pl.col("query").cast(pl.String))
    references = References.from_grades(frame.select("query", "item", "grade"))
    run = frame.select("query", "item", "score")
    return float(evaluate(references, {"model": run}, measure, ties="expected").means[0, 0])


def _numbers(what: str, values: Any) -> Any:
    try:
        return np.asarray(values, float)
    except (TypeError, ValueError):
        expected = "numbers, the higher the better"
        raise DataError("bad-value", name=what, value=values, expected=expected) from None


def _names(groups: Any) -> Any:
    """Return the query of each row; numbers of any kind may name it, and none may be missing."""
    names = np.asarray(groups)
    if names.dtype == object and names.ndim == 1:
        return np.array([as_id(name) for name in names], dtype=np.str_)
    if names.dtype.kind == "f" and np.isnan(names).any():
        raise DataError("no-value", row=int(np.isnan(names).argmax()), name="group")
    return names
