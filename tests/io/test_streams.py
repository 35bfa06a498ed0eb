"""Packed files, pipes and terminals: everything is read in bounded pieces, and every wait can be interrupted."""

import gzip
import io
import os
import signal
import struct
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import zstandard

from rankdev import evaluate, read_run
from rankdev.errors import FileFormatError
from rankdev.io import read_references, streams

LINE = b"q1 Q0 d1 1 1 t\n"
PACK: list[Callable[[bytes], bytes]] = [bytes, gzip.compress, zstandard.compress]
SKIPPABLE = b"\x5a\x2a\x4d\x18" + struct.pack("<I", 5) + b"hello"
SAYS_WHEN_IT_WAITS = """
from rankdev.cli import main
from rankdev.io.streams import _Patient

def readinto(patient, buffer, original=_Patient.readinto):
    print("waiting", flush=True)
    return original(patient, buffer)

_Patient.readinto = readinto
main()
"""
posix = pytest.mark.skipif(os.name != "posix", reason="pipes and terminals of POSIX")


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_small_files_that_unpack_to_much_are_read_in_pieces(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "run"
    path.write_bytes(pack(LINE * (6 << 20)))  # 90 MB of less than 1
    assert path.stat().st_size < 1 << 20
    tracemalloc.start()
    with streams.Source(path) as source:
        assert sum(len(batch) for batch in source.batches()) == len(LINE) * (6 << 20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50 << 20


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
    with pytest.raises(FileFormatError, match=r"it may be damaged|the file is empty"):
        read_run(tmp_path / "a")


@posix
@pytest.mark.parametrize("pack", PACK)
@pytest.mark.parametrize("first", [1, 2, 3, 4])
def test_a_first_write_of_few_bytes(
    monkeypatch: pytest.MonkeyPatch, pack: Callable[[bytes], bytes], first: int
) -> None:
    reading, writing = os.pipe()
    content = pack(LINE * 3000)

    def write() -> None:
        with os.fdopen(writing, "wb", buffering=0) as pipe:
            pipe.write(content[:first])
            time.sleep(0.02)
            pipe.write(content[first:])

    with os.fdopen(reading, "rb") as stdin:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(stdin))
        thread = threading.Thread(target=write)
        thread.start()
        with pytest.warns(UserWarning, match="returned twice"):
            assert len(read_run("-")["q1"]) == 3000
        thread.join()
        assert not stdin.closed


def test_a_line_without_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "LINE_BYTES", 1 << 20)
    monkeypatch.setattr(streams, "BATCH_BYTES", 1 << 20)
    (tmp_path / "a.zst").write_bytes(zstandard.compress(b"a" * (8 << 20)))
    with pytest.raises(FileFormatError, match=r"a.zst: a line is longer than 1 MB; check the file"):
        read_run(tmp_path / "a.zst")


def test_too_little_memory_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(source: streams.Source) -> Iterator[bytes]:
        raise MemoryError

    (tmp_path / "a.json").write_text('{"q1": ["d1"]}')
    monkeypatch.setattr(streams.Source, "pieces", fail)
    with pytest.raises(FileFormatError, match=r"a.json: the file does not fit into memory"):
        read_references(tmp_path / "a.json")


@posix
def test_a_pipe_with_a_name(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    thread = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(gzip.compress(LINE)))
    timer = threading.Timer(0.3, thread.start)  # the reader is there first
    timer.start()
    assert dict(read_run(tmp_path / "pipe")) == {"q1": ["d1"]}
    timer.join()
    thread.join()


@posix
@pytest.mark.parametrize("words", [["refs", "grades", "-"], ["eval", "-", "run"], ["eval", "refs.json", "-", "pipe"]])
def test_waiting_for_a_pipe_can_be_interrupted(tmp_path: Path, words: list[str]) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "refs.json").write_text('{"q1": ["d1"]}')
    (tmp_path / "run").write_bytes(LINE)
    reading, writing = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-c", SAYS_WHEN_IT_WAITS, *words],
        stdin=reading,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )
    with process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        try:
            message = process.communicate(timeout=30)[1]
        finally:
            process.kill()
    os.close(writing)
    os.close(reading)
    assert process.returncode == 130
    assert b"interrupted" in message
    assert b"Traceback" not in message


QRELS = b"q1 0 d1 1\n"


@pytest.mark.parametrize("pack", PACK)
@pytest.mark.parametrize("change", ["grown", "cut", "written again"])
def test_a_file_that_changes_while_it_is_read_is_refused(
    tmp_path: Path, pack: Callable[[bytes], bytes], change: str
) -> None:
    path = tmp_path / "a.run"
    path.write_bytes(pack(LINE))

    def disturb(done: float, total: float, note: str) -> None:
        if change == "grown":  # each time, and for ever if nobody looked
            with path.open("ab") as file:
                file.write(pack(b"q%d Q0 d1 1 1 t\n" % path.stat().st_size))
        elif change == "cut":
            os.truncate(path, 5)
        else:
            os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))

    damaged = "|cannot be read to its end" if change == "cut" else ""  # it was cut before it was opened again
    refused = pytest.raises(FileFormatError, match=f"a.run: .*changed while it was read; try again once it is{damaged}")
    with refused:
        evaluate({"q1": ["d1"]}, {"a": path}, "P@1", progress=disturb)
    path.write_bytes(pack(QRELS))
    with refused:
        read_references(path, progress=disturb)


def test_a_file_that_is_replaced_while_it_is_read_is_read_as_it_was(tmp_path: Path) -> None:
    path, other = tmp_path / "a.run", tmp_path / "b.run"
    path.write_bytes(LINE)

    def replace(done: float, total: float, note: str) -> None:
        other.write_bytes(b"q1 Q0 d2 1 1 t\n")
        other.replace(path)

    assert evaluate({"q1": ["d1"]}, {"a": path}, "P@1", progress=replace).means.tolist() == [[1.0]]
