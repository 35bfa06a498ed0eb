"""What a worker of Spark does, without Spark: whatever queries come together, the values are those of one machine."""

import random

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankdev as rd
from rankdev.measures import REGISTRY
from tests.common import draws
from tests.common.claims import EVERY

pytest.importorskip("pyarrow")
from rankdev.integrations import _executors as executors
from rankdev.integrations._executors import Task, as_batches, whole_queries

MEASURES = [*EVERY, "RBP(p=0.8,gains=graded)@5"]  # which depends on the highest grade of all queries
AVERAGED = [text for text in MEASURES if REGISTRY[rd.parse(text).name].averages_ties and "judged_only" not in text]


def simulated(seed, queries=12):
    """Grades that differ from query to query; system b answers half of the queries, and some that nobody asked for."""
    rng = random.Random(seed)
    grades = [
        (f"q {q}", f"d{d}", rng.randrange(q % 4 + 2) - 1) for q in range(queries) for d in range(rng.randint(1, 9))
    ]
    runs = [
        (system, f"q {q}", f"d{d}", rng.randrange(5) / 4)
        for system in "ab"
        for q in range(0, queries + 2, 1 if system == "a" else 2)
        for d in rng.sample(range(12), rng.randint(1, 12))
    ]
    references = pl.DataFrame(grades, ["query", "item", "grade"], orient="row").cast({"grade": pl.Float64})
    return references, pl.DataFrame(runs, ["system", "query", "item", "score"], orient="row")


def sent(references, runs, seed=0):
    """Rows as they reach a worker: all in one table, in no order."""
    rows = [references.with_columns(is_run=pl.lit(False)), runs.with_columns(is_run=pl.lit(True))]
    return pl.concat(rows, how="diagonal").sample(fraction=1, shuffle=True, seed=seed)


def done(rows, work, monkeypatch, at_once=20):
    monkeypatch.setattr(executors, "ROWS", at_once)
    batches = [batch for part in rows.iter_slices(17) for batch in as_batches(part)]
    return pl.concat([pl.DataFrame(batch) for batch in executors.apply(batches, work)])


@pytest.mark.parametrize(
    ("measures", "ties"), [(MEASURES, "trec_eval"), (MEASURES, "ascending"), (AVERAGED, "expected")]
)
@pytest.mark.parametrize(("seed", "empty"), [(0, "zero"), (2, "skip")])
def test_every_measure_is_that_of_one_machine_bit_for_bit(measures, ties, seed, empty, monkeypatch):
    references, runs = simulated(seed)
    if ties != "expected":  # which refuses items that are returned twice
        runs = pl.concat([runs, runs.filter(pl.col("system") == "a").head(3)])
    by_name = {name: runs.filter(pl.col("system") == name) for name in "ab"}
    with draws.repeats_allowed():
        expected = rd.evaluate(references, by_name, measures, ties=ties, empty=empty)
    task = Task(["a", "b"], [rd.parse(text) for text in measures], ties, references["grade"].max(), empty)
    got = done(sent(references, runs, seed), task.score, monkeypatch)
    order = ["system", "query", "measure"]
    assert got.sort(order).equals(expected.to_polars().sort(order))
    counts = done(sent(references, runs, seed), task.count, monkeypatch).group_by("system").sum()
    for entry in expected.coverage:
        found = counts.row(by_predicate=pl.col("system") == entry.system, named=True)
        assert found == {"system": entry.system, **{name: getattr(entry, name) for name in executors.COUNTS}}


@draws.quick
@given(st.lists(st.sampled_from(["p", "q", "r", "s", None]), max_size=60), st.integers(1, 20), st.integers(1, 10))
def test_frames_hold_whole_queries_and_every_row_once(names, size, at_once):
    rows = pl.DataFrame({"query": names}, schema={"query": pl.String}).with_row_index()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(executors, "ROWS", at_once)
        frames = list(whole_queries(rows.iter_slices(size)))
    assert pl.concat([rows.clear(), *frames]).sort("index").equals(rows)
    assert sum(frame["query"].n_unique() for frame in frames) == rows["query"].n_unique()
    assert all(len(frame) for frame in frames)
