"""One ranking scored by RDQ, with its parameters as keywords."""

import rankdev as rd
from rankdev.measures.rdq import RDQ


def rdq(reference, ranking, k=None, **parameters):
    return rd.score(reference, ranking, RDQ(cutoff=k, **parameters))
