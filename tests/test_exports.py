"""The public names: those of the design are exported, and each can be had."""

from importlib import import_module

import pytest

import rankdev as rd
from rankdev import errors

DESIGN = {
    *("Reference", "References", "Run", "Scores", "evaluate", "explain", "parse", "score"),
    *("read_references", "read_run", "write_references", "write_run"),
    *("significance", "power", "stability", "agreement", "plan", "sensitivity", "equivalence", "meta_analysis"),
    *("losses", "strengths", "tiers", "weights_from_clicks"),
}


@pytest.mark.parametrize("name", rd.__all__)
def test_every_public_name_can_be_had(name):
    assert getattr(rd, name) is not None
    assert name in dir(rd)


def test_what_the_design_promises_is_public():
    assert set(rd.__all__) >= DESIGN


@pytest.mark.parametrize("name", ["RankdevError", "DataError", "UsageError", "MeasureError", "RankdevWarning"])
def test_what_a_user_can_catch_is_public(name):
    assert getattr(rd, name) is getattr(errors, name)


def test_star_import_gives_just_the_public_names():
    space = {}
    exec("from rankdev import *", space)
    assert set(space) - {"__builtins__"} == set(rd.__all__)


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="module 'rankdev' has no attribute 'evalute'"):
        _ = rd.evalute


def test_every_measure_can_be_had_by_its_class():
    measures = import_module("rankdev.measures")
    assert all(hasattr(measures, name) for name in measures.__all__)
    ours = {kind.__name__ for kind in measures.REGISTRY.values() if kind.__module__.startswith("rankdev.")}
    assert ours <= set(measures.__all__)
