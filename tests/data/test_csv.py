"""The fast way to read CSV gives what the careful one gives, or leaves the file to it."""

from hypothesis import example, given
from hypothesis import strategies as st

from rankdev import RankdevError
from rankdev.data.formats.base import joined
from rankdev.data.formats.delimited import _careful, _regular, csv_parts

pieces = st.sampled_from(
    [",", ",", "\n", "\n", '"', '""', '"a"', "a", "b", " ", "\t", "\r\n", "\r", "é", "#", "null", "\x0b", "1"]
)
fields = st.text(st.sampled_from('ab",\n\r é'), max_size=3).map(lambda text: '"' + text.replace('"', '""') + '"')


def check(content: bytes) -> None:
    for separator in (",", "\t"):
        frame = _regular(content, separator, None)
        if frame is not None:
            assert joined("file", _careful([content], separator, None, 1)).frame.equals(frame)


@given(st.lists(pieces, max_size=30).map("".join))
@example('a,b\n"x","y"\n')
@example('a,b\nx"y,z\n')
@example('a,b\n"x"y,z\n')
@example("a,b\nx\n\ny,z")
@example('a,b\n"x\ny",z\n1,2\n')
def test_any_text(text: str) -> None:
    check(text.encode())


@given(st.lists(pieces, max_size=30).map("".join))
@example('"","",')
@example("a,b\n" * 200 + "a,b,c\n")
def test_rows_know_their_lines(text: str) -> None:
    content = ("x,y\n" + text).encode()
    try:
        table = joined("file", csv_parts([content], ","))
    except RankdevError:
        return
    lines = [table.line_of(row) for row in range(table.frame.height)]
    assert lines == sorted(lines)
    assert all(2 <= line <= len(content.splitlines()) for line in lines if line is not None)
