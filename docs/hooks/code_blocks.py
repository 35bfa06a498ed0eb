"""What the site makes of code blocks, which stay plain Markdown for other viewers.

Blocks between ``<!-- tabs -->`` and ``<!-- end tabs -->`` become tabs, and Python with prompts is highlighted as such.
"""

import re
from textwrap import indent
from typing import Any

TABS = re.compile(r"^<!-- tabs -->\n(.*?)^<!-- end tabs -->$", re.DOTALL | re.MULTILINE)
BLOCK = re.compile(r"^```(\w+)\n.*?^```$", re.DOTALL | re.MULTILINE)
TITLES = {"python": "Python", "console": "Command line"}


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Make the tabs, then name the language of prompts."""
    return TABS.sub(lambda found: tabs(found[1]), markdown).replace("```python\n>>> ", "```pycon\n>>> ")


def tabs(text: str) -> str:
    """Return a tab for each block of code, named after its language."""
    parts = [f'=== "{TITLES[block[1]]}"\n\n{indent(block[0], "    ")}' for block in BLOCK.finditer(text)]
    assert BLOCK.sub("", text).strip() == "", f"tabs hold nothing but blocks of code: {text}"
    return "\n\n".join(parts)
