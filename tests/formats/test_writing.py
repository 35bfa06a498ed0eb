"""A file appears whole or not at all."""

import gzip
import io
import os
import stat
import threading
from pathlib import Path

import pytest
import zstandard

from rankdev import References, Run, UsageError
from rankdev.formats import write_references, write_run
from rankdev.formats.streams import writing

RUN = Run.from_lists({"q1": ["d1"]})
LINE = b"q1 Q0 d1 1 1 rankdev\n"


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
    full = pytest.raises(UsageError, match=r"a.run: cannot write here \(No space left on device\); choose")
    with full, writing(tmp_path / "a.run") as stream:
        stream.write(b"half of it")
        raise OSError(28, "No space left on device")
    assert not list(tmp_path.iterdir())


def test_packing_follows_the_name(tmp_path: Path) -> None:
    for name, unpack in (
        ("a", bytes),
        ("a.gz", gzip.decompress),
        ("a.zst", zstandard.ZstdDecompressor().decompressobj().decompress),
    ):
        write_run(RUN, tmp_path / name)
        assert unpack((tmp_path / name).read_bytes()) == LINE


def test_packed_files_are_the_same_every_time(tmp_path: Path) -> None:
    write_run(RUN, tmp_path / "a.gz")
    write_run(RUN, tmp_path / "b.gz")
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_the_umask_is_respected(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        write_run(RUN, tmp_path / "a.run")
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "a.run").stat().st_mode) == 0o640


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.run").write_bytes(b"before")
    (tmp_path / "link.run").symlink_to(tmp_path / "real.run")
    write_run(RUN, tmp_path / "link.run")
    assert (tmp_path / "link.run").is_symlink()
    assert (tmp_path / "real.run").read_bytes() == LINE


def test_a_pipe_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    reader.start()
    write_run(RUN, pipe)
    reader.join(timeout=10)
    assert received == [LINE]
    assert pipe.is_fifo()


@pytest.mark.parametrize("place", ["folder", "missing/a.run", "file/a.run"])
def test_places_that_cannot_be_written(tmp_path: Path, place: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match=r"cannot write here \(.+\); choose another place"):
        write_run(RUN, tmp_path / place)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "folder"]


def test_standard_output(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr("sys.stdout", out)
    write_run(RUN, "-", tag="mine")
    write_references(References.from_lists({"q1": ["d1"]}), "-")
    assert out.buffer.getvalue() == b'q1 Q0 d1 1 1 mine\n{"query": "q1", "tiers": [["d1"]]}\n'  # type: ignore[attr-defined]
