"""MTEB: the predictions of ``mteb.evaluate(…, prediction_folder=…)`` as runs, and the references of its tasks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rankdev._common.checks import bad_type, check_path
from rankdev.data.formats import loads
from rankdev.data.references import References
from rankdev.data.run import Run
from rankdev.data.sources import Source
from rankdev.data.write import PathLike
from rankdev.errors import DataError, UsageError, errors_at, nearest

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
    """Read the predictions of a retrieval or reranking task.

    Parameters
    ----------
    path : path
        File of predictions, or the folder of one model.
    task : str, optional
        Name of the task, where a folder has several.
    subset : str, optional
        Which subset to read, where there are several.
    split : str, optional
        Which split to read, where there are several.
    ignore_identical_ids : bool, default False
        Leave items with the id of their query out. MTEB does so for some tasks (``task.ignore_identical_ids``) in its
        scores, but not in its files.

    Returns
    -------
    Run
        The ranking of each query.

    Examples
    --------
    >>> import json
    >>> from tempfile import TemporaryDirectory
    >>> content = {"mteb_model_meta": {"model_name": "mine"}, "default": {"test": {"q1": {"d1": 0.9, "d2": 0.95}}}}
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "NFCorpus_predictions.json").write_text(json.dumps(content))
    ...     read_run(folder)["q1"]
    ['d2', 'd1']
    """
    content = _content(path, task)
    predictions = _chosen({name: value for name, value in content.items() if name != META}, path, subset, split)
    if not isinstance(predictions, dict) or not all(isinstance(found, dict) for found in predictions.values()):
        expected = "{query: {item: score}}; some tasks rank no items"
        raise DataError("bad-value", path=path, name="the split", value=predictions, expected=expected)
    if ignore_identical_ids:
        predictions = {q: {item: found[item] for item in found if item != q} for q, found in predictions.items()}
    with errors_at(path=path):
        run = Run.from_scores(predictions)
    if not len(run):
        raise DataError("empty", path=path, name="the run", expected="at least one item")
    return run


def references(task: Any, *, subset: str | None = None, split: str | None = None) -> References:
    """Return the relevance judgments of an MTEB task as references, with their grades.

    Parameters
    ----------
    task : mteb.AbsTask
        A retrieval or reranking task, such as ``mteb.get_task("NFCorpus")``.
    subset : str, optional
        Which subset to read, where there are several.
    split : str, optional
        Which split to read, where there are several.

    Returns
    -------
    References
        One reference per query.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> data = {"default": {"test": {"relevant_docs": {"q1": {"d1": 2, "d2": 1}}}}}
    >>> task = SimpleNamespace(data_loaded=True, dataset=data, metadata=SimpleNamespace(name="mine"))
    >>> references(task)
    References(1 query, 2 items, graded)
    """
    if not hasattr(task, "data_loaded"):
        raise bad_type("task", "a task of MTEB", task, "such as mteb.get_task(…)")
    if not task.data_loaded:
        task.load_data()
    return References.from_grades(_chosen(task.dataset, task.metadata.name, subset, split)["relevant_docs"])


def _content(path: PathLike, task: str | None) -> dict[str, Any]:
    file = Path(check_path(path))
    if file.is_dir():
        known = {entry.name.removesuffix(ENDING): entry for entry in sorted(file.glob(f"*{ENDING}"))}
        if not known:
            raise UsageError("no-predictions", path=file, ending=ENDING)
        file = known[_one_of(known, "task", task, str(file))]
    with Source(file) as source:
        content = loads(source.content)
    if not isinstance(content, dict) or not isinstance(content.get(META), dict):
        raise DataError("not-of-mteb", path=file, key=META)
    return content


def _chosen(content: Mapping[str, Any], where: object, subset: str | None, split: str | None) -> Any:
    chosen = content[_one_of(content, "subset", subset, str(where))]
    if not isinstance(chosen, Mapping):
        raise DataError("bad-value", path=where, name="the subset", value=chosen, expected="its splits")
    return chosen[_one_of(chosen, "split", split, str(where))]


def _one_of(known: Mapping[str, Any], what: str, asked: str | None, where: str) -> str:
    """Find what was asked for; where there is only one, it need not be named."""
    if asked is None and len(known) == 1:
        return next(iter(known))
    if asked in known:
        return str(asked)
    if not known:
        raise DataError("empty", path=where, name="the file", expected=f"one with a {what}")
    near = None if asked is None else nearest(asked, known)
    raise UsageError("not-a-choice", path=where, name=what, value=asked, near=near, known=list(known))
