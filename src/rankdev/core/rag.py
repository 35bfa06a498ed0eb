"""Records of retrieval-augmented generation: a question, the contexts retrieved for it, and those that were right.

As ragas, LangChain and LlamaIndex have them. Contexts are named by their ids where there are ids, else by their text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rankdev._common.lazy import pl
from rankdev._common.names import KNOWN_NAMES
from rankdev._common.reading import reading
from rankdev.errors import DataError, shown

QUESTIONS = (*KNOWN_NAMES["query"], "user_input", "question", "input")
RETRIEVED = (
    *("retrieved_context_ids", "retrieved_ids", "retrieved_contexts", "contexts", "retrieved_texts"),
    *("source_documents", "source_nodes"),
)
RIGHT = ("reference_context_ids", "expected_ids", "reference_contexts", "expected_texts", "ground_truth_contexts")
_IDS = ("id", "id_", "node_id", "chunk_id", "doc_id")
_TEXTS = ("page_content", "text", "content")


def question_of(record: Mapping[str, Any]) -> Any:
    """Return the query that a record names, by the column that was chosen or by a name that is known."""
    own = reading().columns.get("query")
    if own is not None and own in record:
        reading().met.add(own)
        return record[own] if isinstance(record[own], str | int) else None
    return next((record[name] for name in QUESTIONS if isinstance(record.get(name), str | int)), None)


def is_retrieved(value: Any) -> bool:
    """Tell whether a record holds what was retrieved for a question."""
    return isinstance(value, Mapping) and any(isinstance(value.get(name), list) for name in RETRIEVED)


def records_in(frame: pl.DataFrame, names: tuple[str, ...]) -> list[dict[str, Any]] | None:
    """Return the rows of a table with lists of contexts, as ragas' ``to_pandas`` makes it; None of any other."""
    lists = any(name in frame.columns and frame[name].dtype in (pl.List, pl.Array) for name in names)
    return frame.to_dicts() if lists else None


def is_right(value: Any) -> bool:
    """Tell whether a record holds the contexts that are right for a question."""
    return isinstance(value, Mapping) and any(isinstance(value.get(name), list) for name in RIGHT)


def retrieved(record: Mapping[str, Any], where: str = "") -> list[str]:
    """Return what was retrieved, in its order."""
    return _contexts(record, RETRIEVED, where)


def right(record: Mapping[str, Any], where: str = "") -> list[str]:
    """Return the contexts that are right, each once; no order is meant by theirs."""
    return list(dict.fromkeys(_contexts(record, RIGHT, where)))


def _contexts(record: Mapping[str, Any], names: tuple[str, ...], where: str) -> list[str]:
    found = next(record[name] for name in names if isinstance(record.get(name), list))
    return [_name(context, where) for context in found]


def _name(context: Any, where: str) -> str:
    """Name a context: a text, an id, a Document of LangChain or a node of LlamaIndex, as an object or a record."""
    if isinstance(context, str) and context.strip():
        return " ".join(context.split())
    if isinstance(context, int) and not isinstance(context, bool):
        return str(context)
    node = _field(context, "node")
    context = context if node is None else node
    own = reading().columns.get("item")
    if own is not None:
        value = context
        for name in own.split("."):
            value = _field(value, name)
        reading().met.update([own] if value is not None else [])
    else:
        value = next((held for name in (*_IDS, *_TEXTS) if (held := _field(context, name)) not in (None, "")), None)
    if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
        return " ".join(str(value).split())
    raise DataError(f"{where}a context is a text, or has {own or 'an id or a text'}; got {shown(context)}")


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
