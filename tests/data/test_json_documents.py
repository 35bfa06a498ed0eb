"""JSON documents of any size, of which only a window is in memory."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankdev import DataError, read_run
from rankdev.data import json_text
from rankdev.data import text as streams
from tests.common.examples import examples
from tests.raising import raises

TEXTS = st.text(st.sampled_from(' \t\n"\\,:{}[]aé'), min_size=1, max_size=6).map(lambda text: f"d{text}")
BLANKS = st.text(st.sampled_from(" \t\n\r"), max_size=40)


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(streams, "BATCH_BYTES", 1 << 16)
    monkeypatch.setattr(json_text, "LONG", 1 << 14)


@given(
    st.dictionaries(TEXTS, st.dictionaries(TEXTS, st.floats(-9, 9), min_size=1, max_size=4), min_size=1, max_size=4),
    *[BLANKS] * 4,
    st.integers(1, 30),
)
@examples(40)
def test_white_space_between_anything_changes_nothing(document, comma, colon, before, after, batch):
    text = before + json.dumps(document, separators=(f",{comma}", f"{colon}:{comma}")) + after

    class Pieces:
        name = "here.json"

        def pieces(self):
            content = text.encode()
            return (content[i : i + batch] for i in range(0, len(content), batch))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_text, "LONG", 0)
        assert dict(json_text.json_entries(Pieces())) == document


def test_an_error_behind_blanks_has_its_line(tmp_path: Path, small):
    path = tmp_path / "a.json"
    path.write_text('{"q": ["a",' + " \n" * 200_000 + '"b" "c"]}')
    with raises("not-json", DataError, line=200001):
        read_run(path)
