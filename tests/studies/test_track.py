import json

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from tests.raising import noted, raises

import rankdev as rd
from rankdev.cli.app import cli
from rankdev.studies import track as track_study
from rankdev.studies._track_output import save_track_figures, track_report
from rankdev.studies.track import run_track

QUERIES = 40
SMALL = track_study.Protocol(12, 99, 20)


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
    references, runs = track()
    return run_track(runs, references, quick=True)


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
    assert track_study.tier_statistics(one) == track_study.TierStatistics(2, 1.0, 2.0, 2.0)
    assert track_study.tier_statistics(one, other) == track_study.TierStatistics(3, 4 / 3, 1.0, 4 / 3)


def test_every_query_is_in_one_bucket_of_each_kind(study):
    for kind in ("reference size", "tier size"):
        parts = [part for part in study.buckets if part.kind == kind]
        assert len(parts) == 3
        assert sum(part.queries for part in parts) == QUERIES


def test_a_bucket_holds_the_queries_its_label_names():
    references, runs = track()
    study = run_track(runs, references, quick=True, reference_sizes=[12], tier_sizes=[100])
    sizes = references.sizes
    assert [(part.label, part.queries) for part in study.buckets] == [
        ("≤12", int((sizes <= 12).sum())),
        (">12", int((sizes > 12).sum())),
    ]
    noted(study.notes, "no-buckets", of="tier size")
    few = rd.evaluate(references.of_queries(np.flatnonzero(sizes <= 12)), runs, study.scores.measures)
    alone = rd.power(few, sizes=[25], replacement=True, subsamples=12, permutations=99)
    assert np.array_equal(study.buckets[0].power.power, alone.power)


def test_the_advice_compares_m1_with_m2_in_every_bucket(study):
    rows = study.to_polars().filter(pl.col("measure") == "RDQ(penalty=m1)@10 − RDQ@10")
    assert rows.height == 1 + len(study.buckets)
    whole = [value(study, "power", name, "p50@25")["value"] for name in ("RDQ(penalty=m1)@10", "RDQ@10")]
    assert rows["value"][0] == pytest.approx(whole[0] - whole[1])


def test_the_grid_agrees_with_the_main_table_where_they_meet(study):
    assert value(study, "Figure 1", "RDQ@10", "p50@25") == {
        **value(study, "power", "RDQ@10", "p50@25"),
        "part": "Figure 1",
    }


def test_references_without_grades_have_no_native_ndcg():
    references, runs = track(grades=False)
    study = run_track(runs, references, quick=True, cutoff=5)
    assert "nDCG(dcg=exp-log2)@5" not in study.scores.measures
    assert {part.kind for part in study.buckets} == {"reference size"}


def test_the_same_seed_gives_the_same_facts(study):
    references, runs = track()
    assert run_track(runs, references, quick=True).to_polars().equals(study.to_polars())


def test_an_interruption_gives_what_is_finished():
    references, runs = track()

    def interrupt(done, total, note):
        if note.startswith("stability"):
            raise KeyboardInterrupt

    study = run_track(runs, references, quick=True, progress=interrupt)
    assert not study.complete
    assert study.stability is None
    assert study.buckets
    noted(study.notes, "unfinished", names=("stability", "agreement", "Figure 1"))
    assert "Table 3" not in track_report(study).text()


def test_pictures_are_written(study, tmp_path):
    names = {path.name for path in save_track_figures(study, tmp_path / "new")}
    assert names == {"power.png", "figure1.png", "figure2.png", "stability.png", "buckets.png"}


def test_from_the_command_line(tmp_path):
    references, runs = track()
    (tmp_path / "runs").mkdir()
    for name, run in runs.items():
        rd.write_run(run, tmp_path / "runs" / f"{name}.run")
    rd.write_references(references, tmp_path / "refs.jsonl")
    files = [str(tmp_path / "refs.jsonl"), str(tmp_path / "runs")]
    done = CliRunner().invoke(cli, ["study", "track", *files, "--quick", "--format", "json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["command"] == "study track"
    assert {row["part"] for row in found["rows"]} >= {"power", "stability", "Figure 1", "Figure 2"}


@pytest.mark.parametrize(
    ("keywords", "kind"),
    [
        ({"n": 50}, "too-few"),
        ({"reference_sizes": [3, 3]}, "bad-value"),
        ({"runs": 1}, "too-few"),
    ],
)
def test_wrong_arguments_are_named(keywords, kind):
    references, runs = track()
    kept = dict(list(runs.items())[: keywords.pop("runs", 3)])
    with raises(kind):
        run_track(kept, references, quick=True, **keywords)
