"""The world of docs/language-models.md: runs, texts, a model that errs and prefers what comes first, and a person."""

import json
import os

import numpy as np

from rankdev.judging.items import read_items
from rankdev.judging.session import Session
from rankdev.judging.store import Store
from rankdev.judging.strategies import CheckStrategy
from tests.judging.chat_server import Chat, chatting

QUERIES, ITEMS = 40, 4
ERROR, FIRST = 1.0, 1.0  # of the model's strengths, which scatter by 5; and how much it favours the first


class World:
    """Files in the working directory, and a model at ``$MODEL_URL``."""

    def __init__(self):
        rng = np.random.default_rng(4)
        self.truth = rng.normal(size=(QUERIES, ITEMS)) * 5
        seen = self.truth + rng.normal(size=self.truth.shape) * ERROR
        names = [[f"d{k}-{i}" for i in range(ITEMS)] for k in range(QUERIES)]
        for system, noise in (("old", 9.0), ("new", 2.0)):
            order = np.argsort(-(self.truth + rng.normal(size=self.truth.shape) * noise), axis=1)
            with open(f"{system}.run", "w", encoding="utf-8") as file:
                for k, row in enumerate(order):
                    file.writelines(f"q{k} Q0 {names[k][i]} {p} {9 - p} {system}\n" for p, i in enumerate(row, 1))
        texts = [{"item": name, "title": f"Page {name}"} for row in names for name in row]
        with open("texts.jsonl", "w", encoding="utf-8") as file:
            file.writelines(json.dumps(text) + "\n" for text in texts)
        strength = {f"Page {names[k][i]}": seen[k, i] for k in range(QUERIES) for i in range(ITEMS)}

        def better(query, a, b):
            return 1 / (1 + np.exp(strength[b] - strength[a] - FIRST))

        self._serving = chatting(Chat(better, babble=0.03, busy=0.05, key="secret"))
        self.url = self._serving.__enter__().url
        os.environ |= {"MODEL_URL": self.url, "RANKDEV_API_KEY": "secret"}

    def check(self, name, number):
        """Answer so many questions of ``rankdev judge --check`` as a person would."""
        items, store = read_items("items.jsonl"), Store("judgments.sqlite")
        before = store.given()
        session = Session(items, store, CheckStrategy(items.pool, "small", before, repeats=1), checked="small", least=0)
        rng = np.random.default_rng(5)
        for count in range(number):
            question = session.question(name)["question"]
            first, second = (side["item"] for side in question["sides"])
            a, b = (self.truth[tuple(map(int, item[1:].split("-")))] for item in sorted((first, second)))
            won = sorted((first, second))[int(rng.random() > 1 / (1 + np.exp(b - a)))]
            reply = {"query": question["query"]["id"], "first": first, "second": second, "comment": ""}
            session.answer(name, f"{name} {count}", reply | {"outcome": "first" if won == first else "second"})
        store.close()

    def end(self):
        """Stop the model."""
        self._serving.__exit__(None, None, None)
        for name in ("MODEL_URL", "RANKDEV_API_KEY"):
            os.environ.pop(name, None)
