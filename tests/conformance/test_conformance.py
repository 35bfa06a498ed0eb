"""A short version of ``make conformance``, and its tables."""

import shutil
import sys

import pytest

from tests.conformance import comparisons, page, programs
from tests.conformance.__main__ import COMPARED, DATA, NAMES, half_a_digit, of_command, parse_printed
from tests.conformance.cases import KINDS, cases

FEW = list(cases(2 * len(KINDS), seed=7))


def check(rows):
    rows = list(rows)
    assert not [line for row in rows for line in row.unexplained]
    assert sum(row.values for row in rows) > 0
    return rows


def test_pages_have_the_tables():
    text = NAMES.read_text(encoding="utf-8")
    assert page.conventions() in text
    assert page.names() in text
    assert page.filled(text, conventions=page.conventions(), names=page.names()) == text, "run make conformance"
    assert "<!-- conformance: compared -->" in COMPARED.read_text(encoding="utf-8")


@pytest.mark.skipif(not programs.installed("pytrec_eval"), reason="pytrec_eval is not installed")
def test_pytrec_eval():
    (row,) = check(comparisons.fuzz_pytrec_eval(FEW))
    assert (row.values > 2000, row.differ) == (True, 0)


@pytest.mark.skipif(not programs.installed("gdeval"), reason="ir_measures or Perl is not installed")
def test_ir_measures_and_gdeval(tmp_path):
    check(comparisons.fuzz_ir_measures(FEW[:: len(KINDS) // 2]))
    (row,) = check(comparisons.fuzz_gdeval(FEW[: len(KINDS) : 2], tmp_path))
    assert row.differ == 0
    check(comparisons.fuzz_compatibility(FEW))


def test_transcriptions():
    assert not any(row.differ for row in check(comparisons.transcriptions(20)))


@pytest.mark.slow
@pytest.mark.parametrize("like", ["trec_eval-9", "trec_eval-10"])
def test_trec_eval(like, tmp_path):
    archives = sorted((DATA / "trec_eval").glob(f"{like}.*.tar.gz"))
    if not archives or shutil.which("gcc") is None:
        pytest.skip("there is no archive of trec_eval, or no compiler")
    home = programs.build_trec_eval(archives[-1], tmp_path)
    check(comparisons.nist(home, like))
    check(comparisons.fuzz_trec_eval(home, like, FEW, tmp_path / "files"))
    check(comparisons.gain_maps(home, like, FEW, tmp_path / "files"))


@pytest.mark.slow
@pytest.mark.skipif(not programs.installed("ranx"), reason="ranx is not installed")
def test_ranx():
    check(comparisons.fuzz_ranx([case for case in FEW if not case.name.startswith("deep")]))


SCRIPT = """
import sys
grades = {tuple(line.split()[::2]): int(line.split()[3]) for line in open(sys.argv[1])}
rows = [line.split() for line in open(sys.argv[2])]
descend = {"descending": True, "ascending": False}[sys.argv[3]]
for query in {query for query, _ in grades}:
    items = sorted((row[2] for row in rows if row[0] == query), reverse=descend)
    items.sort(key=lambda item: -next(float(row[4]) for row in rows if row[0] == query and row[2] == item))
    hits = [i for i, item in enumerate(items, 1) if grades.get((query, item), 0) > 0]
    print(query, "recip_rank", f"{1 / hits[0] if hits else 0:.4f}")
    print("success_1", query, float(hits[:1] == [1]))
print("runid all nobody")
print("own all 0.5")
"""


def test_any_command(tmp_path, monkeypatch):
    """Either layout is understood; a program with another order of equal scores is found out."""
    monkeypatch.setattr("tests.conformance.__main__.BUILD", tmp_path)
    script = tmp_path / "mine.py"
    script.write_text(SCRIPT, encoding="utf-8")
    command = f"{sys.executable} -S {script} {{qrels}} {{run}}"
    (same,) = of_command(f"{command} descending", "trec_eval-10", 2, 0)
    assert same.values > 10
    assert same.differ == 0
    (other,) = of_command(f"{command} ascending", "trec_eval-10", 2, 0)
    assert other.unexplained
    (broken,) = of_command(f"{command} nonsense", None, 1, 0)
    assert "the command ended with 1: " in broken.unexplained[0]
    with pytest.raises(SystemExit, match="nosuch: cannot be run"):
        list(of_command("nosuch {qrels} {run}", None, 1, 0))


def test_layouts_and_digits():
    printed = parse_printed("map\t101\t0.5000\n101 map_cut_5 1\nmap all 0.25\nrunid all x\n\n", {"101", "all"})
    assert printed == {("101", "map"): "0.5000", ("101", "map_cut_5"): "1", ("all", "map"): "0.25"}
    assert half_a_digit("0.5000") == pytest.approx(5e-5, rel=1e-3)
    assert half_a_digit("1") == pytest.approx(0.5, rel=1e-3)
    assert half_a_digit("0.12345678901234567") == comparisons.EXACT
