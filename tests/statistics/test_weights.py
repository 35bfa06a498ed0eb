import numpy as np
import polars as pl
import pytest
from scipy import stats

import rankdev as rd
from rankdev.errors import DataError, UsageError
from tests.raising import noted, raises
from tests.statistics.conftest import scored

N = 40
QUERIES = tuple(f"q{i}" for i in range(N))
FUNCTIONS = {
    "power": lambda scores: rd.power(scores, sizes=[6], subsamples=2),
    "stability": lambda scores: rd.stability(scores, sizes=[5], subsamples=2),
    "agreement": rd.agreement,
    "plan": lambda scores: rd.plan(scores, "a", "b", "RR"),
    "meta_analysis": lambda scores: rd.meta_analysis({"x": scores, "y": scores}),
    "prediction_powered": lambda scores: rd.prediction_powered(scores, scores),
    "pooled": lambda scores: rd.Scores.pooled({"x": scores}),
    "leaderboard of several": lambda scores: rd.leaderboard({"x": scores, "y": scores}),
}


@pytest.fixture
def scores(rng):
    return scored(rng.random((2, N, 2)), "ab", ("RR", "P@5"))


@pytest.fixture
def traffic(rng):
    return dict(zip(QUERIES, np.ceil(rng.pareto(1.1, N) * 10).tolist(), strict=True))


def test_weighted_means_are_numpy_s(scores, traffic):
    values = scores.values.copy()
    values[0, :5, 0] = np.nan
    weighted = rd.Scores(scores.systems, QUERIES, scores.measures, values).weighted(traffic)
    weights = np.array(list(traffic.values()))
    assert weighted.means[1] == pytest.approx(np.average(values[1], axis=0, weights=weights))
    assert weighted.means[0, 0] == pytest.approx(np.average(values[0, 5:, 0], weights=weights[5:]))
    first = weighted.select(queries=slice(5, None))
    assert first.weights.mean() == pytest.approx(1)
    assert first.means[0, 0] == pytest.approx(weighted.means[0, 0])


def test_tables_and_files_keep_weights(scores, traffic, tmp_path):
    table = pl.DataFrame({"query": list(traffic), "weight": list(traffic.values())})
    weighted = scores.weighted(table)
    assert np.array_equal(weighted.weights, scores.weighted(traffic).weights)
    again = rd.Scores.from_table(weighted.to_polars())
    assert again.weights == pytest.approx(weighted.weights)
    weighted.to_polars().write_csv(tmp_path / "scores.csv")
    assert rd.read_scores(tmp_path / "scores.csv").means == pytest.approx(weighted.means)


def test_equal_weights_change_nothing(scores):
    plain, equal = rd.significance(scores).to_polars(), rd.significance(scores, weights=dict.fromkeys(QUERIES, 3))
    for column, same in zip(plain, equal.to_polars(), strict=True):
        assert same.to_list() == (pytest.approx(column.to_list()) if column.dtype.is_float() else column.to_list())
    assert noted(equal.remarks, "weighted").fields["effective"] == pytest.approx(N)


def test_the_test_by_hand(scores, traffic):
    found = rd.significance(scores, weights=traffic, correction="none").to_polars().row(0, named=True)
    share = np.array(list(traffic.values())) / sum(traffic.values())
    apart = scores.values[1, :, 0] - scores.values[0, :, 0]
    mean = share @ apart
    error = np.sqrt((share**2 * (apart - mean) ** 2 / (1 - share)).sum())
    freedom = 1 / (share**2).sum() - 1
    assert found["difference"] == pytest.approx(mean)
    assert found["p"] == pytest.approx(2 * stats.t.sf(abs(mean) / error, freedom))
    assert found["high"] == pytest.approx(mean + stats.t.ppf(0.975, freedom) * error)


def test_every_command_that_decides_takes_weights(scores, traffic):
    weighted = scores.weighted(traffic)
    tested = rd.significance(weighted).to_polars().row(0, named=True)
    gate = rd.gate(scores, baseline="a", margin=0.01, weights=traffic).to_polars().row(0, named=True)
    for name in ("difference", "low", "high", "wins"):
        assert gate[name] == pytest.approx(tested[name])
    assert (gate["baseline"], gate["candidate"]) == pytest.approx(tuple(weighted.means[:, 0]))
    board = rd.leaderboard(weighted).to_polars().filter(measure="RR").sort("system")
    assert board["mean"].to_list() == pytest.approx(weighted.means[:, 0].tolist())
    assert (board["low"] < board["mean"]).all()
    assert rd.table(weighted).to_polars().filter(measure="RR")["value"].to_list() == pytest.approx(weighted.means[:, 0])
    segments = {query: "head" if int(query[1:]) < 20 else "tail" for query in QUERIES}
    head = rd.significance(weighted, segments=segments, correction="none").segments["head"].to_polars()
    alone = rd.significance(weighted.select(queries=slice(0, 20)), correction="none").to_polars()
    assert head["low"].to_list() == pytest.approx(alone["low"].to_list())


@pytest.mark.parametrize("share", [0.95, 0.9999, 1 - 1e-12])
@pytest.mark.parametrize("clustered", [False, True])
def test_one_query_with_nearly_all_weight_decides_nothing(share, clustered):
    rng = np.random.default_rng(0)
    queries = [f"q{i}" for i in range(100)]
    weights = dict.fromkeys(queries, 1.0) | {"q0": share / (1 - share) * 99}
    given = {"clusters": {query: str(i) for i, query in enumerate(queries)}} if clustered else {}
    values = np.concatenate([np.zeros((1, 100)), rng.normal(0.1, 1, (300, 100))])[:, :, None]
    scores = rd.Scores([f"s{i}" for i in range(301)], queries, ["score"], values)
    found = rd.significance(scores, baselines="s0", correction="none", weights=weights, **given)
    assert np.mean(found.significant) <= 0.05  # with one degree of freedom, .02, .9 and 1


@pytest.mark.parametrize("name", FUNCTIONS)
def test_who_does_not_know_weights_refuses_them(name, scores, traffic):
    with raises("weights-unknown", UsageError):
        FUNCTIONS[name](scores.weighted(traffic))


def test_wrong_weights_are_refused(scores, traffic):
    for wrong in (0, -1, np.inf, np.nan, "3", None):
        with raises("not-a-number", DataError, query="q0", name="weight"):
            scores.weighted({**traffic, "q0": wrong})
    del traffic["q3"]
    with raises("no-weight", DataError, count=1, queries=N, example="q3"):
        scores.weighted(traffic)
    with raises("appears-twice", DataError, value="q0"):
        scores.weighted(pl.DataFrame({"query": ["q0", "q0"], "weight": [1, 2]}))
    with raises("weights-of-flips", UsageError):
        rd.significance(scores, weights=dict.fromkeys(QUERIES, 1), test="randomization")
    counts = rd.evaluate({"q": ["d"]}, {"s": {"q": ["d"]}}, "NumRet")
    with raises("weighted-sum", UsageError):
        counts.weighted({"q": 1})
