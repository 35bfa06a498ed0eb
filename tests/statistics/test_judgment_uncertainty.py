import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.special import log_expit

import rankdev as rd
from rankdev.errors import UsageError
from rankdev.statistics.judgment_uncertainty import (
    UncertainScores,
    _places,
    _prior,
    _scored,
    draw_strengths,
    evaluate_with_uncertainty,
    posterior,
    ranking_curve,
)
from tests.common.one_ranking import rdq
from tests.raising import noted, raises, warns


def judged(queries, times, rng):
    """Three items a query, of which the first is best, compared all with all."""
    rows = []
    for query in range(queries):
        for a, b in (("x", "y"), ("x", "z"), ("y", "z")):
            for _ in range(times):
                rows.append((f"q{query:02d}", a, b) if rng.random() < 0.8 else (f"q{query:02d}", b, a))
    return rows


def runs(queries):
    orders = {"good": ["x", "y", "z"], "middling": ["y", "x", "z"], "bad": ["z", "y", "x"]}
    return {name: {f"q{query:02d}": order for query in range(queries)} for name, order in orders.items()}


def test_the_table_and_the_odds():
    doubt = evaluate_with_uncertainty(judged(8, 6, np.random.default_rng(0)), runs(8), ["RDQ@3", "AP@3"], resamples=40)
    table = doubt.to_polars()
    assert table.columns == ["system", "measure", "value", "low", "high", "judgments_low", "judgments_high"]
    assert (table["low"] <= table["high"]).all()
    odds = {(row["a"], row["b"]): row["a_beats_b"] for row in doubt.beats().filter(measure="RDQ@3").to_dicts()}
    assert odds["good", "bad"] > 0.95
    assert doubt.beats().filter(measure="AP@3")["a_beats_b"].to_list() == [0.5] * 3  # all items are in the reference


def test_both_kinds_of_doubt_and_a_seed_of_its_own_for_queries():
    """P@1 does not depend on the order: no doubt from judgments, and that of 12 values from queries."""
    rows = [(f"q{k:02d}", "x", "y") for k in range(12)] * 2
    value = np.array([0.0, 1.0] * 6)
    run = {f"q{k:02d}": ["x"] if value[k] else ["nothing"] for k in range(12)}
    doubt = evaluate_with_uncertainty(rows, {"s": run}, ["P@1"], resamples=300, seed=4)
    assert_allclose(doubt.judgments, 0.5)
    assert_allclose(doubt.both.std(), np.sqrt(0.25 / 13), rtol=0.15)  # Dirichlet weights: σ / √(n + 1)
    weight = np.random.Generator(np.random.Philox(5)).standard_exponential(12)
    assert_allclose(doubt.both[0, 0, 0], (weight * value).sum() / weight.sum())


def test_queries_without_a_score_are_left_out_and_wrong_calls_refused():
    rows, runs = [("q1", "x", "y"), ("q2", "x", "y"), ("q2", "y", "x")] * 2, {"s": {"q1": ["x"], "q2": ["x", "y"]}}
    assert set(evaluate_with_uncertainty(rows, runs, ["Tau@2"], resamples=30).both.ravel()) == {-1.0, 1.0}
    with raises("not-a-number", UsageError, name="alpha"):
        evaluate_with_uncertainty(rows, runs, ["Tau@2"], alpha=1.0)
    with raises("bad-value", UsageError, name="method"):
        evaluate_with_uncertainty(rows, runs, ["Tau@2"], method="rank-centrality")


@pytest.mark.filterwarnings("error")
def test_resamples_without_a_score_do_not_count():
    scores = rd.Scores(("s", "t"), ("q",), ("M", "L"), np.zeros((2, 1, 2)))
    drawn = np.tile([[0.5, np.nan], [0.4, 0.4]], (3, 1, 1))
    some = drawn.copy()
    some[0, 0, 0] = np.nan
    for both in (drawn, some):
        doubt = UncertainScores(scores, both, drawn, 3, 0.05, 0)
        assert doubt.beats()["a_beats_b"].to_list() == [1.0, None]
        assert doubt.to_polars().filter(measure="L", system="s").row(0)[2:] == (None,) * 5
        assert doubt.differences().row(0) == pytest.approx(("M", "s", "t", *[0.1] * 5))
        assert doubt.differences().row(1)[3:] == (None,) * 5


