"""Text ↔ measure."""

import pytest

import rankdev as rd
from rankdev import MeasureError
from rankdev.measures import parse_all
from rankdev.measures.graded import ERR, NDCG, RBP
from rankdev.measures.orders import Compat, Rho, Tau
from rankdev.measures.precision import AP, RR, P, R
from rankdev.measures.rdq import RDQ
from tests.raising import raises

DESIGN = {
    "RDQ@5": RDQ(cutoff=5, penalty="m2", alpha=1, lam=0.2, weights="vertical"),
    "RDQ(alpha=4)@5": RDQ(cutoff=5, alpha=4),
    "RDQ(penalty=m1)@5": RDQ(cutoff=5, penalty="m1"),
    "RDQ(weights=carousel)@5": RDQ(cutoff=5, weights="carousel"),
    "RDQ(weights=[1,0.2,0.2,0.1,0.1])@5": RDQ(cutoff=5, weights=(1, 0.2, 0.2, 0.1, 0.1)),
    "RDQ(weights=[1,0.5],tail=0.1)@10": RDQ(cutoff=10, weights=[1, 0.5], tail=0.1),
    "nDCG@10": NDCG(cutoff=10, gains="native", dcg="log2"),
    "nDCG(dcg=exp-log2)@10": NDCG(cutoff=10, dcg="exp-log2"),
    "nDCG(gains=binary)@5": NDCG(cutoff=5, gains="binary"),
    "nDCG(gains=inverse,dcg=exp-log2)@5": NDCG(cutoff=5, gains="inverse", dcg="exp-log2"),
    "nDCG(gains=linear,dcg=exp-log2)@5": NDCG(cutoff=5, gains="linear", dcg="exp-log2"),
    "AP@5": AP(cutoff=5),
    "RBP(p=0.9)@5": RBP(cutoff=5, p=0.9),
    "Compat(p=0.95)@5": Compat(cutoff=5, p=0.95),
    "Tau@5": Tau(cutoff=5),
    "Rho@5": Rho(cutoff=5),
    "P@5": P(cutoff=5),
    "R@100": R(cutoff=100),
    "RR@10": RR(cutoff=10),
    "ERR@10": ERR(cutoff=10),
}


@pytest.mark.parametrize("text", DESIGN)
def test_the_texts_of_the_design(text):
    assert rd.parse(text) == DESIGN[text]
    assert rd.parse(str(DESIGN[text])) == DESIGN[text]
    assert hash(rd.parse(text)) == hash(DESIGN[text])


@pytest.mark.parametrize(
    ("written", "label"),
    [
        ("RDQ(alpha=1,lam=0.2)@5", "RDQ@5"),
        (" RDQ ( lam = 0.3 , alpha = 4.0 ) @ 5 ", "RDQ(alpha=4,lam=0.3)@5"),
        ("RDQ(penalty='m1')@5", "RDQ(penalty=m1)@5"),
        ("RDQ()@5", "RDQ@5"),
        ("RDQ(weights=[1, .5], tail=1e-1)@5", "RDQ(weights=[1,0.5],tail=0.1)@5"),
        ("Compat(depth=1000.0,p=.9)", "Compat(p=0.9,depth=1000)"),
        ("nDCG(gains={0:0, 2:10, 1:1})@10", "nDCG(gains={2:10})@10"),
        ("AP(judged_only=True,rel=2)", "AP(rel=2,judged_only=True)"),
        ("AP(judged_only=False)", "AP"),
        ("IPrec(recall=.1)", "IPrec@0.1"),
        ("nDCG(cutoff=10)", "nDCG@10"),
        ("MAP@5", "AP@5"),
        ("MRR@10", "RR@10"),
        ("NDCG", "nDCG"),
        ("ndcg@10", "nDCG@10"),
        ("ndcg_cut_10", "nDCG@10"),
        ("P.5", "P@5"),
        ("iprec_at_recall_0.10", "IPrec@0.1"),
        ("SetRelP(rel=2)", "SetP(relative=True,rel=2)"),
        ("num_rel_ret", "NumRet(rel=1)"),
    ],
)
def test_one_measure_has_one_label(written, label):
    assert str(rd.parse(written)) == label


def test_paper_stands_for_thirteen_configurations():
    measures = parse_all("paper@5")
    assert len(measures) == 13
    assert {measure.cutoff for measure in measures} == {5}
    assert [measure.name for measure in measures].count("RDQ") == 3
    assert parse_all(["paper@5", "RDQ@5", "nDCG@10"]) == [*measures, rd.parse("nDCG@10")]


