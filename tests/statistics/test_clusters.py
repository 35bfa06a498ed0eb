"""Clusters of queries: whole ones are flipped and drawn, Student's error is that of clusters, elsewhere too."""

from contextlib import nullcontext
from itertools import product

import numpy as np
import pytest
from polars.testing import assert_frame_equal
from scipy import stats

import rankdev as rd
from rankdev.errors import DataError, UsageError
from tests.raising import noted, raises, warns
from tests.statistics.conftest import scored

QUERIES = tuple(f"q{i}" for i in range(24))


def by_hand(apart, members, alpha):
    """Enumerate the flips of whole clusters: p, and the differences that they would not reject."""
    names = sorted(set(members))
    sums = np.array([apart[[m == name for m in members]].sum() for name in names])
    sizes = np.array([members.count(name) for name in names])
    signs = np.array(list(product((1, -1), repeat=len(names))))
    p = np.mean(np.abs(signs @ sums) >= np.abs(sums.sum()) - 1e-9)
    kept = [
        delta
        for delta in np.linspace(-3, 3, 6001)
        if np.mean(np.abs(signs @ (sums - delta * sizes)) >= np.abs((sums - delta * sizes).sum()) - 1e-9) > alpha
    ]
    return p, min(kept), max(kept)


@pytest.mark.parametrize("seed", range(4))
def test_p_and_interval_are_those_of_all_flips_of_whole_clusters(seed):
    rng = np.random.default_rng(seed)
    members = [f"u{i}" for i in rng.integers(0, 8, 24)]
    values = np.rint(rng.normal(0, 1, (2, 24)) * 2) / 2
    clusters = dict(zip(QUERIES, members, strict=True))
    found = rd.significance(scored(values), clusters=clusters, alpha=0.1, test="randomization")
    row = found.to_polars().row(0, named=True)
    p, low, high = by_hand(values[1] - values[0], members, 0.1)
    assert row["p"] == pytest.approx(p)
    assert row["low"] == pytest.approx(low, abs=1.1e-3)
    assert row["high"] == pytest.approx(high, abs=1.1e-3)
    assert row["difference"] == pytest.approx((values[1] - values[0]).mean())
    assert row["wins"] + row["ties"] + row["losses"] == 24  # of queries, not of clusters
    assert found.clusters == len(set(members))


def test_students_error_is_that_of_clusters():
    rng = np.random.default_rng(2)
    members = np.repeat(np.arange(12), 2)
    apart = rng.normal(0.2, 1, 24)
    found = rd.significance(scored([np.zeros(24), apart]), clusters=dict(zip(QUERIES, members.tolist(), strict=True)))
    expected = stats.ttest_1samp(apart.reshape(12, 2).mean(axis=1), 0)  # of clusters of equal size
    row = found.to_polars().row(0, named=True)
    assert row["p"] == pytest.approx(expected.pvalue)
    assert (row["low"], row["high"]) == pytest.approx(tuple(expected.confidence_interval(0.95)))


