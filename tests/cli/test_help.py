"""--help, completion and the words of errors: each command speaks the language of the command line."""

import re
import shlex
import subprocess
import sys

import click
import pytest
from click.shell_completion import ShellComplete

from rankdev.cli import as_options, cli


def commands(command=cli, context=None):
    """Every command that does something, with the words that call it."""
    context = context or click.Context(cli, info_name="rankdev")
    if not isinstance(command, click.Group):
        yield context.command_path.split()[1:], command, context
        return
    for name in command.list_commands(context):
        child = command.get_command(context, name)
        yield from commands(child, click.Context(child, info_name=name, parent=context))


COMMANDS = {" ".join(words): (command, context) for words, command, context in commands()}
ELSEWHERE = {
    "study poi",
    "study map",
    "study trec",
    "study leave-out",
    "study trec-dl",
    "refs grades",
    "judge",
    "ppi",
    "bounds",
}  # minutes, the network, other files or a server


def example(name):
    command, context = COMMANDS[name]
    found = re.search(r"Example: (rankdev .+)\Z", command.get_help(context), re.DOTALL)
    assert found, f"the help of {name} must end with an example"
    return " ".join(found[1].split())


@pytest.mark.parametrize("name", COMMANDS)
def test_help_ends_with_an_example_of_the_command(name):
    assert example(name).startswith(f"rankdev {name}")


@pytest.mark.parametrize("words", [(), ("refs",), ("study",)])
def test_the_help_of_a_group_says_each_command_in_full_and_ends_with_an_example(rankdev, words):
    done = rankdev(*words, "--help")
    assert "..." not in done.out.partition("Commands:")[2]
    assert done.out.strip().splitlines()[-1].startswith(f"  {' '.join(['Example: rankdev', *words])}")


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in ELSEWHERE])
def test_the_example_works_on_the_data_of_the_demo(name, rankdev):
    done = rankdev(*shlex.split(example(name))[1:])
    assert (done.status, "Traceback" in done.err) == (0, False), done.err


@pytest.mark.parametrize("words", [["eval"], ["compare"], ["explain"], ["refs", "preferences"], ["sensitivity"]])
def test_files_are_completed(words):
    found = ShellComplete(cli, {}, "rankdev", "_RANKDEV_COMPLETE").get_completions(words, "pla")
    assert [item.type for item in found] == ["file"]


def test_advice_names_options():
    command = COMMANDS["refs preferences"][0]
    assert as_options("choose disconnected='split' or 'largest'", command) == "choose --disconnected split or 'largest'"
    assert as_options("take resamples=1,000", command) == "take --resamples 1,000"
    assert as_options("RDQ(ties=2,alpha=4) and nothing=5", command) == "RDQ(ties=2,alpha=4) and nothing=5"


def test_advice_of_an_error_is_in_the_language_of_the_command_line(rankdev, folder):
    (folder / "apart.csv").write_text("query,winner,loser\nq,a,b\nq,c,d\n")
    done = rankdev("refs", "preferences", "apart.csv")
    assert done.status == 1
    assert "--disconnected split" in done.err
    assert "disconnected=" not in done.err


def test_the_demo_fits_eighty_columns(rankdev):
    done = rankdev("demo")
    assert done.status == 0
    assert [line for line in done.out.splitlines() if len(line) > 80 and not line.startswith('{"query"')] == []
    for step in done.out.split("\n$ ")[1:]:
        assert step.count("\n") <= 24


def test_the_package_is_a_command_too():
    said = subprocess.run([sys.executable, "-m", "rankdev", "eval"], capture_output=True, text=True, check=False)
    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr == "rankdev: Missing argument 'REFERENCES'. (see python -m rankdev eval --help)\n"
