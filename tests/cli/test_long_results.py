"""Many systems, many queries, wide tables: what a screen, a file and a prompt show of them."""

import io
import json

import numpy as np
import polars as pl
import pytest

import rankdev as rd
from rankdev.display.dispatch import report_of, text_of
from rankdev.display.report import Report
from rankdev.display.significance import MANY
from rankdev.measures.base import MeasureInfo


def scores(systems, queries, lower=False):
    rng = np.random.default_rng(0)
    values = rng.normal(np.linspace(0.3, 0.6, systems)[:, None, None], 0.1, (systems, queries, 1))
    kinds = (MeasureInfo("AP", higher_is_better=not lower),)
    names = tuple(f"s{i:02}" for i in range(systems)), tuple(f"query-{i}" for i in range(queries)), ("AP",)
    return rd.Scores(*names, values, kinds=kinds)


@pytest.mark.parametrize("lower", [False, True])
def test_many_systems_have_a_leaderboard_and_pairs_on_demand(lower):
    known = scores(12, 40, lower)
    found = rd.significance(known, permutations=1999)
    report = report_of(found)
    (table,) = report.tables
    assert table.shown["system"].to_list() == list(known.sorted_by("AP").systems)
    best = table.shown["system"][0]
    rows = {frozenset(row[:2]): row[2] for row in found.to_polars().select("a", "b", "p_adjusted").iter_rows()}
    shown = dict(table.shown.select("system", "p (holm)").iter_rows())
    assert shown == {name: rows.get(frozenset((name, best))) for name in known.systems}
    groups = {row["system"]: set(row["groups"].split()) for row in table.shown.iter_rows(named=True)}
    apart = found.to_polars().filter(pl.Series(found.significant))
    assert all(not groups[a] & groups[b] for a, b in apart.select("a", "b").iter_rows())
    assert all(groups.values())
    assert report_of(found, pairs=True).tables[0].shown.height == report.rows.height == 66 > MANY
    assert report.opening[0].startswith("AP: ")
    assert " > " not in report.opening[0]


def test_few_systems_and_baselines_have_their_pairs():
    assert report_of(rd.significance(scores(8, 40), permutations=1999)).tables[0].shown.height == 28
    many = rd.significance(scores(40, 40), baselines="s00", permutations=1999)
    assert report_of(many).tables[0].shown.height == 39


def test_formats_for_programs_have_all_pairs(rankdev, folder):
    scores(12, 40).to_polars().write_csv(folder / "scores.csv")
    call = ("compare", "--scores", "scores.csv", "--permutations", "1999")
    assert len(json.loads(rankdev(*call, "--format", "json").out)["rows"]) == 66
    assert "s00  s01" not in rankdev(*call).out
    assert "s00  s01" in rankdev(*call, "--pairs").out


def test_files_are_not_wrapped_and_columns_are_respected(rankdev, folder, monkeypatch):
    call = ("compare", "places.jsonl", "nearest.run", "blended.run", "popular.run", "-m", "RDQ@5")
    monkeypatch.delenv("COLUMNS", raising=False)
    longest = max(map(len, rankdev(*call).out.splitlines()))
    assert longest <= 80
    monkeypatch.setenv("COLUMNS", "120")
    assert 80 < max(map(len, rankdev(*call).out.splitlines())) <= 120
    rankdev(*call, "-o", "x.txt")
    written = (folder / "x.txt").read_text()
    first = written.splitlines()[0]
    assert first == "RDQ@5: 3 of 3 pairs differ significantly: blended > nearest, popular > nearest, blended > popular."
    monkeypatch.setenv("COLUMNS", "20")
    assert (folder / "x.txt").read_text() == written
    assert rankdev(*call).out


def test_text_of_results_has_the_width_of_the_screen(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    wide = str(rd.significance(scores(3, 40), permutations=1999))
    assert max(map(len, wide.splitlines())) > 80
    monkeypatch.setenv("COLUMNS", "nonsense")
    assert isinstance(Report(pl.DataFrame({"a": [1]})).print_text(io.StringIO()), type(None))


def test_a_prompt_shows_no_thousand_ids():
    queries = [f"query-{i}" for i in range(5000)]
    lists = {query: ["d1", "d2"] for query in queries}
    references, run = rd.References.from_lists(lists), rd.Run.from_lists(lists)
    known = scores(2, 5000)
    differences = known.differences()
    for one in (references, run, known, differences, rd.significance(known, permutations=99)):
        assert len(repr(one)) < 700
    assert repr(known) == "Scores(2 systems, 5,000 queries, AP)"
    assert repr(rd.References.from_lists({"q": queries})["q"]) == "Reference(5,000 items on 5,000 ranks)"
    assert str(differences).count("query-") == 5000
    assert text_of(differences, short=True).count("query-") == 100
    assert "first 100 of 5,000 rows" in differences._repr_html_()
