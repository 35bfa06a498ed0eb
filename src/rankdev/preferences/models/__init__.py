"""Preference models, one file each: from counted judgments to strengths. A new file with a :class:`Model` adds one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rankdev._common.arrays import Floats
from rankdev.preferences.pairs import Pairs

if TYPE_CHECKING:
    from rankdev.preferences.judgments import Preferences
    from rankdev.preferences.models.crowd_bt import WorkerQuality


@dataclass(frozen=True)
class Options:
    """Options of a fit."""

    ridge: float = 0.1
    ties: str = "auto"
    worker_prior: tuple[float, float] = (2.0, 1.0)
    alpha: float = 0.05


@dataclass(frozen=True, eq=False)
class Fitted:
    """Strengths, the counts they were fitted to, and the curvature at the maximum.

    ``curvature`` is the information in each pair and None where a model has no likelihood; ``penalty`` that of
    each item's regulariser; ``coupling`` K the part −K Kᵀ of the information that is lost to other parameters;
    ``residual`` the difference of each judgment from what the strengths predict for its pair's first item.
    """

    strength: Floats
    pairs: Pairs
    iterations: int
    converged: bool
    curvature: Floats | None = None
    penalty: Floats = field(default_factory=lambda: np.zeros(0))
    residual: Floats | None = None
    coupling: Any = None
    tie_rate: float = 0.0
    workers: WorkerQuality | None = None


class Model(ABC):
    """A model of strengths. A subclass in this folder is registered by its ``name``."""

    name: ClassVar[str]
    about: ClassVar[str]
    ties: ClassVar[tuple[str, ...]] = ("half",)  # how it can model ties, the best first
    needs_inference_fit: ClassVar[bool] = False  # its own standard errors are too small to test by

    @abstractmethod
    def fit(self, preferences: Preferences, pairs: Pairs, options: Options) -> Fitted:
        """Fit to ``pairs``, which count the judgments by ``preferences.weight``."""


for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

_PREFERRED = ("bradley-terry",)  # the default comes first in help and messages
MODELS: dict[str, Model] = {
    model.name: model()
    for model in sorted(Model.__subclasses__(), key=lambda model: (model.name not in _PREFERRED, model.name))
}

__all__ = ["MODELS", "Fitted", "Model", "Options"]
