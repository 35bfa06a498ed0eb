"""What is shown to people: the items of each query with title, text, link and picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from rankdev.errors import FileFormatError, shown
from rankdev.formats.parts import Table
from rankdev.formats.streams import PathLike, Source
from rankdev.formats.tables import read_table
from rankdev.judging.pool import Pool

SHOWN = ("title", "text", "url")
OPTIONAL = (*SHOWN, "image", "grade", "query_text")
EXPECTED = "expected a table with the columns query and item, and perhaps title, text, url, image, grade, query_text"
PICTURES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}


@dataclass(frozen=True, eq=False)
class Exhibits:
    """Items as people see them; ``pictures`` are files, by query and item, and remote ones are in ``content``."""

    pool: Pool
    content: Mapping[tuple[str, str], dict[str, str]]
    pictures: Mapping[tuple[str, str], Path]
    query_text: Mapping[str, str]

    def query(self, query: str) -> dict[str, str]:
        """Give what a page shows of a query."""
        return {"id": query, "text": self.query_text.get(query, query)}

    def shown(self, query: str, item: str) -> dict[str, Any]:
        """Give what a page shows of an item; a picture that is a file by its number."""
        number = self._numbers.get((query, item))
        return {"item": item, **self.content[query, item], **({} if number is None else {"picture": number})}

    @cached_property
    def _numbers(self) -> dict[tuple[str, str], int]:
        return {key: number for number, key in enumerate(self.pictures)}

    def remote(self) -> list[str]:
        """Name the servers that pictures come from."""
        addresses = (urlsplit(entry["image"]) for entry in self.content.values() if "image" in entry)
        return sorted({f"{address.scheme}://{address.netloc}" for address in addresses})


def read_items(path: PathLike) -> Exhibits:
    """Read JSONL, CSV, TSV or Parquet with query and item, and what else there is to show."""
    with Source(path) as source:
        if source.kind in ("trec", "json"):
            raise FileFormatError(source.name, EXPECTED)
        table = read_table(source, source.kind)
    if missing := [name for name in ("query", "item") if name not in table.frame.columns]:
        raise FileFormatError(table.name, f"there is no column {missing[0]}; {EXPECTED}")
    frame = table.frame.select(name for name in ("query", "item", *OPTIONAL) if name in table.frame.columns)
    content: dict[tuple[str, str], dict[str, str]] = {}
    pictures: dict[tuple[str, str], Path] = {}
    grades: dict[str, dict[str, float]] = {}
    texts: dict[str, str] = {}
    for row, values in enumerate(frame.iter_rows(named=True)):
        entry = _Row(table, row, values)
        query, item = entry.needed("query"), entry.needed("item")
        if (query, item) in content:
            entry.fail(f"item {shown(item)} appears twice in query {shown(query)}")
        content[query, item] = entry.shown()
        if picture := entry.picture(Path(str(path)).absolute().parent):
            pictures[query, item] = picture
        grades.setdefault(query, {})[item] = entry.grade()
        if text := entry.text("query_text"):
            texts[query] = text
    graded = "grade" in frame.columns
    items: dict[str, Any] = {query: entries if graded else list(entries) for query, entries in grades.items()}
    return Exhibits(Pool.of(items), content, pictures, texts)


@dataclass(frozen=True)
class _Row:
    table: Table
    number: int
    values: Mapping[str, Any]

    def fail(self, message: str) -> None:
        raise FileFormatError(self.table.name, message, self.table.line_of(self.number))

    def text(self, name: str) -> str:
        value = self.values.get(name)
        return "" if value is None else str(value)

    def needed(self, name: str) -> str:
        if not self.text(name):
            self.fail(f"the {name} is empty")
        return self.text(name)

    def shown(self) -> dict[str, str]:
        entry = {name: self.text(name) for name in SHOWN if self.text(name)}
        if "url" in entry and urlsplit(entry["url"]).scheme not in ("http", "https"):
            self.fail(f"the url is {shown(entry['url'])}; expected one that begins with http:// or https://")
        if urlsplit(self.text("image")).scheme in ("http", "https"):
            entry["image"] = self.text("image")
        return entry

    def picture(self, folder: Path) -> Path | None:
        image = self.text("image")
        if not image or urlsplit(image).scheme in ("http", "https"):
            return None
        path = folder / image
        if path.suffix.lower() not in PICTURES:
            self.fail(f"the image is {shown(image)}; expected a file ending in {', '.join(PICTURES)}, or an address")
        if not path.is_file():
            self.fail(f"there is no image {shown(image)} beside the file")
        return path

    def grade(self) -> float:
        value = self.values.get("grade", 0)
        try:
            return float(value)
        except (TypeError, ValueError):
            self.fail(f"the grade is {shown(value)}; expected a number for every item, or no such column")
            raise
