"""Docstrings, comments and messages are in the field's words: what nobody could search for stays out.

Identifiers are not looked at, nor is code in docstrings: names that users rely on may be what they are.
"""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

import rankdev

SOURCE = Path(rankdev.__file__).parent
MODULES = sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))

# what to write instead, and what not to write
WORDS = {
    "significantly different, distinguish": r"(?:told|tell|tells|telling)(?: \w+){0,3} apart",
    "nonrelevant": r"worthless",
    "uncertainty": r"doubt\w*",
    "prediction-powered": r"rectif\w+",
    "significant": r"believ\w+",
    "undetermined, uncertain": r"(?:leaves?|left|leaving)(?: \w+){0,2} open",
    "next to, with": r"beside",
    "is at": r"stands? at",
    "denotes": r"stands? for",
    "report, state, estimate": r"says?",
    "conclusion, preference": r"verdicts?",
    "notes": r"remarks?",
    "dispatch": r"doors?",
    "session": r"desks?",
    "package, space": r"rooms?",
    "reference implementation": r"twins?",
    "simple": r"plain(?:ly|er|est)?",
    "malformed, unusual": r"odd(?:ly)?",
    "ideal rank": r"due(?! to\b)",
    "relevant item": r"(?:good|right) items?",
    "confident": r"sure(?:ly)?",
    "inform": r"teach\w*|taught",
    "gain": r"earn(?:s|ed|ing|ings)?",
    "fraction": r"(?:a|the|equal|what|which) shares?|shares? of",
    "items": r"exhibits?",
    "strategy": r"seekers?",
    "as text": r"in words",
    "limits": r"(?:both|the|two) ends of (?:an |the |its |their )?intervals?",
    "figure": r"pictures?",
    "continues, resumes": r"go(?:es|ing)? on|went on",
    "synthetic": r"made-up",
    "matched": r"met",
    "lack of fit": r"misfits?",
    "negative log-likelihood": r"surpris\w+",
    "grid": r"planes?",
    "error context": r"blam\w+",
    "ties for best": r"rivals?",
    "fix, repair": r"mend(?:s|ed|ing)?",
    "extension": r"endings?",
    "sum over positions": r"built up",
    "variance between runs": r"how far runs vary",
    "truncated": r"runs? (?:was|were|is|are) cut",
    "probability of being best": r"chances? (?:to be|of being) best",
    "differently": r"otherwise than|(?:made|defined|computed) in another way",
    "affected by tied scores": r"decided by (?:ties|equal scores)|equal scores decide",
    "format": r"shapes? of (?:an |the |its )?(?:inputs?|files?|references?|runs?|documents?|lines?|tables?)",
}
PATTERNS = {better: re.compile(rf"\b(?:{words})\b", re.IGNORECASE) for better, words in WORDS.items()}
IN_DOCSTRINGS = {"return": re.compile(r"\bGives?\b")}  # messages may ask to give something
ANY = re.compile(rf"\b(?:{'|'.join([*WORDS.values(), 'Gives?'])})\b", re.IGNORECASE)  # most texts have none

ALLOWED = {  # part of a line, by module
    "cli/commands/compare.py": ["Give REFERENCES"],  # help texts address the user
    "cli/commands/gate.py": ["Give REFERENCES"],
    "cli/commands/leaderboard.py": ["Give REFERENCES"],
    "cli/commands/meta.py": ["Give REFERENCES", "verdicts.csv"],  # a file of the demo
    "cli/commands/power.py": ["Give REFERENCES"],
    "studies/maps/result.py": ["'rivals'"],  # a column
    "_common/names.py": ['"worthless"', '"worthless_grades"'],  # keys in files of older versions
}
CODE = re.compile(r"``[^`]*``|`[^`]*`|:\w+:`[^`]*`|(?<![\w.])--\w[\w-]*|\.?\b\w+\(\)|\.remarks\b")
IN_BRACES = re.compile(r"\{[^{}]*\}")  # of an f-string
DOCTEST = re.compile(r"^\s*(?:>>>|\.\.\.) .*$", re.MULTILINE)
PARAMETER = re.compile(r"^\s*\*{0,2}\w+(?:, \*{0,2}\w+)* :(?= )", re.MULTILINE)
NAME = re.compile(r"[rbfu]*(['\"]+)[\w.:@/{}$%<>=#|*+-]*\1", re.IGNORECASE)  # one word: a column, a key, a class of CSS


