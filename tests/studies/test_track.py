import json

import numpy as np
import pytest
from click.testing import CliRunner
from tests.raising import raises

import rankdev as rd
from rankdev.cli import cli
from rankdev.studies import track as track_study
from rankdev.studies.track import run_track

QUERIES = 40
SMALL = {"subsamples": 12, "permutations": 99, "resamples": 20}


@pytest.fixture(autouse=True, scope="module")
def small():
    """Less work than --quick."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(track_study, "QUICK", SMALL)
        yield


def track(grades=True, seed=0, levels=4):
    rng = np.random.default_rng(seed)
    judged, runs = {}, {"good": {}, "poor": {}, "noise": {}}
    for q in range(QUERIES):
        worth = {f"d{i}": int(rng.integers(0, levels)) for i in range(8 + q % 20)} | {"d0": levels - 1}
        judged[f"q{q}"] = worth
        for i, run in enumerate(runs.values()):
            run[f"q{q}"] = {item: value + rng.normal(0, 0.5 + i) for item, value in worth.items()}
    references = rd.References.from_grades(judged)
    if not grades:
        kept = {q: sorted((item for item in entry if entry[item]), key=entry.get) for q, entry in judged.items()}
        references = rd.References.from_lists(kept)
    return references, {name: rd.Run.from_scores(run) for name, run in runs.items()}


@pytest.fixture(scope="module")
def study(small):
    return run_track({"all": track()}, quick=True)


def value(study, part, measure, statistic):
    found = study.to_polars().filter(part=part, measure=measure, statistic=statistic)
    return found.row(0, named=True)


def test_power_is_that_of_the_same_scores(study):
    references, runs = track()
    scores = rd.evaluate(references, runs, ["paper@10", "nDCG(dcg=exp-log2)@10"])
    alone = rd.power(scores, sizes=[25], subsamples=12, permutations=99).summary(25)
    for row in alone.iter_rows(named=True):
        assert value(study, "power", row["measure"], "p50@25")["value"] == row["p50"]


def test_tiers_are_counted_over_the_queries_that_have_reference_items():
    one = rd.References.from_grades({"q": {"a": 1, "b": 1}, "none": {"c": 0}})
    other = rd.References.from_grades({"q": {"a": 3, "b": 1}})
    assert track_study.tier_statistics(one) == {"relevant": 1.0, "median": 2.0, "mean": 2.0}
    assert track_study.tier_statistics(one, other) == {"relevant": 4 / 3, "median": 1.0, "mean": 4 / 3}


def test_every_query_is_in_one_bucket_of_each_kind_drawn_with_replacement(study):
    for kind in ("reference size", "tier size"):
        parts = [part for part in study.parts[0].buckets if part.kind == kind]
        assert len(parts) == 3
        assert sum(part.queries for part in parts) == QUERIES
    references, runs = track()
    bucket = study.parts[0].buckets[0]
    rows = np.flatnonzero(references.sizes <= float(bucket.label.removeprefix("≤")))
    few = rd.evaluate(references.of_queries(rows), runs, study.measures)
    alone = rd.power(few, sizes=[25], replacement=True, subsamples=12, permutations=99)
    assert np.array_equal(bucket.power.power, alone.power)


def test_the_grid_agrees_with_the_main_table_where_they_meet(study):
    assert value(study, "Figure 1", "RDQ@10", "p50@25") == {
        **value(study, "power", "RDQ@10", "p50@25"),
        "part": "Figure 1",
    }


def test_references_without_grades_have_no_native_ndcg():
    study = run_track({"all": track(grades=False)}, quick=True, cutoff=5)
    assert "nDCG(dcg=exp-log2)@5" not in study.measures
    assert {part.kind for part in study.parts[0].buckets} == {"reference size"}


def test_ones_own_measures_sizes_and_grid():
    own = run_track({"all": track()}, ["P@5", "RR", "P@10"], sizes=[10], grid={"cutoff": [1, 5]}, quick=True)
    assert own.families == (["P@5", "P@10"], ["RR"])
    assert own.parts[0].power.sizes == (10, 25)
    assert own.parts[0].grid.measures == ("P@1", "P@5")
    figure_2 = own.to_polars().filter(part="Figure 2", statistic="tau")["measure"].to_list()
    assert figure_2 == ["P@5 ~ RR", "P@10 ~ RR"]


def test_more_queries_than_there_are_need_replacement():
    with raises("too-few", rd.DataError, least=50, count=QUERIES):
        run_track({"all": track()}, ["RR"], n=50, quick=True)
    study = run_track({"all": track()}, ["RR"], n=50, replacement=True, quick=True)
    assert study.parts[0].power.replacement
    assert study.agreement is None


def test_collections_with_the_same_systems_are_pooled_and_others_are_not():
    one, other = track(seed=1), track(seed=2)
    pooled = run_track({"x": one, "y": other}, ["RDQ@5", "AP@5"], grid={}, quick=True)
    assert [part.name for part in pooled.parts] == ["x + y"]
    assert (
        len(pooled.parts[0].scores.queries) == sum(part.queries for part in pooled.parts[0].buckets[:3]) == 2 * QUERIES
    )
    apart = run_track({"x": one, "y": (other[0], dict(list(other[1].items())[:2]))}, ["RDQ@5", "AP@5"], quick=True)
    assert [part.name for part in apart.parts] == ["x", "y"]
    for study in (pooled, apart):
        assert study.agreement.datasets == ("x", "y")
        assert set(study.to_polars().filter(part="Figure 2")["collection"]) == {"x", "y"}


def test_from_the_command_line(tmp_path):
    references, runs = track()
    (tmp_path / "runs").mkdir()
    for name, run in runs.items():
        rd.write_run(run, tmp_path / "runs" / f"{name}.run")
    rd.write_references(references, tmp_path / "refs.jsonl")
    files = [str(tmp_path / "refs.jsonl"), str(tmp_path / "runs")]
    shown = ["--quick", "--format", "json", "--figures", str(tmp_path / "new")]
    done = CliRunner().invoke(cli, ["study", "track", *files, "-m", "RDQ@5,AP@5", *shown])
    assert done.exit_code == 0, done.output
    names = {path.name for path in (tmp_path / "new").iterdir()}
    assert names == {"power.png", "figure1.png", "figure2.png", "stability.png"}
    found = json.loads(done.stdout)
    assert found["command"] == "study track"
    assert {row["part"] for row in found["rows"]} >= {"power", "stability", "Figure 1", "Figure 2"}
