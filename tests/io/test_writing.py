"""A file appears whole or not at all."""

import errno
import gzip
import io
import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest
import zstandard

from rankdev import DataError, References, Run, UsageError
from rankdev.io import read_run, write_references, write_run
from rankdev.io.writing import write_pieces, writing

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
    full = pytest.raises(UsageError, match=r"a.run: cannot write here \(No space left on device\); choose")
    with full, writing(tmp_path / "a.run") as stream:
        stream.write(b"half of it")
        raise OSError(28, "No space left on device")
    assert not list(tmp_path.iterdir())


class FullDisk(io.BytesIO):
    """Takes one piece."""

    def write(self, piece: Any) -> int:
        if self.tell():
            raise OSError(28, "No space left on device")
        return super().write(piece)


def test_pieces_are_written_in_order_until_one_cannot_be(tmp_path: Path) -> None:
    for count in range(4):
        with writing(tmp_path / "a.gz") as stream:
            write_pieces(stream, (b"%d\n" % i for i in range(count)))
        assert gzip.decompress((tmp_path / "a.gz").read_bytes()).split() == [b"%d" % i for i in range(count)]
    for pieces in ([b"1", b"2"], [b"1", b"2", b"3"]):
        with pytest.raises(OSError, match="No space left"):
            write_pieces(FullDisk(), pieces)


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


