"""Measures, one file a family. A new one is imported here; its dataclass declares all else."""

from rankdev.measures.base import REGISTRY, Measure
from rankdev.measures.compat import Compat
from rankdev.measures.correlation import Rho, Tau
from rankdev.measures.err import ERR
from rankdev.measures.ndcg import NDCG
from rankdev.measures.precision import AP, RBP, RR, P, R
from rankdev.measures.rdq import RDQ
from rankdev.measures.syntax import PAPER, parse, parse_all

__all__ = [
    "AP",
    "ERR",
    "NDCG",
    "PAPER",
    "RBP",
    "RDQ",
    "REGISTRY",
    "RR",
    "Compat",
    "Measure",
    "P",
    "R",
    "Rho",
    "Tau",
    "parse",
    "parse_all",
]
