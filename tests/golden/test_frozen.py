"""Every number that was frozen is as it was; ``python -m tests.golden.freeze NAME`` thaws one on purpose."""

import pytest

from tests.golden.freeze import ENTRIES, FOLDER, differences


@pytest.mark.parametrize("name", ENTRIES)
def test_numbers_are_as_they_were(name):
    if ENTRIES[name].missing:
        pytest.skip(ENTRIES[name].missing)
    found = differences(name)
    assert not found, "\n".join(found[:20])


def test_every_file_has_its_function():
    assert {path.stem for path in FOLDER.glob("*.json")} == set(ENTRIES)
