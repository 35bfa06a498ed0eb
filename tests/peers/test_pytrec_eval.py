"""nDCG, AP, P, R and RR give trec_eval's numbers, whatever the scores of a run look like."""

import pytest
from hypothesis import given
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
}
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
IDS = ["d1", "d10", "d2", "D2", "é", "z", "ß", "日", "a-b", "a_b", "~", "0", "00", "x1", "x2", "x3"]


@st.composite
def judged_runs(draw):
    """Judgments (some of 0 or below, sometimes none above) and scores (many equal, in single precision at least)."""
    qrels, run = {}, {}
    for i in range(draw(st.integers(1, 4))):
        best = draw(st.integers(0, 4))
        grades = draw(st.dictionaries(st.sampled_from(IDS), st.integers(-1, best), min_size=1))
        qrels[f"q{i}"] = grades
        score = st.sampled_from(AWKWARD) | st.integers(-3, 3).map(float) | st.floats(-100, 100)
        run[f"q{i}"] = draw(st.dictionaries(st.sampled_from(IDS), score, min_size=1))
    return qrels, run


def check(qrels, run, tolerance=1e-12):
    theirs = pytrec_eval.RelevanceEvaluator(qrels, set(SAME.values())).evaluate(run)
    scores = rd.evaluate(rd.References.from_grades(qrels), {"a": run}, list(SAME))
    for q, query in enumerate(scores.queries):
        expected = {text: theirs[query][name] for text, name in SAME.items()}
        got = dict(zip(scores.measures, scores.values[0, q].tolist(), strict=True))
        assert got == pytest.approx(expected, abs=tolerance)


@draws.quick
@given(judged_runs())
def test_random_runs(case):
    check(*case)


def test_scores_are_compared_in_single_precision():
    """The two scores are one float32, so that trec_eval breaks the tie by the higher id, against the scores."""
    check({"q": {"d1": 1}}, {"q": {"d1": 50.39120101928711, "d2": 50.39120006561279}})
    assert rd.Run.from_scores({"q": {"d1": 50.39120101928711, "d2": 50.39120006561279}})["q"] == ["d2", "d1"]
