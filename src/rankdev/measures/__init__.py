"""Measures, one file per family. A new file with a :class:`Measure` in it is all that a new measure takes.

Names are imported for type checkers; files that are not named here are found.
"""

from importlib import import_module
from pkgutil import iter_modules

from rankdev._common.arrays import Floats
from rankdev.measures.base import REGISTRY, Measure, load_file, load_installed, parameter
from rankdev.measures.correlation import Rho, Tau, TauAP
from rankdev.measures.graded import ERR, NDCG, NERR, RBP
from rankdev.measures.incomplete import Bpref, InfAP, Judged
from rankdev.measures.match import Match
from rankdev.measures.overlap import RBA, RBO, Compat
from rankdev.measures.precision import AP, RR, IPrec, P, R, Rprec, Success
from rankdev.measures.rdq import RDQ
from rankdev.measures.sets import NumQ, NumRel, NumRet, SetAP, SetF, SetP, SetR
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
    "Floats",
    "IPrec",
    "InfAP",
    "Judged",
    "Match",
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
    "parameter",
    "parse",
    "parse_all",
]

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

globals().update({kind.__name__: kind for kind in REGISTRY.values()})
__all__.extend(kind.__name__ for kind in REGISTRY.values() if kind.__name__ not in __all__)
