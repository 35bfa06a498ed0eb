"""The gate: verdicts against its margin, required queries, segments, and what continuous integration reads."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

import rankdev as rd
from rankdev.display.encodings import FORMATS
from rankdev.display.special import junit_of
from rankdev.display.view import report_of
from rankdev.errors import UsageError
from rankdev.measures.base import MeasureInfo
from tests.raising import raises, warns


def scores(shift, n=60, noise=0.05, seed=0, lower=False, measures=("AP@5",)):
    rng = np.random.default_rng(seed)
    old = rng.uniform(0.3, 0.6, (n, len(measures)))
    new = old + shift + rng.normal(0, noise, old.shape)
    kinds = tuple(MeasureInfo(name, higher_is_better=not lower, range=(0.0, 1.0)) for name in measures)
    return rd.Scores(("old", "new"), tuple(f"q{i}" for i in range(n)), measures, np.stack([old, new]), kinds=kinds)


def gate(known, margin=0.05, **options):
    return rd.gate(known, baseline="old", margin=margin, **options)


@pytest.mark.parametrize(
    ("shift", "margin", "verdict", "said"),
    [
        (0.05, 0.001, "pass", "Ship new: not worse than old by more than 0.001."),
        (0.0, 0.05, "pass", "Ship new: not worse than old by more than 0.05."),
        (-0.1, 0.05, "fail", "Don't ship new: new is worse than old by more than 0.05 in AP@5: "),
        (0.0, 0.001, "undecided", "Don't know yet: new may be up to "),
        (-0.05, 0.05, "undecided", "Don't know yet: new may be up to "),
    ],
)
@pytest.mark.parametrize("lower", [False, True])
def test_it_passes_above_the_margin_and_fails_below_it(shift, margin, verdict, said, lower):
    found = gate(scores(-shift if lower else shift, lower=lower), margin)
    assert (found.verdict, bool(found)) == (verdict, verdict == "pass")
    assert found.conclusion.startswith(said)
    assert str(found).startswith(said[:60])
    row = found.to_polars().row(0, named=True)
    assert row["low"] < row["difference"] < row["high"]
    worst = row["high"] if lower else -row["low"]
    assert (worst < margin) == (verdict == "pass")
    assert "of these 60 queries lost more than 0.5; up to 6% of all may." in found.losses


def test_any_measure_that_fails_fails_and_all_must_pass():
    both = scores(0.05, measures=("AP@5", "RR"))
    values = both.values.copy()
    values[1, :, 1] -= 0.2
    mixed = rd.Scores(both.systems, both.queries, both.measures, values, kinds=both.kinds)
    found = gate(mixed, 0.01, candidate="new")
    assert found.verdict == "fail"
    assert found.to_polars()["verdict"].to_list() == ["pass", "fail"]
    assert len(found.reasons) == 1
    assert gate(mixed, measures=["AP@5"])


def test_required_queries_lose_nothing():
    known = scores(0.1, noise=0.0)
    values = known.values.copy()
    values[1, 7, 0] = values[0, 7, 0] - 0.25
    one = rd.Scores(known.systems, tuple(map(str, range(60))), known.measures, values, kinds=known.kinds)
    assert gate(one, required=["8", 9])
    found = gate(one, required=[7])
    assert found.verdict == "fail"
    assert found.reasons == ("required query '7' lost 0.25 in AP@5",)
    assert found.worst["query"].to_list() == ["7"]
    with raises("required-unscored", rd.DataError, query="99"):
        gate(one, required=[99])


def test_what_is_the_same_passes_and_says_so():
    same = scores(0.0, n=10, noise=0.0)
    assert gate(same).conclusion == "Ship new: it scores the same on every query as old."
    assert gate(same).losses == ""


def test_differences_that_cancel_within_clusters_are_not_the_same():
    values = np.full((2, 20, 1), 0.5)
    values[1, :2, 0] += (0.1, -0.1)
    known = rd.Scores(("old", "new"), tuple(f"q{i}" for i in range(20)), ("AP@5",), values)
    found = gate(known, 0.01, clusters={f"q{i}": i // 2 for i in range(20)})
    assert found.verdict == "undecided"
    assert "same" not in found.conclusion


def test_a_baseline_with_scores_of_its_own():
    known = scores(-0.2)
    old, new = (known.select(systems=[name]) for name in known.systems)
    assert rd.gate(new, baseline=old, margin=0.1).to_polars().equals(gate(known, 0.1).to_polars())
    assert rd.gate(new, baseline=new, margin=0.1).baseline == "baseline"
    with pytest.raises(rd.DataError, match="2 systems"):
        rd.gate(new, baseline=known, margin=0.1)
    with pytest.raises(rd.DataError, match="other queries"):
        rd.gate(new.select(queries=new.queries[1:]), baseline=old, margin=0.1)


def in_segments(shifts, n=40, noise=0.05):
    """Return scores with a segment of n queries per shift, and the segments."""
    parts = [scores(shift, n, noise, seed) for seed, shift in enumerate(shifts)]
    queries = tuple(f"{part}/{query}" for part, _ in enumerate(shifts) for query in parts[0].queries)
    values = np.concatenate([part.values for part in parts], axis=1)
    segments = {
        f"s{part}": [query for query in queries if query.startswith(f"{part}/")] for part, _ in enumerate(shifts)
    }
    return rd.Scores(parts[0].systems, queries, parts[0].measures, values, kinds=parts[0].kinds), segments


def test_a_segment_that_lost_fails_though_the_mean_passes():
    known, segments = in_segments([0.1, 0.1, -0.1])
    assert gate(known, 0.02)
    found = gate(known, 0.02, segments=segments)
    verdicts = [("all", "pass"), ("s0", "pass"), ("s1", "pass"), ("s2", "fail")]
    assert found.to_polars().select("segment", "verdict").rows() == verdicts
    assert found.reasons[0].startswith("new is worse than old by more than 0.02 in AP@5 of segment s2: -0.")
    alone = gate(known.select(queries=segments["s2"]), 0.02).to_polars()
    assert (
        found.to_polars()[3:]
        .select("baseline", "candidate", "low", "high")
        .equals(alone.select("baseline", "candidate", "low", "high"))
    )
    assert found.to_polars()[:1].equals(gate(known, 0.02).to_polars())  # the same with and without segments
    assert "AP@5, s2" in junit_of(found).decode()


@pytest.mark.parametrize(
    "options",
    [
        *({"segments": ["q1"]}, {"segments": {"all": ["q1"]}}, {"baseline": "nope"}, {"candidate": "old"}),
        *({"candidate": "nope"}, {"margin": 0}, {"margin": 1.0}, {"margin": 5.0}, {"required": "q1"}),
        *({"required": [3.5]}, {"alpha": 0.5001}),
    ],
)
def test_wrong_arguments_are_refused(options):
    with pytest.raises(UsageError):
        rd.gate(scores(0.0), **{"baseline": "old", "margin": 0.05, **options})


@pytest.mark.filterwarnings("ignore")
def test_ids_that_do_not_match_are_refused():
    references = rd.References.from_grades({f"q{i}": {"66248": 1, "2": 0} for i in range(9)})
    runs = {name: {f"q{i}": ["66248.0", "2.0"] for i in range(9)} for name in ("old", "new")}
    found = gate(rd.evaluate(references, runs, "nDCG@5"))
    assert (found.verdict, bool(found)) == ("refused", False)
    assert set(found.to_polars()["verdict"]) == {"refused"}
    assert "'66248.0', the references' like '66248'" in found.conclusion
    assert found.conclusion in str(found).replace("\n", " ")
    root = ET.fromstring(junit_of(found))
    assert root.attrib["errors"] == "1"
    assert root[0].find("error").text == found.conclusion
    assert "No decision" in FORMATS["markdown"].encode(report_of(found)).decode()


def test_junit_has_a_case_per_measure():
    known = scores(-0.2, measures=("AP@5", "RR"))
    root = ET.fromstring(junit_of(gate(known)))
    assert root.attrib["failures"] == "2"
    assert all(case.find("failure").text.startswith("new is worse than old") for case in root)
    assert ET.fromstring(junit_of(gate(scores(0.0), 0.001))).attrib["skipped"] == "1"


def test_counts_are_compared_by_their_means():
    """Not by the sums that a table shows: the change is the candidate's mean less the baseline's."""
    values = np.random.default_rng(0).integers(0, 6, (2, 30, 1)).astype(float)
    values[1, 3] = np.nan  # left out of both
    kinds = (MeasureInfo("found", "sum", True, (0.0, np.inf)),)
    known = rd.Scores(("old", "new"), tuple(map(str, range(30))), ("found",), values, kinds=kinds)
    with warns("gaps"):
        row = gate(known, required=[0]).to_polars().row(0, named=True)
    assert [row["baseline"], row["candidate"]] == pytest.approx(np.delete(values[:, :, 0], 3, axis=1).mean(axis=1))
    assert row["difference"] == pytest.approx(row["candidate"] - row["baseline"])


def test_so_many_queries_are_needed_that_enough_of_them_differ():
    """Two of 54 differ and six are needed: 162 queries, although the standard deviation alone asks for fewer."""
    values = np.full((2, 54, 1), 0.5)
    values[1, :2, 0] += 0.3
    found = rd.significance(rd.Scores(("a", "b"), tuple(map(str, range(54))), ("RR",), values), margin=0.02)
    assert found.decisions[0].moved == 2
    assert found.decisions[0].verdict == "cannot tell"
    assert "162 queries" in found.conclusion


@pytest.mark.parametrize("at", [0, 1])
def test_losses_are_those_of_the_measure_in_which_most_queries_lost(at):
    values = np.full((2, 30, 2), 0.9)
    values[1, :2, at] = 0.1
    found = gate(rd.Scores(("old", "new"), tuple(map(str, range(30))), ("P@5", "RR"), values))
    assert found.losses.startswith(f"2 of these 30 queries lost more than 0.5 in {('P@5', 'RR')[at]}; ")
