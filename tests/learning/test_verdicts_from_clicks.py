import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import rankdev as rd
from rankdev import learning, studies
from rankdev.cli import cli

ROW = st.fixed_dictionaries(
    {
        "query": st.sampled_from(["q", "r"]),
        "session": st.integers(1, 4),
        "clicked": st.integers(0, 1),
        "position": st.integers(1, 3),
    }
)


def rows(*entries):
    return [dict(zip(("query", "session", "system", "position", "clicked"), entry, strict=True)) for entry in entries]


def said(log, **options):
    return sorted(learning.verdicts_from_clicks(log, **options).to_polars().rows())


@given(st.lists(ROW, min_size=1, max_size=20), st.sampled_from(["clicks", "any", "first"]))
def test_an_interleaved_session_is_a_verdict_on_its_systems(entries, outcome):
    log = [{**entry, "system": name} for i, entry in enumerate(entries) for name in ("ab"[i % 2],)]
    log += [{**entry, "system": name, "clicked": 0} for entry in entries for name in "ab"]  # all systems in all
    totals = {}
    for row in log:
        value = {"clicks": row["clicked"], "any": row["clicked"], "first": row["clicked"] / row["position"]}[outcome]
        key = (row["query"], row["session"])
        entry = totals.setdefault(key, {"a": 0.0, "b": 0.0})
        entry[row["system"]] = entry[row["system"]] + value if outcome == "clicks" else max(entry[row["system"]], value)
    expected = sorted(
        (query, "a", "b", "tie" if entry["a"] == entry["b"] else max(entry, key=entry.get))
        for (query, _), entry in totals.items()
    )
    assert said(log, outcome=outcome) == expected


def test_split_traffic_is_paired_within_queries_each_session_once():
    log = rows(("q", 1, "x", 1, 1), ("q", 2, "x", 1, 1), ("q", 3, "y", 1, 0), ("r", 4, "x", 1, 0), ("r", 5, "y", 1, 1))
    assert said(log) == [("q", "x", "y", "x"), ("r", "x", "y", "y")]
    found = learning.verdicts_from_clicks(log)
    assert (found.design, found.sessions, found.ties) == ("split", 5, 0)
    assert found.summary().rows() == [("x", "y", 2, 1, 1, 0)]


def test_the_first_click_counts_by_its_position():
    log = rows(("q", 1, "x", 1, 0), ("q", 1, "x", 2, 1), ("q", 2, "y", 1, 1), ("q", 2, "y", 2, 0))
    assert said(log, outcome="first") == [("q", "x", "y", "y")]
    assert said(log) == said(log, outcome="any") == [("q", "x", "y", "tie")]


def test_the_seed_decides_which_sessions_meet():
    rng = np.random.default_rng(0)
    log = rows(*(("q", s, "xy"[s % 2], 1, int(rng.integers(2))) for s in range(60)))
    assert said(log, seed=1) == said(log, seed=1)
    winners = {tuple(learning.verdicts_from_clicks(log, seed=seed).to_polars()["winner"]) for seed in range(4)}
    assert len(winners) > 1


@pytest.mark.parametrize(
    ("log", "message"),
    [
        (rows(("q", 1, "x", 1, 2)), "expected 0 or 1"),
        (rows(("q", 1, "x", 1, 1), ("q", 2, "x", 1, 1)), "no query was shown by two systems"),
        (rows(("q", 1, "x", 1, 1), ("q", 1, "y", 1, 1), ("q", 2, "x", 1, 1)), "'2' shows items of 'x' only"),
        (rows(("q", 1, "tie", 1, 1), ("q", 2, "y", 1, 1)), "cannot be called 'tie'"),
        ([{"query": "q", "system": "x", "clicked": 1}], "column 'session' is missing"),
    ],
)
def test_wrong_logs_are_named(log, message):
    with pytest.raises(rd.DataError, match=message):
        learning.verdicts_from_clicks(log)


def clicked_by_users_of(persistence, made, sessions, seed=7):
    """Users go on with this probability after each item, and click the reference items they see."""
    rng = np.random.default_rng(seed)
    systems, queries = list(made.runs), list(made.references)
    log = []
    for session in range(sessions):
        query, system = queries[rng.integers(len(queries))], systems[rng.integers(len(systems))]
        items = made.runs[system][query][:10]
        seen = rng.geometric(1 - persistence)
        for position, item in enumerate(items, 1):
            good = item in made.references[query]
            clicked = position <= seen and rng.random() < (0.6 if good else 0.02)
            log.append((query, session, system, position, int(clicked)))
    return pl.DataFrame(log, schema=["query", "session", "system", "position", "clicked"], orient="row")


@pytest.mark.parametrize("persistence", [0.5, pytest.param(0.9, marks=pytest.mark.slow)])
def test_clicks_of_users_of_known_persistence_choose_it(persistence):
    made = studies.simulate(100, seed=1, models={"a": 1.0, "b": 1.3, "c": 0.8}, settings={"s": 1.0})
    verdicts = learning.verdicts_from_clicks(clicked_by_users_of(persistence, made, 6000))
    found = rd.tune("RBP@10", made.references, dict(made.runs), verdicts, grid={"p": [0.3, 0.5, 0.9]}, resamples=200)
    chosen = dict(zip([0.3, 0.5, 0.9], found.plausible.tolist(), strict=True))
    assert chosen[persistence]
    assert not chosen[0.9 if persistence == 0.5 else 0.5]
    assert any("sessions (split)" in line for line in found.remarks)


def test_tune_takes_clicks_on_the_command_line(tmp_path):
    made = studies.simulate(20, seed=1, models={"a": 1.0, "b": 1.5}, settings={"s": 1.0})
    log = clicked_by_users_of(0.8, made, 400)
    log.rename({"clicked": "was_clicked"}).write_csv(tmp_path / "log.csv")
    made.save(tmp_path)
    files = [str(tmp_path / name) for name in ("references.jsonl", "runs/a-s.run", "runs/b-s.run")]
    call = ["tune", *files, "-m", "RBP@10", "--grid", "p=0.5,0.9", "--folds", "2", "--resamples", "20"]
    clicks = ["--clicks", str(tmp_path / "log.csv"), "--columns", "clicked=was_clicked"]
    done = CliRunner().invoke(cli, [*call, *clicks])
    assert done.exit_code == 0, done.output
    assert "from 400 sessions (split)" in " ".join(done.stdout.split())
    for wrong in ([], [*clicks, "--people", "x.csv"]):
        assert "not both" in str(CliRunner().invoke(cli, [*call, *wrong]).exception)
