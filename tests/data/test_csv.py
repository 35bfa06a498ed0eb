"""The fast way to read CSV gives what the careful one gives, or leaves the file to it."""

from hypothesis import example, given
from hypothesis import strategies as st

from rankdev.data.formats import _carefully, _quickly

pieces = st.sampled_from(
    [",", ",", "\n", "\n", '"', '""', '"a"', "a", "b", " ", "\t", "\r\n", "\r", "é", "#", "null", "\x0b", "1"]
)


@given(st.lists(pieces, max_size=30).map("".join))
@example("a,b\nx\n\ny,z")
@example("a,b\n1,2\n3,4")
@example("a,b\r\n1,2\r\n")
def test_any_text(text: str) -> None:
    content = text.encode()
    for separator in (",", "\t"):
        frame = _quickly(content, separator)
        if frame is not None:
            careful, lines = _carefully(content, separator)
            assert careful.equals(frame)
            assert lines == [row + 2 for row in range(frame.height)]
