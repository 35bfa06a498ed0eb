import json

import pytest

import rankdev as rd


def test_explain_gives_its_table_as_json(rankdev):
    found = json.loads(rankdev("explain", "places.jsonl", "nearest.run", "--query", "museums", "--format", "json").out)
    records = found["rows"]
    assert found["parameters"] == {"query": "museums", "measure": "RDQ@10"}
    assert list(records[0]) == ["position", "item", "rank", "ideal_rank", "weight", "credit", "gained", "lost", "why"]
    score = rd.score(rd.read_references("places.jsonl")["museums"], rd.read_run("nearest.run")["museums"], "RDQ@10")
    assert sum(record["lost"] for record in records) == pytest.approx(1 - score)
    cut = rankdev("explain", "places.jsonl", "nearest.run", "--query", "museums", "-m", "RDQ@3", "--format", "json").out
    assert json.loads(cut)["elsewhere"][0] == {"item": "maritime-museum", "rank": 1, "position": 4}
    assert json.loads(cut)["elsewhere"][2] == {"item": "art-hall", "rank": 2, "position": None}


def test_refs_lists_takes_lists_and_runs(rankdev, folder):
    (folder / "lists.json").write_text('{"q": ["a", "b"]}')
    assert json.loads(rankdev("refs", "lists", "lists.json").out) == {"query": "q", "tiers": [["a"], ["b"]]}
    assert rankdev("refs", "lists", "blended.run", "-o", "refs.csv").status == 0
    assert rd.read_references("refs.csv")["sauna"].tiers[0] == ["sea-sauna"]


JUDGED = "query,winner,loser,worker\n" + "".join(f"q,{a},{b},w{k}\n" for a, b in ("ab", "bc", "ac") for k in range(6))


def test_refs_preferences_makes_tiers_and_reports_on_items_and_workers(rankdev, folder):
    (folder / "prefs.csv").write_text(JUDGED)
    call = ("refs", "preferences", "prefs.csv", "-o", "refs.jsonl")
    assert rankdev(*call, "--strengths", "strengths.csv").status == 0
    assert rd.read_references("refs.jsonl")["q"].tiers == [["a"], ["b"], ["c"]]
    assert (folder / "strengths.csv").read_text().startswith("query,item,")
    assert rankdev(*call, "--workers", "workers.csv", "--method", "crowd-bt").status == 0
    assert (folder / "workers.csv").read_text().startswith("worker,judgments,quality,low,high,verdict\nw0,3,")


def test_refs_preferences_takes_a_rule_and_a_probability(rankdev, folder):
    (folder / "prefs.csv").write_text("query,winner,loser\n" + "q,x,y\n" * 2)
    tied, apart = '{"query": "q", "tiers": [["x", "y"]]}\n', '{"query": "q", "tiers": [["x"], ["y"]]}\n'
    for options, out in (((), apart), (("--probability", "0.9"), tied), (("--rule", "strict"), apart)):
        assert rankdev("refs", "preferences", "prefs.csv", *options).out == out
    (folder / "prefs.csv").write_text("query,winner,loser\nq,x,y\n")
    assert "use --rule strict" in rankdev("refs", "preferences", "prefs.csv").err.replace("\n", " ")


@pytest.mark.parametrize("bad", ["nowhere/x.csv", "."])
@pytest.mark.parametrize("options", [("--strengths", "--workers"), ("--workers", "--strengths")])
def test_refs_preferences_leaves_nothing_behind_where_one_file_cannot_be_written(rankdev, folder, options, bad):
    (folder / "prefs.csv").write_text(JUDGED)
    before = sorted(folder.iterdir())
    files = (options[0], bad, options[1], "good.csv", "-o", "refs.jsonl")
    done = rankdev("refs", "preferences", "prefs.csv", "--method", "crowd-bt", *files)
    assert done.status == 2
    assert bad in done.err
    assert sorted(folder.iterdir()) == before


def test_the_demo_leaves_nothing_in_the_current_folder(rankdev, folder, monkeypatch, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("t")
    monkeypatch.setattr("tempfile.tempdir", str(elsewhere))
    monkeypatch.setattr("webbrowser.open", lambda address: pytest.fail("nobody asked for a browser"))
    before = {path: path.read_bytes() for path in folder.iterdir()}
    done = rankdev("demo")
    (page,) = elsewhere.glob("rankdev-demo-*/report.html")
    assert (done.status, f"\n{page}\n" in done.out, "</html>" in page.read_text(encoding="utf-8")) == (0, True, True)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    assert max(map(len, f"{done.out}\n{done.err}".replace(str(page), "").splitlines())) <= 80


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(rankdev, shell):
    assert "_RANKDEV_COMPLETE" in rankdev("completion", shell).out


def test_ppi(rankdev, folder):
    rows = [(s, f"q{i}", i % 3 + (s == "b")) for s in "ab" for i in range(40)]
    for name, kept, shift in (("human", 15, 0), ("model", 40, 0.5)):
        lines = [f"{s},{q},M,{value / 4 + shift}" for s, q, value in rows if int(q[1:]) < kept]
        (folder / f"{name}.csv").write_text("system,query,measure,value\n" + "\n".join(lines) + "\n")
    found = json.loads(rankdev("ppi", "human.csv", "model.csv", "--format", "json", "--figure", "x.png").out)
    assert [row["b"] for row in found["rows"]] == [None, None, "a"]
    assert found["rows"][0]["model"] > found["rows"][0]["high"]
    assert (folder / "x.png").exists()
    assert rankdev("ppi", "human.csv", "model.csv", "-m", "M").status == 0


def test_plan_takes_the_other_of_two_systems_beside_the_one_that_is_named(rankdev, folder):
    runs = ("plan", "places.jsonl", "popular.run", "blended.run", "-m", "RDQ@5", "--format", "json")
    pairs = [json.loads(rankdev(*runs, *named).out)["parameters"] for named in (["-a", "blended"], ["-b", "popular"])]
    assert [(pair["a"], pair["b"]) for pair in pairs] == [("blended", "popular")] * 2


def test_no_value_is_best_alone(rankdev, folder):
    out = rankdev("eval", "places.jsonl", "nearest.run", "blended.run", "-m", "RDQ@5,NumRet,Tau@5").out
    assert [line.split() for line in out.splitlines()[2:4]] == [
        ["blended", "0.8322*", "40", "0.7333"],
        ["nearest", "0.4393", "39", "–"],
    ]


def test_json_tells_the_infinite_from_what_was_not_measured(rankdev, folder):
    (folder / "s.csv").write_text(
        "system,query,measure,value\n"
        + "".join(f"{s},{q},P@1,{v}\n" for s, v in (("a", 0), ("b", 1)) for q in range(5))
    )
    (row,) = json.loads(rankdev("compare", "--scores", "s.csv", "--format", "json").out)["rows"]
    assert row["effect"] == "Infinity"


def test_compare_of_a_file_notes_what_compare_of_runs_notes(rankdev, folder):
    lines = (folder / "nearest.run").read_text().splitlines(keepends=True)
    (folder / "short.run").write_text("".join(lines[:30]))
    runs = ("places.jsonl", "short.run", "blended.run", "-m", "RDQ@5")
    assert rankdev("eval", *runs, "-q", "-o", "scores.parquet").status == 0
    one, other = (rankdev("compare", *source) for source in (runs, ("--scores", "scores.parquet")))
    assert "rankdev: note: short: 2 of 10 queries" in one.err
    assert (other.out, other.err) == (one.out, one.err)
