import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from tests.raising import raises

import rankdev as rd
from rankdev.cli import cli
from rankdev.measures import parse_all
from rankdev.studies import poi
from rankdev.studies.poi import Protocol, poi_report, published, run_poi
from rankdev.studies.simulation import simulate

TINY = Protocol(300, (25, 50, 100), 10, 60)


@pytest.fixture(scope="module")
def study():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(poi, "QUICK", TINY)
        return run_poi(quick=True, seed=3)


def test_the_published_tables_are_whole_and_name_the_measures_of_the_study():
    paper = published()
    labels = [str(measure) for measure in parse_all("paper@5")]
    for table in ("power", "stability"):
        assert sorted(paper[table]) == sorted(labels)
        assert {len(row) for row in paper[table].values()} == {len(paper[f"{table}_columns"])}
    assert sum(paper["bucket_queries"].values()) == paper["queries"]
    assert paper["pairs"]["any"] + paper["pairs"]["none"] == paper["pairs"]["pairs"]


def test_the_same_seed_gives_the_same_tables(study, monkeypatch):
    monkeypatch.setattr(poi, "QUICK", TINY)
    told = []
    again = run_poi(quick=True, seed=3, progress=lambda done, total, note: told.append((done / total, note)))
    assert again.to_polars().equals(study.to_polars())
    assert not run_poi(quick=True, seed=4).to_polars().equals(study.to_polars())
    assert told == sorted(told, key=lambda call: call[0])
    assert told[-1][0] == 1.0


def test_every_cell_of_the_paper_stands_beside_ours(study):
    frame = study.to_polars()
    counts = dict(frame.group_by("part").len().iter_rows())
    assert counts == {"Table 2": 13 * 8, "Table 3": 13 * 5, "Figure 1": 25 + 5, "pairs": 5}
    assert frame.filter(pl.col("part").is_in(["Table 2", "Table 3", "pairs"]))["published"].null_count() == 0


def test_figure_1_and_table_2_agree_where_they_show_the_same_measure(study):
    frame = study.to_polars().filter(pl.col("statistic") == "p50")
    for measure in ("RDQ@5", "RDQ(alpha=4)@5"):
        values = frame.filter(pl.col("measure") == measure)["value"].to_list()
        assert len(values) == 2
        assert values[0] == values[1]


def test_table_2_is_the_summary_of_the_power_simulation(study):
    facts = study.to_polars().filter(part="Table 2", measure="AP@5")["value"]
    values = study.power.power[study.power.measures.index("AP@5"), :, study.power.sizes.index(100)]
    np.testing.assert_allclose(facts[:3], np.percentile(values, [10, 50, 90]))


def test_a_bucket_that_is_too_small_is_left_out_and_said_so(study):
    assert any("bucket ≤3" in note for note in poi_report(study).remarks)
    assert study.to_polars().filter(pl.col("statistic") == "≤3")["value"].null_count() == 13


def test_ones_own_data_through_the_command_line(tmp_path, monkeypatch):
    monkeypatch.setattr(poi, "QUICK", TINY)
    made = simulate(120, seed=1, models={"a": 1.0, "b": 1.5}, settings={"x": 1.0})
    (tmp_path / "runs").mkdir()
    rd.write_references(made.references, tmp_path / "references.jsonl")
    for name, run in made.runs.items():
        rd.write_run(run, tmp_path / "runs" / f"{name}.run")
    files = ["--references", str(tmp_path / "references.jsonl"), "--runs", str(tmp_path / "runs")]
    done = CliRunner().invoke(cli, ["study", "poi", "--quick", *files, "--figures", str(tmp_path / "new")])
    assert done.exit_code == 0
    assert {path.name for path in (tmp_path / "new").iterdir()} == {"figure1.png", "power.png", "stability.png"}
    assert "data: given: 120 queries, 2 systems, seed 0" in done.stdout
    assert "Why simulated" not in done.stdout


def test_too_few_queries_are_refused():
    made = simulate(60, models={"a": 1.0, "b": 1.5}, settings={"x": 1.0})
    with raises("too-few", rd.DataError, least=100, count=60):
        run_poi(made.references, made.runs)
