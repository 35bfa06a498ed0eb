from fractions import Fraction
from importlib.util import find_spec

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rankdev.errors import DataError, RankdevWarning, UsageError
from rankdev.evaluation.scores import Scores
from rankdev.statistics._randomization import Flips, enumerated, tilted_p
from rankdev.statistics.contrasts import Family
from rankdev.statistics.corrections import benjamini_hochberg, holm
from rankdev.statistics.equivalence import equivalence
from rankdev.statistics.flips.exact import flip_words, scale_for, stream_keys
from rankdev.statistics.significance import significance
from tests.common.examples import examples
from tests.common.memory import peak
from tests.raising import raises, warns
from tests.statistics.plain import exact_p

p_lists = st.lists(st.floats(0, 1), min_size=1, max_size=12).map(np.array)


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def row(result, **where):
    return result.to_polars().row(by_predicate=pl.all_horizontal(pl.col(k) == v for k, v in where.items()), named=True)


@examples(60)
@given(st.lists(st.fractions(-1, 1, max_denominator=7).filter(bool), min_size=1, max_size=9))
def test_enumeration_agrees_with_counting_every_flip(apart):
    scaled = np.rint(np.array(apart, dtype=float) * 2**40)
    assert enumerated(scaled, 4.0 * len(apart)) == exact_p(apart)


@pytest.mark.parametrize("queries", [4, 9])
def test_few_queries_agree_with_scipy_exactly(make_scores, queries, rng):
    values = np.rint(rng.random((3, queries)) * 8) / 8
    found = significance(make_scores(values)).to_polars()["p"]
    for p, (a, b) in zip(found, [(0, 1), (0, 2), (1, 2)], strict=True):
        expected = stats.permutation_test(
            (values[a] - values[b],), np.mean, permutation_type="samples", n_resamples=np.inf
        )
        assert p == pytest.approx(expected.pvalue)


def test_drawn_flips_approach_the_exact_answer(make_scores, rng):
    values = np.zeros((2, 21))
    values[0] = rng.normal(0.3, 1, 21)
    exact = significance(make_scores(np.where(np.arange(21) < 20, values, 0))).to_polars()["p"][0]
    drawn = significance(make_scores(values), permutations=200_000).to_polars()["p"][0]
    one_more = exact_p_of(values[0])
    assert abs(drawn - one_more) < 5 * np.sqrt(one_more / 200_000)
    assert exact == pytest.approx(exact_p_of(values[0, :20]))


def exact_p_of(apart):
    sums = np.zeros(1)
    for one in apart:
        sums = np.concatenate([sums + one, sums - one])
    return (np.abs(sums) >= abs(apart.sum()) - 1e-9).mean()


def test_rejections_under_the_null_stay_near_alpha(make_scores, rng):
    values = rng.normal(0, 1, (400, 30))
    values = values[:, :, None]
    rejected = []
    for i in range(0, 400, 20):
        frame = significance(make_scores(values[i : i + 20]), permutations=999, correction="none").to_polars()
        p = {(a, b): p for a, b, p in frame.select("a", "b", "p").iter_rows()}
        rejected += [p[f"s{j}", f"s{j + 1}"] <= 0.05 for j in range(0, 20, 2)]
    assert abs(np.mean(rejected) - 0.05) < 4 * np.sqrt(0.05 * 0.95 / len(rejected))


def test_student_agrees_with_scipy(make_scores, rng):
    values = rng.random((2, 30))
    t = significance(make_scores(values), test="t").to_polars().row(0, named=True)
    expected = stats.ttest_rel(*values)
    interval = expected.confidence_interval(0.95)
    assert t["p"] == pytest.approx(expected.pvalue)
    assert (t["low"], t["high"]) == pytest.approx((interval.low, interval.high))


