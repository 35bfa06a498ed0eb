"""Whatever cannot be judged, asked or served is refused by kind, with what is wrong and where."""

import polars as pl
import pytest
from click.testing import CliRunner

import rankdev as rd
from rankdev.cli import cli
from rankdev.judging import ChatJudge, check_model
from rankdev.judging.items import Pool, read_items
from rankdev.judging.page import LONGEST_GUIDELINES, read_guidelines
from rankdev.judging.quality import read_gold
from rankdev.judging.strategies import Scale
from tests.judging.serving import Client, serving, written
from tests.judging.test_grading import grading
from tests.raising import raises

JUDGED = [("q", "a", "b", "small"), ("q", "a", "b", "ann")]
CALLS = {
    "collect": (rd.collect, {"judge": lambda query, a, b: min(a, b), "items": {"q": ["x", "y"]}}),
    "chat": (ChatJudge, {"url": "https://example.com/v1", "model": "small"}),
    "check": (check_model, {"judgments": JUDGED, "model": "small"}),
    "pool": (rd.pool, {"runs": {"one": {"q1": ["a", "b"]}}}),
}
ARGUMENTS = {
    "collect": [
        ({"items": {}}, "bad-value", {"name": "items"}),
        ({"items": ["x"]}, "bad-value", {"name": "items"}),
        ({"items": {"q": "xyz"}}, "bad-value", {"name": "items", "query": "q"}),
        ({"items": {"q": ["x", "x"]}}, "appears-twice", {"what": "item", "value": "x"}),
        ({"items": {"q": ["x"]}}, "no-pairs", {}),
        ({"items": {"q": {"x": 1, "y": 0}, "r": ["x", "y"]}}, "ungraded-query", {"query": "r"}),
        ({"judge": 3}, "bad-value", {"name": "judge"}),
        ({"budget": 0}, "not-whole", {"name": "budget"}),
        ({"repeats": 1.5}, "not-whole", {"name": "repeats"}),
        ({"error": 0.5}, "not-a-number", {"name": "error"}),
        ({"probability": 0.3}, "not-a-number", {"name": "probability"}),
        *(({"parallel": wrong}, "not-whole", {"name": "parallel"}) for wrong in (0, 1.5, "many")),
        ({"parallel": 100_000}, "too-large", {"name": "parallel"}),
    ],
    "chat": [
        ({"url": "api.example.com"}, "not-an-address", {"name": "url"}),
        ({"url": "http://[::1"}, "not-an-address", {"name": "url"}),
        ({"url": "https://me:pw@example.com/v1"}, "url-with-more", {"name": "url"}),
        ({"model": ""}, "bad-value", {"name": "model"}),
        ({"instructions": 3}, "bad-value", {"name": "instructions"}),
        ({"key": "two words"}, "bad-key", {"name": "key"}),
        ({"options": [1]}, "bad-value", {"name": "options"}),
        ({"texts": 3}, "bad-value", {"name": "texts"}),
        ({"texts": pl.DataFrame({"doc": ["x"]})}, "no-texts", {"path": "texts"}),
        ({"query_texts": ["q"]}, "bad-value", {"name": "query_texts"}),
        ({"retries": -1}, "not-whole", {"name": "retries"}),
        ({"timeout": 0}, "not-a-number", {"name": "timeout"}),
        ({"both_orders": 1}, "not-a-flag", {"name": "both_orders"}),
    ],
    "check": [
        ({"model": "smal"}, "not-a-choice", {"value": "smal", "near": "small"}),
        ({"leave_out": ["zoe"]}, "not-a-choice", {"value": "zoe"}),
        ({"leave_out": "ann"}, "not-names", {"name": "leave_out"}),
        ({"leave_out": ["ann"]}, "no-shared-pair", {"model": "small"}),
        ({"runs": {"one": {"q": ["a"]}}}, "needed", {"name": "measures"}),
        ({"alpha": 2}, "not-a-number", {"name": "alpha"}),
        ({"judgments": [("q", "a", "b")]}, "no-workers", {}),
    ],
    "pool": [
        ({"depth": 0}, "not-whole", {"name": "depth"}),
        ({"texts": 3}, "bad-value", {"name": "texts"}),
        ({"texts": {"elsewhere": "?"}}, "none-known", {}),
        ({"texts": pl.DataFrame({"item": ["a", "a"], "text": ["1", "2"]})}, "appears-twice", {}),
        ({"texts": pl.DataFrame({"docno": ["a"]})}, "no-texts", {}),
        ({"runs": {"none": {"q": []}}}, "none-given", {}),
    ],
}


