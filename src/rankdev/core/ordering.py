"""The order of a run: by score or rank, and how ties are broken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from rankdev._common.checks import check_choice
from rankdev.errors import UsageError

if TYPE_CHECKING:
    from rankdev._common.arrays import Floats


Order = Literal["score", "rank"]
Ties = Literal["trec_eval", "descending", "ascending", "given", "expected"]


@dataclass(frozen=True)
class TieRule:
    """How ties are broken: scores compared in ``single`` precision or not, then by item id, or not at all.

    Where the rule is ``open`` ties are not broken: measures return their mean over all orders, and ids only order what
    is shown.
    """

    summary: str
    single: bool
    names_descend: bool | None
    open: bool = False


TIE_RULES: dict[Ties, TieRule] = {
    "trec_eval": TieRule("as pytrec_eval: single precision, higher id first", single=True, names_descend=True),
    "descending": TieRule("as trec_eval 10: double precision, higher id first", single=False, names_descend=True),
    "ascending": TieRule("double precision, lower id first", single=False, names_descend=False),
    "given": TieRule("double precision, in the order of the source", single=False, names_descend=None),
    "expected": TieRule("double precision, the mean over all orders", single=False, names_descend=True, open=True),
}


@dataclass(frozen=True)
class Ordering:
    """How a run is put in order: by ``score`` (high first) or by the ``rank`` column.

    Ties are broken by ``ties``, one of :data:`TIE_RULES`.
    """

    order: Order = "score"
    ties: Ties = "trec_eval"

    def __post_init__(self) -> None:
        for name, known in (("order", get_args(Order)), ("ties", tuple(TIE_RULES))):
            check_choice(name, getattr(self, name), known)

    def keys(self, values: Floats) -> Floats:
        """Return sort keys of scores or ranks, the highest first."""
        if self.order == "rank":
            return -values
        if not TIE_RULES[self.ties].single:
            return values
        import numpy as np  # the command line names rules before it has anything to order

        with np.errstate(over="ignore"):
            return values.astype(np.float32).astype(np.float64)

    @property
    def leaves_ties_open(self) -> bool:
        """Whether ties are not broken."""
        return leaves_open(self.ties)

    @property
    def names_descend(self) -> bool | None:
        """Whether ties put the higher item id first; None where ids do not matter."""
        return None if self.order == "rank" else TIE_RULES[self.ties].names_descend


def leaves_open(ties: Ties | None) -> bool:
    """Return whether a rule does not break ties; a rule that does not exist is refused where it is used."""
    return isinstance(ties, str) and ties in TIE_RULES and TIE_RULES[ties].open


def check_one_order(ties: Ties | None, what: str) -> None:
    """Refuse a rule that does not break ties, for what needs a single order."""
    if leaves_open(ties):
        raise UsageError("needs-order", what=what, ties=ties)


TREC_EVAL = Ordering()