def test_many_orders_are_scored_at_once():
    items = [("q1", ["x", "y", "z"]), ("q2", ["u", "v"])]
    returned = {"q1": ["y", "z"], "q2": ["u"]}
    orders = np.array([[[2, 0, 1], [1, 0, 2]], [[0, 1, 2], [0, 1, 2]]])  # the third of q2 is padding
    found = _scored(items, returned, orders, ["RDQ@2"])
    true = [["zxy", "vu"], ["xyz", "uv"]]
    for draw, row in enumerate(true):
        for query, order in enumerate(row):
            assert found[draw, query, 0] == rdq([*order], returned[items[query][0]], k=2)


def test_systems_that_rank_alike_do_not_differ():
    """Others have draws of their own, so that intervals of differences hold: docs/trust.md."""
    same = runs(6)["good"]
    doubt = evaluate_with_uncertainty(judged(6, 2, np.random.default_rng(5)), {"a": same, "b": same}, "RDQ@3")
    assert not doubt.differences().select("difference", "low", "high").to_numpy().any()


def test_few_judgments_and_one_judge_are_named():
    rows = [("q", "a", "b", "gpt"), ("q", "b", "c", "gpt"), ("q", "c", "d", "gpt")]
    with warns("few-judgments", count=1, queries=1):
        doubt = evaluate_with_uncertainty(rows, {"s": {"q": ["a", "b"]}}, ["RDQ@2"], resamples=4)
    noted(doubt.remarks, "one-judge", judge="gpt")


def test_places_in_a_ranking():
    assert _places(["a", "b", "c", "d"], ["c", "x", "a"]).tolist() == [2.0, 3.5, 1.0, 3.5]


def test_one_judge_asked_again_is_more_than_one_answer():
    """Of people, repeated answers of one person count once; of one judge alone each tells of that judge's order."""
    rows = [("q", a, b) for a, b in (("x", "y"), ("y", "z"), ("x", "z"))] * 6 + [("q", "y", "x")] * 2
    runs_of_one = {"s": {"q": ["x", "y", "z"]}}
    alone, nobody = (
        evaluate_with_uncertainty(given, runs_of_one, ["RDQ@3"], resamples=40)
        for given in ([(*row, "model") for row in rows], rows)
    )
    assert_allclose(alone.judgments, nobody.judgments)
    noted(alone.remarks, "one-judge", judge="model")
    assert not nobody.remarks


def test_a_few_judgments_in_agreement_are_not_certain():
    rows = [("q1", "x", "y"), ("q1", "x", "z"), ("q1", "y", "z"), ("q2", "u", "v"), ("q2", "u", "w"), ("q2", "v", "w")]
    with warns("few-judgments"):
        found = evaluate_with_uncertainty(rows, {"s": {"q1": list("xyz"), "q2": list("uvw")}}, "RDQ@3", resamples=80)
    row = found.to_polars().row(0, named=True)
    assert row["judgments_low"] < 0.97
    assert row["value"] > 0.9


def test_the_prior_of_strengths_is_a_curve_over_the_ranking():
    score, square = curve = ranking_curve(
        np.array([[1.0, 2, 3], [2, 1, 9]]), np.array([[True] * 3, [True, True, False]])
    )
    z = 0.8694  # the normal quantile of 2.625 ÷ 3.25
    assert_allclose(score[0], [z, 0, -z], atol=1e-3)
    assert_allclose(square[0], [z**2 / 3, -2 * z**2 / 3, z**2 / 3], atol=1e-3)
    assert score[1, 0] == -score[1, 1] < 0 == score[1, 2]  # the last is padding
    mean, deviation = _prior(np.array([0.5, 2.0, 3.0]), curve)
    assert_allclose(mean, 2 * score + 3 * square)
    assert deviation == pytest.approx(np.exp(0.5))


