"""XGBoost: RDQ as objective and as evaluation metric, for ``xgboost.train``."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankdev._common.arrays import Floats, Ints
from rankdev.errors import UsageError
from rankdev.learning.training import Lambdas, MeanScore, training_labels

__all__ = ["Metric", "Objective", "training_labels"]


class Objective(Lambdas):
    """``xgboost.train(…, data, obj=Objective("RDQ@10"))``; groups and labels are those of the data set.

    All else means what it means in :class:`rankdev.integrations.lightgbm.Objective`. With ``normalise=False`` second
    derivatives are small: lower ``min_child_weight`` then.
    """

    def __call__(self, predictions: Floats, data: Any) -> tuple[Floats, Floats]:
        """Give gradients and Hessians."""
        sizes = _sizes(data)
        return self.gradients(data.get_label(), predictions, sizes, _weights(data))


class Metric(MeanScore):
    """``xgboost.train(…, custom_metric=Metric("RDQ@10"), maximize=True)``: the mean RDQ."""

    def __call__(self, predictions: Floats, data: Any) -> tuple[str, float]:
        """Score the predictions for a data set."""
        sizes = _sizes(data)
        return str(self.measure), self.mean(data.get_label(), predictions, sizes, _weights(data))


def _sizes(data: Any) -> Ints:
    if not hasattr(data, "get_uint_info"):
        raise UsageError("a DMatrix is needed, which knows its groups; estimators do not show it: use xgboost.train")
    return np.diff(data.get_uint_info("group_ptr").astype(np.int64))


def _weights(data: Any) -> Any:
    weights = data.get_weight()
    return weights if len(weights) else None
