"""Run the notebooks of docs in a kernel of their own: ``python -m tests.notebooks`` writes what they show into them."""

import os
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted(ROOT.glob("docs/notebooks/*.ipynb"))


def executed(path):
    """Return a notebook with the outputs of running it now, in an empty folder."""
    notebook = nbformat.read(path, as_version=4)
    here = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(notebook, record_timing=False, resources={"metadata": {"path": folder}})
        client.execute(env={**os.environ, "PYTHONPATH": here})
    notebook.metadata["language_info"] = {"name": "python"}  # not the version of this day
    return notebook


if __name__ == "__main__":
    for path in NOTEBOOKS:
        nbformat.write(executed(path), path)
        print(path.relative_to(ROOT))
