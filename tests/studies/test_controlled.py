from dataclasses import replace

from rankdev.display.style import colour_of
from rankdev.measures import parse_all
from rankdev.studies.controlled import controlled_report, run_controlled


def test_every_cell_of_table_1_agrees_to_four_decimals():
    study = run_controlled()
    assert len(study.cells) == 143
    assert len(study.experiments) == 13
    assert [cell for cell in study.cells if not cell.agrees] == []


def test_a_cell_that_differs_is_named():
    study = run_controlled()
    wrong = replace(study.cells[0], published=0.5)
    report = controlled_report(replace(study, cells=(wrong, *study.cells[1:])))
    assert report.closing == ("142 of 143 cells agree", "Exp1 AP@5: 1.0 ≠ 0.5")


def test_not_available_agrees_only_with_not_available():
    cell = run_controlled().cells[0]
    assert replace(cell, value=None, published=None).agrees
    assert not replace(cell, value=None, published=0.0).agrees
    assert not replace(cell, value=0.0, published=None).agrees


def test_every_measure_of_the_studies_has_a_colour_of_its_own():
    texts = [str(measure) for measure in parse_all(["paper@5", "Tau@5", "Rho@5", "nDCG(dcg=exp-log2)@5"])]
    assert len({colour_of(text) for text in texts}) == len(texts)
    assert colour_of("RDQ@10") == colour_of("RDQ@5")
