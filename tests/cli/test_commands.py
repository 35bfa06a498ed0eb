"""A command gives what its function gives: from every source, by every design, in every format, and as a figure."""

import io
import json

import click
import polars as pl
import pytest

import rankdev as rd
from rankdev.cli import cli
from rankdev.display.encodings import records

MEASURES = ["RDQ@5", "AP@5"]
SYSTEMS = {name: f"{name}.run" for name in ("nearest", "popular", "blended")}
ONE = ("popular", "blended")
SIZES = {"sizes": [4, 8], "subsamples": 20, "seed": 3}
# what follows the runs on the command line, the function, and fewer systems or measures where it takes no more
FUNCTIONS = {
    "compare": ("", rd.significance),
    "compare --margin 0.5": ("", lambda scores, **given: rd.significance(scores, margin=0.5, **given)),
    "compare --baseline nearest": (
        "--test randomization --correction bh",
        lambda scores, **given: rd.significance(
            scores, baselines="nearest", test="randomization", correction="bh", **given
        ),
    ),
    "compare --per-query": ("", lambda scores: scores.differences(), ONE),
    "leaderboard": ("", rd.leaderboard),
    "table": ("", rd.table),
    "table --intervals": ("", lambda scores, **given: rd.table(scores, intervals=True, **given)),
    "gate": (
        "--margin 0.1",
        lambda scores, **given: rd.gate(scores, baseline="popular", candidate="blended", margin=0.1, **given),
        ONE,
    ),
    "power": (
        "--sizes 4,8 --subsamples 20 --permutations 50 --seed 3",
        lambda scores, **given: rd.power(scores, permutations=50, **SIZES, **given),
    ),
    "stability": (
        "--sizes 4,8 --subsamples 20 --seed 3",
        lambda scores, **given: rd.stability(scores, **SIZES, **given),
    ),
    "agreement": ("--resamples 20", lambda scores, **given: rd.agreement(scores, resamples=20, **given)),
    "plan": ("--difference 0.1", lambda scores, **given: rd.plan(scores, *scores.systems, **PLANNED, **given), ONE),
}
PLANNED = {"measure": "RDQ@5", "difference": 0.1}
WITHOUT = {  # designs that are refused beside what the command does
    "compare --margin 0.5": {"weights"},
    "compare --baseline nearest": {"weights", "replicates"},
    "compare --per-query": {"weights", "clusters", "replicates"},
    "table --intervals": {"replicates"},
    "plan": {"clusters", "segments"},  # of a pilot with ten clusters, or queries
}
pytestmark = pytest.mark.filterwarnings("ignore::rankdev.errors.RankdevWarning")


def parts_of(name):
    rest, function, *some = FUNCTIONS[name]
    command, *options = name.split()
    systems = {system: SYSTEMS[system] for system in (some[0] if some else SYSTEMS)}
    measures = MEASURES[:1] if command == "plan" else MEASURES
    return command, [*options, *rest.split()], function, systems, measures


def options_of(command):
    return {param.name for param in cli.get_command(click.Context(cli), command).params}


def rows_of(done):
    assert done.status == 0, done.err
    found = json.loads(done.out)
    assert list(found)[:5] == ["command", "version", "parameters", "summary", "rows"]
    assert found["version"] == rd.__version__
    return found["rows"]


@pytest.fixture
def designs(folder):
    """Files that name the cluster, the weight or the segment of each query, and what they hold; runs of a system."""
    (folder / "no.run").write_text((folder / "nearest.run").read_text())
    queries = list(rd.read_references("places.jsonl"))
    made = {
        "clusters": ("cluster", {query: f"u{i % 7}" for i, query in enumerate(queries)}),
        "weights": ("weight", {query: i + 1 for i, query in enumerate(queries)}),
        "segments": ("segment", {query: "one" if i < 5 else "two" for i, query in enumerate(queries)}),
    }
    for name, (column, values) in made.items():
        pl.DataFrame({"query": list(values), column: list(values.values())}).write_csv(f"{name}.csv")
    return {name: values for name, (_, values) in made.items()} | {"replicates": {"x": ["nearest", "popular", "no"]}}


def expected(name, design, values):
    """Return the rows that Python gives."""
    command, _, function, systems, measures = parts_of(name)
    systems = {**systems, **({"no": "no.run"} if design == "replicates" else {})}
    scores = rd.evaluate("places.jsonl", systems, measures)
    if design == "weights":
        return function(scores.weighted(values)).to_polars()
    if design == "segments" and (command not in ("gate", "compare") or "--per-query" in name):
        of = lambda part: [query for query, own in values.items() if own == part]  # noqa: E731
        parts = {"all": scores, **{part: scores.select(queries=of(part)) for part in ("one", "two")}}
        rows = [
            function(part).to_polars().insert_column(0, pl.lit(one).alias("segment")) for one, part in parts.items()
        ]
        return pl.concat(rows, how="diagonal_relaxed")
    return function(scores, **({design: values} if design else {})).to_polars()


