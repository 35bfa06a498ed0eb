import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from rankdev.display.cells import Cell
from rankdev.display.layout import Column, blocks, table_lines
from rankdev.display.view import report_of
from rankdev.evaluation.scores import Scores
from rankdev.statistics.significance import significance

NAMES = st.lists(st.text(st.characters(codec="utf-8", categories=["L", "Nd"]), min_size=1, max_size=60), unique=True)


@given(NAMES, st.integers(1, 9), st.integers(40, 120))
def test_tables_fit_and_names_stay_different(names, numbers, width):
    columns = [Column("system", [Cell(name) for name in names], name=True)]
    columns += [Column(f"measure-{i}", [Cell("0.1234")] * len(names), right=True) for i in range(numbers)]
    found = blocks(columns, width)
    shown = [cell.text for cell in found[0][0].cells]
    assert len(set(shown)) == len(names)
    assert [column.header for block in found for column in block if not column.name] == [
        column.header for column in columns[1:]
    ]
    if max(map(cell_len, shown), default=0) <= width // 2:  # names that need more are shown whole
        assert all(cell_len(line) <= width for line in table_lines(columns, width))


def test_p_and_verdict_stay_in_the_first_table_of_80_columns():
    names = [f"a-system-with-all-{i}-of-its-settings" for i in range(3)]
    values = np.random.default_rng(0).random((3, 30, 1)) + np.arange(3)[:, None, None] / 4
    scores = Scores(tuple(names), tuple(f"q{i}" for i in range(30)), ("nDCG@10",), values)
    for systems in (names, names[:2]):
        report = report_of(significance(scores.select(systems=systems)), pairs=True)
        first = next(line for line in report.text(80).splitlines() if "verdict" in line)
        assert first.split()[-3:][:2] == ["p", "verdict"] or first.split()[-2:] == ["p", "verdict"]


def test_a_system_called_as_a_column_is_told_from_it():
    values = np.random.default_rng(0).random((2, 30, 1))
    for names, shown in ((("change", "x"), {"mean of change", "x"}), (("x", "p"), {"x", "mean of p"})):
        scores = Scores(names, range(30), ("nDCG@10",), values)
        (table,) = report_of(significance(scores)).tables
        assert shown < {*table.frame.columns}
