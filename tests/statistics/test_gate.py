"""The gate: verdicts against intervals by hand, guards of single queries, and what continuous integration reads."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

import rankdev as rd
from rankdev.display.dispatch import report_of
from rankdev.display.encodings import FORMATS
from rankdev.display.gate import junit_of
from rankdev.errors import UsageError
from rankdev.measures.base import MeasureInfo
from tests.raising import raises, warns


def scores(shift, n=60, noise=0.05, seed=0, lower=False, measures=("AP@5",)):
    rng = np.random.default_rng(seed)
    old = rng.uniform(0.3, 0.6, (n, len(measures)))
    new = old + shift + rng.normal(0, noise, old.shape)
    kinds = tuple(MeasureInfo(name, higher_is_better=not lower, range=(0.0, 1.0)) for name in measures)
    return rd.Scores(("old", "new"), tuple(f"q{i}" for i in range(n)), measures, np.stack([old, new]), kinds=kinds)


@pytest.mark.parametrize(
    ("shift", "margin", "verdict"),
    [
        (0.05, 0.0, "pass"),
        (0.0, 0.05, "pass"),
        (-0.1, 0.05, "fail"),
        (0.0, 0.0, "undecided"),
        (-0.05, 0.05, "undecided"),
    ],
)
@pytest.mark.parametrize("lower", [False, True])
def test_it_passes_above_the_margin_and_fails_below_it(shift, margin, verdict, lower):
    found = rd.gate(scores(-shift if lower else shift, lower=lower), baseline="old", margin=margin)
    assert found.verdict == verdict
    assert found.passed == (verdict == "pass")
    row = found.to_polars().row(0, named=True)
    assert row["low"] < row["difference"] < row["high"]
    assert np.sign(row["difference"]) == (np.sign(-shift if lower else shift) or np.sign(row["difference"]))
    assert found.decisive == found.reasons


def test_the_interval_is_that_of_non_inferiority():
    known = scores(0.01)
    row = rd.gate(known, baseline="old", margin=0.02).to_polars().row(0, named=True)
    apart = rd.equivalence(known, margin=0.02, correction="none").noninferiority().row(0, named=True)
    assert (row["low"], row["high"]) == pytest.approx((-apart["high"], -apart["low"]))


def test_any_measure_that_fails_fails_and_all_must_pass():
    both = scores(0.05, measures=("AP@5", "RR"))
    values = both.values.copy()
    values[1, :, 1] -= 0.2
    mixed = rd.Scores(both.systems, both.queries, both.measures, values, kinds=both.kinds)
    found = rd.gate(mixed, baseline="old", candidate="new", margin=0.01)
    assert found.verdict == "fail"
    assert found.to_polars()["verdict"].to_list() == ["pass", "fail"]
    assert [reason[:3] for reason in found.decisive] == ["RR:"]
    assert rd.gate(mixed, baseline="old", measures=["AP@5"]).passed


def test_the_level_of_failures_is_divided_by_the_measures():
    many = scores(0.0, measures=tuple(f"P@{k}" for k in range(1, 9)))
    together = rd.gate(many, baseline="old").to_polars()
    for row in together.iter_rows(named=True):
        alone = rd.gate(many, baseline="old", measures=[row["measure"]]).to_polars().row(0, named=True)
        assert row["low"] == alone["low"]
        assert row["high"] > alone["high"]


def test_single_queries_are_guarded():
    known = scores(0.1, noise=0.0)
    values = known.values.copy()
    values[1, 7, 0] = values[0, 7, 0] - 0.25
    one = rd.Scores(known.systems, known.queries, known.measures, values, kinds=known.kinds)
    assert rd.gate(one, baseline="old").passed
    assert rd.gate(one, baseline="old", query_margin=0.25).passed
    found = rd.gate(one, baseline="old", query_margin=0.2)
    assert found.verdict == "fail"
    assert found.decisive == ("AP@5: query q7 loses 0.2500; at most 0.2 is allowed.",)
    assert found.worst["query"].to_list() == ["q7"]
    assert rd.gate(one, baseline="old", required=["q7"]).verdict == "fail"
    assert rd.gate(one, baseline="old", required=["q8"]).passed


def test_lists_that_are_the_same_pass_and_equal_scores_alone_do_not():
    same = scores(0.0, n=10, noise=0.0)
    assert rd.gate(same, baseline="old", margin=0.01).verdict == "undecided"
    found = rd.gate(same, baseline="old", margin=0.01, unchanged=True)
    assert found.passed
    assert "returns the same lists" in report_of(found).text()


def test_few_queries_cannot_tell():
    sparse = scores(0.0, n=25, noise=0.0)
    assert rd.gate(sparse, baseline="old", margin=0.05).verdict == "undecided"  # 59 equal queries would do


def test_a_hundred_small_losses_do_not_pass_one_by_one():
    rng = np.random.default_rng(0)
    steps = rng.uniform(0.4, 0.9, 60) + np.cumsum(rng.normal(-0.001, 0.01, (101, 60)), axis=0)
    each, all_of_them = [], []
    for step in (0, 1, 2, 3, 4, *range(50, 100, 7)):
        old, new = steps[step : step + 2]
        known = rd.Scores(
            ("old", "new", "v1"),
            tuple(f"q{i}" for i in range(60)),
            ("AP@5",),
            np.stack([old, new, steps[0]])[:, :, None],
        )
        rows = rd.gate(known, baseline="old", candidate="new", release="v1", margin=0.02).to_polars()
        assert rows["against"].to_list() == ["old", "v1"]
        each.append(rows["verdict"][0])
        all_of_them.append(rows["verdict"][1])
    assert set(each) == {"pass"}
    assert all_of_them[:5] == ["pass"] * 5
    assert set(all_of_them[5:]) == {"fail"}


def test_a_baseline_with_scores_of_its_own():
    known = scores(-0.2)
    old, new = (known.select(systems=[name]) for name in known.systems)
    together = rd.gate(known, baseline="old")
    assert rd.gate(new, baseline=old).to_polars().equals(together.to_polars())
    assert rd.gate(new, baseline=new).baseline == "baseline"
    both = rd.gate(new, baseline=new, release=old)
    assert (both.baseline, both.release) == ("baseline", "old")
    assert both.decisive[0].startswith("AP@5 against release old: worse")
    with pytest.raises(rd.DataError, match="baseline: it has 2 systems"):
        rd.gate(new, baseline=known)
    with pytest.raises(rd.DataError, match="release: it was computed with other queries: 1 query was removed since"):
        rd.gate(new.select(queries=new.queries[1:]), baseline=new.select(queries=new.queries[1:]), release=old)


def test_single_queries_are_guarded_against_the_release_too():
    known = scores(0.0, noise=0.0)
    values = np.concatenate([known.values, known.values[:1]])
    values[2, 3] += 0.5
    three = rd.Scores(("old", "new", "v1"), known.queries, known.measures, values, kinds=known.kinds)
    found = rd.gate(three, baseline="old", candidate="new", release="v1", margin=0.1, required=["q3"])
    assert found.decisive == ("AP@5 against release v1: query q3 loses 0.5000; it must not lose anything.",)


def in_segments(shifts, n=40, noise=0.05, measures=("AP@5",)):
    """Return scores with a segment of n queries per shift, and the segments."""
    parts = [scores(shift, n, noise, seed, measures=measures) for seed, shift in enumerate(shifts)]
    queries = tuple(f"{part}/{query}" for part, _ in enumerate(shifts) for query in parts[0].queries)
    values = np.concatenate([part.values for part in parts], axis=1)
    segments = {
        f"s{part}": [query for query in queries if query.startswith(f"{part}/")] for part, _ in enumerate(shifts)
    }
    return rd.Scores(parts[0].systems, queries, measures, values, kinds=parts[0].kinds), segments


def test_a_segment_that_lost_fails_though_the_mean_passes():
    known, segments = in_segments([0.1, 0.1, -0.1])
    assert rd.gate(known, baseline="old", margin=0.02).passed
    found = rd.gate(known, baseline="old", margin=0.02, segments=segments)
    assert found.verdict == "fail"
    assert found.to_polars().select("segment", "verdict").rows() == [
        ("all", "pass"),
        ("s0", "pass"),
        ("s1", "pass"),
        ("s2", "fail"),
    ]
    assert len(found.decisive) == 1
    assert found.decisive[0].startswith("AP@5 in segment s2: worse by more than 0.02, -0.")
    row = found.to_polars().row(3, named=True)
    alone = known.select(queries=segments["s2"])
    assert row["candidate"] == pytest.approx(alone.means[1, 0])
    assert row["low"] == pytest.approx(rd.gate(alone, baseline="old", margin=0.02).to_polars()["low"][0])
    assert "AP@5, s2" in junit_of(found).decode()
    assert rd.gate(known, baseline="old", margin=0.02, segments=segments, unchanged=True).passed


def test_a_segment_that_is_too_small_leaves_it_open():
    known, segments = in_segments([0.1, 0.0])
    found = rd.gate(known, baseline="old", margin=0.01, segments={**segments, "s1": segments["s1"][:5]})
    assert found.verdict == "undecided"
    assert "35 of 80 queries have no segment" in found.remarks[0]
    one = rd.gate(known, baseline="old", margin=0.01, segments={"one": segments["s1"][:1], "none": ["nowhere"]})
    assert one.verdict == "undecided"
    assert "segment 'none' has no query with a value of AP@5, and guards nothing" in one.remarks


def test_failures_are_corrected_by_holm():
    known, segments = in_segments([-0.2, -0.2, 0.0, 0.0], measures=("AP@5", "RR"))
    rows = rd.gate(known, baseline="old", segments=segments).to_polars()
    assert rows["verdict"].to_list()[2:6] == ["fail"] * 4  # of 8: the other 4 share half of the level
    for row in rows.filter(segment="s2").iter_rows(named=True):
        alone = known.select(queries=segments["s2"], measures=[row["measure"]])
        assert row["high"] == pytest.approx(rd.gate(alone, baseline="old", alpha=0.05 / 8).to_polars()["high"][0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"baseline": "old", "segments": ["q1"]}, "expected {query: segment}"),
        ({"baseline": "old", "segments": {"all": ["q1"]}}, "a segment is 'all'"),
        ({"baseline": "old", "segments": {"s": 1.5}}, "segment 's': segments is 1.5; expected {query: segment}"),
        ({"baseline": "nope"}, "unknown system 'nope'"),
        ({"baseline": "old", "candidate": "old"}, "must be different systems; got 'old', 'old'"),
        ({"baseline": "old", "candidate": "nope"}, "unknown system 'nope'"),
        ({"baseline": "old", "margin": -1}, "margin must be a number of at least 0; got -1"),
        ({"baseline": "old", "required": ["q99"]}, "required query 'q99' has no score"),
        ({"baseline": "old", "required": "q1"}, "expected a list of queries"),
    ],
)
def test_wrong_arguments_are_named(options, message):
    with pytest.raises(rd.RankdevError, match=message):
        rd.gate(scores(0.0), **options)


def test_junit_has_a_case_per_measure():
    known = scores(-0.2, measures=("AP@5", "RR"))
    root = ET.fromstring(junit_of(rd.gate(known, baseline="old")))
    assert root.attrib["failures"] == "2"
    assert [case.find("failure").text[:10] for case in root] == ["AP@5: wors", "RR: worse,"]
    undecided = ET.fromstring(junit_of(rd.gate(scores(0.0), baseline="old")))
    assert undecided.attrib["skipped"] == "1"


def test_the_sentence_names_the_measure_of_its_counts():
    for margin, how in ((0.02, "not worse than old by more than 0.02"), (0.0, "better than old")):
        found = rd.gate(scores(0.05, measures=("AP@5", "RR")), baseline="old", margin=margin)
        assert found.conclusion.startswith(f"Ship: new is {how} in both measures, in AP@5 ")
    found = rd.gate(scores(0.05), baseline="old", margin=0.02)
    assert found.conclusion.startswith("Ship: new is not worse than old by more than 0.02, better on ")


def test_required_queries_may_be_whole_numbers():
    known = scores(0.05, noise=0)
    known = rd.Scores(known.systems, tuple(map(str, range(60))), known.measures, known.values)
    assert rd.gate(known, baseline="old", margin=0.1, required=[3, "4"]).passed
    assert not rd.gate(known, baseline="new", margin=0.1, required=[3]).passed
    with pytest.raises(rd.DataError, match="required query '99' has no score"):
        rd.gate(known, baseline="old", required=[99])
    with pytest.raises(rd.UsageError, match=r"required is \[3.5\]; expected a list of queries"):
        rd.gate(known, baseline="old", required=[3.5])


def test_the_page_has_the_sentence_as_its_title():
    found = rd.gate(scores(0.05), baseline="old", margin=0.02)
    page = FORMATS["html"].encode(report_of(found)).decode()
    assert f"<title>{found.conclusion}</title>" in page
    assert page.count("p:first-child") == 1
    plain = FORMATS["html"].encode(report_of(scores(0.05))).decode()
    assert "<title>rankdev</title>" in plain
    assert "p:first-child" not in plain


def test_means_are_of_the_queries_that_are_compared():
    values = np.random.default_rng(0).random((2, 12, 1))
    values[1, 3] = np.nan
    scores = rd.Scores(("old", "new"), tuple(map(str, range(12))), ("P@1",), values)
    with warns("gaps"):
        row = rd.gate(scores, baseline="old", candidate="new", required=[0]).to_polars().row(0, named=True)
    assert row["candidate"] - row["baseline"] == pytest.approx(row["difference"])


def test_counts_are_compared_by_their_means():
    """Not by the sums that a table shows: the change is the candidate's mean less the baseline's."""
    values = np.random.default_rng(0).integers(0, 6, (2, 30, 1)).astype(float)
    kinds = (MeasureInfo("found", "sum", True, (0.0, np.inf)),)
    known = rd.Scores(("old", "new"), tuple(map(str, range(30))), ("found",), values, kinds=kinds)
    row = rd.gate(known, baseline="old").to_polars().row(0, named=True)
    assert [row["baseline"], row["candidate"]] == pytest.approx(values[:, :, 0].mean(axis=1))
    assert row["difference"] == pytest.approx(row["candidate"] - row["baseline"])


@pytest.mark.parametrize("size", [1.0, 5.0])
def test_a_margin_as_large_as_the_range_is_refused(size):
    """5 for 5% would pass everything."""
    known = scores(0.0)
    with raises("not-a-number", UsageError, name="margin", value=size):
        rd.gate(known, baseline="old", margin=size)
    with raises("not-a-number", UsageError, name="query_margin", value=size):
        rd.gate(known, baseline="old", query_margin=size)
    with raises("not-a-number", UsageError, name="margin", value=size):
        rd.equivalence(known, margin=size)
    with raises("not-a-number", UsageError, name="difference", value=size):
        rd.plan(known, "old", "new", known.measures[0], difference=size)
