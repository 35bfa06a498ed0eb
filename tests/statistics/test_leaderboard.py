"""Leaderboards: ranks follow from the decisions about all pairs; collections weigh the same."""

import numpy as np
import pytest

import rankdev as rd
from rankdev.errors import DataError, UsageError
from rankdev.statistics.design import Design
from tests.raising import raises
from tests.statistics.conftest import scored


@pytest.fixture
def scores(rng):
    return scored(rng.normal(0, 0.3, (6, 40)) + rng.normal(0, 0.3, 40) + np.arange(6)[:, None] / 8, "abcdef", ["P@5"])


def test_intervals_of_means_are_those_of_each_system_by_itself(scores):
    board = rd.leaderboard(scores).to_polars().sort("system")
    low, high = Design.of(scores, least=1).mean_limits()
    assert board["low"].to_numpy() == pytest.approx(low[:, 0])
    assert board["high"].to_numpy() == pytest.approx(high[:, 0])
    narrow = rd.leaderboard(scored([[1, 1, 1, 1, 1, 0.5], [0, 0, 0, 0, 0, 0.5]], measures=["P@5"])).to_polars()
    assert (narrow["low"].min(), narrow["high"].max()) == (0, 1)


def test_equal_systems_share_a_rank(rng):
    row = rng.random(20)
    found = rd.leaderboard(scored([row, row, row - 0.2], "abc"))
    assert found.to_polars()["rank"].to_list() == [1, 1, 3]
    assert found.not_told_from() == {"a": ["b"], "b": ["a"], "c": []}


def tasks(rng, count=4, systems=4, gap=0.1):
    values = {
        f"task {i}": rng.normal(0, 0.3, (systems, 20 + 10 * i)) + gap * np.arange(systems)[:, None]
        for i in range(count)
    }
    return {name: scored(each, measures=["P@5"]) for name, each in values.items()}


def test_collections_weigh_the_same_whatever_their_size(rng):
    several = tasks(rng)
    means = np.stack([part.averages[:, 0] for part in several.values()])
    board = rd.leaderboard(several).to_polars().sort("system")
    assert board["mean"].to_numpy() == pytest.approx(means.mean(axis=0))
    borda = (means[:, :, None] > means[:, None, :]).sum(axis=2).mean(axis=0) / 3
    assert board["borda"].to_numpy() == pytest.approx(borda)
    assert board["low"].null_count() == 4
    assert "borda" in str(rd.leaderboard(several))
    one = rd.leaderboard({"only": several["task 0"]}).to_polars()
    assert one.equals(rd.leaderboard(several["task 0"]).to_polars())


def test_collections_may_have_measures_of_their_own(rng):
    several = tasks(rng, 3)
    renamed = {
        name: rd.Scores(part.systems, part.queries, (measure,), part.values)
        for (name, part), measure in zip(several.items(), ("P@1", "nDCG@10", "RR@10"), strict=True)
    }
    board = rd.leaderboard(renamed).to_polars()
    assert set(board["measure"]) == {"score"}
    assert board.drop("measure").equals(rd.leaderboard(several).to_polars().drop("measure"))


def test_clusters_and_runs_are_those_of_significance(scores):
    clusters = {f"q{i}": i // 4 for i in range(40)}
    assert rd.leaderboard(scores, clusters=clusters).parameters["clusters"] == 10
    repeated = rd.leaderboard(scores, replicates={"x": ["a", "b", "c"], "y": ["d", "e", "f"]})
    assert repeated.parameters["replicates"] == {"x": 3, "y": 3}
    row = repeated.to_polars().row(0, named=True)
    single = rd.leaderboard(scores).to_polars().filter(system="e").row(0, named=True)
    assert row["high"] - row["low"] > single["high"] - single["low"]  # runs differ by more than queries explain


def test_wrong_input_is_refused(scores):
    for options in ({"alpha": 2}, {"test": "x"}, {"correction": "x"}):
        with pytest.raises(UsageError):
            rd.leaderboard(scores, **options)
    with raises("single-collection", UsageError, name="clusters"):
        rd.leaderboard({"x": scores, "y": scores}, clusters={})
    with raises("too-few", UsageError, unit="system", count=1):
        rd.leaderboard(scores.select(systems=["a"]))
    with raises("unlike-collection", DataError, collection="y"):
        rd.leaderboard({"x": scores, "y": scores.select(systems=["a", "b"])})
    with raises("no-common-query", DataError, collection="y"):
        rd.leaderboard({"x": scores, "y": scores.select(queries=[])})
