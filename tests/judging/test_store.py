"""The database: a copy of the file has every answer that was kept, and what goes wrong with it is said."""

import os
import shutil
import sqlite3
import stat
import sys

import pytest

import rankdev as rd
from rankdev.io.judgment_database import read_answers
from rankdev.judging._database import StoreError
from rankdev.judging.store import Store, StoredAnswer
from tests.judging.serving import Client, serving

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be moved")


@pytest.fixture
def store(tmp_path):
    made = Store(tmp_path / "j.sqlite")
    yield made
    made.close()


def add(store, request, outcome="first"):
    return store.add(request, StoredAnswer("q", "a", "b", outcome, "ann"))


def kept(path):
    return len(read_answers(path))


def test_a_copy_of_the_file_has_every_answer(store, tmp_path):
    for number in range(40):
        add(store, f"r{number}")
        assert kept(shutil.copy(store.path, tmp_path / "copy.sqlite")) == number + 1
    store.undo("ann", lambda _: True)
    assert kept(shutil.copy(store.path, tmp_path / "undone.sqlite")) == 39
    assert not list(tmp_path.glob("j.sqlite-[wsj]*l*"))  # neither a log nor a journal is needed


@POSIX
def test_a_file_that_was_moved_takes_no_answers_until_it_is_back(store, tmp_path):
    add(store, "r1")
    store.path.rename(tmp_path / "away.sqlite")
    for refused in (lambda: add(store, "r2"), store.answers, store.check, lambda: store.undo("ann", lambda _: True)):
        with pytest.raises(StoreError, match=r"j\.sqlite is no longer there: it was moved\. Move it back"):
            refused()
    assert not store.path.exists()
    assert kept(tmp_path / "away.sqlite") == 1
    (tmp_path / "away.sqlite").rename(store.path)
    assert add(store, "r2")
    assert kept(store.path) == 2


@POSIX
@pytest.mark.parametrize("replaced", [False, True])
def test_what_a_deleted_file_had_is_rescued(replaced, store, tmp_path):
    for number in range(5):
        add(store, f"r{number}")
    (tmp_path / "j.sqlite-rescued").write_text("of an earlier time")
    if replaced:
        Store(tmp_path / "other.sqlite").close()
        (tmp_path / "other.sqlite").rename(store.path)
    else:
        store.path.unlink()
    for _ in range(2):
        with pytest.raises(StoreError, match=r"it was deleted\. What was saved is in .*-rescued-2: rename it"):
            add(store, "r9")
    assert kept(tmp_path / "j.sqlite-rescued-2") == 5
    assert (tmp_path / "j.sqlite-rescued").read_text() == "of an earlier time"
    assert not (tmp_path / "j.sqlite-rescued-3").exists()


def test_a_file_that_is_overwritten_in_place_is_noticed(store, tmp_path):
    add(store, "r1")
    backup = shutil.copy(store.path, tmp_path / "backup.sqlite")
    add(store, "r2")
    shutil.copyfile(backup, store.path)
    with pytest.raises(StoreError, match="was overwritten while it was in use"):
        add(store, "r3")
    assert kept(store.path) == 1


def test_a_lock_of_another_program_is_named_and_passes(store):
    store._connection.execute("PRAGMA busy_timeout=10")
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreError, match=r"nothing can be saved: another program has locked it; close that program"):
        add(store, "r1")
    other.execute("ROLLBACK")
    other.close()
    assert add(store, "r1")
    assert not add(store, "r1")


def test_a_full_disk_is_named_and_loses_nothing(store):
    add(store, "r1")
    pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
    store._connection.execute(f"PRAGMA max_page_count={pages}")
    long = StoredAnswer("q", "a", "b", "tie", "ann", comment="x" * 10_000)
    with pytest.raises(StoreError, match="the disk is full; free some space, and answer again"):
        store.add("r2", long)
    assert kept(store.path) == 1
    store._connection.execute("PRAGMA max_page_count=1000000")
    assert store.add("r2", long)


@POSIX
def test_only_the_owner_may_read_the_file(tmp_path):
    before = os.umask(0o022)
    try:
        store = Store(tmp_path / "j.sqlite")
        add(store, "r")
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    store.close()
    assert modes == {"j.sqlite": 0o600, "j.sqlite-judging": 0o600}


@POSIX
def test_links_to_one_file_are_one_database(tmp_path):
    (tmp_path / "here").mkdir()
    (tmp_path / "link.sqlite").symlink_to(tmp_path / "here" / "j.sqlite")
    store = Store(tmp_path / "link.sqlite")
    add(store, "r")
    with pytest.raises(StoreError, match="another process has it open"):
        Store(tmp_path / "here" / "j.sqlite")
    assert kept(tmp_path / "here" / "j.sqlite") == kept(tmp_path / "link.sqlite") == 1
    (tmp_path / "link.sqlite").unlink()
    with pytest.raises(StoreError, match="it was moved"):
        add(store, "r2")
    store.close()


def test_a_database_of_something_else_is_left_alone(tmp_path):
    path = tmp_path / "cake.sqlite"
    for schema in ("CREATE TABLE cake (a)", "CREATE TABLE answers (a)"):
        path.unlink(missing_ok=True)
        connection = sqlite3.connect(path)
        connection.execute(schema)
        connection.close()
        before = path.read_bytes()
        with pytest.raises(rd.DataError, match="this is not a database of judgments"):
            Store(path)
        assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (".", "this is not a file"),
        ("none/j.sqlite", "there is no folder"),
        pytest.param(
            "/proc/j.sqlite", "cannot be opened", marks=pytest.mark.skipif(sys.platform != "linux", reason="no /proc")
        ),
        pytest.param(
            "/dev/null", "this is not a file", marks=pytest.mark.skipif(sys.platform == "win32", reason="no devices")
        ),
    ],
)
def test_where_no_database_can_be_is_named(name, message, tmp_path):
    with pytest.raises(rd.DataError, match=message):
        Store(tmp_path / name)


def test_a_file_that_cannot_be_written_to_is_noticed_at_the_start(tmp_path, monkeypatch):
    Store(tmp_path / "j.sqlite").close()
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda path, **kwargs: connect(f"file:{path}?mode=ro", uri=True, **kwargs))
    with pytest.raises(StoreError, match="cannot be opened: it cannot be written to"):
        Store(tmp_path / "j.sqlite")


@POSIX
def test_the_page_and_the_terminal_say_that_the_file_is_gone(tmp_path):
    said = []
    with serving(tmp_path, warn=said.append) as server:
        ann = Client(server)
        question = ann.next()
        ann.answer(question)
        path = server.session.store.path
        path.rename(tmp_path / "away.sqlite")
        status, reply = ann.answer(ann.post("next")[1].get("question") or question, "second", request="r")
        assert status == 503
        assert "it was moved" in reply["error"]
        (tmp_path / "away.sqlite").rename(path)
        assert Client(server).answer(Client(server).next())[0] == 200
        assert kept(path) == 2
    assert len(said) >= 1
    assert all("it was moved" in line for line in said)
