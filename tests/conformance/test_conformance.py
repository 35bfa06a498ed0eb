"""A short version of ``make conformance``, and its tables."""

import shutil

import pytest

from tests.conformance import comparisons, page, programs
from tests.conformance.__main__ import COMPARED, DATA, NAMES
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
