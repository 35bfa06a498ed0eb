"""Whatever number is given to an option of a command, the answer is a result or one clear line."""

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


def numeric_options():
    for name in sorted(COMMANDS.keys() - ELSEWHERE):
        command = cli.get_command(None, name)
        parts = command.commands.items() if isinstance(command, click.Group) else [("", command)]
        for part, one in parts:
            for option in one.params:
                kind = option.type
                if isinstance(kind, click.types.IntParamType | click.types.FloatParamType) and not option.multiple:
                    yield f"{name} {part}".strip(), option.opts[-1]


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
