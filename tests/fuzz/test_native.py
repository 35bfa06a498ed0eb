"""The compiled reader gives what the general one gives: values, counts, warnings and errors, whatever the file."""

import gzip
import warnings
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

import rankdev as rd
from rankdev.io.native_input import read_qrels_natively
from tests.fuzz.files import FILES, IDS, NO_NUMBERS, NUMBERS, SLOW, seeds
from tests.native.compiled import check, reading

GRADES = {
    "q1": {"d1": 3, "d2": 2, "é": 1, "7": 1, "d3": 0, "a,b": -1},
    "q2": {"d1": 1, "x^2": 2, "#c": 1, "null": 0},
    "é": {"d2": 1, "1e5": 1, '"q"': 3, "'": 0},
    "q": {"d1": 0, "d2": 0},
    "7": {item: 1 + at % 3 for at, item in enumerate(IDS)},
}
MEASURES = [["RDQ@2", "nDCG@3"], ["P@1"], ["AP", "Bpref", "NumRet"], ["Judged@5", "RR@10"]]
LONG = "d" * 20
SCORES = ["1", "2", "2", "2.5", "2.50000000001", "-0", "0", "-0.0", "1e300", "1e301", "-1e39", "1e-50", *NUMBERS]


def made(chance: Random) -> bytes:
    """Lines of some queries, with ties and, now and then, whatever else files may hold."""
    rare, loose = chance.choice([0.0, 0.0, 0.0, 0.003, 0.03]), chance.choice([0.0, 0.01, 0.1])
    tag = chance.choice([["t"], ["t"], [], ["a-longer-tag"]])
    tags = [tag] * 500 + [[], ["T"], ["t2"], ["a-longer-tab"]] if rare else [tag]
    ranked = chance.choice(["1", *["falling"] * 8, "rising"])
    ids = IDS if chance.random() < 0.2 else [name for name in IDS if name not in ("\x0b", "\u00a0a", "é")]
    alike = ["D1", "e\u0301", "É", "d1\u00a0", "nulL", "\u00a07"] if chance.random() < 0.1 else []

    def now_and_then(odd: list[str], plain: str, share: float) -> str:
        return chance.choice(odd) if chance.random() < share else plain

    blocks = []
    names = [*GRADES, "q3", "q4", "\ufeff5", LONG, *(["Q1", "e\u0301", "\u00a0q"] if alike else [])]
    for query in chance.sample(names, chance.randint(2, 7)):
        items = [*chance.sample(ids, chance.randint(1, len(ids))), *(f"n{n}" for n in range(chance.choice([0, 3, 40])))]
        items += chance.sample(alike, chance.randint(0, len(alike)))
        chance.shuffle(items)
        if chance.random() < 3 * rare:
            items.append(chance.choice(items))
        scores = chance.choice([SCORES, NUMBERS, [str(number / 8) for number in range(50)]])
        lines = []
        drawn = [chance.choice(scores) for _ in items]
        if ranked == "rising" or chance.random() < 0.5:
            drawn.sort(key=float, reverse=ranked != "rising")
        for at, (item, score) in enumerate(zip(items, drawn, strict=True), start=1):
            rank = now_and_then(["x", "-1", "7"], "1" if ranked == "1" else f"{at}", rare)
            fields = [query, "Q0", item, rank, now_and_then(NO_NUMBERS, score, rare), *chance.choice(tags)]
            if chance.random() < rare:
                fields = chance.choice([fields[:-1], [*fields, "3"], [*fields, "3", "4"], fields[:1]])
            gap = now_and_then(["  ", "\t", " \r"], " ", loose)
            end = now_and_then(["\r\n", " \n", "\n\n", "\n \t\n", "\t\n"], "\n", loose)
            lines.append(now_and_then([" ", "\t"], "", loose) + gap.join(fields) + end)
        blocks.append(lines)
    if chance.random() < 10 * rare:  # scattered
        blocks.append([line for lines in blocks for line in lines[: chance.randint(0, 2)]])
    if chance.random() < 5 * rare:
        blocks = [[line for lines in blocks for line in lines]]
        chance.shuffle(blocks[0])
    content = "".join(line for lines in blocks for line in lines).encode()
    if chance.random() < 10 * rare:
        at = chance.randrange(len(content))
        content = (
            content[:at]
            + chance.choice([b"\xff", b"\xed\xa0\x80", b"\xc0\x80", b"\0", b"\xf4\x90\x80\x80"])
            + content[at:]
        )
    return content.rstrip(b"\n") if chance.random() < 0.3 else content


