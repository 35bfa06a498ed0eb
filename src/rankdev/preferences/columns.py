"""Read the formats that judgments come in as one: query, winner, loser, tie, worker, weight, …"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import isfinite
from numbers import Real
from typing import Any

import numpy as np
import polars as pl

from rankdev._common.arrays import Bools, Codes
from rankdev._common.checks import check_choice, is_list
from rankdev.data.ids import as_id, text_series
from rankdev.data.tables import check_mapping, mixed_series, number_column, plain_name, text_column, truth_column
from rankdev.errors import DataError, Note, UsageError, errors_at, shown
from rankdev.preferences.outcomes import (
    NAMES,
    ROLES,
    SAYS,
    SAYS_WHO,
    SIDES,
    WON_LOST,
    Values,
    check_each,
    read_outcomes,
)

Columns = Mapping[str, str | None]
ONE_QUERY = "all"
MOST_WEIGHT = 10**9  # beyond, sums of weights lose the other judgments
MOST_ROWS = 10**8  # judgments that counts may add up to


def columns_of(
    frame: pl.DataFrame, columns: Columns | None = None, values: Values = None
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Find query, winner, loser, tie, worker and the rest in a table, in any format.

    Returns the table, and notes on what was assumed or left out.
    """
    given = {} if columns is None else check_mapping(columns, "columns", "{part: name of a column}")
    roles = _roles(frame, given)
    answered = np.flatnonzero(_answered(frame, roles))
    try:
        table = _read(frame[answered], roles, values).with_columns(row=pl.Series(answered, dtype=pl.Int64))
    except DataError as error:
        if "row" in error.fields:
            error.fields["row"] = int(answered[error.fields["row"]])
        raise
    decided = table.drop_nulls("winner")
    counts = {
        "unanswered": len(frame) - len(answered),
        "skipped-judgments": len(table) - len(decided),
        "weightless": sum(int((decided[name] == 0).sum()) for name in ("weight", "count") if name in table),
    }
    if "count" in table:
        decided = decided[np.repeat(np.arange(len(decided)), decided["count"].to_numpy())].drop("count")
    return decided, tuple(_remarks(frame, roles, counts))


def _answered(frame: pl.DataFrame, roles: dict[str, str]) -> Bools:
    """Mark the rows that have an answer; labelling tools also write those of questions that nobody answered."""
    answers = ("winner", "loser") if "loser" in roles else ("winner", "probability")
    found = np.zeros(len(frame), bool)
    for name in (roles[part] for part in answers if part in roles):
        values = frame[name]
        empty = values.is_null() | (values.is_nan() if values.dtype.is_float() else False)
        if values.dtype == pl.String:
            empty |= (values.str.strip_chars() == "").fill_null(True)
        found |= ~empty.to_numpy()
    return found | truth_column(frame, roles["tie"], "preferences").to_numpy() if "tie" in roles else found


def _read(frame: pl.DataFrame, roles: dict[str, str], values: Values) -> pl.DataFrame:
    """Read the columns of rows that have an answer; a count repeats its row."""
    found = {"query": pl.repeat(ONE_QUERY, len(frame), dtype=pl.String, eager=True)}
    found |= {part: text_column(frame, roles[part], "preferences") for part in ("query", "worker") if part in roles}
    found |= _who_won(frame, roles, values)
    numbers = {part: number_column(frame, roles[part], "preferences") for part in ("weight", "count") if part in roles}
    if "weight" in numbers:
        weight, expected = numbers["weight"], f"a number from 0 to {MOST_WEIGHT:,}"
        check_each(weight.is_between(0, MOST_WEIGHT), weight, "weight", expected)
        found["weight"] = weight * found["weight"] if "weight" in found else weight
    if "count" in numbers:
        count, expected = numbers["count"], f"whole numbers, at most {MOST_ROWS:,} in all"
        good = (count >= 0) & (count == count.floor()) & (count.sum() <= MOST_ROWS)
        check_each(good, count, "count", expected)
        found["count"] = count.cast(pl.Int64)
    return pl.DataFrame(found)


def frame_of_rows(rows: Iterable[Sequence[str]]) -> pl.DataFrame:
    """Make a table of tuples (query, winner, loser[, worker])."""
    listed_rows: list[tuple[Any, ...]] = []
    for number, row in enumerate(rows):
        parts = () if isinstance(row, str | bytes | Mapping) or not isinstance(row, Iterable) else tuple(row)
        if len(parts) not in ({len(listed_rows[0])} if listed_rows else {3, 4}):
            raise DataError("not-a-row", row=number, value=row)
        listed_rows.append(parts)
    width = len(listed_rows[0]) if listed_rows else 3
    if width == 4 and all(row[3] in row[1:3] for row in listed_rows):
        raise DataError("fourth-is-winner")
    texts = []
    for number, row in enumerate(listed_rows):
        with errors_at(row=number):
            texts.append([as_id(part) for part in row])
    names = ["query", "winner", "loser", "worker"][:width]
    columns = (text_series(name, [row[k] for row in texts]) for k, name in enumerate(names))
    return pl.DataFrame(columns).with_columns(tie=pl.lit(False))


