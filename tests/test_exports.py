"""The public names: those of the design are exported, and each can be had."""

import re
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

import rankdev as rd

DESIGN = {
    *("Reference", "References", "Run", "Scores", "evaluate", "explain", "parse", "score"),
    *("read_references", "read_run", "write_references", "write_run"),
    *("significance", "power", "stability", "agreement", "plan", "sensitivity", "meta_analysis"),
    *("losses", "strengths", "tiers", "weights_from_clicks"),
}


@pytest.mark.parametrize("name", sorted({*rd.__all__, *DESIGN}))
def test_every_public_name_can_be_had(name):
    assert getattr(rd, name) is not None
    assert name in dir(rd)


@pytest.mark.parametrize("package", ["rankdev", "rankdev.results"])
def test_type_checkers_read_the_same_names(package):
    """And no module hides one of them: importing it would put it in the place of the name."""
    module = import_module(package)
    stub = Path(module.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    assert set(re.findall(r" as (\w+)$", stub, re.MULTILINE)) == set(module.__all__) - {"__version__"}
    for name in module.__all__:
        assert find_spec(f"{package}.{name}") is None if hasattr(module, "__path__") else True
        assert not isinstance(getattr(module, name), ModuleType)


def test_every_name_of_the_api_pages_is_defined():
    pytest.importorskip("mkdocs")
    found = spec_from_file_location("pages", Path(__file__).parents[1] / "docs/hooks/reference_pages.py")
    pages = module_from_spec(found)
    found.loader.exec_module(pages)
    for names in pages.entries().values():
        for name in names:
            assert pages.reference(name)
