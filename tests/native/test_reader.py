"""The compiled reader by itself: what it is built from, what it leaves alone, and the bits of its numbers."""

import ctypes
import math
import struct
import subprocess
import sys
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankdev as rd
from rankdev.core.ordering import TREC_EVAL, Ordering
from rankdev.evaluation._native_join import FileMatcher
from rankdev.evaluation.matching import Matcher
from rankdev.native import build, library
from rankdev.native.library import PADDING
from tests.native import compiled
from tests.native.compiled import built, check, reading

RUN = "q Q0 d1 1 2 t\nq Q0 d2 2 1 t\n"


@pytest.fixture
def files():
    with reading(native=True):
        yield FileMatcher(Matcher.of(rd.References.from_lists({"q": ["d1", "d2"]})))


def test_plain_runs_are_matched(files, tmp_path):
    (tmp_path / "run").write_text(RUN)
    matched, met = files.match(tmp_path / "run", TREC_EVAL, 5)
    assert matched.hits.position.tolist() == [0, 1]
    assert matched.hits.place.tolist() == [0, 1]
    assert (matched.lengths.tolist(), met.missing, met.unreferenced, met.tied) == ([2], 0, 0, 0)


@pytest.mark.parametrize("ending", ["q Q0 d1 3 0 t\n", "q Q0 d3 3 x t\n", "q Q0 d3 3\n", "p Q0 d 1 1\nq Q0 d3 3 0 t\n"])
def test_what_is_odd_is_left_to_the_general_reader(files, tmp_path, ending):
    """An item twice, no number, a line that is cut short, and a query whose lines are scattered."""
    (tmp_path / "run").write_text(RUN + ending)
    assert files.match(tmp_path / "run", TREC_EVAL, 5) is None


def test_other_orders_and_other_files_are_left_to_the_general_reader(files, tmp_path):
    (tmp_path / "run").write_text(RUN)
    (tmp_path / "table").write_text("query,item,rank\nq,d1,1\n")
    assert files.match(tmp_path / "run", Ordering(ties="given"), 5) is None
    assert files.match(tmp_path / "table", TREC_EVAL, 5) is None
    assert files.match(tmp_path / "nothing", TREC_EVAL, 5) is None
    assert files.match("-", TREC_EVAL, 5) is None


def test_names_that_no_trec_file_can_hold_are_not_found(tmp_path):
    (tmp_path / "run").write_text(RUN)
    with reading(native=True):
        files = FileMatcher(
            Matcher.of(rd.References.from_lists({"p": ["d1"], "q": ["d\n1", "d1", "d 2", "d1 \n", "d2"]}))
        )
        matched, _ = files.match(tmp_path / "run", TREC_EVAL, 5)
    assert (matched.hits.query.tolist(), matched.hits.place.tolist()) == ([1, 1], [2, 5])


def test_a_library_of_another_interface_is_not_used():
    with reading(native=True), mock.patch.object(library, "INTERFACE", -1):
        library._loaded.cache_clear()
        assert library.library() is None
    library._loaded.cache_clear()


def test_without_a_compiler_nothing_is_built(tmp_path, monkeypatch):
    monkeypatch.setenv("CC", "there-is-no-such-compiler")
    assert "there-is-no-such-compiler" in (build.build(tmp_path / "reader.so") or "")
    monkeypatch.setenv("CC", f"{sys.executable} -c 'raise SystemExit(1)'")
    assert build.build(tmp_path / "reader.so")
    assert not list(tmp_path.iterdir())


def test_the_version_says_what_reads():
    for native in (False, True):
        with reading(native):
            script = (
                f"from pathlib import Path; from rankdev.native import library; library.FILE = Path({str(built())!r})"
            )
            call = f"{script}; from rankdev.cli import main; main()"
            said = subprocess.run([sys.executable, "-c", call, "--version"], capture_output=True, text=True, check=True)
        assert ("compiled code" in said.stdout) == native


def read_number(text: str) -> float | None:
    value = ctypes.c_double()
    odd = ctypes.CDLL(str(built())).rankdev_read_number(f"{text}\n".encode() + bytes(PADDING), ctypes.byref(value))
    return None if odd else value.value


def bits(value: float) -> bytes:
    return struct.pack("d", value)


DECIMALS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.from_regex(r"[-+]?([0-9]{1,22}\.?[0-9]{0,22}|\.[0-9]{1,22})([eE][-+]?[0-9]{1,3})?", fullmatch=True),
    st.integers(2**52, 2**53 - 1).map(lambda whole: f"{whole}.5"),  # half way between two floats
    st.integers(2**53, 2**64 - 1).map(str),
)


@given(DECIMALS)
def test_numbers_have_the_bits_of_pythons(text):
    found, expected = read_number(text), float(text)
    assert (found is None) == (not math.isfinite(expected))
    assert found is None or bits(found) == bits(expected)


@pytest.mark.parametrize(
    "text", ["", "-", ".", "e5", "1e", "1e+", "0x10", "nan", "inf", "1_0", "1.2.3", "1,5", "1" * 200]
)
def test_what_is_no_number_is_odd(text):
    assert read_number(text) is None


def test_processors_without_sse2_read_the_same(tmp_path, monkeypatch):
    """Lines of all lengths, with every kind of blank anywhere in the 64 characters that are looked at together."""
    built()  # where there is no compiler, this ends here
    monkeypatch.setenv("CFLAGS", "-U__SSE2__")
    assert build.build(tmp_path / "reader.so") is None
    monkeypatch.setattr(compiled, "built", lambda: tmp_path / "reader.so")
    names = ["d" * size for size in range(1, 80)]
    gaps = [" ", "\t", "  ", " \r "]
    lines = [
        gaps[size % 4].join(["q" * (1 + size // 9), "Q0", name, "1", f"{size / 7:.{size % 9}f}", "t\x1f"]) + "\n"
        for size, name in enumerate(names)
    ]
    (tmp_path / "run").write_text("".join(lines), newline="")
    references = rd.References.from_lists({"q" * size: names for size in range(1, 10)})
    assert check(references, tmp_path / "run", 1 << 20, measures=["RDQ", "NumRet"])
