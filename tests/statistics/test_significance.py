"""Tests of pairs: p, intervals and verdicts against SciPy and plain twins, and against each other."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import rankdev as rd
from rankdev.errors import DataError, UsageError
from rankdev.measures.base import MeasureInfo
from rankdev.statistics.decision import detectable, losing
from rankdev.statistics.flips import scale_for
from rankdev.statistics.significance import significance
from rankdev.statistics.tests import adjust, benjamini_hochberg, holm, unseen
from tests.common.examples import examples
from tests.common.memory import peak
from tests.raising import kinds as kinds_of
from tests.raising import noted, raises, warns
from tests.statistics.conftest import scored

p_lists = st.lists(st.floats(0, 1), min_size=1, max_size=12).map(np.array)
NAMES = tuple("abcdefgh")


def row(result, **where):
    return result.to_polars().row(by_predicate=pl.all_horizontal(pl.col(k) == v for k, v in where.items()), named=True)


@pytest.mark.parametrize("queries", [12, 30, 200])
def test_student_agrees_with_scipy(make_scores, rng, queries):
    values = rng.random((2, queries))
    got = significance(make_scores(values)).to_polars().row(0, named=True)
    expected = stats.ttest_rel(values[1], values[0])
    interval = expected.confidence_interval(0.95)
    assert got["p"] == pytest.approx(expected.pvalue)
    assert (got["low"], got["high"]) == pytest.approx((interval.low, interval.high))


@pytest.mark.parametrize("queries", [4, 9])
def test_few_queries_agree_with_scipy_exactly(make_scores, queries, rng):
    values = np.rint(rng.random((3, queries)) * 8) / 8
    found = significance(make_scores(values), test="randomization").to_polars()["p"]
    for p, (a, b) in zip(found, [(1, 0), (2, 0), (2, 1)], strict=True):
        expected = stats.permutation_test(
            (values[a] - values[b],), np.mean, permutation_type="samples", n_resamples=np.inf
        )
        assert p == pytest.approx(expected.pvalue)


def test_drawn_flips_approach_the_exact_answer(make_scores, rng):
    apart = rng.normal(0.3, 1, 21)
    drawn = significance(make_scores([np.zeros(21), apart]), test="randomization").to_polars()["p"][0]
    sums = np.zeros(1)
    for one in apart:
        sums = np.concatenate([sums + one, sums - one])
    exact = (np.abs(sums) >= abs(apart.sum()) - 1e-9).mean()
    assert abs(drawn - exact) < 5 * np.sqrt(exact / 100_000)
    certain = make_scores([np.zeros(60), rng.normal(3, 1, 60)])
    for permutations in (10, 100):
        found = significance(certain, test="randomization", permutations=permutations)
        assert found.to_polars()["p"][0] == 1 / (permutations + 1)  # the observed flip counts among the drawn
        assert ("finest-p" in kinds_of(found.remarks)) == (permutations == 10)  # 1/11 is above .05


def plain_p(apart, signs, delta):
    """The share of flips whose sum is as extreme for the hypothesis that the mean is delta."""
    moved = apart - delta
    return (np.abs(signs @ moved) >= abs(moved.sum()) - 1e-9).mean()


@pytest.mark.parametrize("queries", [7, 12])
def test_the_interval_of_flips_holds_what_they_do_not_reject(make_scores, rng, queries):
    apart = rng.exponential(1, queries) - 0.3
    got = row(significance(make_scores([np.zeros(queries), apart]), test="randomization"), a="s1")
    signs = 1 - 2.0 * ((np.arange(2**queries)[:, None] >> np.arange(queries)) & 1)
    for end, outside in ((got["low"], -1e-6), (got["high"], 1e-6)):
        assert plain_p(apart, signs, end - outside) > 0.05
        assert plain_p(apart, signs, end + outside) <= 0.05


@pytest.mark.parametrize("test", ["t", "randomization"])
@pytest.mark.parametrize("correction", ["none", "holm", "bh"])
@pytest.mark.parametrize("over", ["measure", "all"])
@pytest.mark.parametrize("clustered", [False, True])
def test_intervals_hold_0_exactly_where_p_is_above_alpha(make_scores, test, correction, over, clustered):
    rng = np.random.default_rng(1)
    told = []
    for queries in (6, 9, 24, 40):
        values = np.rint(rng.normal(0, 1, (5, queries, 2)) * 4) / 4 + np.linspace(0, 1, 5)[:, None, None]
        values[1, rng.random(queries) < 0.7] = values[0, rng.random(queries) < 0.7][:1]
        clusters = {f"q{i}": str(int(i * 0.6)) for i in range(queries)} if clustered else None
        options = {"test": test, "correction": correction, "family": over, "permutations": 2000, "clusters": clusters}
        found = significance(make_scores(values), **options).to_polars()
        holds = (found["low"] <= 0) & (found["high"] >= 0)
        assert holds.to_list() == (found["p_adjusted"] > 0.05).to_list()
        assert holds.to_list() == (found["verdict"] == "cannot tell").to_list()
        assert ((found["low"] <= found["difference"]) & (found["difference"] <= found["high"])).all()
        told.append(found.height - holds.sum())
    assert max(told) > 0


def test_the_levels_of_holm_are_between_single_and_bonferroni(make_scores, rng):
    values = rng.normal(0, 1, (4, 60)) + np.array([[0.0], [0.1], [0.3], [2.0]])
    found = significance(make_scores(values))
    p, m = found.to_polars()["p"].to_numpy(), 6
    rejected = int((found.to_polars()["p_adjusted"] <= 0.05).sum())
    expected = [0.05 / (m - min(int((p < one).sum()), rejected)) for one in p]
    assert found.frame["level"].to_list() == pytest.approx(expected)
    for level, got in zip(expected, found.to_polars().iter_rows(named=True), strict=True):
        apart = values[int(got["a"][1])] - values[int(got["b"][1])]
        interval = stats.ttest_1samp(apart, 0).confidence_interval(1 - level)
        assert (got["low"], got["high"]) == pytest.approx((interval.low, interval.high))


@given(p_lists)
def test_holm_agrees_with_its_definition(p):
    adjusted, order = holm(p), np.argsort(p)
    for rank, place in enumerate(order):
        steps = [min(1.0, p[order[i]] * (len(p) - i)) for i in range(rank + 1)]
        assert adjusted[place] == pytest.approx(max(steps))


@given(p_lists)
def test_benjamini_hochberg_agrees_with_scipy(p):
    assert benjamini_hochberg(p) == pytest.approx(stats.false_discovery_control(p))


@given(p_lists, st.sampled_from(["none", "holm", "bh"]))
def test_p_is_at_most_its_level_exactly_where_the_adjusted_one_is_at_most_alpha(p, correction):
    adjusted, level = adjust(p, correction, 0.05)
    close = np.isclose(p, level, rtol=1e-9)
    assert np.array_equal((p <= level)[~close], (adjusted <= 0.05)[~close])


def test_families(make_scores, rng):
    scores = make_scores(rng.random((4, 12, 2)))
    for over, parts in (("measure", 2), ("all", 1)):
        found = significance(scores, family=over).to_polars()
        expected = np.concatenate([holm(part) for part in np.split(found["p"].to_numpy(), parts)])
        assert found["p_adjusted"].to_numpy() == pytest.approx(expected)
    assert significance(scores).method == "Paired t-tests, Holm over 6 pairs"
    assert significance(scores, family="all", correction="bh").method.endswith("Benjamini–Hochberg over 12 comparisons")
    assert significance(scores, correction="none").method == "Paired t-tests, uncorrected"
    assert significance(scores.select(systems=["s0", "s1"], measures=["m0"])).method == "Paired t-test"


@pytest.mark.parametrize("lower", [False, True])
def test_signs_are_candidate_less_baseline(rng, lower):
    values = rng.normal([[0.3], [0.6], [0.5]], 0.05, (3, 30))[:, :, None]
    kinds = (MeasureInfo("m", higher_is_better=not lower, range=(0.0, 1.0)),)
    scores = scored(values, ("old", "new", "other"), ["m"], kinds=kinds)
    two = row(significance(scores.select(systems=["old", "new"])), a="new")
    assert two["b"] == "old"
    assert two["difference"] == pytest.approx(values[1].mean() - values[0].mean())
    assert (two["wins"], two["losses"]) == ((0, 30) if lower else (30, 0))
    assert two["verdict"] == ("worse" if lower else "better")
    everything = significance(scores)
    assert everything.to_polars().select("a", "b").rows() == [("new", "old"), ("other", "old"), ("other", "new")]
    assert everything.order("m") == (["old", "other", "new"] if lower else ["new", "other", "old"])
    against = significance(scores, baselines=["new", "new"])
    assert against.to_polars().select("a", "b").rows() == [("old", "new"), ("other", "new")]
    turned = row(significance(scores, baselines="new", correction="none"), a="old")
    for name, other in (("difference", "difference"), ("low", "high"), ("high", "low")):
        assert turned[name] == pytest.approx(-two[other])
    assert turned["p"] == two["p"]
    assert turned["verdict"] == ("better" if lower else "worse")


def test_fewer_than_six_differing_queries_decide_nothing(rng):
    values = np.tile(rng.random(40), (2, 1))
    for count, told in ((5, False), (6, True)):
        values[1, :count] = values[0, :count] - rng.uniform(0.4, 0.41, count)
        values[1] = np.clip(values[1], 0, 1)
        scores = scored(values, "ab", ["P@1"])
        for test in ("t", "randomization"):
            got = row(significance(scores, test=test), a="b")
            assert (got["p_adjusted"] <= 0.05) == (got["verdict"] == "worse")
            if not told:
                reach = 1 - 0.025 ** (1 / 40)  # about 3.7/n of the range
                assert got["verdict"] == "cannot tell"
                assert got["low"] <= got["difference"] - reach + 1e-12
                assert got["high"] >= got["difference"] + reach - 1e-12
    few = scored(np.zeros((2, 40)), "ab", ["P@1"])
    assert noted(significance(few).remarks, "few-differ", measure="P@1")
    assert str(significance(few).conclusion) == "b and a are identical in P@1 on these 40 queries."
    assert unseen(40, 0.05) == pytest.approx(1 - 0.025 ** (1 / 40))


def test_unbounded_measures_use_the_range_seen(make_scores):
    values = np.zeros((2, 30))
    values[1, :3] = 12.0
    found = significance(make_scores(values))
    assert noted(found.remarks, "range-seen", range=12.0)
    assert row(found, a="s1")["high"] == pytest.approx(1.2 + 12 * unseen(30, 0.05))


@pytest.mark.parametrize("test", ["randomization", "t"])
@pytest.mark.parametrize("noise", [0.0, 1e-16])
def test_identical_systems_have_p_1_and_no_effect(make_scores, test, noise, rng):
    one = np.full(30, 0.1) + 0.2
    found = significance(make_scores([one, one + noise, rng.random(30)]), test=test, permutations=500)
    got = row(found, a="s1", b="s0")
    assert (got["p"], got["p_adjusted"], got["difference"], got["effect"]) == (1.0, 1.0, 0.0, 0.0)
    assert (got["wins"], got["ties"], got["losses"]) == (0, 30, 0)


@pytest.mark.parametrize("test", ["randomization", "t"])
def test_a_single_unit_is_rounding_and_no_difference(make_scores, test):
    # neighbouring floats halfway between two units are rounded apart; that must not win a query or move a p-value
    scale = scale_for(np.array([1.0]), 30)[0]
    other = np.full(30, 0.5 + 0.5 / scale)
    one = np.nextafter(other, 1.0)
    assert (np.rint(one * scale) - np.rint(other * scale) == 1).all()
    one[:6] += [0.1, 0.2, 0.3, -0.1, 0.25, 0.5]
    one[5] = 1.0
    clean = np.where(np.arange(30) < 6, one, other)
    noisy, expected = (significance(make_scores([other, x]), test=test).to_polars() for x in (one, clean))
    assert noisy.select("wins", "ties", "losses").row(0) == (5, 24, 1)
    assert noisy["p"][0] == pytest.approx(expected["p"][0])


def test_wins_effect_and_difference_by_hand(make_scores):
    got = row(significance(make_scores([[0, 1, 1, 0], [1, 1, 0.5, 0]])), a="s1")
    # differences 1, 0, −0.5, 0: mean 0.125, deviation √(1.1875/3)
    assert got["difference"] == pytest.approx(0.125)
    assert got["effect"] == pytest.approx(0.125 / np.sqrt(1.1875 / 3))
    assert (got["wins"], got["ties"], got["losses"]) == (1, 2, 1)
    equal = row(significance(make_scores([np.full(10, 0.1), np.full(10, 0.7)])), a="s1")
    assert (equal["effect"], equal["p"]) == (np.inf, 2 / 2**10)  # no less than by flips


def test_missing_values_leave_queries_out_with_a_warning(make_scores, rng):
    values = rng.random((2, 30, 2))
    gaps = values.copy()
    gaps[0, :4, 0] = np.nan
    with warns("gaps", gaps=(("m0", 4),), queries=30):
        found = significance(make_scores(gaps)).to_polars()
    expected = significance(make_scores(values[:, 4:, :1])).to_polars()
    assert found["p"][0] == expected["p"][0]
    assert found["p"][1] == significance(make_scores(values), measures=["m1", "m1"]).to_polars()["p"][0]


def test_bad_data_and_calls_are_refused(make_scores):
    with raises("no-common-query", DataError, measure="m0"):
        significance(make_scores(np.full((2, 3), np.nan)))
    for wrong in (np.inf, -1e200, 1e-200):  # whose squares are no numbers, or 0
        with raises("bad-value", DataError, system="s0", query="q0", measure="m0", name="score"):
            significance(make_scores([[wrong, 0], [0, wrong]]))
    with raises("too-few", UsageError, unit="system", count=1):
        significance(make_scores(np.ones((1, 3))))
    with raises("no-rows", DataError):
        significance(make_scores(np.ones((2, 0))))
    two = make_scores(np.eye(2))
    for options in (
        *({"test": "randomisation"}, {"correction": "x"}, {"family": "every"}, {"baselines": ["s7"]}),
        *({"baselines": ["s0", "s1"]}, {"permutations": 0.5}, {"alpha": 95}, {"measures": "m0"}, {"margin": -1}),
        {"clusters": {"q0": 0, "q1": 1}, "replicates": {"x": ["s0", "s1"]}},
    ):
        with pytest.raises(UsageError):
            significance(two, **options)
    with raises("several-collections", UsageError):
        significance({"one": two, "other": two})


@pytest.mark.parametrize("queries", [2, 3])
@pytest.mark.parametrize("test", ["t", "randomization"])
def test_intervals_of_few_queries_stay_within_the_range(rng, queries, test):
    rows = significance(scored(rng.random((3, queries)), measures=["P@1"]), test=test).to_polars()
    assert rows["low"].min() >= -1
    assert rows["high"].max() <= 1
    assert set(rows["verdict"]) == {"cannot tell"}


def test_flips_need_no_table_of_flips_and_queries(make_scores, rng):
    scores = make_scores(rng.random((2, 50_000)))
    assert peak(lambda: significance(scores, test="randomization", permutations=600)) < 150  # as one table, 240


# What is decided


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize(
    ("gain", "noise", "margin", "verdict"),
    [
        (0.1, 0.05, 0.02, "better"),
        (-0.1, 0.05, 0.02, "worse"),
        (0.01, 0.01, 0.05, "better"),  # and smaller than the margin
        (0.0, 0.02, 0.05, "same"),
        (0.03, 0.15, 0.05, "not worse"),
        (-0.03, 0.15, 0.05, "cannot tell"),  # but the other is not worse
        (0.0, 0.3, 0.05, "cannot tell"),
    ],
)
def test_verdicts_with_a_margin_and_those_of_the_systems_exchanged(rng, lower, gain, noise, margin, verdict):
    noises = rng.normal(0, 1, 60)
    old = rng.uniform(0.3, 0.6, 60)
    new = old + (-gain if lower else gain) + noise * (noises - noises.mean()) / noises.std(ddof=1)
    kinds = (MeasureInfo("P@1", higher_is_better=not lower, range=(0.0, 1.0)),)
    scores = scored([old, new], "ab", ["P@1"], kinds=kinds)
    found = significance(scores, margin=margin)
    (decision,) = found.decisions
    assert (decision.verdict, found.to_polars()["verdict"].item()) == (verdict, verdict)
    assert str(decision) == found.conclusion
    assert ("smaller than the margin" in found.conclusion) == (gain == 0.01)
    assert ("takes about" in found.conclusion) == (verdict == "cannot tell")
    (other,) = significance(scores.select(systems=["b", "a"]), margin=margin).decisions
    assert str(decision.turned) == str(other)
    assert (decision.turned.verdict, decision.turned.turned.verdict) == (other.verdict, verdict)
    with raises("not-a-number", UsageError, name="margin"):
        significance(scores, margin=1.0)  # 5 for 5% would decide everything


def test_limits_are_told_from_0_and_from_the_margin(rng):
    noise = rng.normal(0, 0.1, 30)
    noise -= noise.mean()
    half = stats.t.ppf(0.975, 29) * noise.std(ddof=1) / np.sqrt(30)
    scores = scored([np.full(30, 0.5), 0.5 + noise + half + 0.0002], "ab", ["P@1"])
    assert "[0.0002, " in significance(scores).conclusion
    assert "[0.0002, " in str(significance(scores))
    close = scored([np.full(30, 0.5), 0.5 + noise + half - 0.0202], "ab", ["P@1"])
    assert "may be up to 0.0202 worse" in rd.gate(close, baseline="a", margin=0.02).conclusion


@pytest.mark.parametrize("queries", [10, 50])
def test_a_detectable_difference_is_found_with_its_power(make_scores, rng, queries):
    row = significance(make_scores(rng.random((2, queries)))).decisions[0]
    size = detectable(np.array([row.low]), np.array([row.high]), np.array([0.05]))[0]
    t = stats.t.ppf(0.975, queries - 1)
    power = stats.nct.sf(t, queries - 1, size / row.deviation * np.sqrt(queries))
    assert power == pytest.approx(0.8, abs=0.03)


def test_losses_are_bounded_by_clopper_and_pearson():
    for lost, queries in ((0, 25), (3, 40), (10, 10)):
        expected = stats.binomtest(lost, queries).proportion_ci(0.95, "exact").high
        assert losing(lost, queries) == pytest.approx(expected)
    values = np.full((2, 25), 0.9)
    values[1, :2] = 0.1
    scores = scored(values, "ab", ["P@1"])
    assert significance(scores).losses == "2 of these 25 queries lost more than 0.5; up to 26% of all may."
    assert significance(scores, baselines="b").losses.startswith("None of these 25 queries")


@examples(20)
@given(st.integers(0, 10_000))
def test_compare_leaderboard_table_and_gate_agree(seed):
    rng = np.random.default_rng(seed)
    systems, queries = int(rng.integers(2, 7)), int(rng.integers(8, 60))
    values = np.clip(rng.normal(0.5, 0.15, (systems, queries)) + rng.normal(0, 0.1, (systems, 1)), 0, 1)
    values = np.rint(values * 8) / 8 if rng.random() < 0.5 else values
    lower = bool(rng.random() < 0.3)
    kinds = (MeasureInfo("m", higher_is_better=not lower, range=(0.0, 1.0)),)
    scores = scored(values, NAMES[:systems], ["m"], kinds=kinds)
    found = significance(scores)
    better = {(NAMES[i], NAMES[j]) for i, j in np.argwhere(found.better["m"])}
    assert better == {
        (one["a"], one["b"]) if one["verdict"] == "better" else (one["b"], one["a"])
        for one in found.to_polars().iter_rows(named=True)
        if one["verdict"] in ("better", "worse")
    }
    board = rd.leaderboard(scores)
    for one in board.to_polars().iter_rows(named=True):
        above = sum((other, one["system"]) in better for other in NAMES)
        below = sum((one["system"], other) in better for other in NAMES)
        assert (one["rank_low"], one["rank_high"]) == (1 + above, systems - below)
        assert one["may_be_best"] == (above == 0)
    assert board.conclusion == found.conclusion
    marks = rd.table(scores)
    letters = {mark: name for name, mark in marks.marks.items()}
    shown = marks.to_polars()
    assert better == {(name, letters[mark]) for name, own in shown.select("system", "marks").rows() for mark in own}
    a, b = scores.systems[1], scores.systems[0]
    pair = scores.select(systems=[b, a])
    gated = rd.gate(pair, baseline=b, margin=0.1).to_polars().row(0, named=True)
    alone = significance(pair, margin=0.1).to_polars().row(0, named=True)
    for name in ("difference", "low", "high", "wins", "ties", "losses"):
        assert gated[name] == alone[name]
    if alone["verdict"] in ("better", "same", "not worse"):
        assert gated["verdict"] == "pass"
    if gated["verdict"] == "fail":
        assert alone["verdict"] == "worse"


def test_many_systems_have_a_leader_and_few_pairs_a_sentence_each(rng):
    values = rng.normal(0, 0.05, (4, 40)) + np.array([[0.7], [0.69], [0.4], [0.2]])
    scores = scored(values, "abcd", ["P@1"])
    assert significance(scores).conclusion == "b leads in P@1. a cannot be told from it; both are better than c and d."
    assert significance(scores).not_told_from("P@1") == {"b": ["a"], "a": ["b"], "c": [], "d": []}
    noisy = values[2] + 0.02 + np.tile([-0.3, 0.3], 20)
    apart = np.stack([noisy, values[2], values[2] - 0.03 * rng.random(40)])
    told = significance(scored(apart, "abc", ["P@1"]))
    assert told.better["P@1"].tolist() == [[False] * 3, [False, False, True], [False] * 3]
    assert told.conclusion == "a leads in P@1. b and c cannot be told from it."  # c is worse than another only
    equal = significance(scored(values[[0, 0, 3]], "abc", ["P@1"]))
    assert equal.conclusion == "a and b lead in P@1, with equal means; both are better than c."
    against = significance(scores, baselines="d").conclusion.splitlines()
    assert [line.split(" on ")[0] for line in against] == [f"{name} is better than d" for name in "abc"]
    assert significance(scores, baselines=["c", "d"]).conclusion.count("\n") == 3
    text = str(significance(scores))
    assert "ahead of the next" in text
    assert "Paired t-tests, Holm over 6 pairs, 40 queries; --pairs shows them all." in text


# Data with a problem


def with_problem(kind):
    """References and two runs, the second of which has a problem."""
    queries = [f"q{i}" for i in range(12)]
    grades = {query: {"a": 2, "b": 1, "c": 0} for query in queries}
    good = {query: ["a", "b", "c"] for query in queries}
    bad = {
        "no-relevant-item": {query: ["a.0", "b.0", "c.0"] for query in queries},
        "few-answered": {query: ["a", "b"] for query in queries[:5]},
        "mostly-unjudged": {query: ["x", "y", "z"] for query in queries[:11]} | {queries[11]: ["a", "y", "z"]},
    }[kind]
    return rd.References.from_grades(grades), {"good": good, "bad": bad}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["no-relevant-item", "few-answered", "mostly-unjudged"])
def test_data_with_a_problem_decide_nothing(kind):
    references, runs = with_problem(kind)
    scores = rd.evaluate(references, runs, ["nDCG@10", "P@5"])
    found = significance(scores)
    assert set(found.to_polars()["verdict"]) == {"cannot tell"}
    assert found.summary()["significant"].to_list() == [0, 0]
    assert not {"few-differ", "skewed", "one-query-decides"} & set(kinds_of(found.remarks))
    for result in (
        found,
        rd.leaderboard(scores),
        rd.leaderboard({"one": scores, "other": scores}),
        rd.table(scores, baselines="good"),
        rd.gate(scores, baseline="good", margin=0.1),
        rd.meta_analysis({"one": scores, "other": scores}),
        significance(rd.Scores.pooled({"one": scores, "other": scores})),
    ):
        assert result.problems[0].kind == kind
        assert result.conclusion.startswith("No decision: ")
        assert str(result).startswith("No decision: ")
    assert not rd.gate(scores, baseline="good", margin=0.1)
    assert found.discriminative_power().remarks[0].kind == kind
    if kind == "no-relevant-item":
        assert "'a.0'" in found.conclusion
        assert "'a'" in found.conclusion


def test_the_unjudged_share_is_stated():
    references = rd.References.from_grades({f"q{i}": {"a": 1, "b": 0} for i in range(8)})
    runs = {name: {f"q{i}": ["a", "b", *more] for i in range(8)} for name, more in (("x", "c"), ("y", "cde"))}
    scores = rd.evaluate(references, runs, "P@4")
    for found in (significance(scores), rd.gate(scores, baseline="x", margin=0.1)):
        assert found.unjudged == "up to 50% of the top 4 unjudged"
        assert found.unjudged in " ".join(str(found).split())
    assert "Mean over 8 queries; * best; up to 50% of the top 4 unjudged" in str(scores)
    assert significance(rd.evaluate(references, {n: {"q1": ["a"]} for n in "xy"}, "P@4")).unjudged == ""


# Notes where assumptions fail


def remarks_on(apart, measure="P@5", **options):
    """Test two systems whose differences are these, by query."""
    apart = np.asarray(apart)[:, None]
    scores = scored(np.stack([0.5 - apart / 2, 0.5 + apart / 2]), "ab", [measure])
    return significance(scores, **options).remarks


def test_well_behaved_differences_have_no_remark():
    rng = np.random.default_rng(1)
    assert remarks_on(rng.normal(0.3, 0.3, 40)) == ()
    assert remarks_on(rng.normal(0, 0.3, 40)) == ()


@pytest.mark.parametrize("test", ["t", "randomization"])
def test_skewed_differences_that_are_significant(test):
    """Small wins and larger losses, of which a sample may show too few."""
    apart = np.append(np.linspace(0.05, 0.2, 18), [-0.3, -0.2])
    note = noted(remarks_on(apart, test=test), "skewed", measure="P@5", count=1)
    assert note.fields["skewness"] > 2
    assert "skewed" not in kinds_of(remarks_on(apart - apart.mean(), test=test))
    assert "skewed" not in kinds_of(remarks_on(np.tile(apart, 10), test=test))  # of many queries, it matters little


def test_one_query_that_dominates():
    apart = np.append(np.tile([0.02, -0.02], 10), -0.9)
    note = noted(remarks_on(apart), "one-query-decides", query="q20", a="b", b="a")
    assert (note.fields["mean"], note.fields["without"]) == pytest.approx((-0.9 / 21, 0.0))
    heavy = {f"q{i}": 8.0 if i == 7 else 1.0 for i in range(15)}  # a usual query that is asked often
    assert "one-query-decides" not in kinds_of(remarks_on(np.tile([0.2, 0.1, 0.15], 5), weights=heavy))


def test_almost_identical_pairs():
    apart = np.append(np.zeros(30), [0.1, 0.2])
    assert noted(remarks_on(apart), "few-differ", count=1, pairs=1)
    assert "range-seen" not in kinds_of(remarks_on(apart))
    assert noted(remarks_on(apart, "mine"), "range-seen", measure="mine")


# Discriminative power


@pytest.fixture
def five(rng):
    values = rng.normal(0, 1, (5, 30, 2)) + np.arange(5)[:, None, None] / 3
    return scored(values, "abcde", ("P@5", "AP@5"))


def test_curves_are_the_tests_p_values_in_order(five):
    found = significance(five, correction="none", test="t").discriminative_power()
    expected = sorted(
        stats.ttest_rel(five.of("AP@5")[i], five.of("AP@5")[j]).pvalue for i in range(5) for j in range(i)
    )
    assert found.to_polars().filter(measure="AP@5")["p"].to_list() == pytest.approx(expected)
    row = found.summary().filter(measure="AP@5").row(0, named=True)
    assert row["significant"] == sum(p <= 0.05 for p in expected)
    assert row["fraction"] == row["significant"] / 10


def test_the_needed_difference_is_just_significant(five):
    rows = significance(five, correction="none", test="t", alpha=0.1).discriminative_power().to_polars()
    for row in rows.iter_rows(named=True):
        one, other = (five.of(row["measure"])["abcde".index(row[name])] for name in "ab")
        apart = one - other
        assert stats.ttest_1samp(apart - apart.mean() + row["needed"], 0).pvalue == pytest.approx(0.1)
    summary = significance(five, correction="none", test="t", alpha=0.1).discriminative_power().summary()
    assert summary["needed_by_all"][0] == rows.filter(measure="P@5")["needed"].max()


def test_what_rounding_makes_of_no_difference_is_none():
    old = np.random.default_rng(0).uniform(0, 0.5, 30)
    values = np.stack([old, old + np.tile([0.01, -0.01], 15)])[:, :, None]
    (found,) = significance(rd.Scores(("old", "new"), tuple(map(str, range(30))), ("P@5",), values)).decisions
    assert (found.difference, found.p) == (0.0, 1.0)
    assert "To settle" not in str(found)


@pytest.mark.parametrize("n", [1, 2])
def test_what_shows_no_deviation_promises_no_number_of_queries(n):
    values = np.stack([np.full((n, 1), 0.5), np.full((n, 1), 0.6)])
    (found,) = significance(rd.Scores(("old", "new"), tuple(map(str, range(n))), ("P@5",), values)).decisions
    assert str(found).endswith("More queries are needed; how many depends on the true difference.")


@pytest.mark.parametrize(("test", "stated"), [("t", True), ("randomization", False)])
def test_the_range_seen_is_stated_where_intervals_are_made_of_it(test, stated):
    values = np.random.default_rng(0).uniform(0, 100, (2, 4, 1))
    found = significance(rd.Scores(("a", "b"), tuple("wxyz"), ("latency",), values), test=test)
    assert ("range-seen" in kinds_of(found.remarks), found.frame["low"].is_finite().all()) == (stated, stated)
