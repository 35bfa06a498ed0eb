"""A small Markdown as a tree of a few kinds of elements; markup of any other kind is text.

Headings, paragraphs, lists, tables, bold, italic, code and links. The tree is what a page builds elements from: nothing
in it can become a script, load anything, or lead elsewhere than to a page or a mail address. Images are links.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import Any

Node = str | tuple[str, dict[str, str], list[Any]]

KINDS = {"h": r"#{1,6}[ \t]+", "ul": r"[-*+][ \t]+", "ol": r"\d{1,9}[.)][ \t]+", "table": r"\|"}
_JOINED = re.compile(r"\n[ \t]+(?![-*+#|\s]|\d+[.)])")  # an indented line goes on with the line before
_INLINE = re.compile(
    r"`(?P<code>[^`\n]{1,1000})`"
    r"|!?\[(?P<label>[^\[\]]{1,1000})\]\((?P<address>(?:https?://|mailto:)[^\s<>()]{1,2000})\)"
    r"|\*\*(?=\S)(?P<strong>[^*]{1,1000})(?<=\S)\*\*"
    r"|(?<![\w*])(?P<mark>[*_])(?=[^\s*_])(?P<em>[^*_]{1,1000})(?<=\S)(?P=mark)(?!\w)",
    re.IGNORECASE,
)


def parsed(text: str) -> list[Node]:
    """Return Markdown as a list of elements, each a tag, attributes and children, or text."""
    lines = _JOINED.sub(" ", re.sub(r"\r\n?", "\n", text.removeprefix("\ufeff"))).split("\n")
    found: list[Node] = []
    for kind, group in groupby((line.strip() for line in lines), _kind):
        content = [re.sub(f"^{KINDS.get(kind, '')}", "", line) for line in group]
        if kind == "h":
            found += [("h2", {}, _inline(line)) for line in content]
        elif kind == "p":
            found.append(("p", {}, _inline("\n".join(content))))
        elif kind == "table":
            rows = [line.removesuffix("|").split("|") for line in content if not re.fullmatch(r"[\s:|-]+", line)]
            found.append(("table", {}, [_row(row, "td" if number else "th") for number, row in enumerate(rows)]))
        elif kind:
            found.append((kind, {}, [("li", {}, _inline(line)) for line in content]))
    return found


def _kind(line: str) -> str:
    return next((kind for kind, start in KINDS.items() if re.match(start, line)), "p" if line else "")


def _row(cells: list[str], tag: str) -> Node:
    return "tr", {}, [(tag, {}, _inline(cell.strip())) for cell in cells]


def _inline(text: str) -> list[Node]:
    found: list[Node] = []
    at = 0
    for part in _INLINE.finditer(text):
        found.append(text[at : part.start()])
        if part["address"]:
            found.append(("a", {"href": part["address"]}, [part["label"]]))
        else:
            tag = next(name for name in ("code", "strong", "em") if part[name])
            found.append((tag, {}, [part[tag]] if tag == "code" else _inline(part[tag])))
        at = part.end()
    return [node for node in [*found, text[at:]] if node != ""]
