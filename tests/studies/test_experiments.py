"""Every experiment runs, on next to nothing; and the pages show what docs/data has."""

import string

import numpy as np
import polars as pl
import pytest
from experiments import city, leave_out, pages, power_map, statements, trec_dl
from tests.common.tiny_bert import save_tiny_berts

import rankdev as rd
from rankdev.studies import track as tracks
from rankdev.studies.poi import Protocol

SIGNS = [*string.ascii_lowercase, *string.digits, ";", ","]


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


def run_city(folder, monkeypatch, *more):
    small = city.built_in_city(300)
    monkeypatch.setattr(city, "built_in_city", lambda: small)
    monkeypatch.setattr(city, "QUICK", Protocol(100, (25, 50, 100), 4, 20))
    sizes = ["--seed", "1", "--queries", "100", "--training", "16", "--candidates", "10", "--rounds", "1", "--quick"]
    city.main([*sizes, "-o", str(folder / "facts.csv"), "--pairs", str(folder / "pairs.csv"), *more])
    return pl.read_csv(folder / "facts.csv", infer_schema_length=None), pl.read_csv(folder / "pairs.csv")


def test_the_city(tmp_path, monkeypatch):
    pytest.importorskip("lightgbm")
    facts, pairs = run_city(tmp_path, monkeypatch, "--world", "A", "--world", "B")
    assert facts.columns == pages._read("poi-worlds.csv").columns
    assert set(facts["part"]) == set(pages._read("poi-worlds.csv")["part"])
    assert pairs.columns == pages._read("poi-pairs.csv").columns
    assert pairs.height == 2 * 66
    assert set(pairs["kind"]) == set(city.PAIR_KINDS)
    assert {verdict for verdict, _ in statements.world(facts, "A").values()} <= {"holds", "fails", "cannot tell"}
    own = tmp_path / "places.csv"
    rng = np.random.default_rng(0)
    kinds = ("cafe", "bank", "hotel", "museum", "bar")
    rows = [(f"place {i}", kinds[i % 5], *rng.normal(60, 0.01, 2)) for i in range(210)]
    pl.DataFrame(rows, schema=["name", "amenity", "lat", "lon"], orient="row").write_csv(own)
    assert len(city.read_places(own)) == 210


def test_cross_encoders(tmp_path, monkeypatch):
    pytest.importorskip("sentence_transformers", reason="pip install 'rankdev[sentence-transformers]'")
    save_tiny_berts(tmp_path, [*SIGNS, *(f"##{sign}" for sign in SIGNS)], 64)
    facts, _ = run_city(tmp_path, monkeypatch, "--world", "A", "--cross-encoder", str(tmp_path / "cross"))
    assert facts.filter(part="Table 2", statistic="p50")["value"].null_count() == 0


def test_the_power_map(monkeypatch, capsys):
    monkeypatch.setattr(power_map, "QUICK", power_map.Size((0.0, 0.1, 0.2), 2, 30, 4, 20, 20))
    monkeypatch.setattr(power_map, "SIZES", {"3 items": 3})
    monkeypatch.setattr(power_map, "FACTORS", dict(list(power_map.FACTORS.items())[:1]))
    power_map.main(["--quick"])
    printed = capsys.readouterr().out
    for table in ("Simulated rankers", "Power map, best measures", "The paper on the power map", "Power map by ties"):
        assert table in printed


def test_leaving_out_a_team():
    references, runs = judged()
    teams = {name: name[0] for name in runs}
    rows = leave_out.leave_out(references, runs, teams, measures=["RDQ@5", "nDCG@5"], depth=3, draws=2, resamples=20)
    assert list(rows[0])[1:] == ["places lost by the left-out team", "τ without a team"] + [
        f"τ without {share}% of judgments" for share in (10, 50)
    ]


def test_trec_deep_learning(monkeypatch):
    monkeypatch.setattr(tracks, "QUICK", tracks.Protocol(6, 40, 5))
    references, runs = judged()
    scores = {year: rd.evaluate(references, runs, [*trec_dl.RDQ, *trec_dl.OTHERS]) for year in trec_dl.YEARS}
    assert [row["measure"] for row in trec_dl.power(scores, quick=True)] == list(trec_dl.POWER)
    assert [row["year"] for row in trec_dl.agreements(scores)] == list(trec_dl.YEARS)
    assert [row["queries"] for row in trec_dl.tiers({"2019": references, "2020": references})] == [30, 30, 60]
    track = tracks.run_track(runs, references, quick=True)
    assert next(trec_dl.m1_and_m2({"grades": references}, {"grades": track}))["queries"] == 30
    assert list(trec_dl.power_by_references({"grades": track}))[-1]["measure"] == "the best of 25 cells"
    assert len(statements.track(track)) == 13


def test_the_page_shows_what_the_data_have():
    text = pages.PAGE.read_text("utf-8")
    assert pages.page(text) == text
