"""One family of results: every class goes through the same laws."""

import json
import pickle
import warnings
from importlib.resources import files

import numpy as np
import polars as pl
import pytest

import rankdev as rd
import rankdev.results as result_classes
from rankdev import judging, preferences
from rankdev._common.result import Result
from rankdev.display.encodings import FORMATS
from rankdev.display.view import report_of
from rankdev.errors import RankdevWarning
from tests.common.examples import PROFILE
from tests.raising import noted, raises

ODD = "<b>&\x1b[31m$\\frac$"
RUNS = {
    "good": {f"q{i}": ["a", "b", "c"] for i in range(12)},
    ODD: {f"q{i}": ["b", "a", ODD] if i % 3 else ["a", "c"] for i in range(12)},
    "bad": {f"q{i}": ["c", "b"] if i % 2 else ["b", "c"] for i in range(12)},
}
REFERENCES = {f"q{i}": ["a", "b", "c"] for i in range(12)}
CLICKS = pl.read_csv(files("rankdev").joinpath("data/demo/clicks.csv").read_bytes())
JUDGED = [("q", ODD, "y", "w1")] * 9 + [("q", "y", "z", "w2")] * 3 + [("q", "z", "y", "w1")] * 2
SEEDED = {
    "agreement",
    "power",
    "stability",
    "sensitivity",
    "evaluate_with_uncertainty",
    "collect",
    "judge_agreement",
    "weights_from_clicks",
}
DRAWN = {
    "check_model",
    "diagnose",
    "collect",
    "judge_agreement",
    "merge_rankings",
    "position_bias",
    "table",
    "gate",
}


def made():
    scores = rd.evaluate(REFERENCES, RUNS, ["RDQ@3", "AP@3"])
    judged = rd.Preferences.from_rows(JUDGED)
    fit = rd.strengths(judged)
    few = {"subsamples": 5, "permutations": 19, "seed": 7}
    return {
        "evaluate": scores,
        "significance": rd.significance(scores),
        "table": rd.table(scores, baselines=ODD),
        "gate": rd.gate(scores, baseline="good", candidate=ODD, margin=0.1),
        "leaderboard": rd.leaderboard(scores),
        "leaderboard of tasks": rd.leaderboard({"x": scores, ODD: scores.select(queries=slice(0, 7))}),
        "power": rd.power(scores, sizes=[3, 5], **few),
        "stability": rd.stability(scores, sizes=[3, 5], subsamples=5, seed=7),
        "sensitivity": rd.sensitivity(REFERENCES, RUNS, n=4, grid={"alpha": [1, 4], "lam": [0.2]}, **few),
        "agreement": rd.agreement(scores, resamples=5, seed=7),
        "discriminative_power": rd.significance(scores, correction="none", seed=7).discriminative_power(),
        "meta_analysis": rd.meta_analysis({"x": scores, "y": scores.select(queries=slice(0, 7))}),
        "prediction_powered": rd.prediction_powered(scores.select(queries=slice(0, 10)), scores),
        "agreement_with_people": rd.agreement_with_people(
            scores,
            [{"query": f"q{i}", "a": "good", "b": ODD, "winner": "good"} for i in range(6)],
        ),
        "bounds": rd.bounds(rd.References.from_lists(REFERENCES, nonrelevant={}), RUNS, ["RDQ@3", "RBP@3"]),
        "losses": rd.losses(REFERENCES, RUNS, "RDQ@3"),
        "judge_agreement": preferences.judge_agreement(judged, seed=7),
        "merge_rankings": preferences.merge_rankings({"q": [["a", ODD], [ODD, "a", "b"]]}),
        "position_bias": preferences.position_bias(
            rd.Preferences.from_rows([{"a": "x", "b": ODD, "winner": side} for side in "aabab"])
        ),
        "weights_from_clicks": rd.weights_from_clicks(CLICKS, resamples=20, seed=7),
        "query_differences": scores.differences("good", ODD),
        "plan": rd.plan(scores, "good", ODD, "RDQ@3"),
        "explain": rd.explain(["a", "b"], [ODD, "a"], k=2),
        "strengths": fit,
        "tiers": rd.tiers(fit),
        "check_model": judging.check_model(
            [(f"q{i}", *pair, who) for i in range(12) for pair in ("ab", "bc") for who in ("small", ODD)], "small"
        ),
        "collect": rd.collect(lambda query, a, b: a, {ODD: ["a", ODD, "c"]}, budget=2, seed=7),
        "diagnose": judged.diagnostics(),
        "workers": rd.strengths(judged, "crowd-bt").workers,
        "evaluate_with_uncertainty": rd.evaluate_with_uncertainty(
            [("q1", "a", "b")] * 4, {"s": {"q1": ["a", "b"]}, ODD: {"q1": ["b", "a"]}}, ["RDQ@2"], resamples=4, seed=7
        ),
    }