def prose(source):
    """Yield (line, text, is a docstring) for every docstring, comment and message."""
    tree = ast.parse(source)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        node.body[0].lineno
        for node in ast.walk(tree)
        if isinstance(node, documented) and node.body and ast.get_docstring(node) is not None
    }
    middle = getattr(tokenize, "FSTRING_MIDDLE", None)  # Python 3.12 has f-strings in parts
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        line = token.start[0]
        if token.type == tokenize.COMMENT:
            yield line, token.string, False
        elif token.type == tokenize.STRING and (line in docstrings or not NAME.fullmatch(token.string)):
            yield line, token.string, line in docstrings
        elif token.type == middle:
            yield line, token.string, False


def without_code(text, *, is_docstring, allowed):
    """Blank what is code rather than prose, and what a module may use."""
    parts = (PARAMETER, DOCTEST, CODE) if is_docstring else (IN_BRACES, CODE)
    for part in (*parts, *(re.compile(re.escape(words)) for words in allowed)):
        text = part.sub("", text)
    return text


def found_in(source, allowed=()):
    """Return a line for each word that is not to be used."""
    problems = []
    if not ANY.search(source):
        return problems
    for line, written, is_docstring in prose(source):
        if not ANY.search(written):
            continue
        text = without_code(written, is_docstring=is_docstring, allowed=allowed)
        for better, pattern in (PATTERNS | IN_DOCSTRINGS if is_docstring else PATTERNS).items():
            for match in pattern.finditer(text):
                at = line + text.count("\n", 0, match.start())
                problems.append(f"{at}: {match[0]!r}; better: {better}")
    return problems


@pytest.mark.parametrize("module", MODULES)
def test_the_fields_words_are_used(module):
    found = found_in((SOURCE / module).read_text("utf-8"), ALLOWED.get(module, ()))
    assert not found, "\n".join(f"{module}:{line}" for line in found)


ROOT = Path(__file__).parents[2]
PAGES = ["README.md", "CONTRIBUTING.md", *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.md"))]
# in pages a verdict is what a result calls so, and plain, odd, sure or due may be meant as everybody does
ELSEWHERE = {"conclusion, preference", "notes", "simple", "malformed, unusual", "confident", "ideal rank", "matched"}
ELSEWHERE |= {"report, state, estimate", "package, space", "relevant item", "grid", "session", "fraction"}
FENCED = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)
NOT_PROSE = re.compile(r"`[^`]*`|<!--.*?-->|\]\([^)]*\)|<[^>]+>", re.DOTALL)


def found_in_page(text):
    """Return a line for each word that is not to be used in a page."""
    kept = text
    for pattern in (FENCED, NOT_PROSE):
        kept = pattern.sub(lambda part: "\n" * part[0].count("\n"), kept)
    return [
        f"{kept.count(chr(10), 0, match.start()) + 1}: {match[0]!r}; better: {better}"
        for better, pattern in PATTERNS.items()
        if better not in ELSEWHERE
        for match in pattern.finditer(kept)
    ]


@pytest.mark.parametrize("page", PAGES)
def test_pages_use_the_fields_words(page):
    found = found_in_page((ROOT / page).read_text("utf-8"))
    assert not found, "\n".join(f"{page}:{line}" for line in found)


def test_words_of_the_house_are_found_in_pages():
    assert found_in_page("A `beside`.\n\n```\nmended\n```\nIt\nis mended.\n") == ["7: 'mended'; better: fix, repair"]


@pytest.mark.parametrize(
    "source",
    [
        '"""Tell two systems apart."""',
        'def f():\n    """Gives a number."""',
        "x = 1  # beside the others",
        'raise ValueError("the doubt is large")',
        'message = f"{name}: odd {value}"',
        '"""Some text.\n\nWhat the reader says.\n"""',
    ],
)
def test_words_of_the_house_are_found(source):
    assert len(found_in(source)) == 1


@pytest.mark.parametrize(
    "source",
    [
        "verdict = remarks.door  # a comment",
        'columns = ["verdict", "earned", "room"]',
        'def f(verdicts):\n    """Test.\n\n    Parameters\n    ----------\n    verdicts : dict\n    """',
        'def f():\n    """Return the column ``verdict``; ``--verdicts`` reads it.\n\n    >>> f(verdicts={})\n    """',
        'raise ValueError("give at least one run")',
        'x = "due to rounding, besides"',
    ],
)
def test_names_are_left_alone(source):
    assert found_in(source) == []
