"""Clusters and repeated runs on the command line."""

import json

import polars as pl
import pytest
from tests.raising import warns

import rankdev as rd

RUNS = ("nearest.run", "popular.run", "blended.run")
SYSTEMS = {path.removesuffix(".run"): path for path in RUNS}
MORE = ("no.run",)  # another run of the system x


@pytest.fixture
def clusters(folder):
    queries = list(rd.read_references("places.jsonl"))
    found = {query: f"u{i % 7}" for i, query in enumerate(queries)}
    pl.DataFrame({"query": list(found), "cluster": list(found.values())}).write_csv("users.csv")
    return found


@pytest.fixture
def more_runs(folder):
    (folder / "no.run").write_text((folder / "nearest.run").read_text())


def rows_of(done):
    assert done.status == 0, done.err
    return json.loads(done.out)["rows"]


def test_compare_takes_clusters(rankdev, clusters):
    scores = rd.evaluate("places.jsonl", SYSTEMS, ["RDQ@5"])
    given = ("places.jsonl", *RUNS, "-m", "RDQ@5", "--clusters", "users.csv")
    shown = rankdev("compare", *given, "--format", "json")
    assert rows_of(shown) == rd.significance(scores, clusters=clusters).to_polars().to_dicts()
    assert json.loads(shown.out)["parameters"]["clusters"] == 7
    same = rankdev("compare", *given, "--margin", "0.5", "--format", "json")
    expected = rd.significance(scores, margin=0.5, clusters=clusters).to_polars()
    assert rows_of(same) == expected.to_dicts()


SCORES = lambda *measures: rd.evaluate("places.jsonl", SYSTEMS, list(measures))  # noqa: E731
EVERYWHERE = {
    "power": (
        ("--sizes", "5", "--subsamples", "20"),
        lambda **given: rd.power(SCORES("RDQ@5"), sizes=[5], subsamples=20, **given),
    ),
    "stability": (("--sizes", "3"), lambda **given: rd.stability(SCORES("RDQ@5"), sizes=[3], **given)),
    "agreement": (
        ("-m", "AP@5", "--resamples", "20"),
        lambda **given: rd.agreement(SCORES("RDQ@5", "AP@5"), resamples=20, **given),
    ),
    "table": ((), lambda **given: rd.table(SCORES("RDQ@5"), **given)),
    "sensitivity": (
        ("-n", "5", "--grid", "alpha=1,4", "--subsamples", "20"),
        lambda **given: rd.sensitivity("places.jsonl", SYSTEMS, n=5, grid={"alpha": [1, 4]}, subsamples=20, **given),
    ),
}


@pytest.mark.parametrize("command", EVERYWHERE)
def test_other_commands_take_clusters_too(rankdev, clusters, command):
    options, analyse = EVERYWHERE[command]
    done = rankdev(
        command, "places.jsonl", *RUNS, "-m", "RDQ@5", *options, "--clusters", "users.csv", "--format", "json"
    )
    assert rows_of(done) == analyse(clusters=clusters).to_polars().to_dicts()


def test_a_gate_and_collections_take_clusters(rankdev, clusters):
    scores = SCORES("RDQ@5")
    given = ("places.jsonl", *RUNS[1:], "-m", "RDQ@5", "--clusters", "users.csv", "--format", "json")
    found = rd.gate(scores, baseline="popular", candidate="blended", clusters=clusters, margin=0.1)
    assert rows_of(rankdev("gate", *given, "--margin", "0.1")) == found.to_polars().to_dicts()
    for name in ("one", "two"):
        scores.to_polars().write_csv(f"{name}.csv")
    done = rankdev("compare", "--collection", "one.csv", "--collection", "two.csv", *given[-4:])
    with warns("few-collections", count=2):
        both = rd.meta_analysis({"one": scores, "two": scores}, clusters=clusters)
    assert rows_of(done) == both.to_polars().to_dicts()


def test_compare_takes_runs_of_a_system_by_their_names(rankdev, folder, more_runs):
    scores = rd.evaluate("places.jsonl", {**SYSTEMS, "no": "no.run"}, ["RDQ@5"])
    done = rankdev(
        "compare", "places.jsonl", *RUNS, *MORE, "-m", "RDQ@5", "--replicates", "x=[np]*", "--format", "json"
    )
    expected = rd.significance(scores, replicates={"x": ["nearest", "popular", "no"]})
    assert rows_of(done) == expected.to_polars().to_dicts()
    assert json.loads(done.out)["parameters"]["replicates"] == {"x": 3, "blended": 1}


def test_leaderboard_gives_what_leaderboard_gives(rankdev, clusters, folder):
    scores = rd.evaluate("places.jsonl", SYSTEMS, ["RDQ@5", "AP@5"])
    given = ("places.jsonl", *RUNS, "-m", "RDQ@5,AP@5")
    done = rankdev("leaderboard", *given, "--format", "json")
    found = rd.leaderboard(scores)
    assert rows_of(done) == found.to_polars().to_dicts()
    done = rankdev("leaderboard", *given, "--clusters", "users.csv", "--format", "json")
    assert rows_of(done) == rd.leaderboard(scores, clusters=clusters).to_polars().to_dicts()
    rankdev("leaderboard", *given, "--figure", "board.png")
    assert (folder / "board.png").stat().st_size > 0


def test_leaderboard_over_collections(rankdev, folder):
    scores = rd.evaluate("places.jsonl", SYSTEMS, ["RDQ@5"])
    parts = {"one": scores.select(queries=slice(0, 6)), "two": scores.select(queries=slice(6, None))}
    for name, part in parts.items():
        part.to_polars().write_csv(f"{name}.csv")
    given = ("--collection", "one.csv", "--collection", "two.csv")
    done = rankdev("leaderboard", *given, "--format", "json")
    assert rows_of(done) == rd.leaderboard(parts).to_polars().to_dicts()
    assert "means over 2 collections" in rankdev("leaderboard", *given).out


@pytest.mark.parametrize("name", ["twice.csv", "places.jsonl"])
def test_wrong_clusters_are_one_line_that_names_the_file(rankdev, folder, name):
    (folder / "twice.csv").write_text("query,cluster\nq,a\nq,b\n")
    done = rankdev("compare", "places.jsonl", *RUNS, "--clusters", name)
    assert (done.status, done.err.count("\n")) == (1, 1)
    assert done.err.startswith(f"rankdev: {name}: ")


def test_queries_are_weighted_from_a_file(rankdev, clusters):
    weights = {query: i + 1 for i, query in enumerate(clusters)}
    pl.DataFrame({"query": list(weights), "weight": list(weights.values())}).write_csv("traffic.csv")
    shown = rankdev("compare", "places.jsonl", *RUNS, "-m", "RDQ@5", "--weights", "traffic.csv", "--format", "json")
    assert rows_of(shown) == rd.significance(SCORES("RDQ@5"), weights=weights).to_polars().to_dicts()
    done = rankdev("eval", "places.jsonl", *RUNS, "--losses", "--weights", "traffic.csv")
    assert (done.status, "--weights" in done.err) == (2, True)
