"""explain: where the rest of a score was lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankdev as rd
from rankdev import DataError, UsageError
from rankdev.evaluation.explain import _filled
from tests.common import draws
from tests.common.one_ranking import rdq
from tests.raising import raises

RDQS = ["RDQ@5", "RDQ", "RDQ(penalty=m1)@4", "RDQ(weights=carousel)@3", "RDQ(alpha=4,weights=uniform)@12"]


@draws.quick
@given(draws.queries(), st.sampled_from(RDQS), st.booleans())
def test_why_names_the_cause_of_every_loss(query, text, judged):
    """An item outside the reference is nonrelevant or unjudged where it is known what was judged."""
    reference = rd.Reference(query.ranks, nonrelevant=query.nonrelevant if judged else None)
    for i, entry in enumerate(rd.explain(reference, query.run, measure=text).positions):
        if entry.item is None:
            expected = "missing"
        elif entry.item in query.ranks:
            expected = "repeated" if entry.item in query.run[:i] else "displaced"
        elif judged:
            expected = "nonrelevant" if entry.item in query.nonrelevant else "unjudged"
        else:
            expected = "not in the reference"
        assert entry.why == (expected if abs(entry.lost) > 1e-12 else "")


def test_a_repeat_leaves_its_position_empty():
    explanation = rd.explain(["d0", "d3"], ["d3", "d3"], k=2)
    assert explanation.best_order == ("(empty)", "d3")
    assert rd.score(["d0", "d3"], explanation.best_order, "RDQ@2") == explanation.best_score == pytest.approx(0.9 / 1.9)
    assert rd.explain(["d0", "d3"], ["d3", "d3", "x"], k=3).best_order == ("x", "d3", "(empty)")
    assert _filled(["a", "b", "a", "b"], {0: "a", 3: "b"}) == ("a", "(empty)", "(empty)", "b")


SUMS = [
    *("nDCG(gains=inverse)@4", "nDCG(gains=binary)", "AP@5", "AP", "RBP(p=0.8)@5"),
    *("P@3", "RR@4", "R@5", "Compat(p=0.9)@6"),
]


@draws.quick
@given(draws.queries(), st.sampled_from(RDQS) | st.sampled_from(SUMS))
def test_losses_add_up_to_the_rest_of_the_score(query, text):
    reference = rd.References.from_ranks({"q": query.ranks})["q"]
    explanation = rd.explain(reference, query.run, measure=text)
    positions = explanation.positions
    assert explanation.score == pytest.approx(rd.score(reference, query.run, text), abs=1e-12)
    assert sum(entry.gained for entry in positions) == pytest.approx(explanation.score, abs=1e-12)
    lost = sum(entry.lost for entry in positions)
    assert lost == pytest.approx(explanation.ideal_score - explanation.score, abs=1e-12)
    causes = explanation.retrieval_loss + explanation.cutoff_loss + explanation.ordering_loss
    assert causes == pytest.approx(lost, abs=1e-12)
    assert explanation.ideal_score == pytest.approx(rd.score(reference, list(reference), text), abs=1e-12)


def test_shares_of_average_precision_by_hand():
    explanation = rd.explain(["a", "b"], ["a", "x", "b"], measure="AP@5")
    assert [entry.gained for entry in explanation.positions] == pytest.approx([1 / 2, 0, 2 / 3 / 2])
    assert [entry.lost for entry in explanation.positions] == pytest.approx([0, 1 / 2, -1 / 3])


@pytest.mark.parametrize(
    "text",
    ["Tau@2", "TauAP", "Rho@2", "SetP", "SetF", "SetAP", "IPrec@0.1", "Bpref", "infAP", "RBO(p=0.9)@5", "NumRet"],
)
def test_what_is_not_built_up_cannot_be_explained(text):
    with raises("not-a-sum", UsageError, measure=text):
        rd.explain({"d1": 1, "d2": 2}, ["d1", "d2"], measure=text)


@pytest.mark.parametrize("ranking", ["d1", 5, None, [1.5]])
def test_a_ranking_is_a_list_of_items(ranking):
    with pytest.raises(DataError):
        rdq(["d1"], ranking)
