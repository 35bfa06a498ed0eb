import json
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import rankdev as rd
from rankdev.cli import cli
from rankdev.studies._published import published
from rankdev.studies.trec_dl.pipeline import Collection
from rankdev.studies.trec_dl.study import (
    BASELINES,
    RDQ,
    TrecDl,
    all_tiers,
    power_table,
    run_trec_dl,
    save_trec_dl_figures,
    tier_statistics,
)

SHARED = Path(__file__).parents[2].parent / "shared" / "data" / "trec-dl"
needs_data = pytest.mark.skipif(not SHARED.is_dir(), reason=f"the public TREC-DL files are not at {SHARED}")


def make_year(seed, queries=40, systems=("s", "t", "u"), items=12):
    rng = np.random.default_rng(seed)
    names = [f"d{i}" for i in range(items)]
    grades = {f"q{q}": dict(zip(names, rng.integers(0, 4, items).tolist(), strict=True)) for q in range(queries)}
    for values in grades.values():
        values["d0"] = 3
    runs = {
        system: rd.Run.from_scores(
            {query: {item: grade + rng.normal(0, 1 + i) for item, grade in values.items()}
             for query, values in grades.items()}
        )
        for i, system in enumerate(systems)
    }  # fmt: skip
    return Collection(rd.References.from_grades(grades), runs)


@pytest.fixture(scope="module")
def study():
    years = {"2019": make_year(0), "2020": make_year(1, queries=70), "2021": make_year(2, systems=("v", "w", "x"))}
    return run_trec_dl(years, quick=True)


@given(st.lists(st.dictionaries(st.sampled_from("abcdefg"), st.integers(0, 3), min_size=1), min_size=1, max_size=6))
def test_tier_statistics_are_those_counted_one_by_one(judgments):
    grades = {f"q{i}": {**entry, "alpha": 2} for i, entry in enumerate(judgments)}
    kept = {query: {item: g for item, g in entry.items() if g > 0} for query, entry in grades.items()}
    tiers = [size for entry in kept.values() for size in Counter(entry.values()).values()]
    found = tier_statistics("x", [rd.References.from_grades(grades)])
    assert found.queries == len(kept)
    assert found.relevant == pytest.approx(np.mean([len(entry) for entry in kept.values()]))
    assert found.median_tier == np.median(tiers)
    assert found.mean_tier == pytest.approx(np.mean(tiers))


def test_a_query_without_reference_items_has_no_tier():
    judged = rd.References.from_grades({"a": {"x": 0}, "b": {"x": 1, "y": 1}})
    assert tier_statistics("x", [judged]).mean_tier == 2


def test_tiers_are_pooled_where_there_are_several_years():
    refs = rd.References.from_grades({"q": {"a": 1}})
    assert [tiers.name for tiers in all_tiers({"2019": refs})] == ["2019"]
    assert [(tiers.name, tiers.queries) for tiers in all_tiers({"2019": refs, "2020": refs})][-1] == ("pooled", 2)


def test_power_is_pooled_over_years_with_the_same_systems(study):
    assert [pool.years for pool in study.pools] == [("2019", "2020"), ("2021",)]
    first = study.pools[0]
    assert first.scores.values.shape == (3, 110, 12)
    assert first.scores.queries[0] == "2019/q0"
    assert first.power.sizes == (25, 100)
    alone = rd.evaluate(make_year(1, 70).references, dict(make_year(1, 70).runs), RDQ[0]).values[:, :, 0]
    np.testing.assert_allclose(first.scores.of(RDQ[0])[:, 40:], alone)


def test_a_pool_with_fewer_queries_than_100_says_so(study):
    assert "the pool has 40 queries; larger sizes are left out: 100" in study.notes
    row = power_table(study.pools[1], published("trec-dl")).ours["AP@10"]
    assert row[:3] != [None] * 3
    assert row[3:] == [None] * 3


