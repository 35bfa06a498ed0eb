"""Runs in CSV, TSV and JSONL read by the compiled reader give what the general one gives, whatever the file."""

import gzip
import json
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import rankdev as rd
from tests.fuzz.files import FILES, NO_NUMBERS, NUMBERS, SLOW, seeds
from tests.native.compiled import check

IDS = ["d1", "d2", "d3", "é", "7", "0", "12", "a b", "#c", "'", "null", "1e5", "x^2", "\u00a0a"]
ODD_IDS = ["a,b", '"q"', "a\tb", " d1", "d1 ", "", "\x0b", "-0", "007", "d\\n", "\\u0064", "1.5", "true", "null"]
GRADES = {
    "q1": {"d1": 3, "d2": 2, "é": 1, "7": 1, "a b": 0},
    "7": {"d1": 1, "x^2": 2, "12": 1, "null": 0, "0": 1},
    "é": {item: 1 + at % 3 for at, item in enumerate(IDS)},
}
PLAIN_NUMBERS = ["1", "9", "0.5", "-3", "1e3", "2.5E-2", "-0", "0.1234567890123456789", "1e22", "12345678.123456789"]


def rows(chance: Random, rare: float) -> list[list[Any]]:
    """Query, item and score as they are written, with ties and, now and then, whatever else files may hold."""
    found: list[list[Any]] = []
    for query in chance.sample([*GRADES, "q3", "11"], chance.randint(1, 5)):
        items = chance.sample(IDS, chance.randint(1, len(IDS))) + [str(n) for n in range(20, chance.choice([20, 60]))]
        if chance.random() < 3 * rare:
            items.append(chance.choice(items))
        for item in items:
            score = chance.choice(PLAIN_NUMBERS if chance.random() >= 3 * rare else [*NUMBERS, *NO_NUMBERS, "", "null"])
            found.append([query, item if chance.random() >= rare else chance.choice(ODD_IDS), score])
    if chance.random() < 5 * rare:
        chance.shuffle(found)
    return found


def delimited(chance: Random, separator: str) -> bytes:
    rare, end = chance.choice([0.0, 0.0, 0.003, 0.03]), chance.choice(["\n", "\n", "\r\n"])
    names = ["query", "item", "score"] if chance.random() < 0.8 else ["query_id", "doc_id", "score"]
    order = chance.sample(range(3), 3)
    lines = [separator.join(names[i] for i in order)]
    for row in rows(chance, rare):
        fields = [row[i] for i in order]
        if chance.random() < rare:
            fields = chance.choice(
                [fields[:-1], [*fields, "x"], [*fields, ""], ["", *fields], [f'"{fields[0]}"', *fields[1:]]]
            )
        lines.append(separator.join(fields))
        if chance.random() < rare:
            lines.append(chance.choice(["", " ", "\t", ",,"]))
    content = end.join(lines) + chance.choice([end, end, "", "\n", "\n\n"])
    return chance.choice([b"", b"", b"", b"\xef\xbb\xbf"]) + content.encode()


