"""Columns of ids: as words they are numbered, found and sorted as the same ids in a list."""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankdev.data import ids
from rankdev.data.ids import Words

NAMES = st.text(st.characters(exclude_characters="\n\0", exclude_categories=["Cs"]), min_size=1, max_size=8)
FEW = st.sampled_from(["d1", "d10", "d1é", "clueweb09-en0000-00", "clueweb09-en0000-01", "12345678", "123456789", "z"])
COLUMNS = st.lists(NAMES | FEW, min_size=1, max_size=30)


@given(COLUMNS)
def test_words_are_the_names(names):
    words = Words.of(names)
    assert isinstance(words, Words)
    assert [*words] == words.to_list() == names == Words.of(pl.Series(names)).to_list()
    assert [words[row] for row in range(len(names))] == [words[row] for row in np.arange(len(names))] == names
    assert ids.listed(words[1:3]) == names[1:3]
    assert ids.series(words).to_list() == names
    assert ids.are_ascii(words) == ids.are_ascii(names)


@given(COLUMNS, COLUMNS, st.data())
def test_words_give_what_a_list_gives(names, others, data):
    words, codes = (
        Words.of(names),
        np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(names), max_size=len(names)))),
    )
    rows = np.array(data.draw(st.lists(st.integers(0, len(names) - 1))), np.int64)
    assert ids.listed(ids.take(words, rows)) == ids.take(names, rows)
    assert ids.listed(ids.joined([words, Words.of(others)])) == ids.joined([names, others])
    for given_, same in zip(ids.numbered(words), ids.numbered(names), strict=True):
        np.testing.assert_array_equal(given_, same)
    for grouped in (codes, np.sort(codes)):
        np.testing.assert_array_equal(ids.repeated(grouped, words), ids.repeated(grouped, names))
        for descending in (False, True):
            order = ids.sorted_within(grouped, names, descending)
            np.testing.assert_array_equal(ids.sorted_within(grouped, words, descending), order)
    assert ids.documents(words, "1") == ids.documents(names, "1")


@given(COLUMNS, COLUMNS, st.data())
def test_words_are_found_among_a_list_and_words(known, names, data):
    known = [*dict.fromkeys(known)]
    codes, asked = (
        np.array(data.draw(st.lists(st.integers(0, 1), min_size=len(column), max_size=len(column))))
        for column in (known, names)
    )
    expected = ids.Index(codes, known).places(asked, names)
    for form in (known, Words.of(known)):
        np.testing.assert_array_equal(ids.Index(codes, form).places(asked, Words.of(names)), expected)


@pytest.mark.parametrize("names", [["a\nb", "c"], ["a\0", "c"], [*"abcdefgh", "b" * 1000], ["b" * 2000] * 9])
def test_names_that_words_cannot_hold_or_would_waste_stay_a_list(names):
    assert Words.of(names) == names
    assert ids.listed(Words.of(pl.Series(names))) == names


def test_a_few_long_names_do_not_make_all_words_wide():
    long, short = ["b" * 1000] * 2, [*"abcdefgh"] * 100
    assert ids.joined([Words.of(long), Words.of(short)]) == long + short


@given(COLUMNS)
def test_different_names_have_different_numbers(names):
    different = Words.of(sorted(set(names)))
    assert all(a != b for a, b in pairwise(sorted(different.hashed().tolist())))


@given(st.data(), st.sampled_from([np.float32, np.float64]))
def test_many_rows_are_sorted_as_few_are(data, precision):
    sizes = data.draw(st.lists(st.integers(30, 60), min_size=40, max_size=50))
    random = np.random.default_rng(data.draw(st.integers(0, 999)))
    codes, count = np.repeat(np.arange(len(sizes)), sizes), sum(sizes)
    known = data.draw(st.lists(st.floats(width=32, allow_nan=False) | st.sampled_from([0.0, -0.0, 0.5]), min_size=1))
    keys = np.where(random.random(count) < 0.5, random.choice(known, count), random.normal(size=count)).astype(
        precision
    )
    assert len(codes) > ids.FEW_ROWS
    assert ids.sorted_rows(codes, keys).tolist() == np.lexsort((-keys, codes)).tolist()
