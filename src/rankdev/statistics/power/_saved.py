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
from rankdev._common.lazy import pl
from rankdev.errors import DataError, FileFormatError, UsageError, shown
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
    elif isinstance(earlier, str | os.PathLike):
        name, (parameters, values) = str(earlier), _read(earlier)
    else:
        raise UsageError(f"resume must be an earlier result of power, or its file; got {shown(earlier)}")
    for what in SAME:
        if parameters.get(what) != settings[what]:
            mine = "other scores" if what == "data" else f"{what} = {parameters.get(what)!r}, not {settings[what]!r}"
            raise DataError(
                f"{name}: this was made with {mine}; continue with the same data and options, or start over"
            )
    sizes = parameters["sizes"]
    if values.size != shape[0] * shape[1] * len(sizes):
        raise DataError(f"{name}: {values.size} rows do not fit the sizes it names; start over")
    return {int(n): curve for n, curve in zip(sizes, np.moveaxis(values.reshape(*shape, -1), 2, 0), strict=True)}


def _read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Floats]:
    """Read parameters and values from what `rankdev power -o` wrote as JSON or Parquet."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot be opened ({error.strerror})") from None
    except ValueError:
        raise UsageError(f"{str(path)!r} is not the name of a file") from None
    try:
        found = _parquet(content) if content.startswith(b"PAR1") else json.loads(content)
        if found["command"] != "power" or found["version"] != __version__:
            raise FileFormatError(path, f"made by rankdev {found['command']} {found['version']}; expected power "
                                  f"{__version__}, for numbers may differ between versions")  # fmt: skip
        values = np.array([np.nan if row["power"] is None else row["power"] for row in found["rows"]], np.float64)
        sizes = [int(n) for n in found["parameters"]["sizes"]]
        return {**found["parameters"], "sizes": sizes}, values
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        if isinstance(error, DataError):
            raise
        expected = "expected the .json or .parquet file that an interrupted `rankdev power -o` wrote"
        raise FileFormatError(path, f"this is not a result of power; {expected}") from None


def _parquet(content: bytes) -> dict[str, Any]:
    try:
        about: dict[str, Any] = json.loads(pl.read_parquet_metadata(io.BytesIO(content))["rankdev"])
        return {**about, "rows": pl.read_parquet(io.BytesIO(content)).to_dicts()}
    except (pl.exceptions.PolarsError, OSError) as error:
        raise ValueError(str(error)) from None
