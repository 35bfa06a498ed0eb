import json

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from scipy.stats import kendalltau, rankdata

import rankdev as rd
from rankdev import studies
from rankdev.cli import cli

TEAMS = {"a1": "A", "a2": "A", "b1": "B", "c1": "C"}


def track(seed=0, queries=12):
    rng = np.random.default_rng(seed)
    items = [f"d{i}" for i in range(14)]
    judged = {f"q{q}": {item: int(rng.integers(0, 3)) for item in items} | {"d0": 2} for q in range(queries)}
    runs = {name: {query: list(rng.permutation(items)) for query in judged} for name in TEAMS}
    return judged, runs


def brute_force(judged, runs, team, measure, depth):
    """Leave a team out, one judgment at a time."""
    kept = {}
    for query, grades in judged.items():
        mine = {item for name, run in runs.items() if TEAMS[name] == team for item in run[query][:depth]}
        others = {item for name, run in runs.items() if TEAMS[name] != team for item in run[query][:depth]}
        kept[query] = {item: grade for item, grade in grades.items() if item not in mine - others}
    before, after = (
        rd.evaluate(rd.References.from_grades(grades), runs, measure).means[:, 0] for grades in (judged, kept)
    )
    own = np.array([TEAMS[name] == team for name in runs])
    shift = after - before
    lost = sum(len(grades) - len(kept[query]) for query, grades in judged.items())
    places = (rankdata(-after) - rankdata(-before))[own].mean()
    return lost, kendalltau(before, after).statistic, shift[own].mean() - shift[~own].mean(), places


@pytest.mark.parametrize("measure", ["nDCG@5", "RDQ@5", "Bpref"])
def test_a_team_takes_with_it_what_it_alone_brought(measure):
    judged, runs = track()
    found = studies.leave_out(rd.References.from_grades(judged), runs, measure, teams=TEAMS, shares=[], pool_depth=3)
    rows = {row["team"]: row for row in found.by_team().iter_rows(named=True)}
    for team in "ABC":
        lost, tau, own, places = brute_force(judged, runs, team, measure, 3)
        assert rows[team]["judgments"] == lost
        assert rows[team]["tau"] == pytest.approx(tau)
        assert rows[team]["own"] == pytest.approx(own)
        assert rows[team]["places"] == pytest.approx(places)
    means = found.to_polars().row(0, named=True)
    assert means["left_out"] == "a team"
    assert means["places"] == pytest.approx(np.mean([row["places"] for row in rows.values()]))
    assert means["tau_low"] <= means["tau"] <= means["tau_high"] <= 1


def test_a_share_is_of_all_judgments_and_a_larger_one_holds_the_smaller():
    judged, runs = track()
    found = studies.leave_out(rd.References.from_grades(judged), runs, "nDCG@5", shares=[0.25, 0.5], draws=3)
    shares = [case for case in found.cases if case[0] == "share"]
    assert [case[2] for case in shares] == [42] * 3 + [84] * 3  # of 12 × 14
    table = found.to_polars().filter(pl.col("left_out") != "a team")
    assert table["left_out"].to_list() == ["25% of judgments", "50% of judgments"]
    assert table["own"].null_count() == 2
    assert table["tau"][1] <= table["tau"][0] + 0.2


def test_shares_that_are_nearly_equal_are_kept_apart():
    judged, runs = track()
    options = {"shares": [0.241, 0.244], "draws": 2, "resamples": 20}
    found = studies.leave_out(rd.References.from_grades(judged), runs, "nDCG@5", **options)
    assert [len(cases) for name, cases in found.groups().items() if name != "a team"] == [2, 2]


def test_ranks_close_up_where_a_tier_is_gone_and_a_query_may_lose_everything():
    references = rd.References.from_lists({"q": ["a", "b", "c"], "r": ["z"]})
    runs = {"x": {"q": ["a", "b"], "r": ["z"]}, "y": {"q": ["b", "c"], "r": ["w"]}}
    found = studies.leave_out(references, runs, "RDQ@2", shares=[], pool_depth=1)
    rows = found.by_team()
    assert rows["judgments"].to_list() == [2, 1]  # x alone brought a and z; y alone brought b
    after = rd.evaluate(rd.References.from_lists({"q": ["b", "c"]}), runs, "RDQ@2").means[:, 0] / 2
    before = rd.evaluate(references, runs, "RDQ@2").means[:, 0]
    assert rows["own"][0] == pytest.approx((after - before) @ [1, -1])


def test_what_was_judged_nonrelevant_decides_the_usual_measures():
    judged, runs = track()
    graded = rd.References.from_grades(judged)
    assert "Bpref" in studies.leave_out(graded, runs, shares=[0.5], draws=1, resamples=20).measures
    lists = rd.References.from_lists({query: sorted(grades) for query, grades in judged.items()})
    found = studies.leave_out(lists, runs, shares=[0.5], draws=1, resamples=20).measures
    assert "Bpref" not in found
    assert "nDCG(gains=inverse)@10" in found


def test_the_same_seed_gives_the_same_numbers():
    judged, runs = track()
    first, again, other = (
        studies.leave_out(rd.References.from_grades(judged), runs, "AP@5", shares=[0.3], resamples=20, seed=seed)
        for seed in (1, 1, 2)
    )
    assert first.to_polars().equals(again.to_polars())
    assert not first.to_polars().equals(other.to_polars())


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"teams": {"a1": "A"}}, "does not name the team of 'a2'"),
        ({"teams": {**TEAMS, "a3": "A"}}, "which is not a system; did you mean"),
        ({"shares": [1.5]}, "each of shares"),
        ({"shares": 0.5}, "must be a list"),
        ({"measures": "Tau@5"}, "has no value for some queries"),
    ],
)
def test_wrong_arguments_are_named(keywords, message):
    judged, runs = track()
    with pytest.raises(rd.RankdevError, match=message):
        studies.leave_out(rd.References.from_grades(judged), runs, **keywords)


def test_from_the_command_line(tmp_path):
    judged, runs = track()
    (tmp_path / "runs").mkdir()
    for name, run in runs.items():
        rd.write_run(rd.Run.from_lists(run), tmp_path / "runs" / f"{name}.run")
    rd.write_references(rd.References.from_grades(judged), tmp_path / "refs.jsonl")
    (tmp_path / "teams.csv").write_text("system,team\n" + "".join(f"{a},{b}\n" for a, b in TEAMS.items()))
    files = [str(tmp_path / name) for name in ("refs.jsonl", "runs", "teams.csv")]
    call = ["study", "leave-out", *files[:2], "--teams", files[2], "--quick", "--format", "json", "-m", "nDCG@5"]
    done = CliRunner().invoke(cli, [*call, "--figure", str(tmp_path / "x.png")])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert {row["team"] for row in found["teams"]} == {"A", "B", "C"}
    assert (tmp_path / "x.png").exists()
    wrong = CliRunner().invoke(cli, [*call, "--shares", "half"])
    assert "expected numbers between 0 and 1" in str(wrong.exception) + wrong.output
