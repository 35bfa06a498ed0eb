"""Which measures are tried, and which laws of the definitions page each claims.

Every measure here also keeps the laws that all claim: text → measure → text, order inside a tier, items below the
cutoff, a missing query. ``grades`` marks those that need graded references, ``judged`` those that need to know which
items were judged nonrelevant.

unit        a score in [0, 1]
count       a whole number
correlation a score in [−1, 1], not available (NaN) unless run and reference hold the same items
ideal       an ideal ranking scores 1
only-ideal  no other ranking does
stranger    replacing an item outside the reference by an unretrieved reference item never hurts
better      replacing a reference item by a better unretrieved one never hurts
"""

_FROZEN = (  # laws, and the measures that claim them, in the order in which the frozen numbers draw from them
    (
        "unit ideal only-ideal stranger",
        "RDQ@5 RDQ(alpha=4)@5 RDQ(lam=0)@3 RDQ RDQ(weights=stepped)@12 RDQ(weights=carousel)@5 "
        "RDQ(weights=uniform)@4 RDQ(weights=[1,0.2,0.2,0.1,0.1])@5 RDQ(weights=[1,0.5],tail=0.1)@10",
    ),
    (
        "unit ideal stranger better",
        "RDQ(penalty=m1)@5 RDQ(penalty=m1,weights=uniform)@4 RDQ(penalty=m1) nDCG(gains=binary)@5 "
        "nDCG(gains=inverse,dcg=exp-log2)@5 nDCG(gains=linear,dcg=exp-log2)@5 nDCG(gains=linear)",
    ),
    ("grades unit ideal stranger better", "nDCG@5 nDCG nDCG(dcg=exp-log2)@5"),
    ("grades unit stranger better", "ERR@5 ERR(max_grade=5)"),
    ("unit stranger better", "P@5 R@5"),
    ("unit ideal stranger better", "R RR@3 RR"),
    ("unit stranger better", "AP@5"),
    ("unit ideal stranger better", "AP"),
    ("unit stranger better", "RBP(p=0.9)@5 RBP"),
    ("grades unit stranger better", "P(rel=2)@5 R(rel=2)@5 RR(rel=2)@5 AP(rel=2)@5 RBP(p=0.5,rel=2)@5"),
    ("unit ideal stranger better", "Compat(p=0.95)@5 Compat(p=0.9,depth=1000) Compat(p=0.8,depth=3)@5"),
    ("unit stranger better", "Compat(p=0.8,depth=30)@5"),
    ("judged unit ideal", "RDQ(judged_only=True)@5 RDQ(penalty=m1,judged_only=True)"),
    ("grades judged unit ideal", "nDCG(judged_only=True)@5"),
    ("judged unit ideal", "nDCG(gains=binary,judged_only=True)"),
    ("grades unit stranger", "nDCG(gains={1:0.5,2:10,3:2})@5 nDCG(gains={0.5:0,4:100},dcg=exp-log2)"),
    ("grades unit stranger better", "RBP(p=0.5,gains=graded,max_grade=4)@5 RBP(p=0.9,gains=graded,max_grade=5,rel=2)"),
    ("judged unit", "RBP(p=0.9,judged_only=True)@5"),
    ("judged unit ideal", "AP(judged_only=True)"),
    ("grades judged unit", "AP(rel=2,judged_only=True)@5"),
    ("judged unit", "P(judged_only=True)@3"),
    ("grades unit ideal stranger", "nERR@5 nERR(max_grade=5)"),
    ("unit ideal stranger better", "Success@1"),
    ("grades unit stranger better", "Success(rel=2)@3"),
    ("unit ideal stranger better", "Rprec"),
    ("grades unit stranger better", "Rprec(rel=2)"),
    ("unit ideal stranger better", "IPrec@0 IPrec@0.1"),
    ("grades unit stranger better", "IPrec(rel=2)@0.55"),
    ("unit ideal stranger better", "IPrec@1 IPrec(rounding=nearest)@0.3"),
    ("grades unit stranger better", "IPrec(rel=2,rounding=nearest)@0.5"),
    ("unit ideal stranger better", "IPrec11"),
    ("grades unit stranger better", "IPrec11(rel=2,rounding=nearest)"),
    ("unit ideal stranger better", "GMAP"),
    ("unit stranger better", "SetP"),
    ("unit ideal stranger better", "SetP(relative=True)"),
    ("grades judged unit", "SetP(rel=2,judged_only=True)"),
    ("unit ideal stranger better", "SetR"),
    ("grades unit stranger better", "SetR(rel=2)"),
    ("unit stranger better", "SetF SetF(beta=2)"),
    ("grades unit stranger better", "SetF(beta=0.5,rel=2)"),
    ("unit stranger better", "SetAP"),
    ("count", "NumRet"),
    ("grades count", "NumRet(rel=2)"),
    ("count", "NumRel"),
    ("grades count", "NumRel(rel=2)"),
    ("count", "NumQ"),
    ("grades unit stranger better", "RBP(p=0.9,gains=relative) RBP(p=0.5,gains=relative,rel=2)@5"),
    ("judged unit", "Unjudged@3 Judged@3 Judged"),
    ("judged unit ideal", "Bpref"),
    ("grades judged unit", "Bpref(rel=2)"),
    ("judged unit", "infAP"),
    ("grades judged unit", "infAP(rel=2)"),
    ("unit", "RBO(p=0.9) RBO(p=0.5,ties=w)@5 RBO(p=0.8,ties=b)@5 RBO(p=0.95,ties=b)"),
    ("unit stranger better", "RBA(p=0.9) RBA(p=0.6)@5"),
    ("correlation", "TauAP@5 TauAP TauAP(ties=b) Tau@5 Tau Rho@5 Rho"),
)
_OTHERS = (
    ("unit ideal stranger better", "R_cap@3"),
    ("grades unit stranger better", "R_cap(rel=2)@2"),
    ("unit stranger better", "F1@3"),
    ("judged unit", "F1(judged_only=True)@4"),
    ("grades better", "DCG@3 DCG(dcg=exp-log2)"),
    ("better", "DCG(gains=binary)@5"),
    ("grades unit", "BPM(max_rel=3)@3 BPM(T=0.5,max_rel=5)@20 INST(max_rel=5) INST(T=2.5,min_rel=1,max_rel=4)"),
)
FROZEN = {text: laws for laws, texts in _FROZEN for text in texts.split()}
CLAIMS = FROZEN | {text: laws for laws, texts in _OTHERS for text in texts.split()}


def claiming(law: str) -> list[str]:
    return [text for text, laws in CLAIMS.items() if law in laws.split()]


EVERY = list(CLAIMS)
UNGRADED = [text for text in EVERY if text not in claiming("grades")]
