"""Grades that assessors gave on the page of ``rankdev judge``: a table of the database of judgments."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import polars as pl

from rankdev._common.cautions import warn
from rankdev.core.references import References
from rankdev.errors import FileFormatError, counted
from rankdev.io.streams import PathLike

SCHEMA = """
CREATE TABLE IF NOT EXISTS grades (
  id INTEGER PRIMARY KEY,
  request TEXT NOT NULL UNIQUE,  -- made by the page: a grade that is sent twice is kept once
  query TEXT NOT NULL,
  item TEXT NOT NULL,
  grade INTEGER,                 -- NULL: skipped
  worker TEXT NOT NULL,
  comment TEXT NOT NULL,
  at TEXT NOT NULL,              -- UTC
  undone INTEGER NOT NULL DEFAULT 0
) STRICT
"""
COLUMNS = ("query", "item", "grade", "worker", "comment", "at")


def read_given_grades(path: PathLike) -> pl.DataFrame:
    """Read the grades that were not taken back, skipped items included (without a grade), in the order given."""
    connection = sqlite3.connect(f"{Path(str(path)).absolute().as_uri()}?mode=rw", uri=True)
    try:
        there = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'grades'").fetchone()
        rows = (
            connection.execute(f"SELECT {', '.join(COLUMNS)} FROM grades WHERE NOT undone ORDER BY id").fetchall()
            if there
            else []
        )
    except sqlite3.Error as error:
        raise FileFormatError(path, f"the grades cannot be read ({error})") from None
    finally:
        connection.close()
    types = {name: pl.Int64 if name == "grade" else pl.String for name in COLUMNS}
    return pl.DataFrame(rows, schema=types, orient="row")


def references_from_database(path: PathLike) -> References:
    """Make references of the grades in a database: the mean where several assessors graded an item."""
    given = read_given_grades(path).drop_nulls("grade")
    if given.is_empty():
        raise FileFormatError(path, "it has no grades; rankdev refs preferences reads its judgments of pairs and lists")
    means = given.group_by("query", "item", maintain_order=True).agg(pl.col("grade").mean(), n=pl.len())
    if several := len(means.filter(pl.col("n") > 1)):
        warn(f"{counted(several, 'item', 'was')} graded several times; the mean counts")
    return References.from_grades(means.select("query", "item", "grade"))
