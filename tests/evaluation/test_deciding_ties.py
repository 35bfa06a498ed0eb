"""Which ties decide: those that can change a measure in another order, and no others."""

from itertools import permutations, product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import rankdev as rd
from tests.common import plain
from tests.common.examples import examples
from tests.common.plain import Query
from tests.raising import kinds, noted

EXACT = [  # nothing is counted that cannot change them
    *(
        "P@2",
        "P(rel=2)@3",
        "R@2",
        "R@9",
        "R",
        "Rprec",
        "AP@2",
        "AP",
        "RR@3",
        "RR(rel=2)",
        "RBP(p=0.8)@2",
        "Judged@2",
        "RBP(p=0.8,gains=relative)@3",
    ),
    *("nDCG(gains=binary)@2", "nDCG@3", "RDQ(weights=[1,0.5,0.3,0.2],tail=0.1)@2", "ERR@3", "SetP", "SetR", "SetF"),
    *("SetAP", "NumRet", "NumRel", "NumQ"),
]
OTHERS = [
    "Success@2",
    "Compat(p=0.9)@3",
    "RBO(p=0.9)@3",
    "Bpref",
    "infAP",
    "RDQ",
    "nERR@2",
    "IPrec@0.5",
    "Rprec(judged_only=True)",
]


def orders(scores):
    """Yield all lists that do not contradict the scores."""
    levels = [
        [item for item in scores if scores[item] == level] for level in sorted(set(scores.values()), reverse=True)
    ]
    for parts in product(*(permutations(level) for level in levels)):
        yield [item for part in parts for item in part]


@examples(160)
@given(st.data(), st.sampled_from(EXACT) | st.sampled_from(OTHERS))
def test_only_ties_that_can_change_the_measure(data, text):
    grades = {
        f"d{i}": grade
        for i, grade in enumerate(data.draw(st.lists(st.sampled_from([3, 1, 1]), min_size=1, max_size=3)))
    }
    grades |= {"n1": 0, "n2": 0} if data.draw(st.booleans()) else {"n1": 0}
    items = data.draw(st.lists(st.sampled_from([*grades, "n2", "u1", "u2"]), min_size=1, max_size=5, unique=True))
    scores = {item: data.draw(st.sampled_from([1.0, 2.0, 3.0])) for item in items}
    reference = rd.References.from_grades({"q": grades})
    found = rd.evaluate(reference, {"a": {"q": scores}}, text).coverage[0]
    good = dict(reference["q"])
    known = {item: float(grades[item]) for item in good}
    poor = {item: 0.0 for item in grades if item not in good}
    measure = rd.parse(text)
    values = [plain.score(measure, Query(good, run, known, poor)) for run in orders(scores)]
    changes = np.nanmax(values) - np.nanmin(values) > 1e-12
    assert found.tied == found.tied_by[str(measure)]
    if text in EXACT:
        assert found.tied == changes
    else:
        assert found.tied >= changes


def test_each_measure_is_counted_alone():
    references = {"q": ["d1", "d2"], "r": ["d1"]}
    run = {"q": {"d1": 1.0, "x": 1.0, "d2": 0.5}, "r": {"d1": 3.0, "y": 2.0, "x": 2.0}}
    scores = rd.evaluate(references, {"s": run}, ["RDQ@2", "P@2", "P@1", "SetP"])
    assert dict(scores.coverage[0].tied_by) == {"RDQ@2": 1, "P@2": 0, "P@1": 1, "SetP": 0}
    assert kinds(scores.remarks) == ["tied"]
    noted(scores.remarks, "tied", runs=(("s", 1),), count=1, queries=2, rules=("trec_eval",))
    assert scores.select(measures=["P@2", "SetP"]).remarks == ()
    assert scores.select(measures=["P@1"]).remarks == scores.remarks
