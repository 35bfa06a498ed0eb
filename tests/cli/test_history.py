"""eval and gate append to a history, and the command history shows it."""

import json

import pytest

WORDS = ("-m", "RDQ@5", "--history", "h.jsonl")


def test_eval_and_gate_append_and_history_shows(rankdev, folder):
    rankdev("eval", "places.jsonl", "nearest.run", "popular.run", *WORDS)
    assert rankdev("gate", "places.jsonl", "popular.run", "nearest.run", *WORDS).status == 3
    rankdev("gate", "places.jsonl", "popular.run", "--save", "base.json", *WORDS)
    rankdev("gate", "places.jsonl", "blended.run", "--against", "base.json", *WORDS)
    done = rankdev("history", "h.jsonl", "--format", "json", "--figure", "h.svg")
    rows = json.loads(done.out)["rows"]
    assert [(row["system"], row["verdict"]) for row in rows] == [
        ("nearest", None),
        ("popular", None),
        ("nearest", "fail"),
        ("popular", None),
        ("blended", "pass"),
    ]
    assert (folder / "h.svg").read_text().count("RDQ@5") >= 1
    assert [row["changed"] for row in rows] == [""] * 5
    assert "a gate failed" in (folder / "h.svg").read_text()


def test_other_references_are_marked(rankdev, folder):
    rankdev("eval", "places.jsonl", "nearest.run", *WORDS)
    lines = (folder / "places.jsonl").read_text().splitlines(keepends=True)
    (folder / "places.jsonl").write_text("".join(lines[:-1]))
    rankdev("eval", "places.jsonl", "nearest.run", *WORDS)
    done = rankdev("history", "h.jsonl")
    assert "references changed; means before and after are not comparable" in " ".join(done.out.split())
    assert done.out.count("references") == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("history nowhere.jsonl", "nowhere.jsonl: no such file or directory"),
        ("history places.jsonl", "places.jsonl:1: this is not a line of a history"),
        ("eval places.jsonl nearest.run --history nearest.run", "nearest.run:1: this is not a line of a history"),
        ("eval places.jsonl nearest.run --history popular.run", "popular.run:1: this is not a line of a history"),
        ("eval places.jsonl nearest.run --losses --history h.jsonl", "--losses takes one measure"),
        ("eval places.jsonl nearest.run --history none/h.jsonl", "there is no such folder"),
        ("eval - nearest.run --history h.jsonl", "- can be read only once"),
        ("gate --scores s.csv --baseline nearest --history h.jsonl", "--history is for runs"),
    ],
)
def test_what_is_wrong_is_named(rankdev, folder, words, said):
    rankdev("eval", "places.jsonl", "nearest.run", "popular.run", "-q", "-o", "s.csv")
    done = rankdev(*words.split())
    assert done.status in (1, 2)
    assert said in done.err
    assert not (folder / "h.jsonl").exists()
