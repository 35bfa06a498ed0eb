"""The loop asks few questions, one or several at once, keeps every answer, and stops by rule."""

import random
import time
from dataclasses import replace
from threading import Lock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankdev as rd
from rankdev.judging import JudgeError, NoAnswerError
from rankdev.judging.items import Pool
from rankdev.judging.store import Answer, Store, StoreError
from rankdev.judging.strategies import OrderStrategy
from rankdev.preferences import tiers_from_preferences
from tests.raising import noted, raises

LETTERS = list("hcafbgde")
ITEMS = {"q": LETTERS, "r": list("stuv")}
MANY = "abcdefghijkl"


def alphabetical(query, a, b):
    return min(a, b)


def perfect(truth):
    return lambda query, a, b: max(a, b, key=truth[query].get)


def drawn(queries, items, seed, spread=1.5):
    rng = np.random.default_rng(seed)
    return {f"q{q}": {f"d{k}": float(x) for k, x in enumerate(rng.normal(size=items) * spread)} for q in range(queries)}


def test_repeats_are_limited_and_swapped():
    found = rd.collect(lambda query, a, b: None, {"q": ["x", "y", "z"]}, repeats=2, budget=10)
    assert found.stopped == "no useful pair left to ask"
    shown = found.to_polars().select("first", "second").rows()
    assert sorted(shown) == sorted((a, b) for a in "xyz" for b in "xyz" if a != b)
    assert found.preferences.tie.all()


def test_sides_are_random_but_seeded():
    first = [rd.collect(alphabetical, {"q": LETTERS}, seed=seed).to_polars()["first"].to_list() for seed in (0, 0, 1)]
    assert first[0] == first[1] != first[2]
    order = rd.collect(alphabetical, {f"q{k}": LETTERS for k in range(20)}, budget=200).preferences.winner_first
    assert 0.35 < order.mean() < 0.65


def test_equal_items_are_given_up():
    rng = np.random.default_rng(0)
    found = rd.collect(lambda query, a, b: (a, b)[rng.integers(2)], {"q": LETTERS})
    assert found.stopped == "more answers would hardly help"
    assert found.asked == 48  # 2 · 8 log₂ 8
    assert found.unsettled == ("q",)
    noted(found.remarks, "out-of-reach", count=1, queries=1)
    assert rd.collect(lambda query, a, b: (a, b)[rng.integers(2)], {"q": LETTERS}, budget=28).asked == 28


def test_a_perfect_judge_is_asked_little_more_than_sorting_needs():
    truth = drawn(2, 20, 1)
    found = rd.collect(perfect(truth), {q: list(items) for q, items in truth.items()})
    assert found.stopped == "order settled"
    assert max(found.summary()["asked"]) <= 115
    for query, items in truth.items():
        ordered = rd.References.from_preferences(found.preferences, rule="strict")[query]
        assert wrong_pairs(ordered, items) <= 0.05
        assert len(found.references[query].tiers) >= 8


def wrong_pairs(reference, strength):
    """The share of pairs that a reference has not in their true order."""
    pairs = [(a, b) for a in strength for b in strength if strength[a] > strength[b]]
    return float(np.mean([reference[a] >= reference[b] for a, b in pairs]))


def test_grades_are_a_start():
    grades = {"q": {"x": 2, "y": 2, "z": 0}}
    found = rd.collect(alphabetical, grades, budget=1)
    assert set(found.to_polars().select("first", "second").row(0)) == {"x", "y"}
    ordered = rd.References.from_preferences(found.preferences, rule="strict")
    assert ordered["q"]["z"] > ordered["q"]["x"]
    assert rd.collect(alphabetical, rd.References.from_grades({"q": {"x": 2, "y": 1}}), budget=1).asked == 1


def test_the_judge_sees_ids_as_text_and_may_answer_with_numbers():
    seen = []
    rd.collect(lambda *asked: seen.append(asked) or max(int(asked[1]), int(asked[2])), {1: [10, 9, 8]}, budget=3)
    assert all(isinstance(value, str) for asked in seen for value in asked)