def test_agreement_is_between_rdq_and_the_others_for_each_year(study):
    frame = study.to_polars()
    for year in ("2019", "2020", "2021"):
        assert frame.filter(pl.col("part") == f"Figure 2 {year}").height == len(RDQ) * len(BASELINES) * 2
    means = rd.evaluate(make_year(0).references, dict(make_year(0).runs), ["RDQ@10", "AP@10"]).means
    r = np.corrcoef(means.T)[0, 1]
    pair = (pl.col("measure") == "RDQ@10 ~ AP@10") & (pl.col("statistic") == "r")
    found = frame.filter((pl.col("part") == "Figure 2 2019") & pair)["value"].item()
    assert found == pytest.approx(r)


def test_published_values_are_whole_and_belong_to_the_measures_of_the_study():
    paper = published("trec-dl")
    assert sorted(paper["power"]) == sorted([*RDQ, *BASELINES])
    assert {len(row) for row in paper["power"].values()} == {len(paper["power_columns"])}
    assert sum(paper["queries"].values()) == paper["tiers"]["queries"]


def test_interrupted_work_is_not_reported_as_whole():
    def interrupt(done, total, note):
        if note == "n = 100":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_trec_dl({"2019": make_year(0, queries=110)}, quick=True, progress=interrupt)


def test_the_same_seed_gives_the_same_tables(study):
    years = {"2019": make_year(0), "2020": make_year(1, queries=70), "2021": make_year(2, systems=("v", "w", "x"))}
    assert run_trec_dl(years, quick=True).to_polars().equals(study.to_polars())


def test_the_figure_is_written_and_left_out_without_runs(study, tmp_path):
    (path,) = save_trec_dl_figures(study, tmp_path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert save_trec_dl_figures(TrecDl(study.tiers), tmp_path / "none") == []


def test_tiers_alone_from_the_command_line(tmp_path):
    (tmp_path / "qrels").write_text("1 0 a 2\n1 0 b 1\n1 0 c 1\n")
    done = CliRunner().invoke(
        cli, ["study", "trec-dl", "--tiers", "--qrels", f"2019={tmp_path}/qrels", "--format", "json"]
    )
    assert done.exit_code == 0
    records = {record["statistic"]: record["value"] for record in json.loads(done.stdout)}
    assert records == {"queries": 1, "relevant": 3, "median_tier": 1.5, "mean_tier": 1.5}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--qrels", "file"], "--qrels file: expected YEAR=FILE"),
        (["--runs", "=x"], "--runs =x: expected YEAR=FILE"),
        (["--qrels", "2019=/nowhere", "--tiers"], "/nowhere: there is no such file"),
    ],
)
def test_wrong_options_are_named(arguments, message):
    done = CliRunner().invoke(cli, ["study", "trec-dl", *arguments])
    assert isinstance(done.exception, rd.UsageError) or done.exit_code == 2
    assert message in str(done.exception) + done.output


@needs_data
def test_tiers_of_the_document_judgments():
    files = {"2019": "dl19-doc-msmarco-v2", "2020": "dl20-doc-msmarco-v2", "2021": "dl21-doc"}
    rows = all_tiers({year: rd.read_references(SHARED / f"doc/qrels.{name}.txt") for year, name in files.items()})
    assert [row.queries for row in rows] == [43, 45, 57, 145]
    assert rows[-1].median_tier == 16


@needs_data
def test_real_runs_of_2019_and_2020_are_pooled():
    passage = SHARED / "passage"
    years = []
    for year in ("19", "20"):
        years += ["--qrels", f"20{year}={passage}/qrels.dl{year}-passage.txt", "--runs", f"20{year}={passage}/dl{year}"]
    done = CliRunner().invoke(cli, ["study", "trec-dl", "--quick", *years])
    assert done.exit_code == 0
    assert "2019+2020 (97 queries, 6 systems)" in done.stdout
    assert "Figure 2" in done.stdout
