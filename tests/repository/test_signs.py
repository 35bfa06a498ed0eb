"""Signs beyond ASCII in what rankdev prints have a form for narrow terminals and for LaTeX."""

import ast
import re
from functools import cache
from pathlib import Path

import rankdev
from rankdev.cli.terminal import _ASCII
from rankdev.display.encodings.markup import _LATEX


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