@pytest.fixture(params=["unnamed", "hidden"])
def any_file_system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Write as where files without a name can be made, and as where they cannot."""
    if request.param == "hidden":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    return request.param


@pytest.mark.usefixtures("any_file_system")
def test_the_umask_is_respected_and_never_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mask = os.umask(0o027)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(os, "umask", lambda mask: pytest.fail("the umask belongs to the whole process"))
            write_run(RUN, tmp_path / "a.run")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "a.run").stat().st_mode) == 0o640


@pytest.mark.usefixtures("any_file_system")
@pytest.mark.parametrize("mode", [0o600, 0o644, 0o660, 0o755])
def test_a_file_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "a.run"
    path.write_bytes(b"before")
    path.chmod(mode)
    write_run(RUN, path)
    assert path.read_bytes() == LINE
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_what_is_being_written_cannot_be_seen(tmp_path: Path) -> None:
    with writing(tmp_path / "a.run") as stream:
        stream.write(b"half of it")
        stream.flush()
        assert not list(tmp_path.iterdir())
        stream.write(b" and the rest")
    assert (tmp_path / "a.run").read_bytes() == b"half of it and the rest"


@pytest.mark.usefixtures("any_file_system")
def test_where_a_link_cannot_be_made_the_content_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", lambda *a, **k: (_ for _ in ()).throw(PermissionError(1, "not here")))
    (tmp_path / "a.run").write_bytes(b"before")
    (tmp_path / "a.run").chmod(0o600)
    write_run(RUN, tmp_path / "a.run")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [LINE]
    assert stat.S_IMODE((tmp_path / "a.run").stat().st_mode) == 0o600


def test_what_a_killed_process_left_is_swept_and_what_a_living_one_holds_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".rankdev.0123456789abcdef").write_bytes(b"half")
    (tmp_path / ".rankdev.mine").write_bytes(b"another's")
    monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    with writing(tmp_path / "a.run") as stream:
        held = {path.name for path in tmp_path.iterdir()} - {".rankdev.mine"}
        assert len(held) == 1
        assert ".rankdev.0123456789abcdef" not in held
        write_run(RUN, tmp_path / "b.run")
        assert held <= {path.name for path in tmp_path.iterdir()}
        stream.write(b"whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".rankdev.mine", "a.run", "b.run"]


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is protected against root")
def test_a_file_that_is_protected_stays(tmp_path: Path) -> None:
    (tmp_path / "a.run").write_bytes(b"before")
    (tmp_path / "a.run").chmod(0o444)
    with pytest.raises(UsageError, match="Permission denied"):
        write_run(RUN, tmp_path / "a.run")
    assert (tmp_path / "a.run").read_bytes() == b"before"


def test_an_open_descriptor_is_written_where_it_stands(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"before\n")
    with log.open("ab") as opened:
        write_run(RUN, f"/dev/fd/{opened.fileno()}")
        (tmp_path / "link").symlink_to(f"/dev/fd/{opened.fileno()}")
        write_run(RUN, tmp_path / "link")
        opened.write(b"after\n")
    assert log.read_bytes() == b"before\n" + LINE + LINE + b"after\n"


def test_zstd_is_written_with_a_checksum(tmp_path: Path) -> None:
    run = Run.from_lists({f"q{i}": [f"d{j}" for j in range(50)] for i in range(20)})
    write_run(run, tmp_path / "a.run.zst")
    packed = bytearray((tmp_path / "a.run.zst").read_bytes())
    assert zstandard.get_frame_parameters(bytes(packed)).has_checksum
    for at in range(len(packed) // 2, len(packed), 7):
        packed[at] ^= 1
        (tmp_path / "b.run.zst").write_bytes(packed)
        with pytest.raises(DataError):
            read_run(tmp_path / "b.run.zst")
        packed[at] ^= 1


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


@pytest.mark.parametrize("ending", [".xlsx", ".XML", ".txt.zip"])
def test_no_file_is_called_what_it_is_not(tmp_path: Path, ending: str) -> None:
    references = References.from_lists({"q1": ["d1"]})
    for write in (lambda path: write_run(RUN, path), lambda path: write_references(references, path)):
        with pytest.raises(UsageError, match=r"cannot be written; use .*jsonl.*or an extension such as .txt for TREC"):
            write(tmp_path / f"a{ending}")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="looks at open files through /proc")
@pytest.mark.usefixtures("any_file_system")
@pytest.mark.parametrize("linked", [True, False])
@pytest.mark.parametrize("name", ["a.run", "a.run.gz", "a.run.zst"])
def test_content_is_on_the_disk_before_the_name_and_the_name_before_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, linked: bool
) -> None:
    """Whole or not at all also where the power fails: calls are recorded, with what was in the file by then."""
    calls: list[tuple[str, Any]] = []
    sync, replace = os.fsync, os.replace

    def recorded_sync(descriptor: int) -> None:
        folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        calls.append(("folder", None) if folder else ("file", Path(f"/proc/self/fd/{descriptor}").read_bytes()))
        sync(descriptor)

    def recorded_replace(source: Path, target: Path) -> None:
        calls.append(("name", source.read_bytes()))
        replace(source, target)

    monkeypatch.setattr(os, "fsync", recorded_sync)
    monkeypatch.setattr(os, "replace", recorded_replace)
    if not linked:
        monkeypatch.setattr(os, "link", lambda *a, **k: (_ for _ in ()).throw(PermissionError(1, "not here")))
    write_run(RUN, tmp_path / name)
    content = (tmp_path / name).read_bytes()
    kinds = [kind for kind, _ in calls]
    assert kinds[-2:] == ["name", "folder"]
    assert set(kinds[:-2]) == {"file"}
    assert all(held == content for kind, held in calls if kind != "folder")


@pytest.mark.parametrize(("number", "fails"), [(errno.EIO, True), (errno.ENOSPC, True), (errno.EINVAL, False)])
def test_what_cannot_be_put_on_the_disk_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, fails: bool
) -> None:
    """A disk that is full or broken may say so only now; a file system that cannot sync is none of them."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: (_ for _ in ()).throw(OSError(number, os.strerror(number))))
    if not fails:
        write_run(RUN, tmp_path / "a.run")
        assert (tmp_path / "a.run").read_bytes() == LINE
        return
    with pytest.raises(UsageError, match=r"a.run: cannot write here"):
        write_run(RUN, tmp_path / "a.run")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["a.pdf", "a.png", "a.html.gz", "a.xlsx", "a.pdf.zst"])
def test_names_of_other_formats_are_not_given_to_trec(tmp_path: Path, name: str) -> None:
    for write in (lambda path: write_run(RUN, path), lambda path: write_references(GRADED, path)):
        with pytest.raises(UsageError, match=r"cannot be written; use"):
            write(tmp_path / name)
    assert not list(tmp_path.iterdir())
