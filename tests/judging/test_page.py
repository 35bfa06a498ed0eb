"""The page of judges as the server sends it, its texts by language; pools: from runs to the items that are judged."""

import json
import re
from importlib.resources import files

import polars as pl
import pytest

import rankdev as rd
from rankdev.errors import RankdevWarning
from rankdev.judging.items import read_items
from rankdev.judging.page import MARK, guidelines_html, html, languages, preferred, texts_of
from tests.raising import warns

ASSETS = files("rankdev.judging").joinpath("assets")
PLACE = re.compile(r"\{(\w+)\}")


def forms(text):
    return text.values() if isinstance(text, dict) else [text]


@pytest.mark.parametrize("language", languages())
def test_every_language_has_every_text_with_the_same_places(language):
    english, texts = texts_of("en"), texts_of(language)
    assert list(texts) == list(english)
    for name, text in texts.items():
        assert isinstance(text, dict) == isinstance(english[name], dict), name
        places = {frozenset(PLACE.findall(form)) for form in forms(english[name])}
        assert {frozenset(PLACE.findall(form)) for form in forms(text)} <= places, name
        assert all(form.strip() for form in forms(text)), name
        assert not isinstance(text, dict) or {"one", "other"} <= text.keys(), name


def test_every_text_is_used_and_exists():
    page = ASSETS.joinpath("judge.html").read_text(encoding="utf-8")
    scripts = "".join(path.read_text(encoding="utf-8") for path in ASSETS.iterdir() if path.name.endswith(".js"))
    marks = set(MARK.findall(page)) - {"language", "texts"}
    called = set(re.findall(r'\b(?:text|many)\("(\w+)"', scripts))
    known = set(texts_of("en"))
    assert marks | called <= known
    unused = {name for name in known - marks - called if f'"{name}"' not in scripts}
    assert unused == set()


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        ("", "en"),
        ("de", "de"),
        ("de-AT, de;q=0.9, en;q=0.8", "de"),
        ("fr-CH, fr;q=0.9, en;q=0.8, de;q=0.7, *;q=0.5", "en"),
        ("xx, ;;;q=, \x00", "en"),
    ],
)
def test_the_browser_chooses_the_language(accepted, language):
    assert preferred(accepted) == language
    sent = html(language).decode()
    assert f'<html lang="{language}">' in sent
    assert not MARK.search(sent)
    data = re.search(r'<script type="application/json" id="texts">(.*?)</script>', sent)[1]
    assert json.loads(data) == texts_of(language)


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("# A *b*", "<h1>A <em>b</em></h1>"),
        ("|a|b|\n|-|-|\n|c|`d`|", "<td><code>d</code></td>"),
        ("![alt](https://evil.example/x.png)", '<p>!<a href="https://evil.example/x.png">alt</a></p>'),
        ("[x](javascript:alert(1)) [y](DATA:text/html,x)", "<p>[x](javascript:alert(1)) [y](DATA:text/html,x)</p>"),
        ("<img src=x onerror=alert(1)>", "<p>&lt;img src=x onerror=alert(1)&gt;</p>"),
        ("<b>\n\n</b>", "<p>&lt;b&gt;</p>\n<p>&lt;/b&gt;</p>"),
        ("- " * 3000 + "x", "<ul>"),
    ],
)
def test_guidelines_run_nothing_and_load_nothing(text, made):
    assert made in guidelines_html(text)


ITEMS = "query,item,query_text,query_description\nq,a,Roman bridge,\nq,b,Roman bridge,Which stand?\nr,c,,\nr,d,,\n"


def about(tmp_path, items=ITEMS, queries=None, name="queries.jsonl"):
    (tmp_path / "items.csv").write_text(items)
    if queries is not None:
        (tmp_path / name).write_text(queries)
    found = read_items(tmp_path / "items.csv", None if queries is None else tmp_path / name)
    return {query: found.query(query) for query in found.pool.items}


def test_a_query_may_have_a_description(tmp_path):
    assert about(tmp_path) == {
        "q": {"id": "q", "text": "Roman bridge", "description": "Which stand?"},
        "r": {"id": "r", "text": "r"},
    }


def test_a_table_of_queries_adds_to_the_items(tmp_path):
    queries = '{"query": "q", "narrative": "n"}\n{"query": "r", "text": "t"}\n{"query": "s", "text": "u"}\n'
    assert about(tmp_path, queries=queries) == {
        "q": {"id": "q", "text": "Roman bridge", "description": "Which stand?", "narrative": "n"},
        "r": {"id": "r", "text": "t"},
    }
    assert about(tmp_path, queries="r\tthe text\n", name="queries.tsv")["r"]["text"] == "the text"


RUNS = {"one": {"q1": ["a", "b", "c"], "q2": ["x"]}, "two": {"q1": ["d", "a"], "q3": ["y", "z"]}}


def test_the_first_items_of_all_runs_by_their_best_position_then_by_name():
    assert rd.pool(RUNS, depth=2).rows() == [
        *[("q1", "a"), ("q1", "d"), ("q1", "b")],
        *[("q2", "x"), ("q3", "y"), ("q3", "z")],
    ]
    assert len(rd.pool(RUNS)) == 7


def test_texts_are_joined_and_what_has_none_is_named():
    with warns("lacks-texts", path="texts", count=6, items=7, query="q1", item="d"):
        shown = rd.pool(RUNS, texts={"a": "An apple", "other": "not in a run"})
    assert shown.row(0, named=True) == {"query": "q1", "item": "a", "text": "An apple"}
    table = pl.DataFrame({"query": ["q1", "q2"], "item": ["a", "x"], "title": ["A", "X"], "query_text": ["one", "two"]})
    with pytest.warns(RankdevWarning):
        shown = rd.pool(RUNS, texts=table)
    assert shown.filter(item="x").row(0) == ("q2", "x", "X", "two")


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_a_pool_is_what_the_page_opens_and_the_loop_takes(tmp_path, ending):
    shown = rd.pool(RUNS, texts={item: item.upper() for item in "abcdxyz"})
    path = tmp_path / f"items.{ending}"
    {"jsonl": shown.write_ndjson, "csv": shown.write_csv, "parquet": shown.write_parquet}[ending](path)
    opened = read_items(path)
    assert opened.pool.items == {"q1": ["a", "d", "b", "c"], "q2": ["x"], "q3": ["y", "z"]}
    assert opened.shown("q1", "b") == {"item": "b", "text": "B"}
    found = rd.collect(lambda query, a, b: min(a, b), shown, budget=4)
    assert found.asked == 4


def test_the_demo_has_the_pool_that_the_command_makes(tmp_path):
    from tests.cli.conftest import DEMO

    runs = {name: DEMO / f"{name}.run" for name in ("nearest", "popular", "blended")}
    made = rd.pool(runs, depth=5, texts=DEMO / "texts.jsonl")
    saved = [json.loads(line) for line in (DEMO / "pool.jsonl").read_text(encoding="utf-8").splitlines()]
    assert made.to_dicts() == saved
    assert len(read_items(DEMO / "pool.jsonl").pool.items) == 10
