"""The figures of the documentation are drawn again by one script, to the same bytes."""

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="figures are drawn by matplotlib")

DOCS = Path(__file__).parents[2] / "docs"
# pictures of pages are taken by docs/images/screenshots.py, and a simulation of an hour draws what it finds
ELSEWHERE = {"report", "report-query", "judgments-needed"}
SCRIPT = spec_from_file_location("figures", DOCS / "images/figures.py")
figures = module_from_spec(SCRIPT)
SCRIPT.loader.exec_module(figures)


def drawn(folder, *names, **options):
    folder.mkdir()
    return {path.name: path.read_bytes() for path in figures.draw(folder, names, **options)}


def test_the_same_bytes_every_time(tmp_path):
    names = ("tiers", "losses", "differences")
    one, other = (drawn(tmp_path / part, *names) for part in ("one", "other"))
    assert sorted(one) == sorted(f"{name}.png" for name in names)
    assert one == other


def test_docs_show_every_figure_and_no_other():
    shown = {
        name for page in DOCS.glob("*.md") for name in re.findall(r"images/([\w-]+)\.png", page.read_text("utf-8"))
    }
    assert shown - ELSEWHERE == set(figures.FIGURES)
    assert {path.stem for path in DOCS.glob("images/*.png")} == shown
