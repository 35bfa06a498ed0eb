"""Whatever the bytes or the document, the readers succeed or raise one of rankdev's errors, in one line."""

import copy
import gzip
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rankdev import RankdevError, References, Run
from rankdev.data.files import read_grades, read_lists, read_references, read_run
from tests.data.responses import ENGINES, LINES, QUEPID_JSON, RANK_EVAL_REQUEST
from tests.data.responses import FILES as RESPONSE_FILES
from tests.data.samples import GRADE_FILES, GRADE_JSON, REFERENCE_FILES, RUN_FILES
from tests.data.test_records import LANGCHAIN, LLAMA, RAGAS, WITH_IDS
from tests.fuzz.files import SLOW

RATING_FILES = {"json": json.dumps(RANK_EVAL_REQUEST).encode(), "jsonl": json.dumps(QUEPID_JSON).encode()}
RECORD_FILES = {
    "json": json.dumps([RAGAS, LANGCHAIN]).encode(),
    "jsonl": json.dumps(WITH_IDS).encode() + b"\n",
    "csv": b"Query;Item ID;Score\nq1;d1;0,5\nq1;d2;,25\n",
    "inter": b"user_id:token\titem_id:token\nu1\ti1\nu1\ti2\n",
}
READERS = [read_run, read_references, read_grades, read_lists]
SEEDS = [
    (suffix, content)
    for files in (RUN_FILES, GRADE_FILES, GRADE_JSON, REFERENCE_FILES, RESPONSE_FILES, RATING_FILES, RECORD_FILES)
    for suffix, content in files.items()
]
SEEDS += [(f"{suffix}.gz", gzip.compress(content, mtime=0)) for suffix, content in SEEDS[:3]]
SEEDS += [(f"{suffix}.zst", zstandard.compress(content)) for suffix, content in SEEDS[:3]]
SUFFIXES = ["run", "csv", "tsv", "json", "jsonl", "parquet", "gz", "zst"]
ODD = [b"\n", b"\r", b'"', b",", b"\t", b" ", b"{", b"}", b"[", b"]", b"null", b"NaN", b"1e999", b"-", b"\0", b"\xff"]
ODD += [b"true", b"1" * 40, b"\\ud800", b"[[[", b"\xef\xbb\xbf", b"PAR1", b"0", b":", b'""']

fuzz = settings(max_examples=SLOW * 4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def check_all(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    for read in READERS:
        message = complaint(read, path)
        if message is not None:
            assert str(path) in message
            assert "\n" not in message
            assert len(message) < 600 + len(str(path))


def complaint(read: Callable[[Any], object], value: object) -> str | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            read(value)
        except RankdevError as error:
            return str(error)
    return None


@st.composite
def mutated(draw: st.DrawFn) -> tuple[str, bytes]:
    suffix, content = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(content)))
        until = draw(st.integers(at, min(len(content), at + 12)))
        piece = draw(st.one_of(st.binary(max_size=3), st.sampled_from(ODD), st.just(content[at:until] * 2)))
        content = content[:at] + piece + content[until:]
    if draw(st.booleans()):
        lines = content.split(b"\n") + draw(st.sampled_from(SEEDS))[1].split(b"\n")[:3]
        content = b"\n".join(draw(st.permutations(lines)))
    return suffix, content


@fuzz
@given(suffix=st.sampled_from(SUFFIXES), content=st.binary(max_size=200))
@example(suffix="jsonl", content=b'{"query":"\\ud800","tiers":[["a"],1]}')
@example(suffix="json", content=b'{"q1":{"\\ud800":1}}')
@example(suffix="csv", content=b"x^2,b\n1,2\n")
@example(suffix="csv", content=b'query,item,score\n"')
def test_random_bytes(tmp_path: Path, suffix: str, content: bytes) -> None:
    check_all(tmp_path / f"file.{suffix}", content)


@fuzz
@given(case=mutated())
def test_mutated_files(tmp_path: Path, case: tuple[str, bytes]) -> None:
    suffix, content = case
    check_all(tmp_path / f"file.{suffix}", content)


@pytest.mark.parametrize(("suffix", "content"), SEEDS)
def test_files_cut_anywhere(tmp_path: Path, suffix: str, content: bytes) -> None:
    for end in range(0, len(content), 1 + len(content) // 40):
        check_all(tmp_path / f"file.{suffix}", content[:end])


DOCUMENTS: list[Any] = [{"q1": response, "q2": response} for response in ENGINES.values()]
DOCUMENTS += [*ENGINES.values(), LINES, {"queries": ["a"], "responses": [ENGINES["elasticsearch"]]}]
DOCUMENTS += [QUEPID_JSON, RANK_EVAL_REQUEST]
DOCUMENTS += [[record] for record in (LANGCHAIN, LLAMA, RAGAS, WITH_IDS)]
ODD_VALUES = [None, True, 0, 1, -1, 2.5, 10**30, "", "x", [], [[]], [None], ["x"], [{}], [{"a": 1}]]
ODD_VALUES += [{}, {"a": None}, {"hits": 1}]


def replace_somewhere(draw: st.DrawFn, value: Any) -> Any:
    """Go down, a step at a time, and put something odd where it ends."""
    inside = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    if not inside or draw(st.integers(0, 6)) == 0:
        return copy.deepcopy(draw(st.sampled_from(ODD_VALUES)))
    place = draw(st.sampled_from(inside))
    value[place] = replace_somewhere(draw, value[place])
    return value


@st.composite
def odd_documents(draw: st.DrawFn) -> Any:
    document = copy.deepcopy(draw(st.sampled_from(DOCUMENTS)))
    for _ in range(draw(st.integers(1, 3))):
        document = replace_somewhere(draw, document)
    return document


@fuzz
@given(document=odd_documents(), indent=st.sampled_from([None, 1]))
def test_odd_documents(tmp_path: Path, document: Any, indent: int | None) -> None:
    for read in (Run.of, References.of):
        complaint(read, document)
    check_all(tmp_path / "a.json", json.dumps(document, indent=indent).encode())
