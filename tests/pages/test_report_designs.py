"""A report of systems with several runs, or on clusters of queries: what it states, and the numbers behind it."""

import numpy as np
import pytest

import rankdev as rd
from rankdev.errors import UsageError
from rankdev.html_report._findings import compare
from tests.raising import raises

ITEMS = list("abcdef")
REFERENCES = {f"q{i}": ITEMS[:3] for i in range(24)}
RNG = np.random.default_rng(0)
RUNS = {
    name: {q: RNG.permutation(ITEMS).tolist() for q in REFERENCES}
    for name in ("x-1", "x-2", "x-3", "y-1", "y-2", "y-3")
}
REPLICATES = {"x": ["x-1", "x-2", "x-3"], "y": ["y-1", "y-2", "y-3"]}
CLUSTERS = {query: int(query[1:]) // 3 for query in REFERENCES}
USUAL = dict.fromkeys(("order", "ties", "margin", "segments", "progress", "clusters", "replicates"))


def compared(**given):
    return compare(REFERENCES, RUNS, ["RDQ@3", "P@3"], **{**USUAL, "empty": "zero", "alpha": 0.05, "seed": 0, **given})


def test_tests_intervals_and_losses_are_those_of_systems():
    found = compared(replicates=REPLICATES)
    scores = rd.evaluate(REFERENCES, RUNS, ["RDQ@3", "P@3"])
    assert found.scores.systems == ("x", "y")
    assert found.scores.values[0] == pytest.approx(scores.values[:3].mean(axis=0))
    expected = rd.significance(scores, replicates=REPLICATES)
    assert found.significance.columns["p"] == pytest.approx(expected.columns["p"])
    board = (
        rd.leaderboard(scores, replicates=REPLICATES).to_polars().sort("measure", "system", descending=[True, False])
    )
    low, high = found.mean_intervals
    assert low.T.ravel() == pytest.approx(board["low"].to_numpy())
    assert high.T.ravel() == pytest.approx(board["high"].to_numpy())
    lost = rd.losses(REFERENCES, RUNS, "RDQ@3").to_polars()["lost_by_order"].to_numpy()
    assert found.losses.to_polars()["lost_by_order"].to_numpy() == pytest.approx([lost[:3].mean(), lost[3:].mean()])
    assert found.lists.names[int(found.lists.items[1, 0, 0])] == RUNS["y-1"]["q0"][0]


def test_clusters_are_in_every_number():
    found = compared(clusters=CLUSTERS, margin=0.1)
    scores = rd.evaluate(REFERENCES, RUNS, ["RDQ@3", "P@3"])
    expected = rd.significance(scores, clusters=CLUSTERS, margin=0.1)
    for name in ("p", "low", "high"):
        assert found.significance.columns[name] == pytest.approx(expected.columns[name])
    assert found.significance.conclusion == expected.conclusion
    board = rd.leaderboard(scores, clusters=CLUSTERS).to_polars().filter(measure="RDQ@3").sort("system")
    assert found.mean_intervals[0][:, 0] == pytest.approx(board["low"].to_numpy())


def test_one_system_is_a_page_too():
    assert rd.report(REFERENCES, {"x-1": RUNS["x-1"]}, "RDQ@3", clusters=CLUSTERS).html
    with raises("not-together", UsageError, name="clusters", other="replicates"):
        rd.report(REFERENCES, RUNS, "RDQ@3", clusters=CLUSTERS, replicates={"x": list(RUNS)})


def test_the_page_has_the_runs_of_each_system(page, tmp_path):
    path = tmp_path / "report.html"
    rd.report(REFERENCES, RUNS, ["RDQ@3", "P@3"], replicates=REPLICATES).save(path)
    page.goto(path.as_uri())
    page.wait_for_selector("body[data-ready]")
    means = dict(rd.evaluate(REFERENCES, RUNS, "RDQ@3").mean().iter_rows())
    rows = page.eval_on_selector_all(
        "#runs tbody tr", "rows => rows.map(row => [...row.cells].map(c => c.textContent))"
    )
    for system, count, mean, low, high, names in rows:
        own = [means[run] for run in REPLICATES[system]]
        assert [count, low, high] == [str(len(own)), f"{min(own):.4f}", f"{max(own):.4f}"]
        assert mean == f"{np.mean(own):.4f}"
        assert names == ", ".join(REPLICATES[system])
    assert {row[0] for row in rows} == set(REPLICATES)
    assert page.troubles == []
