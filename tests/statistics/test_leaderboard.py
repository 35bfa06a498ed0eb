"""Leaderboards: ranks follow from the tests of all pairs, letters from the same, and tasks are left out one by one."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from scipy import stats

import rankdev as rd
from rankdev.errors import DataError, UsageError
from rankdev.statistics.corrections import holm
from rankdev.statistics.groups import letter_groups, neighbours, points, ranks
from rankdev.statistics.means import mean_intervals
from tests.raising import raises

SYSTEMS = tuple("abcdef")
PAIRS = list(combinations(SYSTEMS, 2))


def scored(values, measures=("P@5",), systems=SYSTEMS):
    values = np.asarray(values, dtype=float).reshape(len(values), -1, len(measures))
    return rd.Scores(systems[: len(values)], tuple(f"q{i}" for i in range(values.shape[1])), measures, values)


@pytest.fixture
def rng():
    return np.random.default_rng(1)


@pytest.fixture
def scores(rng):
    return scored(rng.normal(0, 0.3, (6, 40)) + rng.normal(0, 0.3, 40) + np.arange(6)[:, None] / 8)


def allowing_for_skewness(apart):
    """Return the larger p of Student's t and of Hall's."""
    n, mean, deviation = len(apart), apart.mean(), apart.std(ddof=1)
    g = (1 + 8 / n) * stats.skew(apart)
    t = np.sqrt(n) * mean / deviation
    hall = t + g * t**2 / (3 * np.sqrt(n)) + g**2 * t**3 / (27 * n) + g / (6 * np.sqrt(n))
    size = min(abs(t), abs(hall)) if t * hall > 0 else 0.0
    return 2 * stats.t.sf(size, n - 1)


def test_ranks_and_letters_say_what_the_tests_of_all_pairs_say(scores):
    board = rd.leaderboard(scores).to_polars()
    tests = rd.significance(scores).to_polars()
    apart = np.stack([scores.of("P@5")[SYSTEMS.index(a)] - scores.of("P@5")[SYSTEMS.index(b)] for a, b in PAIRS])
    p = holm(np.maximum(tests["p"].to_numpy(), [allowing_for_skewness(row) for row in apart]))
    differ = {}
    for row, significant in zip(tests.iter_rows(named=True), p <= 0.05, strict=True):
        differ[row["a"], row["b"]] = np.sign(row["difference"]) if significant else 0
        differ[row["b"], row["a"]] = -differ[row["a"], row["b"]]
    assert {1, -1, 0} == set(differ.values())
    groups = dict(zip(board["system"], board["group"], strict=True))
    for row in board.iter_rows(named=True):
        others = [differ[row["system"], other] for other in SYSTEMS if other != row["system"]]
        assert row["rank_low"] == 1 + others.count(-1)
        assert row["rank_high"] == 6 - others.count(1)
        assert row["rank_low"] <= row["rank"] <= row["rank_high"]
    for a, b in combinations(SYSTEMS, 2):
        assert bool(set(groups[a]) & set(groups[b])) == (differ[a, b] == 0)
    assert board["group"][0].startswith("a")
    assert board["mean"].is_sorted(descending=True)
    assert board["best"].sum() == pytest.approx(1)


def test_intervals_of_means_are_those_of_each_system_by_itself(scores):
    board = rd.leaderboard(scores).to_polars().sort("system")
    low, high = mean_intervals(scores)
    assert board["low"].to_numpy() == pytest.approx(low[:, 0])
    assert board["high"].to_numpy() == pytest.approx(high[:, 0])


def test_intervals_stay_within_the_range_of_the_measure():
    board = rd.leaderboard(scored([[1, 1, 1, 1, 1, 0.5], [0, 0, 0, 0, 0, 0.5]])).to_polars()
    assert board["high"].max() <= 1
    assert board["low"].min() >= 0


@pytest.mark.parametrize("seed", range(5))
def test_letters_are_the_largest_groups_without_a_significant_difference(seed):
    rng = np.random.default_rng(seed)
    pairs = [pair for pair in combinations(range(7), 2) if rng.random() < 0.4]
    found = {frozenset(group) for group in letter_groups(7, pairs)}

    def fine(group):
        return not any(set(pair) <= group for pair in pairs)

    every = [set(group) for size in range(1, 8) for group in combinations(range(7), size) if fine(set(group))]
    assert found == {frozenset(group) for group in every if not any(group < other for other in every)}


def test_many_groups_are_those_of_neighbours():
    rng = np.random.default_rng(0)
    pairs = [pair for pair in combinations(range(60), 2) if rng.random() < 0.4]
    assert letter_groups(60, pairs) == []
    groups = neighbours(60, pairs)
    assert not any(a in group and b in group for a, b in pairs for group in groups)
    assert sorted({i for group in groups for i in group}) == list(range(60))


def test_lower_is_better_is_ranked_from_below(rng):
    values = rng.normal(0, 0.1, (3, 30)) + np.array([[0.1], [0.5], [0.9]])
    measures = (rd.parse("P@5"),)
    higher = rd.Scores(SYSTEMS[:3], tuple(map(str, range(30))), measures, values[:, :, None])
    kind = higher.kinds[0]
    lower = rd.Scores(
        higher.systems, higher.queries, ("P@5",), higher.values, kinds=(type(kind)("loss", higher_is_better=False),)
    )
    board = rd.leaderboard(lower).to_polars()
    assert board["system"].to_list() == ["a", "b", "c"]
    assert (board["low"] < board["mean"]).all()
    assert (board["mean"] < board["high"]).all()
    assert board["mean"][0] == pytest.approx(values[0].mean())
    assert board["best"][0] == 1


def test_equal_systems_share_rank_letter_and_chance(rng):
    row = rng.random(20)
    board = rd.leaderboard(scored([row, row, row - 0.2])).to_polars()
    assert board["rank"].to_list() == [1, 1, 3]
    assert board["group"].to_list() == ["a", "a", "b"]
    assert board["best"].to_list() == pytest.approx([0.5, 0.5, 0.0])


def test_the_chance_to_be_best_is_that_of_resampled_queries(rng):
    values = rng.normal(0, 1, (2, 200)) + np.array([[0.0], [0.1]])
    best = rd.leaderboard(scored(values), resamples=20_000).to_polars().sort("system")["best"][1]
    apart = values[1] - values[0]
    assert best == pytest.approx(stats.norm.cdf(apart.mean() / (apart.std() / np.sqrt(200))), abs=0.02)


def tasks(rng, count=7, systems=4, gap=0.1):
    values = {
        f"task {i}": rng.normal(0, 0.3, (systems, 20 + 10 * i)) + gap * np.arange(systems)[:, None]
        for i in range(count)
    }
    return {name: scored(each) for name, each in values.items()}


def test_tasks_weigh_the_same_whatever_their_size(rng):
    several = tasks(rng)
    means = np.stack([part.averages[:, 0] for part in several.values()])
    board = rd.leaderboard(several).to_polars().sort("system")
    assert board["mean"].to_numpy() == pytest.approx(means.mean(axis=0))
    assert board["borda"].to_numpy() == pytest.approx(points(means, "borda").mean(axis=0))
    assert board["wins"].to_numpy() == pytest.approx(points(means, "wins").mean(axis=0))
    errors = np.stack([part.values[:, :, 0].var(axis=1, ddof=1) / len(part.queries) for part in several.values()])
    half = 1.96 * np.sqrt(errors.sum(axis=0)) / len(several)
    assert ((board["high"] - board["low"]) / 2).to_numpy() == pytest.approx(half, rel=0.05)


@pytest.mark.parametrize("rule", ["mean", "borda", "wins"])
def test_ranks_without_a_task_are_those_of_the_other_tasks(rng, rule):
    several = tasks(rng, gap=0.02)
    found = rd.leaderboard(several, rule=rule, resamples=20)
    board, without = found.to_polars(), found.without_task()
    for left_out in several:
        others = {name: part for name, part in several.items() if name != left_out}
        alone = rd.leaderboard(others, rule=rule, resamples=20).to_polars()
        expected = dict(zip(alone["system"], alone["rank"], strict=True))
        rows = without.filter(pl.col("left_out") == left_out)
        assert dict(zip(rows["system"], rows["rank"], strict=True)) == expected
    each = without.group_by("system").agg(pl.col("rank").min().alias("fewest"), pl.col("rank").max().alias("most"))
    joined = board.join(each, on="system")
    assert (joined["without_low"] == joined["fewest"]).all()
    assert (joined["without_high"] == joined["most"]).all()
    assert (board["rank_low"].null_count() == 0) == (rule == "mean")


def test_tasks_may_have_measures_of_their_own(rng):
    several = tasks(rng, 3)
    renamed = {
        name: rd.Scores(part.systems, part.queries, (measure,), part.values)
        for (name, part), measure in zip(several.items(), ("P@1", "nDCG@10", "RR@10"), strict=True)
    }
    board = rd.leaderboard(renamed).to_polars()
    assert set(board["measure"]) == {"score"}
    assert board.drop("measure").equals(rd.leaderboard(several).to_polars().drop("measure"))


def test_clusters_and_runs_widen_what_they_should(rng, scores):
    clusters = {f"q{i}": i // 4 for i in range(40)}
    clustered = rd.leaderboard(scores, clusters=clusters)
    assert clustered.clusters == 10
    repeated = rd.leaderboard(scores, replicates={"x": ["a", "b", "c"], "y": ["d", "e", "f"]})
    assert repeated.replicates == {"x": 3, "y": 3}
    assert "3" in str(repeated)
    row = repeated.to_polars().row(0, named=True)
    single = rd.leaderboard(scores).to_polars().filter(system="e").row(0, named=True)
    assert row["high"] - row["low"] > single["high"] - single["low"]  # runs differ by more than queries explain


def test_ranks_share_the_best_place():
    assert ranks(np.array([3.0, 1.0, 3.0, 2.0])).tolist() == [1, 4, 1, 3]


def test_wrong_input_is_refused(scores):
    for options, words in (
        ({"rule": "borda"}, "several tasks"),
        ({"rule": "median"}, "rule"),
        ({"resamples": 0}, "resamples"),
        ({"alpha": 2}, "alpha"),
    ):
        with pytest.raises(UsageError, match=words):
            rd.leaderboard(scores, **options)
    with pytest.raises(UsageError, match="single collection"):
        rd.leaderboard({"x": scores, "y": scores}, clusters={})
    with raises("too-few", UsageError, unit="system", count=1):
        rd.leaderboard(scores.select(systems=["a"]))
    with raises("unlike-collection", DataError, collection="y"):
        rd.leaderboard({"x": scores, "y": scores.select(systems=["a", "b"])})


def test_systems_that_tie_share_the_first_rank():
    values = np.repeat([[[0.5]], [[0.5]], [[0.0]]], 20, axis=1)
    scores = rd.Scores(tuple("abc"), tuple(map(str, range(20))), ("P@1",), values)
    assert "P@1: a, b share the first rank." in str(rd.leaderboard(scores))


def test_the_chance_to_be_best_is_students_posterior():
    special = pytest.importorskip("scipy.special")
    values = np.array([[0.5, 0.9, 0.4, 0.7, 0.6], [0.4, 0.5, 0.5, 0.4, 0.6]])
    scores = rd.Scores(("a", "b"), tuple("12345"), ("P@1",), values[:, :, None])
    apart = values[0] - values[1]
    expected = special.stdtr(4, apart.mean() / apart.std(ddof=1) * np.sqrt(5))
    found = rd.leaderboard(scores, resamples=20000).to_polars()
    assert found["best"][0] == pytest.approx(expected, abs=0.03)
    one = rd.leaderboard(scores.select(queries=["1"])).to_polars()
    assert one["best"].to_list() == [None, None]


def test_tied_scores_are_counted_once_for_all_measures():
    references = {f"q{k}": ["a", "b"] for k in range(6)}
    tied = {f"q{k}": {"a": 2.0, "x": 1.0, "b": 1.0} if k < 4 else {"a": 2.0, "x": 2.0} for k in range(6)}
    scores = rd.evaluate(references, {"one": tied, "two": {q: ["b", "a"] for q in references}}, ["P@1", "AP@3"])
    assert len(scores.remarks) == 1
    assert scores.select(measures=["P@1"]).remarks not in ((), scores.remarks)
    assert [remark for remark in rd.leaderboard(scores).remarks if "tied" in remark] == list(scores.remarks)
