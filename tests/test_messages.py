"""Every error, warning and note has a sentence, and every sentence is used."""

import ast
import pickle
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest

import rankdev
import rankdev as rd
from rankdev.errors import MissingExtraError, Note, RankdevError, several
from rankdev.messages import SENTENCES, WHERE, sentence
from tests.raising import raises

TOLD = (
    *("DataError", "UsageError", "MeasureError", "JudgeError", "StoreError", "RejectedError"),
    *("Note", "warn", "caution", "RankdevWarning"),
)


def calls() -> Iterator[tuple[str, str, set[str], bool]]:
    """Yield place, kind, fields and whether there may be more fields, of all that has a kind in the package."""
    for path in sorted(Path(rankdev.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            kind = node.args[0]
            if name in TOLD and isinstance(kind, ast.Constant) and isinstance(kind.value, str):
                given = {word.arg for word in node.keywords if word.arg}
                yield f"{path.name}:{node.lineno}", kind.value, given, any(word.arg is None for word in node.keywords)


def named_in(template: str) -> set[str]:
    fields = set()
    for _, name, spec, _ in Formatter().parse(template):
        fields |= {name} if name else set()
        fields |= named_in(spec) if spec else set()
    return fields


CALLS = list(calls())


@pytest.mark.parametrize(("place", "kind", "given", "more"), CALLS, ids=[f"{one[0]}-{one[1]}" for one in CALLS])
def test_what_is_raised_has_a_sentence_and_its_fields(place: str, kind: str, given: set[str], more: bool) -> None:
    if kind != "several":
        missing = named_in(SENTENCES[kind]) - given - {*WHERE, "answers", "kept"}  # these are added by at()
        assert more or not missing, place


def test_every_sentence_is_used() -> None:
    source = "".join(path.read_text() for path in Path(rankdev.__file__).parent.rglob("*.py"))
    assert [kind for kind in SENTENCES if source.count(f'"{kind}"') < 2] == []


def test_errors_and_notes_survive_pickling() -> None:
    with raises("not-a-choice", rd.UsageError, name="ties", value="up") as caught:
        rd.Run.from_scores({"q": {"d": 1.0}}, ties="up")  # type: ignore[arg-type]
    one = caught.value.at(system="bm25")
    both = several([one, rd.DataError("not-a-path", value=object())])
    for error in (one, both, MissingExtraError("torch", "torch", "RDQ of tensors")):
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), again.kind, str(again)) == (type(error), error.kind, str(error))
    note = pickle.loads(pickle.dumps(Note("missing", runs=[("bm25", 2), ("dense", 1)], count=2, queries=40)))
    assert (note, note.kind, note.fields["count"]) == (
        "bm25 2, dense 1: up to 2 of 40 queries are not in the run; they score 0",
        "missing",
        2,
    )


def test_where_it_happened_is_added_once() -> None:
    error = RankdevError("not-a-path", value=3).at(path="a.run", line=7).at(path="b.run")
    assert str(error) == "a.run:7: expected the name of a file; got 3"


def test_what_comes_from_outside_cannot_pretend_to_be_a_parameter() -> None:
    text = sentence("not-a-flag", {"name": "strict", "value": "`strict`\ue000strict\ue000"}, {"strict": "--strict"})
    assert text == "--strict must be True or False; got '`strict`\\ue000strict\\ue000'"
