"""The ends of what a score could be are those of all orders of equal scores, tried one by one."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankdev as rd
from rankdev.evaluation._ranges import is_exact, over_orders, with_missing
from tests.common import plain
from tests.common.claims import EVERY
from tests.common.examples import examples
from tests.common.plain import Query
from tests.evaluation.test_deciding_ties import orders


@examples(300)
@given(st.data(), st.sampled_from([text for text in EVERY if is_exact(rd.parse(text))]))
def test_no_order_leaves_the_range_and_some_reach_its_ends(data, text):
    grades = {f"d{i}": data.draw(st.sampled_from([3, 2, 1, 0])) for i in range(5)} | {"d0": 2}
    items = data.draw(st.lists(st.sampled_from([*grades, "u1", "u2"]), min_size=1, max_size=5, unique=True))
    scores = {item: data.draw(st.sampled_from([1.0, 2.0])) for item in items}
    references, measure = rd.References.from_grades({"q": grades}), rd.parse(text)
    run = rd.Run.from_scores({"q": scores})
    low, high = over_orders(references, {"a": run}, [measure], rd.evaluate(references, {"a": run}, measure))
    good = dict(references["q"])
    poor = {item: 0.0 for item in grades if item not in good}
    known = {item: float(grades[item]) for item in good}
    values = [plain.score(measure, Query(good, order, known, poor)) for order in orders(scores)]
    if np.isnan(values).all():
        assert np.isnan([low, high]).all()
    else:
        assert [low.item(), high.item()] == pytest.approx([np.nanmin(values), np.nanmax(values)], abs=1e-9)


@pytest.mark.parametrize("text", ["RDQ@2", "RDQ@4"])
def test_ties_gain_what_their_best_and_worst_orders_do(text):
    good, first = ["a", "b", "c"], {"x": 2.0}
    tied = {"c": 1.0, "b": 1.0, "a": 1.0}
    references, run = rd.References.of({"q": good}), rd.Run.from_scores({"q": first | tied})
    found = over_orders(references, {"mine": run}, [rd.parse(text)], rd.evaluate(references, {"mine": run}, text))
    values = [rd.score(good, [*first, *order], text) for order in permutations(tied)]
    assert 0 < min(values) < max(values)
    assert [limit.item() for limit in found] == pytest.approx([min(values), max(values)])


def test_a_query_that_a_run_lacks_could_have_any_score():
    references = rd.References.of({"q": ["a"], "r": ["a"]})
    runs = {"whole": rd.Run.of({"q": ["a"], "r": ["x", "a"]}), "half": rd.Run.of({"q": ["a"]})}
    low, high = with_missing(references, runs, rd.evaluate(references, runs, ["RR", "NumRet"]))
    assert low[..., 0].tolist() == [[1, 0.5], [1, 0]]
    assert high[..., 0].tolist() == [[1, 0.5], [1, 1]]
    assert high[..., 1].tolist() == [[1, 2], [1, 2]]  # without a limit, as many as another run has
