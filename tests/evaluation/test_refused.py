"""What scoring refuses: the kind of the error, and what it names."""

import pytest

import rankdev as rd
from rankdev.measures import REGISTRY
from tests.common.claims import EVERY
from tests.raising import raises

REFS = {"q": ["d1", "d2"]}
EMPTY = rd.References.from_grades({"q": {"d1": 0}})
NOT_SUMS = ("Tau@2", "TauAP", "Rho@2", "SetP", "SetF", "SetAP", "IPrec@0.1", "Bpref", "infAP", "RBO(p=0.9)@5", "NumRet")
WITHOUT_MEANS = [name for name, kind in REGISTRY.items() if not kind.averages_ties]


def evaluated(measure="RR", references=REFS, runs=None, **options):
    return lambda: rd.evaluate(references, {"a": REFS} if runs is None else runs, measure, **options)


def lost(measure):
    return lambda: rd.losses(REFS, {"a": REFS}, measure)


def explained(measure):
    return lambda: rd.explain(rd.Reference({"d1": 1, "d2": 2}), ["d1", "d2"], measure=measure)


@pytest.mark.parametrize(
    ("call", "kind", "fields"),
    [
        (evaluated(runs={"a": {"q9": ["d1"]}}), "no-shared-query", {"system": "a", "one": "q9", "other": "q"}),
        (evaluated(runs=rd.Run.from_lists(REFS)), "nameless-runs", {}),
        (evaluated(runs=3), "nameless-runs", {}),
        (evaluated(runs={}), "no-runs", {}),
        (evaluated(runs={1: REFS}), "not-a-system", {}),
        (evaluated(runs={"": REFS}), "not-a-system", {}),
        (evaluated(empty="drop"), "not-a-choice", {"name": "empty", "value": "drop"}),
        (evaluated(references=EMPTY, empty="skip"), "all-empty", {}),
        (evaluated(like="trec_eval"), "not-a-choice", {"name": "like", "near": "trec_eval-10"}),
        *((evaluated(["RR", text]), "no-grades", {"measure": text}) for text in ("nDCG@5", "ERR@5", "P(rel=2)@5")),
        *(
            (evaluated(like="trec_eval-10", **{name: value}), "contradicts-like", {"name": name, "value": value})
            for name, value in (("ties", "ascending"), ("order", "rank"), ("empty", "skip"), ("ties", "expected"))
        ),
        *(
            (evaluated(next(text for text in EVERY if rd.parse(text).name == name), ties="expected"), kind, {})
            for name, kind in zip(WITHOUT_MEANS, ["no-mean-of-ties"] * 99, strict=False)
        ),
        (lambda: rd.score(["d1"], ["d1"], "Judged@5"), "no-nonrelevant", {}),
        (lambda: rd.bounds(REFS, {"a": REFS}, "RDQ@5"), "no-nonrelevant", {}),
        *((lost(text), "not-a-sum", {"measure": text}) for text in ("Tau@5", "SetP")),
        (lost("RDQ(judged_only=True)@5"), "moves-items", {}),
        *((explained(text), "not-a-sum", {"measure": text}) for text in NOT_SUMS),
        *((lambda items=items: rd.score(["d1"], items), "not-a-ranking", {}) for items in ("d1", 5, None)),
        (lambda: rd.score(["d1"], [1.5]), "not-an-id", {}),
    ],
)
def test_what_is_refused(call, kind, fields):
    with raises(kind, rd.RankdevError, **fields):
        call()
