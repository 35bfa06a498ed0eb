"""What the site makes of code blocks: tabs, prompts, empty lines."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

SPEC = spec_from_file_location("code_blocks", Path(__file__).parents[2] / "docs/hooks/code_blocks.py")
BLOCKS = module_from_spec(SPEC)
SPEC.loader.exec_module(BLOCKS)
PAGE = """Text.

<!-- tabs -->

```console
$ rankdev --version
```

```python
>>> print("a\\n\\nb")
a
<BLANKLINE>
b

```

<!-- end tabs -->

```python
code = "without prompts"
```
"""
SHOWN = """Text.

=== "Command line"

    ```console
    $ rankdev --version
    ```

=== "Python"

    ```pycon
    >>> print("a\\n\\nb")
    a

    b

    ```

```python
code = "without prompts"
```
"""


def test_marked_blocks_become_tabs_named_after_their_language():
    assert BLOCKS.on_page_markdown(PAGE) == SHOWN


@pytest.mark.parametrize("inside", ["some prose\n", "```yaml\na: 1\n```\n"])
def test_tabs_hold_code_of_known_languages_only(inside):
    with pytest.raises((AssertionError, KeyError)):
        BLOCKS.on_page_markdown(f"<!-- tabs -->\n{inside}<!-- end tabs -->")
