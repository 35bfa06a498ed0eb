"""The page that judges see: one template, filled with the texts of a language, its scripts and its styles."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

from rankdev.errors import DataError

DEFAULT = "en"
LONGEST_GUIDELINES = 100_000  # characters
MARK = re.compile(r"\{\{(\w+)\}\}")  # a text in the template
TYPES = {".js": "text/javascript", ".css": "text/css"}
OWN = ("texts.js", "guide.js", "grade.js", "keys.js", "judge.js", "history.js", "owner.js")
PARTS = {
    **{f"/{name}": ("rankdev.judging", name) for name in (*OWN, "judge.css")},
    **{f"/{name}": ("rankdev.html_report", name) for name in ("page.js", "page.css")},
}


@cache
def languages() -> tuple[str, ...]:
    """List the languages that there are texts in."""
    folder = files("rankdev.judging").joinpath("assets", "languages")
    return tuple(sorted(entry.name.removesuffix(".json") for entry in folder.iterdir()))


@cache
def texts_of(language: str) -> dict[str, Any]:
    """Return all texts of the page by name; one that counts something has a form per grammatical number."""
    found = files("rankdev.judging").joinpath("assets", "languages", f"{language}.json")
    return dict(json.loads(found.read_text(encoding="utf-8")))


def read_guidelines(path: str) -> str:
    """Read a file of Markdown: what makes an item better, for people and for models."""
    try:
        text = Path(path).read_text("utf-8")
    except OSError as error:
        raise DataError("cannot-open", path=path, why=error.strerror) from None
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise DataError("not-utf8", path=path)
    if len(text) > LONGEST_GUIDELINES:
        raise DataError("too-long", path=path, what="guidelines", most=LONGEST_GUIDELINES)
    if not text.strip():
        raise DataError("empty", path=path, name="the file", expected="what makes an item better, as Markdown")
    return text


def guidelines_html(text: str) -> str:
    """Return Markdown as HTML that loads nothing and runs nothing: HTML in it is text, and images are links."""
    return str(MarkdownIt("commonmark", {"html": False}).enable("table").disable("image").render(text))


@cache
def html(language: str) -> bytes:
    """Return the page in a language."""
    template = files("rankdev.judging").joinpath("assets", "judge.html").read_text(encoding="utf-8")
    texts = texts_of(language)
    places = {name: escape(text) for name, text in texts.items() if isinstance(text, str)}
    places["language"], places["texts"] = language, json.dumps(texts, ensure_ascii=False).replace("<", "\\u003c")
    return MARK.sub(lambda mark: places[mark[1]], template).encode()


def preferred(accepted: str) -> str:
    """Choose a language for a browser by what it accepts, such as ``de-AT, de;q=0.9, en;q=0.8``."""
    wanted: list[tuple[float, str]] = []
    for part in accepted[:1000].split(","):
        name, _, weight = part.partition(";")
        found = re.fullmatch(r"\s*q\s*=\s*(0(?:\.\d*)?|1(?:\.0*)?)\s*", weight)
        wanted.append((float(found[1]) if found else 1.0, name.strip().lower().partition("-")[0]))
    ranked = sorted((entry for entry in wanted if entry[0] > 0), key=lambda entry: -entry[0])
    return next((name for _, name in ranked if name in languages()), DEFAULT)


def part(path: str) -> tuple[bytes, str]:
    """Return a file of :data:`PARTS`, and its type."""
    package, name = PARTS[path]
    return files(package).joinpath("assets", name).read_bytes(), TYPES[Path(name).suffix]


def policy(remote: Iterable[str]) -> str:
    """Return what the browser may load for the page: its own parts, and images of remote servers."""
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
        f" img-src 'self' data: {' '.join(remote)}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
