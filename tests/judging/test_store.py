"""The database: a copy of the file has every answer that was kept, and what goes wrong with it is said."""

import os
import shutil
import sqlite3
import stat
import sys

import pytest

from rankdev.data.database import read_answers
from rankdev.judging.store import Answer, Store, StoreError
from tests.raising import raises

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be moved")


@pytest.fixture
def store(tmp_path):
    made = Store(tmp_path / "j.sqlite")
    yield made
    made.close()


def add(store, request, outcome="first"):
    return store.add(request, Answer("q", "a", "b", outcome, "ann"))


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
        with raises("database-gone", StoreError, path=str(store.path)):
            refused()
    assert not store.path.exists()
    assert kept(tmp_path / "away.sqlite") == 1
    (tmp_path / "away.sqlite").rename(store.path)
    assert add(store, "r2")
    assert kept(store.path) == 2


def test_a_lock_of_another_program_is_named_and_passes(store):
    store._connection.execute("PRAGMA busy_timeout=10")
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with raises("not-saved", StoreError, why="database is locked"):
        add(store, "r1")
    other.execute("ROLLBACK")
    other.close()
    assert add(store, "r1")
    assert not add(store, "r1")


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
    with raises("in-use", StoreError):
        Store(tmp_path / "here" / "j.sqlite")
    assert kept(tmp_path / "here" / "j.sqlite") == kept(tmp_path / "link.sqlite") == 1
    (tmp_path / "link.sqlite").unlink()
    with raises("database-gone", StoreError):
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
        with raises("not-a-database", path=str(path)):
            Store(path)
        assert path.read_bytes() == before


@pytest.mark.parametrize(("name", "kind"), [(".", "not-a-database"), ("none/j.sqlite", "no-folder")])
def test_where_no_database_can_be_is_named(name, kind, tmp_path):
    with raises(kind, path=str(tmp_path / name)):
        Store(tmp_path / name)
