"""LightGBM: RDQ as objective and as evaluation metric, for ``lightgbm.train`` and for ``LGBMRanker``."""

from __future__ import annotations

from typing import Any

from rankdev._common.arrays import Floats
from rankdev.errors import UsageError
from rankdev.learning.training import Lambdas, MeanScore, training_labels

__all__ = ["Metric", "Objective", "training_labels"]


class Objective(Lambdas):
    """``lightgbm.train({"objective": Objective("RDQ@10"), …}, data)``; groups and labels are those of the data set.

    In each query of the data set, every distinct positive label is a tier, the highest the best; rows of 0 or less are
    outside the reference. ``references`` are needed where these have items without a row (see :func:`training_labels`).
    ``normalise`` tames pairs and queries as lambdarank does; ``noise`` is the scale of Gumbel noise on the predictions
    that decide the order in each round.
    """

    def __call__(self, predictions: Floats, data: Any) -> tuple[Floats, Floats]:
        """Give gradients and Hessians to ``lightgbm.train``."""
        _check(data, "objective=Objective(…).of_ranker")
        return self.gradients(data.get_label(), predictions, data.get_group(), data.get_weight())

    def of_ranker(self, labels: Any, predictions: Floats, weights: Any, groups: Any) -> tuple[Floats, Floats]:
        """Give them to a ranker: ``LGBMRanker(objective=Objective("RDQ@10").of_ranker)``."""
        return self.gradients(labels, predictions, groups, weights)


class Metric(MeanScore):
    """``lightgbm.train(…, feval=Metric("RDQ@10"))``: the mean RDQ; equal predictions count as any order of them."""

    def __call__(self, predictions: Floats, data: Any) -> tuple[str, float, bool]:
        """Score the predictions for a data set."""
        _check(data, "eval_metric=Metric(…).of_ranker")
        value = self.mean(data.get_label(), predictions, data.get_group(), data.get_weight())
        return str(self.measure), value, True

    def of_ranker(self, labels: Any, predictions: Floats, weights: Any, groups: Any) -> tuple[str, float, bool]:
        """Score for a ranker: ``ranker.fit(…, eval_metric=Metric("RDQ@10").of_ranker)``."""
        return str(self.measure), self.mean(labels, predictions, groups, weights), True


def _check(data: Any, remedy: str) -> None:
    if not hasattr(data, "get_label"):
        raise UsageError(f"a Dataset is needed, which knows its groups; LGBMRanker takes {remedy}")