def records(chance: Random) -> bytes:
    rare = chance.choice([0.0, 0.0, 0.003, 0.03])
    colon, comma = chance.choice([(": ", ", "), (":", ","), (" : ", " , ")])
    order, quoted = chance.sample(range(3), 3), chance.random() < 0.7
    numbers: dict[str, str] = {}

    def value(i: int, text: str) -> str:
        if i == 2:
            return text if chance.random() >= rare else json.dumps(text)
        bare = not quoted or chance.random() < rare
        return text if bare else json.dumps(text, ensure_ascii=chance.random() < rare)

    lines = []
    for row in rows(chance, rare):
        if not quoted and chance.random() >= rare:
            row[:2] = (numbers.setdefault(text, str(len(numbers))) for text in row[:2])
        members = [f'"{("query", "item", "score")[i]}"{colon}{value(i, row[i])}' for i in order]
        if chance.random() < rare:
            members = chance.choice([members[:-1], [*members, members[0]], [*members, '"x": 1'], members[::-1]])
        lines.append("{" + comma.join(members) + "}")
        if chance.random() < rare:
            lines[-1] += chance.choice(["\n", " ", "\r"])
    return ("\n".join(lines) + chance.choice(["\n", "", "\r\n"])).encode()


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl"])
def test_both_readers_agree(tmp_path: Path, kind: str) -> None:
    numbered = {str(n): {str(m): (n + m) % 3 for m in range(20)} for n in range(9)}
    references = rd.References.from_grades(GRADES | numbered)
    used = 0
    for chance in seeds(FILES // 2):
        content = records(chance) if kind == "jsonl" else delimited(chance, {"csv": ",", "tsv": "\t"}[kind])
        path = tmp_path / f"run.{kind}{chance.choice(['', '', '.gz'])}"
        path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
        used += check(
            references,
            path,
            chance.choice([20, 200, 1 << 20]),
            measures=chance.choice([["RDQ@2", "nDCG@3"], ["AP", "NumRet"]]),
            **chance.choice([{}] * 8 + [{"order": "rank"}, {"ties": "given"}]),
        )
    assert used > FILES / 20  # else this compares the general reader with itself


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl"])
def test_what_rankdev_and_polars_write_is_plain(tmp_path: Path, ending: str) -> None:
    rng = np.random.default_rng(0)
    scores = {f"q{q}": {f"d{i}": float(rng.normal()) for i in range(30)} for q in rng.permutation(60)}
    path = tmp_path / f"run.{ending}"
    rd.write_run(rd.Run.from_scores(scores), path)
    references = rd.References.from_grades({f"q{q}": {f"d{i}": (q + i) % 4 for i in range(9)} for q in range(60)})
    for piece in (500, 1 << 20):
        assert check(references, path, piece, measures=["RDQ@5", "AP"])
    table = pl.DataFrame({"score": [2.5, 1e-30], "item": [7, 12], "query": [3, 3]})
    if ending == "jsonl":
        table.write_ndjson(path)
    else:
        table.write_csv(path, separator="," if ending == "csv" else "\t")
    assert check(rd.References.from_lists({"3": ["12"]}), path, 1 << 20, measures=["RR"])


def test_the_shortest_lines_find_room(tmp_path: Path) -> None:
    names = [chr(code) for code in range(ord("a"), ord("z"))]
    path = tmp_path / "run.csv"
    path.write_text("query,item,score\n" + "".join(f"{query},{item},1\n" for query in names for item in names))
    references = rd.References.from_lists(dict.fromkeys(names, names))
    for piece in (200, 1 << 20):
        assert check(references, path, piece, measures=["AP"])


@settings(max_examples=SLOW * 2)
@given(st.binary(max_size=120), st.sampled_from(["csv", "tsv", "jsonl"]), st.integers(1, 300))
@example(b",q,d1,1\n", "csv", 50)
@example(b"\tq\td1\t1\n", "tsv", 50)
@example(b'{"query":null,"item":"d1","score":1}\n', "jsonl", 50)
@example(b'{"query":"q","item":"d9","score":01}\n', "jsonl", 50)
@example(b'{"query":"q","item":"d9","score":1}{"query":"q","item":"d8","score":1}\n', "jsonl", 50)
@example(b"q,d9,1,\n", "csv", 50)
@example(b"q,d9,1" + b"0" * 400 + b"\n", "csv", 50)
def test_any_bytes_between_plain_lines(tmp_path_factory: Any, content: bytes, kind: str, piece: int) -> None:
    path = tmp_path_factory.mktemp("bytes") / f"run.{kind}"
    plain = {
        "csv": [b"query,item,score\n", b"q,d1,2\nq,d2,1\n"],
        "tsv": [b"query\titem\tscore\n", b"q\td1\t2\nq\td2\t1\n"],
        "jsonl": [b"", b'{"query":"q","item":"d1","score":2}\n{"query":"q","item":"d2","score":1}\n'],
    }[kind]
    references = rd.References.from_lists({"q": ["d1", "d2"]})
    for text in (plain[0] + content, plain[0] + content + plain[1], plain[0] + plain[1] + content, content + plain[1]):
        path.write_bytes(text)
        check(references, path, piece, measures=["RDQ@3"])