def test_measures_with_gaps_have_the_clusters_of_their_own_queries():
    values = np.random.default_rng(8).normal(0, 1, (2, 24, 2))
    values[0, :4, 1] = np.nan
    clusters = {query: i // 4 for i, query in enumerate(QUERIES)}
    with warns("gaps"):
        both = rd.significance(scored(values), clusters=clusters, correction="none").to_polars()
    rest = scored(values).select(queries=QUERIES[4:], measures=["m1"])
    alone = rd.significance(rest, clusters=clusters, correction="none").to_polars()
    assert both["p"][1] == alone["p"][0]


def test_wrong_clusters_are_refused():
    scores = scored(np.random.default_rng(9).normal(0, 1, (3, 24)))
    with raises("no-cluster", DataError, count=23, queries=24, example="q1"):
        rd.significance(scores, clusters={"q0": "u"})
    with raises("too-few", DataError, unit="cluster", count=1):
        rd.significance(scores, clusters=dict.fromkeys(QUERIES, "u"))
    with raises("bad-value", UsageError, name="clusters"):
        rd.significance(scores, clusters=["u"] * 24)
    few = rd.significance(scores, clusters={query: i % 3 for i, query in enumerate(QUERIES)})
    assert noted(few.remarks, "few-differ", count=3)
    assert set(few.to_polars()["verdict"]) == {"cannot tell"}


# Everything that draws or flips queries takes clusters: repeated queries count once, single ones change nothing

N = 16
RNG = np.random.default_rng(3)
VALUES = np.rint(RNG.normal(0.5, 0.2, (3, N, 2)) * 16) / 16 + np.array([0, 0.125, 0.25])[:, None, None]


def said(scores):
    """Someone's preferences: the same of every copy of a query."""
    each = len(scores.queries) // N
    return [
        {"query": f"q{i}", "a": "s0", "b": "s1", "winner": "s0" if (i // each) % 3 else "s1"}
        for i in range(len(scores.queries))
    ]


def collections(scores, **given):
    copy = rd.Scores(scores.systems, scores.queries, scores.measures, scores.values[:, ::-1] + 0.0625)
    return rd.meta_analysis({"one": scores, "two": copy}, **given)


ANALYSES = {
    "power": lambda scores, **given: rd.power(scores, sizes=[5, 9], subsamples=20, **given),
    "stability": lambda scores, **given: rd.stability(scores, sizes=[4, 8], subsamples=20, **given),
    "plan": lambda scores, **given: rd.plan(scores, "s0", "s2", "m0", difference=0.1, **given),
    "agreement": lambda scores, **given: rd.agreement(scores, resamples=40, **given),
    "people": lambda scores, **given: rd.agreement_with_people(scores, said(scores), **given),
    "gate": lambda scores, **given: rd.gate(scores, baseline="s0", candidate="s2", margin=0.1, **given),
    "table": rd.table,
    "leaderboard": rd.leaderboard,
    "margin": lambda scores, **given: rd.significance(scores, margin=0.1, **given),
    "flips": lambda scores, **given: rd.significance(scores, test="randomization", permutations=2000, **given),
}
COUNTS = ("wins", "ties", "losses", "verdicts", "queries", "reason", "effect")  # of queries


def tables(found):
    # a fraction is never known better than that of as many single answers
    frames = [found.between()] if hasattr(found, "between") else [found.to_polars(), found.summary()]
    return [frame.drop(COUNTS, strict=False) for frame in frames]


@pytest.mark.parametrize("name", [*ANALYSES, "meta"])
def test_repeated_queries_count_once(name):
    analyse = ANALYSES.get(name, collections)
    twice = scored(np.repeat(VALUES, 2, axis=1))
    clusters = {query: i // 2 for i, query in enumerate(twice.queries)}
    alone = {query: query for query in scored(VALUES).queries}
    with pytest.warns(rd.RankdevWarning) if name == "meta" else nullcontext():
        once, again = analyse(scored(VALUES), clusters=alone), analyse(twice, clusters=clusters)
    for one, other in zip(tables(once), tables(again), strict=True):
        assert_frame_equal(one, other)


@pytest.mark.parametrize("name", ["power", "stability", "plan", "agreement", "table", "margin", "flips", "meta"])
def test_clusters_of_one_query_change_nothing(name):
    analyse = ANALYSES.get(name, collections)
    scores = scored(VALUES)
    with pytest.warns(rd.RankdevWarning) if name == "meta" else nullcontext():
        plain, clustered = (analyse(scores, clusters=given) for given in (None, {q: q for q in scores.queries}))
    for one, other in zip(tables(plain), tables(clustered), strict=True):
        assert_frame_equal(one, other)


def test_judgments_are_resampled_by_cluster():
    judged = [("q1", "x", "y")] * 8 + [("q2", "u", "v")] * 8 + [("q3", "k", "l")] * 8
    runs = {"good": {"q1": ["x", "y"], "q2": ["u", "v"], "q3": ["l", "k"]}}
    together = {"q1": "u", "q2": "u", "q3": "w"}
    plain, clustered = (
        rd.evaluate_with_uncertainty(judged, runs, "RDQ@2", clusters=given) for given in (None, together)
    )
    assert (plain.judgments == clustered.judgments).all()
    assert clustered.both.std() > plain.both.std()
    noted(clustered.remarks, "whole-clusters", how="resampled", count=2, most=2)


@pytest.mark.parametrize("name", ANALYSES)
def test_a_query_without_a_cluster_is_refused(name):
    with raises("no-cluster", DataError, count=15, queries=16):
        ANALYSES[name](scored(VALUES), clusters={"q0": "u"})
    with raises("bad-value", UsageError, name="clusters"):
        ANALYSES[name](scored(VALUES), clusters="u")


def test_designs_that_cannot_be_combined_are_refused():
    scores = scored(VALUES)
    clusters = dict.fromkeys(scores.queries[:8], 0) | dict.fromkeys(scores.queries[8:], 1)
    with raises("needed", UsageError, name="resamples", use="clusters"):
        rd.agreement(scores, clusters=clusters)
    with raises("too-few", DataError, least=10, unit="cluster"):
        rd.plan(scores, "s0", "s2", "m0", difference=0.1, clusters=clusters)
    with raises("too-few", DataError, unit="cluster", count=2):
        rd.stability(scores, sizes=[4], clusters=clusters)
