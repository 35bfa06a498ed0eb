"""The commands that answer how reliable scores are, beyond compare and power."""

import json


def test_compare_with_a_margin(rankdev, folder):
    runs = ("places.jsonl", "popular.run", "blended.run", "-m", "RDQ@5")
    found = json.loads(rankdev("compare", *runs, "--margin", "0.5", "--format", "json").out)
    assert [row["verdict"] for row in found["rows"]] == ["better"]
    assert found["conclusion"].endswith("The difference is smaller than the margin of 0.5.")
    assert found["parameters"]["margin"] == 0.5
    assert rankdev("compare", *runs, "--margin", "0.5", "--figure", "x.png").status == 0
    assert (folder / "x.png").stat().st_size > 1000


THREE = ("places.jsonl", "nearest.run", "popular.run", "blended.run", "-m", "RDQ@5", "-m", "AP@5")


def test_discriminative_power(rankdev, folder):
    found = json.loads(
        rankdev("compare", *THREE, "--discriminative-power", "--format", "json", "--figure", "x.svg").out
    )
    assert [row["pairs"] for row in found["summary"]] == [3, 3]
    assert [row["place"] for row in found["rows"]] == [1, 2, 3] * 2
    assert (folder / "x.svg").exists()


def test_several_collections(rankdev, folder):
    for name, runs in (("town", THREE), ("port", (*THREE, "--order", "rank"))):
        assert rankdev("eval", *runs, "-q", "-o", f"{name}.csv").status == 0
    both = ("--collection", "town.csv", "--collection", "port.csv")
    done = rankdev("compare", *both, "--correction", "none", "--format", "json", "--figure", "x.png")
    found = json.loads(done.out)
    assert found["parameters"]["collections"] == ["town", "port"]
    assert {row["collection"] for row in found["collections"]} == {"town", "port"}
    assert (folder / "x.png").exists()


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
        ["nearest", "0.4393", "39", "–"],
        ["blended", "0.8322*", "40", "0.7333"],
    ]