def test_equal_differences_have_the_p_of_sign_flips(make_scores):
    scores = make_scores([np.full(8, 0.7), np.full(8, 0.1)])
    with pytest.warns(RankdevWarning, match="1 pair differs by the same amount on all 8 queries"):
        got = row(significance(scores, test="t"), a="s0")
    assert got["p"] == 2 / 2**8
    assert (got["low"], got["high"]) == (pytest.approx(0.6), pytest.approx(0.6))


def plain_p(apart, signs, delta):
    """The share of flips whose sum is as extreme for the hypothesis that the mean is delta."""
    moved = apart - delta
    return ((np.abs(signs @ moved) >= abs(moved.sum()) - 1e-9).sum() + 1) / (len(signs) + 1)


def test_the_interval_holds_what_the_test_does_not_reject(make_scores, rng):
    apart = rng.exponential(1, 30) - 0.7
    got = row(significance(make_scores([apart, np.zeros(30)]), permutations=999), a="s0")
    words = flip_words(stream_keys(0, 30, 1)[0, 1], 30, 0, 999)
    signs = 1.0 - 2.0 * np.unpackbits(words.view(np.uint8), axis=1, count=30, bitorder="little")
    for end, outside in ((got["low"], -1e-6), (got["high"], 1e-6)):
        assert plain_p(apart, signs, end - outside) > 0.05
        assert plain_p(apart, signs, end + outside) <= 0.05


def test_the_interval_of_few_queries_is_exact(make_scores, rng):
    apart = rng.normal(0.5, 1, 7)
    got = row(significance(make_scores([apart, np.zeros(7)])), a="s0")
    signs = 1 - 2.0 * ((np.arange(2**7)[:, None] >> np.arange(7)) & 1)
    shares = [(np.abs(signs @ (apart - d)) >= abs((apart - d).sum()) - 1e-9).mean() for d in (got["low"], got["high"])]
    assert min(shares) > 0.05
    few = significance(make_scores([apart[:5], np.zeros(5)]))
    assert few.remarks == ("5 queries are too few for any significant difference at level 0.05 among 1 comparison",)
    assert (row(few, a="s0")["low"], row(few, a="s0")["high"]) == (-np.inf, np.inf)


@pytest.mark.parametrize("test", ["randomization", "t"])
@pytest.mark.parametrize("correction", ["none", "holm", "bh"])
@pytest.mark.parametrize("over", ["measure", "all"])
def test_intervals_hold_0_exactly_where_p_is_not_significant(make_scores, rng, test, correction, over):
    values = np.rint(rng.normal(0, 1, (5, 25, 2)) * 4) / 4 + np.linspace(0, 1, 5)[:, None, None]
    options = {"test": test, "correction": correction, "family": over, "permutations": 2000}
    found = significance(make_scores(values), **options).to_polars()
    holds = (found["low"] <= 0) & (found["high"] >= 0)
    assert holds.to_list() == (found["p_adjusted"] > 0.05).to_list()
    assert 0 < holds.sum() < found.height
    assert ((found["low"] <= found["difference"]) & (found["difference"] <= found["high"])).all()


def test_simultaneous_intervals_are_wider_than_single_ones_and_narrower_than_bonferroni(make_scores, rng):
    scores = make_scores(rng.normal(0, 1, (6, 60)))
    width = {
        name: (found["high"] - found["low"]).mean()
        for name in ("none", "holm")
        for found in [significance(scores, correction=name).to_polars()]
    }
    bonferroni = significance(scores, test="t", correction="none", alpha=0.05 / 15).to_polars()
    assert width["none"] < width["holm"] < (bonferroni["high"] - bonferroni["low"]).mean()
    against = significance(scores, baselines="s0").to_polars()
    assert (against["high"] - against["low"]).mean() < width["holm"]  # five comparisons, not fifteen


