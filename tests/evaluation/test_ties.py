"""Ties: which can change a measure, and means over all orders of equal scores, against every order tried."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankdev as rd
from rankdev import MeasureError
from rankdev.data.options import ReadOptions
from rankdev.data.rows import of_numbers
from rankdev.data.run import Run
from rankdev.evaluation import join
from rankdev.measures import match as tied
from tests.common import draws, plain
from tests.common.claims import EVERY
from tests.common.examples import examples
from tests.common.plain import Query
from tests.raising import kinds, noted, raises

AVERAGED = [text for text in EVERY if rd.parse(text).averages_ties and "judged_only" not in text]
EXACT = [  # nothing is counted that cannot change them
    *("P@2", "P(rel=2)@3", "R@2", "R@9", "R", "Rprec", "AP@2", "AP", "RR@3", "RR(rel=2)", "RBP(p=0.8)@2"),
    *("Judged@2", "RBP(p=0.8,gains=relative)@3", "nDCG(gains=binary)@2", "nDCG@3"),
    *("RDQ(weights=[1,0.5,0.3,0.2],tail=0.1)@2", "ERR@3", "SetP", "SetR", "SetF", "SetAP", "NumRet"),
    *("NumRel", "NumQ"),
]
OTHERS = [
    *("Success@2", "Compat(p=0.9)@3", "RBO(p=0.9)@3", "Bpref", "infAP", "RDQ", "nERR@2"),
    *("IPrec@0.5", "Rprec(judged_only=True)"),
]


def orders(scores):
    """Yield all rankings that the scores allow."""
    levels = [
        [item for item in scores if scores[item] == level] for level in sorted(set(scores.values()), reverse=True)
    ]
    for parts in product(*map(permutations, levels)):
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


def check(references, run, texts):
    scores = rd.evaluate(references, {"a": run}, texts, ties="expected")
    expected = [
        np.mean(
            [
                [plain.score(rd.parse(text), draws.query(reference, order)) for text in texts]
                for order in orders(run.get(name, {}))
            ],
            axis=0,
        )
        for name, reference in references.items()
    ]
    np.testing.assert_allclose(scores.values[0], expected, rtol=0, atol=1e-12)


@st.composite
def worlds(draw):
    """Up to three queries, each with up to five items of few scores: ties at the top, at the end and across cutoffs."""
    references = {f"q{i}": draw(draws.references(empty=True)) for i in range(draw(st.integers(1, 3)))}
    run = {}
    for name in draw(st.permutations(list(references))):
        pool = st.sampled_from([*references[name], *draws.STRANGERS])
        run[name] = draw(st.dictionaries(pool, st.sampled_from([3.0, 2.0, 1.0]), min_size=1, max_size=5))
    return references, run


few = examples(50)


@few
@given(worlds())
def test_means_over_every_order(world):
    check(*world, AVERAGED)


@pytest.mark.parametrize("cells", [1, 7])
def test_blocks_change_nothing(monkeypatch, cells):
    monkeypatch.setattr(join, "BLOCK_CELLS", cells)
    monkeypatch.setattr(tied, "CELLS", cells)
    examples(15)(given(worlds())(lambda world: check(*world, AVERAGED)))()


@few
@given(worlds(), st.integers(1, 4))
def test_what_is_cut_keeps_whole_ties(world, depth):
    references, run = world
    texts = [f"{name}@{depth}" for name in ("RDQ", "nDCG", "RBP", "P", "R", "RR", "AP", "Success", "Judged")]
    check(references, run, texts)
    read = ReadOptions(ties="expected", depth=depth)
    first = Run.of_rows(of_numbers(run, "score", ""), read)
    whole, cut = (rd.evaluate(references, {"a": source}, texts, ties="expected") for source in (run, first))
    np.testing.assert_array_equal(cut.values, whole.values)


def test_a_run_keeps_the_rule():
    run = rd.Run.from_scores({"q": {"a": 1.0, "b": 1.0}}, ties="expected")
    assert run["q"] == ["b", "a"]  # as shown: the higher id first
    assert rd.evaluate({"q": ["a"]}, {"s": run}, "P@1").values.item() == 0.5
    assert rd.evaluate({"q": ["a"]}, {"s": run}, "P@1", ties="ascending").values.item() == 1.0
    with raises("no-mean-of-ties", MeasureError, measure="ERR@5"):
        rd.evaluate({"q": ["a"]}, {"s": run}, "ERR@5")
