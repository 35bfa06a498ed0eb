"""Formats of judgments: read where they are unambiguous, refused where they are not."""

import numpy as np
import polars as pl
import pytest

import rankdev as rd
from rankdev.errors import DataError, UsageError
from rankdev.preferences import Preferences
from tests.preferences.simulate import rows_of
from tests.raising import noted, raises


def table(outcomes, name="winner", a=("x", "y", "x"), b=("y", "z", "z"), **more):
    return pl.DataFrame({"query": ["q"] * len(outcomes), "a": a, "b": b, name: outcomes, **more})


FIRST_SECOND_TIE = [("q", "x", "y", False), ("q", "z", "y", False), ("q", "x", "z", True)]


@pytest.mark.parametrize(
    "outcomes",
    [
        ["a", "b", "tie"],
        ["x", "z", "equal"],
        ["1", "2", "="],
        ["left", "right", "both bad"],
        ["model_a", "model_b", "tie (bothbad)"],
        ["First", "SECOND", "No preference"],
    ],
)
@pytest.mark.parametrize("name", ["winner", "label", "choice", "preference", "Result"])
def test_words_for_first_second_and_tie(outcomes, name):
    assert rows_of(Preferences.from_table(table(outcomes, name))) == FIRST_SECOND_TIE


def test_labels_1_and_2_are_not_taken_for_items_1_and_2():
    rng = np.random.default_rng(0)
    a, b = np.array([rng.choice(10, 2, replace=False) + 1 for _ in range(50)]).T
    labels = rng.integers(1, 3, 50)
    ambiguous = pl.DataFrame({"query": ["q"] * 50, "a": a, "b": b, "label": labels})
    with raises("item-or-position", DataError, name="label"):
        Preferences.from_table(ambiguous)
    judged = Preferences.from_table(ambiguous, values="position")
    expected = [str(x if label == 1 else y) for x, y, label in zip(a, b, labels, strict=True)]
    assert judged.to_polars()["winner"].to_list() == expected


def test_whole_numbers_stay_positions_where_pandas_made_them_floats():
    assert rows_of(Preferences.from_table(table([1.0, 2.0, 1.0])))[0][1] == "x"


def test_items_1_to_4_may_win_by_name():
    frame = pl.DataFrame({"query": ["q"] * 3, "a": [2, 1, 3], "b": [1, 3, 4], "winner": [2, 1, 4]})
    assert Preferences.from_table(frame).to_polars()["winner"].to_list() == ["2", "1", "4"]


@pytest.mark.parametrize("name", ["label", "preference", "grade"])
def test_only_1_and_2_may_be_degrees(name):
    with raises("position-or-degree", DataError, name=name, values=("1", "2")):
        Preferences.from_table(table([1, 2, 2], name))
    assert rows_of(Preferences.from_table(table([1, 2, 2], name), values="position"))[0][1] == "x"
    assert rows_of(Preferences.from_table(table([1, 2, 2], name), values="graded"))[0][1] == "y"
    assert rows_of(Preferences.from_table(table([1, 2, 2], "winner")))[1] == ("q", "z", "y", False)


def test_degrees_need_a_direction_and_weigh_what_they_are_worth():
    graded = table([-2, 1, 0], "label")
    with raises("no-direction", DataError, name="label"):
        Preferences.from_table(graded)
    judged = Preferences.from_table(graded, values="graded")
    assert rows_of(judged) == FIRST_SECOND_TIE
    np.testing.assert_allclose(judged.weight, [2 * 3 / 5, 1 * 3 / 5, 1])  # (2 + 1) / (2² + 1²) = 3/5
    other_way = Preferences.from_table(graded, values="graded-first")
    assert [row[1] for row in rows_of(other_way)[:2]] == ["y", "y"]
    assert Preferences.from_table(table([-1, 1, 0], "label"), values="graded").weight is None


