"""sentence-transformers: an evaluator with ordered references, and weights for ``LambdaLoss``."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

import numpy as np

from rankdev._common.checks import bad_type, check_whole, is_list
from rankdev.data.files import load_references
from rankdev.data.ids import as_id
from rankdev.data.references import ReferencesLike
from rankdev.data.run import Run
from rankdev.data.tables import check_mapping
from rankdev.errors import DataError, MissingExtraError, UsageError
from rankdev.evaluation.evaluate import evaluate
from rankdev.learning.training import trainable
from rankdev.measures import Measure, parse_all

try:
    import torch
    from sentence_transformers import CrossEncoder
    from sentence_transformers.base.evaluation import BaseEvaluator
except ImportError as error:
    package = "sentence-transformers" if error.name is None else error.name.partition(".")[0].replace("_", "-")
    raise MissingExtraError(package, "sentence-transformers", "evaluating its models") from None

from rankdev.integrations.torch import swap_gains

CELLS = 20_000_000  # similarities computed at once


class RankingEvaluator(BaseEvaluator):  # type: ignore[misc]
    """Scores a bi-encoder or a cross-encoder while it is trained; the first measure is the ``primary_metric``.

    Queries without a reference, or without a text, are left out; one without candidates scores 0.

    Parameters
    ----------
    queries : dict of str to str
        Text of each query.
    items : dict of str to str
        Text of each item.
    references : References, path, table or dict
        Ideal order of each query: lists, tiers or grades.
    measures : str, Measure or list of them, default "RDQ@10"
        What is computed.
    candidates : dict of str to list of str, optional
        Items to rank for each query; a cross-encoder needs them. Default: a bi-encoder ranks all items.
    name : str, optional
        Prefix of the metrics' names.
    batch_size : int, default 32
        Texts encoded at once.

    Examples
    --------
    >>> evaluator = RankingEvaluator({"q": "a query"}, {"d": "a text"}, {"q": ["d"]}, "RDQ@5")
    >>> evaluator.primary_metric
    'RDQ@5'
    """

    def __init__(
        self,
        queries: Mapping[Any, str],
        items: Mapping[Any, str],
        references: ReferencesLike,
        measures: str | Measure | Iterable[str | Measure] = "RDQ@10",
        *,
        candidates: Mapping[Any, Iterable[Any]] | None = None,
        name: str = "",
        batch_size: int = 32,
    ) -> None:
        super().__init__()
        known = load_references(references)
        texts = _texts("queries", queries)
        asked = np.flatnonzero([query in texts for query in known.queries])
        if not len(asked):
            raise DataError("nothing-in-common", one="queries", other="references")
        self.references = known.of_queries(asked)
        self.queries = {query: text for query, text in texts.items() if query in self.references}
        self.measures = parse_all(measures)
        self.items = _texts("items", items)
        self.candidates = None if candidates is None else self._known(candidates)
        self.name, self.batch_size = name, check_whole("batch_size", batch_size, 1)
        self.primary_metric = str(self.measures[0])

    def _known(self, candidates: Mapping[Any, Iterable[Any]]) -> dict[str, list[str]]:
        given = check_mapping(candidates, "candidates", "{query: [item, …]}")
        found = {as_id(query): entries for query, entries in given.items()}
        known: dict[str, list[str]] = {}
        for query in self.queries:
            entries = found.get(query, ())
            if not is_list(entries):
                raise DataError("bad-value", query=query, name="candidates", value=entries, expected="a list of items")
            known[query] = list(dict.fromkeys(as_id(item) for item in entries))
            for item in known[query]:
                if item not in self.items:
                    raise DataError("no-text", query=query, item=item)
        if not any(known.values()):
            raise DataError("nothing-in-common", one="queries", other="candidates")
        return known

    def __call__(
        self, model: Any, output_path: str | None = None, epoch: float = -1, steps: int = -1
    ) -> dict[str, float]:
        """Return the mean of every measure; a trainer and ``model.evaluate`` call this.

        Parameters
        ----------
        model : SentenceTransformer or CrossEncoder
            Model to evaluate.
        output_path : str, optional
            Not used: the trainer logs the values.
        epoch : float, optional
            Epoch of training.
        steps : int, optional
            Step of training.

        Returns
        -------
        dict of str to float
            Mean of each measure.

        Examples
        --------
        >>> evaluator(model)  # doctest: +SKIP
        {'RDQ@5': 1.0}
        """
        scores = evaluate(self.references, {"model": self.run(model)}, self.measures)
        means = dict(zip(scores.measures, scores.means[0].tolist(), strict=True))
        metrics: dict[str, float] = self.prefix_name_to_metrics(means, self.name)
        self.store_metrics_in_model_card_data(model, metrics, epoch, steps)
        return metrics

    def run(self, model: Any) -> Run:
        """Rank with a model, for :func:`rankdev.evaluate` and comparisons query by query.

        Parameters
        ----------
        model : SentenceTransformer or CrossEncoder
            Model that ranks.

        Returns
        -------
        Run
            The ranking of each query.

        Examples
        --------
        >>> evaluator.run(model)["q"]  # doctest: +SKIP
        ['d']
        """
        if isinstance(model, CrossEncoder):
            return Run.from_scores(self._reranked(model))
        if not hasattr(model, "encode_document"):
            raise bad_type("model", "a model of sentence-transformers", model, "such as SentenceTransformer(…)")
        return Run.from_scores(self._retrieved(model))

    def get_config_dict(self) -> dict[str, Any]:
        """Return what the model's card names: the measures.

        Returns
        -------
        dict
            The key measures.

        Examples
        --------
        >>> RankingEvaluator({"q": "a query"}, {"d": "a text"}, {"q": ["d"]}, "RDQ@5").get_config_dict()
        {'measures': ['RDQ@5']}
        """
        return {"measures": [str(measure) for measure in self.measures]}

    def _reranked(self, model: Any) -> dict[str, dict[str, float]]:
        if self.candidates is None:
            raise UsageError("needed", name="candidates", use="a cross-encoder")
        if model.num_labels != 1:
            raise UsageError("bad-value", name="num_labels", value=model.num_labels, expected="1: one number ranks")
        pairs = [(self.queries[query], self.items[item]) for query, found in self.candidates.items() for item in found]
        predicted = iter(model.predict(pairs, batch_size=self.batch_size, show_progress_bar=False))
        return {query: {item: float(next(predicted)) for item in found} for query, found in self.candidates.items()}

    def _retrieved(self, model: Any) -> dict[str, dict[str, float]]:
        names = list(self.items if self.candidates is None else dict.fromkeys(chain(*self.candidates.values())))
        options = {"batch_size": self.batch_size, "show_progress_bar": False, "convert_to_tensor": True}
        texts = model.encode_document([self.items[name] for name in names], **options)
        queries = list(self.queries.items())
        found: dict[str, dict[str, float]] = {}
        size = max(1, CELLS // len(names))
        for begin in range(0, len(queries), size):
            block = dict(queries[begin : begin + size])
            similar = model.similarity(model.encode_query(list(block.values()), **options), texts)
            for query, row in zip(block, similar, strict=True):
                found[query] = self._best(query, names, row)
        return found

    def _best(self, query: str, names: list[str], row: Any) -> dict[str, float]:
        """Keep the items that the measures use; of equal scores all, so that rankdev's tie rule orders them."""
        if self.candidates is not None:
            scores = dict(zip(names, row.tolist(), strict=True))
            return {item: scores[item] for item in self.candidates[query]}
        if row.isnan().any():
            item = names[int(row.isnan().nonzero()[0])]
            value, expected = math.nan, "a number"
            raise DataError("bad-value", query=query, item=item, name="the similarity", value=value, expected=expected)
        reaches = [measure.reach for measure in self.measures]
        depth = len(names) if None in reaches else min(len(names), max(reach or 0 for reach in reaches))
        kept = torch.nonzero(row >= torch.topk(row, depth).values[-1]).flatten()
        return dict(zip((names[place] for place in kept.tolist()), row[kept].tolist(), strict=True))