def test_simultaneous_intervals_agree_with_a_plain_loop(make_scores, rng):
    values = rng.normal(0, 1, (3, 20)) + np.array([[0], [0.1], [3]])
    found = significance(make_scores(values)).to_polars()
    apart = np.stack([values[a] - values[b] for a, b in ((0, 1), (0, 2), (1, 2))])
    centred = apart - apart.mean(axis=1, keepdims=True)
    flipped = centred * rng.choice([-1, 1], (4000, 1, 20))
    largest = np.abs(stats.ttest_1samp(flipped, 0, axis=2).statistic).max(axis=1)
    half = np.quantile(largest, 0.95) * apart.std(axis=1, ddof=1) / np.sqrt(20)
    assert ((found["high"] - found["low"]) / 2).to_list() == pytest.approx(half, rel=0.05)


def test_a_family_all_measures_counts_all_comparisons(make_scores, rng):
    scores = make_scores(rng.random((3, 30, 4)))
    found = significance(scores, family="all", permutations=5000).to_polars()
    assert found["p_adjusted"].to_numpy() == pytest.approx(holm(found["p"].to_numpy()))
    with pytest.raises(UsageError, match="one of measure, all"):
        significance(scores, family="every")


def test_flips_follow_from_the_number_of_pairs(make_scores, rng):
    scores = make_scores(rng.normal(0, 0.1, (35, 40)) + np.arange(35)[:, None])
    found = significance(scores, alpha=0.01)
    assert found.permutations == 2 * 595 / 0.01
    assert (found.to_polars()["p_adjusted"] < 0.01).all()
    with pytest.warns(RankdevWarning, match="smallest p of 1,000 flips is 0.001: nothing can be significant"):
        few = significance(scores, permutations=1000, alpha=0.01)
    assert (few.to_polars()["p_adjusted"] > 0.01).all()
    assert "give at least 119,000" in few.remarks[0]


@pytest.mark.parametrize("queries", [25, 60])
def test_tilted_flips_agree_with_the_exact_tail(rng, queries):
    # equal sizes: the sum is binomial, and the tail known
    apart = np.ones((6, queries))
    plus = (queries * np.array([0.7, 0.76, 0.8, 0.88, 0.92, 1.0])).astype(int)
    for line, k in zip(apart, plus, strict=True):
        line[k:] = -1
    exact = 2 * stats.binom.sf(plus - 1, queries, 0.5)
    found = np.mean([tilted_p(apart, 0.5, np.uint64(seed)) for seed in range(10)], axis=0)
    assert found == pytest.approx(exact, rel=0.15)


def test_tilted_flips_are_the_same_compiled_or_not(rng):
    apart = np.rint(rng.normal(0.5, 1, (20, 50)) * 2**30)
    assert np.array_equal(tilted_p(apart, 4.0, np.uint64(3)), tilted_p(apart, 4.0, np.uint64(3), compiled=False))


def test_large_families_get_small_p_from_tilted_flips(make_scores, rng, monkeypatch):
    values = rng.normal(0, 1, (8, 60)) + np.linspace(0, 1.5, 8)[:, None]
    plain = significance(make_scores(values)).to_polars()
    monkeypatch.setattr("rankdev.statistics.paired.COMPARED", 0)
    tilted = significance(make_scores(values))
    student = significance(make_scores(values), test="t").to_polars()
    assert tilted.permutations == 10_000
    assert "tilted flips" in tilted.remarks[-1]
    p = tilted.to_polars()["p"].to_numpy()
    assert np.log(p) == pytest.approx(np.log(student["p"].to_numpy()), rel=0.15, abs=0.3)
    assert np.log(p)[p > 1e-3] == pytest.approx(np.log(plain["p"].to_numpy())[p > 1e-3], abs=0.3)
    assert p.min() < 1e-6


@given(p_lists)
def test_holm_agrees_with_its_definition(p):
    adjusted = holm(p)
    order = np.argsort(p)
    for rank, place in enumerate(order):
        steps = [min(1.0, p[order[i]] * (len(p) - i)) for i in range(rank + 1)]
        assert adjusted[place] == pytest.approx(max(steps))


