"""The evidence for shapes of strengths, compared with sums and integrals over all strengths."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp

from rankdev.preferences import Preferences, strengths, tiers
from rankdev.preferences import _shapes as module
from rankdev.preferences._pooling import _batches, _tie_rate
from rankdev.preferences._shapes import Observations, hypotheses, normal_posteriors, possible, shapes
from rankdev.preferences.expectation_propagation import Answers

from .simulate import every_pair


def judged(truth, times, tie_rate, rng):
    """Counts and scores of every pair, as matrices."""
    n = len(truth)
    count, score = np.zeros((2, n, n))
    for i, j in zip(*np.triu_indices(n, 1), strict=True):
        odds = np.array([np.exp((truth[i] - truth[j]) / 2), np.exp((truth[j] - truth[i]) / 2), tie_rate])
        wins, _, ties = rng.multinomial(times, odds / odds.sum())
        count[i, j] = count[j, i] = times
        score[i, j], score[j, i] = wins + ties / 2, times - wins - ties / 2
    return count, score


def log_likelihood(count, score, tie_rate, strength):
    """Of each row of strengths, 0 where all are equal."""
    i, j = np.triu_indices(len(count), 1)
    d = strength[:, i] - strength[:, j]
    normaliser = np.log((2 * np.cosh(d / 2) + tie_rate) / (2 + tie_rate))
    return ((score - count / 2)[i, j] * d - count[i, j] * normaliser).sum(axis=1)


QUERIES = [
    (np.array([1.5, 0.0, -1.0]), 1, 0.0),
    (np.array([3.0, 0.0, -3.0]), 2, 0.0),
    (np.array([0.0, 0.0, 0.0]), 4, 1.0),
    (np.array([1.0, 0.5, -1.0]), 10, 0.5),
]


@pytest.mark.parametrize(("truth", "times", "tie_rate"), QUERIES)
def test_the_evidence_for_normal_strengths_is_that_of_an_integral(truth, times, tie_rate):
    count, score = judged(truth, times, tie_rate, np.random.default_rng(times))
    nodes = np.linspace(-6, 6, 361)
    grid = np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, 2)  # of two differences from the third
    weight = -(grid**2).sum(axis=1) / 2
    weight -= logsumexp(weight)
    root = np.linalg.cholesky(np.array([[2.0, 1.0], [1.0, 2.0]]))
    for spread in (0.3, 1.0, 4.0):
        strength = np.pad(spread * grid @ root.T, ((0, 0), (0, 1)))
        each = log_likelihood(count, score, tie_rate, strength) + weight
        exact = logsumexp(each)
        (found,) = normal_posteriors(Answers.of_wins(score[None]), 3, tie_rate, np.array([spread]))
        assert found.evidence[0] == pytest.approx(exact, abs=0.15)
        share = np.exp(each - exact)
        gap = strength[:, 0] - strength[:, 2]
        mean = share @ gap
        assert found.mean[0, 0] - found.mean[0, 2] == pytest.approx(mean, abs=0.1 * spread)
        spread_of_gap = np.sqrt(share @ gap**2 - mean**2)
        own = found.covariance[0]
        assert np.sqrt(own[0, 0] + own[2, 2] - 2 * own[0, 2]) == pytest.approx(spread_of_gap, rel=0.1)


def exact_tiers(shape, spread, count, score, tie_rate):
    """Sum over all assignments of items to tiers: the evidence, and the probabilities of a tie and of being better."""
    n = len(count)
    chosen = np.array(list(product(range(len(shape.weight)), repeat=n)))
    strength = spread * shape.centre[chosen]
    each = log_likelihood(count, score, tie_rate, strength) + np.log(shape.weight)[chosen].sum(axis=1)
    evidence = logsumexp(each)
    likely = np.exp(each - evidence)
    equal = np.einsum("k,kij->ij", likely, chosen[:, :, None] == chosen[:, None])
    better = np.einsum("k,kij->ij", likely, chosen[:, :, None] < chosen[:, None])
    return evidence, equal, better


@pytest.mark.parametrize(
    ("truth", "times", "tie_rate"),
    [
        (np.array([1.0, 1.0, -1.0, -1.0, -1.0]), 2, 0.0),
        (np.array([2.0, 0.5, 0.0, -1.0, -1.5]), 4, 0.0),
        (np.array([1.0, 1.0, 0.0, 0.0, -1.0]), 4, 1.0),
    ],
)
def test_the_evidence_for_tiers_is_that_of_all_assignments(truth, times, tie_rate):
    """On average over queries, for the likely hypotheses: errors of that kind add up where queries are pooled."""
    rng = np.random.default_rng(5)
    parts = [judged(truth, times, tie_rate, rng) for _ in range(12)]
    count, score = (np.stack(side) for side in zip(*parts, strict=True))
    seen = Observations.of(score, tie_rate)
    found = seen.evidence()
    likely = [k for k in np.argsort(-found.mean(axis=0)) if hypotheses()[k].kind == "tiers"][:60:6]
    for k in likely:
        hypothesis = hypotheses()[k]
        shape = shapes()[hypothesis.shape]
        exact = [exact_tiers(shape, hypothesis.spread, c, s, tie_rate) for c, s in zip(count, score, strict=True)]
        assert np.mean(found[:, k] - [evidence for evidence, *_ in exact]) == pytest.approx(0, abs=0.3)
        alone = np.zeros_like(found)
        alone[:, k] = 1.0
        for part, place in zip(seen.relations(alone), (1, 2), strict=True):
            off = np.abs(part - np.stack([entry[place] for entry in exact]))[:, ~np.eye(5, dtype=bool)]
            assert off.mean() < 0.1


@pytest.mark.parametrize("tie_rate", [0.0, 1.0])
def test_two_tiers_of_few_items_are_summed_exactly(tie_rate):
    rng = np.random.default_rng(9)
    count, score = judged(np.array([2.0, 0.5, 0.0, 0.0, -1.5, -1.5]), 3, tie_rate, rng)
    found = Observations.of(score[None], tie_rate).evidence()[0]
    for k in module._unequal_pairs()[::7]:
        shape = shapes()[hypotheses()[k].shape]
        exact, *_ = exact_tiers(shape, hypotheses()[k].spread, count, score, tie_rate)
        assert found[k] == pytest.approx(exact, abs=1e-9)


def test_two_tiers_of_more_items_are_summed_around_the_cut(monkeypatch):
    rng = np.random.default_rng(3)
    _, score = judged(np.repeat([1.0, -1.0], 7), 2, 0.0, rng)
    two = [hypothesis for hypothesis in hypotheses() if hypothesis.tiers == 2][:30:4]
    seen = Observations.of(score[None], 0.0)
    found = seen._ways_to_two_tiers(two)
    monkeypatch.setattr(module, "WINDOW", 14)
    module._two_tiers.cache_clear()
    exact = seen._ways_to_two_tiers(two)
    module._two_tiers.cache_clear()
    assert (found <= exact + 1e-9).all()
    assert np.allclose(found, exact, atol=0.02)


def test_ways_to_two_tiers_are_listed_once():
    ways = module._two_tiers(14)
    assert len(np.unique(ways, axis=0)) == len(ways)
    first_below = np.where(ways.all(axis=1), 14, np.argmin(ways, axis=1))
    last_above = np.where(ways.any(axis=1), 13 - np.argmax(ways[:, ::-1], axis=1), -1)
    assert (last_above - first_below < 12).all()
    every = np.array(list(product([False, True], repeat=14)))
    low = np.where(every.all(axis=1), 14, np.argmin(every, axis=1))
    high = np.where(every.any(axis=1), 13 - np.argmax(every[:, ::-1], axis=1), -1)
    assert len(ways) == (high - low < 12).sum()


@pytest.mark.parametrize("kind", ["strict", "mixed"])
def test_the_evidence_for_other_shapes_is_that_of_random_strengths(kind):
    rng = np.random.default_rng(8)
    parts = [judged(np.array([1.5, 0.0, 0.0, -1.0]), 3, 0.0, rng) for _ in range(8)]
    count, score = (np.stack(side) for side in zip(*parts, strict=True))
    found = Observations.of(score, 0.0).evidence()
    likely = [k for k in np.argsort(-found.mean(axis=0)) if hypotheses()[k].kind == kind][:20:5]
    for k in likely:
        shape = shapes()[hypotheses()[k].shape]
        member = rng.choice(len(shape.weight), (20_000, 4), p=shape.weight / shape.weight.sum())
        strength = hypotheses()[k].spread * (shape.centre + 0)[member]
        strength += hypotheses()[k].spread * shape.width[member] * rng.normal(size=member.shape)
        exact = [
            logsumexp(log_likelihood(c, s, 0.0, strength)) - np.log(20_000) for c, s in zip(count, score, strict=True)
        ]
        assert np.mean(found[:, k] - exact) == pytest.approx(0, abs=0.3)


def test_probabilities_of_relations_add_up_and_mirror():
    rng = np.random.default_rng(2)
    _, score = judged(np.array([2.0, 0.0, 0.0, -1.0, -1.0]), 3, 0.5, rng)
    seen = Observations.of(score[None], 0.5)
    weight = rng.random((1, len(hypotheses()))) * possible(5)
    equal, better = (part[0][~np.eye(5, dtype=bool)] for part in seen.relations(weight / weight.sum()))
    mirrored = seen.relations(weight / weight.sum())[1][0].T[~np.eye(5, dtype=bool)]
    assert_allclose(equal + better + mirrored, 1.0, atol=1e-6)


def test_a_query_s_evidence_does_not_depend_on_the_others():
    rng = np.random.default_rng(3)
    parts = [judged(truth, times, 0.0, rng) for truth, times in ((np.array([3.0, 0, -3]), 5), (np.zeros(3), 1))]
    score = np.stack([score for _, score in parts])
    together = Observations.of(score, 0.0).evidence()
    for k in range(2):
        alone = Observations.of(score[[k]], 0.0).evidence()
        assert_allclose(together[[k]], alone, atol=1e-9)


def test_shapes_have_mean_0_spread_1_and_weight_1():
    for shape in shapes():
        assert shape.weight.sum() == pytest.approx(1)
        assert shape.weight @ shape.centre == pytest.approx(0, abs=1e-9)
        if shape.kind != "mixed":
            assert shape.weight @ (shape.centre**2 + shape.width**2) == pytest.approx(1, abs=0.02)


def test_the_tie_rate_is_found_though_strengths_are_not_known():
    rng, rows = np.random.default_rng(4), []
    for query in range(40):
        truth = rng.normal(size=6)
        for i, j in zip(*np.triu_indices(6, 1), strict=True):
            odds = np.array([np.exp((truth[i] - truth[j]) / 2), np.exp((truth[j] - truth[i]) / 2), 1.0])
            said = rng.choice(3, p=odds / odds.sum())
            pair = (f"d{i}", f"d{j}") if said != 1 else (f"d{j}", f"d{i}")
            rows.append({"query": f"q{query}", "winner": pair[0], "loser": pair[1], "tie": said == 2})
    fit = strengths(Preferences.from_rows(rows))
    assert _tie_rate(fit, list(_batches(fit))) == pytest.approx(1.0, abs=0.25)
    assert fit.tie_rate > 1.1  # too large: strengths fitted to single judgments are too far apart


def right(found, truth):
    """Fraction of right pair relations."""
    i, j = np.triu_indices(len(truth), 1)
    total = []
    for cut in found.values():
        rank = {item: place for place, tier in enumerate(cut) for item in tier}
        value = np.array([rank[f"d{k:03d}"] for k in range(len(truth))])
        total.append(np.mean(np.sign(value[j] - value[i]) == np.sign(truth[i] - truth[j])))
    return np.mean(total)


def test_what_queries_have_in_common_is_learnt():
    rng = np.random.default_rng(6)
    for truth, least in ((np.repeat([1.0, 0.0, -1.0], 3), 0.93), (1.5 * rng.normal(size=9), 0.85)):
        rows = [row for query in range(12) for row in every_pair(truth, 10, rng, f"q{query:02}")]
        assert right(tiers(strengths(Preferences.from_rows(rows))).tiers, truth) > least
