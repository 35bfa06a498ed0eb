"""Settings in rankdev.toml or pyproject.toml: the same as options, the command line wins, what is wrong is named."""

import json

import pytest

GATE = """
[gate]
references = "places.jsonl"
against = "base.parquet"
measure = ["RDQ@5", "AP@5"]
margin = 0.02
undecided = "fail"
"""


def test_settings_are_what_options_are(rankdev, folder):
    (folder / "rankdev.toml").write_text(GATE)
    assert rankdev("gate", "popular.run", "--save", "base.parquet").status == 0
    short = rankdev("gate", "nearest.run", "--format", "json")
    (folder / "rankdev.toml").unlink()
    words = ("-m", "RDQ@5", "-m", "AP@5", "--margin", "0.02", "--undecided", "fail", "--against", "base.parquet")
    whole = rankdev("gate", "places.jsonl", "nearest.run", *words, "--format", "json")
    assert short.status == whole.status == 3
    assert short.out == whole.out
    said = "references = 'places.jsonl', measure = ['RDQ@5', 'AP@5'], margin = 0.02"
    assert short.err.startswith(f"rankdev: note: settings of rankdev.toml: {said}")
    assert "settings" not in whole.err


def test_the_command_line_wins(rankdev, folder):
    (folder / "rankdev.toml").write_text(GATE)
    assert rankdev("gate", "popular.run", "--save", "base.parquet").status == 0
    found = json.loads(rankdev("gate", "nearest.run", "--margin", "0.9", "-m", "AP@5", "--format", "json").out)
    assert found["parameters"]["margin"] == 0.9
    assert [row["measure"] for row in found["rows"]] == ["AP@5"]
    runs = rankdev("gate", "places.jsonl", "blended.run", "nearest.run", "--format", "json")
    assert json.loads(runs.out)["parameters"]["baseline"] == "blended"
    (folder / "few.jsonl").write_text((folder / "places.jsonl").read_text().splitlines(keepends=True)[0])
    assert "base.parquet: it was computed with" in rankdev("gate", "few.jsonl", "nearest.run").err
    assert rankdev("gate", "nearest.run", "popular.run", "blended.run").status == 1  # the first one is no reference


def test_two_runs_are_the_baseline_and_the_candidate_where_settings_have_the_references(rankdev, folder):
    (folder / "rankdev.toml").write_text("[gate]\nreferences = 'places.jsonl'\nmargin = 0.1\nmeasure = 'RDQ@5'\n")
    done = rankdev("gate", "nearest.run", "blended.run", "--save", "next.parquet", "--format", "json")
    found = json.loads(done.out)["parameters"]
    assert (found["baseline"], found["candidate"], found["margin"]) == ("nearest", "blended", 0.1)
    assert rankdev("gate", "nearest.run", "--save", "first.parquet").status == 0
    assert b"nearest" in (folder / "first.parquet").read_bytes()


def test_every_command_has_a_section_and_subcommands_too(rankdev, folder):
    (folder / "pyproject.toml").write_text(
        "[project]\nname = 'x'\n[tool.rankdev.eval]\nper-query = true\nmeasure = 'AP@5'\nties = 'descending'\n"
        "[tool.rankdev.refs.lists]\nformat = 'json'\n"
    )
    done = rankdev("eval", "places.jsonl", "nearest.run", "--format", "csv")
    assert done.out.count(",AP@5,") == 11
    said = "measure = ['AP@5'], per-query = True, ties = 'descending'"
    assert done.err == f"rankdev: note: settings of pyproject.toml: {said}\n"
    like = rankdev("eval", "places.jsonl", "nearest.run", "--like", "pytrec_eval")
    assert "ties" in like.err  # settings contradict it as options do
    assert like.status == 2


def test_a_project_without_settings_need_not_be_read(rankdev, folder):
    (folder / "pyproject.toml").write_text("[tool.other\n")
    assert rankdev("eval", "places.jsonl", "nearest.run").err == ""
    (folder / "pyproject.toml").write_text("[project]\ndependencies = ['rankdev']\n")
    assert rankdev("eval", "places.jsonl", "nearest.run").err == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[gat]", "did you mean gate?"),
        ("margin = 1", "'margin'"),
        ("gate = 3", "[gate] is 3"),
        ("[gate]\nmargni = 1", "did you mean margin?"),
        ("[gate]\nimport = 'x.py'", "run no code and name no output"),
        ("[gate]\njunit = 'x.xml'", "run no code and name no output"),
        ("[gate]\nmargin = 'x'", "[gate] margin: 'x'"),
        ("[gate]\nmargin = true", "[gate] margin is True"),
        ("[gate]\nmargin = [1]", "[gate] margin is "),
        ("[gate]\nstrict = 'yes'", "[gate] strict is 'yes'"),
        ("[gate]\nagainst = 1", "[gate] against is 1"),
        ("[gate]\nundecided = 'maybe'", "[gate] undecided: 'maybe'"),
        ("[gate]\nmeasure = [['AP@5']]", "[gate] measure is "),
        ("[gate", "TOML"),
    ],
)
def test_what_is_wrong_is_named(rankdev, folder, text, said):
    (folder / "rankdev.toml").write_text(text)
    done = rankdev("gate", "places.jsonl", "popular.run", "nearest.run")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("rankdev: rankdev.toml: ")
    assert said in done.err
    assert done.err.count("\n") == 1


def test_wrong_settings_of_subcommands_and_of_two_files(rankdev, folder):
    (folder / "rankdev.toml").write_text("[refs.lists]\nformatt = 'x'\n")
    assert "rankdev.toml: 'formatt' is not an option of refs.lists" in rankdev("refs", "lists", "x").err
    (folder / "rankdev.toml").write_text("[refs.list]\n")
    assert "rankdev.toml: 'list' is not a command; did you mean lists?" in rankdev("refs", "lists", "x").err
    (folder / "pyproject.toml").write_text("[tool.rankdev.gate]\n")
    assert "rankdev.toml and pyproject.toml" in rankdev("refs", "lists", "x").err
    (folder / "rankdev.toml").unlink()
    (folder / "pyproject.toml").write_text("[tool]\nrankdev = 1\n")
    assert "pyproject.toml: tool.rankdev is 1" in rankdev("refs", "lists", "x").err


def test_a_baseline_that_is_not_there_yet_is_named_with_the_remedy(rankdev, folder):
    (folder / "rankdev.toml").write_text(GATE)
    done = rankdev("gate", "popular.run")
    assert (done.status, done.err.endswith("rankdev gate REFERENCES RUN --save base.parquet\n")) == (2, True)
