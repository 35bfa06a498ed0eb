"""Packed files, pipes and terminals: everything is read in bounded pieces, and every wait can be interrupted."""

import gzip
import os
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from rankdev import evaluate, read_run
from rankdev.data import text
from rankdev.data.files import read_references
from rankdev.errors import DataError
from tests.raising import raises

LINE = b"q1 Q0 d1 1 1 t\n"
PACK: list[Callable[[bytes], bytes]] = [bytes, gzip.compress, zstandard.compress]
SKIPPABLE = b"\x5a\x2a\x4d\x18" + struct.pack("<I", 5) + b"hello"
posix = pytest.mark.skipif(os.name != "posix", reason="pipes and terminals of POSIX")


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
@pytest.mark.parametrize("name", ["a.run", "a.csv", "a.jsonl"])
def test_a_line_without_end_is_not_unpacked_to_its_end(
    tmp_path: Path, pack: Callable[[bytes], bytes], name: str
) -> None:
    path = tmp_path / name
    path.write_bytes(pack(b'{"query":"' + b"x" * (100 << 20)))
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
    look = text._state

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

    monkeypatch.setattr(text, "_state", disturbed)
    expected = {"changed", *(["damaged"] if change == "cut" else [])}  # it was cut before it was opened again
    with pytest.raises(DataError) as caught:
        evaluate({"q1": ["d1"]}, {"a": path}, "P@1")
    assert caught.value.kind in expected
    path.write_bytes(pack(QRELS))
    with pytest.raises(DataError) as caught:
        read_references(path)
    assert caught.value.kind in expected
