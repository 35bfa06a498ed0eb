"""Which measure has the most power, and which may have."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankdev as rd
from rankdev.errors import DataError, UsageError
from rankdev.measures.base import MeasureInfo
from rankdev.statistics.advice import _error, _without_each
from rankdev.statistics.power.student import power_of
from tests.calibration.advice import chosen_measures, equally_good
from tests.common.examples import examples


def scores_of(values, measures=None, **more):
    systems, queries, count = values.shape
    measures = measures or tuple(f"P@{i + 1}" for i in range(count))
    return rd.Scores(tuple(f"s{i}" for i in range(systems)), tuple(f"q{i}" for i in range(queries)), measures, values)


def noisy(seed=0, effects=(0.5, 0.05), queries=60, systems=2):
    rng = np.random.default_rng(seed)
    leads = np.arange(systems)[::-1, None, None] * np.asarray(effects)
    return scores_of(rng.normal(leads, 1.0, (systems, queries, len(effects))))


def test_the_measure_with_the_clearer_difference_is_chosen():
    found = rd.advise(noisy(effects=(1.0, 0.05)))
    assert found.best == "P@1"
    assert found.may_be_best.tolist() == [True, False]
    assert found.conclusion == "Use P@1: it has the most power to distinguish these systems. Not P@2."
    assert found.behind[0].tolist() == [0, 0, 0]
    assert found.behind[1, 1] > 0


def test_equally_good_measures_are_not_distinguished():
    rng = np.random.default_rng(2)
    apart = rng.normal(0.4, 1.0, (2, 50, 1)) * np.array([[[1.0]], [[0.0]]])
    found = rd.advise(scores_of(np.concatenate([apart, 2 * apart, apart], axis=2)))
    assert found.may_be_best.all()
    assert np.ptp(found.power) < 1e-12
    assert "No measure is significantly better" in found.conclusion


@given(st.integers(0, 10**6), st.integers(2, 4), st.integers(10, 14), st.integers(2, 4))
@examples(30)
def test_the_jackknife_is_the_one_that_leaves_out_each_query(seed, systems, queries, measures):
    values = np.random.default_rng(seed).integers(0, 5, (systems, queries, measures)) / 4
    first, second = np.triu_indices(systems, 1)
    left = []
    for q in range(queries):
        rest = np.delete(values, q, axis=1)
        apart = rest[first] - rest[second]
        mean, spread = apart.mean(axis=1), apart.std(axis=1, ddof=1)
        effect = np.where(spread > 0, mean / np.where(spread > 0, spread, 1), 0.0)
        effect = np.where((spread < 1e-12) & (np.abs(mean) > 1e-12), 10.0, np.clip(effect, -10, 10))
        left.append((power_of(20, 0.05)(effect).mean(axis=0), np.abs(effect).mean(axis=0)))
    left, sizes = np.array(left).transpose(1, 2, 0)
    apart = [values[first, :, m] - values[second, :, m] for m in range(measures)]
    mine, size = np.array([_without_each(part, 20, 0.05) for part in apart]).transpose(1, 0, 2)
    assert mine == pytest.approx(left, abs=1e-6)
    assert size == pytest.approx(sizes, abs=1e-6)
    between = left[:, None] - left
    plain = np.sqrt((queries - 1) / queries * ((between - between.mean(axis=2, keepdims=True)) ** 2).sum(axis=2))
    assert _error(mine) == pytest.approx(plain, abs=1e-6)


def test_nothing_depends_on_the_order_of_measures_systems_or_queries():
    scores = noisy(effects=(0.6, 0.2, 0.4), systems=4)
    found = rd.advise(scores)
    turned = rd.advise(scores.select(scores.systems[::-1], scores.measures[::-1], slice(None, None, -1)))
    assert turned.power[::-1] == pytest.approx(found.power, abs=1e-12)
    assert (turned.n, turned.best) == (found.n, found.best)
    assert (turned.may_be_best[::-1] == found.may_be_best).all()


def test_a_measure_of_which_less_is_better_counts_its_other_end():
    scores = noisy(effects=(0.8, -0.8), systems=3)
    less = MeasureInfo("P@2", "mean", higher_is_better=False)
    assert rd.advise(scores).opposed.max() > 0
    assert rd.advise(replace(scores, kinds=(scores.kinds[0], less))).opposed.max() == 0


def test_measures_that_order_systems_otherwise_are_named():
    rng = np.random.default_rng(3)
    values = rng.normal(0, 0.1, (2, 40, 2)) + np.array([[[1.0, 0.0]], [[0.0, 1.0]]])
    found = rd.advise(scores_of(values))
    assert found.opposed.max() == 1
    assert "power does not tell which is right" in " ".join(str(found).split())


def test_a_constant_difference_has_all_power_and_none_has_none():
    values = np.zeros((2, 20, 2))
    values[0, :, 0] = 0.5
    found = rd.advise(scores_of(values))
    assert found.power[0] > 0.5
    assert found.power[1] == pytest.approx(0.05)
    assert found.needed[1] == np.inf
    assert "∞" in " ".join(str(found).split())


def test_queries_that_a_measure_lacks_are_left_out_for_all():
    scores = noisy()
    values = scores.values.copy()
    values[0, 3, 1] = np.nan
    found = rd.advise(scores_of(values))
    assert found.queries == 59
    assert any("1 for P@2 of 60" in remark for remark in found.remarks)
    kept = rd.advise(scores.select(queries=[q for q in scores.queries if q != "q3"]))
    assert found.power == pytest.approx(kept.power)


def test_clusters_of_one_query_are_queries_and_repeats_add_nothing():
    scores = noisy(effects=(0.6, 0.3))
    single = rd.advise(scores, clusters={query: query for query in scores.queries})
    assert single.power == pytest.approx(rd.advise(scores).power)
    twice = scores_of(np.repeat(scores.values, 2, axis=1))
    joined = rd.advise(twice, clusters={f"q{i}": f"c{i // 2}" for i in range(120)})
    assert joined.behind == pytest.approx(rd.advise(scores).behind)


@pytest.mark.parametrize(
    ("scores", "options", "error", "message"),
    [
        (noisy(effects=(1.0,)), {}, UsageError, "at least two measures; got P@1"),
        (noisy(queries=9), {}, DataError, "at least 10 queries that every measure has a value for; got 9"),
        (noisy(), {"clusters": {f"q{i}": i % 3 for i in range(60)}}, DataError, "at least 10 clusters"),
        (scores_of(np.ones((3, 20, 2))), {}, DataError, "nothing to distinguish"),
        (noisy(systems=1), {}, UsageError, "at least 2 systems"),
        (noisy(), {"losses": 3}, UsageError, "losses"),
        (noisy(), {"alpha": 2}, UsageError, "alpha"),
    ],
)
def test_what_allows_no_advice_is_refused(scores, options, error, message):
    with pytest.raises(error, match=message):
        rd.advise(scores, **options)


def test_losses_say_what_the_systems_differ_in():
    references = {f"q{i}": ["a", "b", "c"] for i in range(12)}
    runs = {"x": {q: ["a", "b", "c"] for q in references}, "y": {q: ["b", "a", "c"] for q in references}}
    runs["y"]["q0"] = ["a", "b", "c"]
    lost = rd.losses(references, runs, "RDQ@3")
    found = rd.advise(rd.evaluate(references, runs, ["RDQ@3", "P@1"]), losses=lost)
    assert found.shares == pytest.approx({"retrieval": 0, "cutoff": 0, "order": 1})
    assert "order 100%" in " ".join(str(found).split())


def test_the_best_measure_is_kept():
    assert all(finding.fine for finding in equally_good(2))


@pytest.mark.slow
def test_the_best_measure_is_kept_of_simulated_rankers():
    assert all(finding.fine for finding in chosen_measures(40))
