"""Without its library an integration says what to install."""

import importlib
import sys

import pytest

from rankdev.errors import MissingExtraError
from tests.raising import raises

LIBRARIES = {
    "ir_measures": ("ir_measures", "ir-measures"),
    "sentence_transformers": ("sentence_transformers", "sentence-transformers"),
    "sklearn": ("sklearn", "sklearn"),
    "spark": ("pyspark", "spark"),
    "torch": ("torch", "torch"),
}


@pytest.mark.parametrize("module", LIBRARIES)
def test_the_extra_is_named(module, monkeypatch):
    library, extra = LIBRARIES[module]
    name = f"rankdev.integrations.{module}"
    for loaded in [known for known in sys.modules if known.partition(".")[0] == library]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, name, raising=False)
    with raises("missing-extra", MissingExtraError, extra=extra):
        importlib.import_module(name)
