"""No output takes the place of an input or of another output; what is written is what was asked for."""

import json
import os
from pathlib import Path

import pytest
from tests.cli.conftest import DEMO

PLACES, BLENDED, NEAREST = "places.jsonl", "blended.run", "nearest.run"
CALLS = [
    ("eval", PLACES, BLENDED),
    ("compare", PLACES, BLENDED, NEAREST),
    ("sensitivity", PLACES, BLENDED, NEAREST, "-n", "5", "--subsamples", "2", "--grid", "alpha=1"),
    ("refs", "lists", BLENDED),
    ("refs", "preferences", "judgments.csv"),
]
QUERIES = [json.loads(line)["query"] for line in (DEMO / PLACES).read_text(encoding="utf-8").splitlines()]
SEPARATE = "two outputs of this call are the same file"


def inputs(call: tuple[str, ...]) -> list[str]:
    return [word for word in call if word in (PLACES, BLENDED, NEAREST, "judgments.csv")]


@pytest.mark.parametrize("call", CALLS, ids=" ".join)
@pytest.mark.parametrize("spelling", ["plain", "dotted", "symbolic", "hard"])
def test_an_input_is_never_written_over(rankdev, folder, call, spelling):
    for target in inputs(call):
        before = (folder / target).read_bytes()
        path = {"plain": target, "dotted": f"./{target}"}.get(spelling, f"{spelling}-{target}")
        if spelling == "symbolic":
            (folder / path).symlink_to(target)
        elif spelling == "hard":
            os.link(folder / target, folder / path)
        done = rankdev(*call, "-o", path, *([] if call[0] == "refs" else ["--format", "csv"]))
        assert (done.status, done.out) == (2, "")
        assert f"rankdev: {path}: this file is being read; write to another one\n" in done.err
        assert (folder / target).read_bytes() == before


@pytest.mark.parametrize("other", ["x.csv", "./x.csv", "../{here}/x.csv"])
@pytest.mark.parametrize("option", ["--strengths", "--workers"])
def test_two_outputs_are_two_files(rankdev, folder, option, other):
    call = ("refs", "preferences", "judgments.csv", "--method", "crowd-bt")
    done = rankdev(*call, "-o", "x.csv", option, other.format(here=folder.name))
    assert done.status == 2
    assert SEPARATE in done.err
    assert not (folder / "x.csv").exists()


@pytest.mark.parametrize("option", ["-o", "--figure"])
def test_a_place_that_cannot_be_written_is_refused_before_the_work(rankdev, monkeypatch, option):
    monkeypatch.setattr("rankdev.statistics.power.power", lambda *a, **k: pytest.fail("the work has begun"))
    done = rankdev("power", PLACES, BLENDED, NEAREST, option, "no/such/folder.svg", "--format", "csv")
    assert done.status == 2
    assert "no/such/folder.svg: cannot write here" in done.err


@pytest.mark.parametrize("call", [("study", "poi"), ("study", "track", PLACES, ".")], ids=" ".join)
def test_pictures_that_cannot_be_drawn_are_refused_before_the_work(rankdev, monkeypatch, folder, call):
    monkeypatch.setattr("rankdev.studies.poi.run_poi", lambda *a, **k: pytest.fail("the work has begun"))
    monkeypatch.setattr("rankdev.studies.track.run_track", lambda *a, **k: pytest.fail("the work has begun"))
    done = rankdev(*call, "--figures", f"{PLACES}/pictures")
    assert done.status == 2
    assert f"{PLACES}/pictures: cannot write here" in done.err
    monkeypatch.setattr("rankdev.cli.outputs.find_spec", lambda name: None)
    done = rankdev(*call, "--figures", "pictures")
    assert done.status == 2
    assert "a figure needs matplotlib; install it with" in done.err
    assert not (folder / "pictures").exists()


def test_in_python_a_file_may_be_read_and_then_replaced(folder: Path):
    import rankdev as rd

    references = rd.read_references(PLACES)
    rd.write_references(references, PLACES)
    rd.write_references(references, PLACES)
    assert rd.read_references(PLACES) == references


def test_an_interrupted_power_is_written(rankdev, monkeypatch, folder):
    from rankdev.statistics.power import Flips

    rejections = Flips.rejections

    def interrupted(flips, panel, n, *others):
        if n == 8:
            raise KeyboardInterrupt
        return rejections(flips, panel, n, *others)

    monkeypatch.setattr(Flips, "rejections", interrupted)
    call = ("power", PLACES, BLENDED, NEAREST, "--sizes", "4,6,8", "--subsamples", "5", "--permutations", "20")
    done = rankdev(*call, "-o", "half.json")
    assert done.status == 130
    assert "interrupted; only what was finished is shown\n" in done.err
    assert {row["n"] for row in json.loads((folder / "half.json").read_text())["rows"]} == {4, 6}


@pytest.mark.parametrize("name", ["s.csv", "s.tsv", "s.json", "s.jsonl", "s.parquet", "s.csv.gz", "s.jsonl.zst"])
@pytest.mark.parametrize("weights", [None, {query: 1 + len(query) for query in QUERIES}])
def test_compare_reads_what_eval_writes_missing_values_and_weights_included(rankdev, folder, name, weights):
    import rankdev as rd

    call = [PLACES, BLENDED, NEAREST, "-m", "RDQ@5", "-m", "Tau@5"]
    expected = rd.evaluate(PLACES, {"blended": BLENDED, "nearest": NEAREST}, ["RDQ@5", "Tau@5"])
    if weights is not None:
        (folder / "w.csv").write_text("query,weight\n" + "".join(f"{q},{w}\n" for q, w in weights.items()))
        expected = expected.weighted(weights)
    assert rankdev("eval", *call, "-q", "-o", name, *(["--weights", "w.csv"] if weights else [])).status == 0
    order = ["system", "query", "measure"]
    assert rd.read_scores(name).to_polars().sort(order).equals(expected.to_polars().sort(order))
    assert expected.to_polars()["value"].null_count()
    assert rankdev("compare", "--scores", name, "-m", "RDQ@5").status == 0


def test_a_name_without_a_known_ending_is_refused_before_the_work(rankdev, folder):
    for name in ("scores", "scores.xlsx", "scores.gz"):
        done = rankdev("eval", "missing.jsonl", "blended.run", "-o", name)
        assert (done.status, name in done.err, ".csv, .tsv" in done.err) == (2, True, True)
        done = rankdev("refs", "preferences", "judgments.csv", "--strengths", name)
        assert (done.status, name in done.err, ".csv, .tsv" in done.err) == (2, True, True)
        assert not (folder / name).exists()
    assert rankdev("eval", "places.jsonl", "blended.run", "-o", "scores", "--format", "csv").status == 0
    assert (folder / "scores").read_text().startswith("system,")


def test_the_demo_writes_over_nothing(rankdev, folder):
    assert rankdev("demo", "--save", "here").status == 0
    assert rankdev("demo", "--save", "here").status == 0
    (folder / "here" / "places.jsonl").write_text("mine")
    done = rankdev("demo", "--save", "here")
    assert (done.status, "here/places.jsonl" in done.err) == (2, True)
    assert (folder / "here" / "places.jsonl").read_text() == "mine"
