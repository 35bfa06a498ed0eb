import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.common.examples import examples
from tests.raising import raises

import rankdev as rd
from rankdev.studies.simulation import BUCKETS, simulate


def bucket_counts(sizes):
    return [int(((sizes >= low) & (sizes <= high)).sum()) for low, high, _ in BUCKETS]


def test_the_default_has_the_published_reference_sizes():
    assert bucket_counts(simulate(5000, models={"m": 1}, settings={"s": 1}).references.sizes) == [100, 762, 2397, 1741]


def test_fewer_queries_keep_the_shares_and_add_up():
    counts = bucket_counts(simulate(50, models={"m": 1}, settings={"s": 1}).references.sizes)
    assert counts == [1, 8, 24, 17]  # 50 × 2%, 15.24%, 47.94%, 34.82%, by largest remainder


def test_the_same_seed_gives_the_same_data_and_another_seed_gives_other_data():
    first, again, other = simulate(30, seed=4), simulate(30, seed=4), simulate(30, seed=5)
    assert first.references == again.references
    assert dict(first.runs) == dict(again.runs)
    assert first.references != other.references


def test_more_rankers_do_not_change_the_data_nor_the_rankers_before_them():
    few = simulate(30, models={"a": 1.0}, settings={"x": 1.0})
    more = simulate(30, models={"a": 1.0, "b": 2.0}, settings={"x": 1.0, "y": 2.0})
    assert few.references == more.references
    assert few.runs["a-x"] == more.runs["a-x"]
    assert list(more.runs) == ["a-x", "a-y", "b-x", "b-y"]


@given(st.integers(1, 40), st.integers(0, 3), st.floats(0, 1), st.floats(0, 1), st.floats(0, 3))
@examples(25)
def test_what_is_made_passes_the_checks_for_data_from_outside(queries, seed, recall, ties, noise):
    made = simulate(queries, seed=seed, recall=recall, ties=ties, noise=noise, distractors=3, models={"a": 1, "b": 2})
    assert rd.References.from_ranks(made.references.to_polars()) == made.references
    for run in made.runs.values():
        rows = run.to_polars()
        if len(rows):
            shuffled = rd.Run.of(rows.sample(fraction=1.0, shuffle=True, seed=seed))
            assert all(shuffled[query] == run[query] for query in shuffled)


def test_all_rankers_order_the_same_candidates():
    made = simulate(20)
    runs = list(made.runs.values())
    for query in made.references:
        assert {frozenset(run[query]) for run in runs} == {frozenset(runs[0][query])}


def test_perfect_eyes_and_full_recall_give_the_reference_back():
    made = simulate(40, noise=0, recall=1, ties=0, margin=20)
    scores = rd.evaluate(made.references, dict(made.runs), ["RDQ@5", "AP"])
    np.testing.assert_allclose(scores.values, 1.0)


def test_recall_is_the_share_of_reference_items_among_the_candidates():
    made = simulate(400, recall=0.7, models={"m": 1}, settings={"s": 1})
    scores = rd.evaluate(made.references, dict(made.runs), ["R"])
    found = scores.values[0, :, 0] @ made.references.sizes / made.references.sizes.sum()
    assert found == pytest.approx(0.7, abs=0.03)  # 9,000 items: standard error .005


def test_ties_are_the_share_of_neighbours_with_the_same_rank():
    made = simulate(400, ties=0.2, models={"m": 1}, settings={"s": 1})
    sizes, tiers = made.references.sizes, made.references.tier_counts
    assert (sizes - tiers).sum() / (sizes - 1).sum() == pytest.approx(0.2, abs=0.03)


def test_a_ranker_with_more_noise_is_worse_and_queries_are_hard_for_all_alike():
    made = simulate(600, models={"good": 0.5, "bad": 1.5}, settings={"s": 1}, difficulty=1.0)
    scores = rd.evaluate(made.references, dict(made.runs), ["nDCG(gains=binary)@5", "AP@5", "RDQ@5"])
    good, bad = scores.values
    assert (good.mean(axis=0) > bad.mean(axis=0)).all()
    assert np.corrcoef(good[:, 2], bad[:, 2])[0, 1] > 0.3


@pytest.mark.parametrize(
    ("keywords", "kind", "name"),
    [
        ({"queries": 0}, "not-whole", "queries"),
        ({"queries": 10, "nose": 1}, "not-a-choice", "parameter"),
        ({"seed": -1}, "not-whole", "seed"),
        ({"recall": 1.1}, "not-a-number", "recall"),
        ({"noise": -1}, "not-a-number", "noise"),
        ({"buckets": [(3, 1, 1)]}, "bad-value", "buckets"),
        ({"models": {}}, "bad-value", "models"),
        ({"distractors": -1}, "not-whole", "distractors"),
    ],
)
def test_wrong_parameters_are_named(keywords, kind, name):
    with raises(kind, rd.UsageError, name=name):
        simulate(**keywords)
