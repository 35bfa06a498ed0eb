"""Means over time: what is written is read, whoever writes and whenever a writer is killed; changes are marked."""

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import rankdev as rd
from rankdev.statistics.history import append_history
from rankdev.statistics.means import mean_intervals


def scores(shift=0.0, **about):
    values = np.random.default_rng(0).uniform(0.2, 0.6, (2, 30, 2)) + shift
    return rd.Scores(("old", "néw"), tuple(f"q{i}" for i in range(30)), ("AP@5", "RR"), values, **about)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "history.jsonl"


def test_means_and_intervals_are_kept(file):
    known = scores()
    append_history(file, known, "0", "fail")
    low, high = mean_intervals(known)
    found = rd.history(file).to_polars()
    assert found["system"].to_list() == ["old", "old", "néw", "néw"]
    assert found["mean"].to_list() == known.means.ravel().tolist()
    assert found["low"].to_list() == low.ravel().tolist()
    assert found["high"].to_list() == high.ravel().tolist()
    assert set(found["queries"]) == {30}
    assert set(found["verdict"]) == {"fail"}
    chosen = rd.history(file, measures=["RR"], systems=["néw"]).to_polars()
    assert chosen["mean"].to_list() == [known.means[1, 1]]


def test_sums_have_no_interval_and_what_is_missing_is_null(file):
    values = np.array([[[3.0, np.nan], [4.0, np.nan]]])
    append_history(file, rd.Scores(("x",), ("a", "b"), ("NumRet", "AP@5"), values), "0")
    found = rd.history(file)
    assert found.to_polars().select("mean", "low", "high", "queries").rows() == [
        (7.0, None, None, 2),
        (None, None, None, 0),
    ]
    found.plot()


def test_changes_are_marked_and_named(file, monkeypatch):
    for day, (references, ties) in enumerate([("0", None), ("0", "trec_eval"), ("1", None), ("1", "given")]):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", str(1_790_000_000 + 86_400 * day))
        append_history(file, scores(ties=ties).select(systems=["old"], measures=["RR"]), references)
    found = rd.history(file)
    assert found.to_polars()["changed"].to_list() == ["", "", "references", "ties"]
    assert found.remarks[0] == "2026-09-23T14:13:20Z: references changed; means before and after are not comparable"
    assert len(found.remarks) == 2
    assert "references" in str(found)
    drawn = found.plot()
    dashed = [line for line in drawn.axes[0].lines if line.get_linestyle() == "--"]
    assert len(dashed) == 2
    assert [text.get_text() for text in drawn.axes[0].texts] == ["references", "ties"]


def test_rows_are_in_the_order_of_time(file, monkeypatch):
    for second in (1_790_000_500, 1_790_000_000, 1_790_000_200):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", str(second))
        append_history(file, scores(), "0")
    times = rd.history(file).to_polars()["time"].to_list()
    assert times == sorted(times)
    assert len(set(times)) == 3


def test_many_writers_lose_no_line(file):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: append_history(file, scores(i / 100), "0"), range(40)))
    assert rd.history(file).to_polars().height == 160
    assert [json.loads(line)["measure"] for line in file.read_text().splitlines()] == ["AP@5", "RR"] * 80


def test_a_writer_that_is_killed_leaves_a_file_that_can_be_read(file):
    one = scores().select(systems=["old"], measures=["RR"])
    for _ in range(2):
        append_history(file, one, "0")
    whole = file.read_bytes()
    begin = whole.index(b"\n") + 1
    for cut in [*range(begin, begin + 9), *range(begin + 9, len(whole), 7), len(whole) - 1]:
        file.write_bytes(whole[:cut])
        found = rd.history(file)
        assert found.to_polars().height == 1
        assert bool(found.remarks) == (cut > begin)
        append_history(file, one, "0")
        assert rd.history(file).to_polars().height == 2
    file.write_bytes(whole[: begin // 2])  # the first line of all
    append_history(file, one, "0")
    assert rd.history(file).to_polars().height == 1


@pytest.mark.parametrize(
    "text", ["q1 Q0 d1 1 0.5 x\n", '{"query": "q1", "tiers": [["d1"]]}\n', "unfinished", '{"x": 1}']
)
def test_no_other_file_is_appended_to(file, text):
    file.write_text(text)
    with pytest.raises(rd.DataError, match=r"not a line of a history|not a history"):
        append_history(file, scores(), "0")
    assert file.read_text() == text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda entry: {**entry, "mean": "x"}, ":2: this is not a line of a history"),
        (lambda entry: {**entry, "time": "yesterday"}, ":2: this is not a line of a history"),
        (lambda entry: {**entry, "time": "2026-01-01T00:00:00"}, ":2: this is not a line of a history"),
        (lambda entry: {**entry, "system": None}, ":2: this is not a line of a history"),
        (lambda entry: [entry], ":2: this is not a line of a history"),
        (lambda entry: {"time": entry["time"]}, ":2: this is not a line of a history"),
    ],
)
def test_a_wrong_line_is_named(file, change, message):
    append_history(file, scores().select(systems=["old"], measures=["RR"]), "0")
    line = file.read_text()
    file.write_text(line + json.dumps(change(json.loads(line))) + "\n")
    with pytest.raises(rd.DataError, match=message):
        rd.history(file)


def test_what_is_not_there_is_named(file, tmp_path):
    with pytest.raises(rd.DataError, match="no such file"):
        rd.history(file)
    file.write_text("")
    with pytest.raises(rd.DataError, match="there are no entries yet"):
        rd.history(file)
    append_history(file, scores(), "0")
    with pytest.raises(rd.UsageError, match="has no measure 'RP'; did you mean RR"):
        rd.history(file, measures=["RP"])
    with pytest.raises(rd.UsageError, match="has no system 'x'; it has old, néw"):
        rd.history(file, systems=["x"])
    with pytest.raises(rd.UsageError, match="cannot write here"):
        append_history(tmp_path, scores(), "0")
