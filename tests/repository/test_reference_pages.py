"""Every public name is in the API reference, once, and docstrings become Markdown."""

from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SPEC = spec_from_file_location("reference_pages", ROOT / "docs/hooks/reference_pages.py")
PAGES = module_from_spec(SPEC)
SPEC.loader.exec_module(PAGES)
PUBLIC = ("rankdev", "rankdev.results", "rankdev.preferences", "rankdev.judging", "rankdev.learning", "rankdev.studies")
ENTRIES = [path for names in PAGES.entries().values() for path in names]
NUMPYDOC = """Add two numbers, as :func:`sum` does.

Parameters
----------
x, y : int
    What to add.

    Not text.
**options
    Ignored.

Returns
-------
int

Examples
--------
>>> add(1, 2)
3
"""
MARKDOWN = """Add two numbers, as `sum` does.

**Parameters**

`x, y` : int
:   What to add.

    Not text.

`**options`
:   Ignored.

**Returns** int

**Examples**

```python
>>> add(1, 2)
3
```"""


def named(path):
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


def test_every_public_name_has_one_entry():
    public = {
        named(f"{module}.{name}") for module in PUBLIC for name in import_module(module).__all__ if name[0] != "_"
    }
    listed = [named(path) for path in ENTRIES if ".integrations." not in path]
    assert len(listed) == len(set(listed))
    assert public - set(listed) == set()
    assert len(ENTRIES) == len(set(ENTRIES))


@pytest.mark.parametrize("path", ENTRIES)
def test_an_entry_says_what_it_is(path):
    shown = PAGES.reference(path)
    assert shown.startswith(f"## {path.removeprefix('rankdev.')} ")
    assert PAGES._summary(path)


def test_sections_of_a_docstring_become_definition_lists_and_code():
    assert "\n".join(line.rstrip() for line in PAGES.as_markdown(NUMPYDOC).splitlines()) == MARKDOWN


def test_a_docstring_without_sections_stays_text():
    assert PAGES.as_markdown("One.\n\n>>> 1\n1") == "One.\n\n```python\n>>> 1\n1\n```"


def test_signatures_are_those_of_the_source():
    assert "score(reference: " in PAGES.reference("rankdev.score").replace("(\n    ", "(")
    assert "Scores.differences(" in PAGES.reference("rankdev.Scores")
    assert "(self" not in PAGES.reference("rankdev.Scores")
    assert "rdq(" in PAGES.reference("rankdev.integrations.torch.rdq")  # also where there is no PyTorch
