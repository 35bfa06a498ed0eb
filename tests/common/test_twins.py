"""evaluate() against the plain twins: many queries, systems and measures at once, in blocks, with colliding hashes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankdev as rd
from rankdev.data import ids
from rankdev.data.ids import Words
from tests.common import draws, plain
from tests.common.claims import EVERY, UNGRADED, claiming
from tests.common.examples import examples


def check(references, runs, texts):
    """Compare every cell with the twin; queries that a run does not hold are scored as empty lists."""
    with draws.repeats_allowed():
        scores = rd.evaluate(references, runs, texts)
    expected = [
        [
            [plain.score(rd.parse(text), draws.query(reference, run.get(name, []))) for text in texts]
            for name, reference in references.items()
        ]
        for run in runs.values()
    ]
    np.testing.assert_allclose(scores.values, expected, rtol=0, atol=1e-12)


@st.composite
def worlds(draw):
    """References of several queries and the runs of several systems, some of which miss queries or know others."""
    references = {f"q{i}": draw(draws.references(empty=True)) for i in range(draw(st.integers(1, 5)))}
    runs = {}
    for system in "abc"[: draw(st.integers(1, 3))]:
        known = draw(st.permutations(list(references)))
        known = known[: draw(st.integers(1, len(known)))]
        runs[system] = {name: draw(draws.rankings(list(references[name]))) for name in known}
        if draw(st.booleans()):
            runs[system] = {"unknown": ["d1", "x1"], **runs[system]}
    return references, runs


@draws.quick
@given(worlds())
def test_every_measure_equals_its_twin(world):
    check(*world, EVERY)


@pytest.mark.parametrize("hashes", [1, 11])
def test_colliding_hashes_change_nothing(monkeypatch, hashes):
    exact = ids._keys
    monkeypatch.setattr(ids, "_keys", lambda query, item: exact(query, item) % hashes)

    @examples(40)
    @given(worlds())
    def equal(world):
        references, runs = world
        with draws.repeats_allowed():
            made = {name: rd.Run.from_lists(run) for name, run in runs.items()}
        check(references, {name: replace(run, item_ids=Words.of(run.item_ids)) for name, run in made.items()}, EVERY)

    equal()


@examples(40)
@given(worlds())
def test_references_without_grades_score_the_same(world):
    """But for those that tell a nonrelevant item from one that was pooled only: a list of nonrelevant ones cannot."""
    references, runs = world
    texts = [text for text in UNGRADED if text not in claiming("judged")]
    nonrelevant = {name: list(reference.nonrelevant) for name, reference in references.items()}
    ranks = rd.References.from_ranks(references, nonrelevant=nonrelevant)
    graded = rd.References.of(references)
    with draws.repeats_allowed():
        got, expected = (rd.evaluate(known, runs, texts).values for known in (ranks, graded))
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("queries", [3, pytest.param(25, marks=pytest.mark.slow)])
def test_long_references_and_runs_equal_the_twins(queries):
    rng = np.random.default_rng(5)
    references, runs = {}, {"a": {}, "b": {}}
    for i in range(queries):
        size = int(rng.integers(1, 80))
        tier = np.sort(rng.integers(0, 8, size))
        references[f"q{i}"] = rd.Reference.from_grades({f"d{j}": draws.GRADES[tier[j]] for j in range(size)})
        for run in runs.values():
            run[f"q{i}"] = [f"d{j}" for j in rng.permutation(100)[: rng.integers(0, 100)]]
    check(references, runs, EVERY)
