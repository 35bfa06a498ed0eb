"""PyTerrier: from the systems of an Experiment to Scores, from which every verdict is drawn. No Java is started.

``pt.Experiment(…, eval_metrics=[RDQ @ 5])`` itself needs :mod:`rankdev.integrations.ir_measures` only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rankdev.errors import UsageError
from rankdev.evaluation.scores import Scores
from rankdev.evaluation.scoring import evaluate
from rankdev.measures import Measure


def scores(
    systems: Mapping[str, Any] | Sequence[Any],
    topics: Any,
    references: Any,
    measures: str | Measure | Iterable[str | Measure],
    *,
    names: Sequence[str] | None = None,
) -> Scores:
    """Run what ``pt.Experiment`` takes and score it: transformers or frames of results, by name or with ``names``.

    ``references`` are qrels as PyTerrier has them, or whatever :func:`rankdev.evaluate` takes.

    >>> import pandas as pd
    >>> results = pd.DataFrame({"qid": ["1", "1"], "docno": ["d2", "d1"], "score": [2.0, 1.0]})
    >>> qrels = pd.DataFrame({"qid": ["1", "1"], "docno": ["d1", "d2"], "label": [2, 1]})
    >>> scores({"mine": results}, None, qrels, "RDQ@5").means.round(4).tolist()
    [[0.5255]]
    """
    if isinstance(systems, Mapping):
        named = dict(systems)
    else:
        labels = [str(system) for system in systems] if names is None else list(names)
        if len(labels) != len(systems) or len(set(labels)) != len(labels):
            raise UsageError("every system needs a name of its own; give names=[…], one for each system")
        named = dict(zip(labels, systems, strict=True))
    runs = {name: system.transform(topics) if hasattr(system, "search") else system for name, system in named.items()}
    return evaluate(references, runs, measures)
