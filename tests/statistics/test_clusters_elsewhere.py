"""Everything that draws or flips queries takes clusters: repeated queries count once, single ones change nothing."""

from contextlib import nullcontext

import numpy as np
import pytest
from polars.testing import assert_frame_equal

import rankdev as rd
from rankdev.errors import DataError, UsageError
from tests.raising import noted, raises

N = 16
RNG = np.random.default_rng(3)
VALUES = np.rint(RNG.normal(0.5, 0.2, (3, N, 2)) * 16) / 16 + np.array([0, 0.125, 0.25])[:, None, None]


def scored(values, prefix="q"):
    queries = tuple(f"{prefix}{i}" for i in range(values.shape[1]))
    return rd.Scores(("a", "b", "c"), queries, ("P@5", "AP@5"), values)


def said(scores, prefix="q"):
    """Someone's preferences: the same of every copy of a query."""
    each = len(scores.queries) // N
    return [
        {"query": f"{prefix}{i}", "a": "a", "b": "b", "winner": "a" if (i // each) % 3 else "b"}
        for i in range(len(scores.queries))
    ]


def collections(scores, **given):
    copy = rd.Scores(scores.systems, scores.queries, scores.measures, scores.values[:, ::-1] + 0.0625)
    return rd.meta_analysis({"one": scores, "two": copy}, **given)


ANALYSES = {
    "power": lambda scores, **given: rd.power(scores, sizes=[5, 9], subsamples=20, **given),
    "stability": lambda scores, **given: rd.stability(scores, sizes=[4, 8], subsamples=20, **given),
    "plan": lambda scores, **given: rd.plan(scores, "a", "c", "P@5", difference=0.1, **given),
    "agreement": lambda scores, **given: rd.agreement(scores, resamples=40, **given),
    "people": lambda scores, **given: rd.agreement_with_people(scores, said(scores), **given),
    "gate": lambda scores, **given: rd.gate(scores, baseline="a", candidate="c", margin=0.1, **given),
    "table": rd.table,
    "leaderboard": rd.leaderboard,
    "margin": lambda scores, **given: rd.significance(scores, margin=0.1, **given),
    "flips": lambda scores, **given: rd.significance(scores, test="randomization", permutations=2000, **given),
}
COUNTS = (
    "wins",
    "ties",
    "losses",
    "verdicts",
    "queries",
    "reason",
    "effect",
)  # of queries


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
    with raises("not-needed", UsageError, name="clusters"):
        rd.plan(scores, difference=0.1, clusters=clusters)
    with raises("too-few", DataError, least=10, unit="cluster"):
        rd.plan(scores, "a", "c", "P@5", difference=0.1, clusters=clusters)
    with raises("too-few", DataError, unit="cluster", count=2):
        rd.stability(scores, sizes=[4], clusters=clusters)
