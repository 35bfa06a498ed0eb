"""The one rule for the order of a run: what it goes by, and how equal scores are told apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from rankdev.arguments import check_choice
from rankdev.arrays import Floats

Order = Literal["score", "rank"]
Ties = Literal["trec_eval", "descending", "ascending", "given"]


@dataclass(frozen=True)
class TieRule:
    """How equal scores are told apart: compared in ``single`` precision or not, then by item id, or not at all."""

    summary: str
    single: bool
    names_descend: bool | None


TIE_RULES: dict[Ties, TieRule] = {
    "trec_eval": TieRule("as trec_eval 9: single precision, higher id first", single=True, names_descend=True),
    "descending": TieRule("as trec_eval 10: double precision, higher id first", single=False, names_descend=True),
    "ascending": TieRule("double precision, lower id first", single=False, names_descend=False),
    "given": TieRule("double precision, in the order of the source", single=False, names_descend=None),
}


@dataclass(frozen=True)
class Ordering:
    """How a run is put in order: by ``score`` (high first) or by the ``rank`` column.

    Equal scores are told apart by ``ties``, one of :data:`TIE_RULES`.
    """

    order: Order = "score"
    ties: Ties = "trec_eval"

    def __post_init__(self) -> None:
        for name, known in (("order", get_args(Order)), ("ties", tuple(TIE_RULES))):
            check_choice(name, getattr(self, name), known)

    def keys(self, values: Floats) -> Floats:
        """Sort keys of scores or ranks, the highest first."""
        if self.order == "rank":
            return -values
        if not TIE_RULES[self.ties].single:
            return values
        with np.errstate(over="ignore"):
            return values.astype(np.float32).astype(np.float64)

    @property
    def names_descend(self) -> bool | None:
        """Whether ties put the higher item id first; None where ids do not matter."""
        return None if self.order == "rank" else TIE_RULES[self.ties].names_descend


TREC_EVAL = Ordering()