@pytest.mark.parametrize("design", ["", "clusters", "replicates", "weights", "segments"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_command_gives_the_rows_of_its_function(rankdev, designs, name, design):
    command, options, _, systems, measures = parts_of(name)
    if design and (design not in options_of(command) or design in WITHOUT.get(name, ())):
        pytest.skip("this command has no such design")
    given = {"": [], "replicates": ["--replicates", "x=[np]*"]}.get(design, [f"--{design}", f"{design}.csv"])
    words = (command, *options, *given, "--format", "json")
    of_measures = [word for measure in measures for word in ("-m", measure)]
    runs = [*systems.values(), *(["no.run"] if design == "replicates" else [])]
    found = rows_of(rankdev(*words, "places.jsonl", *runs, *of_measures))
    assert found == records(expected(name, design, designs.get(design)))
    if not design and command != "gate":
        assert rankdev("eval", "places.jsonl", *systems.values(), *of_measures, "-q", "-o", "s.parquet").status == 0
        assert rows_of(rankdev(*words, "--scores", "s.parquet")) == found


@pytest.mark.parametrize("name", ["compare", "leaderboard"])
def test_several_collections(rankdev, designs, name):
    scores = rd.evaluate("places.jsonl", SYSTEMS, "RDQ@5")
    parts = {"one": scores.select(queries=slice(0, 6)), "two": scores.select(queries=slice(4, None))}
    for part, of_part in parts.items():
        of_part.to_polars().write_csv(f"{part}.csv")
    given = ("--collection", "one.csv", "--collection", "two.csv")
    function = {"compare": rd.meta_analysis, "leaderboard": rd.leaderboard}[name]
    done = rankdev(name, *given, "--format", "json", "--figure", "x.png")
    assert rows_of(done) == records(function(parts).to_polars())
    if name == "compare":
        clustered = rankdev(name, *given, "--clusters", "clusters.csv", "--format", "json")
        assert rows_of(clustered) == records(function(parts, clusters=designs["clusters"]).to_polars())


OTHERS = {
    "sensitivity": (
        "-m RDQ@5 -n 5 --grid alpha=1,4 --grid penalty=m1,m2 --subsamples 20",
        lambda: rd.sensitivity(
            "places.jsonl",
            SYSTEMS,
            n=5,
            grid={"alpha": [1, 4], "penalty": ["m1", "m2"]},
            subsamples=20,
            measure="RDQ@5",
        ),
    ),
    "bounds": ("-m RDQ@5", lambda: rd.bounds("judged.jsonl", SYSTEMS, "RDQ@5")),
}


@pytest.mark.parametrize("name", OTHERS)
def test_commands_of_references_and_runs(rankdev, name):
    options, function = OTHERS[name]
    references = "judged.jsonl" if name == "bounds" else "places.jsonl"
    done = rankdev(name, references, *SYSTEMS.values(), *options.split(), "--format", "json")
    assert rows_of(done) == records(function().to_polars())


DRAWN = [name for name in FUNCTIONS if "figure" in options_of(name.split()[0])]


@pytest.mark.parametrize("name", DRAWN)
def test_figures_are_drawn(rankdev, folder, name):
    command, options, _, systems, measures = parts_of(name)
    given = [word for measure in measures for word in ("-m", measure)]
    done = rankdev(command, *options, "places.jsonl", *systems.values(), *given, "--figure", "picture.png")
    assert done.status == 0, done.err
    assert (folder / "picture.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["eval", *FUNCTIONS])
def test_formats_hold_the_same_rows(rankdev, folder, name):
    command, options, _, systems, measures = (
        parts_of(name) if name in FUNCTIONS else ("eval", [], None, SYSTEMS, MEASURES)
    )
    given = [word for measure in measures for word in ("-m", measure)]

    def made(ending):
        done = rankdev(command, *options, "places.jsonl", *systems.values(), *given, "-o", f"x{ending}")
        assert (done.status, done.out) == (0, ""), done.err
        return (folder / f"x{ending}").read_bytes()

    content = json.loads(made(".json"))
    rows = content if command == "eval" else content["rows"]
    assert [json.loads(line) for line in made(".jsonl").decode().splitlines()] == rows
    frame = pl.read_parquet(io.BytesIO(made(".parquet")))
    assert records(frame) == rows
    for ending, separator in ((".csv", ","), (".tsv", "\t")):
        assert frame.write_csv(separator=separator) == made(ending).decode()
    assert all(len(made(ending)) > 100 for ending in (".tex", ".md", ".txt"))
