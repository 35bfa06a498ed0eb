"""Means over time: a file to which evaluations and gates append a line per system and measure.

Each line is whole JSON, written at once by one writer at a time. A writer that is killed leaves at most an unfinished
last line, which readers ignore and the next writer removes.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import IO, Any, ClassVar

import numpy as np
import polars as pl

from rankdev._common.checks import check_names, check_path
from rankdev._common.files_in_use import PathLike
from rankdev._common.result import Result
from rankdev.errors import DataError, FileFormatError, UsageError, shown, suggestion
from rankdev.evaluation.origin import CONVENTIONS, USUAL
from rankdev.evaluation.scores import Scores
from rankdev.statistics.means import mean_intervals

if sys.platform != "win32":
    import fcntl

COLUMNS: dict[str, Any] = {
    "time": pl.String,
    "system": pl.String,
    "measure": pl.String,
    "mean": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "queries": pl.Int64,
    "verdict": pl.String,
}
NEEDED = ("time", "system", "measure", "queries")
MADE_WITH = ("references", *USUAL, "conventions")  # where one of them changes, means are not comparable


@dataclass(frozen=True, eq=False)
class History(Result):
    """Means over time.

    Attributes
    ----------
    frame : polars.DataFrame
        The table of :meth:`to_polars`.
    notes : tuple of str
        Notes on the file.

    See Also
    --------
    history : Returns it.
    """

    display: ClassVar = "rankdev.display.gate"

    frame: pl.DataFrame = field(repr=False)
    notes: tuple[str, ...] = ()

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is not comparable, and what could not be read."""
        changed = self.frame.filter(pl.col("changed") != "").unique(["time", "changed"], maintain_order=True)
        lines = [
            f"{time}: {what} changed; means before and after are not comparable"
            for time, what in changed.select("time", "changed").iter_rows()
        ]
        return (*dict.fromkeys(lines), *self.notes)

    def to_polars(self) -> pl.DataFrame:
        """Return one row per time, system and measure.

        Returns
        -------
        polars.DataFrame
            Columns time (UTC), system, measure, mean, low, high (95% interval over queries), queries, ``verdict`` (of a
            gate, else null), changed (what was changed since the measure's last row: the references, a parameter).

        Examples
        --------
        >>> from tempfile import mkdtemp
        >>> import rankdev as rd
        >>> file = f"{mkdtemp()}/history.jsonl"
        >>> append_history(file, rd.Scores(["bm25"], ["q1", "q2"], ["P@1"], [[[1.0], [0.0]]]), "0" * 32)
        >>> rd.history(file).to_polars().select("system", "measure", "mean", "queries").row(0)
        ('bm25', 'P@1', 0.5, 2)
        """
        return self.frame


def history(path: PathLike, *, measures: Sequence[str] | None = None, systems: Sequence[str] | None = None) -> History:
    """Read means over time, as ``rankdev eval --history FILE`` and ``rankdev gate --history FILE`` write them.

    Parameters
    ----------
    path : path
        The file.
    measures, systems : sequence of str, optional
        Those to keep. Default: all.

    Returns
    -------
    History
        The means in the order of time, with what was changed in between.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> import rankdev as rd
    >>> file = f"{mkdtemp()}/history.jsonl"
    >>> for references in ("0" * 32, "1" * 32):
    ...     append_history(file, rd.Scores(["bm25"], ["q1", "q2"], ["P@1"], [[[1.0], [0.0]]]), references)
    >>> rd.history(file).to_polars()["changed"].to_list()
    ['', 'references']
    """
    name = check_path(path)
    try:
        with open(name, "rb") as stream:
            content = stream.read()
    except OSError as error:
        raise DataError(f"{name}: {(error.strerror or str(error)).lower()}; name a file that --history wrote") from None
    *lines, rest = content.split(b"\n")
    entries = [_entry(name, number, line) for number, line in enumerate(lines, 1)]
    notes = (f"{name} ends in an unfinished line, which is ignored",) if rest else ()
    if not entries:
        raise FileFormatError(name, "there are no entries yet; write some with rankdev eval --history FILE")
    chosen = {"measure": measures, "system": systems}
    wanted = {what: check_names(f"{what}s", names) for what, names in chosen.items() if names is not None}
    for what, names in wanted.items():
        known = list(dict.fromkeys(entry[what] for entry in entries))
        for text in names:
            if not isinstance(text, str) or text not in known:
                near = suggestion(str(text), known)
                raise UsageError(f"{name} has no {what} {shown(text)}{near}; it has {', '.join(known[:8])}")
    kept = [
        entry
        for entry in sorted(entries, key=_when)
        if all(not names or entry[what] in names for what, names in wanted.items())
    ]
    rows = [{**{column: entry[column] for column in COLUMNS}, "changed": what} for entry, what in _changes(kept)]
    return History(pl.DataFrame(rows, schema={**COLUMNS, "changed": pl.String}), notes)


