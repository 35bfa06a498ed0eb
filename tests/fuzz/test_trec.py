"""TREC files read quickly or with care, give what a plain parser gives, to an error's line."""

import math
import re
from pathlib import Path
from random import Random

import pytest

from rankdev.data import trec
from rankdev.data.options import ReadOptions
from rankdev.data.sources import Source
from rankdev.data.trec import QRELS, RUN, Layout, read_trec
from rankdev.errors import DataError
from tests.fuzz.files import IDS, NO_NUMBERS, NUMBERS, seeds

Row = tuple[int, str, str, float]  # the line, the query, the item, the number
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)


def plain(content: bytes, layout: Layout, number: str) -> list[Row] | int:
    """Read as plainly as can be: the rows, or the first wrong line."""
    rows, tags = [], []
    for at, line in enumerate(content.split(b"\n"), start=1):
        try:
            fields = [field for field in re.split("[ \t\r]+", line.decode()) if field]
        except UnicodeDecodeError:
            return at
        if not fields:
            continue
        value = fields[min(len(fields) - 1, layout.columns.index(number))]
        whole = layout.least <= len(fields) <= len(layout.columns)
        if not whole or not NUMBER.fullmatch(value) or not math.isfinite(float(value)):
            return at
        rows.append((at, fields[0], fields[2], float(value)))
        tags.append(fields[5] if len(fields) > 5 else "")
    if layout is RUN and len(tags) > 1 and not content.endswith(b"\n"):
        *_, before, last = tags
        if before != last and before.startswith(last):  # cut inside its score or its tag
            return rows[-1][0]
    return rows


def made(chance: Random, layout: Layout) -> bytes:
    gaps = [" "] * chance.choice([1, 5, 60]) + ["  ", "\t", " \t", "   ", "\r", " \r "]
    ends = ["\n"] * chance.choice([1, 30]) + ["\r\n", " \n", "\n\n", "\n \n", "\r\r\n", "\t\n"]
    begins = [""] * chance.choice([1, 30]) + [" ", "\t", "  ", "\r"]
    numbers = NUMBERS + chance.choice([[], [], NO_NUMBERS])
    if chance.random() < 0.5:  # as most programs write them
        places = chance.randint(0, 9)
        numbers = [f"{chance.uniform(-1, 1) * 10 ** chance.randint(0, 9):.{places}f}" for _ in range(8)]
    lines = []
    for _ in range(chance.randint(1, 8)):
        fields = [chance.choice(IDS), chance.choice(["0", "Q0"]), chance.choice(IDS)]
        if layout is RUN:
            fields += [chance.choice(["1", "2", "x", "10"]), chance.choice(numbers)]
            fields += chance.choice([[], ["t"], ["t"], ["7"], ["7.5"]])  # a numeric tag could pass for a score
        else:
            fields += [chance.choice(numbers)]
        if chance.random() < 0.02:
            fields = chance.choice([fields[:-1], [*fields, "3"]])
        *most, last = fields
        lines.append(chance.choice(begins) + "".join(field + chance.choice(gaps) for field in most) + last)
        lines.append(chance.choice(ends))
    content = "".join(lines).encode()
    if chance.random() < 0.02:
        content = content.replace(b"d", b"\xff", 1)
    return content.rstrip(b"\n") if chance.random() < 0.3 else content


def rows_in(path: Path, layout: Layout, number: str) -> list[Row]:
    read = ReadOptions(order=None if layout is QRELS else number)  # type: ignore[arg-type]
    with Source(path, read) as source:
        rows, _, line_of = read_trec(source.content, layout, read, several=True)
    queries = [rows.queries[code] for code in rows.codes]
    lines = [line_of(row) for row in range(len(queries))]
    return list(zip(lines, queries, rows.item, rows.value.tolist(), strict=True))  # type: ignore[arg-type]


def test_a_plain_parser_reads_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    for seed, chance in enumerate(seeds()):
        layout, number = chance.choice([(RUN, "score"), (RUN, "rank"), (QRELS, "grade")])
        content = made(chance, layout)
        path.write_bytes(content)
        monkeypatch.setattr(trec, "HEAD_BYTES", chance.choice([0, 1 << 16]))
        monkeypatch.setattr(trec, "SMALL", chance.choice([0, 1 << 19]))
        monkeypatch.setattr(trec, "_BLOCK_BYTES", chance.choice([16, 40, 1 << 18]))
        try:
            read: list[Row] | int | None = rows_in(path, layout, number)
        except DataError as error:
            read = error.fields.get("line")
        assert read == plain(content, layout, number), f"seed {seed}: {content!r}"
