from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from rankdev.display.cells import Cell
from rankdev.display.layout import Column, blocks, table_lines

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
