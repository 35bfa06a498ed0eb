"""Spark: the same numbers, bit for bit, on Sail (no Java) and on real Spark where Java and pyspark are installed."""

import os
import re
import shutil
from pathlib import Path

import polars as pl
import pytest

import rankdev as rd

pyspark = pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")
from rankdev.integrations import spark as rankdev_spark  # noqa: E402
from tests.integrations.test_executors import simulated  # noqa: E402
from tests.raising import raises, warns  # noqa: E402

JAVA = shutil.which("java") and (Path(pyspark.__file__).parent / "jars").exists()
MEASURES = ["RDQ@5", "RDQ(penalty=m1)@10", "nDCG(gains=linear)@10", "Compat(p=0.95)@5", "Tau@5", "AP"]
GRADED = [*MEASURES, "RBP(p=0.8,gains=graded)@5", "NumRet"]


def sail():
    server = pytest.importorskip("pysail.spark").SparkConnectServer(port=0)
    server.start(background=True)
    session = pyspark.sql.SparkSession.builder.remote(f"sc://localhost:{server.listening_address[1]}").create()
    yield session
    session.stop()  # first, lest a later session wait for a server that is gone
    server.stop()


def spark():
    if not JAVA:
        pytest.skip("needs Java and pyspark with its jars: make test-spark")
    builder = pyspark.sql.SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false")
    paths = os.pathsep.join([str(Path(rd.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    session = builder.config("spark.executorEnv.PYTHONPATH", paths).config("spark.sql.shuffle.partitions", "4")
    session = session.getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="module", params=[sail, spark], ids=["sail", "spark"])
def session(request):
    yield from request.param()


KINDS = {pl.String: "string", pl.Int64: "bigint", pl.Float64: "double", pl.Boolean: "boolean", pl.Date: "date"}


def made(session, frame):
    """Make a Spark DataFrame."""
    schema = ", ".join(f"{name} {KINDS[type(frame[name].dtype)]}" for name in frame.columns)
    return session.createDataFrame(frame.rows(), schema)


def table(rows, *names):
    return pl.DataFrame(rows, schema=list(names), orient="row")


def of_ranks(rows):
    return table(rows, "query", "item", "rank")


COLUMNS = ("query", "item", "score")


def of_runs(rows):
    return table(rows, "system", *COLUMNS)


def here(references, runs, measures, **options):
    by_name = {name: runs.filter(pl.col("system") == name) for name in sorted(runs["system"].unique())}
    return rd.evaluate(references, by_name, measures, **options)


def sorted_rows(frame):
    return frame.sort("system", "query", "measure")


@pytest.mark.parametrize("empty", ["zero", "skip"])
def test_values_are_the_same_bit_for_bit_and_so_is_coverage(session, empty):
    """One measure depends on the highest grade of all queries, which no worker sees, and one is a count."""
    references, runs = simulated(0, 60)
    expected = here(references, runs, GRADED, empty=empty)
    inside = made(session, references), made(session, runs)
    scores = rankdev_spark.evaluate(*inside, GRADED, empty=empty)
    got = table(scores.collect(), *scores.columns)
    assert sorted_rows(got).equals(sorted_rows(expected.to_polars()))
    means = rankdev_spark.means(scores)
    assert means["system"].to_list() == ["a", "b"]
    for name in expected.measures:
        ours, theirs = means[name].fill_null(-1), expected.mean()[name].fill_null(-1)
        assert ours.to_list() == pytest.approx(theirs.to_list(), abs=1e-14)
    counted = {row["system"]: row for row in rankdev_spark.coverage(*inside, GRADED, empty=empty).collect()}
    for entry in expected.coverage:
        for name in rankdev_spark.COUNTS:
            assert counted[entry.system][name] == getattr(entry, name)
    assert expected.coverage[0].empty
    with raises("not-a-choice", rd.UsageError, name="empty"):
        rankdev_spark.evaluate(*inside, GRADED, empty="none")


def test_a_system_that_scores_nothing_is_noticed(session):
    inside = made(session, of_ranks([("q", "a", 1)])), made(session, of_runs([("s", "Q", "a", 1.0)]))
    with warns("zero-everywhere", system="s"):
        assert rankdev_spark.means(rankdev_spark.evaluate(*inside, "RDQ@5"))["RDQ@5"].to_list() == [0.0]


def test_queries_may_lie_scattered_over_many_batches(session):
    """Enough rows for several pieces, so that a query whose rows were not brought together would be scored twice."""
    score = "cast(id * 7 % 1009 as double) score"
    columns = ("'s' system", "cast(id % 97 as string) query", "cast(id as string) item", score)
    references = of_ranks([(str(q), str(q + 97 * i), i + 1) for q in range(97) for i in range(50)])
    scores = rankdev_spark.evaluate(made(session, references), session.range(300_000).selectExpr(*columns), MEASURES)
    ids = pl.Series(range(300_000))
    run = pl.DataFrame({"query": ids % 97, "item": ids, "score": (ids * 7 % 1009).cast(pl.Float64)})
    expected = rd.evaluate(references, {"s": run}, MEASURES).to_polars()
    assert sorted_rows(table(scores.collect(), *scores.columns)).equals(sorted_rows(expected))


@pytest.mark.parametrize(
    ("references", "runs", "kind", "fields"),
    [
        (table([("q", "a")], "query", "item"), None, "no-column", {"role": "references", "name": "rank"}),
        (None, table([("q", "a", 1.0)], *COLUMNS), "no-column", {"role": "runs", "name": "system", "known": COLUMNS}),
        (None, of_runs([("s", "q", "a", "x")]), "bad-column", {"role": "runs", "name": "score", "type": "string"}),
        (None, of_runs([("s", 1.5, "a", 1.0)]), "bad-column", {"role": "runs", "name": "query", "type": "double"}),
    ],
)
def test_wrong_columns_are_refused_before_any_work(session, references, runs, kind, fields):
    references = of_ranks([("q", "a", 1)]) if references is None else references
    runs = of_runs([("s", "q", "a", 1.0)]) if runs is None else runs
    with raises(kind, rd.DataError, **fields):
        rankdev_spark.evaluate(made(session, references), made(session, runs), "RDQ@5")


def test_what_is_no_spark_frame_is_refused(session):
    runs = made(session, of_runs([("s", "q", "a", 1.0)]))
    with raises("not-a-type", rd.UsageError, name="references", value="DataFrame"):
        rankdev_spark.evaluate(of_ranks([("q", "a", 1)]), runs, "RDQ@5")


def test_a_measure_that_needs_more_than_ranks_is_refused_before_any_work(session):
    inside = made(session, of_ranks([("q", "a", 1)])), made(session, of_runs([("s", "q", "a", 1.0)]))
    with raises("no-grades", rd.MeasureError):
        rankdev_spark.evaluate(*inside, "nDCG@5", systems=["s"])


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ([("s", "q", "a", 1.0), ("s", "q", "a", 2.0)], "system 's': query 'q': item 'a' has two scores"),
        ([("s", "q", "a", float("nan"))], "system 's': query 'q': item 'a': the score is nan; expected a finite"),
        ([("s", "q", "a", None), ("s", "q", "b", 1.0)], "system 's': query 'q': item 'a': the score is None"),
        ([("s", "q", None, 1.0), ("s", "q", "a", 2.0)], "runs: system 's': query 'q': no item; every"),
        ([("s", None, "a", 1.0), ("s", "q", "a", 2.0)], "runs: system 's': item 'a': no query; every"),
        ([(None, "q", "a", 1.0), ("s", "q", "a", 2.0)], "runs: query 'q': item 'a': no system; every"),
        ([("t", "q", "a", 1.0)], "runs: unknown system 't'"),
    ],
)
def test_wrong_rows_are_named_in_one_line(session, runs, message):
    inside = made(session, of_ranks([("q", "a", 1)])), made(session, of_runs(runs))
    scores = rankdev_spark.evaluate(*inside, "RDQ@5", systems=["s"])
    for action in (rankdev_spark.collect, rankdev_spark.means):
        with pytest.raises(rd.DataError, match="^" + re.escape(message)) as caught:
            action(scores)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("said", "kind", "part"),
    [
        ("x.PythonException: …\nrankdev.errors.UsageError: no\n\tat java.x", "of-worker", "no"),
        ("…\nModuleNotFoundError: No module named 'rankdev.x'\n", "worker-without-module", "rankdev.x"),
        (
            "An error occurred\n: org.apache.spark.SparkException: Job aborted: Task 0 failed 4 times:"
            " ExecutorLostFailure (executor 3 exited) Reason: Command exited with code 137\nDriver stacktrace:\n\tat",
            "worker-lost",
            "ExecutorLostFailure (executor 3 exited) Reason: Command exited with",
        ),
        (
            ": x.SparkException: J\nCaused by: x.PythonException: T\nKeyError: 'a'\n\tat",
            "spark-failed",
            "KeyError: 'a'",
        ),
        ("[TABLE_OR_VIEW_NOT_FOUND] no such table\n\nJVM stacktrace:", "spark-failed", "[TABLE_OR_VIEW"),
        ("", "spark-failed", "no reason given"),
    ],
)
def test_what_spark_says_becomes_one_line(said, kind, part):
    error = rankdev_spark._in_one_line(said)
    assert error.kind == kind
    assert part in str(error)
    assert "\n" not in str(error)