@given(p_lists)
def test_benjamini_hochberg_agrees_with_scipy(p):
    assert benjamini_hochberg(p) == pytest.approx(stats.false_discovery_control(p))


def test_corrections_are_over_the_pairs_of_a_measure(make_scores, rng):
    scores = make_scores(rng.random((4, 12, 2)))
    found = significance(scores).to_polars()
    for name in scores.measures:
        part = found.filter(measure=name)
        assert part["p_adjusted"].to_numpy() == pytest.approx(holm(part["p"].to_numpy()))
    plain = significance(scores, correction="none").to_polars()
    assert plain["p"].equals(plain["p_adjusted"], check_names=False)


@pytest.mark.parametrize("test", ["randomization", "t"])
@pytest.mark.parametrize("noise", [0.0, 1e-16])
def test_identical_systems_have_p_1_and_no_effect(make_scores, test, noise, rng):
    one = np.full(30, 0.1) + 0.2
    found = significance(make_scores([one, one + noise, rng.random(30)]), test=test, permutations=500)
    got = row(found, a="s0", b="s1")
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
    noisy, expected = (significance(make_scores([x, other]), test=test).to_polars() for x in (one, clean))
    assert noisy.select("wins", "ties", "losses").row(0) == (5, 24, 1)
    assert noisy["p"][0] == pytest.approx(expected["p"][0])


def test_wins_effect_and_difference_by_hand(make_scores):
    got = row(significance(make_scores([[1, 1, 0.5, 0], [0, 1, 1, 0]])), a="s0")
    # differences 1, 0, −0.5, 0: mean 0.125, deviation √(1.1875/3)
    assert got["difference"] == pytest.approx(0.125)
    assert got["effect"] == pytest.approx(0.125 / np.sqrt(1.1875 / 3))
    assert (got["wins"], got["ties"], got["losses"]) == (1, 2, 1)


def test_a_baseline_stands_second_and_turns_the_sign(make_scores, rng):
    scores = make_scores(rng.random((3, 15)))
    everything, against = significance(scores), significance(scores, baselines="s0")
    forward, turned = row(everything, a="s0", b="s2"), row(against, a="s2", b="s0")
    assert against.to_polars().select("a", "b").rows() == [("s1", "s0"), ("s2", "s0")]
    for name in ("difference", "effect"):
        assert turned[name] == -forward[name]
    single = row(significance(scores, correction="none"), a="s0", b="s2")
    alone = row(significance(scores, baselines="s0", correction="none"), a="s2", b="s0")
    assert (alone["low"], alone["high"]) == (-single["high"], -single["low"])
    assert (turned["wins"], turned["losses"]) == (forward["losses"], forward["wins"])
    assert turned["p"] == forward["p"]


def test_a_repeated_baseline_or_measure_counts_once(make_scores, rng):
    scores = make_scores(rng.random((3, 15)))
    once = significance(scores, baselines=["s0"]).to_polars()
    assert significance(scores, baselines=["s0", "s0"]).to_polars().equals(once)
    assert significance(scores, baselines="s0", measures=["m0", "m0"]).to_polars().equals(once)


def test_the_observed_flip_counts_among_the_drawn(make_scores, rng):
    scores = make_scores(rng.normal([[0.0], [2.0]], 1, (2, 60)))
    assert significance(scores, permutations=100).to_polars()["p"][0] == 1 / 101


def test_missing_values_leave_queries_out_with_a_warning(make_scores, rng):
    values = rng.random((2, 30, 2))
    gaps = values.copy()
    gaps[0, :4, 0] = np.nan
    with warns("gaps", gaps=(("m0", 4),), queries=30):
        found = significance(make_scores(gaps)).to_polars()
    expected = significance(make_scores(values[:, 4:, :1])).to_polars()
    assert found["p"][0] == expected["p"][0]
    assert found["p"][1] == significance(make_scores(values), measures=["m1"]).to_polars()["p"][0]


