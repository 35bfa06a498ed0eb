"""CSV and JSONL read fast give what Python's own csv and json modules give."""

import csv
import io
import json
import math
from pathlib import Path
from random import Random
from typing import Any

from rankdev import RankdevError
from rankdev.data.tables import number_column, text_column
from rankdev.data.text import Source
from tests.fuzz.files import IDS, NO_NUMBERS, NUMBERS, seeds

Row = tuple[str, str, float]
ODD_IDS = [True, False, 1.5, 1e2, 7.0, ["d1"], {"a": 1}, ""]


def read(path: Path, kind: str) -> list[Row] | None:
    """The rows of a run, or None where the file is refused."""
    try:
        with Source(path) as source:
            source.kind = kind
            frame = source.named()
        query, item = (text_column(frame, name, "a run") for name in ("query", "item"))
        return list(zip(query, item, number_column(frame, "score", "a run"), strict=True))
    except RankdevError:
        return None


def as_number(value: Any) -> float:
    try:
        if isinstance(value, str) and ("_" in value or not value.isascii() or value != value.strip()):
            return math.nan
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def csv_file(chance: Random) -> str:
    def field(text: str) -> str:
        if chance.random() < quotes or any(mark in text for mark in ',"\n'):
            text = '"' + text.replace('"', '""') + '"'
        return chance.choice(["", "", "", " "]) + text + chance.choice(["", "", "", " "]) * (not text.endswith('"'))

    quotes = chance.choice([0, 0, 0.1, 1])
    names = chance.choice([IDS, ["d1", "d2", "é", "7"], [*IDS, "two\nlines", "a\rb", "tab\tin"]])
    numbers = NUMBERS + chance.choice([[], [], [], NO_NUMBERS])
    rows = [["query", "item", "score"]]
    rows += [[chance.choice(names), chance.choice(names), chance.choice(numbers)] for _ in range(chance.randint(1, 8))]
    if chance.random() < 0.05:
        chance.choice(rows).append("more")
    if chance.random() < 0.05:
        chance.choice(rows).pop()
    ends = ["\n"] * chance.choice([1, 20]) + ["\r\n", "\n\n"]
    return "".join(",".join(map(field, row)) + chance.choice(ends) for row in rows)


def plain_csv(content: str) -> list[Row] | None:
    try:
        reader = csv.reader(io.StringIO(content, newline=""), strict=True, skipinitialspace=True)
        rows = [[field.strip(" \t") for field in row] for row in reader]
    except csv.Error:
        return None
    rows = [row for row in rows if row not in ([], [""])]
    if not rows[1:] or any(len(row) != 3 for row in rows) or rows[0] != ["query", "item", "score"]:
        return None
    found = [(query, item, as_number(score)) for query, item, score in rows[1:]]
    return found if all(query and item and math.isfinite(score) for query, item, score in found) else None


def test_csv(tmp_path: Path) -> None:
    path = tmp_path / "file.csv"
    for seed, chance in enumerate(seeds()):
        content = csv_file(chance)
        path.write_bytes(content.encode())
        assert read(path, "csv") == plain_csv(content), f"seed {seed}: {content!r}"


def jsonl_file(chance: Random) -> str:
    names: list[Any] = chance.choice(
        [IDS, [*IDS, 7, 0, -3, 2**70], [3, 4, 5], [*IDS, "\\", 'a"b', "\n", "\U0001f600", ":"]]
    )
    if chance.random() < 0.2:
        names = [*names, *ODD_IDS]
    scores: list[Any] = [1, 0.5, -3, 1e300, 1e-300, 0.1 + 0.2, 12345678901234567890, 2.0**60 + 1, -0.0, 1e22, 5e-324]
    scores += [chance.random() * 10.0 ** chance.randint(-20, 20) for _ in range(3)]
    scores += chance.choice([[], [], ["2.5", None, True, math.nan, math.inf, [1], "x"]])
    lines = []
    for _ in range(chance.randint(1, 6)):
        pairs = [("query", chance.choice(names)), ("item", chance.choice(names)), ("score", chance.choice(scores))]
        if chance.random() < 0.05:
            chance.shuffle(pairs)
        if chance.random() < 0.05:
            pairs.append(chance.choice(pairs))
        if chance.random() < 0.03:
            pairs.pop()
        comma, colon = chance.choice([(", ", ": "), (",", ":"), (" , ", " : ")])
        ascii_only = chance.random() < 0.5
        members = [json.dumps(key) + colon + json.dumps(value, ensure_ascii=ascii_only) for key, value in pairs]
        lines.append("{" + comma.join(members) + "}" + chance.choice(["\n", "\n", "\n", "\n", "\r\n", "\n\n", " \n"]))
    return "".join(lines)


def plain_jsonl(content: str) -> list[Row] | None:
    rows: list[Row] = []
    for line in filter(str.strip, content.split("\n")):
        pairs = json.loads(line, object_pairs_hook=list)
        record = dict(pairs)
        if len(record) < len(pairs) or len(record) < 3:
            return None
        ids = [record["query"], record["item"]]
        if not all(isinstance(name, str | int) and not isinstance(name, bool) and name != "" for name in ids):
            return None
        if isinstance(record["score"], list):
            return None
        rows.append((str(ids[0]), str(ids[1]), as_number(record["score"])))
    return rows if all(math.isfinite(score) for *_, score in rows) else None


def test_jsonl(tmp_path: Path) -> None:
    path = tmp_path / "file.jsonl"
    for seed, chance in enumerate(seeds()):
        content = jsonl_file(chance)
        path.write_bytes(content.encode())
        assert read(path, "jsonl") == plain_jsonl(content), f"seed {seed}: {content!r}"
