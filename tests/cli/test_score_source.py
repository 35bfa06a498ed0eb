import json

import pytest

import rankdev as rd
from rankdev.statistics.planning import plan
from rankdev.statistics.power import power
from rankdev.statistics.significance import significance
from rankdev.statistics.stability import stability

RUNS = ("nearest.run", "popular.run", "blended.run")
SYSTEMS = {path.removesuffix(".run"): path for path in RUNS}


@pytest.fixture
def scores(folder):
    return rd.evaluate("places.jsonl", SYSTEMS, ["RDQ@5", "AP@5"])


def ask(rankdev, command, *options):
    done = rankdev(command, "places.jsonl", *RUNS, "-m", "RDQ@5", "-m", "AP@5", *options, "--format", "json")
    assert done.status == 0, done.err
    found = json.loads(done.out)
    assert list(found)[:5] == ["command", "version", "parameters", "summary", "rows"]
    assert (found["command"], found["version"]) == (command, rd.__version__)
    return found["rows"]


def test_compare_gives_what_significance_gives(rankdev, scores):
    assert ask(rankdev, "compare") == significance(scores).to_polars().to_dicts()
    against = ask(rankdev, "compare", "--baseline", "nearest", "--test", "t", "--correction", "bh")
    assert against == significance(scores, baselines="nearest", test="t", correction="bh").to_polars().to_dicts()


def test_compare_marks_significant_differences(rankdev, scores):
    out = rankdev("compare", "places.jsonl", *RUNS, "-m", "RDQ@5").out
    significant = significance(scores, measures=["RDQ@5"]).to_polars()["p_adjusted"] <= 0.05
    assert sum("*" in line for line in out.splitlines() if "[" in line) == significant.sum() > 0
    assert "seed = 0" in out


@pytest.mark.filterwarnings("ignore::rankdev.errors.RankdevWarning")
def test_power_gives_what_power_gives(rankdev, scores):
    options = ("--sizes", "4,8", "--subsamples", "20", "--permutations", "50", "--seed", "3")
    expected = power(scores, sizes=[4, 8], subsamples=20, permutations=50, seed=3)
    assert ask(rankdev, "power", *options) == expected.to_polars().to_dicts()
    out = rankdev("power", "places.jsonl", *RUNS, *options, "--buckets", "3", "-n", "4").out
    assert "Power at 4 queries over 3 pairs" in out
    assert "of 3 pairs differ significantly" in out
    for at in ((), ("-n", "2")):
        out = rankdev("power", "places.jsonl", *RUNS, "--sizes", "2,3", "--subsamples", "9", "--buckets", "3", *at).out
        assert "≤3" in out
        assert "–" not in out


@pytest.mark.filterwarnings("ignore::rankdev.errors.RankdevWarning")
def test_stability_gives_what_stability_gives(rankdev, scores):
    expected = stability(scores, sizes=[4, 8], subsamples=20).to_polars().to_dicts()
    assert ask(rankdev, "stability", "--sizes", "4,8", "--subsamples", "20") == expected


def test_agreement_has_a_row_a_pair(rankdev):
    (row,) = ask(rankdev, "agreement")
    assert (row["a"], row["b"], row["tau"]) == ("RDQ@5", "AP@5", 1.0)


def test_sensitivity_has_a_row_a_cell(rankdev):
    options = ("--grid", "alpha=1,4", "--grid", "penalty=m1,m2", "-n", "5", "--subsamples", "10", "--format", "json")
    rows = json.loads(rankdev("sensitivity", "places.jsonl", *RUNS, *options).out)["rows"]
    assert [(row["alpha"], row["penalty"]) for row in rows] == [(1, "m1"), (1, "m2"), (4, "m1"), (4, "m2")]


