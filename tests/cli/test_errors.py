"""Every error a user can cause: one line, the right exit status, and nothing half-written."""

import os
from types import SimpleNamespace

import pytest

GOOD = "museums Q0 art-hall 1 1.5 tag\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"museums Q0 art-hall 1 high tag\n", "bad.run:1: the score is 'high'; expected a finite number"),
        (GOOD.encode() + b"museums Q0 zoo 1 nan tag\n", "bad.run:2: the score is 'nan'; expected a finite number"),
        (b"museums 0 art-hall 1\n", "bad.run:1: 4 columns; expected 6"),
        (b"", "bad.run: the file is empty"),
        (b"\x00\x01\x02\x03", "bad.run: this is a binary file"),
        (GOOD.encode() + b"museums Q0 \xff 1 1 tag\n", "bad.run:2: this line is not UTF-8"),
        (
            GOOD.encode() + b"museums Q0 art-hall 2 1.0 tag\n",
            "bad.run:2: query 'museums': item 'art-hall' has two scores",
        ),
        (b"nowhere Q0 a 1 1 t\n", "bad.run: the run shares no query with the references"),
        (b'{"query": "museums", "tiers": [["art-hall"]]}\n', "bad.run: this looks like references"),
    ],
)
def test_a_bad_run_is_one_line_and_status_1(rankdev, folder, content, message):
    (folder / "bad.run").write_bytes(content)
    done = rankdev("eval", "places.jsonl", "bad.run", "-o", "out.json")
    assert done.status == 1
    assert done.err.startswith(f"rankdev: {message}")
    assert done.err.count("\n") == 1
    assert not (folder / "out.json").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-m", "RPB@5"), "unknown measure 'RPB'; did you mean RBP?"),
        (("-m", "RDQ(alfa=1)@5"), "RDQ: unknown parameter 'alfa'"),
        (("-m", "RDQ@0"), "RDQ: cutoff is 0; expected a whole number from 1"),
        (("-m", f"RDQ@{10**20}"), "RDQ: cutoff is '100000000000000000000'; expected a whole number from 1"),
        (("-m", "Compat(depth=1e300)"), "Compat: depth is 1e+300; expected a whole number from 1"),
        (("-m", "RDQ(weights=[1,2])@2"), "weight 2 is 2, more than 1 before it; weights never increase"),
        (("-m", "RDQ(weights=[1,0])@2"), "weight 2 is 0.0; expected a number above 0"),
        (("-m", "RDQ(weights=[1,-1])@2"), "weight 2 is -1.0; expected a number above 0"),
        (("-m", "RDQ(weights=[1])@3"), "1 weight does not reach position 3; give more"),
        (("-m", "nDCG@5"), "nDCG@5: the references have no grades"),
        (("blended.run",), "two systems are called 'blended'"),
        (("nothing.run",), "nothing.run: there is no such file"),
        ((".",), ".: this is a folder; give a file"),
        (("-o", "no/such/folder/out.csv"), "no/such/folder/out.csv: cannot write here"),
    ],
)
def test_a_wrong_call_is_one_line_and_status_2(rankdev, arguments, message):
    done = rankdev("eval", "places.jsonl", "blended.run", *arguments)
    assert done.status == 2
    assert done.err.splitlines()[-1].startswith(f"rankdev: {message}")
    assert not done.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("evl",), "unknown command 'evl'; did you mean eval?"),
        (("eval", "places.jsonl"), "Missing argument"),
        (("eval", "places.jsonl", "blended.run", "--ties", "coin"), "'coin' is not one of"),
        (("study", "controled"), "controled"),
    ],
)
def test_click_s_own_errors_are_status_2(rankdev, arguments, message):
    done = rankdev(*arguments)
    assert done.status == 2
    assert message in done.err


def test_repeated_items_are_a_warning(rankdev, folder):
    (folder / "twice.json").write_text('{"museums": ["art-hall", "art-hall"]}')
    done = rankdev("eval", "places.jsonl", "twice.json")
    assert done.status == 0
    assert "rankdev: warning: 1 item is returned twice" in done.err
    assert "first occurrence counts" in done.err


