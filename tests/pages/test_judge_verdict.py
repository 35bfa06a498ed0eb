"""The owner sees the verdict as it forms; judges do not."""

from rankdev.judging._strategies import DecisionStrategy, SystemScores
from rankdev.judging.items import read_items
from rankdev.judging.sessions import Session
from rankdev.judging.store import Store
from tests.judging.serving import Client, served, written
from tests.pages.test_judge import begin


def deciding(folder):
    rows = [{"query": f"q{q}", "item": item} for q in range(3) for item in "abcd"]
    items = read_items(written(folder / "items.jsonl", rows))
    runs = {"good": {f"q{q}": list("abcd") for q in range(3)}, "poor": {f"q{q}": list("dcba") for q in range(3)}}
    strategy = DecisionStrategy(items.pool, SystemScores.of(items.pool.items, runs, "RDQ@3"), 0.05, repeats=2, seed=0)
    return served(Session(items, Store(folder / "j.sqlite"), strategy, least=0))


def answered(client, most):
    for _ in range(most):
        question = client.next()
        if question is None:
            break
        first, second = (side["item"] for side in question["sides"])
        client.answer(question, "first" if first < second else "second")


def test_the_owner_watches_the_verdict_and_judges_do_not(seen, tmp_path):
    page, found = seen
    with deciding(tmp_path) as server:
        begin(page, server, server.tokens.owner, "eve")
        assert "The comparison is undecided; " in page.text_content("#progress")
        assert "poor" not in page.text_content("body")
        page.click("text=Results")
        page.wait_for_function("() => byId('verdict').textContent.startsWith('Not decided yet: ')")
        answered(Client(server), 100)
        page.click("#refresh")
        page.wait_for_function("() => byId('verdict').textContent.startsWith('Decided: good is better than poor')")
        assert found() == []
        page.click("[data-mode=pairs]")
        page.wait_for_function("() => byId('progress').textContent.endsWith('The comparison is decided.')")
        assert "poor" not in page.text_content("#pairs") + page.text_content("#progress")
