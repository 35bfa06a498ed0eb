"""Markdown as a tree of a few kinds of elements; markup of any other kind is text.

The tree is what a page builds elements from: nothing in it can become a script, load anything, or lead elsewhere than
to a page or a mail address. Images are links, since the page loads nothing from other servers.
"""

from __future__ import annotations

import re
from typing import Any

Node = str | tuple[str, dict[str, str], list[Any]]

TAGS = (
    *("h2", "h3", "h4", "h5", "h6", "p", "ul", "ol", "li", "blockquote", "pre", "hr"),
    *("code", "strong", "em", "a", "br", "table", "thead", "tbody", "tr", "th", "td"),
)
DEEPEST = 8  # lists and quotes within each other; beyond, their marks are text

_FENCE = re.compile(r" {0,3}(```+|~~~+)[^`]*$")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t#]*$")
_RULE = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$")
_QUOTE = re.compile(r" {0,3}> ?")
_ITEM = re.compile(r"( {0,3}(?:[-*+]|(\d{1,9})[.)]) +)(?=\S)")
_ROW = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_INLINE = re.compile(
    r"\\(?P<escaped>[!-/:-@\[-`{-~])"
    r"|(?P<ticks>`+)(?P<code>.{1,1000}?)(?<!`)(?P=ticks)(?!`)"
    r"|!?\[(?P<label>[^\[\]]{1,1000})\]"
    r"\([ ]*<?(?P<address>[^\s<>()]{0,2000}(?:\([^\s<>()]{0,200}\)[^\s<>()]{0,200})?)>?"
    r"(?: +\"[^\"]{0,1000}\")?[ ]*\)"
    r"|<(?P<bare>(?:https?://|mailto:)[^\s<>]{1,2000})>"
    r"|(?P<strong>\*\*|(?<!\w)__)(?=\S)(?P<bold>.{1,1000}?)(?<=\S)(?P=strong)"
    r"|(?P<em>\*|(?<!\w)_(?!_))(?=[^\s*_])(?P<italic>.{1,1000}?)(?<=[^\s*])(?P=em)(?!\w)"
    r"|(?P<break>(?: {2,}|\\)\n)",
    re.DOTALL,
)
_SAFE = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)


def parsed(text: str) -> list[Node]:
    """Return Markdown as a list of elements, each a tag of :data:`TAGS`, attributes and children, or text."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").expandtabs(4).split("\n")
    return _blocks(lines, 0)


def _blocks(lines: list[str], depth: int) -> list[Node]:
    found: list[Node] = []
    at = 0
    while at < len(lines):
        line, start = lines[at], at
        if not line.strip():
            at += 1
        elif fence := _FENCE.match(line):
            close = re.compile(rf" {{0,3}}{fence[1][0]}{{{len(fence[1])},}} *$")
            at = next((k for k in range(at + 1, len(lines)) if close.match(lines[k])), len(lines))
            found.append(("pre", {}, [("code", {}, ["\n".join(lines[start + 1 : at])])]))
            at += 1
        elif heading := _HEADING.match(line):
            found.append((f"h{min(len(heading[1]) + 1, 6)}", {}, _inline(heading[2])))
            at += 1
        elif _RULE.match(line):
            found.append(("hr", {}, []))
            at += 1
        elif depth < DEEPEST and _QUOTE.match(line):
            at = _end(lines, at, lambda other: not other.strip())
            found.append(
                ("blockquote", {}, _blocks([_QUOTE.sub("", other, 1) for other in lines[start:at]], depth + 1))
            )
        elif depth < DEEPEST and _ITEM.match(line):
            made, at = _list(lines, at, depth)
            found.append(made)
        elif "|" in line and at + 1 < len(lines) and _ROW.match(lines[at + 1]) and "-" in lines[at + 1]:
            at = _end(lines, at, lambda other: "|" not in other)
            found.append(_table(lines[start:at]))
        else:
            at = _end(lines, at, lambda other: not other.strip() or _interrupts(other))
            found.append(("p", {}, _inline("\n".join(other.lstrip(" ") for other in lines[start:at]).rstrip())))
    return found


def _interrupts(line: str) -> bool:
    return bool(_FENCE.match(line) or _HEADING.match(line) or _QUOTE.match(line) or _ITEM.match(line))


def _end(lines: list[str], start: int, ends: Any) -> int:
    return next((k for k in range(start + 1, len(lines)) if ends(lines[k])), len(lines))


def _list(lines: list[str], at: int, depth: int) -> tuple[Node, int]:
    """Read a list: an item continues as long as lines are indented, or follow without an empty line."""
    first = _ITEM.match(lines[at])
    assert first is not None
    items: list[Node] = []
    ordered = first[2] is not None
    while at < len(lines) and (mark := _ITEM.match(lines[at])) and (mark[2] is not None) == ordered:
        indent, own = len(mark[1]), [lines[at][len(mark[1]) :]]
        at += 1
        while at < len(lines):
            line = lines[at]
            if not line.strip():
                after = next((lines[k] for k in range(at, len(lines)) if lines[k].strip()), "")
                if not after.startswith(" " * indent):
                    break
            elif not line.startswith(" " * min(indent, 2)) and (_interrupts(line) or not lines[at - 1].strip()):
                break
            own.append(line[indent:] if line.startswith(" " * indent) else line.lstrip(" "))
            at += 1
        content = _blocks(own, depth + 1)
        if content and isinstance(content[0], tuple) and content[0][0] == "p":
            content = [*content[0][2], *content[1:]]
        items.append(("li", {}, content))
        while at < len(lines) and not lines[at].strip() and at + 1 < len(lines):
            at += 1
    start = {"start": first[2]} if ordered and first[2] != "1" else {}
    return ("ol" if ordered else "ul", start, items), at


def _table(lines: list[str]) -> Node:
    rows = [[cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")] for line in lines]
    width = len(rows[0])

    def row(tag: str, cells: list[str]) -> Node:
        padded = [*cells, *[""] * width][:width]
        return "tr", {}, [(tag, {}, _inline(cell)) for cell in padded]

    return "table", {}, [("thead", {}, [row("th", rows[0])]), ("tbody", {}, [row("td", cells) for cells in rows[2:]])]


def _inline(text: str, depth: int = 0) -> list[Node]:
    if depth > DEEPEST:
        return [text]
    found: list[Node] = []
    at = 0
    for part in _INLINE.finditer(text):
        found.append(text[at : part.start()])
        found.append(_element(part, depth))
        at = part.end()
    found.append(text[at:])
    return [node for node in found if node != ""]


def _element(part: re.Match[str], depth: int) -> Node:
    found = {name: text for name, text in part.groupdict().items() if text is not None}
    match found:
        case {"escaped": text}:
            made: Node = text
        case {"code": text}:
            made = ("code", {}, [text.strip() or " "])
        case {"bold": text}:
            made = ("strong", {}, _inline(text, depth + 1))
        case {"italic": text}:
            made = ("em", {}, _inline(text, depth + 1))
        case {"bare": address}:
            made = ("a", {"href": address}, [address])
        case {"label": text, "address": address}:
            made = ("a", {"href": address}, [text]) if _SAFE.match(address) else part[0]
        case _:
            made = ("br", {}, [])
    return made
