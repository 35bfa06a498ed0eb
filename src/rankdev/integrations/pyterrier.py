"""PyTerrier: from the systems of an Experiment to Scores, for all tests of rankdev. No Java is started.

``pt.Experiment(…, eval_metrics=[RDQ @ 5])`` itself needs :mod:`rankdev.integrations.ir_measures` only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from rankdev._common.checks import bad_type, is_list
from rankdev._common.columns import text_column
from rankdev._common.tables import as_frame, is_table
from rankdev.data.files import load_references
from rankdev.data.references import References
from rankdev.errors import DataError, UsageError
from rankdev.evaluation.evaluate import evaluate
from rankdev.evaluation.scores import Scores
from rankdev.measures import Measure


def scores(
    systems: Mapping[str, Any] | Sequence[Any],
    topics: Any,
    references: Any,
    measures: str | Measure | Iterable[str | Measure],
    *,
    names: Sequence[str] | None = None,
    filter_by_topics: bool = True,
) -> Scores:
    """Score the systems of a ``pt.Experiment``.

    Parameters
    ----------
    systems : dict of str to system, or list of systems
        Transformers, or frames of results.
    topics : frame or None
        Queries, with the columns qid and query; needed by transformers.
    references : frame, References, path, table or dict
        Qrels of PyTerrier, or whatever :func:`rankdev.evaluate` takes.
    measures : str, Measure or list of them
        Such as ``"RDQ@5"``.
    names : list of str, optional
        Names of the systems, where they are a list. Default: their text.
    filter_by_topics : bool, default True
        As in an Experiment, only queries among the topics count, where there are any.

    Returns
    -------
    Scores
        One value per system, query, measure.

    Examples
    --------
    >>> import pandas as pd
    >>> results = pd.DataFrame({"qid": ["1", "1"], "docno": ["d2", "d1"], "score": [2.0, 1.0]})
    >>> qrels = pd.DataFrame({"qid": ["1", "1"], "docno": ["d1", "d2"], "label": [2, 1]})
    >>> scores({"mine": results}, None, qrels, "RDQ@5").means.round(4).tolist()
    [[0.5255]]
    """
    named = _named(systems, names)
    known = load_references(references)
    if topics is not None and filter_by_topics:
        known = _among(known, topics)
    return evaluate(known, {name: _results(name, system, topics) for name, system in named.items()}, measures)


def _named(systems: Any, names: Sequence[str] | None) -> dict[str, Any]:
    if isinstance(systems, Mapping):
        return dict(systems)
    if is_table(systems) or not is_list(systems):
        raise bad_type("systems", "{name: system}", systems, "or give a list, with names=[…]")
    systems = list(systems)
    labels = [str(system) for system in systems] if names is None else list(names)
    if len(labels) != len(systems) or len(set(labels)) != len(labels):
        raise UsageError("not-named", name=None)
    return dict(zip(labels, systems, strict=True))


def _among(references: References, topics: Any) -> References:
    if not is_table(topics):
        raise bad_type("topics", "a frame with the column qid", topics, "such as dataset.get_topics()")
    asked = text_column(as_frame(topics), "query", "topics")
    wanted = set(asked)
    places = np.flatnonzero([query in wanted for query in references.queries])
    if not len(places):
        raise DataError("nothing-in-common", one="topics", other="references")
    return references.of_queries(places)


def _results(name: str, system: Any, topics: Any) -> Any:
    if not hasattr(system, "search"):  # what every transformer has
        return system
    if topics is None:
        raise UsageError("needed", system=name, name="topics", use="a transformer")
    return system.transform(topics)