def frame_of_records(records: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Make a table of records (dicts)."""
    for number, record in enumerate(records):
        if not isinstance(record, Mapping):
            raise DataError("not-a-record", row=number, value=record)
    keys = dict.fromkeys(key for record in records for key in record)
    return pl.DataFrame({str(key): _series(str(key), [record.get(key) for record in records]) for key in keys})


def frame_of_grades(
    grades: Mapping[Any, Any], weight: float, *, workers: bool
) -> tuple[pl.DataFrame, dict[str, list[str]]]:
    """Turn grades into judgments, each item above those of the next lower grade; also list the items of each query."""
    rows: list[tuple[str, str, str, float]] = []
    items: dict[str, list[str]] = {}
    for name, graded in grades.items():
        query, levels = as_id(name), dict[float, list[str]]()
        for item, grade in (getattr(graded, "grades", None) or graded).items():
            if isinstance(grade, bool) or not isinstance(grade, Real) or not isfinite(grade):
                where = {"query": query, "name": f"grade of {shown(item)}"}
                raise DataError("bad-value", **where, value=grade, expected="a finite number")
            levels.setdefault(float(grade), []).append(as_id(item))
        items[query] = [item for level in levels.values() for item in level]
        for better, worse in pairwise([levels[grade] for grade in sorted(levels, reverse=True)]):
            each = weight / max(len(better), len(worse))
            rows += [(query, winner, loser, each) for winner in better for loser in worse]
    names = {"query": pl.String, "winner": pl.String, "loser": pl.String, "weight": pl.Float64}
    frame = pl.DataFrame(rows, schema=names, orient="row").with_columns(tie=pl.lit(False))
    return frame.with_columns(worker=pl.lit("grades")) if workers else frame, items


def _series(key: str, values: list[Any]) -> pl.Series:
    kinds = {type(value).__name__ for value in values if value is not None}
    if len(kinds) > 1 and "str" in kinds and kinds != {"str", "int"}:
        raise DataError("mixed-types", name=key, types=sorted(kinds))
    return mixed_series(key, values)


def _roles(frame: pl.DataFrame, columns: Columns) -> dict[str, str]:
    """Assign columns to roles: as the user chose, or by name."""
    for role, name in columns.items():
        check_choice("part of columns", role, ROLES)
        if name is not None and name not in frame.columns:
            raise UsageError("no-column", name=name, known=frame.columns, role=role)
    normalised: dict[str, str] = {}
    for name in frame.columns:
        normalised.setdefault(plain_name(name), name)
    given: dict[str, str | None] = {}
    if {"modela", "modelb", "winner"} <= normalised.keys():  # battles of models: all prompts together rank them
        given = {"query": None, "item_a": normalised["modela"], "item_b": normalised["modelb"]}
        given["winner"] = normalised["winner"]
    given |= columns
    roles = {role: name for role, name in given.items() if name is not None}
    taken = set(roles.values())
    roles |= _items_and_outcome(frame, {key: name for key, name in normalised.items() if name not in taken}, roles)
    for role, names in NAMES.items():
        if role not in given and role not in roles and not (role == "first" and "item_a" in roles):
            free = [normalised[name] for name in names if name in normalised and normalised[name] not in roles.values()]
            if len(free) > 1 and role != "query":
                raise DataError("ambiguous-columns", what=role, names=free, part=role)
            if free:
                roles[role] = free[0]
    left = [name for name in frame.columns if name not in roles.values()]
    if "query" not in roles and "query" not in given and left:
        raise DataError("no-query-column", known=frame.columns)
    return roles


def _items_and_outcome(frame: pl.DataFrame, normalised: dict[str, str], roles: dict[str, str]) -> dict[str, str]:
    """Find winner and loser, or two sides and an outcome, where the user has not named them."""
    if "item_a" not in roles and "item_b" not in roles:
        if "winner" in roles and "loser" in roles:
            return {}
        if not roles.keys() & {"winner", "loser", "probability"} and (named := _pair(WON_LOST, normalised, "winner")):
            return {"winner": named[0], "loser": named[1]}
    found: dict[str, str] = {}
    if not ("item_a" in roles and "item_b" in roles):
        sides = _pair(SIDES, normalised, "item_a")
        if sides is None:
            raise DataError("unknown-columns", known=frame.columns)
        found = {"item_a": sides[0], "item_b": sides[1]}
    if not roles.keys() & {"winner", "probability"} and not any(name in normalised for name in NAMES["probability"]):
        found["winner"] = _outcome(frame, normalised)
    return found


def _pair(pairs: Iterable[tuple[str, str]], normalised: dict[str, str], part: str) -> tuple[str, str] | None:
    """Return the only pair of columns that is there; refuse two."""
    found = [(normalised[one], normalised[two]) for one, two in pairs if one in normalised and two in normalised]
    if len(found) > 1:
        raise DataError("ambiguous-columns", what="items", names=[*map(" and ".join, found)], part=part)
    return found[0] if found else None


def _outcome(frame: pl.DataFrame, normalised: dict[str, str]) -> str:
    for names in (SAYS_WHO, SAYS):
        found = [normalised[name] for name in names if name in normalised]
        if len(found) == 1:
            return found[0]
        if found:
            raise DataError("ambiguous-columns", what="outcome", names=found, part="winner")
    raise DataError("unknown-columns", known=frame.columns)


def _who_won(frame: pl.DataFrame, roles: dict[str, str], values: Values) -> dict[str, pl.Series]:
    if "item_a" in roles:
        a, b = (text_column(frame, roles[side], "preferences") for side in ("item_a", "item_b"))
        if "winner" in roles:
            return read_outcomes(a, b, frame[roles["winner"]], values).to_dict()
        return read_outcomes(a, b, frame[roles["probability"]], "probability").to_dict()
    if not (values is None or (isinstance(values, str) and values == "items")):
        raise UsageError("not-needed", name="values", use="a column of outcomes")
    found = {part: text_column(frame, roles[part], "preferences") for part in ("winner", "loser")}
    found["tie"] = (
        truth_column(frame, roles["tie"], "preferences") if "tie" in roles else pl.repeat(False, len(frame), eager=True)
    )
    if "share" in roles:
        found["share"] = number_column(frame, roles["share"], "preferences")
    if "first" in roles:
        found["winner_first"] = _winner_first(text_column(frame, roles["first"], "preferences"), found)
    return found


def _winner_first(first: pl.Series, found: dict[str, pl.Series]) -> pl.Series:
    won = first == found["winner"]
    sides = pl.DataFrame({name: found[name] for name in ("winner", "loser")})
    check_each(won | (first == found["loser"]), first, "first", lambda row: " or ".join(map(shown, sides.row(row))))
    return won


def _remarks(frame: pl.DataFrame, roles: dict[str, str], counts: dict[str, int]) -> Iterable[Note]:
    left = [name for name in frame.columns if name not in roles.values()]
    if "query" not in roles:
        yield Note("one-query", query=ONE_QUERY)
    if left:
        yield Note("unused-columns", names=left)
    yield from (Note(kind, count=count) for kind, count in counts.items() if count)


def _known(items: Mapping[Any, Any]) -> list[tuple[str, str]]:
    for query, names in items.items():
        if not is_list(names):
            raise DataError("bad-value", query=query, name="items", value=names, expected="a list")
    return [(as_id(query), as_id(item)) for query, names in items.items() for item in names]


def encode(frame: pl.DataFrame, items: Mapping[Any, Iterable[Any]] | None) -> dict[str, Any]:
    """Number queries, items and workers; reject rows that are not comparisons, and drop those of weight 0."""
    known = _known({} if items is None else check_mapping(items, "items", "{query: [item, …]}"))
    if not len(frame) and not known:
        raise DataError("none-given", what="comparisons")
    place = frame["row"] if "row" in frame.columns else range(len(frame))  # in the table that was given
    same = (frame["winner"] == frame["loser"]).arg_max() if len(frame) else None
    if same is not None and frame["winner"][same] == frame["loser"][same]:
        raise DataError("self-compared", row=place[same], item=frame["winner"][same])
    queries, query = _codes([*(q for q, _ in known)], frame["query"])
    names, pair = _codes([*(i for _, i in known)], frame["winner"], frame["loser"])
    size, rows, given = len(names), len(frame), len(known)
    keys = np.concatenate([query, query[given:]]).astype(np.int64) * size + pair
    distinct, number = np.unique(keys, return_inverse=True)
    number = number.astype(np.int32)
    if items is not None and len(distinct) > len(np.unique(keys[:given])):
        row = int(np.argmax(~np.isin(keys[given:], keys[:given])))
        name = names[int(keys[given + row] % size)]
        raise DataError("unknown-item", row=place[row % rows], item=name)
    workers, worker = _codes([], frame["worker"]) if "worker" in frame.columns else ((), None)
    counts = frame["weight"].to_numpy() > 0 if "weight" in frame.columns else np.ones(rows, bool)
    optional: dict[str, Any] = {
        name: frame[name].to_numpy()[counts] for name in ("weight", "share", "winner_first") if name in frame.columns
    }
    return {
        "queries": queries,
        "items": tuple(names[i] for i in (distinct % size).tolist()),
        "item_query": (distinct // size).astype(np.int32),
        "winner": number[given : given + rows][counts],
        "loser": number[given + rows :][counts],
        "tie": frame["tie"].to_numpy()[counts],
        "workers": workers,
        "worker": None if worker is None else worker[counts],
        **optional,
    }


def _codes(before: list[str], *columns: pl.Series) -> tuple[tuple[str, ...], Codes]:
    values = pl.concat([pl.Series(before, dtype=pl.String), *columns]).rename("name")
    known = values.unique(maintain_order=True)
    lookup = pl.DataFrame({"name": known, "code": np.arange(len(known), dtype=np.int32)})
    joined = values.to_frame().join(lookup, on="name", how="left", maintain_order="left")
    return tuple(known.to_list()), joined["code"].to_numpy()
