"""Measures that others wrote: classes, files and installed packages, and what is said where they are wrong."""

from importlib import metadata
from importlib.metadata import EntryPoint

import pytest

import rankdev as rd
from rankdev import MeasureError
from rankdev.measures import REGISTRY, Measure, load_file, load_installed
from rankdev.measures import base as plugins
from tests.raising import raises

FOUND = '''
from dataclasses import dataclass
from rankdev.measures import Measure

@dataclass(frozen=True, kw_only=True)
class Found(Measure):
    """Number of reference items in the first k."""
    name = "Found"
    def score(self, match):
        return match.hits(self.cutoff).sum(axis=1)
'''


@pytest.fixture(autouse=True)
def same_registry():
    known = dict(REGISTRY)
    yield
    REGISTRY.clear()
    REGISTRY.update(known)


def written(tmp_path, text):
    path = tmp_path / "mine.py"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file(tmp_path):
    path = written(tmp_path, FOUND)
    load_file(path)
    load_file(path)  # again is no clash
    assert rd.score(["d1", "d2"], ["d2", "x", "d1"], "Found@2") == 1
    assert str(rd.parse("Found@2")) == "Found@2"


def test_an_installed_package(tmp_path, monkeypatch):
    (tmp_path / "found_measures.py").write_text(FOUND, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    entry = EntryPoint("found", "found_measures", plugins.GROUP)
    monkeypatch.setattr(metadata, "entry_points", lambda group: [entry] if group == plugins.GROUP else [])
    load_installed.cache_clear()
    assert rd.parse("Found@3").cutoff == 3
    load_installed.cache_clear()


@pytest.mark.parametrize(
    ("text", "kind", "fields"),
    [
        (FOUND.replace('    name = "Found"\n', ""), "nameless-measure", {"line": 6, "cls": "Found", "name": None}),
        (FOUND.replace('"Found"', '"a b"'), "nameless-measure", {"name": "a b"}),
        (FOUND.replace('"Found"', '"AP"'), "name-taken", {"line": 6, "name": "AP", "cls": "Found"}),
        ("x = 1 / 0\n", "broken-code", {"line": 1, "error": "ZeroDivisionError"}),
        ("def f(:\n", "broken-code", {"line": 1, "error": "SyntaxError"}),
        ("x = 1\n", "defines-no-measure", {}),
    ],
)
def test_files_that_are_wrong(tmp_path, text, kind, fields):
    path = written(tmp_path, text)
    with raises(kind, MeasureError, path=str(path), **fields):
        load_file(path)


def test_a_forgotten_decorator():
    class Plain(Measure):
        name = "Plain"
        depth: int = 3

        def score(self, match):
            return match.lengths

    with raises("not-a-dataclass", MeasureError, cls="Plain"):
        rd.parse("Plain@5")
