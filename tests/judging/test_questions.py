"""What is chosen for a page while the judge goes on."""

from itertools import combinations, groupby

import pytest

from rankdev.judging._questions import STAY, Questions
from rankdev.judging._strategies import Left
from rankdev.judging.items import sorted_pair
from rankdev.judging.store import StoredAnswer


class InTurn:
    """Asks about the query to stay in, or else about the next; ``meanwhile`` is called once, while it chooses."""

    def __init__(self, queries, items):
        self.pairs = {query: list(combinations(items, 2)) for query in queries}
        self.meanwhile = lambda: None

    def ask(self, skip=(), under_way=(), *, stay=None):
        self.meanwhile, now = lambda: None, self.meanwhile
        now()
        if stay is None:
            first = next(iter(self.pairs))
            self.pairs[first] = self.pairs.pop(first)  # the last in turn
        queries = [*self.pairs] if stay is None else [stay, *self.pairs]
        return next(((q, *pair) for q in queries for pair in self.pairs[q] if (q, *pair) not in skip), None)

    def tell(self, query, winner, loser, **_):
        self.pairs[query].remove(tuple(sorted((winner, loser))))

    def unsettled(self):
        return [query for query, pairs in self.pairs.items() if pairs]

    def left(self):
        return Left(1, 1, 1)

    def errors(self):
        return {}

    given_up = errors


@pytest.fixture
def step(monkeypatch):
    """Choose for a page when the test says so, and not in the background."""
    monkeypatch.setattr(Questions, "_background", lambda self: None)
    return lambda questions, name: questions._prepare(questions._screens[name, ""])


def answer(questions, name):
    pair = questions.ask(name)
    questions.note(StoredAnswer(*pair, "first", name, ""), 1)
    return pair[0]


def test_what_was_chosen_for_the_query_before_does_not_part_a_judge_from_the_next_one(step):
    strategy = InTurn([f"q{n}" for n in range(9)], "abcdefgh")
    questions, asked = Questions(strategy, ()), []

    def go_on():
        asked.append(answer(questions, "ann"))
        questions.ask("ann")

    questions.ask("ann")
    for _ in range(4 * STAY):
        step(questions, "ann")
        strategy.meanwhile = go_on
        step(questions, "ann")
        go_on()
    *rows, _ = [len(list(row)) for _, row in groupby(asked)]
    assert min(rows) >= STAY
    questions.close()


def test_the_last_pair_stays_with_the_page_that_has_it_next(step):
    strategy = InTurn(["q"], "abc")
    questions = Questions(strategy, ())
    questions.ask("ann"), questions.ask("bob")
    step(questions, "ann")
    (last,) = questions._screens["ann", ""].ready
    step(questions, "bob")  # who looks at another pair
    answer(questions, "ann")
    strategy.ask = None  # ann need not wait
    assert questions.ask("ann") == last
    questions.close()


def test_a_pair_that_somebody_takes_meanwhile_is_not_the_only_one(step):
    strategy = InTurn(["q"], "abcd")
    questions = Questions(strategy, ())
    taken = sorted_pair(("q", "a", "b"))
    strategy.meanwhile = lambda: questions.ask_again("bob", "", taken)
    asked = questions.ask("ann")
    assert asked is not None
    assert sorted_pair(asked) != taken
    questions.close()