@pytest.mark.parametrize("said", ["z", 1, True, ("x", "y"), "tie", np.array(["x"]), np.array(["v"])])
def test_anything_else_is_refused_and_the_answers_are_kept(said):
    answers = iter(["x", said])
    with raises("not-an-answer", JudgeError, query="q", answers=1) as caught:
        rd.collect(lambda query, a, b: next(answers), {"q": ["x", "y", "v"]})
    assert caught.value.collected.asked == len(caught.value.collected.preferences) == 1


def test_going_on_from_a_file_gives_what_one_call_gives(tmp_path):
    truth = drawn(4, 6, 5)
    items = {q: list(entries) for q, entries in truth.items()}
    judge = perfect(truth)
    whole = rd.collect(judge, items, budget=20, seed=3)
    path = tmp_path / "answers.sqlite"
    for budget in (7, 20):
        found = rd.collect(judge, items, budget=budget, seed=3, file=path)
    assert found.to_polars().equals(whole.to_polars())
    names = ["query", "winner", "loser", "tie", "first"]
    assert rd.read_preferences(path).to_polars().select(names).equals(found.preferences.to_polars().select(names))


@pytest.mark.parametrize("seed", range(2))
def test_an_answer_taken_back_leaves_the_next_question_as_it_was(seed):
    rng, items = np.random.default_rng(seed), {"q": LETTERS[:7]}
    found = rd.collect(lambda query, a, b: (a, b)[rng.integers(2)], items, budget=13)
    strategies = [OrderStrategy(Pool.of(items), repeats=2, seed=0) for _ in range(2)]
    for strategy in strategies:
        for answer in found.answers:
            strategy.tell(answer)
    last = replace(found.answers[-1], outcome="tie")
    strategies[1].unsettled()
    strategies[1].tell(last)
    strategies[1].unsettled()
    strategies[1].tell(last, -1)
    assert strategies[0].ask() == strategies[1].ask()


def slow(query, a, b):
    time.sleep(random.SystemRandom().random() / 200)
    return min(a, b)


def test_answers_do_not_depend_on_how_long_they_take():
    found = rd.collect(alphabetical, ITEMS, budget=21, parallel=4, repeats=1)
    seen = []
    again = rd.collect(slow, ITEMS, budget=21, parallel=4, repeats=1, progress=lambda *told: seen.append(told))
    assert again.to_polars().equals(found.to_polars())
    assert [seen[0], seen[-1]] == [(4, 21, "4 answers"), (21, 21, "21 answers")]
    pairs = [(row[0], *sorted(row[1:3])) for row in found.to_polars().rows()]
    assert len(set(pairs)) == len(pairs) == 21
    assert found.stopped == "budget spent"


@pytest.mark.parametrize("file", [None, "answers.sqlite"])
@pytest.mark.parametrize("failure", [TimeoutError("too late"), "nonsense"])
def test_a_failure_loses_none_of_the_other_answers(failure, file, tmp_path):
    asked, lock, path = [], Lock(), file and tmp_path / file

    def judge(query, a, b):
        with lock:
            asked.append((query, a, b))
            number = len(asked)
        if number == 6:
            time.sleep(0.05)
            if isinstance(failure, Exception):
                raise failure
            return failure
        return min(a, b)

    judge.name = "alphabetical"
    kind = "judge-failed" if isinstance(failure, Exception) else "not-an-answer"
    with raises(kind, JudgeError, answers=7, kept=str(path or "error.collected")) as caught:
        rd.collect(judge, ITEMS, parallel=4, file=path)
    assert caught.value.collected.asked == 7
    if path:
        failed = asked[5]
        found = rd.collect(alphabetical, ITEMS, budget=12, parallel=4, file=path)
        assert {(a.query, a.first, a.second) for a in found.answers[:7]} == {*asked} - {failed}
        assert found.asked == len(rd.read_preferences(path)) == 12


@pytest.mark.parametrize("parallel", [1, 4])
def test_pairs_without_an_answer_are_skipped_and_not_asked_again(parallel, tmp_path):
    def judge(query, a, b):
        asked.append(frozenset((a, b)))
        if "c" in (a, b):
            raise NoAnswerError("c is indecent")
        return min(a, b)

    asked = []
    path = tmp_path / "answers.sqlite"
    found = rd.collect(judge, ITEMS, file=path, parallel=parallel, repeats=1)
    assert len(set(asked)) == len(asked)
    skipped = sum("c" in pair for pair in asked)
    assert found.asked == len(asked) - skipped
    noted(found.remarks, "skipped-pairs", count=skipped, why="c is indecent")
    asked.clear()
    again = rd.collect(judge, ITEMS, file=path, parallel=parallel, repeats=1)
    assert again.asked >= found.asked
    assert not any("c" in pair for pair in asked)
    assert rd.collect(judge, ITEMS, budget=3).asked + sum("c" in pair for pair in asked) <= 3


