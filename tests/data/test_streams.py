"""Packed files and pipes are read in bounded pieces; a file that is written appears whole or not at all."""

import gzip
import io
import os
import random
import stat
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import zstandard

from rankdev import References, Run, evaluate, read_run
from rankdev.data import sources, trec
from rankdev.data.files import read_references, write_references, write_run
from rankdev.data.write import writing
from rankdev.errors import DataError, UsageError
from tests.data.samples import parquet
from tests.raising import raises

LINE = b"q1 Q0 d1 1 1 t\n"
PACK: list[Callable[[bytes], bytes]] = [bytes, gzip.compress, zstandard.compress]
SKIPPABLE = b"\x5a\x2a\x4d\x18" + struct.pack("<I", 5) + b"hello"
posix = pytest.mark.skipif(os.name != "posix", reason="pipes and terminals of POSIX")


def _read(path: Path, **options: Any) -> object:
    try:
        run = read_run(path, **options)
    except DataError as error:
        return error.kind, str(error)
    scores = None if run.scores is None else run.scores.tolist()
    repeats = None if run.repeats is None else run.repeats.tolist()
    return dict(run), scores, repeats, run.left_out, run.read, [(note.kind, str(note)) for note in run.notes]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(200))
def test_a_run_in_parts_is_the_whole_run(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    queries = [f"q{n}" for n in range(chance.randint(1, 9))]
    rows = [(query, f"d{n}") for query in queries for n in range(chance.randint(1, 12))]
    if chance.random() < 0.2:
        chance.shuffle(rows)
    faults = {"d2": "d1", "d3": "d\u200b3", " t": " other", "0.5": "x", "q1 ": "q1\t ", "\n": "\n\n"}
    fault = chance.choice(list(faults)) if chance.random() < 0.5 else ""
    rising, other, bare = chance.choice([1, -1]), chance.choice(["t", "t", "t", "u"]), chance.choice(["", "", "d0"])
    lines = []
    for place, (query, item) in enumerate(rows):
        score = chance.choice([0.5, 1.5, 2.25]) if chance.random() < 0.5 else -place * rising
        tag = "" if item == bare else f" {other if query > queries[len(queries) // 2] else 't'}"
        line = f"{query} Q0 {item} {place} {score}{tag}\n"
        lines.append(line.replace(fault, faults[fault]) if fault and chance.random() < 0.1 else line)
    content = "".join(lines).encode()[: None if chance.random() < 0.9 else -1]
    (tmp_path / "a.run").write_bytes(chance.choice(PACK)(content))
    options = {
        "depth": chance.choice([None, 1, 3]),
        "duplicates": chance.choice([None, None, "first", "best"]),
        "order": chance.choice(["score", "score", "rank"]),
        "collapse": chance.choice([None, None, "d"]),
    }
    monkeypatch.setattr(trec, "SMALL", chance.choice([0, 1 << 19]))
    whole = _read(tmp_path / "a.run", **options)
    monkeypatch.setattr(trec, "HEAD_BYTES", 0)
    for name, size in {"HEAD_BYTES": 20, "PART_BYTES": 60, "_UNPACKED_BYTES": 64}.items():
        monkeypatch.setattr(sources, name, size)
    assert _read(tmp_path / "a.run", **options) == whole


@pytest.mark.parametrize(
    ("lines", "complete"),
    [
        ("", 0),
        ("q1 a", 0),
        ("q1 a\nq1 b\n", 0),
        ("q1 a\nq2 b\nq2 c\n", 0),
        ("d1\nq1 a\nq2 b\nq2 c\n", 8),
        ("d1\nq1 a\nq2 b\nq3", 8),
        ("d1\nq1 a\nq1 b\n\nq2 c\n", 14),
        ("d1\nq1 a\nq12 b\n", 8),
    ],
)
def test_the_last_query_may_go_on(lines: str, complete: int) -> None:
    assert trec.end_of_queries(lines.encode()) == complete


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
@pytest.mark.parametrize("name", ["a.run", "a.csv", "a.jsonl", "a.json", "a.parquet"])
def test_a_line_without_end_is_not_unpacked_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack: Callable[[bytes], bytes], name: str
) -> None:
    path = tmp_path / name
    monkeypatch.setattr(sources, "LINE_BYTES", 4 << 20)
    content = b'{"q":"' if name == "a.json" else b'{"query":"'
    cell = pl.DataFrame({"query": "q", "item": "x" * (6 << 20), "score": 1})
    path.write_bytes(pack(parquet(cell) if name == "a.parquet" else content + b"x" * (6 << 20)))
    with raises("long-line", DataError):
        read_run(path)