def test_bad_data_and_calls_are_refused(make_scores):
    nothing = np.full((2, 3), np.nan)
    with raises("no-common-query", DataError, measure="m0"):
        significance(make_scores(nothing))
    with raises("not-finite", DataError, system="s0", query="q0", measure="m0"):
        significance(make_scores([[np.inf, 1], [0, 1]]))
    with raises("too-few", UsageError, unit="system", count=1):
        significance(make_scores(np.ones((1, 3))))
    with raises("no-rows", DataError):
        significance(make_scores(np.ones((2, 0))))
    two = make_scores(np.eye(2))
    with pytest.raises(UsageError, match="did you mean randomization"):
        significance(two, test="randomisation")
    with pytest.raises(UsageError, match="one of holm"):
        significance(two, correction="x")
    with pytest.raises(UsageError, match="unknown system"):
        significance(two, baselines=["s7"])
    with pytest.raises(UsageError, match="every system is a baseline"):
        significance(two, baselines=["s0", "s1"])
    with pytest.raises(UsageError, match="permutations must be a whole number"):
        significance(two, permutations=0.5)
    with pytest.raises(UsageError, match="alpha must be"):
        significance(two, alpha=95)
    with pytest.raises(UsageError, match="measures must be a list of names"):
        significance(two, measures="m0")


def test_whole_floats_are_whole_numbers(make_scores, rng):
    scores = make_scores(rng.random((2, 30)))
    found = significance(scores, permutations=1e3, seed=1.0)
    assert found.to_polars().equals(significance(scores, permutations=1000, seed=1).to_polars())


def test_a_single_query_has_an_answer_where_there_is_one(make_scores):
    one = make_scores([[1.0], [0.5]])
    got = row(significance(one), a="s0")
    assert (got["p"], got["difference"], got["low"], got["effect"]) == (1.0, 0.5, -np.inf, None)
    with pytest.raises(DataError, match="at least two queries"):
        significance(one, test="t")


def test_constant_differences_have_an_infinite_effect(make_scores):
    got = row(significance(make_scores([np.full(10, 0.7), np.full(10, 0.1)])), a="s0")
    assert got["effect"] == np.inf
    assert got["p"] == float(Fraction(2, 2**10))
    assert got["low"] == pytest.approx(0.6)


def test_a_plain_table_and_pandas_will_do():
    table = pl.DataFrame({"system": ["a", "b"], "query": "q", "measure": "P@1", "value": [1.0, 0.0]})
    found = significance(table)
    assert found.to_polars()["p"][0] == 1.0
    assert list(found.to_pandas().columns) == found.to_polars().columns
    assert (found.seed, found.test, found.permutations) == (0, "randomization", 0)


@pytest.mark.skipif(not find_spec("numba"), reason="numba is not installed")
def test_engines_give_the_same_p(make_scores, rng, monkeypatch):
    scores: Scores = make_scores(rng.random((3, 50, 2)))
    found = []
    for least in (np.inf, 0):  # work from which numba is used
        monkeypatch.setattr("rankdev.statistics.flips.SMALL", least)
        found.append(significance(scores, permutations=25_000).to_polars())
    assert found[0].equals(found[1])


