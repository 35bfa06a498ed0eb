"""Scores with unjudged items all nonrelevant, and all as good as can be."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankdev as rd
from tests.common.examples import examples

RANKED = ["RDQ@3", "RDQ(penalty=m1)@2", "RDQ", "nDCG(gains=inverse)@3", "RBP(p=0.8)@3", "P@3", "AP", "R@2", "Compat@3"]
GRADED = [*RANKED, "nDCG@3", "nDCG(dcg=exp-log2)", "ERR@3"]
ITEMS = ["a", "b", "c", "u", "v", "w"]
LISTS = st.lists(st.sampled_from(ITEMS), min_size=1, max_size=6, unique=True)  # deeper than the cutoffs
RUNS = st.lists(LISTS, min_size=1, max_size=3).map(lambda lists: dict(zip("xyz", lists, strict=False)))


def check(references, completed, lists, measures):
    """Compare with the references that ``completed`` makes of the unjudged items of each list and measure."""
    runs = {name: {"q": items} for name, items in lists.items()}
    found = rd.bounds(references, runs, measures)
    for s, (name, items) in enumerate(lists.items()):
        for m, measure in enumerate(measures):
            reach = int(measure.partition("@")[2] or len(items))
            new = [item for item in items[:reach] if item in "uvw"]
            best = rd.evaluate(completed(new), {name: runs[name]}, measure).means[0, 0]
            score = rd.evaluate(references, {name: runs[name]}, measure).means[0, 0]
            assert found.limits[:, s, 0, m].tolist() == sorted([score, best])
            assert score <= best or measure.partition("(")[0].partition("@")[0] not in ("P", "RBP", "ERR")
            assert found.scores.values[s, 0, m] == score
            assert found.judged[s, m] == pytest.approx(1 - len(new) / min(reach, len(items)))


@examples(40)
@given(RUNS)
def test_unjudged_items_have_the_highest_grade(lists):
    grades = {"q": {"a": 2, "b": 1, "c": 0}}
    check(
        rd.References.from_grades(grades),
        lambda new: rd.References.from_grades({"q": grades["q"] | dict.fromkeys(new, 2)}),
        lists,
        GRADED,
    )


def test_the_highest_grade_is_that_of_the_collection():
    references = rd.References.from_grades({"q": {"a": 1}, "p": {"a": 3}})
    found = rd.bounds(references, {"s": {"q": ["u", "a"], "p": ["a"]}}, "nDCG@2")
    assert found.limits[1, 0, 0, 0] == 1.0
    assert found.limits[0, 0, 0, 0] == found.scores.values[0, 0, 0] == pytest.approx(1 / np.log2(3))


@examples(40)
@given(RUNS)
def test_unjudged_items_are_in_the_first_tier(lists):
    nonrelevant = {"q": ["c"]}
    references = rd.References.from_tiers({"q": [["a"], ["b"]]}, nonrelevant=nonrelevant)
    check(
        references,
        lambda new: rd.References.from_tiers({"q": [["a", *new], ["b"]]}, nonrelevant=nonrelevant),
        lists,
        RANKED,
    )


def test_queries_without_a_relevant_item_or_a_list():
    references = rd.References.from_grades({"q": {"a": 0}, "p": {"a": 0}})
    found = rd.bounds(references, {"s": {"q": ["u", "a"]}}, "RDQ@2")
    assert found.limits[:, 0, :, 0].tolist() == [[0.0, 0.0], [1.0, 0.0]]
    ranked = rd.References.from_tiers({"q": []}, nonrelevant={"q": ["a"]})
    assert rd.bounds(ranked, {"s": {"q": ["u", "a"]}}, "RDQ@2").limits.ravel().tolist() == [0.0, 1.0]


def test_limits_are_summarized_as_the_score_is():
    references = rd.References.from_grades({"q": {"a": 2, "b": 0}, "p": {"a": 1, "c": 0, "d": 1}})
    found = rd.bounds(references, {"s": {"q": ["a", "z", "b"], "p": ["c", "y", "a"]}}, ["NumRelRet", "GMAP", "AP"])
    table = found.to_polars()
    assert table["low"].to_list() == pytest.approx(table["score"].to_list())
    assert table["high"][0] == 4
