"""Assemble self-contained pages under a content security policy, and pack what they show into one text."""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Assets:
    """The files in ``assets`` that a page is made of."""

    body: str
    styles: Sequence[str]
    scripts: Sequence[str]

    @cached_property
    def style(self) -> str:
        """All styles."""
        return "\n".join(asset(name) for name in self.styles)

    @cached_property
    def script(self) -> str:
        """All scripts, without the comments that stand on lines of their own and those that state types."""
        whole = "\n".join(asset(name) for name in self.scripts)
        return re.sub(r"(?s:/\*\*.*?\*/\s*)|(?m:^ *//.*\n)", "", whole)


def self_contained(
    title: str, assets: Assets, data: Any, opens: Assets | None = None, static: Mapping[str, str] | None = None
) -> str:
    """Assemble a page; ``data`` is what its scripts read, ``static`` the HTML that stands without them, by its place.

    The page loads nothing from outside, and no script or style in an item's text can run in it. A page that it holds
    and ``opens`` has its policy, which therefore allows the scripts of both.
    """
    pages = [assets, *([] if opens is None else [opens])]
    style, script, body = assets.style, assets.script, asset(assets.body)
    for name, content in (static or {}).items():
        body = body.replace(f"<!--{name}-->", content)
    scripts = " ".join(_hash(page.script) for page in pages)
    styles = " ".join(_hash(page.style) for page in pages)
    policy = (
        f"default-src 'none'; script-src {scripts}; style-src {styles}; img-src data:; base-uri 'none';"
        " form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n{body}"
        f'<script type="application/json" id="data">{in_script(data)}</script>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def in_script(data: Any) -> str:
    """Write JSON that is safe inside a script element, whatever its texts.

    >>> in_script({"item": "</script>"})
    '{"item":"\\\\u003c/script>"}'
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def asset(name: str) -> str:
    """Return the text of a file in ``assets``."""
    return files("rankdev.html_report").joinpath("assets", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def packed(header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any] | list[Any]]) -> str:
    """Put names, sentences and numbers into one text. For ``assets/report.js`` a missing number is null, 1e999 is ∞."""
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    lists = {name: values.tolist() if isinstance(values, np.ndarray) else values for name, values in arrays.items()}
    numbers = json.dumps(lists, separators=(",", ":")).replace("NaN", "null").replace("Infinity", "1e999")
    numbers = re.sub(r"\.0(?=[],])", "", numbers)
    return b64encode(zlib.compress(f"[{text},{numbers}]".encode("utf-8", "replace"), 8)).decode()
