"""losses: for whole systems what explain says of one query."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankdev as rd
from tests.common import draws

TEXTS = ["RDQ@3", "RDQ", "RDQ(penalty=m1)@5", "RDQ(alpha=4,lam=0)@10", "RDQ(weights=carousel)@5"]


@draws.quick
@given(st.lists(draws.queries(), min_size=1, max_size=4), st.sampled_from(TEXTS))
def test_query_by_query_as_explain(queries, text):
    references = {f"q{i}": rd.Reference(query.ranks) for i, query in enumerate(queries)}
    with draws.repeats_allowed():
        found = rd.losses(references, {"a": {f"q{i}": query.run for i, query in enumerate(queries)}}, text)
    explained = [rd.explain(rd.Reference(query.ranks), query.run, measure=text) for query in queries]
    expected = [[each.score, each.best_score] for each in explained]
    np.testing.assert_allclose(found.scores.values[0], expected, rtol=0, atol=1e-12)
    score, by_retrieval, by_order = found.to_polars().row(0)[1:]
    assert score == pytest.approx(np.mean([each.score for each in explained]))
    assert by_retrieval == pytest.approx(np.mean([each.retrieval_loss for each in explained]))
    assert by_order == pytest.approx(np.mean([each.ordering_loss for each in explained]), abs=1e-12)
    assert score + by_retrieval + by_order == pytest.approx(1)


def test_queries_that_are_missing_or_have_no_reference_item():
    references = rd.References.from_grades({"q1": {"d1": 1}, "q2": {"d1": 0}, "q3": {"d2": 1}})
    runs = {"a": {"q1": ["d1"], "q2": ["d1"]}, "b": {"q3": ["x", "d2"]}}
    found = rd.losses(references, runs, "RDQ@5")
    assert found.to_polars().rows()[0] == pytest.approx(("a", 1 / 3, 2 / 3, 0))
    assert any("1 of 3 queries has no reference item" in line for line in found.remarks)
    assert rd.losses(references, runs, "RDQ@5", empty="skip").to_polars().rows()[0] == pytest.approx(("a", 0.5, 0.5, 0))


def test_only_rdq():
    with pytest.raises(rd.UsageError, match="only losses of RDQ can be split; got AP@5"):
        rd.losses({"q": ["d1"]}, {"a": {"q": ["d1"]}}, "AP@5")
