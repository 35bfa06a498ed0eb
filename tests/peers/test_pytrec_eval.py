"""What trec_eval computes too has its numbers, whatever the scores of a run look like."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import rankdev as rd
from tests.common import draws

pytrec_eval = pytest.importorskip("pytrec_eval")

SAME = {
    "nDCG@5": "ndcg_cut_5",
    "nDCG@10": "ndcg_cut_10",
    "nDCG": "ndcg",
    "AP@5": "map_cut_5",
    "AP": "map",
    "P@5": "P_5",
    "P@10": "P_10",
    "R@5": "recall_5",
    "R@100": "recall_100",
    "RR": "recip_rank",
    "Rprec": "Rprec",
    "Bpref": "bpref",
    "infAP": "infAP",
    "Success@1": "success_1",
    "Success@5": "success_5",
    "IPrec@0": "iprec_at_recall_0.00",
    "IPrec@0.1": "iprec_at_recall_0.10",
    "IPrec@0.4": "iprec_at_recall_0.40",
    "IPrec@0.7": "iprec_at_recall_0.70",
    "IPrec@1": "iprec_at_recall_1.00",
    "IPrec11": "11pt_avg",
    "SetP": "set_P",
    "SetP(relative=True)": "set_relative_P",
    "SetR": "set_recall",
    "SetF": "set_F",
    "SetAP": "set_map",
    "NumRet": "num_ret",
    "NumRel": "num_rel",
    "NumRet(rel=1)": "num_rel_ret",
    "NumQ": "num_q",
}
JUDGED_ONLY = {"nDCG@5", "nDCG", "AP@5", "AP", "P@5", "R@5", "RR", "Rprec", "Success@5", "IPrec@0.4", "SetP", "SetF"}
AWKWARD = [
    50.39120101928711,
    50.39120006561279,
    0.0,
    -0.0,
    -1.5,
    -1.25,
    1e-8,
    1.0000001,
    1.00000001,
    3.4e38,
    -2e20,
    7.0,
]
IDS = ["d1", "d10", "d2", "D3", "é", "z", "ß", "日", "a-b", "a_b", "~", "0", "00", "x1", "x2", "x3"]


@st.composite
def judged_runs(draw):
    """Judgments (some of 0 or below, sometimes none above) and scores (many equal, in single precision at least)."""
    qrels, run = {}, {}
    for i in range(draw(st.integers(1, 4))):
        best = draw(st.integers(0, 4))
        grades = draw(st.dictionaries(st.sampled_from(IDS), st.integers(-1, best), min_size=1))
        qrels[f"q{i}"] = {**grades, "d1": max(0, grades.get("d1", 0))}  # its bpref hangs where all are negative
        score = st.sampled_from(AWKWARD) | st.integers(-3, 3).map(float) | st.floats(-100, 100)
        run[f"q{i}"] = draw(st.dictionaries(st.sampled_from(IDS), score, min_size=1))
    return qrels, run


def check(qrels, run):
    compare(qrels, run, SAME)


def compare(qrels, run, same, asked=None, **options):
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, asked or set(same.values()), **options)
    theirs = evaluator.evaluate(run)
    scores = rd.evaluate(rd.References.from_grades(qrels), {"a": run}, list(same))
    for q, query in enumerate(scores.queries):
        expected = {text: theirs[query][name] for text, name in same.items()}
        got = dict(zip(same, scores.values[0, q].tolist(), strict=True))
        assert got == pytest.approx(expected, abs=1e-12)
    for m, name in enumerate(same.values()):
        overall = pytrec_eval.compute_aggregated_measure(name, [values[name] for values in theirs.values()])
        assert scores.means[0, m] == pytest.approx(overall, abs=1e-12)


@draws.quick
@given(judged_runs())
def test_random_runs(case):
    check(*case)


def with_parameter(text, parameter):
    name, _, cutoff = text.partition("@")
    inside = name[name.index("(") + 1 : -1] + "," if "(" in name else ""
    return f"{name.partition('(')[0]}({inside}{parameter}){'@' if cutoff else ''}{cutoff}"


@draws.quick
@given(judged_runs(), st.sampled_from([1, 2, 3]))
def test_a_lowest_relevant_grade(case, rel):
    """num_rel ignores the level there, and nDCG has no levels."""
    qrels, run = case
    same = {
        with_parameter(text, f"rel={rel}"): name
        for text, name in SAME.items()
        if "ndcg" not in name and name not in ("num_rel", "num_ret", "num_q", "num_rel_ret")
    }
    compare(qrels, run, {**same, f"NumRet(rel={rel})": "num_rel_ret"}, relevance_level=rel)


@draws.quick
@given(judged_runs())
def test_only_what_was_judged(case):
    """Where nothing that was returned was judged, pytrec_eval divides by 0, or ends the process."""
    qrels, run = case
    assume(all(any(qrels[query].get(item, -1) >= 0 for item in run[query]) for query in qrels))
    same = {with_parameter(text, "judged_only=True"): SAME[text] for text in JUDGED_ONLY}
    compare(*case, same, judged_docs_only_flag=1)


@draws.quick
@given(judged_runs(), st.sampled_from([0.5, 2.0]))
def test_the_weight_of_recall(case, beta):
    compare(*case, {f"SetF(beta={beta})": "set_F"}, asked={f"set_F.{beta}"})


def test_every_name_is_understood_as_it_is():
    for text, name in SAME.items():
        assert rd.parse(name) == rd.parse(text)
    assert str(rd.parse("ndcg_cut.10")) == "nDCG@10"


@draws.quick
@given(judged_runs())
def test_the_geometric_mean(case):
    """pytrec_eval returns logarithms, and their mean's power."""
    qrels, run = case
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"gm_map"}).evaluate(run)
    overall = pytrec_eval.compute_aggregated_measure("gm_map", [values["gm_map"] for values in theirs.values()])
    ours = rd.evaluate(rd.References.from_grades(qrels), {"a": run}, "gm_map")
    assert ours.means.item() == pytest.approx(overall, abs=1e-12)


def test_scores_are_compared_in_single_precision():
    """The two scores are one float32, so that trec_eval breaks the tie by the higher id, against the scores."""
    check({"q": {"d1": 1}}, {"q": {"d1": 50.39120101928711, "d2": 50.39120006561279}})
    assert rd.Run.from_scores({"q": {"d1": 50.39120101928711, "d2": 50.39120006561279}})["q"] == ["d2", "d1"]
