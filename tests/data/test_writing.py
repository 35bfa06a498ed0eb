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
from rankdev.data.files import write_references, write_run
from rankdev.data.write import writing
from tests.raising import raises

RUN = Run.from_lists({"q1": ["d1"]})
GRADED = References.from_grades({"q1": {"d1": 1}})
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
    full = raises("cannot-write", UsageError)
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