def test_probabilities_are_shares_of_a_win():
    frame = table([0.9, 0.25, 0.5], "p")
    judged = Preferences.from_table(frame, columns={"probability": "p"})
    assert [row[1] for row in rows_of(judged)] == ["x", "z", "x"]
    np.testing.assert_allclose(judged.share, [0.9, 0.75, 0.5])
    np.testing.assert_allclose(judged.pairs.score, [0.5, 0.9, 0.75])  # x–z, x–y, z–y
    named = Preferences.from_table(table([0.9, 0.25, 0.5], "probability_a"))
    assert rows_of(named) == rows_of(judged)
    with raises("bad-value", DataError, row=1, name="p", value=25):
        Preferences.from_table(table([0.9, 25, 0.5], "p"), columns={"winner": "p"}, values="probability")
    fit = rd.strengths(Preferences.from_rows([{"a": "x", "b": "y", "probability_a": 0.75}] * 50), ridge=1e-6)
    assert np.diff(fit.values).item() == pytest.approx(-np.log(3), abs=1e-3)


def test_probabilities_in_a_crowd_count_by_share():
    half = Preferences.from_rows([{"a": "x", "b": "y", "probability_a": 0.5, "worker": w} for w in "abc"])
    assert rd.strengths(half, "crowd-bt").values.tolist() == pytest.approx([0, 0], abs=1e-9)


def test_values_say_what_each_means():
    frame = table(["0", "2", "1"], "label")
    with raises("ambiguous-outcomes", DataError, values=("0", "1", "2")):
        Preferences.from_table(frame)
    meaning = {"0": "first", "1": "tie", "2": "second"}
    assert rows_of(Preferences.from_table(frame, values=meaning)) == FIRST_SECOND_TIE
    skipping = Preferences.from_table(frame, values={**meaning, "1": "skip"})
    assert rows_of(skipping) == FIRST_SECOND_TIE[:2]
    noted(skipping.remarks, "skipped-judgments", count=1)
    with raises("unexplained-value", DataError, row=1, name="label", value="2"):
        Preferences.from_table(frame, values={"0": "first", "1": 3})
    with raises("bad-value", UsageError, value="frist"):
        Preferences.from_table(frame, values={"0": "frist"})
    with raises("not-a-choice", UsageError, name="values", near="position"):
        Preferences.from_table(frame, values="positon")


@pytest.mark.parametrize(
    ("name", "outcomes", "values"),
    [
        ("winner", ["x", None, "z"], None),
        ("winner", ["a", " ", "b"], None),
        ("label", [1.0, float("nan"), 2.0], "position"),
        ("label", [-1, None, 1], "graded"),
        ("label", ["L", "", "R"], {"L": "first", "R": "second"}),
        ("probability_a", [0.9, None, 0.2], None),
    ],
)
def test_rows_without_an_answer_are_left_out_and_counted(name, outcomes, values):
    judged = Preferences.from_table(table(outcomes, name), values=values)
    assert [row[1:3] for row in rows_of(judged)] == [("x", "y"), ("z", "x")]
    noted(judged.remarks, "unanswered", count=1)


def test_half_a_row_is_no_row_without_an_answer():
    with raises("self-compared", DataError, row=2):  # a row of the table that was given
        Preferences.from_table(table(["a", None, "b"], b=("y", "z", "x")))
    with raises("bad-value", DataError, row=1):
        Preferences.from_table(table(["a", None, "b"], tie=[False, True, False]))
    frame = pl.DataFrame({"query": ["q"] * 3, "winner": ["x", "", None], "loser": ["y", "", "z"]})
    with raises("no-value", DataError, row=2):
        Preferences.from_table(frame)
    noted(Preferences.from_table(frame[:2]).remarks, "unanswered", count=1)


def test_a_count_repeats_its_row():
    frame = table(["a", "b", "tie"], count=[2, 0, 1], worker=["ann", "ann", "bob"])
    judged = Preferences.from_table(frame)
    assert rows_of(judged) == [FIRST_SECOND_TIE[0]] * 2 + [FIRST_SECOND_TIE[2]]
    noted(judged.remarks, "weightless", count=1)
    for wrong in (-1, 1.5, 1e9):
        with raises("bad-value", DataError, name="count"):
            Preferences.from_table(frame.with_columns(count=pl.Series([1.0, wrong, 1.0])))


@pytest.mark.parametrize(
    "name", ["worker_id", "WorkerId", "annotator_id", "AnnotatorID", "assessor", "rater", "user_id"]
)
def test_workers_by_any_name(name):
    judged = Preferences.from_table(table(["a", "b", "tie"], **{name: [1, 2, 1]}))
    assert judged.workers == ("1", "2")
    assert judged.remarks == ()


