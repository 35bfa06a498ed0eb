"""LightGBM: RDQ as objective and as evaluation metric, for ``lightgbm.train`` and for ``LGBMRanker``."""

from __future__ import annotations

from typing import Any

from rankdev._common.arrays import Floats
from rankdev._common.checks import bad_type
from rankdev.learning.training import Lambdas, MeanScore, training_labels

__all__ = ["Metric", "Objective", "training_labels"]


class Objective(Lambdas):
    """RDQ as an objective: ``lightgbm.train({"objective": Objective("RDQ@10"), …}, data)``.

    Groups and labels are those of the data set. In each query, every distinct positive label is a tier, the highest
    the best; rows of 0 or less are outside the reference. ``references`` are needed where these have items without a
    row (see :func:`training_labels`). ``normalise`` normalises pairs and queries as lambdarank does; ``noise`` is the
    scale of Gumbel noise on the predictions that determine the order in each round.
    """

    def __call__(self, predictions: Floats, data: Any) -> tuple[Floats, Floats]:
        """Return gradients and Hessians.

        Parameters
        ----------
        predictions : array
            Predictions of the model, one per row.
        data : lightgbm.Dataset
            Data set with labels and groups.

        Returns
        -------
        gradients, hessians : array
            One value per row.

        Examples
        --------
        >>> import lightgbm
        >>> import numpy as np
        >>> data = lightgbm.Dataset(np.eye(3), [0, 1, 2], group=[3], params={"verbose": -1}).construct()
        >>> gradients, hessians = Objective("RDQ@10")(np.zeros(3), data)
        >>> gradients.shape
        (3,)
        """
        _check(data, "objective=Objective(…).of_ranker")
        return self.gradients(data.get_label(), predictions, data.get_group(), data.get_weight())

    def of_ranker(self, labels: Any, predictions: Floats, weights: Any, groups: Any) -> tuple[Floats, Floats]:
        """Return gradients and Hessians for a ranker: ``LGBMRanker(objective=Objective("RDQ@10").of_ranker)``.

        Parameters
        ----------
        labels : array
            Label of each row.
        predictions : array
            Prediction of the model for each row.
        weights : array or None
            Weights of rows.
        groups : array
            Number of rows of each query.

        Returns
        -------
        gradients, hessians : array
            One value per row.

        Examples
        --------
        >>> import numpy as np
        >>> gradients, hessians = Objective("RDQ@10").of_ranker([0, 1, 2], np.zeros(3), None, [3])
        >>> gradients.shape
        (3,)
        """
        return self.gradients(labels, predictions, groups, weights)


class Metric(MeanScore):
    """Mean RDQ as a metric: ``lightgbm.train(…, feval=Metric("RDQ@10"))``.

    Rows with equal predictions count as the mean over all their orders.
    """

    def __call__(self, predictions: Floats, data: Any) -> tuple[str, float, bool]:
        """Score the predictions for a data set.

        Parameters
        ----------
        predictions : array
            Predictions of the model, one per row.
        data : lightgbm.Dataset
            Data set with labels and groups.

        Returns
        -------
        name : str
            Name of the measure.
        value : float
            Mean over queries.
        higher_is_better : bool
            True.

        Examples
        --------
        >>> import lightgbm
        >>> import numpy as np
        >>> data = lightgbm.Dataset(np.eye(3), [0, 1, 2], group=[3], params={"verbose": -1}).construct()
        >>> Metric("RDQ@10")(np.array([0.1, 0.5, 0.9]), data)
        ('RDQ@10', 1.0, True)
        """
        _check(data, "eval_metric=Metric(…).of_ranker")
        return self.of_ranker(data.get_label(), predictions, data.get_weight(), data.get_group())

    def of_ranker(self, labels: Any, predictions: Floats, weights: Any, groups: Any) -> tuple[str, float, bool]:
        """Score the predictions of a ranker: ``ranker.fit(…, eval_metric=Metric("RDQ@10").of_ranker)``.

        Parameters
        ----------
        labels : array
            Label of each row.
        predictions : array
            Prediction of the model for each row.
        weights : array or None
            Weights of rows.
        groups : array
            Number of rows of each query.

        Returns
        -------
        name : str
            Name of the measure.
        value : float
            Mean over queries.
        higher_is_better : bool
            True.

        Examples
        --------
        >>> import numpy as np
        >>> Metric("RDQ@10").of_ranker([0, 1, 2], np.array([0.1, 0.5, 0.9]), None, [3])
        ('RDQ@10', 1.0, True)
        """
        return str(self.measure), self.mean(labels, predictions, groups, weights), True


def _check(data: Any, remedy: str) -> None:
    if not hasattr(data, "get_label"):
        raise bad_type("data", "a Dataset with groups", data, f"LGBMRanker takes {remedy}")
