"""Segments: each is tested as by itself, all are corrected together, and the interaction is that of a simple loop."""

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import rankdev as rd
from rankdev.display.dispatch import report_of
from rankdev.errors import DataError, UsageError
from rankdev.measures.base import MeasureInfo
from rankdev.statistics import segments as module
from rankdev.statistics.contrasts import Family
from rankdev.statistics.corrections import holm
from rankdev.statistics.segments import interaction, named_segments
from tests.common.examples import examples


@pytest.fixture(autouse=True)
def fewer_draws(monkeypatch):
    monkeypatch.setattr(module, "DRAWS", 999)


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
    found = rd.significance(scores, segments=segments, permutations=1999)
    raw = []
    for name, part in found.segments.items():
        queries = [query for query, its in segments.items() if its == name]
        alone = rd.significance(scores.select(queries=queries), correction="none", permutations=1999)
        assert (
            part.to_polars()
            .drop("low", "high", "p_adjusted")
            .equals(alone.to_polars().drop("low", "high", "p_adjusted"))
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
    assert whole.filter(segment="all").drop("segment").equals(rd.significance(scores, permutations=1999).to_polars())
    everything = rd.significance(scores, segments=segments, family="all", permutations=1999)
    rows = pl.concat([part.to_polars() for part in everything.segments.values()])
    assert rows["p_adjusted"].to_numpy() == pytest.approx(holm(rows["p"].to_numpy()))
    tables = found.summary(), found.effect_sizes()
    assert [table["segment"].n_unique() for table in tables] == [4, 4]
    assert found.discriminative_power().to_polars().height == 6


@pytest.mark.parametrize(("shifts", "depends"), [((0.0, 0.3), True), ((0.1, 0.1), False), ((-0.1, 0.1, 0.0), True)])
def test_the_interaction(shifts, depends):
    scores, segments = made((30,) * len(shifts), shifts)
    found = rd.significance(scores, segments=segments, permutations=1999)
    (row,) = found.interaction.to_dicts()
    assert row["segments"] == len(shifts)
    assert (row["p"] <= 0.05) == depends
    said = " ".join(str(found).split())
    assert f"in nDCG@10 {'depends' if depends else 'does not depend significantly'} on the segment (p " in said
    again = rd.significance(scores, segments=segments, permutations=1999)
    assert again.interaction.equals(found.interaction)


@given(st.data())
@examples(40, deadline=None)
def test_it_is_that_of_a_simple_loop(data):
    sizes = data.draw(st.lists(st.integers(6, 12), min_size=2, max_size=4))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    draw = data.draw(st.sampled_from([rng.normal, lambda size: rng.integers(-3, 4, size) / 4]))
    apart = draw(size=(sum(sizes), 2))
    values = np.concatenate([apart, np.zeros_like(apart)], axis=1)
    family = Family(values, np.arange(len(values)), np.array([0, 1]), np.array([2, 3]))
    labels = np.repeat(np.arange(len(sizes)), sizes)
    mixed = rng.permutation(labels)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "DRAWS", 40)
        used, p = interaction(family, {str(i): np.flatnonzero(mixed == i) for i in range(len(sizes))}, 3)
        drawn = [np.concatenate(list(make(np.array(sizes), 3))) for make in (module._permuted, module._resampled)]
    for pair in range(2):
        ordered = apart[np.argsort(mixed, kind="stable"), pair]
        parts = np.split(ordered, np.cumsum(sizes)[:-1])
        same = [max((part == 0).sum(), (part == np.median(part)).sum()) for part in parts]
        if any(len(part) - count < 5 for part, count in zip(parts, same, strict=True)):
            assert used[pair] < len(sizes)
            continue
        observed = welch(ordered, labels)
        expected = 0.0
        centred = ordered - np.repeat([ordered[labels == i].mean() for i in range(len(sizes))], sizes)
        for weights, of in zip(drawn, (ordered, centred), strict=True):
            extreme = 1
            for each in weights.reshape(-1, len(sizes), len(labels)):
                resample = np.concatenate([np.repeat(of, row.astype(int)) for row in each])
                extreme += welch(resample, labels) >= observed * (1 - 1e-9)
            expected = max(expected, extreme / 41)
        assert p[pair] == pytest.approx(expected)


def welch(values, labels):
    parts = [values[labels == i] for i in np.unique(labels)]
    weights = np.array([len(part) / max(part.var(ddof=1), 1e-12) for part in parts])
    means = np.array([part.mean() for part in parts])
    return float((weights * (means - np.average(means, weights=weights)) ** 2).sum())