def test_a_judge_that_never_answers_is_given_up():
    def judge(query, a, b):
        asked.append(a)
        raise NoAnswerError("rubbish")

    asked = []
    with raises("silent-judge", JudgeError, count=10, why="rubbish", answers=0):
        rd.collect(judge, ITEMS)
    assert len(asked) == 10


def test_a_disk_that_is_full_is_named_and_the_rest_is_kept(tmp_path, monkeypatch):
    def full(*_):
        if len(written) == 5:
            raise StoreError("not-saved", why="the disk is full")
        written.append(1)
        return real(*_)

    written, real = [], Store.add
    monkeypatch.setattr(Store, "add", full)
    with raises("answer-lost", JudgeError, answers=5) as caught:
        rd.collect(alphabetical, ITEMS, parallel=3, file=tmp_path / "answers.sqlite")
    assert caught.value.fields["why"].kind == "not-saved"
    assert caught.value.collected.asked == 5


def test_judges_share_a_database_and_each_goes_on_from_its_own(tmp_path):
    path = tmp_path / "answers.sqlite"
    rd.collect(alphabetical, ITEMS, budget=5, file=path)
    found = rd.collect(slow, ITEMS, budget=7, file=path)
    assert found.asked == 7
    whole = rd.collect(alphabetical, ITEMS, budget=9, file=path)
    assert whole.to_polars().equals(rd.collect(alphabetical, ITEMS, budget=9).to_polars())
    judged = rd.read_preferences(path).to_polars()
    assert dict(judged["worker"].value_counts().rows()) == {"alphabetical": 9, "slow": 7}
    other = rd.collect(alphabetical, {"q": list("ha")}, file=path)
    noted(other.remarks, "other-items", path=str(path))


def judged(**rule):
    """Yield the state and the question after each answer of a consistent judge."""
    strategy = OrderStrategy(Pool.of({"q": list(MANY)}), **rule, seed=3)
    while strategy.unsettled() and (pair := strategy.ask()):
        strategy.tell(Answer("q", min(pair[1:]), max(pair[1:]), "first", "ann"))
        yield strategy.queries["q"], pair


@pytest.mark.parametrize("rule", [{"error": 0.05}, {"error": 0.1, "probability": 0.7}])
def test_a_query_is_settled_where_little_is_expected_to_be_wrong(rule):
    states = [(state, state.error, state.settled) for state, _ in judged(**rule)]
    assert any(error <= rule["error"] for _, error, _ in states)
    assert [settled for *_, settled in states] == [False] * (len(states) - 1) + [True]
    last = states[-1][0]
    assert last.expected(last.posterior())[1] >= rule.get("probability", 0)


def test_what_is_expected_to_be_wrong_is_what_the_tiers_say():
    states, pairs = zip(*judged(), strict=True)
    rows, state = [("q", min(a, b), max(a, b)) for _, a, b in pairs], states[-1]
    made = tiers_from_preferences(rows, rule="strict")
    assert state.posterior().coin_flips == pytest.approx(made.coin_flips["q"])
    border = min(made.separated["q"])
    assert state.expected(state.posterior())[1] == pytest.approx(border, abs=1e-6)


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.5]))
def test_questions_first_connect_every_item(seed, ties):
    rng = np.random.default_rng(seed)
    strategy = OrderStrategy(Pool.of({"q": LETTERS[:7]}), repeats=1, seed=seed, spread=True)
    silent = []
    connected: set[str] = set()
    while len(connected) < 7:
        _, a, b = strategy.ask(silent)
        assert not connected or len(connected & {a, b}) == 1
        if rng.random() < 0.2:  # skipped by the judge: another pair connects
            silent.append(("q", a, b))
            continue
        connected |= {a, b}
        strategy.tell(Answer("q", a, b, "tie" if rng.random() < ties else "first", "ann"))
    assert strategy.queries["q"].count == 6
