"""Arrays of numbers as little text: whole multiples of a small step, in the smallest type, deflated."""

from __future__ import annotations

import json
import struct
import zlib
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

TYPES = {"Int8": "<i1", "Int16": "<i2", "Int32": "<i4"}


def packed(header: Mapping[str, Any], arrays: Mapping[str, tuple[npt.ArrayLike, int]]) -> str:
    """Put a JSON header and arrays, each with the number of decimals that it keeps, into one text.

    ``pages/unpacking.js`` reads it. The least number of a type stands for what is not available, the next and the
    greatest for −∞ and ∞. Numbers that are too large for whole multiples are kept as they are.
    """
    directory, pieces, at = {}, [], 0
    for name, (values, digits) in arrays.items():
        kind, content = _whole(np.asarray(values, np.float64), digits)
        directory[name] = {"type": kind, "shape": list(np.shape(values)), "at": at, "digits": digits}
        pieces.append(content)
        at += len(content)
    text = json.dumps({**header, "arrays": directory}, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    head = text.encode("utf-8", "replace")
    return b64encode(zlib.compress(struct.pack("<I", len(head)) + head + b"".join(pieces), 9)).decode()


def _whole(values: npt.NDArray[np.float64], digits: int) -> tuple[str, bytes]:
    scaled = np.rint(values * 10.0**digits)
    finite = np.isfinite(scaled)
    most = float(np.abs(scaled[finite]).max(initial=0.0))
    kind = next((name for name, code in TYPES.items() if most < np.iinfo(code).max), None)
    if kind is None:
        return "Float64", values.astype("<f8").tobytes()
    end = np.iinfo(TYPES[kind]).max
    filled = np.where(finite, scaled, np.where(np.isnan(scaled), -end - 1, np.sign(scaled) * end))
    return kind, filled.astype(TYPES[kind]).tobytes()
