"""A chat API on 127.0.0.1 for tests: a model with a position bias that errs, babbles, and is busy at times."""

import json
import random
import re
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread

ITEM = re.compile(r"\[(query|item A|item B) (\w+)\]\n(.*?)\n\[end of \1 \2\]", re.DOTALL)


class Chat:
    """Answers as a model does; ``script`` is what it does first, one entry per call, ahead of the model.

    An entry is a text (the reply), a status, ``(status, headers)``, ``(status, headers, JSON)``, bytes (the body), a
    dict (the JSON), "CUT", "TRICKLE", "HANG" or "GONE". ``better(query, a, b)`` is the chance that a, shown first, is
    preferred. What a model does with a pair depends on the pair, its order and the seed only, not on when it is asked.
    """

    def __init__(self, better=lambda query, a, b: float(a < b), *, script=(), babble=0.0, busy=0.0, key="", seed=0):
        self.better, self.script, self.babble, self.busy = better, list(script), babble, busy
        self.key, self.seed = key, seed
        self.asked, self.requests, self._tried = [], [], {}
        self._lock = Lock()

    def reply(self, body):
        """Return what the server does about a request."""
        found = {name: text for name, _, text in ITEM.findall(body["messages"][1]["content"])}
        question = tuple(found[name] for name in ("query", "item A", "item B"))
        with self._lock:
            self.requests.append(body)
            if self.script:
                return self.script.pop(0)
            tries = self._tried[question] = self._tried.get(question, -1) + 1
        chance = random.Random(f"{self.seed} {question} {tries}")
        if chance.random() < self.busy:
            return 429, {"Retry-After": "0"}
        if chance.random() < self.babble:
            return chance.choice(["Both are fine, I think.", "", "Item A or item B"])
        with self._lock:
            self.asked.append(question)
        return "A" if chance.random() < self.better(*question) else "B"


def message(content, **choice):
    """Return the JSON of a reply."""
    return {
        "choices": [{"message": {"role": "assistant", "content": content}, "finish_reason": "stop", **choice}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 1},
    }


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        chat = self.server.chat
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/v1/chat/completions":
            return self.send(404, {"error": {"message": "no such path"}})
        if chat.key and self.headers.get("Authorization") != f"Bearer {chat.key}":
            said = f"Incorrect API key: {self.headers.get('Authorization')}"
            return self.send(401, {"error": {"message": said}})
        what = chat.reply(body)
        match what:
            case "HANG":
                time.sleep(1)
                self.close_connection = True
            case "GONE":
                self.close_connection = True
            case "CUT":
                content = json.dumps(message("A")).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content[:40])
                self.close_connection = True
            case "TRICKLE":
                self.send_response(200)
                self.send_header("Content-Length", "100")
                self.end_headers()
                for _ in range(100):
                    self.wfile.write(b" ")
                    time.sleep(0.02)
            case int(status):
                self.send(status, {"error": {"message": f"the key is {chat.key}"}})
            case (status, headers):
                self.send(status, {"error": {"message": "slow down"}}, headers)
            case (status, headers, body):
                self.send(status, body, headers)
            case bytes() | dict():
                self.send(200, what)
            case _:
                self.send(200, message(what))
        return None

    def send(self, status, body, headers=()):
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, client_address):
        pass  # who asked was killed


@contextmanager
def chatting(chat=None, **options):
    """Serve a model; yields it, with its address as ``url``."""
    chat = chat or Chat(**options)
    server = Server(("127.0.0.1", 0), Handler)
    server.chat = chat
    chat.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield chat
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
