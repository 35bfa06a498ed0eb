"""MTEB: what ``mteb.evaluate(…, prediction_folder=…)`` leaves behind as runs, and the references of its tasks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rankdev.arguments import check_path
from rankdev.errors import FileFormatError, UsageError, shown
from rankdev.formats.json_text import loads
from rankdev.formats.streams import PathLike, Source
from rankdev.references.references import References
from rankdev.runs import Run

ENDING = "_predictions.json"
META = "mteb_model_meta"


def read_run(
    path: PathLike,
    task: str | None = None,
    *,
    subset: str | None = None,
    split: str | None = None,
    ignore_identical_ids: bool = False,
) -> Run:
    """Read the predictions of a retrieval or reranking task from their file, or from the folder of one model.

    ``task``, ``subset`` and ``split`` choose where there are several. MTEB leaves items with the id of their query out
    of some tasks' scores (``task.ignore_identical_ids``) and not out of its files: say so here.
    """
    return _run(_content(path, task), path, subset, split, ignore_identical_ids)


def read_runs(
    paths: Iterable[PathLike],
    task: str | None = None,
    *,
    subset: str | None = None,
    split: str | None = None,
    ignore_identical_ids: bool = False,
) -> dict[str, Run]:
    """Read the predictions of several models, one file or folder each; they are called what MTEB calls them."""
    runs: dict[str, Run] = {}
    for path in paths:
        content = _content(path, task)
        name = str(content.get(META, {}).get("model_name"))
        if name in runs:
            raise UsageError(f"{path}: there are predictions of the model {shown(name)} already; give each model once")
        runs[name] = _run(content, path, subset, split, ignore_identical_ids)
    return runs


def references(task: Any, *, subset: str | None = None, split: str | None = None) -> References:
    """Take the relevance judgments of an MTEB task, grades and all, as references."""
    if not task.data_loaded:
        task.load_data()
    return References.from_grades(_chosen(task.dataset, task.metadata.name, subset, split)["relevant_docs"])


def _content(path: PathLike, task: str | None) -> dict[str, Any]:
    file = Path(check_path(path))
    if file.is_dir():
        known = {entry.name.removesuffix(ENDING): entry for entry in sorted(file.glob(f"*{ENDING}"))}
        if not known:
            raise UsageError(f"{file}: no file here ends in {ENDING}; give the prediction_folder of mteb.evaluate")
        file = known[_one_of(known, "task", task, str(file))]
    with Source(file) as source:
        try:
            content = loads(source.read())
        except json.JSONDecodeError as error:
            raise FileFormatError(file, f"not JSON ({error.msg})", error.lineno) from None
    if not isinstance(content, dict) or META not in content:
        raise FileFormatError(file, f"these are not predictions of MTEB: there is no {META!r}")
    return content


def _run(content: dict[str, Any], path: PathLike, subset: str | None, split: str | None, ignore: bool) -> Run:
    predictions = _chosen({name: value for name, value in content.items() if name != META}, path, subset, split)
    if not isinstance(predictions, dict) or not all(isinstance(found, dict) for found in predictions.values()):
        raise FileFormatError(path, "expected {query: {item: score}}; this task does not rank items")
    if ignore:
        predictions = {
            query: {item: score for item, score in found.items() if item != query}
            for query, found in predictions.items()
        }
    return Run.from_scores(predictions)


def _chosen(content: Mapping[str, Any], where: object, subset: str | None, split: str | None) -> Any:
    chosen = content[_one_of(content, "subset", subset, str(where))]
    return chosen[_one_of(chosen, "split", split, str(where))]


def _one_of(known: Mapping[str, Any], what: str, asked: str | None, where: str) -> str:
    """Find what was asked for; nothing need be asked for where there is only one."""
    if asked is None and len(known) == 1:
        return next(iter(known))
    if asked in known:
        return str(asked)
    problem = f"say {what}=…" if asked is None else f"there is no {what} {shown(asked)}"
    raise UsageError(f"{where}: {problem}; expected one of {', '.join(known)}")
