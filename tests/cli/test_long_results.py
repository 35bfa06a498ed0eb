"""Many systems, many queries, wide tables: what a screen, a file and a prompt show of them."""

import json

import numpy as np
import pytest

import rankdev as rd
from rankdev.display.view import report_of, text_of
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
    found = rd.significance(known)
    report = report_of(found)
    (table,) = report.tables
    assert table.shown["system"].to_list() == list(known.sorted_by("AP").systems)
    assert (table.shown["ahead of the next"][:-1] > 0).all()
    assert report.opening[0].startswith("s00 leads" if lower else "s11 leads")
    assert report_of(found, pairs=True).tables[0].shown.height == report.rows.height == 66
    assert ("AP: lower is better" in text_of(known)) == lower
    against = rd.significance(scores(40, 40), baselines="s00")
    assert report_of(against).tables[0].shown.height == 39


def test_formats_for_programs_have_all_pairs(rankdev, folder):
    scores(12, 40).to_polars().write_csv(folder / "scores.csv")
    call = ("compare", "--scores", "scores.csv")
    assert len(json.loads(rankdev(*call, "--format", "json").out)["rows"]) == 66
    assert "s01  s00" not in rankdev(*call).out
    assert "s01  s00" in rankdev(*call, "--pairs").out


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
    assert first == "blended is best in RDQ@5: it is better than both others."
    assert max(map(len, written.splitlines())) > 120
    monkeypatch.setenv("COLUMNS", "20")
    assert (folder / "x.txt").read_text() == written
    assert rankdev(*call).out


def test_a_prompt_shows_no_thousand_ids():
    queries = [f"query-{i}" for i in range(5000)]
    lists = {query: ["d1", "d2"] for query in queries}
    references, run = rd.References.from_lists(lists), rd.Run.from_lists(lists)
    known = scores(2, 5000)
    differences = known.differences()
    for one in (references, run, known, differences, rd.significance(known)):
        assert len(repr(one)) < 700
    assert repr(known) == "Scores(2 systems, 5,000 queries, AP)"
    assert repr(rd.References.from_lists({"q": queries})["q"]) == "Reference(5,000 items on 5,000 ranks)"
    assert str(differences).count("query-") == 5000
    assert text_of(differences, short=True).count("query-") == 100
    assert "first 100 of 5,000 rows" in differences._repr_html_()
