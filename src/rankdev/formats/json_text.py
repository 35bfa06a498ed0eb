"""JSON read strictly: no name twice in an object, every text is text."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

from rankdev.errors import DataError, shown

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def loads(content: bytes) -> Any:
    """Read JSON in which no name of an object appears twice and every text is text."""
    value = json.loads(content.decode(), object_pairs_hook=unrepeated)
    if _SURROGATE.search(content):
        json.dumps(value, ensure_ascii=False).encode()  # fails where half a pair stands alone, which is not text
    return value


def unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a name that appears twice in an object, where JSON would keep the last."""
    value = dict(pairs)
    if len(value) < len(pairs):
        name = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise DataError(f"{shown(name)} appears twice in the same object; keep one")
    return value