@pytest.mark.parametrize("name", ["page.txt", "page.pdf", "page", "page.json.gz", "page.md"])
@pytest.mark.parametrize("command", [("report", "places.jsonl", "blended.run"), ("playground",)])
def test_a_page_is_not_written_under_the_name_of_something_else(rankdev, folder, command, name):
    done = rankdev(*command, "-o", name)
    assert (done.status, done.err) == (2, f"rankdev: {name}: this is an HTML page; give a name that ends in .html\n")
    assert not (folder / name).exists()


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
        why = "there is no such folder" if "new" in option[1] else reason
        assert (done.status, done.err) == (
            2,
            f"rankdev: {option[1]}: cannot write here ({why}); choose another place\n",
        )


@pytest.mark.parametrize("call", [("bounds",), ("eval", "-m", "Bpref")])
def test_advice_on_nonrelevant_items_names_what_a_file_can_hold(rankdev, folder, call):
    (folder / "bare.jsonl").write_text('{"query": "museums", "tiers": [["art-hall"]]}\n')
    done = rankdev(call[0], "bare.jsonl", "blended.run", *call[1:])
    last = done.err.splitlines()[-1]
    assert 'name them as "nonrelevant" next to the tiers: a key in JSONL, a column in tables' in last
    assert "{query" not in last


@pytest.mark.parametrize(("group", "wrong", "right"), [("refs", "grade", "grades"), ("study", "pois", "poi")])
def test_groups_suggest_commands_and_explain_them_all(rankdev, group, wrong, right):
    done = rankdev(group, wrong)
    assert done.status == 2
    assert done.err.startswith(f"rankdev: unknown command {wrong!r}; did you mean {right}? (see ")
    everything = rankdev(group, "--help-all").out
    assert f"rankdev {group} {right} [OPTIONS]" in everything
    assert everything.count("Usage:") > 3


def test_per_query_names_the_systems_that_are_too_many(rankdev):
    done = rankdev("compare", "places.jsonl", "nearest.run", "popular.run", "blended.run", "-q")
    assert done.status == 2
    assert done.err.splitlines()[-1].endswith("got 3 systems (nearest, popular, blended): give two of them")


def test_by_tag_and_strict(rankdev, folder):
    """On the command line as in Python; tests/io/test_cautions.py has every form of input."""
    (folder / "both.run").write_text(
        "museums Q0 zoo 1 9 old\nmuseums Q0 art-hall 2 8 old\nmuseums Q0 art-hall 1 7 new\n"
    )
    assert "several systems (tag 'old', 'new')" in rankdev("eval", "places.jsonl", "both.run").err
    for command in (("eval",), ("compare",), ("explain", "--query", "museums")):
        found = rankdev(*command, "places.jsonl", "both.run", "-m", "P@1", "--by-tag")
        assert "old" in found.out + found.err
        assert "new" in found.out + found.err
    assert "give one of them" in rankdev("eval", "places.jsonl", "both.run", "--by-tag", "--name", "x").err
    again = rankdev("eval", "places.jsonl", "both.run", "both.run", "--by-tag")
    assert again.err == "rankdev: two systems are called 'old' (both.run and both.run); rename one\n"
    (folder / "far.run").write_text("museums Q0 zoo 1 0.1 t\nmuseums Q0 art-hall 2 0.2 t\n")
    assert rankdev("eval", "places.jsonl", "far.run").err.count("rankdev: warning: far.run: on every line") == 1
    strict = rankdev("eval", "places.jsonl", "far.run", "--strict")
    assert (strict.status, strict.out) == (1, "")
    assert strict.err.endswith("order by rank instead: --order rank\n")
    missing = rankdev("eval", "places.jsonl", "far.run", "--order", "rank", "--strict")
    assert missing.err.endswith("not in the run; they score 0\n")
