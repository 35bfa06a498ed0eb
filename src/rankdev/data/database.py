"""The SQLite database of ``rankdev judge``: answers about pairs of items, and grades of single ones."""

from __future__ import annotations

from pathlib import Path

from rankdev._common.lazy import pl
from rankdev.data.write import PathLike, note_reading
from rankdev.errors import DataError, warn

MAGIC = b"SQLite format 3\0"
SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
  id INTEGER PRIMARY KEY,
  request TEXT NOT NULL UNIQUE,  -- made by the page: an answer that is sent twice is kept once
  query TEXT NOT NULL,
  first TEXT NOT NULL,           -- shown on the left
  second TEXT NOT NULL,          -- empty where one item was graded
  outcome TEXT NOT NULL,         -- first, second, tie or skip; of one item its grade or skip
  worker TEXT NOT NULL,
  comment TEXT NOT NULL,
  at TEXT NOT NULL,              -- UTC
  seconds REAL,                  -- from question to answer; NULL where that is not known
  kind TEXT NOT NULL,            -- 'gold': the owner knows the answer; 'grade': of one item
  program INTEGER NOT NULL,      -- 1 where no person answered
  undone INTEGER NOT NULL DEFAULT 0,
  ended TEXT,                    -- when it was taken back or changed, UTC
  replaced_by INTEGER            -- id of the answer that it was changed to
) STRICT
"""
COLUMNS = ("query", "first", "second", "outcome", "worker", "comment", "at", "seconds", "kind", "program")
TYPES = {"seconds": "Float64", "program": "Int64", "undone": "Int64"}


def is_database(path: PathLike) -> bool:
    """Return whether this is a SQLite file, by its first bytes; a pipe is left alone: it can be read only once."""
    file = Path(str(path))
    try:
        if str(path) == "-" or not file.is_file():
            return False
        with file.open("rb") as stream:
            if stream.read(len(MAGIC)) != MAGIC:
                return False
            note_reading(path, stream.fileno())
            return True
    except OSError:
        return False


def read_answers(path: PathLike, *, graded: bool = False, ended: bool = False) -> pl.DataFrame:
    """Read the answers about pairs, or those that grade items, skipped ones included, in the order given.

    Those that were taken back or changed are left out, unless ``ended``: then they are marked ``undone``.
    """
    import sqlite3  # which takes a while, and most calls read no database

    names = (*COLUMNS, *(("undone", "ended") if ended else ()))
    try:
        connection = sqlite3.connect(f"{Path(str(path)).absolute().as_uri()}?mode=rw", uri=True)
    except sqlite3.Error as error:
        raise DataError("cannot-open", path=path, why=str(error)) from None
    try:
        which = "(kind = 'grade') = ?" + ("" if ended else " AND NOT undone")
        found = connection.execute(f"SELECT {', '.join(names)} FROM answers WHERE {which} ORDER BY id", (graded,))
        rows = found.fetchall()
    except sqlite3.Error as error:
        if error.sqlite_errorname.startswith("SQLITE_BUSY"):
            raise DataError("locked", path=path) from None
        raise DataError("not-judgments", path=path, why=str(error)) from None
    finally:
        connection.close()
    return pl.DataFrame(rows, schema={name: getattr(pl, TYPES.get(name, "String")) for name in names}, orient="row")


def as_judgments(answers: pl.DataFrame) -> pl.DataFrame:
    """Return answers as judgments: query, winner, loser, tie, worker, first.

    Answers to gold pairs are left out: they only tell about the judge.
    """
    judged = answers.filter(pl.col("outcome") != "skip", pl.col("kind") == "")
    lost = pl.col("outcome") == "second"
    return judged.select(
        "query",
        winner=pl.when(lost).then("second").otherwise("first"),
        loser=pl.when(lost).then("first").otherwise("second"),
        tie=pl.col("outcome") == "tie",
        worker="worker",
        first="first",
    )


def read_given_grades(path: PathLike) -> pl.DataFrame:
    """Read the grades that were not taken back, skipped items included (without a grade), in the order given."""
    grade = pl.when(pl.col("outcome") != "skip").then("outcome").cast(pl.Int64).alias("grade")
    return read_answers(path, graded=True).select(
        "query", pl.col("first").alias("item"), grade, "worker", "comment", "at"
    )


def given_means(path: PathLike) -> pl.DataFrame:
    """Return the grade of each item in a database: the mean where several assessors graded it."""
    given = read_given_grades(path).drop_nulls("grade")
    if given.is_empty():
        raise DataError("no-given-grades", path=path)
    means = given.group_by("query", "item", maintain_order=True).agg(pl.col("grade").mean(), n=pl.len())
    if several := len(means.filter(pl.col("n") > 1)):
        warn("graded-often", count=several)
    return means.select("query", "item", "grade")
