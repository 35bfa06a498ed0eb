"""The figures of the documentation are drawn again by one command, to the same bytes."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from rankdev.cli import cli
from rankdev.studies.figures import FIGURES

pytest.importorskip("matplotlib", reason="figures are drawn by matplotlib")

DOCS = Path(__file__).parents[2] / "docs"
# pictures of pages are taken by docs/images/screenshots.py, and a simulation of an hour draws what it finds
ELSEWHERE = {"report", "report-query", "judgments-needed"}


def drawn(folder, *names, **options):
    only = [word for name in names for word in ("--only", name)]
    chosen = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    done = CliRunner().invoke(cli, ["figures", str(folder), *only, *chosen])
    return done, {path.name: path.read_bytes() for path in folder.glob("*")}


def test_the_same_bytes_every_time(tmp_path):
    names = ("tiers", "losses", "next-pairs", "differences")
    one, other = (drawn(tmp_path / part, *names)[1] for part in ("one", "other"))
    assert sorted(one) == sorted(f"{name}.png" for name in names)
    assert one == other


def test_other_kinds_and_sizes(tmp_path):
    _, found = drawn(tmp_path / "new" / "folder", "tiers", type="svg")
    assert found["tiers.svg"].startswith(b"<?xml")
    _, wide = drawn(tmp_path / "wide", "tiers", dpi=200)
    assert int.from_bytes(wide["tiers.png"][16:20]) == 1400


def test_a_wrong_name_is_told(tmp_path):
    done, found = drawn(tmp_path, "tier")
    assert "did you mean tiers?" in str(done.exception)
    assert found == {}


def test_docs_show_every_figure_and_no_other():
    shown = {
        name for page in DOCS.glob("*.md") for name in re.findall(r"images/([\w-]+)\.png", page.read_text("utf-8"))
    }
    assert shown - ELSEWHERE == set(FIGURES)
    assert {path.stem for path in DOCS.glob("images/*.png")} == shown
