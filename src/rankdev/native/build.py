"""Compile the reader: ``python -m rankdev.native.build``. Installing does it too, wherever there is a C compiler."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("reader.c")
LIBRARY = Path(__file__).with_name("_reader.so")
FLAGS = ["-O3", "-std=c11", "-D_GNU_SOURCE", "-fPIC", "-shared"]


def build(library: Path = LIBRARY) -> str | None:
    """Compile with ``$CC`` and ``$CFLAGS``, or with the system's cc; return what went wrong, or None."""
    unfinished = library.with_suffix(f".{os.getpid()}")
    compiler = [*shlex.split(os.environ.get("CC", "cc")), *FLAGS, *shlex.split(os.environ.get("CFLAGS", ""))]
    try:
        done = subprocess.run(
            [*compiler, str(SOURCE), "-o", str(unfinished), "-lm"], capture_output=True, text=True, check=False
        )
        if done.returncode == 0:
            unfinished.replace(library)  # whole or not at all, also where another process is about to load it
            return None
    except OSError as error:
        return str(error)
    unfinished.unlink(missing_ok=True)
    return done.stderr or f"{compiler[0]} failed"


if __name__ == "__main__":
    raise SystemExit(build())
