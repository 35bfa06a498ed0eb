"""No traceback, and nothing from outside that reaches the terminal as anything but text."""

import ast
import json
import re
from functools import cache
from pathlib import Path

import pytest

import rankdev
from rankdev.cli.terminal import _ASCII
from rankdev.display.encodings.markup import _LATEX

EVIL = "e\x1b[31m\x9b2J\x07\u202e\u200b[bold]x[/bold]\ufeff"
ASCII_STREAMS = {"PYTHONIOENCODING": "ascii"}
C_LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
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
    ("environment", "call"),
    [
        (ASCII_STREAMS, "eval places.jsonl blended.run nearest.run -q --name naïve --name other"),
        (ASCII_STREAMS, "explain places.jsonl blended.run --query bookshops"),
        pytest.param(ASCII_STREAMS, "compare places.jsonl blended.run nearest.run", marks=pytest.mark.slow),
        pytest.param(ASCII_STREAMS, "eval places.jsonl blended.run -m naïve", marks=pytest.mark.slow),
        pytest.param(C_LOCALE, "explain places.jsonl blended.run --query bookshops", marks=pytest.mark.slow),
        (C_LOCALE, "eval places.jsonl blended.run -m naïve"),
    ],
)
def test_a_narrow_alphabet_is_enough(shell, environment, call):
    done = shell(f"rankdev {call}", **environment)
    assert done.status == (2 if "-m na" in call else 0)
    assert "Traceback" not in done.err
    assert done.out.isascii()
    assert done.err.isascii()


def test_file_names_and_names_need_not_be_text(shell):
    done = shell("cp blended.run $'caf\\xe9.run'; rankdev eval places.jsonl $'caf\\xe9.run' --format csv")
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines()[1].startswith("caf\\xe9,")
    done = shell("rankdev eval places.jsonl $'no-caf\\xe9.run'")
    assert (done.status, done.err) == (2, "rankdev: no-caf\\xe9.run: there is no such file\n")
    done = shell("rankdev eval places.jsonl blended.run -o $'caf\\xe9.csv'; cat $'caf\\xe9.csv'")
    assert "blended,,RDQ@10" in done.out


@pytest.mark.parametrize(
    "options",
    [
        "eval places.jsonl blended.run --name $'caf\\xe9'",
        "eval places.jsonl blended.run -m $'caf\\xe9'",
        pytest.param("explain places.jsonl blended.run --query $'caf\\xe9'", marks=pytest.mark.slow),
        pytest.param("compare places.jsonl blended.run nearest.run --baseline $'caf\\xe9'", marks=pytest.mark.slow),
        pytest.param("plan places.jsonl blended.run nearest.run -a $'caf\\xe9'", marks=pytest.mark.slow),
        pytest.param("sensitivity places.jsonl blended.run nearest.run --grid $'caf\\xe9=1'", marks=pytest.mark.slow),
    ],
)
def test_options_need_not_be_text(shell, options):
    done = shell(f"rankdev {options}")
    assert done.status in (1, 2), options
    assert done.err.startswith("rankdev: ")
    assert done.err.count("\n") == 1
    assert "should not happen" not in done.err


@pytest.mark.parametrize(
    "call",
    [
        "eval places.jsonl blended.run",
        "completion bash",
        *(
            pytest.param(x, marks=pytest.mark.slow)
            for x in ("measures --format json", "refs lists blended.run", "demo")
        ),
    ],
)
def test_a_closed_or_full_standard_output_is_a_line(shell, call):
    for place, reason in ((">&-", "Bad file descriptor"), ("> /dev/full", "No space left on device")):
        done = shell(f"rankdev {call} {place}")
        assert done.status in (1, 2)
        assert done.err.splitlines()[-1].startswith("rankdev: standard output: ")
        assert reason in done.err
        assert "Traceback" not in done.err


def test_closed_streams_do_not_matter_where_they_are_not_used(shell, folder):
    done = shell("rankdev eval places.jsonl blended.run -o scores.csv <&- >&-")
    assert (done.status, done.err) == (0, "")
    assert (folder / "scores.csv").read_text().startswith("system,query,measure,value\n")
    assert shell("rankdev eval places.jsonl blended.run 2>&-").status == 0
    assert shell("rankdev eval places.jsonl nothing.run 2>&-").status == 2


def test_a_closed_standard_input_is_a_line(shell):
    done = shell("rankdev eval places.jsonl - <&-")
    assert (done.status, done.err) == (2, "rankdev: standard input is closed; give a file, or pipe something in\n")


@pytest.mark.parametrize(
    "place",
    ["/dev/stdout", ">(cat)", *(pytest.param(x, marks=pytest.mark.slow) for x in ("/dev/fd/1", "/proc/self/fd/1"))],
)
def test_streams_by_name(shell, place):
    expected = shell("rankdev eval places.jsonl blended.run").out
    done = shell(f"rankdev eval places.jsonl blended.run --format table -o {place}; wait $!")
    assert (done.status, done.out, done.err) == (0, expected, "")


def test_streams_are_appended_to_and_piped(shell):
    done = shell("echo first > log; rankdev eval places.jsonl blended.run --format csv -o /dev/stdout >> log; cat log")
    assert done.out.startswith("first\nsystem,query")
    done = shell("rankdev eval places.jsonl blended.run --format csv -o - | cat")
    assert done.out.startswith("system,query")


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

    monkeypatch.setattr("rankdev.evaluation.evaluate.evaluate", fail)
    done = rankdev("eval", "places.jsonl", "blended.run")
    assert done.status in (1, 70)
    assert done.err.startswith(f"rankdev: {line}")
    assert done.err.count("\n") == 1
    assert done.out == ""


def own_signs(*folders):
    """Give the letters and signs beyond ASCII in the texts of some folders, docstrings aside."""
    root = Path(rankdev.__file__).parent
    return set().union(*(signs_in(path) for folder in folders for path in (root / folder).rglob("*.py")))


@cache
def signs_in(path):
    text = path.read_text(encoding="utf-8")
    if text.isascii() and not re.search(r"\\[xuUN]", text):
        return frozenset()
    nodes = list(ast.walk(ast.parse(text)))
    prose = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    texts = [node.value for node in nodes if isinstance(node, ast.Constant) and id(node) not in prose]
    return frozenset(char for text in texts if isinstance(text, str) for char in text if not char.isascii())


def test_every_sign_of_our_own_can_be_written_in_plain_letters():
    outside = {"ä", "\ufeff", "\u2028", "\u2029"}  # of a name, and of files and pages
    assert own_signs("") - outside <= _ASCII.keys()


def test_every_sign_of_our_own_tables_can_be_set_by_latex():
    known = set("…±·×²→÷─")  # LaTeX reads these from UTF-8 by itself; the last is a rule of tables in a terminal
    assert own_signs("display", "studies", "statistics", "evaluation") - known - {"\u2028", "\u2029"} <= _LATEX.keys()
