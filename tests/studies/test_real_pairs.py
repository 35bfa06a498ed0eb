import json

import numpy as np
import pytest
from click.testing import CliRunner

import rankdev as rd
from rankdev import studies
from rankdev.cli import cli
from rankdev.studies.maps.real_pairs import RealPairs
from rankdev.studies.simulation import simulate


def made(power, said, usual, systems=("x", "y", "z")):
    pairs = len(power)
    place = np.tile([0.3, 0.1], (pairs, 1))
    values = {"power": np.array(power), "said": np.array(said), "usual": np.array(usual), "far": np.zeros(pairs)}
    settings = {"n": 25, "apart": 0.1, "resamples": 50, "seed": 0}
    return RealPairs(systems=systems, measures=("m", "n"), place=place, **values, **settings)


def test_right_is_counted_over_clear_cases():
    # m has more power for the first pair, n for the second; the third is too close to count
    found = made([[0.9, 0.1], [0.2, 0.8], [0.5, 0.55]], [[0.7, 0.6], [0.5, 0.4], [0.1, 0.9]], [0.4, 0.5])
    right = dict(found.summary().select("way", "right").iter_rows())
    assert right == {"place": 0.5, "references": 0.5, "hindsight": 0.5, "gain of the place": 0.0}
    better = made([[0.9, 0.1], [0.2, 0.8], [0.5, 0.55]], [[0.7, 0.6], [0.3, 0.4], [0.1, 0.9]], [0.4, 0.5])
    assert better.summary()["right"][0] == 1


def test_where_a_pair_lies():
    found = made([[0.9, 0.1]] * 3, [[0.9, 0.1]] * 3, [0.5, 0.5])
    assert found.by_retrieval == pytest.approx([0.75] * 3)
    assert found.opposed == 0


@pytest.fixture(scope="module")
def data():
    return simulate(60, seed=2, models={"a": 1.0, "b": 1.2, "c": 1.5}, settings={"s": 1.0})


def test_places_are_differences_of_losses(data):
    found = studies.place_runs(data.references, data.runs, ["RDQ@5", "RBP@5"], n=20, quick=True)
    lost = rd.losses(data.references, dict(data.runs), "RDQ@5").to_polars()
    above = lost["lost_by_retrieval"] + lost["lost_by_cutoff"]
    apart = np.abs(above[1] - above[0])
    assert found.place[0, 0] == pytest.approx(apart)
    assert (found.place[:, 0] >= 0).all()
    power = rd.power(
        rd.evaluate(data.references, dict(data.runs), ["RDQ@5", "RBP@5"]), sizes=[20], subsamples=40, permutations=199
    )
    assert np.array_equal(found.power, power.power[:, :, 0].T)
    assert found.to_polars().columns == ["a", "b", "retrieval", "order", "measure", "power", "said"]
    again = studies.place_runs(data.references, data.runs, ["RDQ@5", "RBP@5"], n=20, quick=True)
    assert again.summary().equals(found.summary())


def test_from_the_command_line(data, tmp_path):
    data.save(tmp_path)
    files = ["--references", str(tmp_path / "references.jsonl"), "--runs", str(tmp_path / "runs")]
    done = CliRunner().invoke(cli, ["study", "map", *files, "--quick", "-n", "20", "--format", "json"])
    assert done.exit_code == 0, done.output
    assert {row["way"] for row in json.loads(done.stdout)["summary"]} >= {"place", "references", "hindsight"}
    for wrong, message in (
        (files[:2], "belong together"),
        ([*files, "--tie-share", "0.5"], "are for the simulated map"),
    ):
        assert message in str(CliRunner().invoke(cli, ["study", "map", *wrong]).exception)


@pytest.mark.parametrize(("few", "n", "message"), [(2, 20, "at least three"), (3, 70, "give a smaller n")])
def test_too_little_is_refused(data, few, n, message):
    with pytest.raises(rd.DataError, match=message):
        studies.place_runs(data.references, dict(list(data.runs.items())[:few]), n=n, quick=True)
