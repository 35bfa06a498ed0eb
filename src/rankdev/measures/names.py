"""Names that people bring with them: those of trec_eval and ir_measures, as texts of our own."""

from __future__ import annotations

import re

ALIASES = {
    # ir_measures
    "MAP": "AP",
    "NDCG": "nDCG",
    "MRR": "RR",
    "Recall": "R",
    "Precision": "P",
    "BPref": "Bpref",
    "RPrec": "Rprec",
    "SetRelP": "SetP(relative=True)",
    "NumRelRet": "NumRet(rel=1)",
    # trec_eval
    "map": "AP",
    "ndcg": "nDCG",
    "recip_rank": "RR",
    "bpref": "Bpref",
    "set_P": "SetP",
    "set_recall": "SetR",
    "set_F": "SetF",
    "set_map": "SetAP",
    "set_relative_P": "SetP(relative=True)",
    "num_q": "NumQ",
    "num_ret": "NumRet",
    "num_rel": "NumRel",
    "num_rel_ret": "NumRet(rel=1)",
}
_CUT = {
    "ndcg_cut": "nDCG",
    "map_cut": "AP",
    "P": "P",
    "recall": "R",
    "success": "Success",
    "iprec_at_recall": "IPrec",
}
_TREC_EVAL = re.compile(rf"\s*({'|'.join(_CUT)})[_.]([0-9]+(?:\.[0-9]+)?)\s*")


def translated(text: str) -> str:
    """Write a trec_eval name with its cutoff, such as ``ndcg_cut_10`` or ``P.5``, as measure text; others stay.

    >>> translated("ndcg_cut_10"), translated("iprec_at_recall_0.10"), translated("RDQ@5")
    ('nDCG@10', 'IPrec@0.10', 'RDQ@5')
    """
    found = _TREC_EVAL.fullmatch(text)
    return f"{_CUT[found[1]]}@{found[2]}" if found else text
