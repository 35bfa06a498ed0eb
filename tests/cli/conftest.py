import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from rankdev.cli import main

DEMO = Path(__file__).parents[2] / "src/rankdev/data/demo"


class Finished(NamedTuple):
    status: int
    out: str
    err: str


Command = Callable[..., Finished]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(DEMO, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def rankdev(folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """Run the command in a folder with the demo's files; its warnings are printed, not raised."""

    def run(*arguments: str) -> Finished:
        monkeypatch.setattr(sys, "argv", ["rankdev", *arguments])
        status = 0
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            try:
                main()
            except SystemExit as stop:
                status = int(stop.code or 0)
        return Finished(status, *capfd.readouterr())

    return run


ENTRY = "import sys; sys.argv[0] = 'rankdev'; from rankdev.cli import main; main()"


@pytest.fixture
def shell(folder: Path) -> Callable[..., Finished]:
    """Run a line of bash in which ``rankdev`` is a process of its own; bytes that are no text are shown as such."""

    def run(line: str, **environment: str) -> Finished:
        script = f'rankdev() {{ "$PYTHON" -c "$ENTRY" "$@"; }}; {line}'
        variables = {**os.environ, "PYTHON": sys.executable, "ENTRY": ENTRY, **environment}
        done = subprocess.run(["bash", "-c", script], capture_output=True, cwd=folder, env=variables, check=False)
        out, err = (stream.decode(errors="backslashreplace") for stream in (done.stdout, done.stderr))
        return Finished(done.returncode, out, err)

    return run
