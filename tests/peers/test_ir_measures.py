"""ir_measures: the same text is the same number where it is right, and where it is not."""

from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankdev as rd
from tests.common import draws

ir_measures = pytest.importorskip("ir_measures")


def theirs(qrels, run, text):
    measure = ir_measures.parse_measure(text)
    return {entry.query_id: entry.value for entry in ir_measures.iter_calc([measure], qrels, run)}


@st.composite
def cases(draw):
    """One query with positive scores, no two equal."""
    reference = draw(draws.references())
    pool = [*reference, *draws.STRANGERS]
    items = draw(st.lists(st.sampled_from(pool), min_size=1, unique=True))
    grades = {item: round(2 * grade) for item, grade in reference.grades.items()}
    return {"1": grades}, {"1": {item: float(100 - i) for i, item in enumerate(items)}}


@draws.quick
@given(
    cases(),
    st.sampled_from(["BPM(max_rel=5)@3", "BPM(T=0.5,max_rel=9)@20", "INST(max_rel=9)", "INST(T=2.5,max_rel=5)"]),
)
def test_gain_that_users_want_is_that_of_cwl_eval(case, text):
    qrels, run = case
    got = rd.evaluate(rd.References.from_grades(qrels), {"a": run}, text).values.item()
    assert got == pytest.approx(theirs(qrels, run, text)["1"], abs=1e-12)


@draws.quick
@given(cases(), st.sampled_from([1, 3, 20]))
def test_what_their_measures_make(case, k):
    """F1 is SetF of k items, R_cap (of BEIR) is R over another number, DCG is SDCG of cwl_eval before it is scaled."""
    qrels, run = case
    filled = dict([*run["1"].items(), *((f"more {i}", -i) for i in range(k))][:k])
    relevant = theirs(qrels, run, "NumRel")["1"]
    expected = {
        f"F1@{k}": theirs(qrels, {"1": filled}, "SetF")["1"],
        f"R_cap@{k}": theirs(qrels, run, f"R@{k}")["1"] * relevant / min(k, relevant),
        f"DCG@{k}": theirs(qrels, run, f"SDCG(max_rel=9)@{k}")["1"] * sum(9 / log2(i + 2) for i in range(k)),
    }
    scores = rd.evaluate(rd.References.from_grades(qrels), {"a": run}, [*expected])
    assert scores.values.ravel().tolist() == pytest.approx([*expected.values()], abs=1e-12)


OBJECTS = [
    ir_measures.nDCG @ 5,
    ir_measures.NDCG,
    ir_measures.nDCG(gains={0: 0, 1: 3, 2: 1, 5: 100}) @ 5,
    ir_measures.nDCG(judged_only=True) @ 3,
    ir_measures.MAP @ 5,
    ir_measures.AP(rel=2, judged_only=True),
    ir_measures.MRR,
    ir_measures.RR @ 2,
    ir_measures.RR(rel=3),
    ir_measures.P(rel=2) @ 5,
    ir_measures.Precision @ 3,
    ir_measures.Recall @ 5,
    ir_measures.R(judged_only=True) @ 3,
    ir_measures.Rprec,
    ir_measures.RPrec(rel=2, judged_only=True),
    ir_measures.Bpref,
    ir_measures.BPref(rel=2),
    ir_measures.infAP,
    ir_measures.Judged @ 3,
    ir_measures.Judged @ 50,
    ir_measures.Success @ 2,
    ir_measures.Success(rel=2) @ 5,
    ir_measures.IPrec @ 0.1,
    ir_measures.IPrec(rel=2) @ 0.5,
    ir_measures.SetP,
    ir_measures.SetRelP,
    ir_measures.SetP(rel=2, judged_only=True),
    ir_measures.SetR(rel=2),
    ir_measures.SetF,
    ir_measures.SetF(beta=2.0, rel=2),
    ir_measures.SetAP,
    ir_measures.NumRet,
    ir_measures.NumRelRet,
    ir_measures.NumRel,
    ir_measures.NumQ,
    ir_measures.RBP(p=0.5, rel=1),
]


@st.composite
def judged_cases(draw):
    """Whole grades from −1 on (at least one above it) and scores, no two equal."""
    pool = [f"d{i}" for i in range(12)]
    grades = draw(st.dictionaries(st.sampled_from(pool), st.integers(-1, 5), min_size=1))
    items = draw(st.lists(st.sampled_from(pool), min_size=1, unique=True))
    judged = {**grades, items[0]: max(0, grades.get(items[0], 0))}  # pytrec_eval does not survive without
    return {"1": judged}, {"1": {item: float(100 - i) for i, item in enumerate(draw(st.permutations(items)))}}


@draws.quick
@given(judged_cases())
def test_measures_of_ir_measures_are_understood_as_they_are(case):
    """Each alone: there NumRet counts judged items only where another measure asks for judged_only."""
    qrels, run = case
    scores = rd.evaluate(rd.References.from_grades(qrels), {"a": run}, OBJECTS)
    expected = {measure: next(ir_measures.iter_calc([measure], qrels, run)).value for measure in OBJECTS}
    got = {measure: scores.of(str(measure)).item() for measure in OBJECTS}
    assert got == pytest.approx(expected, abs=1e-12)


AGGREGATED = [ir_measures.NumRet, ir_measures.NumRelRet, ir_measures.NumRel, ir_measures.NumQ, ir_measures.P @ 5]


@draws.quick
@given(st.lists(judged_cases(), min_size=1, max_size=4))
def test_counts_are_added_up_over_queries_and_others_averaged(several):
    qrels, run = ({str(i): case[side]["1"] for i, case in enumerate(several)} for side in (0, 1))
    scores = rd.evaluate(rd.References.from_grades(qrels), {"a": run}, AGGREGATED)
    expected = {str(rd.parse(m)): value for m, value in ir_measures.calc_aggregate(AGGREGATED, qrels, run).items()}
    assert scores.mean().drop("system").row(0, named=True) == pytest.approx(expected, abs=1e-12)


def test_their_named_tuples_and_iterators_are_taken_as_they_are():
    qrels = [ir_measures.Qrel("q1", "d1", 3), ir_measures.Qrel("q1", "d2", 0), ir_measures.Qrel("q2", "d1", 1)]
    run = [ir_measures.ScoredDoc("q1", "d2", 2.0), ir_measures.ScoredDoc("q1", "d1", 1.0)]
    expected = rd.evaluate(
        rd.References.from_grades({"q1": {"d1": 3, "d2": 0}, "q2": {"d1": 1}}),
        {"a": {"q1": {"d2": 2.0, "d1": 1.0}}},
        ["nDCG", "RR"],
    )
    for references, entries in ((qrels, run), (iter(qrels), iter(run))):
        got = rd.evaluate(references, {"a": entries}, ["nDCG", "RR"])
        assert got.values.tolist() == expected.values.tolist()
    assert rd.References.from_grades(qrels) == rd.References.of(qrels)
