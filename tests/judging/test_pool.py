"""Pools: from runs to the items that are judged."""

import json

import polars as pl
import pytest

import rankdev as rd
from rankdev.errors import RankdevWarning
from rankdev.judging.items import read_items
from tests.raising import warns

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


def test_collections_are_read_as_they_are_handed_round(tmp_path):
    (tmp_path / "collection.tsv").write_text("".join(f"{item}\tText of {item}\n" for item in "abcdxyz"))
    shown = rd.pool(RUNS, texts=tmp_path / "collection.tsv")
    assert shown["text"].to_list() == [f"Text of {item}" for item in shown["item"]]


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
