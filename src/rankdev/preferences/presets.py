"""What tools and data sets call the columns of their judgments, and how to tell whose file it is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rankdev.errors import DataError

ROLES = ("query", "item_a", "item_b", "winner", "loser", "tie", "worker", "weight", "probability", "share", "first")

# names without capitals and punctuation, the more telling first
NAMES: dict[str, tuple[str, ...]] = {
    "query": ("qid", "queryid", "topicid", "query", "topic", "prompt", "instruction", "question"),
    "worker": tuple(
        name + ending
        for name in ("worker", "annotator", "assessor", "judge", "rater", "labeler", "labeller", "evaluator", "user")
        for ending in ("id", "")
    ),
    "tie": ("tie",),
    "weight": ("weight",),
    "probability": ("probabilitya",),  # not prob_a: without its stroke it is short for any probability
    "share": ("share",),
    "first": ("first", "shownfirst"),
}
WON_LOST = (("winner", "loser"), ("chosen", "rejected"), ("better", "worse"), ("preferred", "other"))
SIDES = (
    *((stem + "a", stem + "b") for stem in ("", "item", "model", "doc", "system", "option", "response", "answer")),
    *((stem + "1", stem + "2") for stem in ("a", "arg", "item", "doc", "text", "model", "option", "response")),
    ("left", "right"),
    ("first", "second"),
)
SAYS_WHO = ("winner", "preferred", "choice", "selected", "better")  # the column says who won, not by how much
SAYS = (*SAYS_WHO, "label", "preference", "answer", "judgment", "judgement", "verdict", "result", "outcome", "grade")

_ANSWER = re.compile(r"(answer\.|output:)", re.IGNORECASE)
_FIELD = re.compile(r"(input|answer)\.|(input|output|assignment):", re.IGNORECASE)


@dataclass(frozen=True)
class Preset:
    """A kind of file: the columns that tell it, and the columns of its roles (None: there is none)."""

    about: str
    needs: frozenset[str]
    columns: Mapping[str, str | None] = field(default_factory=dict)


PRESETS: dict[str, Preset] = {
    "arena": Preset(
        "battles of models (LMSYS): all prompts together rank the models",
        frozenset({"modela", "modelb", "winner"}),
        {"query": None, "item_a": "modela", "item_b": "modelb", "winner": "winner"},
    ),
}


def plain_name(column: str) -> str:
    """Give a column's name without capitals, punctuation, and MTurk's and Toloka's prefixes.

    >>> plain_name("WorkerId"), plain_name("ASSIGNMENT:worker_id"), plain_name("Input.item_a")
    ('workerid', 'workerid', 'itema')
    """
    return re.sub(r"[^a-z0-9]", "", _FIELD.sub("", column, count=1).lower())


def find_preset(plain: Mapping[str, str]) -> Preset | None:
    """Tell whose file it is, from the plain names of its columns."""
    return next((preset for preset in PRESETS.values() if preset.needs <= plain.keys()), None)


def only_answer(columns: Sequence[str]) -> str | None:
    """Find the one column that MTurk (``Answer.``) or Toloka (``OUTPUT:``) mark as the answer."""
    answers = [name for name in columns if _ANSWER.match(name)]
    return answers[0] if len(answers) == 1 else None


def flatten_tasks(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Make records of Label Studio's tasks, one per annotation: the task's data, the annotator and the choice.

    >>> flatten_tasks([{"data": {"text1": "x", "text2": "y"}, "annotations": [
    ...     {"completed_by": 7, "result": [{"type": "pairwise", "value": {"selected": "left"}}]}]}])
    [{'text1': 'x', 'text2': 'y', 'annotator': 7, 'choice': 'left'}]
    """
    flat = []
    for number, task in enumerate(records):
        for annotation in task["annotations"]:
            if annotation.get("was_cancelled"):
                continue
            who = annotation.get("completed_by")
            who = who.get("email", who.get("id")) if isinstance(who, Mapping) else who
            answers = [_choice(result.get("value", {})) for result in annotation.get("result", ())]
            answers = [answer for answer in answers if answer is not None]
            if len(answers) != 1:
                raise DataError(f"an annotation with {len(answers)} choices; expected one Pairwise or Choices", number)
            flat.append({**task["data"], "annotator": who, "choice": answers[0]})
    return flat


def is_task(record: Mapping[str, Any]) -> bool:
    """Tell a task of a Label Studio export."""
    return isinstance(record.get("data"), Mapping) and isinstance(record.get("annotations"), list)


def _choice(value: Mapping[str, Any]) -> str | None:
    if "selected" in value:
        return str(value["selected"])
    choices = value.get("choices", ())
    return str(choices[0]) if len(choices) == 1 else None