def test_an_interval_holds_its_estimate_where_nearly_all_draws_are_equal():
    runs = {"a": {"q": ["x", "y"]}, "b": {"q": ["y", "x"]}}
    found = evaluate_with_uncertainty([("q", "x", "y")] * 3, runs, "RDQ@5")
    for rows, name in ((found.to_polars(), "value"), (found.differences(), "difference")):
        for row in rows.rows(named=True):
            assert row["low"] <= row["judgments_low"] <= row[name] <= row["judgments_high"] <= row["high"]


def by_integration(wins, mean, deviation, nodes):
    """Log evidence and mean by brute force: every combination of strengths on a grid."""
    x = np.linspace(-5, 5, nodes)
    mass = stats.norm.logpdf(x) - np.log(stats.norm.pdf(x).sum())
    strength = mean + np.array(list(itertools.product(x * deviation, repeat=len(mean))))
    log_mass = np.array(list(itertools.product(mass, repeat=len(mean)))).sum(axis=1)
    for i, j in itertools.permutations(range(len(mean)), 2):
        log_mass += wins[i, j] * log_expit(strength[:, i] - strength[:, j])
    weight = np.exp(log_mass - log_mass.max())
    return weight @ strength / weight.sum(), np.log(weight.sum()) + log_mass.max()


@pytest.mark.parametrize("seed", range(6))
def test_the_posterior_is_that_of_integration(seed):
    rng = np.random.default_rng(seed)
    items = 3 + seed % 2
    wins, mean = rng.integers(0, 3, (items, items)).astype(float), rng.normal(size=items)
    np.fill_diagonal(wins, 0)
    deviation = float(rng.choice([0.3, 1.0, 2.0]))
    found = posterior(wins[None], mean[None], deviation, np.zeros((1, items)))
    expected, evidence = by_integration(wins, mean, deviation, 41 if items == 3 else 23)
    assert found.mode[0] == pytest.approx(expected, abs=0.2 * deviation)
    assert found.evidence[0] == pytest.approx(evidence, abs=0.15)


def test_queries_do_not_depend_on_each_other_and_padding_changes_nothing():
    rng = np.random.default_rng(0)
    wins = [rng.integers(0, 3, (n, n)) * (1.0 - np.eye(n)) for n in (5, 3, 5)]
    padded = np.stack([np.pad(one, (0, 5 - len(one))) for one in wins])
    together = posterior(padded, np.zeros((3, 5)), 1.5, np.zeros((3, 5)))
    for k, alone in enumerate(wins):
        found = posterior(alone[None], np.zeros((1, len(alone))), 1.5, np.zeros((1, len(alone))))
        assert together.mode[k, : len(alone)] == pytest.approx(found.mode[0], abs=1e-6)
        assert together.evidence[k] == pytest.approx(found.evidence[0], abs=1e-6)


def test_a_ranking_that_agrees_with_the_judgments_says_how_unjudged_items_are_ordered():
    """Ten queries; items 0 to 3 are judged in the order of the ranking, item 4 once and lost, item 5 never."""
    wins = np.zeros((6, 6))
    for i, j in itertools.combinations(range(5), 2):
        wins[i, j] = 2.0 if j < 4 else 0.0
    wins[3, 4] = 1.0
    known = np.stack([wins] * 10), np.ones((10, 6), bool)
    places = np.tile(np.arange(1.0, 7.0), (10, 1))
    curves = (ranking_curve(each, known[1]) for each in (places, places[:, [0, 1, 2, 3, 5, 4]]))
    drawn = [np.concatenate(list(draw_strengths(*known, curve, 40, np.random.default_rng(1)))) for curve in curves]
    last, before = ((each[:, :, 4] > each[:, :, 5]).mean() for each in drawn)
    assert last > 0.6
    assert before < last - 0.1