@pytest.mark.parametrize(
    ("call", "change", "kind", "fields"), [(call, *case) for call, cases in ARGUMENTS.items() for case in cases]
)
def test_wrong_arguments(call, change, kind, fields):
    function, given = CALLS[call]
    with raises(kind, **fields) as caught:
        function(**{**given, **change})
    assert "two words" not in str(caught.value)  # a key


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "3", "3-0", "0-0", "0-10", "0-99", "a", "a,a", "a,,b", ",", "0=a", "0=a,0=b", "1=a,0=b", "0=a,b"),
        *("0=,1=b", "x=a,1=b", "0.5-2", "a\nb,c", "a" * 61 + ",b", ",".join("abcdefghijk"), "0--1", "1=a,1=a"),
    ],
)
def test_broken_scales(text):
    with raises("not-a-scale", rd.UsageError, value=text):
        Scale.parse(text)


D, E = {"query": "q", "item": "d"}, {"query": "q", "item": "e"}
PAIR = {"query": "q", "first": "a", "second": "b"}
SWAPPED = {"query": "q", "first": "b", "second": "a", "outcome": "first"}
TABLES = {
    read_items: [
        ([{"query": "q"}], "no-column", {"name": "item"}),
        ([{"query": "q", "item": "d"}, {"query": "q", "item": "d"}], "appears-twice", {"line": 2, "value": "d"}),
        ([{"query": "q", "item": "d", "url": "javascript:alert(1)"}], "not-an-address", {"line": 1, "name": "url"}),
        ([{"query": "q", "item": "d", "image": "none.png"}], "bad-value", {"line": 1, "name": "image"}),
        ([{"query": "q", "item": "d", "image": "../../etc/passwd"}], "bad-value", {"line": 1, "name": "image"}),
        ([{**D, "grade": None}, {**E, "grade": 1}], "bad-value", {"line": 1, "name": "grade", "value": None}),
        ([{"query": "q", "item": "d"}], "no-pairs", {}),
        ([{"query": "q", "item": ""}], "no-value", {"line": 1, "name": "item"}),
        ([{**D, "query_text": "one"}, {**E, "query_text": "two"}], "two-texts", {"line": 2, "name": "q"}),
    ],
    lambda path: read_gold(path, Pool.of({"q": ["a", "b", "c"]})): [
        ([PAIR], "no-column", {"name": "outcome"}),
        ([PAIR | {"outcome": "left"}], "bad-value", {"line": 1, "value": "left"}),
        ([PAIR | {"outcome": None}], "bad-value", {"line": 1, "value": ""}),
        ([PAIR | {"second": "a", "outcome": "tie"}], "self-compared", {"line": 1, "item": "a"}),
        ([PAIR | {"second": "z", "outcome": "tie"}], "unknown-item", {"line": 1, "item": "z"}),
        ([PAIR | {"query": "x", "outcome": "tie"}], "unknown-item", {"line": 1, "query": "x"}),
        ([PAIR | {"outcome": "tie"}, SWAPPED], "appears-twice", {"line": 2, "what": "pair", "value": ("b", "a")}),
    ],
    lambda path: read_items(written(path.with_name("it.jsonl"), [{"query": "q", "item": k} for k in "ab"]), path): [
        ([{"query": "q", "text": "a"}] * 2, "appears-twice", {"line": 2, "what": "query", "value": "q"}),
        ([{"query": "z", "text": "a"}], "none-known", {}),
        ([{"query": "q", "title": "a"}], "no-column", {"name": "text"}),
        ([{"query": "", "text": "a"}], "no-value", {"line": 1, "name": "query"}),
    ],
}


@pytest.mark.parametrize(
    ("read", "rows", "kind", "fields"), [(read, *case) for read, cases in TABLES.items() for case in cases]
)
def test_wrong_files_are_named_by_line(read, rows, kind, fields, tmp_path):
    with raises(kind, rd.DataError, **fields) as caught:
        read(written(tmp_path / "table.jsonl", rows))
    assert "line" not in fields or caught.value.fields["path"] == str(tmp_path / "table.jsonl")


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b" \n\n\t", "empty-file"),
        (b"\xff\xfe", "not-utf8"),
        (b"a\0b", "binary-file"),
        (b"x" * (LONGEST_GUIDELINES + 1), "too-long"),
        (None, "no-file"),
    ],
)
def test_guidelines_that_cannot_be_read(tmp_path, content, kind):
    path = tmp_path / "guide.md"
    if content is not None:
        path.write_bytes(content)
    with raises(kind, rd.RankdevError, path=str(path)):
        read_guidelines(str(path))


