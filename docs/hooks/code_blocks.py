"""What the site makes of code blocks, which stay plain Markdown for other viewers.

Blocks between ``<!-- tabs -->`` and ``<!-- end tabs -->`` become tabs, Python with prompts is highlighted as such.
"""

import re
from textwrap import indent
from typing import Any

TABS = re.compile(r"^<!-- tabs -->\n(.*?)^<!-- end tabs -->$", re.DOTALL | re.MULTILINE)
BLOCK = re.compile(r"^```(\w+)\n.*?^```$", re.DOTALL | re.MULTILINE)
TITLES = {"pycon": "Python", "console": "Command line"}


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Name the language of prompts, show empty lines as such, and make the tabs."""
    shown = markdown.replace("```python\n>>> ", "```pycon\n>>> ").replace("\n<BLANKLINE>\n", "\n\n")
    return TABS.sub(lambda found: tabs(found[1]), shown)


def tabs(text: str) -> str:
    """Return a tab for each block of code, named after its language."""
    parts = [f'=== "{TITLES[block[1]]}"\n\n{indent(block[0], "    ")}' for block in BLOCK.finditer(text)]
    assert BLOCK.sub("", text).strip() == "", f"tabs hold nothing but blocks of code: {text}"
    return "\n\n".join(parts)
