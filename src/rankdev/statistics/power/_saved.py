"""Simulations of power in files: which sizes a saved one has finished, for the same scores."""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rankdev import __version__
from rankdev._common.arrays import Floats
from rankdev._common.checks import check_path
from rankdev._common.lazy import pl
from rankdev.errors import DataError, UsageError
from rankdev.evaluation.scores import Scores
from rankdev.statistics.power.result import Power

# what determines the numbers at each size
SAME = ("subsamples", "permutations", "alpha", "p_value", "replacement", "seed", "data")


def fingerprint(scores: Scores, clusters: Mapping[str, Any] | None = None) -> str:
    """Return a hash of all names and values, in their order."""
    known = [scores.systems, scores.queries, scores.measures]
    if clusters is not None:
        known.append(tuple(str(clusters.get(query)) for query in scores.queries))
    names = json.dumps(known).encode()
    return hashlib.sha256(names + np.ascontiguousarray(scores.values).tobytes()).hexdigest()[:32]


def finished_sizes(
    earlier: Power | str | os.PathLike[str], settings: Mapping[str, Any], shape: tuple[int, int]
) -> dict[int, Floats]:
    """Return the power ``[measure, pair]`` of each size that an earlier result or its file holds.

    Refused where anything that determines the numbers differs. ``shape`` is the number of measures and of pairs.
    """
    if isinstance(earlier, Power):
        name, parameters, values = "resume", earlier.parameters, earlier.power.ravel()
    else:
        name, (parameters, values) = str(earlier), _read(earlier)
    for what in SAME:
        if (before := parameters.get(what)) != settings[what]:
            raise DataError("other-setting", path=name, name=what, before=before, now=settings[what])
    sizes = parameters["sizes"]
    if values.size != shape[0] * shape[1] * len(sizes):
        raise DataError("not-of-power", path=name)
    return {int(n): curve for n, curve in zip(sizes, np.moveaxis(values.reshape(*shape, -1), 2, 0), strict=True)}


def _read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Floats]:
    """Read parameters and values from what `rankdev power -o` wrote as JSON or Parquet."""
    try:
        content = Path(check_path(path)).read_bytes()
    except OSError as error:
        raise UsageError("cannot-open", path=path, why=error.strerror) from None
    try:
        found = _parquet(content) if content.startswith(b"PAR1") else json.loads(content)
        if found["command"] != "power" or found["version"] != __version__:
            made = {"command": found["command"], "version": found["version"]}
            raise DataError("other-version", path=path, **made, expected=__version__)
        values = np.array([np.nan if row["power"] is None else row["power"] for row in found["rows"]], np.float64)
        sizes = [int(n) for n in found["parameters"]["sizes"]]
        return {**found["parameters"], "sizes": sizes}, values
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError("not-of-power", path=path) from None


def _parquet(content: bytes) -> dict[str, Any]:
    try:
        about: dict[str, Any] = json.loads(pl.read_parquet_metadata(io.BytesIO(content))["rankdev"])
        return {**about, "rows": pl.read_parquet(io.BytesIO(content)).to_dicts()}
    except (pl.exceptions.PolarsError, OSError) as error:
        raise ValueError(str(error)) from None
