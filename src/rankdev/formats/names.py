"""Systems named after their files."""

from __future__ import annotations

import os
from pathlib import Path

from rankdev.errors import UsageError
from rankdev.formats.tables import ENDINGS

_ENDINGS = {".run", ".txt", ".gz", ".zst", ".trec", ".res", *ENDINGS}


def system_name(path: str) -> str:
    r"""Name a system after its file, without endings such as .run, .txt and .gz; bytes that are no text as escapes.

    >>> system_name("runs/bm25.run.gz"), system_name("caf\udce9.run")
    ('bm25', 'caf\\xe9')
    """
    if path == "-":
        return "stdin"
    name = (Path(path).name or path).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    while Path(name).suffix.lower() in _ENDINGS and Path(name).stem:
        name = Path(name).stem
    return name


def runs_in(folder: str | Path) -> dict[str, str]:
    """Give the files of a folder by the name of their system, in order of name; hidden files are not runs."""
    if not Path(folder).is_dir():
        raise UsageError(f"{folder}: there is no such folder; give one that holds the runs, one file per system")
    runs: dict[str, str] = {}
    for path in sorted(Path(folder).iterdir()):
        if path.is_file() and not path.name.startswith("."):
            name = system_name(str(path))
            if name in runs:
                raise UsageError(f"two systems are called {name!r} ({runs[name]} and {path}); rename one file")
            runs[name] = str(path)
    if not runs:
        raise UsageError(f"{folder}: there are no files here; a folder of runs holds one file per system")
    return runs


_OTHERS = {".xlsx", ".xls", ".ods", ".xml", ".html", ".yaml", ".yml", ".pdf", ".md", ".tex", ".doc", ".docx", ".sqlite"}
_OTHERS |= {".pkl", ".npz", ".feather", ".arrow", ".avro", ".orc", ".zip", ".bz2", ".xz", ".7z", ".tar"}


def check_trec_name(path: str | os.PathLike[str]) -> None:
    """Refuse endings that promise what is not written; any other may stand for TREC."""
    suffix = Path(str(path)).suffix.lower()
    if suffix in _OTHERS - {*ENDINGS}:
        raise UsageError(
            f"{path}: {suffix} is not written here; take {', '.join(ENDINGS)} (also with .gz or .zst), or an ending"
            " such as .txt for TREC"
        )
