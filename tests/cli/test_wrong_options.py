"""Whatever is given to an option of a command, the answer is a result or one clear line."""

import json

import click
import pytest
from tests.common.examples import some

from rankdev.cli import cli
from rankdev.commands import COMMANDS

SCORED = ["places.jsonl", "nearest.run", "blended.run", "-m", "RDQ@5"]
QUICK = ["--subsamples", "2", "--permutations", "9"]
CALLS = {
    "compare": [*SCORED, "--test", "randomization", "--permutations", "99"],
    "gate": [*SCORED, "--margin", "0.1"],
    "power": [*SCORED, "--sizes", "5", *QUICK],
    "stability": [*SCORED, "--sizes", "5", "--subsamples", "2"],
    "sensitivity": [*SCORED[:3], "-n", "5", "--grid", "alpha=1", *QUICK[:2]],
    "agreement": [*SCORED, "-m", "AP@5"],
    "plan": [*SCORED, "--difference", "0.5"],
    "refs preferences": ["judgments.csv"],
    "refs agreement": ["judgments.csv"],
    "bounds": ["judged.jsonl", *SCORED[1:]],
    "weights": ["clicks.csv"],
    "pool": ["nearest.run", "blended.run"],
}
ABSURD = ["0", "-1", "1e400", "nan", "", "x", str(10**30), f"-{10**30}", "1.5", "0.0000000000000001"]


# what is long, needs two collections, or serves until it is stopped
ELSEWHERE = {"study", "ppi", "judge"}


def options():
    for name in sorted(COMMANDS.keys() - ELSEWHERE):
        command = cli.get_command(None, name)
        parts = command.commands.items() if isinstance(command, click.Group) else [("", command)]
        for part, one in parts:
            for option in one.params:
                if isinstance(option, click.Option):
                    yield f"{name} {part}".strip(), option


def numeric_options():
    for name, option in options():
        kind = option.type
        if isinstance(kind, click.types.IntParamType | click.types.FloatParamType) and not option.multiple:
            yield name, option.opts[-1]


WORKED = set()  # commands whose own call, without a wrong option, was tried


@pytest.mark.parametrize(("place", "name", "option"), [(i, *found) for i, found in enumerate(numeric_options())])
def test_an_absurd_number_is_one_clear_line(rankdev, folder, place, name, option):
    (folder / "clicks.csv").write_text("item,position,clicked\n" + "a,1,1\na,2,0\nb,2,1\nb,1,1\n" * 9)
    if name not in WORKED:
        assert rankdev(*name.split(), *CALLS.get(name, SCORED)).status == 0
        WORKED.add(name)
    for value in some(ABSURD, place):
        done = rankdev(*name.split(), *CALLS.get(name, SCORED), f"{option}={value}")
        said = [line for line in done.err.splitlines() if not line.startswith(("rankdev: note:", "rankdev: warning:"))]
        assert done.status in (0, 1, 2), f"{option}={value}: {done.err}"
        if done.status:
            assert len(said) == 1, f"{option}={value}: {done.err}"


USUAL = {  # what is usual to give, so that no option of any command is forgotten on its way to the function
    **dict.fromkeys(("clusters", "segments", "weights"), "ids.csv"),
    **{"empty": "skip", "ties": "ascending", "order": "score", "duplicates": "best", "ranks": "competition"},
    **{"collapse": "#", "columns": "item=item", "grades": "good=1", "like": "trec_eval", "names": "a", "form": "json"},
    **{"by_tag": None, "strict": None, "verbose": None, "losses": None, "per_query": None},
}


@pytest.mark.parametrize(("name", "option"), [(name, one) for name, one in options() if one.name in USUAL], ids=str)
def test_every_option_reaches_its_function(rankdev, folder, name, option):
    places = (folder / "places.jsonl").read_text(encoding="utf-8").splitlines()
    lines = (f"{json.loads(line)['query']},{i % 3},{i % 2},{i + 1}" for i, line in enumerate(places))
    (folder / "ids.csv").write_text("query,cluster,segment,weight\n" + "\n".join(lines))
    value = USUAL[option.name]
    done = rankdev(*name.split(), *CALLS.get(name, SCORED), option.opts[0], *([] if value is None else [value]))
    assert done.status in (0, 1, 2, 3), done.err