def test_welch_is_the_square_of_t_for_two():
    one, other = np.random.default_rng(0).normal(size=(2, 9))
    joined = np.concatenate([one, other[:7]])
    t = stats.ttest_ind(one, other[:7], equal_var=False).statistic
    assert welch(joined, np.repeat([0, 1], [9, 7])) == pytest.approx(t**2)


def test_segments_that_cannot_tell_have_no_part_in_it():
    scores, segments = made((20, 20, 20), (0.1, 0.1, 0.1))
    values = scores.values.copy()
    values[1, :16] = values[0, :16]  # four queries of the first differ
    few = rd.Scores(scores.systems, scores.queries, scores.measures, values)
    found = rd.significance(few, segments=segments, permutations=1999)
    assert found.interaction["segments"].to_list() == [2]
    assert any("fewer than 5 queries" in note for note in found.remarks)
    values[1, 20:36] = values[0, 20:36]
    none = rd.significance(
        rd.Scores(scores.systems, scores.queries, scores.measures, values), segments=segments, permutations=1999
    )
    assert none.interaction["p"].to_list() == [None]
    assert "cannot be compared between segments" in " ".join(str(none).split())


@pytest.mark.parametrize(
    ("options", "note"),
    [
        ({"clusters": {f"q{i}": str(i // 4) for i in range(40)}}, "the test takes queries one by one"),
        ({"segments": {"x": ["q1", "q2", "q3"], "y": ["q3", "q4"]}}, "segments share queries"),
        ({"segments": {"q1": "x", "q2": "x", "q3": "x"}}, "there is one segment"),
    ],
)
def test_what_is_not_tested_is_noted(options, note):
    scores, segments = made((20, 20), (0.0, 0.3))
    kinds = (MeasureInfo("AP", range=(-1.0, 1.0)),)
    known = rd.Scores(scores.systems, scores.queries, ("AP",), scores.values, kinds=kinds)
    found = rd.significance(known, **{"segments": segments, **options})
    assert found.interaction is None
    assert any(note in remark for remark in found.remarks)


@pytest.mark.parametrize(
    ("segments", "message"),
    [
        ({}, "segments is {}; expected"),
        (["a"], "expected {query: segment} or"),
        ({"a": 3.5}, "segments has 3.5 for 'a'; expected"),
        ({"all": ["q1"]}, "a segment is called 'all'"),
        ({"q1": "all"}, "a segment is called 'all'"),
    ],
)
def test_wrong_segments_are_refused(segments, message):
    scores, _ = made((20, 20), (0.0, 0.3))
    with pytest.raises(UsageError, match=message.replace("{", "\\{").replace("}", "\\}")):
        rd.significance(scores, segments=segments)


def test_what_segments_are_not_for():
    scores, _ = made((20, 20), (0.0, 0.3))
    with pytest.raises(DataError, match="no segment can be tested; segment 'x' has none of the queries"):
        rd.significance(scores, segments={"nowhere": "x"})
    with pytest.raises(DataError, match="segment 'x' is left out: 1 query is too few for the test"):
        rd.significance(scores, segments={"q1": "x"}, test="t")


def test_segments_may_overlap_and_miss_queries():
    assert named_segments({"x": {"q1", "q2"}, "y": ("q2",)}) == {"x": {"q1", "q2"}, "y": {"q2"}}
    scores, _ = made((20, 20), (0.0, 0.3))
    found = rd.significance(scores, segments={"x": ["q1", "q2", "q3"], "none": ["nowhere"]})
    assert {"segment 'none' has none of the queries that were scored", "37 of 40 queries have no segment"} <= set(
        found.remarks
    )
    assert found.conclusion == rd.significance(scores).conclusion


def test_the_report_shows_every_segment():
    scores, segments = made((20, 20), (0.0, 0.3), systems=3)
    report = report_of(rd.significance(scores, segments=segments, baselines="s0", permutations=1999))
    assert [table.title.partition(":")[0] for table in report.tables[:3]] == ["all", "part0", "part1"]
    assert set(report.more) == {"effect_sizes", "interaction"}
    assert json.dumps(report.more["interaction"].to_dicts())
    assert "nDCG@10: 1 of 2 pairs has a difference that depends on the segment." in report.opening


def test_segments_are_named_by_whole_numbers_too():
    assert named_segments({1: 0, 2: 1}) == named_segments({"1": "0", "2": "1"}) == named_segments({0: [1], 1: [2]})
