import json

import numpy as np
import pytest
from click.testing import CliRunner

import rankdev as rd
from rankdev import studies
from rankdev.cli import cli
from rankdev.studies.maps.real_pairs import place_of
from rankdev.studies.maps.result import PowerMap
from rankdev.studies.maps.simulated import simulate_grid


def made(power):
    """A map of two measures over a grid of two by two."""
    return PowerMap(
        retrieval=(0.0, 0.1),
        order=(0.0, 0.2),
        measures=("x", "y"),
        power=np.array(power),
        n=10,
        queries=20,
        subsamples=5,
        permutations=9,
        seeds=len(power),
        shape={},
        seed=0,
    )


SEEDS = [[[[0.1, 0.0], [0.5, 0.9]], [[0.6, 0.2], [0.8, 0.8]]], [[[0.0, 0.1], [0.3, 0.9]], [[0.8, 0.2], [0.8, 0.6]]]]


def test_regret_is_what_a_measure_lacks_to_the_best_of_each_cell():
    summary = made(SEEDS).summary()
    assert summary["measure"].to_list() == ["x", "y"]
    # x: .9 − .4 in one cell of three; y: .7 − .2 and .8 − .7
    assert summary["regret"].to_list() == pytest.approx([0.5 / 3, 0.6 / 3])
    assert summary["worst"].to_list() == pytest.approx([0.5, 0.5])
    assert summary["wins"].to_list() == [2, 1]


def test_the_corner_without_a_difference_has_no_winner():
    winners = made(SEEDS).winners()
    assert winners["winner"].to_list() == ["y", "x", "x"]
    assert (winners["retrieval"] + winners["order"]).min() > 0


def test_rows_are_cells_and_measures():
    rows = made(SEEDS).to_polars()
    assert rows.columns == ["retrieval", "order", "measure", "power"]
    assert rows.row(4) == (0.1, 0.0, "x", pytest.approx(0.7))


def test_equal_systems_are_significant_as_rarely_as_the_level_says_and_a_lead_is_seen():
    found = studies.power_map(["RDQ@5"], quick=True, seed=1)
    cells = found.power.mean(axis=0)[:, :, 0]
    assert cells[0, 0] < 0.2
    assert cells[2, 2] > 0.9


def test_the_same_seed_gives_the_same_map():
    first, again = (studies.power_map(["RBP@5"], n=20, quick=True, seed=3, ties=0.5).power for _ in range(2))
    assert np.array_equal(first, again)


def test_a_place_is_found_where_powers_are_those_of_the_map():
    found = made(SEEDS)
    # halfway between two cells: the mean of .9 and .7 for y, of .4 and .8 for x
    place = place_of(found, {"x": 0.6, "y": 0.8})
    assert (place.retrieval, place.order) == (pytest.approx(0.05, abs=0.01), pytest.approx(0.2))
    assert place.apart == pytest.approx(0, abs=0.02)
    assert place.tau == 1
    assert place.limits[0, 0] <= place.retrieval <= place.limits[1, 0]


def test_maps_are_drawn_for_every_kind_of_references():
    found = studies.power_maps(["RBP@5", "RDQ@5"], ties=[0.0, 0.9], reference_sizes=[3], n=20, quick=True)
    assert found.settings == ((0.0, 3), (0.9, 3))
    assert found.to_polars().columns == ["ties", "reference_size", "retrieval", "order", "measure", "power"]
    alone = studies.power_map(["RBP@5", "RDQ@5"], n=20, quick=True, ties=0.9, buckets=[(3, 3, 1)])
    assert np.array_equal(found.maps[1].power, alone.power)
    assert found.summary().height == 4


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ({}, "give values of ties or of reference_sizes"),
        ({"ties": [0.5, 0.5]}, "has a value twice"),
        ({"ties": [2]}, "ties"),
        ({"reference_sizes": 3}, "must be a list"),
    ],
)
def test_wrong_axes_are_named(axes, message):
    with pytest.raises(rd.UsageError, match=message):
        studies.power_maps(quick=True, **axes)


def test_axes_from_the_command_line():
    call = ["study", "map", "--quick", "-n", "20", "--tie-share", "0,0.9", "--format", "json"]
    rows = json.loads(CliRunner().invoke(cli, call).stdout)["rows"]
    assert {row["ties"] for row in rows} == {0, 0.9}
    wrong = CliRunner().invoke(cli, ["study", "map", "--quick", "--reference-size", "few"])
    assert "--reference-size is 'few'" in str(wrong.exception) + wrong.output


def test_the_plane_holds_the_weakest_first_and_then_every_pair_of_leads():
    systems = simulate_grid((0.0, 0.1), 5, 0).runs
    assert list(systems) == ["weakest-s", "r0+o0-s", "r0+o0.1-s", "r0.1+o0-s", "r0.1+o0.1-s"]


@pytest.mark.parametrize(
    ("keywords", "message"), [({"n": 401}, "give a smaller n"), ({"models": {}}, "the map sets models itself")]
)
def test_wrong_arguments_are_named(keywords, message):
    with pytest.raises(rd.UsageError, match=message):
        studies.power_map(quick=True, **keywords)