@pytest.mark.parametrize(
    ("text", "kind", "fields"),
    [
        ("RPB@5", "unknown-measure", {"name": "RPB", "near": "RBP@5"}),
        ("Ndcg@5", "unknown-measure", {"near": "nDCG@5"}),
        ("recal@5", "unknown-measure", {"near": "Recall@5"}),
        ("BPM@5", "bad-value", {"name": "max_rel"}),
        ("INST(T=1e300,max_rel=3)", "bad-value", {"name": "T", "value": 1e300}),  # whose square is no number
        ("Bpref@5", "no-cutoff", {"measure": "Bpref"}),
        ("IPrec", "needs-cutoff", {"what": "recall"}),
        ("IPrec@2", "bad-value", {"name": "recall", "value": 2, "expected": "a number from 0 to 1"}),
        ("IPrec(recall=0.1)@0.1", "given-twice", {"name": "recall"}),
        ("Success", "needs-cutoff", {"measure": "Success", "example": "Success@10"}),
        ("AP(judged_only=1)", "bad-value", {"name": "judged_only", "expected": "True or False"}),
        ("nDCG(gains={1:x})@5", "bad-value", {"name": "gains", "value": "{1:x}"}),
        ("nDCG(gains={1:-2})@5", "bad-gain", {"grade": 1, "gain": -2}),
        ("nDCG(gains={0:1})@5", "bad-gain", {"grade": 0, "gain": 1}),
        ("nDCG(gains=[1,2])@5", "not-a-choice", {"name": "gains", "value": (1, 2)}),
        ("RBP(max_grade=4)@5", "not-needed", {"name": "max_grade"}),
        ("RDQ(alhpa=4)@5", "not-a-choice", {"measure": "RDQ", "value": "alhpa", "near": "alpha"}),
        ("Tau(p=1)@5", "not-a-choice", {"measure": "Tau", "value": "p", "known": ("cutoff",)}),
        ("NumQ(p=1)", "not-a-choice", {"known": ("none",)}),
        ("RDQ(alpha=4,alpha=5)@5", "given-twice", {"name": "alpha"}),
        ("RDQ(alpha)@5", "not-parameters", {"value": "alpha"}),
        ("RDQ(alpha=4", "not-a-measure", {"value": "RDQ(alpha=4"}),
        ("RDQ@", "not-a-measure", {}),
        ("", "not-a-measure", {}),
        ("RDQ@0", "bad-value", {"name": "cutoff", "value": 0}),
        ("RDQ@-1", "bad-value", {"name": "cutoff", "value": "-1"}),
        ("RDQ@2.5", "bad-value", {"name": "cutoff", "value": "2.5"}),
        ("RDQ(alpha=0)@5", "bad-value", {"measure": "RDQ", "name": "alpha", "expected": "a number above 0"}),
        ("RDQ(alpha=nan)@5", "bad-value", {"name": "alpha"}),
        ("RDQ(alpha=many)@5", "bad-value", {"name": "alpha", "value": "many"}),
        ("RDQ(lam=-1)@5", "bad-value", {"name": "lam"}),
        ("RDQ(penalty=m3)@5", "not-a-choice", {"name": "penalty", "known": ("m1", "m2")}),
        ("RDQ(weights=carrousel)@5", "not-a-choice", {"name": "weights", "near": "carousel"}),
        ("RDQ(weights=5)@5", "bad-value", {"name": "weights", "value": 5}),
        ("RDQ(weights=[1,two])@2", "bad-value", {"name": "weights", "value": "[1,two]"}),
        ("RDQ(weights=[])@5", "bad-value", {"name": "weights", "value": ()}),
        ("RDQ(weights=[1,2])@2", "rising-weights", {"name": "weight 2", "value": 2, "before": 1}),
        ("RDQ(weights=[1,0])@2", "bad-value", {"name": "weight 2", "value": 0}),
        ("RDQ(weights=[1,0.5],tail=0.7)@5", "rising-weights", {"name": "tail"}),
        ("RDQ(weights=[1,0.5])@5", "short-weights", {"count": 2, "position": 5, "last": 0.5}),
        ("RDQ(tail=0.1)@5", "not-needed", {"name": "tail"}),
        ("nDCG(gains={1:1,1:2})@5", "bad-value", {"name": "gains", "value": "{1:1,1:2}"}),
        ("RBP(p=1)@5", "bad-value", {"name": "p", "expected": "a number between 0 and 1"}),
        ("Compat(p=0.9)", "needs-cutoff", {"what": "cutoff or depth"}),
        ("Compat(depth=2.5)", "bad-value", {"name": "depth"}),
        ("paper", "needs-cutoff", {"measure": "Compat"}),
    ],
)
def test_bad_texts_say_what_was_expected(text, kind, fields):
    with raises(kind, MeasureError, **fields):
        parse_all(text)


def test_commas_part_measures_outside_of_parentheses():
    assert [str(measure) for measure in parse_all("nDCG@10, AP,RDQ(alpha=4,weights=[1,0.5],tail=0.1)@5")] == [
        "nDCG@10",
        "AP",
        "RDQ(alpha=4,weights=[1,0.5],tail=0.1)@5",
    ]
    assert len(parse_all(["paper@5,AP@5", "map"])) == 14
    with raises("not-a-measure", MeasureError, value=""):
        parse_all("AP,")


@pytest.mark.parametrize("value", [2.5, "5", True, 0, None])
def test_cutoffs_in_python(value):
    if value is None:
        assert str(RDQ(cutoff=value)) == "RDQ"
    else:
        with raises("bad-value", MeasureError, name="cutoff", value=value):
            RDQ(cutoff=value)
