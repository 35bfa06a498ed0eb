"""Judgments named by text → numbered queries, items and workers: the arrays that preferences hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from rankdev.arguments import is_list
from rankdev.errors import DataError, shown
from rankdev.tabular import as_id, check_mapping


def _known(items: Mapping[Any, Any]) -> list[tuple[str, str]]:
    for query, names in items.items():
        if not is_list(names):
            raise DataError(f"items of query {shown(query)} must be a list; got {shown(names)}")
    return [(as_id(query), as_id(item)) for query, names in items.items() for item in names]


def encode(frame: pl.DataFrame, items: Mapping[Any, Iterable[Any]] | None) -> dict[str, Any]:
    """Number queries, items and workers; refuse what cannot be a comparison."""
    known = _known({} if items is None else check_mapping(items, "items", "{query: [item, …]}"))
    if not len(frame) and not known:
        raise DataError("no comparisons; at least one is needed")
    same = (frame["winner"] == frame["loser"]).arg_max() if len(frame) else None
    if same is not None and frame["winner"][same] == frame["loser"][same]:
        raise DataError(f"item {frame['winner'][same]!r} is compared with itself", same)
    queries, query = _codes([*(q for q, _ in known)], frame["query"])
    names, pair = _codes([*(i for _, i in known)], frame["winner"], frame["loser"])
    size, rows, given = len(names), len(frame), len(known)
    keys = np.concatenate([query, query[given:]]).astype(np.int64) * size + pair
    distinct, number = np.unique(keys, return_inverse=True)
    number = number.astype(np.int32)
    if items is not None and len(distinct) > len(np.unique(keys[:given])):
        row = int(np.argmax(~np.isin(keys[given:], keys[:given])))
        name = names[int(keys[given + row] % size)]
        raise DataError(f"item {name!r} is not among the items given for its query", row % rows)
    workers, worker = _codes([], frame["worker"]) if "worker" in frame.columns else ((), None)
    optional: dict[str, Any] = {
        name: frame[name].to_numpy() for name in ("weight", "share", "winner_first") if name in frame.columns
    }
    return {
        "queries": queries,
        "items": tuple(names[i] for i in (distinct % size).tolist()),
        "item_query": (distinct // size).astype(np.int32),
        "winner": number[given : given + rows],
        "loser": number[given + rows :],
        "tie": frame["tie"].to_numpy(),
        "workers": workers,
        "worker": worker,
        **optional,
    }


def _codes(before: list[str], *columns: pl.Series) -> tuple[tuple[str, ...], npt.NDArray[np.int32]]:
    values = pl.concat([pl.Series(before, dtype=pl.String), *columns]).rename("name")
    known = values.unique(maintain_order=True)
    lookup = pl.DataFrame({"name": known, "code": np.arange(len(known), dtype=np.int32)})
    joined = values.to_frame().join(lookup, on="name", how="left", maintain_order="left")
    return tuple(known.to_list()), joined["code"].to_numpy()