def test_both_readers_agree(tmp_path: Path) -> None:
    references = {"zero": rd.References.from_grades(GRADES), "lists": rd.References.from_lists({"q1": ["d2", "d1"]})}
    used = 0
    for chance in seeds():
        content = made(chance)
        path = tmp_path / chance.choice(["file", "file.gz"])
        path.write_bytes(gzip.compress(content) if path.suffix else content)
        measures = chance.choice(MEASURES)
        kind = "zero" if measures != ["P@1"] else chance.choice(list(references))
        used += check(
            references[kind],
            path,
            chance.choice([20, 200, 1 << 20]),
            measures=measures,
            empty=chance.choice(["zero", "skip"]),
            **chance.choice(
                [{}] * 6 + [{"order": "score"}, {"ties": "trec_eval"}, {"order": "rank"}, {"ties": "given"}]
            ),
        )
    assert used > FILES / 5  # else this compares the general reader with itself


NUMBER = st.one_of(
    st.floats(allow_nan=False).map(repr),
    st.floats(width=32, allow_nan=False).map(repr),
    st.from_regex(r"[-+]?([0-9]{1,25}\.?[0-9]{0,25}|\.[0-9]{1,25})([eE][-+]?[0-9]{1,4})?", fullmatch=True),
    st.decimals(allow_nan=False, allow_infinity=False).map(str),
    st.text("0123456789.eE+-_infatyINFATY ", min_size=1, max_size=12),
)


@settings(max_examples=SLOW * 2)
@given(st.lists(NUMBER, min_size=2, max_size=12))
@example(["9007199254740993", "9007199254740992.5", "9007199254740991.4999999999999999"])
@example(
    ["0.1234567890123456789", "12345678901234567.89", "1.7976931348623159e308", "4.9e-324", "2.4703282292062327e-324"]
)
def test_numbers_are_significant_to_the_last_bit(tmp_path_factory: Any, numbers: list[str]) -> None:
    """Equal or not in single precision decides the order and what is counted as tied."""
    path = tmp_path_factory.mktemp("numbers") / "run"
    path.write_text("".join(f"q Q0 d{at} 1 {number} t\n" for at, number in enumerate(numbers)))
    references = rd.References.from_lists({"q": [f"d{at}" for at in range(12)]})
    check(references, path, 1 << 20, measures=["RDQ@3"])


@settings(max_examples=SLOW * 2)
@given(st.binary(max_size=200), st.integers(1, 300))
@example(b"q Q0 d1 1", 1)
@example(b"q Q0 d1 1 1\nq", 5)
@example(b"q\n\n\nq Q0 d1 1 1 t\n \n", 3)
@example(b"\n" * 40 + b"q Q0 d1 1 1", 3)
@example(b"q Q0 d1 1 " + b"1" * 5000, 1 << 20)
def test_any_bytes(tmp_path_factory: Any, content: bytes, piece: int) -> None:
    path = tmp_path_factory.mktemp("bytes") / "run"
    references = rd.References.from_lists({"q": ["d1", "d2"]})
    plain = b"".join(b"q Q0 d%d 1 %d t\n" % (at, at) for at in range(3))
    for text in (content, plain + content, content + plain):
        path.write_bytes(text)
        check(references, path, piece, measures=["RDQ@3"])