def _entry(name: str, number: int, line: bytes) -> dict[str, Any]:
    try:
        entry = json.loads(line)
        if not isinstance(entry, dict) or not {*COLUMNS, *MADE_WITH} <= set(entry) or _when(entry).tzinfo is None:
            raise ValueError
        for column, kind in COLUMNS.items():
            expected = str if kind == pl.String else int | float
            if not isinstance(entry[column], expected) and (column in NEEDED or entry[column] is not None):
                raise ValueError
    except (ValueError, TypeError):
        raise FileFormatError(name, "this is not a line of a history; name a file of --history", number) from None
    return entry


def _when(entry: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(entry["time"])


def _changes(entries: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield each entry with what was changed since the last one of its measure."""
    last: dict[str, dict[str, Any]] = {}
    for entry in entries:
        before = last.get(entry["measure"], entry)
        yield entry, ", ".join(name for name in MADE_WITH if entry[name] != before[name])
        last[entry["measure"]] = entry


def append_history(path: PathLike, scores: Scores, references: str, verdict: str | None = None) -> None:
    """Append the means of scores, made with references of this digest, and what a gate decided about them."""
    low, high = mean_intervals(scores)
    about = {
        "references": references,
        **{name: getattr(scores, name) or usual for name, usual in USUAL.items()},
        "conventions": CONVENTIONS,
    }
    lines = []
    for s, system in enumerate(scores.systems):
        for m, kind in enumerate(scores.kinds):
            plain = kind.aggregate == "mean"  # sums and geometric means have no interval
            entry = {
                "time": _now(),
                "system": system,
                "measure": kind.label,
                "mean": _number(scores.means[s, m]),
                "low": _number(low[s, m]) if plain else None,
                "high": _number(high[s, m]) if plain else None,
                "queries": int(np.isfinite(scores.values[s, :, m]).sum()),
                "verdict": verdict,
                **about,
            }
            lines.append(json.dumps(entry, ensure_ascii=False, allow_nan=False) + "\n")
    _append(check_path(path), "".join(lines).encode())


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _now() -> str:
    """Return the time; that of SOURCE_DATE_EPOCH where the environment has it, for what must be reproduced."""
    try:
        now = datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), UTC)
    except (KeyError, ValueError, OverflowError, OSError):
        now = datetime.now(UTC)
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


def _append(name: str, content: bytes) -> None:
    """Append whole lines while nobody else does; remove what a killed writer left unfinished."""
    try:
        with open(os.open(name, os.O_RDWR | os.O_CREAT, 0o666), "r+b") as stream:
            if sys.platform != "win32":
                fcntl.flock(stream, fcntl.LOCK_EX)
            _check_first(name, stream)
            stream.truncate(_finished(stream))
            stream.seek(0, os.SEEK_END)
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise UsageError(f"{name}: cannot write here ({error.strerror or error}); choose another place") from None


def check_history(path: PathLike) -> None:
    """Refuse a file that exists and is not a history, before any work begins."""
    name = check_path(path)
    if os.path.isfile(name):
        try:
            with open(name, "rb") as stream:
                _check_first(name, stream)
        except OSError as error:
            raise UsageError(f"{name}: {(error.strerror or str(error)).lower()}; choose another file") from None


def _check_first(name: str, stream: IO[bytes]) -> None:
    """Refuse another kind of file, which stays as it is; a first line may be unfinished."""
    first = stream.readline()
    if first.endswith(b"\n"):
        _entry(name, 1, first.rstrip(b"\n"))
    elif first and not b'{"time": "'.startswith(first[:10]):
        raise FileFormatError(name, "this is not a history; give --history a file of its own")


def _finished(stream: IO[bytes]) -> int:
    """Return where the last whole line ends."""
    end = stream.seek(0, os.SEEK_END)
    while end:
        begin = max(0, end - 4096)
        stream.seek(begin)
        place = stream.read(end - begin).rfind(b"\n")
        if place >= 0:
            return begin + place + 1
        end = begin
    return 0
