"""Text ↔ measure."""

import pytest

import rankdev as rd
from rankdev import MeasureError, UsageError
from rankdev.measures import parse_all
from rankdev.measures.correlation import Rho, Tau
from rankdev.measures.graded import ERR, NDCG, RBP
from rankdev.measures.overlap import Compat
from rankdev.measures.precision import AP, RR, P, R
from rankdev.measures.rdq import RDQ

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
    ("text", "message"),
    [
        ("RPB@5", "unknown measure 'RPB'; did you mean RBP?"),
        ("Ndcg@5", "unknown measure 'Ndcg'; did you mean nDCG?"),
        ("recal@5", "unknown measure 'recal'; did you mean Recall?"),
        ("Bpreff", "unknown measure 'Bpreff'; did you mean Bpref?"),
        ("BPM@5", "unknown measure 'BPM'; choose from "),
        ("Bpref@5", "Bpref has no cutoff; write Bpref without @5"),
        ("IPrec", "IPrec needs a recall, such as IPrec@0.1"),
        ("IPrec@2", "recall is 2.0; expected a number from 0 to 1"),
        ("IPrec(recall=0.1)@0.1", "the recall is given twice"),
        ("Success", "Success needs a cutoff, such as Success@10"),
        ("AP(judged_only=1)", "judged_only is 1.0; expected True or False"),
        ("nDCG(gains={1:x})@5", "gains is {1:x}; expected a gain for each grade"),
        ("nDCG(gains={1:-2})@5", "the gain of grade 1 is -2; gains are finite and at least 0"),
        ("nDCG(gains={0:1})@5", "grade 0 gains 1; items of grade 0 or below are nonrelevant here"),
        ("nDCG(gains=[1,2])@5", "gains is (1.0, 2.0); choose from native"),
        ("RBP(max_grade=4)@5", "max_grade is for gains=graded only"),
        ("Zzzzzz", "unknown measure 'Zzzzzz'; choose from "),
        (
            "RDQ(alhpa=4)@5",
            "unknown parameter 'alhpa'; RDQ has penalty, alpha, lam, weights, tail, judged_only; did you mean alpha?",
        ),
        ("Tau(p=1)@5", "Tau: unknown parameter 'p'; Tau has no parameters"),
        ("RDQ(alpha=4,alpha=5)@5", "alpha is given twice"),
        ("RDQ(alpha)@5", "cannot read 'alpha'; expected parameter=value"),
        ("RDQ(alpha=4", "cannot read the measure"),
        ("RDQ@", "cannot read the measure"),
        ("", "cannot read the measure"),
        ("RDQ@0", "the cutoff is 0; expected a whole number from 1"),
        ("RDQ@-1", "the cutoff is '-1'; expected a whole number from 1"),
        ("RDQ@2.5", "the cutoff is '2.5'; expected a whole number from 1"),
        ("RDQ@five", "the cutoff is 'five'; expected a whole number from 1"),
        ("RDQ(alpha=0)@5", "alpha is 0.0; expected a number above 0"),
        ("RDQ(alpha=nan)@5", "alpha is nan; expected a number above 0"),
        ("RDQ(alpha=many)@5", "alpha is 'many'; expected a number above 0"),
        ("RDQ(lam=-1)@5", "lam is -1.0; expected a number from 0 to 1e100"),
        ("RDQ(penalty=m3)@5", "penalty is 'm3'; choose from m1, m2; did you mean m"),
        ("RDQ(weights=carrousel)@5", "unknown weights 'carrousel'; choose from vertical, stepped, carousel, uniform"),
        ("RDQ(weights=5)@5", "weights is 5.0; expected the name of a preset or a list of numbers"),
        ("RDQ(weights=[1,two])@2", "weights is [1,two]; expected a list of numbers"),
        ("RDQ(weights=[])@5", "weights are empty"),
        ("RDQ(weights=[1,2])@2", "weight 2 is 2, more than 1 before it; weights never increase"),
        ("RDQ(weights=[1,0])@2", "weight 2 is 0.0; weights are positive numbers"),
        ("RDQ(weights=[1,-1])@2", "weight 2 is -1.0; weights are positive numbers"),
        ("RDQ(weights=[1,0.5],tail=0.7)@5", "the tail is 0.7, more than 0.5 before it"),
        ("RDQ(weights=[1,0.5])@5", "2 weights do not reach position 5; give more, or a tail for the rest (tail=0.5)"),
        ("RDQ(tail=0.1)@5", "weights=vertical has its own tail"),
        ("RBP(p=1)@5", "p is 1.0; expected a number between 0 and 1"),
        ("Compat(p=0.9)", "Compat needs a cutoff or a depth"),
        ("Compat(depth=2.5)", "depth is 2.5; expected a whole number from 1"),
        ("P", "P needs a cutoff, such as P@10"),
        ("nDCG(gains=squared)@5", "gains is 'squared'; choose from native, binary, inverse, linear"),
        ("paper", "Compat needs a cutoff"),
    ],
)
def test_bad_texts_say_what_was_expected(text, message):
    with pytest.raises(MeasureError) as caught:
        parse_all(text)
    assert message in str(caught.value)


def test_commas_part_measures_outside_of_parentheses():
    assert [str(measure) for measure in parse_all("nDCG@10, AP,RDQ(alpha=4,weights=[1,0.5],tail=0.1)@5")] == [
        "nDCG@10",
        "AP",
        "RDQ(alpha=4,weights=[1,0.5],tail=0.1)@5",
    ]
    assert len(parse_all(["paper@5,AP@5", "map"])) == 14
    with pytest.raises(MeasureError, match="cannot read the measure ''"):
        parse_all("AP,")


@pytest.mark.parametrize("value", [2.5, "5", True, 0, None])
def test_cutoffs_in_python(value):
    if value is None:
        assert str(RDQ(cutoff=value)) == "RDQ"
    else:
        with pytest.raises(UsageError, match="the cutoff is"):
            RDQ(cutoff=value)
