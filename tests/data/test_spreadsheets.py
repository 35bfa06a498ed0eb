"""Tables as spreadsheets write them: semicolons, decimal commas, capitals, other names, tied ranks, workbooks."""

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import rankdev as rd
from rankdev.data.formats import _carefully, _quickly
from tests.data.samples import workbook
from tests.raising import raises, warns

LISTS = {"q1": ["d2", "d1"], "q2": ["d3"]}


def written(tmp_path, text, name="a.csv"):
    path = tmp_path / name
    path.write_text(text) if isinstance(text, str) else path.write_bytes(text)
    return path


@pytest.mark.parametrize(
    "text",
    [
        "query;item;score\nq1;d1;0,5\nq1;d2;1,5\nq2;d3;-2\n",
        "Query;Item;Score\r\nq1;d1;0.5\r\nq1;d2;1.5\r\nq2;d3;2\r\n",
        '"Query ID";"Doc ID";"SCORE"\n"q1";"d1";"0,5"\n"q1";"d2";"1,5e2"\n"q2";"d3";",25"\n',
        "User_ID\tItem_ID\tScore\nq1\td1\t0.5\nq1\td2\t1.5\nq2\td3\t2\n",
        "user_id:token,item_id:token,score:float\nq1,d1,0.5\nq1,d2,1.5\nq2,d3,2\n",
        "query,item,Position\nq1,d1,2\nq1,d2,1\nq2,d3,1\n",
        "Snapshot Name,Snapshot Time,Case ID,Query Text,Doc ID,Doc Position,title\n"  # Quepid: snapshot_csv_export
        "base,2026-03-05T12:00:00Z,8,q1,d1,2,x\nbase,2026-03-05T12:00:00Z,8,q1,d2,1,y\nbase,t,8,q2,d3,1,z\n",
    ],
)
def test_headers(tmp_path, text):
    for name in ("a.csv", "a.txt") if "\t" not in text else ("a.tsv", "a.txt"):
        assert dict(rd.read_run(written(tmp_path, text, name))) == LISTS


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("query;item;score\nq1;d1;1.234,5\n", "not-finite"),
        ("query;item;score\nq1;d1;1,5\nq1;d2;1.234\n", "not-finite"),
        ('query,item,score\nq1,d1,"1,5"\n', "not-finite"),
        ("Score,SCORE,query,item\n1,2,q,d\n", "two-columns"),
    ],
)
def test_what_is_ambiguous_is_refused(tmp_path, text, kind):
    with raises(kind, rd.DataError):
        rd.read_run(written(tmp_path, text))


def test_thousands_are_noted(tmp_path):
    with warns("thousands", value="1.234"):
        assert rd.read_run(written(tmp_path, "query;item;score\nq1;d1;1.234\nq1;d2;999\n"))["q1"] == ["d2", "d1"]
    rd.read_run(written(tmp_path, "query;item;score\nq1;d1;1.234\nq1;d2;0.999\n"))


def test_names_of_columns(tmp_path):
    path = written(tmp_path, "term;sku;points;score\nq1;d1;0,5;9\nq1;d2;1,5;8\nq2;d3;2;7\n")
    assert dict(rd.read_run(path, columns={"query": "term", "item": "sku", "score": "points"})) == LISTS
    frame = pl.read_csv(path, separator=";", decimal_comma=True)
    assert dict(rd.Run.of(frame, columns={"query": "term", "item": "sku", "score": "points"})) == LISTS
    rated = rd.read_references(path, columns={"query": "term", "item": "sku", "grade": "score"})
    assert (rated["q1"].grades, rated["q2"].grades) == ({"d1": 9, "d2": 8}, {"d3": 7})


RANKED = "query,item,rank\nq,a,1\nq,b,1\nq,c,1\nq,d,4\n"


def test_tied_ranks(tmp_path):
    path = written(tmp_path, RANKED)
    with raises("rank-skipped", rd.DataError, rank=2):
        rd.read_references(path)
    expected = rd.References.from_tiers({"q": [["a", "b", "c"], ["d"]]})
    assert rd.read_references(path, ranks="competition") == expected
    wrong = written(tmp_path, "query,item,rank\nq,a,1\nq,b,1\nq,c,2\n", "b.csv")
    with raises("not-competition", rd.DataError, line=4, query="q", rank=2.0):
        rd.read_references(wrong, ranks="competition")
    with raises("rank-twice", rd.DataError, rank=1.0):
        rd.read_run(path)
    run = rd.read_run(path, ranks="competition")
    assert run["q"] == ["c", "b", "a", "d"]  # ties are those of scores
    assert rd.evaluate({"q": ["a"]}, {"x": run}, "RR").coverage[0].tied == 1
    assert rd.Run.of(pl.read_csv(path), ranks="competition") == run
    lines = "q Q0 a 1 1 t\nq Q0 b 1 2 t\nq Q0 c 1 3 t\nq Q0 d 4 4 t\n"
    assert rd.read_run(written(tmp_path, lines, "a.run"), order="rank", ranks="competition") == run


def test_a_workbook(tmp_path):
    pytest.importorskip("fastexcel")
    rows = [["Query", "Item", "Score"], ["q1", 101, 0.5], ["q1", 102, 1.5], ["q2", 7, 1]]
    path = written(tmp_path, workbook(rows), "a.xlsx")
    assert dict(rd.read_run(path)) == {"q1": ["102", "101"], "q2": ["7"]}
    with raises("damaged", rd.DataError):
        rd.read_run(written(tmp_path, workbook(rows)[:300], "a.xlsx"))


def test_what_people_leave_in_workbooks(tmp_path):
    """Rows without anything, ids of both types below those that a type would be inferred from, names that repeat."""
    pytest.importorskip("fastexcel")
    head = ["Query Text", "Doc ID", "Rating"]
    rows = [head, ["q", 1, 3], [None, None, None], *(["q", i, 1] for i in range(2, 1500)), ["q", "x1", 2]]
    references = rd.read_references(written(tmp_path, workbook(rows), "a.xlsx"))
    assert [len(tier) for tier in references["q"].tiers] == [1, 1, 1498]
    rows[-1] = ["q", "x1", "good"]
    with raises("word-for-grade", rd.DataError, line=1502):
        rd.read_references(written(tmp_path, workbook(rows), "a.xlsx"))
    with raises("column-twice", rd.DataError, line=1, name="item"):
        rd.read_run(written(tmp_path, workbook([["query", "item", "item", "score"], ["q", "a", "b", 1]]), "a.xlsx"))
    with warns("first-sheet", count=2, name="a"):
        rd.read_run(written(tmp_path, workbook([["query", "item", "score"], ["q", "d", 1]], sheets=2), "a.xlsx"))


pieces = st.sampled_from(
    [",", ",", "\n", "\n", '"', '""', '"a"', "a", "b", " ", "\t", "\r\n", "\r", "é", "#", "null", "\x0b", "1"]
)


@given(st.lists(pieces, max_size=30).map("".join))
@example("a,b\nx\n\ny,z")
@example("a,b\n1,2\n3,4")
@example("a,b\r\n1,2\r\n")
def test_the_fast_way_gives_what_the_careful_one_gives(text):
    content = text.encode()
    for separator in (",", "\t"):
        frame = _quickly(content, separator)
        if frame is not None:
            careful, lines = _carefully(content, separator)
            assert careful.equals(frame)
            assert lines == [row + 2 for row in range(frame.height)]
