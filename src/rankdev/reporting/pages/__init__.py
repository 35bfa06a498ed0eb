"""Pages that are one file: no network, no server; scripts run only if their hash is in the page's own policy."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any


def self_contained(title: str, body: str, *, styles: Sequence[str], scripts: Sequence[str], data: Any) -> str:
    """Put a page together from files of this folder; ``data`` is what its scripts read.

    The page asks for nothing from outside, and no script or style from an item's text can run in it.
    """
    style = "\n".join(_read(name) for name in styles)
    script = "\n".join(_read(name) for name in scripts)
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:;"
        " base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n{_read(body)}"
        f'<script type="application/json" id="data">{in_script(data)}</script>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def in_script(data: Any) -> str:
    """Write JSON that can stand inside a script element, whatever the texts in it.

    >>> in_script({"item": "</script>"})
    '{"item":"\\\\u003c/script>"}'
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _read(name: str) -> str:
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
