import json

import pytest

import rankdev as rd
from rankdev.statistics.power import power
from rankdev.statistics.significance import significance
from rankdev.statistics.stability import stability

RUNS = ("nearest.run", "popular.run", "blended.run")
SYSTEMS = {path.removesuffix(".run"): path for path in RUNS}


@pytest.fixture
def scores(folder):
    return rd.evaluate("places.jsonl", SYSTEMS, ["RDQ@5", "AP@5"])


def ask(rankdev, command, *options):
    done = rankdev(command, "places.jsonl", *RUNS, "-m", "RDQ@5", "-m", "AP@5", *options, "--format", "json")
    assert done.status == 0, done.err
    found = json.loads(done.out)
    assert list(found)[:5] == ["command", "version", "parameters", "summary", "rows"]
    assert (found["command"], found["version"]) == (command, rd.__version__)
    return found["rows"]


def test_compare_gives_what_significance_gives(rankdev, scores):
    assert ask(rankdev, "compare") == significance(scores).to_polars().to_dicts()
    against = ask(rankdev, "compare", "--baseline", "nearest", "--test", "randomization", "--correction", "bh")
    assert (
        against
        == significance(scores, baselines="nearest", test="randomization", correction="bh").to_polars().to_dicts()
    )


@pytest.mark.filterwarnings("ignore::rankdev.errors.RankdevWarning")
def test_power_gives_what_power_gives(rankdev, scores):
    options = ("--sizes", "4,8", "--subsamples", "20", "--permutations", "50", "--seed", "3")
    expected = power(scores, sizes=[4, 8], subsamples=20, permutations=50, seed=3)
    assert ask(rankdev, "power", *options) == expected.to_polars().to_dicts()


@pytest.mark.filterwarnings("ignore::rankdev.errors.RankdevWarning")
def test_stability_gives_what_stability_gives(rankdev, scores):
    expected = stability(scores, sizes=[4, 8], subsamples=20).to_polars().to_dicts()
    assert ask(rankdev, "stability", "--sizes", "4,8", "--subsamples", "20") == expected


def test_sensitivity_has_a_row_a_cell(rankdev):
    options = ("--grid", "alpha=1,4", "--grid", "penalty=m1,m2", "-n", "5", "--subsamples", "10", "--format", "json")
    rows = json.loads(rankdev("sensitivity", "places.jsonl", *RUNS, *options).out)["rows"]
    assert [(row["alpha"], row["penalty"]) for row in rows] == [(1, "m1"), (1, "m2"), (4, "m1"), (4, "m2")]


@pytest.mark.filterwarnings("ignore::rankdev.errors.RankdevWarning")
@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("power", ("-m", "RDQ@5", "-m", "AP@5", "--sizes", "4,8", "--subsamples", "10")),
        ("stability", ("-m", "RDQ@5", "-m", "AP@5", "--sizes", "4,8", "--subsamples", "10")),
        ("agreement", ("-m", "RDQ@5", "-m", "AP@5")),
        ("sensitivity", ("-n", "5", "--subsamples", "5")),
        ("compare", ("-m", "RDQ@5")),
    ],
)
def test_figures_are_drawn(rankdev, folder, command, options):
    runs = RUNS[:2] if command == "compare" else RUNS
    done = rankdev(command, "places.jsonl", *runs, *options, "--figure", "picture.png")
    assert done.status == 0, done.err
    assert (folder / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_scores_from_elsewhere(rankdev, scores):
    expected = significance(scores).to_polars().to_dicts()
    for name in ("scores.csv", "scores.json", "scores.parquet"):
        rankdev("eval", "places.jsonl", *RUNS, "-m", "RDQ@5", "-m", "AP@5", "-q", "-o", name)
        rows = json.loads(rankdev("compare", "--scores", name, "--format", "json").out)["rows"]
        assert [row["p"] for row in rows] == pytest.approx([row["p"] for row in expected])
    only = json.loads(rankdev("compare", "--scores", "scores.csv", "-m", "AP@5", "--format", "json").out)
    assert {row["measure"] for row in only["rows"]} == {"AP@5"}


def test_json_tells_the_infinite_from_what_was_not_measured(rankdev, folder):
    (folder / "s.csv").write_text(
        "system,query,measure,value\n"
        + "".join(f"{s},{q},P@1,{v}\n" for s, v in (("a", 0), ("b", 1)) for q in range(5))
    )
    (row,) = json.loads(rankdev("compare", "--scores", "s.csv", "--format", "json").out)["rows"]
    assert row["effect"] == "Infinity"


def test_compare_of_a_file_notes_what_compare_of_runs_notes(rankdev, folder):
    lines = (folder / "nearest.run").read_text().splitlines(keepends=True)
    (folder / "short.run").write_text("".join(lines[:30]))
    runs = ("places.jsonl", "short.run", "blended.run", "-m", "RDQ@5")
    assert rankdev("eval", *runs, "-q", "-o", "scores.parquet").status == 0
    one, other = (rankdev("compare", *source) for source in (runs, ("--scores", "scores.parquet")))
    assert "rankdev: note: short: 2 of 10 queries" in one.err
    assert (other.out, other.err) == (one.out, one.err)
