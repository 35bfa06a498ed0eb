"""Texts of queries and items from ir_datasets, where it is installed."""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any, TypeVar

from rankdev.errors import DataError, UsageError, shown

Found = TypeVar("Found")
LONGEST = 120  # characters of another library's message


class DatasetTexts:
    """The texts of a data set by its name there, such as ``msmarco-passage-v2/trec-dl-2021/judged``."""

    def __init__(self, name: str) -> None:
        try:
            import ir_datasets
        except ImportError:
            raise UsageError("--dataset needs ir_datasets, which is not installed: pip install ir_datasets") from None
        self.name = name
        try:
            self._dataset: Any = ir_datasets.load(name)
        except KeyError:
            raise UsageError(
                f"ir_datasets knows no data set {shown(name)}; expected a name such as"
                " msmarco-passage-v2/trec-dl-2021 (see ir-datasets.com)"
            ) from None

    def of_queries(self, wanted: Set[str]) -> dict[str, str]:
        """Return the text of each query."""
        if not self._dataset.has_queries():
            return {}
        return self._read(
            "--query-texts",
            lambda: {
                row.query_id: row.default_text() for row in self._dataset.queries_iter() if row.query_id in wanted
            },
        )

    def of_items(self, wanted: Set[str]) -> dict[str, str]:
        """Return the text of each item."""
        if not self._dataset.has_docs():
            return {}
        return self._read(
            "--item-texts",
            lambda: {item: doc.default_text() for item, doc in self._dataset.docs_store().get_many(wanted).items()},
        )

    def _read(self, instead: str, read: Callable[[], Found]) -> Found:
        try:
            return read()
        except Exception as error:  # whatever a download can raise
            why = " ".join(f"{type(error).__name__}: {error}".split())
            why = why if len(why) <= LONGEST else f"{why[:LONGEST]}…"
            raise DataError(
                f"--dataset {self.name}: ir_datasets cannot read its texts ({why}); give a file with {instead}"
            ) from None
