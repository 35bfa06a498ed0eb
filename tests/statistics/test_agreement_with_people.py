"""Agreement with people: fractions by hand, ties as ties, judges as the ceiling, intervals that hold."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

import rankdev as rd
from rankdev.statistics.agreement_with_people import fraction_limits
from tests.raising import noted, raises
from tests.statistics.conftest import scored


def scores_of(apart):
    """Two systems x and y whose differences x − y are ``apart[query, measure]``."""
    return scored(np.stack([0.5 + apart / 2, 0.5 - apart / 2]), "xy")


def said(winners, **more):
    return [
        {"query": f"q{i}", "a": "x", "b": "y", "winner": w, **{k: v[i] for k, v in more.items()}}
        for i, w in enumerate(winners)
    ]


def test_agreement_by_hand():
    scores = scores_of(np.array([[0.2, -0.1], [0.1, 0.0], [-0.3, 0.2], [0.4, 0.1]]))
    found = rd.agreement_with_people(scores, said(["x", "y", "y", "tie"]))
    # M0: right, wrong, right; M1: wrong, no difference, wrong
    assert found.agreement.tolist() == pytest.approx([2 / 3, 0.5 / 3])
    assert found.ties == 1
    assert found.to_polars().columns == ["measure", "agreement", "low", "high", "verdicts"]
    assert found.to_polars()["verdicts"].to_list() == [3, 3]
    assert found.between().row(0)[:3] == ("m0", "m1", pytest.approx(0.5))


@pytest.mark.parametrize("winners", ["xxx", "baa", ("right", "left", "left")])
def test_sides_may_be_named_in_either_order_and_by_letter(winners):
    scores = scores_of(np.array([[0.2], [-0.2], [0.2]]))
    sides = zip(range(3), ["yx", "yx", "xy"], winners, strict=True)
    turned = [{"query": f"q{i}", "a": a, "b": b, "winner": name} for i, (a, b), name in sides]
    expected = [1.0] if winners != "xxx" else [2 / 3]
    for said in (turned, pl.DataFrame(turned), rd.Preferences.from_table(pl.DataFrame(turned))):
        assert rd.agreement_with_people(scores, said).agreement.tolist() == expected


def test_judges_are_each_others_ceiling():
    scores = scores_of(np.array([[0.2], [0.2]]))
    votes = [("q0", "x", "j1"), ("q0", "x", "j2"), ("q0", "y", "j3"), ("q1", "x", "j1"), ("q1", "tie", "j2")]
    table = [{"query": q, "a": "x", "b": "y", "winner": w, "judge": j} for q, w, j in votes]
    # q0: six ordered pairs, two of which agree; q1: the judge with a preference meets a tie, a half
    assert rd.agreement_with_people(scores, table).ceiling == pytest.approx((2 + 0.5) / 7)
    assert rd.agreement_with_people(scores, said(["x", "x"])).ceiling is None


def test_several_preferences_of_a_query_count_together():
    """Preferences that all come in threes are no more than the queries they come from."""
    apart = np.random.default_rng(3).normal(size=(20, 1))
    once = said(np.where(np.arange(20) < 14, np.where(apart[:, 0] > 0, "x", "y"), "x"))
    one, three = (rd.agreement_with_people(scores_of(apart), once * times).to_polars() for times in (1, 3))
    assert one.select("low", "high").row(0) == pytest.approx(three.select("low", "high").row(0))


@pytest.mark.parametrize(
    ("change", "kind", "fields"),
    [
        ({"winner": "z"}, "bad-value", {"row": 0, "name": "winner", "value": "z"}),
        ({"a": "xx", "winner": "tie"}, "not-a-choice", {"name": "system", "value": "xx", "near": "x"}),
        ({"winner": "tie"}, "no-preference", {}),
    ],
)
def test_wrong_verdicts_are_refused(change, kind, fields):
    with raises(kind, rd.DataError, **fields):
        rd.agreement_with_people(scores_of(np.array([[0.2]])), [{**said(["x"])[0], **change}])


def test_what_was_not_scored_is_said():
    scores = scores_of(np.full((40, 1), 0.2))
    noted(rd.agreement_with_people(scores, said(["x"] * 45)).remarks, "unscored", count=5, preferences=45)
    few = rd.agreement_with_people(scores_of(np.array([[0.1]])), said(["x"]))
    noted(few.remarks, "few-queries", count=1)
    assert few.between().is_empty()
    assert few.to_polars().select("low", "high").row(0) == (pytest.approx(0.025), 1.0)


def test_limits_of_single_answers_are_those_of_clopper_and_pearson():
    for won, n in ((8, 8), (0, 8), (13, 20), (50, 56)):
        hits = (np.arange(n) < won).astype(float)
        low, high = fraction_limits(hits[:, None], np.ones(n), 0.05)
        few = won * (1 - won / n) / (n - 1)  # a sample's own variance is n/(n − 1) times as large
        number = min(n, won / n * (1 - won / n) / (few / n)) if few else n
        a, b = won / n * number, (1 - won / n) * number
        assert low[0] == pytest.approx(stats.beta.ppf(0.025, a, b + 1) if a else 0.0)
        assert high[0] == pytest.approx(stats.beta.ppf(0.975, a + 1, b) if b else 1.0)


def test_measures_are_compared_by_student_s_t_over_queries():
    rng = np.random.default_rng(6)
    right = np.where(rng.random((40, 3)) < [0.9, 0.5, 0.6], 0.1, -0.1)
    found = rd.agreement_with_people(scores_of(right), said(["x"] * 40))
    row = found.between().row(0, named=True)
    hits = (right > 0).astype(float)
    limits = stats.ttest_rel(hits[:, 0], hits[:, 1]).confidence_interval(1 - 0.05 / 3)  # Bonferroni
    assert (row["low"], row["high"]) == (pytest.approx(limits.low), pytest.approx(limits.high))
