"""A judging server for tests: in this process, on a free port."""

import http.client
import json
from contextlib import contextmanager
from itertools import combinations
from threading import Thread
from uuid import uuid4

from rankdev.judging.items import read_items
from rankdev.judging.links import Addresses, Tokens
from rankdev.judging.server import JudgeServer
from rankdev.judging.session import Session
from rankdev.judging.store import Answer, Store
from rankdev.judging.strategies import CheckStrategy, OrderStrategy

ROWS = [
    {"query": "q1", "query_text": "Roman bridge", "item": f"d{k}", "title": title, "text": text}
    | {"url": f"https://example.org/d{k}"}
    for k, title, text in [
        (1, "A Roman bridge in Mérida", "The bridge over the Guadiana is the longest that remains from Roman times."),
        (2, "Bridges of the world", "Some bridges are old, and some are new.\nThis page lists both."),
        (3, "<script>document.title='owned'</script>", "<img src=x onerror=\"document.title='owned'\"> & <b>bold</b>"),
        (4, "Bread", "How to bake bread at home."),
    ]
] + [{"query": "q2", "item": f"e{k}"} for k in range(3)]


def written(path, rows=ROWS):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@contextmanager
def serving(
    folder,
    rows=ROWS,
    *,
    repeats=1,
    database="judgments.sqlite",
    least=0,
    host="127.0.0.1",
    port=0,
    gold=None,
    quick=False,
    **options,
):
    items = read_items(written(folder / "items.jsonl", rows))
    store = Store(folder / database)
    if quick:  # all pairs of a query, in turn: nothing has to be fitted
        pairs = [(query, *pair) for query, listed in items.pool.items.items() for pair in combinations(listed, 2)]
        strategy = CheckStrategy(items.pool, "m", [Answer(*pair, "tie", "m") for pair in pairs], repeats=repeats)
    else:
        strategy = OrderStrategy(items.pool, repeats=repeats, seed=0)
    session = Session(items, store, strategy, least=least, gold=gold)
    with served(session, host, port, **options) as server:
        yield server


@contextmanager
def served(session, host="127.0.0.1", port=0, public_url=None, **options):
    """Serve a session until the block ends, and close it."""
    server = JudgeServer(session, Addresses(host, public_url), port, tokens=Tokens.kept(session.store), **options)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        session.store.close()


class Client:
    """Calls the server as the page does."""

    def __init__(self, server, judge="ann", token=None, browser=None):
        self.server, self.judge, self.browser = server, judge, browser or f"browser of {judge}"
        self.token = token or server.tokens.judge
        self.connection = http.client.HTTPConnection(*server.server_address[:2], timeout=30)

    def post(self, path, headers=None, body=None, **asked):
        sent = {"Content-Type": "application/json", "Authorization": f"Bearer {self.token}", **(headers or {})}
        content = json.dumps({"judge": self.judge, "browser": self.browser, **asked}) if body is None else body
        self.connection.request("POST", f"/api/{path}", content, sent)
        response = self.connection.getresponse()
        content = response.read()
        return response.status, json.loads(content) if response.headers.get_content_type().endswith("json") else content

    def get(self, path):
        """Return the response, and what it holds."""
        self.connection.request("GET", path)
        response = self.connection.getresponse()
        return response, response.read()

    def next(self):
        return self.post("next")[1]["question"]

    def answer(self, question, outcome="first", comment="", request=None):
        first, second = (side["item"] for side in question["sides"])
        about = {"query": question["query"]["id"], "first": first, "second": second}
        request = request or uuid4().hex
        return self.post("answer", request=request, outcome=outcome, comment=comment, **about)
