import numpy as np
import pytest
from numpy.testing import assert_allclose

import rankdev as rd
from rankdev.errors import UsageError
from rankdev.evaluation.scores import Scores
from rankdev.statistics.judgment_uncertainty import (
    UncertainScores,
    _places,
    _prior,
    evaluate_with_uncertainty,
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


def test_more_judgments_leave_the_queries_doubt_only():
    width = {}
    for times in (4, 60):
        doubt = evaluate_with_uncertainty(judged(6, times, np.random.default_rng(1)), runs(6), ["RDQ@3"], resamples=40)
        row = doubt.to_polars().filter(system="middling").to_dicts()[0]
        width[times] = row["judgments_high"] - row["judgments_low"]
    assert width[60] < 0.7 * width[4]


def test_both_kinds_of_doubt_by_a_stand_in():
    """Scores that do not depend on the references have no doubt from judgments, and the queries' own from queries."""
    value = np.array([0.0, 1.0] * 6)

    def score(tiers, systems, measures):
        return Scores(("s",), tuple(tiers), ("M",), value[None, :, None])

    rows = [(f"q{k:02d}", "x", "y") for k in range(12)] * 2
    doubt = evaluate_with_uncertainty(rows, {"s": {}}, ["M"], resamples=300, evaluate=score)
    assert_allclose(doubt.judgments, 0.5)
    assert_allclose(doubt.both.std(), np.sqrt(0.25 / 13), rtol=0.15)  # Dirichlet weights: σ / √(n + 1)


def test_the_draw_of_queries_has_its_own_seed():
    """The weights of queries must not follow the random numbers that drew the judgments."""
    value = np.linspace(0, 1, 12)

    def score(tiers, systems, measures):
        return Scores(("s",), tuple(tiers), ("M",), value[None, :, None])

    rows = [(f"q{k:02d}", "x", "y") for k in range(12)] * 2
    doubt = evaluate_with_uncertainty(rows, {"s": {}}, ["M"], resamples=1, seed=4, evaluate=score)
    weight = np.random.Generator(np.random.Philox(5)).standard_exponential(12)
    assert_allclose(doubt.both[0, 0, 0], (weight * value).sum() / weight.sum())


def test_unavailable_scores_are_left_out_and_wrong_calls_refused():
    def score(tiers, systems, measures):
        return Scores(("s",), tuple(tiers), ("M",), np.array([[[np.nan], [0.4]]]))

    rows = [("q1", "x", "y"), ("q2", "x", "y")] * 2
    assert_allclose(evaluate_with_uncertainty(rows, {"s": {}}, ["M"], resamples=3, evaluate=score).both, 0.4)
    with raises("not-a-number", UsageError, name="alpha"):
        evaluate_with_uncertainty(rows, {"s": {}}, ["M"], alpha=1.0)
    with raises("bad-value", UsageError, name="method"):
        evaluate_with_uncertainty(rows, {"s": {}}, ["M"], method="rank-centrality")


@pytest.mark.filterwarnings("error")
def test_resamples_without_a_score_do_not_count():
    known = {"s": [0.5, np.nan], "t": [0.4, 0.4]}

    def score(tiers, systems, measures):
        return Scores(tuple(systems), tuple(tiers), ("M", "L"), np.array([[known[name]] * 2 for name in systems]))

    rows = [("q1", "x", "y"), ("q2", "x", "y")] * 2
    doubt = evaluate_with_uncertainty(rows, {"s": {}, "t": {}}, ["M", "L"], resamples=3, evaluate=score)
    assert doubt.beats()["a_beats_b"].to_list() == [1.0, None]
    assert doubt.to_polars().filter(measure="L", system="s").row(0)[2:] == (None,) * 5
    assert doubt.differences().row(0) == pytest.approx(("M", "s", "t", *[0.1] * 5))
    assert doubt.differences().row(1)[3:] == (None,) * 5
    some = doubt.both.copy()
    some[0, 0, 0] = np.nan
    assert UncertainScores(doubt.scores, some, doubt.judgments, 3, 0.95, 0).beats()["a_beats_b"][0] == 1.0


@pytest.mark.slow  # docs/trust.md has it at length
def test_the_true_order_is_the_target():
    """One judgment of each pair: tiers say nothing, and a reversed ranking must not get everything."""
    rng = np.random.default_rng(3)
    items = [f"d{i}" for i in range(8)]
    rows = []
    for q in range(12):
        for i in range(8):
            for j in range(i + 1, 8):
                first = rng.random() < 1 / (1 + np.exp(-0.6 * (j - i)))
                rows.append((f"q{q:02d}", items[i], items[j]) if first else (f"q{q:02d}", items[j], items[i]))
    runs = {"good": {f"q{q:02d}": items for q in range(12)}, "reversed": {f"q{q:02d}": items[::-1] for q in range(12)}}
    doubt = evaluate_with_uncertainty(rows, runs, ["RDQ@8"], resamples=40)
    good, bad = doubt.to_polars().iter_rows(named=True)
    assert good["judgments_low"] > bad["judgments_high"]
    assert bad["judgments_low"] < rdq(items, items[::-1], k=8) < bad["judgments_high"]
    assert doubt.beats()["a_beats_b"][0] == 1.0
    first, again = (evaluate_with_uncertainty(rows[:56], runs, ["RDQ@8"], resamples=10) for _ in range(2))
    assert_allclose(again.both, first.both)


def test_drawn_all_at_once_or_one_by_one_is_the_same():
    rows, runs_of_all = judged(4, 5, np.random.default_rng(2)), runs(4)

    def one_by_one(tiers, systems, measures):
        return rd.evaluate(rd.References.from_tiers(tiers), systems, measures)

    fast, slow = (
        evaluate_with_uncertainty(rows, runs_of_all, ["RDQ@3"], resamples=10, evaluate=way)
        for way in (None, one_by_one)
    )
    assert_allclose(fast.both, slow.both)


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