ANSWER = {"request": "r", "query": "q1", "first": "d1", "second": "d2", "outcome": "first", "comment": ""}
GRADE = {"mode": "grades", **ANSWER, "second": "", "outcome": "1"}
CHANGE = {"request": "c", "answer": 1, "outcome": "tie", "comment": ""}
REQUESTS = [
    ("answer", {"request": "r"}, 400),
    *(("answer", ANSWER | wrong, 400) for wrong in ({"request": 3}, {"second": "zz"}, {"second": "d1"})),
    *(("answer", ANSWER | wrong, 400) for wrong in ({"outcome": "best"}, {"judge": "x" * 81}, {"second": ""})),
    *(("answer", GRADE | wrong, 400) for wrong in ({"outcome": "7"}, {"outcome": 1}, {"first": "nope"}, {"query": 3})),
    *(("answer", GRADE | wrong, 400) for wrong in ({"comment": "x" * 2001}, {"judge": " "}, {"page": "x" * 41})),
    ("answer", GRADE | {"second": "d2"}, 400),
    *(("change", CHANGE | wrong, 400) for wrong in ({"answer": True}, {"answer": 10**30}, {"outcome": "best"})),
    *(("change", CHANGE | wrong, 400) for wrong in ({"comment": None}, {"comment": "x" * 2001}, {"request": ""})),
    *(("next", {"judge": wrong}, 400) for wrong in ("", "x" * 81, "a\nb")),
    *(("next", {"page": wrong}, 400) for wrong in (3, "x" * 41)),
    *(("next", {"body": wrong}, 400) for wrong in ("", "[]", "{", "3", "[" * 100_000)),
    ("next", {"mode": "more"}, 404),
    ("nothing", {}, 404),
    ("overview", {}, 403),
    ("export", {"form": ".csv"}, 403),
    ("links", {"make": "eve"}, 403),
]


@pytest.mark.parametrize(("path", "asked", "status"), REQUESTS)
def test_wrong_requests_change_nothing(path, asked, status, tmp_path):
    with grading(tmp_path, quick=True) as server:
        ann = Client(server)
        ann.answer(ann.next())
        found, reply = ann.post(path, **asked)
        assert (found, bool(reply["error"])) == (status, True)
        assert server.session.store.answers()["outcome"].to_list() == ["first"]
        assert server.session.store.answers(graded=True).is_empty()


@pytest.mark.parametrize(
    ("path", "asked", "status", "kind"),
    [
        ("links", {"revoke": "bob"}, 400, "no-link"),
        ("links", {"make": ""}, 400, "bad-name"),
        ("links", {"make": "a\u202eb"}, 400, "bad-name"),
        ("links", {"make": "Ann"}, 403, "own-link"),
        ("export", {"form": ".xlsx"}, 400, "not-a-choice"),
        ("export", {"form": ".txt"}, 400, "not-a-choice"),
        ("export", {"form": ".csv", "what": "secrets"}, 400, "not-a-choice"),
        ("export", {"form": ".parquet", "safe": True}, 400, "not-needed"),
        ("export", {"form": ".csv", "what": "grades"}, 400, "none-given"),
    ],
)
def test_wrong_requests_of_the_owner(path, asked, status, kind, tmp_path):
    with serving(tmp_path, quick=True) as server:
        owner = Client(server, "eve", server.tokens.owner)
        owner.answer(owner.next())
        owner.post("links", make="ann")
        found, reply = owner.post(path, **asked)
        assert (found, reply["kind"]) == (status, kind)
        assert set(server.tokens.personal) == {"ann"}


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        (["--error", "0.5"], "not-a-number"),
        (["--port", "99999"], "no-server"),
        (["--check", "small", "--gold", "gold.jsonl"], "not-together"),
        (["--model", "http://127.0.0.1:1/v1", "x", "--gold", "gold.jsonl"], "not-together"),
        (["--judges", "ann,ann"], "bad-value"),
        (["--judges", "ann,,bob"], "bad-value"),
        (["--judges", "ann,ANN"], "own-link"),
        *(
            (["--public-url", wrong], "not-an-address")
            for wrong in ("judge.example.org", "ftp://a.example", "https://")
        ),
        *((["--public-url", wrong], "not-an-address") for wrong in ("https://a;b", "https://[x", "https://a/?x=1")),
    ],
)
def test_wrong_options_are_named_and_leave_nothing_open(options, kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("rankdev.judging.server.JudgeServer.serve_forever", lambda self, **_: None)
    written(tmp_path / "items.jsonl", [{"query": "q", "item": item} for item in "abc"])
    written(tmp_path / "gold.jsonl", [PAIR | {"outcome": "first"}])
    command = ["judge", "items.jsonl", "--db", "j.sqlite"]
    page = [] if "--model" in options else ["--no-browser"]
    result = CliRunner().invoke(cli, [*command, *page, *options])
    assert isinstance(result.exception, rd.RankdevError)
    assert result.exception.kind == kind
    assert CliRunner().invoke(cli, [*command, "--no-browser"]).exit_code == 0
