"""Whatever is given in the place of an argument, the answer is a result or one clear line."""

import inspect
import warnings

import numpy as np
import polars as pl
import pytest

import rankdev as rd
from rankdev import judging, learning, preferences, studies
from tests.common.examples import some

REFERENCES = rd.References.from_lists({"q1": ["a", "b"], "q2": ["b", "c"], "q3": ["a"]})
RUNS = {"x": {"q1": ["b", "a"], "q2": ["c", "b"]}, "y": {"q1": ["a"], "q2": ["b"]}}
JUDGED = rd.Preferences.from_rows([("q", "a", "b"), ("q", "b", "c"), ("q", "c", "a")])
SCORES = rd.evaluate(REFERENCES, RUNS, ["RDQ@5"])
TIED = rd.Preferences.from_rows([("q", "a", "b"), ("q", "b", "c"), ("q", "a", "c")] * 3)
SHOWN = rd.Preferences.from_rows([{"query": "q", "a": "a", "b": "b", "winner": w} for w in "aab"])
APART = np.random.default_rng(0).random((2, 20, 1)) + np.array([0.0, 2.0])[:, None, None]
MANY = rd.Scores(("x", "y"), tuple(map(str, range(20))), ("P@1",), APART)
FILES = {
    "preferences.csv": "query,winner,loser\nq,a,b\n",
    "references.csv": "query,item,rank\nq,a,1\n",
    "run.csv": "query,item,score\nq,a,1\n",
    "scores.csv": "system,query,measure,value\nx,q,P@1,0.5\n",
}
FITTED = rd.strengths(TIED)
FEW = {"sizes": [2], "subsamples": 2, "permutations": 9}
CLICKS = {"query": ["q"] * 40, "item": list("ab") * 20, "position": [1, 2, 2, 1] * 10, "clicked": [1, 0, 0, 1, 1] * 8}
CALLS = {
    "agreement": ((rd.evaluate(REFERENCES, RUNS, ["RDQ@5", "AP@5"]),), {}),
    "agreement_with_people": ((SCORES, [{"query": "q1", "a": "x", "b": "y", "winner": "x"}]), {}),
    "bounds": ((rd.References.from_lists({"q1": ["a", "b"]}, nonrelevant={"q1": []}), RUNS), {}),
    "check_model": (([(f"q{k}", "a", "b", who) for k in range(3) for who in ("m", "ann")], "m"), {}),
    "collect": ((lambda query, a, b: min(a, b), {"q": ["a", "b", "c"]}), {"budget": 3}),
    "evaluate": ((REFERENCES, RUNS, ["RDQ@5"]), {}),
    "evaluate_with_uncertainty": ((TIED, {"x": {"q": ["a", "b", "c"]}}, ["RDQ@5"]), {"resamples": 2}),
    "explain": ((["a", "b"], ["a"]), {}),
    "judge_agreement": ((TIED,), {"resamples": 2}),
    "meta_analysis": ((dict.fromkeys("abcdef", MANY),), {}),
    "gate": ((SCORES,), {"baseline": "x", "margin": 0.1}),
    "leaderboard": ((SCORES,), {}),
    "pool": ((RUNS,), {}),
    "table": ((SCORES,), {"permutations": 99}),
    "losses": ((REFERENCES, RUNS, "RDQ@5"), {}),
    "merge_rankings": (({"q": [["a", "b"], ["b", "a"]]},), {}),
    "parse": (("RDQ@5",), {}),
    "plan": ((MANY, "x", "y", "P@1"), {}),
    "position_bias": ((SHOWN,), {}),
    "power": ((SCORES,), FEW),
    "read_preferences": (("preferences.csv",), {}),
    "read_references": (("references.csv",), {}),
    "read_run": (("run.csv",), {}),
    "read_scores": (("scores.csv",), {}),
    "prediction_powered": ((MANY.select(queries=slice(0, 12)), MANY), {}),
    "report": ((REFERENCES, RUNS, ["RDQ@5"]), {}),
    "score": ((["a", "b"], ["a"], "RDQ@5"), {}),
    "sensitivity": ((REFERENCES, RUNS), {"n": 2, "subsamples": 2, "permutations": 9, "grid": {"alpha": [1]}}),
    "significance": ((SCORES,), {"permutations": 99}),
    "simulate": ((), {"queries": 3}),
    "stability": ((SCORES,), {"sizes": [2], "subsamples": 2}),
    "strengths": ((TIED,), {}),
    "tiers": ((FITTED,), {}),
    "weights_from_clicks": ((CLICKS,), {"resamples": 5}),
    "write_preferences": ((TIED, "judged.csv"), {}),
    "write_references": ((REFERENCES, "refs.jsonl"), {}),
    "write_run": ((rd.Run.from_lists(RUNS["x"]), "x.run"), {}),
}
WRONG = [
    *(None, "x", "", 7, -1, 0, 1.5, float("nan"), float("inf"), True, object(), b"x", "a\x00b", "\ud800"),
    *(10**30, -(10**400), 1e308, 5e-324, 1j, np.array(1.0), np.array([]), np.float32("nan"), np.int8(-1)),
    *([], ["x"], [1], [None], [[]], [{}], (), {}, {"x": 1}, {1: 2}, {"x": None}, {"q1": "a"}, {"q1": {"a": "x"}}),
    *([10**30], [float("nan")], {None: []}, {"q": [["a"], ["a"]]}, int, pl.DataFrame(), pl.DataFrame({"query": [1]})),
]
OURS = {"progress", "evaluate", "item_texts"}  # what is called


PACKAGES = (rd, judging, learning, preferences, studies)
FUNCTIONS = {
    name: getattr(package, name)
    for package in PACKAGES
    for name in package.__all__
    if inspect.isfunction(getattr(package, name)) and not name.endswith("_from_preferences")
}


STEPS = dict.fromkeys(("collect", "plan", "power", "sensitivity"), 9)  # one value in so many
STEPS |= dict.fromkeys(("evaluate_with_uncertainty", "report"), 27)


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_argument_is_one_clear_line(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for file, content in FILES.items():
        (tmp_path / file).write_text(content)
    function, (arguments, options) = FUNCTIONS[name], CALLS[name]
    function(*arguments, **options)
    for place, parameter in enumerate(inspect.signature(function).parameters.values()):
        if parameter.name in OURS or parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        for wrong in some(WRONG, place, STEPS.get(name, 3)):
            given = [*arguments[:place], wrong, *arguments[place + 1 :]] if place < len(arguments) else arguments
            named = options if place < len(arguments) else {**options, parameter.name: wrong}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    function(*given, **named)
                except rd.RankdevError as error:
                    said = str(error)
                    assert "\n" not in said
                    assert len(said) < 400
                except Exception as error:
                    pytest.fail(f"{name}({parameter.name}={wrong!r}): {type(error).__name__}: {error}")


def test_every_public_function_is_walked():
    assert set(FUNCTIONS) == set(CALLS)