def _texts(what: str, texts: Any) -> dict[str, str]:
    given = check_mapping(texts, what, "{id: text}")
    if not given:
        raise DataError("empty", name=what, expected="{id: text}")
    for name, times in Counter(as_id(name) for name in given).items():
        if times > 1:
            raise DataError("appears-twice", role=what, what="id", value=name)
    return {as_id(name): text for name, text in given.items()}


class RDQScheme(torch.nn.Module):  # type: ignore[misc]
    """Weights for ``LambdaLoss(model, weighting_scheme=RDQScheme("RDQ@10"))``: what RDQ gains by the correct order.

    Labels of the training data read as grades: every distinct positive one is a tier, 0 is outside the reference.

    Parameters
    ----------
    measure : str or Measure, default "RDQ@10"
        RDQ with a cutoff.

    Examples
    --------
    >>> RDQScheme("RDQ@10").measure.cutoff
    10
    """

    def __init__(self, measure: str | Measure = "RDQ@10") -> None:
        super().__init__()
        self.measure = trainable(measure)

    def forward(self, gain: torch.Tensor, discount: torch.Tensor, true_sorted: torch.Tensor) -> torch.Tensor:
        """Weight the pairs of each query.

        Parameters
        ----------
        gain : Tensor
            Gains of the labels; only their type is used.
        discount : Tensor
            Not used.
        true_sorted : Tensor
            Labels in the order of the model's scores.

        Returns
        -------
        Tensor
            Weights, ``[query, item, other]``.

        Examples
        --------
        >>> labels = torch.tensor([[0.0, 1.0]])
        >>> RDQScheme("RDQ@2")(labels, labels, labels).shape
        torch.Size([1, 2, 2])
        """
        return swap_gains(true_sorted, self.measure).to(gain.dtype)
