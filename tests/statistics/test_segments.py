"""Segments: each is tested as by itself, and all are corrected together."""

import numpy as np
import polars as pl
import pytest

import rankdev as rd
from rankdev.errors import DataError, UsageError
from rankdev.statistics.inputs import named_segments
from rankdev.statistics.tests import holm
from tests.raising import noted, raises


def made(sizes, shifts, seed=0, systems=2, measures=1):
    """Return scores in which s1 is ahead by a shift of its own in each segment, and the segment of each query."""
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    values = rng.normal(0, 0.1, (systems, n, measures))
    values[1] += np.repeat(shifts, sizes)[:, None]
    names = tuple(f"s{i}" for i in range(systems)), tuple(f"q{i}" for i in range(n)), ("nDCG@10", "AP", "RR")[:measures]
    parts = np.repeat([f"part{i}" for i in range(len(sizes))], sizes)
    return rd.Scores(*names, values), dict(zip(names[1], parts.tolist(), strict=True))


def test_each_segment_is_tested_as_by_itself_and_all_are_corrected_together():
    scores, segments = made((15, 25, 40), (0.2, 0.05, 0.0), systems=3, measures=2)
    found = rd.significance(scores, segments=segments)
    raw = []
    for name, part in found.segments.items():
        queries = [query for query, its in segments.items() if its == name]
        alone = rd.significance(scores.select(queries=queries), correction="none")
        assert (
            part.to_polars()
            .drop("low", "high", "p_adjusted", "verdict")
            .equals(alone.to_polars().drop("low", "high", "p_adjusted", "verdict"))
        )
        wider = part.to_polars()
        assert (wider["low"] <= alone.to_polars()["low"]).all()
        assert (wider["high"] >= alone.to_polars()["high"]).all()
        assert ((wider["p_adjusted"] > 0.05) == ((wider["low"] <= 0) & (wider["high"] >= 0))).all()
        raw.append(part.to_polars())
    rows = pl.concat(raw)
    for measure in scores.measures:
        some = rows.filter(measure=measure)
        assert some["p_adjusted"].to_numpy() == pytest.approx(holm(some["p"].to_numpy()))
    whole = found.to_polars()
    assert whole["segment"].unique(maintain_order=True).to_list() == ["all", "part0", "part1", "part2"]
    assert whole.filter(segment="all").drop("segment").equals(rd.significance(scores).to_polars())
    everything = rd.significance(scores, segments=segments, family="all")
    rows = pl.concat([part.to_polars() for part in everything.segments.values()])
    assert rows["p_adjusted"].to_numpy() == pytest.approx(holm(rows["p"].to_numpy()))
    assert found.summary()["segment"].n_unique() == 4
    assert found.discriminative_power().to_polars().height == 6


@pytest.mark.parametrize(
    ("segments", "fields"),
    [
        ({}, {"name": "segments"}),
        (["a"], {"name": "segments"}),
        ({"a": 3.5}, {"segment": "a", "value": 3.5}),
        ({"all": ["q1"]}, {"name": "a segment", "value": "all"}),
        ({"q1": "all"}, {"name": "a segment", "value": "all"}),
    ],
)
def test_wrong_segments_are_refused(segments, fields):
    scores, _ = made((20, 20), (0.0, 0.3))
    with raises("bad-value", UsageError, **fields):
        rd.significance(scores, segments=segments)
    for untestable in ({"nowhere": "x"}, {"q1": "x"}):
        with raises("untestable-segments", DataError):
            rd.significance(scores, segments=untestable)


def test_segments_may_overlap_and_miss_queries():
    assert named_segments({"x": {"q1", "q2"}, "y": ("q2",)}) == {"x": {"q1", "q2"}, "y": {"q2"}}
    assert named_segments({1: 0, 2: 1}) == named_segments({"1": "0", "2": "1"}) == named_segments({0: [1], 1: [2]})
    scores, _ = made((20, 20), (0.0, 0.3))
    found = rd.significance(scores, segments={"x": ["q1", "q2", "q3"], "none": ["nowhere"], "one": ["q1"]})
    noted(found.remarks, "small-segment", segment="one")
    noted(found.remarks, "unscored-segment", segment="none")
    noted(found.remarks, "no-segment", count=37, queries=40)
    assert found.conclusion == rd.significance(scores).conclusion