@pytest.mark.parametrize(
    "content",
    [
        SKIPPABLE + zstandard.compress(LINE),
        zstandard.compress(LINE[:5]) + SKIPPABLE + zstandard.compress(LINE[5:]) + SKIPPABLE,
        gzip.compress(LINE[:5], mtime=0) + gzip.compress(LINE[5:], mtime=0) + b"\0" * 3000,
        zstandard.compress(b"") + zstandard.compress(LINE),
    ],
)
def test_frames_and_members(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a").write_bytes(content)
    assert dict(read_run(tmp_path / "a")) == {"q1": ["d1"]}


@pytest.mark.parametrize("content", [SKIPPABLE, SKIPPABLE[:-1], SKIPPABLE[:6], gzip.compress(LINE, mtime=0) + b"more"])
def test_broken_frames_and_members(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_run(tmp_path / "a")
    assert caught.value.kind in ("damaged", "empty-file")


@posix
def test_a_pipe_with_a_name(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    thread = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(gzip.compress(LINE)))
    timer = threading.Timer(0.3, thread.start)  # the reader is there first
    timer.start()
    assert dict(read_run(tmp_path / "pipe")) == {"q1": ["d1"]}
    timer.join()
    thread.join()


QRELS = b"q1 0 d1 1\n"


@pytest.mark.parametrize("pack", PACK)
@pytest.mark.parametrize("change", ["grown", "cut", "written again"])
def test_a_file_that_changes_while_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack: Callable[[bytes], bytes], change: str
) -> None:
    path = tmp_path / "a.run"
    path.write_bytes(pack(LINE))
    look = sources._state

    def disturbed(raw: Any) -> Any:
        seen = look(raw)
        if change == "grown":  # each time, and for ever if nobody looked
            with path.open("ab") as file:
                file.write(pack(b"q%d Q0 d1 1 1 t\n" % path.stat().st_size))
        elif change == "cut":
            os.truncate(path, 5)
        else:
            os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))
        return seen

    monkeypatch.setattr(sources, "_state", disturbed)
    expected = {"changed", *(["damaged"] if change == "cut" else [])}  # it was cut before it was opened again
    with pytest.raises(DataError) as caught:
        evaluate({"q1": ["d1"]}, {"a": path}, "P@1")
    assert caught.value.kind in expected
    path.write_bytes(pack(QRELS))
    with pytest.raises(DataError) as caught:
        read_references(path)
    assert caught.value.kind in expected


RUN = Run.from_lists({"q1": ["d1"]})
GRADED = References.from_grades({"q1": {"d1": 1}})
WRITTEN = b"q1 Q0 d1 1 1 rankdev\n"


@pytest.mark.parametrize("name", ["a.run", "a.run.gz", "a.run.zst"])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_exception_leaves_nothing(tmp_path: Path, name: str, error: type[BaseException]) -> None:
    for before in (None, b"what was there"):
        if before is not None:
            (tmp_path / name).write_bytes(before)
        with pytest.raises(error), writing(tmp_path / name) as stream:  # noqa: PT012
            stream.write(b"half of it")
            raise error
        assert [path.read_bytes() for path in tmp_path.iterdir()] == ([] if before is None else [before])


def test_a_full_disk_is_reported_and_leaves_nothing(tmp_path: Path) -> None:
    full = raises("cannot-write", UsageError)
    with full, writing(tmp_path / "a.run") as stream:
        stream.write(b"half of it")
        raise OSError(28, "No space left on device")
    assert not list(tmp_path.iterdir())


def test_packing_follows_the_name(tmp_path: Path) -> None:
    unpack_zst = zstandard.ZstdDecompressor().decompressobj().decompress
    for name, unpack in (("a", bytes), ("a.gz", gzip.decompress), ("a.zst", unpack_zst)):
        write_run(RUN, tmp_path / name)
        assert unpack((tmp_path / name).read_bytes()) == WRITTEN


def test_the_umask_is_respected_and_never_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mask = os.umask(0o027)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(os, "umask", lambda mask: pytest.fail("the umask belongs to the whole process"))
            write_run(RUN, tmp_path / "a.run")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "a.run").stat().st_mode) == 0o640


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is protected against root")
def test_a_file_that_is_protected_stays(tmp_path: Path) -> None:
    (tmp_path / "a.run").write_bytes(b"before")
    (tmp_path / "a.run").chmod(0o444)
    with pytest.raises(UsageError, match="Permission denied"):
        write_run(RUN, tmp_path / "a.run")
    assert (tmp_path / "a.run").read_bytes() == b"before"


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.run").write_bytes(b"before")
    (tmp_path / "link.run").symlink_to(tmp_path / "real.run")
    write_run(RUN, tmp_path / "link.run")
    assert (tmp_path / "link.run").is_symlink()
    assert (tmp_path / "real.run").read_bytes() == WRITTEN


def test_a_pipe_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    reader.start()
    write_run(RUN, pipe)
    reader.join(timeout=10)
    assert received == [WRITTEN]
    assert pipe.is_fifo()


@pytest.mark.parametrize("place", ["folder", "missing/a.run", "file/a.run"])
def test_places_that_cannot_be_written(tmp_path: Path, place: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("x")
    with raises("cannot-write", UsageError):
        write_run(RUN, tmp_path / place)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "folder"]


def test_standard_output(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr("sys.stdout", out)
    write_run(RUN, "-", tag="mine")
    write_references(References.from_lists({"q1": ["d1"]}), "-")
    assert out.buffer.getvalue() == b'q1 Q0 d1 1 1 mine\n{"query": "q1", "tiers": [["d1"]]}\n'  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["a.xlsx", "a.XML", "a.txt.zip", "a.html.gz", "a.pdf.zst"])
def test_names_of_other_formats_are_not_given_to_trec(tmp_path: Path, name: str) -> None:
    for write in (lambda path: write_run(RUN, path), lambda path: write_references(GRADED, path)):
        with raises("bad-ending", UsageError):
            write(tmp_path / name)
    assert not list(tmp_path.iterdir())
