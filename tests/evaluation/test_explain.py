"""explain: where the rest of a score was lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankdev as rd
from tests.common import draws

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


def test_shares_of_average_precision_by_hand():
    explanation = rd.explain(["a", "b"], ["a", "x", "b"], measure="AP@5")
    assert [entry.gained for entry in explanation.positions] == pytest.approx([1 / 2, 0, 2 / 3 / 2])
    assert [entry.lost for entry in explanation.positions] == pytest.approx([0, 1 / 2, -1 / 3])
