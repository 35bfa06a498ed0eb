"""Digests of references and lists: equal for what is equal, in whatever order it comes, and for nothing else."""

import random

from hypothesis import given
from hypothesis import strategies as st

import rankdev as rd
from rankdev.evaluation.origin import lists_digest, references_digest

GRADES = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3"]),
    st.dictionaries(st.sampled_from(["d", "dd", "d d", "é"]), st.integers(-1, 2), min_size=1),
    min_size=1,
)


def shuffled(mapping, seed):
    names = list(mapping)
    random.Random(seed).shuffle(names)
    return {name: mapping[name] for name in names}


@given(GRADES, GRADES, st.integers(0, 9))
def test_references_have_the_same_digest_where_they_are_equal(first, second, seed):
    one, other = rd.References.from_grades(first), rd.References.from_grades(second)
    assert (references_digest(one) == references_digest(other)) == (one == other)
    again = shuffled({query: shuffled(grades, seed) for query, grades in first.items()}, seed)
    assert references_digest(rd.References.from_grades(again)) == references_digest(one)


@given(GRADES, GRADES, st.integers(1, 3))
def test_lists_have_the_same_digest_where_they_are_equal(first, second, depth):
    runs = [rd.Run.from_scores(one) for one in (first, second)]
    lists = [{query: list(run[query])[:depth] for query in ("q1", "q2") if query in run} for run in runs]
    digests = [lists_digest(run, ("q1", "q2"), depth) for run in runs]
    assert (digests[0] == digests[1]) == (lists[0] == lists[1])


def test_the_digest_stays_what_it_is():
    """Baselines in files are read by later versions."""
    known = rd.References.from_tiers({"q1": [["d1", "d3"], ["d2"]]}, nonrelevant={"q1": ["d9"]})
    assert references_digest(known) == "12b526ca1f9ed9a4666cc3e2b211430e"