@pytest.mark.filterwarnings("ignore::rankdev.errors.RankdevWarning")
@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("power", ("-m", "RDQ@5", "-m", "AP@5", "--sizes", "4,8", "--subsamples", "10")),
        ("stability", ("-m", "RDQ@5", "-m", "AP@5", "--sizes", "4,8", "--subsamples", "10")),
        ("agreement", ("-m", "RDQ@5", "-m", "AP@5")),
        ("sensitivity", ("-n", "5", "--subsamples", "5")),
        ("compare", ("-m", "RDQ@5")),
    ],
)
def test_figures_are_drawn(rankdev, folder, command, options):
    runs = RUNS[:2] if command == "compare" else RUNS
    done = rankdev(command, "places.jsonl", *runs, *options, "--figure", "picture.png")
    assert done.status == 0, done.err
    assert (folder / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_plan_says_it_in_words(rankdev, scores):
    out = rankdev(
        "plan", "places.jsonl", *RUNS, "-m", "RDQ@5", "-a", "nearest", "-b", "blended", "--difference", "0.1"
    ).out
    found = plan(scores, "nearest", "blended", "RDQ@5", difference=0.1)
    assert f"{found}\n" == out


def test_scores_from_elsewhere(rankdev, scores):
    expected = significance(scores).to_polars().to_dicts()
    for name in ("scores.csv", "scores.json", "scores.parquet"):
        rankdev("eval", "places.jsonl", *RUNS, "-m", "RDQ@5", "-m", "AP@5", "-q", "-o", name)
        rows = json.loads(rankdev("compare", "--scores", name, "--format", "json").out)["rows"]
        assert [row["p"] for row in rows] == pytest.approx([row["p"] for row in expected])
    only = json.loads(rankdev("compare", "--scores", "scores.csv", "-m", "AP@5", "--format", "json").out)
    assert {row["measure"] for row in only["rows"]} == {"AP@5"}


def test_json_tells_the_infinite_from_what_was_not_measured(rankdev, folder):
    (folder / "s.csv").write_text(
        "system,query,measure,value\n"
        + "".join(f"{s},{q},P@1,{v}\n" for s, v in (("a", 1), ("b", 0)) for q in range(5))
    )
    (row,) = json.loads(rankdev("compare", "--scores", "s.csv", "--format", "json").out)["rows"]
    assert row["effect"] == "Infinity"


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("compare",), 2, "give REFERENCES and at least one RUN, or --scores FILE"),
        (("compare", "places.jsonl", "blended.run"), 2, "at least 2 systems"),
        (("compare", "places.jsonl", *RUNS, "--scores", "x.csv"), 2, "not both"),
        (("compare", "places.jsonl", *RUNS, "--baseline", "blendid"), 2, "did you mean blended?"),
        (("compare", "--scores", "nearest.run"), 1, "nearest.run: expected a table"),
        (("compare", "--scores", "places.jsonl"), 1, "places.jsonl: scores: column 'system' is missing"),
        (("power", "places.jsonl", *RUNS, "--sizes", "a,b"), 2, "--sizes is 'a,b'; expected whole numbers"),
        (("stability", "places.jsonl", *RUNS, "--seed", "-1"), 2, "-1 is not in the range x>=0"),
        (("agreement", "places.jsonl", *RUNS, "-m", "AP@5"), 2, "at least 2 measures"),
        (("plan", "places.jsonl", *RUNS, "-m", "AP@5", "-m", "RDQ@5"), 2, "plan takes one measure"),
        (("plan", "places.jsonl", *RUNS, "-m", "AP@5"), 2, "name them with -a and -b: nearest, popular, blended"),
        (("power", "places.jsonl", *RUNS, "--figure", "no/x.png"), 2, "no/x.png: cannot write here"),
        (("power", "places.jsonl", *RUNS, "--figure", "x.gif"), 2, "x.gif: no format has this name"),
        (("sensitivity", "places.jsonl", *RUNS, "--grid", "alpha"), 2, "--grid is 'alpha'; expected a parameter"),
        (("sensitivity", "places.jsonl", *RUNS, "--grid", "alfa=1"), 2, "did you mean alpha?"),
        (("sensitivity", "places.jsonl", *RUNS, "--grid", "lam=1", "--grid", "lam=2"), 2, "--grid names lam twice"),
    ],
)
def test_wrong_calls(rankdev, arguments, status, message):
    done = rankdev(*arguments)
    assert done.status == status
    assert message in done.err


def test_compare_of_a_file_notes_what_compare_of_runs_notes(rankdev, folder):
    lines = (folder / "nearest.run").read_text().splitlines(keepends=True)
    (folder / "short.run").write_text("".join(lines[:30]))
    runs = ("places.jsonl", "short.run", "blended.run", "-m", "RDQ@5")
    assert rankdev("eval", *runs, "-q", "-o", "scores.csv").status == 0
    one, other = (rankdev("compare", *source) for source in (runs, ("--scores", "scores.csv")))
    assert "short: 2 of 10 queries are not in the run; they score 0" in one.err
    assert (other.out, other.err) == (one.out, one.err)
