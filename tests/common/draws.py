"""Random references and rankings: ties, any size, short and long lists, repeats, strangers."""

from __future__ import annotations

import warnings
from contextlib import contextmanager

from hypothesis import strategies as st

from rankdev import RankdevWarning, Reference
from tests.common.examples import examples
from tests.common.plain import Query

quick = examples(80)
GRADES = [4, 3.5, 3, 2.5, 2, 1.5, 1, 0.5]
STRANGERS = [f"x{i}" for i in range(6)]


@st.composite
def tiers(draw, most=5):
    """Reference items d1, d2, … in tiers of one to four, best first."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=most))
    names = iter(draw(st.permutations([f"d{i}" for i in range(1, sum(sizes) + 1)])))
    return [[next(names) for _ in range(size)] for size in sizes]


def rankings(items):
    """Lists of reference items and strangers; often exactly the reference items, sometimes with repeats."""
    pool = [*items, *STRANGERS]
    return st.one_of(
        st.lists(st.sampled_from(pool), max_size=len(pool), unique=True),
        st.permutations(items),
        st.lists(st.sampled_from(pool), max_size=20),
    )


@st.composite
def queries(draw):
    """One graded query with a ranking."""
    reference = draw(references())
    return query(reference, draw(rankings(list(reference))))


@st.composite
def references(draw, empty=False):
    """A graded reference: each tier has its grade, and some strangers are nonrelevant; with ``empty``, maybe all."""
    levels = draw(tiers())
    grades = sorted(draw(st.permutations(GRADES))[: len(levels)], reverse=True)
    good = {item: grade for tier, grade in zip(levels, grades, strict=True) for item in tier}
    poor = draw(st.dictionaries(st.sampled_from(STRANGERS[:3]), st.sampled_from([0, -1])))
    return Reference.from_grades(poor if empty and poor and draw(st.booleans()) else {**good, **poor})


def query(reference, run):
    return Query(dict(reference), list(run), reference.grades, dict(reference.nonrelevant or {}))


@contextmanager
def repeats_allowed():
    """Let runs repeat an item; rankdev warns of it, and pytest turns its warnings into errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankdevWarning)
        yield
