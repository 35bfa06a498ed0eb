"""The shapes in which people keep judgments, brought to one: query, winner, loser, tie, worker, weight."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rankdev.errors import DataError, shown
from rankdev.tabular import number_column

if TYPE_CHECKING:
    import polars as pl

QUERY = ("query", "topic", "qid", "query_id")
WORKER = ("worker", "annotator", "assessor", "judge")
ITEMS = (("a", "b"), ("a1", "a2"), ("arg1", "arg2"), ("item1", "item2"), ("left", "right"))
OUTCOME = ("winner", "preferred", "label", "grade")  # as_frame calls a label a grade
FIRST, SECOND = ("a", "a1", "1", "left", "first"), ("b", "a2", "2", "right", "second")
TIE = ("tie", "equal", "tied", "both", "=", "same")
YES_NO = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False, "": False}
EXPECTED = "columns query, winner, loser; or query, a, b, winner; or query, a1, a2, label"


def columns_of(frame: pl.DataFrame) -> pl.DataFrame:
    """Find query, winner, loser, tie, worker and weight in a table, whichever way it says them."""
    import polars as pl

    named = {name.lower(): name for name in frame.columns}
    query = next((named[name] for name in QUERY if name in named), None)
    if query is None:
        raise DataError(f"no query column; expected {EXPECTED}; found {_list(frame.columns)}")
    columns = {"query": _text(frame, query)}
    if "winner" in named and "loser" in named:
        columns |= {
            "winner": _text(frame, named["winner"]),
            "loser": _text(frame, named["loser"]),
            "tie": _flags(frame, named["tie"]) if "tie" in named else pl.repeat(False, len(frame), eager=True),
        }
    else:
        columns |= _outcomes(frame, named)
    for name in WORKER:
        if name in named:
            columns["worker"] = _text(frame, named[name])
            break
    if "weight" in named:
        columns["weight"] = number_column(frame, named["weight"], "preferences")
    return pl.DataFrame(columns)


def frame_of_rows(rows: Iterable[Sequence[str]]) -> pl.DataFrame:
    """Make the table of tuples (query, winner, loser[, worker])."""
    import polars as pl

    listed = []
    for number, row in enumerate(rows):
        if isinstance(row, str | bytes) or not isinstance(row, Iterable):
            raise DataError(f"expected (query, winner, loser) or (…, worker); got {shown(row)}", number)
        listed.append(tuple(row))
    width = len(listed[0]) if listed else 3
    for number, row in enumerate(listed):
        if len(row) != width or width not in (3, 4):
            raise DataError(f"expected (query, winner, loser) or (…, worker), all alike; got {row!r}", number)
    names = ["query", "winner", "loser", "worker"][:width]
    values = {name: [str(row[k]) for row in listed] for k, name in enumerate(names)}
    return pl.DataFrame(values, schema=dict.fromkeys(names, pl.String)).with_columns(tie=pl.lit(False))


def encode(frame: pl.DataFrame, items: Mapping[str, Iterable[str]] | None) -> dict[str, Any]:
    """Number queries, items and workers; refuse what cannot be a comparison."""
    known = [(str(query), str(item)) for query, names in (items or {}).items() for item in names]
    if not len(frame) and not known:
        raise DataError("no comparisons; at least one is needed")
    same = (frame["winner"] == frame["loser"]).arg_max() if len(frame) else None
    if same is not None and frame["winner"][same] == frame["loser"][same]:
        raise DataError(f"item {frame['winner'][same]!r} is compared with itself", same)
    queries, query = _codes([*(q for q, _ in known)], frame["query"])
    names, pair = _codes([*(i for _, i in known)], frame["winner"], frame["loser"])
    size, rows, given = len(names), len(frame), len(known)
    keys = np.concatenate([query, query[given:]]).astype(np.int64) * size + pair
    distinct, number = np.unique(keys, return_inverse=True)
    number = number.astype(np.int32)
    if items is not None and len(distinct) > len(np.unique(keys[:given])):
        row = int(np.argmax(~np.isin(keys[given:], keys[:given])))
        name = names[int(keys[given + row] % size)]
        raise DataError(f"item {name!r} is not among the items given for its query", row % rows)
    weight = frame["weight"].to_numpy() if "weight" in frame.columns else None
    workers, worker = _codes([], frame["worker"]) if "worker" in frame.columns else ((), None)
    return {
        "queries": queries,
        "items": tuple(names[i] for i in (distinct % size).tolist()),
        "item_query": (distinct // size).astype(np.int32),
        "winner": number[given : given + rows],
        "loser": number[given + rows :],
        "tie": frame["tie"].to_numpy(),
        "workers": workers,
        "worker": worker,
        "weight": weight,
    }


def _codes(before: list[str], *columns: pl.Series) -> tuple[tuple[str, ...], npt.NDArray[np.int32]]:
    import polars as pl

    values = pl.concat([pl.Series(before, dtype=pl.String), *columns]).rename("name")
    known = values.unique(maintain_order=True)
    lookup = pl.DataFrame({"name": known, "code": np.arange(len(known), dtype=np.int32)})
    joined = values.to_frame().join(lookup, on="name", how="left", maintain_order="left")
    return tuple(known.to_list()), joined["code"].to_numpy()


def _outcomes(frame: pl.DataFrame, named: dict[str, str]) -> dict[str, pl.Series]:
    import polars as pl

    sides = next((pair for pair in ITEMS if pair[0] in named and pair[1] in named), None)
    outcome = next((named[name] for name in OUTCOME if name in named), None)
    if sides is None or outcome is None:
        raise DataError(f"expected {EXPECTED}; found {_list(frame.columns)}")
    table = pl.DataFrame(
        {"a": _text(frame, named[sides[0]]), "b": _text(frame, named[sides[1]]), "o": _text(frame, outcome)}
    )
    word = pl.col("o").str.to_lowercase().str.strip_chars()
    said = (
        pl.when(pl.col("o") == pl.col("a"))
        .then(1)
        .when(pl.col("o") == pl.col("b"))
        .then(2)
        .when(word.is_in([*FIRST, sides[0]]))
        .then(1)
        .when(word.is_in([*SECOND, sides[1]]))
        .then(2)
        .when(word.is_in(TIE))
        .then(0)
    )
    table = table.with_columns(said=said)
    said_what = set(table["o"].unique())
    if "0" in said_what and said_what <= {"0", "1"} and table["said"].null_count():
        raise DataError(
            f"{outcome} says only 0 and 1, which may mean anything; say 1 or a for the first item, 2 or b for the"
            f" second, tie for neither ({_list([*FIRST, *SECOND, *TIE])} are understood), or name the item"
        )
    if table["said"].null_count():
        row = int(table["said"].is_null().arg_max() or 0)
        a, b, given = table.row(row)[:3]
        raise DataError(f"the winner {given!r} is neither {a!r} nor {b!r} nor a word for a tie", row)
    swap = pl.col("said") == 2
    return table.select(
        winner=pl.when(swap).then("b").otherwise("a"),
        loser=pl.when(swap).then("a").otherwise("b"),
        tie=pl.col("said") == 0,
    ).to_dict()


def _text(frame: pl.DataFrame, name: str) -> pl.Series:
    import polars as pl

    column = frame[name].cast(pl.String)
    empty = column.is_null() | (column == "").fill_null(True)
    if empty.any():
        raise DataError(f"no {name}; every row needs one", int(empty.arg_max() or 0))
    return column


def _flags(frame: pl.DataFrame, name: str) -> pl.Series:
    import polars as pl

    text = frame[name].cast(pl.String).fill_null("").str.to_lowercase().str.strip_chars()
    flags = text.replace_strict(YES_NO, default=None, return_dtype=pl.Boolean)
    if flags.null_count():
        row = int(flags.is_null().arg_max() or 0)
        raise DataError(f"{frame[name][row]!r} as tie; expected true or false", row)
    return flags


def _list(names: list[str]) -> str:
    return ", ".join(names) or "no columns"