@pytest.fixture(scope="module")
def results():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankdevWarning)
        return made()


NAMES = sorted(
    {
        *SEEDED,
        *DRAWN,
        "plan",
        "agreement_with_people",
        "significance",
        "leaderboard",
        "leaderboard of tasks",
        "discriminative_power",
        "tiers",
        "bounds",
        "evaluate",
        "prediction_powered",
        "meta_analysis",
        "losses",
        "query_differences",
        "explain",
        "strengths",
        "workers",
    },
)


@pytest.fixture(params=NAMES)
def named(request, results):
    return request.param, results[request.param]


@pytest.fixture
def result(named):
    return named[1]


def test_every_result_is_in_the_family_and_public(named, results):
    result = named[1]
    assert set(results) == set(NAMES)
    assert isinstance(result, Result)
    assert getattr(result_classes, type(result).__name__) is type(result)


def test_no_result_is_left_out(results):
    public = [getattr(result_classes, name) for name in result_classes.__all__]
    classes = {kind for kind in public if isinstance(kind, type) and issubclass(kind, Result)}
    assert {type(result) for result in results.values()} == classes


def test_text_is_that_of_the_report_and_fits_a_terminal(result):
    text = str(result)
    assert f"{text}\n" == report_of(result).text()
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "\x1b" not in text


def test_html_is_escaped(result):
    html = result._repr_html_()
    assert "<b>" not in html
    assert "\x1b" not in html
    assert html.startswith("<div")


def test_tables_can_be_had_in_both_libraries(result):
    frame = result.to_polars()
    assert list(result.to_pandas().columns) == frame.columns
    assert result.summary().height >= 1


def test_results_pickle(result):
    again = pickle.loads(pickle.dumps(result))
    assert again.to_polars().equals(result.to_polars())
    assert str(again) == str(result)


def test_remarks_and_parameters(named):
    name, result = named
    assert isinstance(result.remarks, tuple)
    assert all(remark in report_of(result).remarks for remark in result.remarks)
    assert result.parameters.get("seed") == (7 if name in SEEDED else None)


def test_figures_show_themselves(named):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    name, result = named
    if name in DRAWN:
        with raises("no-figure", rd.UsageError):
            result.plot()
        return
    drawn = result.plot()
    if PROFILE == "fast" and name not in ("bounds", "explain", "leaderboard", "power", "significance"):
        return
    picture, shown = drawn._repr_png_()
    assert picture.startswith(b"\x89PNG")
    assert abs(int.from_bytes(picture[16:20]) - 2 * shown["width"]) <= 1
    assert 350 <= shown["width"] <= 800


def test_every_format_holds_every_result(result):
    report = report_of(result)
    contents = {name: form.encode(report) for name, form in FORMATS.items()}
    assert all(contents.values())
    assert not any(b"\x1b" in contents[name] for name in ("latex", "markdown", "table"))


def test_json_of_a_verdict_holds_what_was_computed(results):
    found = json.loads(FORMATS["json"].encode(report_of(results["power"])))
    assert list(found) == ["command", "version", "parameters", "summary", "rows", "pairs", "conclusion", "remarks"]
    assert found["parameters"]["seed"] == 7
    assert found["remarks"] == list(results["power"].remarks)
    assert "Infinity" in {row["n80"] for row in found["summary"]}
    assert isinstance(json.loads(FORMATS["json"].encode(report_of(results["evaluate"]))), list)


def test_verdicts_pass_on_what_their_scores_say_of_themselves():
    lacking = {**RUNS, "bad": dict(list(RUNS["bad"].items())[2:])}
    scores = rd.evaluate(REFERENCES, lacking, ["RDQ@3", "AP@3"])
    scores.values[0, :2, 1] = np.nan
    assert "bad: 2 of 12 queries are not in the run; they score 0" in scores.remarks
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankdevWarning)
        verdicts = [
            rd.significance(scores),
            rd.significance(scores, correction="none").discriminative_power(),
            rd.gate(scores, baseline="good", candidate="bad", margin=0.1),
            rd.power(scores, sizes=[3], subsamples=3, permutations=19),
            rd.stability(scores, sizes=[3], subsamples=3),
            rd.agreement(scores),
            rd.plan(scores, "good", "bad", "RDQ@3"),
        ]
        apart = rd.agreement({"one": scores, "two": scores})
    for verdict in verdicts:
        assert "bad: 2 of 12 queries are not in the run; they score 0" in verdict.remarks
        assert len(set(verdict.remarks)) == len(verdict.remarks)
    noted(verdicts[0].remarks, "gaps", gaps=(("AP@3", 2),), queries=12)
    noted([note for note in apart.remarks if note.startswith("collection 'two'")], "missing", collection="two")
