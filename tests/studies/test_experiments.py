"""Every experiment runs, on next to nothing; and the pages show what docs/data has."""

import numpy as np
import polars as pl
import pytest
from experiments import city, leave_out, pages, statements, trec_dl

import rankdev as rd
from rankdev.studies import track as tracks
from rankdev.studies.poi import Protocol


def judged(queries=30, seed=0):
    """Grades with nonrelevant items, and three systems of two teams."""
    rng = np.random.default_rng(seed)
    grades = {f"q{q}": {f"d{i}": int(rng.integers(0, 4)) for i in range(12)} | {"d0": 3} for q in range(queries)}
    runs = {
        name: rd.Run.from_scores(
            {q: {d: g + rng.normal(0, noise) for d, g in own.items()} for q, own in grades.items()}
        )
        for name, noise in (("x1", 0.5), ("x2", 1.0), ("y1", 2.0))
    }
    return rd.References.from_grades(grades), runs


def test_the_city(tmp_path, monkeypatch):
    pytest.importorskip("lightgbm")
    monkeypatch.setattr(city, "QUICK", Protocol(100, (25, 50, 100), 4, 20))
    rng = np.random.default_rng(0)
    kinds, words = ("cafe", "bank", "hotel", "museum", "bar", "pub"), ("amber", "basin", "cedar", "delta", "ember")
    rows = [
        (f"{rng.choice(words)} {i}", kinds[i % 6], f"{rng.choice(words)} street", *rng.normal(60, 0.01, 2))
        for i in range(300)
    ]
    columns = ["name", "amenity", "addr:street", "lat", "lon"]
    pl.DataFrame(rows, schema=columns, orient="row").write_csv(tmp_path / "places.csv")
    sizes = ["--seed", "1", "--queries", "100", "--training", "16", "--candidates", "10", "--rounds", "1", "--quick"]
    output = str(tmp_path / "facts.csv")
    city.main([str(tmp_path / "places.csv"), *sizes, "-o", output, "--world", "A"])
    facts = pl.read_csv(output, infer_schema_length=None)
    assert facts.columns == pages._read("poi-worlds.csv").columns
    assert set(facts["part"]) == set(pages._read("poi-worlds.csv")["part"])
    found = statements.over_seeds([facts.filter(world="A")])
    assert {verdict for verdict, _ in found.values()} <= {"holds", "fails", "cannot tell"}


def test_leaving_out_a_team():
    references, runs = judged()
    teams = {name: name[0] for name in runs}
    rows = leave_out.leave_out(references, runs, teams, measures=["RDQ@5", "nDCG@5"], depth=3, draws=2, resamples=20)
    assert list(rows[0])[1:] == ["places lost by the left-out team", "τ without a team"] + [
        f"τ without {share}% of judgments" for share in (10, 50)
    ]


def test_trec_deep_learning(monkeypatch):
    monkeypatch.setattr(tracks, "QUICK", {"subsamples": 6, "permutations": 40, "resamples": 5})
    references, runs = judged()
    scores = {year: rd.evaluate(references, runs, [*trec_dl.RDQ, *trec_dl.OTHERS]) for year in trec_dl.YEARS}
    assert [row["measure"] for row in trec_dl.power(scores, quick=True)] == list(trec_dl.POWER)
    assert [row["year"] for row in trec_dl.agreements(scores)] == list(trec_dl.YEARS)
    assert [row["queries"] for row in trec_dl.tiers({"2019": references, "2020": references})] == [30, 30, 60]
    track = tracks.run_track({"grades": (references, runs)}, quick=True)
    assert next(trec_dl.m1_and_m2({"grades": references}, {"grades": track}))["queries"] == 30
    assert list(trec_dl.power_by_references({"grades": track}))[-1]["measure"] == "the best of 25 cells"
    assert len(statements.on_track(track)) == 13


def test_the_page_shows_what_the_data_have():
    text = pages.PAGE.read_text("utf-8")
    assert pages.page(text) == text
