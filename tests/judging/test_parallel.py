"""Several questions at once: the same answers however long each takes, nothing lost, nothing asked twice."""

import random
import signal
import time
from threading import Lock

import pytest

import rankdev as rd
from rankdev.judging import JudgeError, NoAnswerError
from rankdev.judging.store import Store, StoreError
from tests.raising import noted, raises

ITEMS = {"q": list("hcafbgde"), "r": list("stuv")}
posix = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs POSIX")


def alphabetical(query, a, b):
    return min(a, b)


def slow(query, a, b):
    time.sleep(random.SystemRandom().random() / 200)
    return min(a, b)


def test_answers_do_not_depend_on_how_long_they_take():
    found = rd.collect(alphabetical, ITEMS, budget=21, parallel=4, repeats=1)
    assert rd.collect(slow, ITEMS, budget=21, parallel=4, repeats=1).to_polars().equals(found.to_polars())
    pairs = [(row[0], *sorted(row[1:3])) for row in found.to_polars().rows()]
    assert len(set(pairs)) == len(pairs) == 21


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
