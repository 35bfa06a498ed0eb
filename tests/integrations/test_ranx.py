"""ranx: its objects and its files are runs and references."""

import pytest

import rankdev as rd

pytestmark = pytest.mark.slow  # to compile it takes more than a minute


@pytest.fixture(scope="module")
def ranx():
    return pytest.importorskip("ranx")


@pytest.mark.parametrize("name", ["run.trec", "run.parquet", "run.json"])
def test_its_files_are_runs(tmp_path, ranx, name):
    scores = {"q1": {"a": 1.0, "b": 2.0}, "q2": {"c": 1.0}}
    ranx.Run(scores).save(str(tmp_path / name))
    assert rd.read_run(tmp_path / name) == rd.Run.from_scores(scores)
