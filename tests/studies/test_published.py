import json
import warnings

import polars as pl
import pytest
from tests.raising import kinds

from rankdev.display.encodings import FORMATS
from rankdev.display.report import Report
from rankdev.errors import warn
from rankdev.studies._published import Comparison, facts, rows_of, warnings_into

TABLE = Comparison(
    "Table 9",
    "Nine",
    ("p50", "n80"),
    {"a": [0.2, 100.0], "b": [0.3, float("inf")], "c": [None, None]},
    {"a": [0.5, 50.0], "b": [0.4, 75.0]},
    ("n80",),
)


def test_ours_stands_above_the_paper_and_measures_it_does_not_have_stand_alone():
    shown = TABLE.report().tables[0].shown
    assert shown["measure"].to_list() == ["a", "", "b", "", "c"]
    assert shown[""].to_list() == ["rankdev", "paper", "rankdev", "paper", "rankdev"]
    assert shown["p50"].to_list() == [0.2, 0.5, 0.3, 0.4, None]
    assert shown["n80"].to_list() == [100, 50, float("inf"), 75, None]
    lines = TABLE.report().text().splitlines()
    assert [line.split()[-1].rstrip("*") for line in lines[-5:]] == ["100", "50", "∞", "75", "–"]


def test_the_best_of_each_source_is_marked_the_highest_power_and_the_fewest_queries():
    assert set(TABLE.report().tables[0].best) == {(2, "p50"), (1, "p50"), (0, "n80"), (1, "n80")}


def test_records_are_one_row_a_cell():
    frame = facts(TABLE.records())
    assert frame.columns == ["part", "measure", "statistic", "value", "published"]
    assert frame.row(1) == ("Table 9", "a", "n80", 100.0, 50.0)
    assert frame.row(3) == ("Table 9", "b", "n80", float("inf"), 75.0)  # not reached
    assert frame.row(4) == ("Table 9", "c", "p50", None, None)


def test_rows_of_puts_the_best_first_and_the_unavailable_last():
    frame = pl.DataFrame({"measure": ["a", "b", "c"], "p50": [0.1, None, 0.4]})
    assert rows_of(frame, ["p50"], "p50") == {"c": [0.4], "a": [0.1], "b": [None]}


def test_warnings_of_rankdev_become_notes_once_and_others_stay_warnings():
    notes = []

    def work():
        with warnings_into(notes):
            warn("diverged")
            warn("diverged")
            warnings.warn("other", UserWarning, stacklevel=1)

    with pytest.warns(UserWarning, match="other"):
        work()
    assert kinds(notes) == ["diverged"]


def test_joined_reports_print_all_tables_and_encode_their_rows():
    joined = Report.joined(facts(TABLE.records()), [TABLE.report(), TABLE.report()], ["the end"])
    text = joined.text()
    assert text.count("Nine") == 2
    assert text.rstrip().endswith("the end")
    assert FORMATS["latex"].encode(joined).count(b"\\toprule") == 2
    assert json.loads(FORMATS["json"].encode(joined))[0]["published"] == 0.5
    assert FORMATS["csv"].encode(joined).splitlines()[0] == b"part,measure,statistic,value,published"
