"""sentence-transformers: an evaluator with ordered references, and weights for ``LambdaLoss``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

from rankdev.errors import DataError, MissingExtraError, UsageError
from rankdev.evaluation.scoring import evaluate
from rankdev.learning.earnings import trainable
from rankdev.measures import Measure, parse_all
from rankdev.references.references import References
from rankdev.runs import Run

try:
    import torch
    from sentence_transformers import CrossEncoder
    from sentence_transformers.base.evaluation import BaseEvaluator
except ImportError as error:
    package = "sentence-transformers" if error.name is None else error.name.partition(".")[0].replace("_", "-")
    raise MissingExtraError(package, "sentence-transformers", "evaluating its models") from None

from rankdev.integrations.torch import swap_gains

CELLS = 20_000_000  # similarities that are computed together


class RankingEvaluator(BaseEvaluator):  # type: ignore[misc]
    """Scores a bi-encoder or a cross-encoder while it is trained; the first measure is the ``primary_metric``.

    ``queries`` and ``items`` map ids to texts. A bi-encoder ranks all items, or the ``candidates`` of each query
    ({query: [item, …]}); a cross-encoder needs candidates. Queries without a reference are left out.
    """

    def __init__(
        self,
        queries: Mapping[str, str],
        items: Mapping[str, str],
        references: Any,
        measures: str | Measure | Iterable[str | Measure] = "RDQ@10",
        *,
        candidates: Mapping[str, Iterable[str]] | None = None,
        name: str = "",
        batch_size: int = 32,
    ) -> None:
        super().__init__()
        self.references = References.of(references)
        self.measures = parse_all(measures)
        self.queries = {query: text for query, text in queries.items() if query in self.references}
        if not self.queries:
            raise DataError("no query has a reference; do queries and references use the same ids?")
        self.items = dict(items)
        self.candidates = None if candidates is None else self._known(candidates)
        self.name, self.batch_size = name, batch_size
        self.primary_metric = str(self.measures[0])

    def _known(self, candidates: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
        known = {query: list(candidates.get(query, ())) for query in self.queries}
        for query, found in known.items():
            for item in found:
                if item not in self.items:
                    raise DataError(f"query {query!r}: the candidate {item!r} has no text among the items")
        return known

    def __call__(
        self, model: Any, output_path: str | None = None, epoch: int = -1, steps: int = -1
    ) -> dict[str, float]:
        """Give the mean of every measure; what a trainer and ``model.evaluate`` call."""
        scores = evaluate(self.references, {"model": self.run(model)}, self.measures)
        means = dict(zip(scores.measures, scores.means[0].tolist(), strict=True))
        metrics: dict[str, float] = self.prefix_name_to_metrics(means, self.name)
        self.store_metrics_in_model_card_data(model, metrics, epoch, steps)
        return metrics

    def run(self, model: Any) -> Run:
        """Rank with a model: what :func:`rankdev.evaluate` takes, to compare models query by query."""
        if isinstance(model, CrossEncoder):
            return Run.from_scores(self._reranked(model))
        return Run.from_scores(self._retrieved(model))

    def get_config_dict(self) -> dict[str, Any]:
        """Say in the model's card what was measured."""
        return {"measures": [str(measure) for measure in self.measures]}

    def _reranked(self, model: Any) -> dict[str, dict[str, float]]:
        if self.candidates is None:
            raise UsageError("a cross-encoder needs candidates={query: [item, …]}: it reads every pair of texts")
        if model.num_labels != 1:
            raise UsageError(f"the cross-encoder gives {model.num_labels} numbers for a pair; one is needed to rank")
        pairs = [(self.queries[query], self.items[item]) for query, found in self.candidates.items() for item in found]
        predicted = iter(model.predict(pairs, batch_size=self.batch_size, show_progress_bar=False) if pairs else ())
        return {query: {item: float(next(predicted)) for item in found} for query, found in self.candidates.items()}

    def _retrieved(self, model: Any) -> dict[str, dict[str, float]]:
        names = list(self.items if self.candidates is None else dict.fromkeys(chain(*self.candidates.values())))
        options = {"batch_size": self.batch_size, "convert_to_tensor": True, "show_progress_bar": False}
        texts = model.encode_document([self.items[name] for name in names], **options)
        asked = model.encode_query(list(self.queries.values()), **options)
        found: dict[str, dict[str, float]] = {}
        size = max(1, CELLS // len(names))
        for begin in range(0, len(asked), size):
            similar = model.similarity(asked[begin : begin + size], texts)
            for query, row in zip(list(self.queries)[begin : begin + size], similar, strict=True):
                found[query] = self._best(query, names, row)
        return found

    def _best(self, query: str, names: list[str], row: Any) -> dict[str, float]:
        """Keep what the measures look at; of equal scores all, so that rankdev's own rule decides about them."""
        if self.candidates is not None:
            scores = dict(zip(names, row.tolist(), strict=True))
            return {item: scores[item] for item in self.candidates[query]}
        reaches = [measure.reach for measure in self.measures]
        depth = len(names) if None in reaches else min(len(names), max(reach or 0 for reach in reaches))
        kept = torch.nonzero(row >= torch.topk(row, depth).values[-1]).flatten()
        return dict(zip((names[place] for place in kept.tolist()), row[kept].tolist(), strict=True))


class RDQScheme(torch.nn.Module):  # type: ignore[misc]
    """``LambdaLoss(model, weighting_scheme=RDQScheme("RDQ@10"))``: pairs weigh what RDQ gains by the right order.

    Labels of the training data read as grades: every distinct positive one is a tier, 0 is outside the reference.
    """

    def __init__(self, measure: str | Measure = "RDQ@10") -> None:
        super().__init__()
        self.measure = trainable(measure)

    def forward(self, gain: torch.Tensor, discount: torch.Tensor, true_sorted: torch.Tensor) -> torch.Tensor:
        """Weigh the pairs of each query; ``true_sorted`` are labels in the order of the model's scores."""
        return swap_gains(true_sorted, self.measure).to(gain.dtype)
