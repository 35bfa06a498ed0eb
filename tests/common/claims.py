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

CLAIMS = {
    "RDQ@5": "unit ideal only-ideal stranger",
    "RDQ(alpha=4)@5": "unit ideal only-ideal stranger",
    "RDQ(lam=0)@3": "unit ideal only-ideal stranger",
    "RDQ": "unit ideal only-ideal stranger",
    "RDQ(weights=stepped)@12": "unit ideal only-ideal stranger",
    "RDQ(weights=carousel)@5": "unit ideal only-ideal stranger",
    "RDQ(weights=uniform)@4": "unit ideal only-ideal stranger",
    "RDQ(weights=[1,0.2,0.2,0.1,0.1])@5": "unit ideal only-ideal stranger",
    "RDQ(weights=[1,0.5],tail=0.1)@10": "unit ideal only-ideal stranger",
    "RDQ(penalty=m1)@5": "unit ideal stranger better",
    "RDQ(penalty=m1,weights=uniform)@4": "unit ideal stranger better",
    "RDQ(penalty=m1)": "unit ideal stranger better",
    "nDCG(gains=binary)@5": "unit ideal stranger better",
    "nDCG(gains=inverse,dcg=exp-log2)@5": "unit ideal stranger better",
    "nDCG(gains=linear,dcg=exp-log2)@5": "unit ideal stranger better",
    "nDCG(gains=linear)": "unit ideal stranger better",
    "nDCG@5": "grades unit ideal stranger better",
    "nDCG": "grades unit ideal stranger better",
    "nDCG(dcg=exp-log2)@5": "grades unit ideal stranger better",
    "ERR@5": "grades unit stranger better",
    "ERR(max_grade=5)": "grades unit stranger better",
    "P@5": "unit stranger better",
    "R@5": "unit stranger better",
    "R": "unit ideal stranger better",
    "RR@3": "unit ideal stranger better",
    "RR": "unit ideal stranger better",
    "AP@5": "unit stranger better",
    "AP": "unit ideal stranger better",
    "RBP(p=0.9)@5": "unit stranger better",
    "RBP": "unit stranger better",
    "P(rel=2)@5": "grades unit stranger better",
    "R(rel=2)@5": "grades unit stranger better",
    "RR(rel=2)@5": "grades unit stranger better",
    "AP(rel=2)@5": "grades unit stranger better",
    "RBP(p=0.5,rel=2)@5": "grades unit stranger better",
    "Compat(p=0.95)@5": "unit ideal stranger better",
    "Compat(p=0.9,depth=1000)": "unit ideal stranger better",
    "Compat(p=0.8,depth=3)@5": "unit ideal stranger better",
    "Compat(p=0.8,depth=30)@5": "unit stranger better",
    "RDQ(judged_only=True)@5": "judged unit ideal",
    "RDQ(penalty=m1,judged_only=True)": "judged unit ideal",
    "nDCG(judged_only=True)@5": "grades judged unit ideal",
    "nDCG(gains=binary,judged_only=True)": "judged unit ideal",
    "nDCG(gains={1:0.5,2:10,3:2})@5": "grades unit stranger",
    "nDCG(gains={0.5:0,4:100},dcg=exp-log2)": "grades unit stranger",
    "RBP(p=0.5,gains=graded,max_grade=4)@5": "grades unit stranger better",
    "RBP(p=0.9,gains=graded,max_grade=5,rel=2)": "grades unit stranger better",
    "RBP(p=0.9,judged_only=True)@5": "judged unit",
    "AP(judged_only=True)": "judged unit ideal",
    "AP(rel=2,judged_only=True)@5": "grades judged unit",
    "P(judged_only=True)@3": "judged unit",
    "nERR@5": "grades unit ideal stranger",
    "nERR(max_grade=5)": "grades unit ideal stranger",
    "Success@1": "unit ideal stranger better",
    "Success(rel=2)@3": "grades unit stranger better",
    "Rprec": "unit ideal stranger better",
    "Rprec(rel=2)": "grades unit stranger better",
    "IPrec@0": "unit ideal stranger better",
    "IPrec@0.1": "unit ideal stranger better",
    "IPrec(rel=2)@0.55": "grades unit stranger better",
    "IPrec@1": "unit ideal stranger better",
    "IPrec(rounding=nearest)@0.3": "unit ideal stranger better",
    "IPrec(rel=2,rounding=nearest)@0.5": "grades unit stranger better",
    "IPrec11": "unit ideal stranger better",
    "IPrec11(rel=2,rounding=nearest)": "grades unit stranger better",
    "GMAP": "unit ideal stranger better",
    "SetP": "unit stranger better",
    "SetP(relative=True)": "unit ideal stranger better",
    "SetP(rel=2,judged_only=True)": "grades judged unit",
    "SetR": "unit ideal stranger better",
    "SetR(rel=2)": "grades unit stranger better",
    "SetF": "unit stranger better",
    "SetF(beta=2)": "unit stranger better",
    "SetF(beta=0.5,rel=2)": "grades unit stranger better",
    "SetAP": "unit stranger better",
    "NumRet": "count",
    "NumRet(rel=2)": "grades count",
    "NumRel": "count",
    "NumRel(rel=2)": "grades count",
    "NumQ": "count",
    "RBP(p=0.9,gains=relative)": "grades unit stranger better",
    "RBP(p=0.5,gains=relative,rel=2)@5": "grades unit stranger better",
    "Unjudged@3": "judged unit",
    "Judged@3": "judged unit",
    "Judged": "judged unit",
    "Bpref": "judged unit ideal",
    "Bpref(rel=2)": "grades judged unit",
    "infAP": "judged unit",
    "infAP(rel=2)": "grades judged unit",
    "RBO(p=0.9)": "unit",
    "RBO(p=0.5,ties=w)@5": "unit",
    "RBO(p=0.8,ties=b)@5": "unit",
    "RBO(p=0.95,ties=b)": "unit",
    "RBA(p=0.9)": "unit stranger better",
    "RBA(p=0.6)@5": "unit stranger better",
    "TauAP@5": "correlation",
    "TauAP": "correlation",
    "TauAP(ties=b)": "correlation",
    "Tau@5": "correlation",
    "Tau": "correlation",
    "Rho@5": "correlation",
    "Rho": "correlation",
}


def claiming(law: str) -> list[str]:
    return [text for text, laws in CLAIMS.items() if law in laws.split()]


EVERY = list(CLAIMS)
UNGRADED = [text for text in EVERY if text not in claiming("grades")]
