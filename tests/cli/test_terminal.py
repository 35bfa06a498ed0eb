"""No traceback, and nothing from outside that reaches the terminal as anything but text."""

import json

import pytest

EVIL = "e\x1b[31m\x9b2J\x07\u202e\u200b[bold]x[/bold]\ufeff"
UNSAFE = ("\x1b", "\x9b", "\x07", "\u202e", "\u200b", "\ufeff")


@pytest.fixture
def evil(folder):
    queries = [EVIL, *(f"q{i}" for i in range(11))]
    references = {query: ["b", EVIL] if query == "q1" else [EVIL, "b"] for query in queries}
    (folder / "refs.json").write_text(json.dumps(references))
    for name in ("one", "two"):
        items = ["b", EVIL] if name == "one" else ["b", "c"]
        (folder / f"{name}.json").write_text(json.dumps(dict.fromkeys(queries, items)))


RUNS = ("refs.json", "one.json", "two.json", "--name", EVIL, "--name", "other")


@pytest.mark.usefixtures("evil")
@pytest.mark.parametrize(
    "call",
    [
        ("eval", *RUNS),
        ("eval", "-q", *RUNS),
        ("eval", *RUNS, "--format", "latex"),
        ("compare", *RUNS),
        ("stability", *RUNS, "--sizes", "2", "--subsamples", "2"),
        ("power", *RUNS, "--sizes", "2", "--subsamples", "2"),
        ("plan", *RUNS),
        ("explain", "refs.json", "one.json", "--query", EVIL),
        ("explain", "refs.json", "two.json", "--query", EVIL),
        ("explain", "refs.json", "two.json", "--query", f"no such {EVIL}"),
        ("compare", *RUNS, "--baseline", f"no such {EVIL}"),
        ("eval", "refs.json", EVIL),
        ("eval", "refs.json", "one.json", "-m", EVIL),
        ("eval", "refs.json", "one.json", f"--{EVIL}"),
        ("eval", "refs.json", "one.json", "--ties", EVIL),
        ("power", *RUNS, "--sizes", EVIL),
        (EVIL,),
    ],
    ids=lambda call: " ".join(call).replace(EVIL, "EVIL"),
)
def test_names_from_outside_are_text(rankdev, call):
    done = rankdev(*call)
    shown = done.out + done.err
    for char in UNSAFE:
        assert char not in shown
    assert "should not happen" not in done.err
    assert "[bold]" in shown or call[0] in ("stability", "power") or "-q" in call


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (MemoryError(), "not enough memory"),
        (KeyError("x"), "this should not happen; it is a bug in rankdev (KeyError: 'x')"),
    ],
)
def test_whatever_else_happens_is_a_line(rankdev, monkeypatch, error, line):
    def fail(*arguments, **options):
        raise error

    monkeypatch.setattr("rankdev.evaluate", fail)
    done = rankdev("eval", "places.jsonl", "blended.run")
    assert done.status in (1, 70)
    assert done.err.startswith(f"rankdev: {line}")
    assert done.err.count("\n") == 1
    assert done.out == ""
