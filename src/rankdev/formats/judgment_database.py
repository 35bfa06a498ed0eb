"""The SQLite file in which people's judgments are kept: its tables, and how to read it while it is written."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import polars as pl

from rankdev.errors import FileFormatError
from rankdev.files_in_use import note_reading
from rankdev.formats.streams import PathLike

MAGIC = b"SQLite format 3\0"
SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
  id INTEGER PRIMARY KEY,
  request TEXT NOT NULL,         -- made by the page: an answer that is sent twice is kept once
  part INTEGER NOT NULL,         -- 0, or the number of the pair where a whole list was put in order
  query TEXT NOT NULL,
  first TEXT NOT NULL,           -- shown on the left
  second TEXT NOT NULL,
  outcome TEXT NOT NULL CHECK (outcome IN ('first', 'second', 'tie', 'skip')),
  worker TEXT NOT NULL,
  weight REAL NOT NULL,          -- 1, or 2/n for each pair of a list of n
  comment TEXT NOT NULL,
  at TEXT NOT NULL,              -- UTC
  undone INTEGER NOT NULL DEFAULT 0,
  UNIQUE (request, part)
) STRICT
"""
COLUMNS = ("query", "first", "second", "outcome", "worker", "weight", "comment", "at")


def is_database(path: PathLike) -> bool:
    """Tell a SQLite file from others by its first bytes; a pipe is left alone, since it can be read only once."""
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


def read_answers(path: PathLike) -> pl.DataFrame:
    """Read the answers that were not taken back, those who could not say included, in the order given."""
    try:
        connection = sqlite3.connect(f"{Path(str(path)).absolute().as_uri()}?mode=ro", uri=True)
    except sqlite3.Error as error:
        raise FileFormatError(path, f"the database cannot be opened ({error})") from None
    try:
        rows = connection.execute(f"SELECT {', '.join(COLUMNS)} FROM answers WHERE NOT undone ORDER BY id").fetchall()
    except sqlite3.Error as error:
        raise FileFormatError(path, f"this is not a database of judgments ({error}); rankdev judge makes one") from None
    finally:
        connection.close()
    types = {name: pl.Float64 if name == "weight" else pl.String for name in COLUMNS}
    return pl.DataFrame(rows, schema=types, orient="row")


def as_judgments(answers: pl.DataFrame) -> pl.DataFrame:
    """Give answers as judgments: query, winner, loser, tie, worker, first, and weight where lists were ordered."""
    said = answers.filter(pl.col("outcome") != "skip")
    lost = pl.col("outcome") == "second"
    table = said.select(
        "query",
        winner=pl.when(lost).then("second").otherwise("first"),
        loser=pl.when(lost).then("first").otherwise("second"),
        tie=pl.col("outcome") == "tie",
        worker="worker",
        first="first",
        weight="weight",
    )
    return table.drop("weight") if (table["weight"] == 1).all() else table
