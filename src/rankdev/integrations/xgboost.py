"""XGBoost: RDQ as objective and as evaluation metric, for ``xgboost.train``."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankdev._common.arrays import Floats, Ints
from rankdev._common.checks import bad_type
from rankdev.learning.training import Lambdas, MeanScore, training_labels

__all__ = ["Metric", "Objective", "training_labels"]


class Objective(Lambdas):
    """RDQ as an objective: ``xgboost.train(…, data, obj=Objective("RDQ@10"))``.

    Groups and labels are those of the data set. The parameters are those of
    :class:`rankdev.integrations.lightgbm.Objective`. With ``normalise=False`` second derivatives are small: lower
    ``min_child_weight`` then.
    """

    def __call__(self, predictions: Floats, data: Any) -> tuple[Floats, Floats]:
        """Return gradients and Hessians.

        Parameters
        ----------
        predictions : array
            Predictions of the model, one per row.
        data : xgboost.DMatrix
            Data set with labels and groups.

        Returns
        -------
        gradients, hessians : array
            One value per row.

        Examples
        --------
        >>> import numpy as np
        >>> import xgboost
        >>> data = xgboost.DMatrix(np.eye(3), label=[0, 1, 2], group=[3])
        >>> gradients, hessians = Objective("RDQ@10")(np.zeros(3), data)
        >>> gradients.shape
        (3,)
        """
        sizes = _sizes(data)
        return self.gradients(data.get_label(), predictions, sizes, _weights(data))


class Metric(MeanScore):
    """Mean RDQ as a metric: ``xgboost.train(…, custom_metric=Metric("RDQ@10"), maximize=True)``."""

    def __call__(self, predictions: Floats, data: Any) -> tuple[str, float]:
        """Score the predictions for a data set.

        Parameters
        ----------
        predictions : array
            Predictions of the model, one per row.
        data : xgboost.DMatrix
            Data set with labels and groups.

        Returns
        -------
        name : str
            Name of the measure.
        value : float
            Mean over queries.

        Examples
        --------
        >>> import numpy as np
        >>> import xgboost
        >>> data = xgboost.DMatrix(np.eye(3), label=[0, 1, 2], group=[3])
        >>> Metric("RDQ@10")(np.array([0.1, 0.5, 0.9]), data)
        ('RDQ@10', 1.0)
        """
        sizes = _sizes(data)
        return str(self.measure), self.mean(data.get_label(), predictions, sizes, _weights(data))


def _sizes(data: Any) -> Ints:
    if not hasattr(data, "get_uint_info"):
        raise bad_type("data", "a DMatrix with groups", data, "estimators do not pass it on: use xgboost.train")
    return np.diff(data.get_uint_info("group_ptr").astype(np.int64))


def _weights(data: Any) -> Any:
    weights = data.get_weight()
    return weights if len(weights) else None
