"""Whatever is given in the place of an argument, the answer is a result or one clear line."""

import inspect
import warnings

import pytest

import rankdev as rd

REFERENCES = rd.References.from_lists({"q1": ["a", "b"], "q2": ["b", "c"], "q3": ["a"]})
RUNS = {"x": {"q1": ["b", "a"], "q2": ["c", "b"]}, "y": {"q1": ["a"], "q2": ["b"]}}
JUDGED = rd.Preferences.from_rows([("q", "a", "b"), ("q", "b", "c"), ("q", "c", "a")])
SCORES = rd.evaluate(REFERENCES, RUNS, ["RDQ@5"])
FEW = {"sizes": [2], "subsamples": 2, "permutations": 9}
CALLS = {
    "agreement": ((rd.evaluate(REFERENCES, RUNS, ["RDQ@5", "AP@5"]),), {}),
    "discrimination": ((SCORES,), {"permutations": 99}),
    "equivalence": ((SCORES,), {"margin": 0.1}),
    "evaluate": ((REFERENCES, RUNS, ["RDQ@5"]), {}),
    "explain": (({"a": 1}, ["a"]), {}),
    "parse": (("RDQ@5",), {}),
    "plan": ((SCORES, "x", "y", "RDQ@5"), {}),
    "power": ((SCORES,), FEW),
    "rdq": (({"a": 1}, ["a"]), {}),
    "read_preferences": (("none",), {}),
    "read_references": (("none",), {}),
    "read_run": (("none",), {}),
    "read_scores": (("none",), {}),
    "score": (({"a": 1}, ["a"], "RDQ@5"), {}),
    "sensitivity": ((REFERENCES, RUNS), {"n": 2, "subsamples": 2, "permutations": 9, "grid": {"alpha": [1]}}),
    "significance": ((SCORES,), {"permutations": 99}),
    "stability": ((SCORES,), {"sizes": [2], "subsamples": 2}),
    "strengths": ((JUDGED,), {}),
    "variance": ((SCORES,), {}),
}
WRONG = [
    *(None, "x", "", 7, -1, 0, 1.5, float("nan"), float("inf"), True, object(), b"x", "a\x00b", "\ud800"),
    *([], ["x"], [1], [None], [[]], [{}], (), {}, {"x": 1}, {1: 2}, {"x": None}, {"q1": "a"}, {"q1": {"a": "x"}}),
]
OURS = {"progress", "engine"}  # what is called, and what is chosen by the machine


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_argument_is_one_clear_line(name):
    function, (arguments, options) = getattr(rd, name), CALLS[name]
    for place, parameter in enumerate(inspect.signature(function).parameters.values()):
        if parameter.name in OURS or parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        for wrong in WRONG:
            given = [*arguments[:place], wrong, *arguments[place + 1 :]] if place < len(arguments) else arguments
            named = options if place < len(arguments) else {**options, parameter.name: wrong}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    function(*given, **named)
                except rd.RankdevError as error:
                    said = str(error)
                    assert "\n" not in said
                except Exception as error:
                    pytest.fail(f"{name}({parameter.name}={wrong!r}): {type(error).__name__}: {error}")