@pytest.mark.parametrize(
    ("queries", "systems", "options", "used", "drawn"),
    [
        (9, 2, {}, {"enumerated": 1}, "exact"),
        (9, 3, {"correction": "none"}, {"enumerated": 3}, "exact"),
        (9, 3, {}, {"enumerated": 3, "interval_permutations": 9999, "seed": 7}, "exact"),
        (
            40,
            2,
            {"permutations": 500},
            {"permutations": 500, "interval_permutations": 500, "seed": 7},
            "500 sign flips",
        ),
        (40, 2, {"test": "t", "permutations": 500}, {}, ""),
        (40, 3, {"test": "t", "correction": "none"}, {}, ""),
        (40, 3, {"test": "t"}, {"interval_permutations": 9999, "seed": 7}, ""),
    ],
)
def test_a_result_names_what_was_drawn_and_nothing_else(make_scores, rng, queries, systems, options, used, drawn):
    found = significance(make_scores(rng.random((systems, queries))), seed=7, **options)
    about = {"enumerated", "permutations", "interval_permutations", "seed"}
    assert {name: value for name, value in found.parameters.items() if name in about} == used
    assert found.drawn == drawn
    text = " ".join(str(found).split())
    assert ("exact: all sign flips were enumerated" in text) == ("enumerated" in used)
    assert ("seed = 7" in text) == ("seed" in used)
    assert (" permutations = " in text) == ("permutations" in used)


def test_some_p_values_are_exact_and_others_drawn(make_scores, rng):
    values = rng.random((3, 40))
    values[1, 10:] = values[0, 10:]  # ten differences are not zero
    found = significance(make_scores(values), permutations=300, correction="none")
    assert (found.enumerated, found.permutations, found.drawn) == (1, 300, "exact or 300 sign flips")
    assert "exact: 1 of 3 p-values, from all sign flips; the others from random ones" in " ".join(str(found).split())
    power = found.discriminative_power()
    assert power.parameters["enumerated"] == 1
    assert "exact: 1 of 3 p-values" in str(power)
    exact = significance(make_scores(values[:2]), correction="none").discriminative_power()
    assert not {"permutations", "seed"} & set(exact.parameters)


@given(st.integers(21, 150), st.integers(1, 400), st.integers(0, 5))
@examples(10)
def test_intervals_are_those_of_all_signs_in_one_table(queries, flips, seed):
    rng = np.random.default_rng(seed)
    values = np.round(rng.random((queries, 3)), 1)
    family = Family(values, np.arange(queries), np.array([0, 0, 1]), np.array([1, 2, 2]))
    drawn = Flips(family, flips, seed)
    words = flip_words(stream_keys(seed, queries, 1)[0, 1], queries, 0, flips)
    signs = 1.0 - 2.0 * np.unpackbits(words.astype("<u8").view(np.uint8), axis=1, count=queries, bitorder="little")
    np.testing.assert_array_equal(drawn.sums, (signs @ family.units).T)
    np.testing.assert_array_equal(drawn.balances, signs.sum(axis=1))


@pytest.mark.parametrize("least", [np.inf, 0])
def test_memory_does_not_grow_with_flips_times_queries(make_scores, rng, monkeypatch, least):
    monkeypatch.setattr("rankdev.statistics.flips.SMALL", least)  # work from which numba is used
    scores = make_scores(rng.random((2, 50_000)))
    assert peak(lambda: significance(scores, permutations=600)) < 100  # as one table, 240


def test_simultaneous_intervals_need_no_table_of_flips_and_queries(make_scores, rng):
    scores = make_scores(rng.random((3, 12_000)))
    assert peak(lambda: significance(scores, test="t")) < 60  # as one table, 1,000


def test_tilted_flips_need_no_table_of_flips_and_queries(rng):
    apart = np.rint(rng.normal(0.05, 1, (2, 15_000)) * 2**30)
    assert peak(lambda: tilted_p(apart, 1.0, np.uint64(3), compiled=False)) < 100  # as one table, 300


@pytest.mark.parametrize("queries", [1, 2, 3])
def test_intervals_of_few_queries_stay_within_the_range(queries):
    values = np.random.default_rng(queries).random((3, queries, 1))
    scores = Scores(tuple("abc"), tuple(f"q{i}" for i in range(queries)), ("P@1",), values)
    for found in (significance(scores), equivalence(scores, margin=0.05)):
        rows = found.to_polars()
        assert rows["low"].min() >= -1
        assert rows["high"].max() <= 1
