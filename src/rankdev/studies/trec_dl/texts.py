"""Texts by id, of queries or documents: tab-separated ``id text``, or JSONL with an id and a text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from rankdev.errors import FileFormatError
from rankdev.formats.streams import Source

IDS = ("id", "_id", "item", "query", "docid", "doc_id", "qid", "query_id")
TEXTS = ("text", "contents", "body")


def read_texts(path: str | Path) -> dict[str, str]:
    """Read a file of texts, plain, gzip or zstd."""
    texts: dict[str, str] = {}
    with Source(path) as source:
        for number, line in enumerate(source.read().decode("utf-8", errors="replace").split("\n"), start=1):
            if line.strip():
                name, text = _entry(str(path), number, line.rstrip("\r"))
                texts[name] = text
    return texts


def write_texts(texts: Mapping[str, str]) -> bytes:
    """Write texts as JSONL."""
    lines = (json.dumps({"id": name, "text": text}, ensure_ascii=False) for name, text in texts.items())
    return "".join(f"{line}\n" for line in lines).encode()


def _entry(path: str, number: int, line: str) -> tuple[str, str]:
    if not line.startswith("{"):
        name, tab, text = line.partition("\t")
        if not tab or not name:
            raise FileFormatError(path, "expected an id, a tab and a text, or a JSON object", number)
        return name, text
    try:
        record = json.loads(line)
    except ValueError as error:
        raise FileFormatError(path, f"this is not JSON ({error})", number) from None
    known = [record[key] for key in IDS if key in record]
    parts = [str(record[key]) for key in ("title", "headings", *TEXTS) if record.get(key)]
    if not known or not any(key in record for key in TEXTS):
        raise FileFormatError(path, f"expected an id ({', '.join(IDS)}) and a text ({', '.join(TEXTS)})", number)
    return str(known[0]), " ".join(parts)