def test_large_files_are_read_in_threads(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    queries = [f"q{i}" for i in rng.permutation(300)]
    lines = []
    for query in queries:
        scores = np.round(rng.normal(size=50), 2)
        lines += [f"{query} Q0 d{i} 1 {score} t\n" for i, score in enumerate(scores)]
    path = tmp_path / "run"
    path.write_text("".join(lines))
    references = rd.References.from_grades({f"q{i}": {f"d{j}": (i * j) % 4 for j in range(20)} for i in range(310)})
    for measures in (["RDQ@5"], ["AP"]):
        for piece in (1000, 5000, 1 << 20):
            assert check(references, path, piece, measures=measures)


def qrels(chance: Random) -> bytes:
    """Lines of some queries, in any order of grades, and, now and then, whatever else files may hold."""
    rare, loose = chance.choice([0.0, 0.0, 0.003, 0.03]), chance.choice([0.0, 0.01, 0.1])

    def now_and_then(odd: list[str], plain: str, share: float) -> str:
        return chance.choice(odd) if chance.random() < share else plain

    lines = []
    for query in chance.sample([*GRADES, "q3", "x^2", "\ufeffq", LONG], chance.randint(1, 8)):
        items = [
            *chance.sample([*IDS, "x^"], chance.randint(1, len(IDS))),
            *(f"n{n}" for n in range(chance.choice([0, 60]))),
        ]
        chance.shuffle(items)
        if chance.random() < 3 * rare:
            items.append(chance.choice(items))
        for item in items:
            grade = chance.choice(["0", "1", "2", "3", "-1", "-2", "0.5", "+1", "-0", "1.0", "1e-9", "10"])
            fields = [query, "0", item, now_and_then(NO_NUMBERS, grade, rare)]
            if chance.random() < rare:
                fields = chance.choice([fields[:-1], [*fields, "3"], [*fields, "3", "4"], fields[:1]])
            gap, end = now_and_then(["  ", "\t", " \r"], " ", loose), now_and_then(["\r\n", " \n", "\n\n"], "\n", loose)
            lines.append(now_and_then([" ", "\t"], "", loose) + gap.join(fields) + end)
    if chance.random() < 5 * rare:
        chance.shuffle(lines)
    content = "".join(lines).encode()
    if chance.random() < 5 * rare:
        content = content.replace(b"d", chance.choice([b"\xff", b"\0", b"\xed\xa0\x80"]), 1)
    return content.rstrip(b"\n") if chance.random() < 0.3 else content


def references_of(path: Path, native: bool, piece: int) -> tuple[Any, ...]:
    with reading(native, piece), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            known = rd.read_references(path)
            nonrelevant, grades = known.nonrelevant, known.grades
            assert nonrelevant is not None
            assert grades is not None
            columns = [known.offsets, known.ranks, grades, nonrelevant.offsets, nonrelevant.grades]
            names = [known.queries.to_list(), known.item_ids.to_list(), nonrelevant.item_ids.to_list()]
            result: Any = ([(column.dtype, column.tobytes()) for column in columns], names)
        except rd.RankdevError as error:
            result = (type(error), str(error))
        plain = native and read_qrels_natively(path, None) is not None
    return (result, sorted(str(entry.message) for entry in caught)), plain


def test_both_readers_of_qrels_agree(tmp_path: Path) -> None:
    used = 0
    for chance in seeds():
        content, piece = qrels(chance), chance.choice([20, 200, 1 << 20])
        path = tmp_path / chance.choice(["file", "file.gz"])
        path.write_bytes(gzip.compress(content) if path.suffix else content)
        found, plain = references_of(path, True, piece)
        assert found == references_of(path, False, piece)[0], content
        used += plain
    assert used > FILES / 5


@settings(max_examples=SLOW * 2)
@given(st.binary(max_size=200), st.integers(1, 300))
@example(b"q 0 d1 1", 1)
@example(b"q 0 d1\nq", 5)
def test_any_bytes_as_qrels(tmp_path_factory: Any, content: bytes, piece: int) -> None:
    path = tmp_path_factory.mktemp("bytes") / "qrels"
    plain = b"".join(b"q 0 d%d %d\n" % (at, at) for at in range(3))
    for text in (content, plain + content, content + plain):
        path.write_bytes(text)
        assert references_of(path, True, piece)[0] == references_of(path, False, piece)[0]
