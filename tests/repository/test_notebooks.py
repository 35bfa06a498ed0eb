"""The notebooks of docs run, and show what they are saved with; results show themselves as tables and figures."""

from base64 import b64decode

import pytest

pytest.importorskip("nbclient", reason="notebooks are run by nbclient")
pytest.importorskip("matplotlib", reason="notebooks draw")

import nbformat  # after the check above, for it comes with nbclient

from tests.notebooks import NOTEBOOKS, executed


def shown(notebook):
    """What each cell of code shows, without figures, whose bytes depend on the machine's fonts."""
    return [
        (cell.source, [{**output.get("data", output), "image/png": None} for output in cell.outputs])
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def test_there_is_one_for_each_field():
    assert [path.stem for path in NOTEBOOKS] == ["preferences", "recommendation", "search"]


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=[] if path.stem == "search" else pytest.mark.slow, id=path.stem) for path in NOTEBOOKS],
)
def test_a_notebook_shows_what_it_is_saved_with(path):
    saved, now = nbformat.read(path, as_version=4), executed(path)
    for before, after in zip(shown(saved), shown(now), strict=True):
        assert before == after, "run python -m tests.notebooks"
    for notebook in (saved, now):
        outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
        assert {output.output_type for output in outputs} == {"execute_result"}  # no error, no warning, nothing printed
        assert any("linear-gradient" in output.data.get("text/html", "") for output in outputs)  # a score has a bar
        figures = [output for output in outputs if "image/png" in output.data]
        assert len(figures) >= 2
        for figure in figures:
            look = figure.metadata["image/png"]
            wide = int.from_bytes(b64decode(figure.data["image/png"])[16:20])
            assert abs(wide - 2 * look["width"]) <= 1
            assert look["alt"]
