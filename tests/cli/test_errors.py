"""Every error a user can cause: one line, the right exit status, and nothing half-written."""

import os
from types import SimpleNamespace

import pytest

GOOD = b"museums Q0 art-hall 1 1.5 tag\n"


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (GOOD + b"museums Q0 zoo 1 nan tag\n", "bad.run:2"),
        (b"", "bad.run"),
        (b"\x00\x01\x02\x03", "bad.run"),
        (GOOD + b"museums Q0 \xff 1 1 tag\n", "bad.run:2"),
        (GOOD + b"museums Q0 art-hall 2 1.0 tag\n", "bad.run:2"),
        (b"nowhere Q0 a 1 1 t\n", "bad.run"),
    ],
)
def test_a_bad_run_is_one_line_and_status_1(rankdev, folder, content, place):
    (folder / "bad.run").write_bytes(content)
    done = rankdev("eval", "places.jsonl", "bad.run", "-o", "out.json")
    assert done.status == 1
    assert done.err.startswith(f"rankdev: {place}: ")
    assert done.err.count("\n") == 1
    assert not (folder / "out.json").exists()


@pytest.mark.parametrize("name", ["page.html", "page.htm", "page.html.gz"])
def test_a_page_is_written_under_its_own_name(rankdev, folder, name):
    assert rankdev("playground", "-o", name).status == 0
    assert (folder / name).stat().st_size > 1000


@pytest.mark.parametrize(("flag", "reason"), [(os.ST_RDONLY, "Read-only file system"), (0, "Permission denied")])
def test_a_folder_that_cannot_be_written_is_not_called_missing(rankdev, folder, monkeypatch, flag, reason):
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(f_flag=flag))
    for option in (("-o", "out.csv"), ("-o", "new/out.csv")):
        done = rankdev("eval", "places.jsonl", "blended.run", *option)
        why = "No such file or directory" if "new" in option[1] else reason
        assert done.status == 2
        assert option[1] in done.err
        assert why in done.err


def test_by_tag_and_strict(rankdev, folder):
    """On the command line as in Python; tests/data/test_cautions.py has every form of input."""
    (folder / "both.run").write_text(
        "museums Q0 zoo 1 9 old\nmuseums Q0 art-hall 2 8 old\nmuseums Q0 art-hall 1 7 new\n"
    )
    for command in ("eval", "compare"):
        found = rankdev(command, "places.jsonl", "both.run", "-m", "P@1", "--by-tag")
        assert "old" in found.out + found.err
        assert "new" in found.out + found.err
    again = rankdev("eval", "places.jsonl", "both.run", "both.run", "--by-tag")
    assert (again.status, "both.run and both.run" in again.err) == (2, True)
    (folder / "far.run").write_text("museums Q0 zoo 1 0.1 t\nmuseums Q0 art-hall 2 0.2 t\n")
    assert rankdev("eval", "places.jsonl", "far.run").err.count("rankdev: warning: far.run: ") == 1
    strict = rankdev("eval", "places.jsonl", "far.run", "--strict")
    assert (strict.status, strict.out) == (1, "")
    assert "--order rank" in strict.err
    assert rankdev("eval", "places.jsonl", "far.run", "--order", "rank", "--strict").status == 1


def test_columns_of_the_files_of_several_systems_are_met(rankdev, folder):
    (folder / "both.csv").write_text("query,sku,score,tag\nq,a,2,x\nq,b,2,y\n")
    (folder / "q.qrels").write_text("q 0 a 1\nq 0 b 1\n")
    done = rankdev("eval", "q.qrels", "both.csv", "--by-tag", "--columns", "item=sku", "-m", "RR")
    assert (done.status, done.err) == (0, "")
