"""Gradients by swap gains and the mean score, beside loops over what rd.rdq itself gives."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankdev as rd
from rankdev.learning import training as lambdas
from rankdev.learning.training import Lambdas, MeanScore, PositionGains, trainable, training_labels
from tests.common.examples import examples
from tests.raising import raises

MEASURES = ["RDQ@3", "RDQ(penalty=m1)@4", "RDQ(alpha=2,lam=0,weights=carousel)@5", "RDQ(weights=[2,1],tail=0.5)@10"]


@st.composite
def training_sets(draw):
    sizes = draw(st.lists(st.integers(1, 9), min_size=1, max_size=4))
    labels = [draw(st.sampled_from([-1, 0, 0, 1, 1.5, 2, 3])) for _ in range(sum(sizes))]
    predictions = draw(st.permutations(range(sum(sizes))))
    return sizes, np.array(labels, float), np.array(predictions) / 3


def references_of(sizes, labels):
    ends = np.cumsum(sizes)
    return [{f"{row}": labels[row] for row in range(end - size, end)} for end, size in zip(ends, sizes, strict=True)]


def slow_gradients(measure, sizes, labels, predictions, normalise):
    """Swap every pair, score both lists by rd.score, push the better row up by what is gained."""
    first, second = np.zeros(len(labels)), np.zeros(len(labels))
    for grades in references_of(sizes, labels):
        if max(grades.values()) <= 0:
            continue
        reference = rd.Reference.from_grades(grades)
        ranked = sorted(grades, key=lambda item: -predictions[int(item)])
        pushes = []
        for i, above in enumerate(ranked):
            for j in range(i + 1, len(ranked)):
                better, worse = sorted([above, ranked[j]], key=lambda item: reference.get(item, math.inf))
                if reference.get(better, math.inf) == reference.get(worse, math.inf):
                    continue
                right, wrong = list(ranked), list(ranked)
                right[i], right[j] = better, worse
                wrong[i], wrong[j] = worse, better
                gain = max(0.0, rd.score(reference, right, measure) - rd.score(reference, wrong, measure))
                apart = predictions[int(better)] - predictions[int(worse)]
                chance = 1 / (1 + math.exp(apart))
                pushes.append((int(better), int(worse), chance, gain / (0.01 + abs(apart)) if normalise else gain))
        total = sum(2 * chance * gain for _, _, chance, gain in pushes)
        share = math.log2(1 + total) / total if normalise and total > 0 else 1
        for better, worse, chance, gain in pushes:
            first[better] -= chance * gain * share
            first[worse] += chance * gain * share
            second[[better, worse]] += chance * (1 - chance) * gain * share
    return first, np.maximum(second, lambdas.SMALLEST_HESSIAN)


@pytest.mark.parametrize("measure", MEASURES)
@examples(30)
@given(training_sets(), st.booleans())
def test_gradients_are_the_gains_of_swaps(measure, drawn, normalise):
    sizes, labels, predictions = drawn
    found = Lambdas(measure, normalise=normalise).gradients(labels, predictions, sizes)
    wanted = slow_gradients(measure, sizes, labels, predictions, normalise)
    np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_blocks_change_nothing(monkeypatch):
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 40, 60)
    labels, predictions = rng.integers(0, 4, sizes.sum()), rng.normal(size=sizes.sum())
    whole = Lambdas("RDQ@10").gradients(labels, predictions, sizes)
    monkeypatch.setattr(lambdas, "CELLS", 500)
    np.testing.assert_allclose(Lambdas("RDQ@10").gradients(labels, predictions, sizes), whole, atol=1e-12)


@pytest.mark.parametrize("measure", MEASURES)
@examples(30)
@given(training_sets(), st.booleans())
def test_the_mean_score_is_that_of_evaluate(measure, drawn, tied):
    sizes, labels, predictions = drawn
    predictions = np.floor(predictions) if tied else predictions
    grades = references_of(sizes, labels)
    references = rd.References.from_grades({f"q{i}": entry for i, entry in enumerate(grades)})
    run = {f"q{i}": {item: predictions[int(item)] for item in entry} for i, entry in enumerate(grades)}
    wanted = rd.evaluate(references, {"run": run}, measure, ties="expected").means[0, 0]
    assert MeanScore(measure).mean(labels, predictions, sizes) == pytest.approx(wanted, abs=1e-12)


def test_a_reference_may_have_items_without_a_row():
    references = rd.References.from_tiers({"q2": [["a"], ["b", "gone"]], "q1": [["gone"], ["c"], ["d"]]})
    queries, items = ["q2", "q2", "q2", "q1", "q1"], ["b", "x", "a", "d", "c"]
    labels = training_labels(references, queries, items)
    assert labels.tolist() == [1, 0, 2, 1, 2]
    predictions = np.array([3.0, 2, 1, 2, 1])
    wanted = rd.evaluate(references, {"run": {"q2": ["b", "x", "a"], "q1": ["d", "c"]}}, "RDQ@5").means[0, 0]
    assert MeanScore("RDQ@5", references=references).mean(labels, predictions, [3, 2]) == pytest.approx(wanted)
    assert MeanScore("RDQ@5").mean(labels, predictions, [3, 2]) != pytest.approx(wanted)


@pytest.mark.parametrize(("labels", "group"), [([3, 0, 0], 0), ([0.5, 0, 0], 0), ([2, 2, 0], 0), ([0, 0, 2], 1)])
def test_labels_that_do_not_fit_their_reference_are_refused(labels, group):
    references = rd.References.from_tiers({"q1": [["a"], ["b"]], "q2": [["a"]]})
    with raises("unfit-labels", rd.DataError, group=group):
        PositionGains.of(trainable("RDQ@5"), labels, [2, 1], references)


def test_noise_changes_from_round_to_round_and_begins_anew_with_a_training():
    rng = np.random.default_rng(0)
    labels, zeros, later = rng.integers(0, 4, 30), np.zeros(30), rng.normal(size=30)
    objective = Lambdas("RDQ@5", noise=1, seed=3)
    rounds = [objective.gradients(labels, scores, [30])[0] for scores in (zeros, later, later, zeros, later)]
    assert not np.array_equal(rounds[1], rounds[2])
    np.testing.assert_array_equal(rounds[:2], rounds[3:])
    np.testing.assert_array_equal(Lambdas("RDQ@5", noise=1, seed=3).gradients(labels, zeros, [30])[0], rounds[0])
    assert not np.array_equal(Lambdas("RDQ@5", noise=1, seed=4).gradients(labels, zeros, [30])[0], rounds[0])


def test_weights_of_rows_or_queries_multiply():
    rng = np.random.default_rng(0)
    labels, scores = rng.integers(0, 4, 30), rng.normal(size=30)
    unweighted, _ = Lambdas("RDQ@5").gradients(labels, scores, [10, 20])
    by_query, _ = Lambdas("RDQ@5").gradients(labels, scores, [10, 20], [2.0, 3.0])
    by_row, _ = Lambdas("RDQ@5").gradients(labels, scores, [10, 20], np.repeat([2.0, 3.0], [10, 20]))
    np.testing.assert_array_equal(by_query, by_row)
    np.testing.assert_array_equal(by_query, unweighted * np.repeat([2.0, 3.0], [10, 20]))
    each = [
        MeanScore("RDQ@5").mean(labels[rows], scores[rows], [len(scores[rows])]) for rows in (slice(10), slice(10, 30))
    ]
    weighted = MeanScore("RDQ@5").mean(labels, scores, [10, 20], [2.0, 3.0])
    assert weighted == pytest.approx((2 * each[0] + 3 * each[1]) / 5)


REFERENCES = rd.References.from_lists({"q": ["a"]})


@pytest.mark.parametrize(
    ("call", "kind", "fields"),
    [
        (lambda: Lambdas("nDCG@5"), "not-trainable", {"measure": "nDCG@5"}),
        (lambda: Lambdas("RDQ"), "needs-cutoff", {"measure": "RDQ"}),
        (lambda: Lambdas("RDQ@5", noise=-1), "not-a-number", {"name": "noise", "value": -1}),
        (lambda: MeanScore("RDQ@5").mean([1, 0], [0, 0], None), "no-groups", {}),
        (lambda: Lambdas("RDQ@5").gradients([], [], [0]), "none-given", {}),
        (lambda: MeanScore("RDQ@5").mean([1, 0], [0, 0], [3]), "unequal", {"counts": (3, 2)}),
        (lambda: MeanScore("RDQ@5").mean([1, 0], [0, 0], [2.5]), "bad-value", {"name": "a group", "value": 2.5}),
        (lambda: MeanScore("RDQ@5").mean([1, math.nan], [0, 0], [2]), "bad-value", {"row": 1, "name": "the label"}),
        (lambda: MeanScore("RDQ@5").mean([1, 0], [0, math.nan], [2]), "diverged", {}),
        (lambda: MeanScore("RDQ@5").mean([1, 0], [0], [2]), "unequal", {"counts": (1, 2)}),
        (lambda: Lambdas("RDQ@5").gradients([1, 0], [0, 1], [2], [1, 2, 3]), "unequal", {"counts": (3, 2)}),
        (lambda: Lambdas("RDQ@5").gradients([1, 0], [0, 1], [2], [1, -1]), "bad-value", {"name": "weights"}),
        (lambda: training_labels(REFERENCES, ["q"], ["a", "b"]), "unequal", {"counts": (1, 2)}),
        (lambda: training_labels(REFERENCES, ["p"], ["a"]), "no-reference", {"query": "p"}),
        (
            lambda: MeanScore("RDQ@5", references=REFERENCES).mean([1, 1], [0, 1], [1, 1]),
            "unequal",
            {"names": ("groups", "references"), "counts": (2, 1)},
        ),
    ],
)
def test_wrong_calls_are_refused(call, kind, fields):
    with raises(kind, **fields):
        call()