def test_what_is_not_used_is_said():
    judged = Preferences.from_table(table(["a", "b", "tie"], mood=["good", "bad", "good"]))
    noted(judged.remarks, "unused-columns", names=("mood",))


def test_columns_say_which_is_which():
    frame = pl.DataFrame({"t": ["q"], "l": ["x"], "r": ["y"], "said": ["r"], "who": ["ann"]})
    columns = {"query": "t", "item_a": "l", "item_b": "r", "winner": "said", "worker": "who"}
    judged = Preferences.from_table(frame.with_columns(said=pl.lit("right")), columns=columns)
    assert (rows_of(judged), judged.workers) == ([("q", "y", "x", False)], ("ann",))
    with raises("not-a-choice", UsageError, value="itema", near="item_a"):
        Preferences.from_table(frame, columns={"itema": "l"})
    with raises("no-column", UsageError, name="left", role="item_a"):
        Preferences.from_table(frame, columns={"item_a": "left"})


@pytest.mark.parametrize("text", ["query", "question", "topic", "prompt"])
@pytest.mark.parametrize("name", ["qid", "Query ID", "topic_id"])
def test_queries_are_named_by_their_ids_not_by_their_texts(name, text):
    judged = pl.DataFrame({text: ["what is it"], name: ["7"], "winner": ["x"], "loser": ["y"]})
    assert Preferences.from_table(judged).queries == ("7",)


def test_two_ways_to_read_columns_are_refused():
    frame = table(["a", "b", "tie"]).with_columns(left=pl.lit("x"), right=pl.lit("y"))
    with raises("ambiguous-columns", DataError, what="items", names=("a and b", "left and right")):
        Preferences.from_table(frame)
    for one, two, what in (("count", "times", "count"), ("better", "worse", "items")):
        rows = [{"query": "q", "winner": "x", "loser": "y", one: "z", two: "y"}]
        with raises("ambiguous-columns", DataError, what=what):
            Preferences.from_table(rows)
    with raises("ambiguous-columns", DataError, what="outcome", names=("winner", "preferred")):
        Preferences.from_table(table(["a", "b", "tie"], preferred=["x", "y", "z"]))


def test_no_query_column_is_one_query_where_nothing_else_could_be_it():
    frame = pl.DataFrame({"winner": ["x"], "loser": ["y"]})
    judged = Preferences.from_table(frame)
    assert judged.queries == ("all",)
    noted(judged.remarks, "one-query", query="all")
    other = frame.with_columns(theme=pl.lit("q"))
    with raises("no-query-column", DataError, known=("winner", "loser", "theme")):
        Preferences.from_table(other)
    assert Preferences.from_table(other, columns={"query": "theme"}).queries == ("q",)
    assert Preferences.from_table(other, columns={"query": None}).queries == ("all",)


def test_arena_battles():
    names = ["question_id", "model_a", "model_b", "winner", "judge", "conversation_a"]
    rows = [("81", "gpt", "claude", "model_b", "e1", "…"), ("82", "claude", "llama", "model_a", "e2", "…")]
    rows += [("83", "gpt", "llama", "tie (bothbad)", "e1", "…")]
    battles = pl.DataFrame(rows, schema=names, orient="row")
    judged = Preferences.from_table(battles)
    won = [("claude", "gpt", False), ("claude", "llama", False), ("gpt", "llama", True)]
    assert rows_of(judged) == [("all", *row) for row in won]
    assert judged.workers == ("e1", "e2")
    assert judged.winner_first.tolist() == [False, True, True]
    assert Preferences.from_table(battles, columns={"query": "question_id"}).queries == ("81", "82", "83")


def test_order_of_presentation_survives_files(tmp_path):
    judged = Preferences.from_table(table(["b", "a", "tie"], worker=["w", "w", "v"]))
    assert judged.winner_first.tolist() == [False, True, True]
    frame = judged.to_polars()
    assert frame["first"].to_list() == ["x", "y", "x"]
    for name in ("p.csv", "p.parquet"):
        rd.write_preferences(judged, tmp_path / name)
        again = rd.read_preferences(tmp_path / name)
        assert again.to_polars().equals(frame)
    assert again.select(["q"]).winner_first.tolist() == [False, True, True]
    with raises("bad-value", DataError, row=0, name="first", value="w"):
        Preferences.from_table(frame.with_columns(first=pl.lit("w")))
