"""Measures, one file per family. A new one is imported here; its dataclass declares all else."""

from rankdev.measures.base import REGISTRY, Measure
from rankdev.measures.compat import Compat
from rankdev.measures.correlation import Rho, Tau, TauAP
from rankdev.measures.counts import NumQ, NumRel, NumRet
from rankdev.measures.err import ERR, NERR
from rankdev.measures.judged import Bpref, InfAP, Judged
from rankdev.measures.ndcg import NDCG
from rankdev.measures.overlap import RBA, RBO
from rankdev.measures.plugins import load_file, load_installed
from rankdev.measures.precision import AP, RR, IPrec, P, R, Rprec, Success
from rankdev.measures.rbp import RBP
from rankdev.measures.rdq import RDQ
from rankdev.measures.sets import SetAP, SetF, SetP, SetR
from rankdev.measures.syntax import PAPER, parse, parse_all

__all__ = [
    "AP",
    "ERR",
    "NDCG",
    "NERR",
    "PAPER",
    "RBA",
    "RBO",
    "RBP",
    "RDQ",
    "REGISTRY",
    "RR",
    "Bpref",
    "Compat",
    "IPrec",
    "InfAP",
    "Judged",
    "Measure",
    "NumQ",
    "NumRel",
    "NumRet",
    "P",
    "R",
    "Rho",
    "Rprec",
    "SetAP",
    "SetF",
    "SetP",
    "SetR",
    "Success",
    "Tau",
    "TauAP",
    "load_file",
    "load_installed",
    "parse",
    "parse_all",
]
