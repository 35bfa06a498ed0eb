"""--help, help, completion and the words of errors: each command speaks the language of the command line."""

import re
import shlex
import subprocess
import sys

import click
import pytest
from click.shell_completion import ShellComplete

from rankdev.cli import SharedOption, cli, topic_of, topics
from rankdev.commands import COMMANDS as TABLE

TOPICS = topics()


def commands(command=cli, context=None):
    """Every command that does something, with the words that call it."""
    context = context or click.Context(cli, info_name="rankdev")
    if not isinstance(command, click.Group):
        yield context.command_path.split()[1:], command
        return
    for name in command.list_commands(context):
        child = command.get_command(context, name)
        yield from commands(child, click.Context(child, info_name=name, parent=context))


COMMANDS = {" ".join(words): command for words, command in commands()}
ELSEWHERE = {
    "study poi",
    "study track",
    "refs grades",
    "judge",
    "ppi",
    "bounds",
}  # minutes, the network, other files or a server


def help_of(name):
    """What a command's --help prints on a terminal of 80 columns."""
    context = None
    for part in ("rankdev", *name.split()):
        command = cli if context is None else context.command.get_command(context, part)
        context = click.Context(command, info_name=part, parent=context, terminal_width=78)  # click leaves two empty
    return context.get_help()


def example(name):
    found = re.search(r"Example: (rankdev .+)\Z", help_of(name), re.DOTALL)
    assert found, f"the help of {name} must end with an example"
    return " ".join(found[1].split())


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_a_screen_and_ends_with_an_example_of_the_command(name):
    lines = help_of(name).splitlines()
    assert len(lines) <= 30
    assert max(map(len, lines)) <= 80
    assert example(name).startswith(f"rankdev {name}")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_explained_or_named_with_its_topic(name):
    listed, _, also = help_of(name).partition("\n  Also: ")
    parts = re.findall(r"((?:-[\w-]+ )+)\((\w+)\)", " ".join(also.split()))
    named = {option: topic for options, topic in parts for option in options.split()}
    for option in (param for param in COMMANDS[name].params if isinstance(param, click.Option)):
        assert option.help, option.opts
        assert named.get(option.opts[0]) == (topic_of(option.opts[0]) if isinstance(option, SharedOption) else None)
        row = re.compile(rf"^  {re.escape(', '.join(option.opts))}\b", re.MULTILINE)
        assert bool(row.search(listed)) == (option.opts[0] not in named), option.opts


@pytest.mark.parametrize("topic", TOPICS)
def test_a_topic_fits_a_screen_and_names_what_exists(topic, rankdev):
    done = rankdev("help", topic)
    assert (done.status, done.out) == (0, TOPICS[topic][1] + "\n")
    lines = done.out.splitlines()
    assert len(lines) <= 30
    assert max(map(len, lines)) <= 80
    assert {found[1] for found in re.finditer(r"rankdev (\w+)", done.out)} <= TABLE.keys()
    known = {text for command in COMMANDS.values() for param in command.params for text in param.opts}
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", done.out)) <= known | {"--help"}


def test_help_loads_nothing_that_computes():
    """Not even the names of choices, which are looked up on use."""
    calls = [[], ["--help"], ["refs"], ["study"], ["help"]]
    calls += [[*name.split(), "--help"] for name in COMMANDS] + [["help", topic] for topic in TOPICS]
    script = f"""
import io, sys
from contextlib import redirect_stdout
from rankdev.cli import main
for words in {calls}:
    sys.argv = ["rankdev", *words]
    with redirect_stdout(io.StringIO()):
        main()
    loaded = [name for name in ("numpy", "polars", "scipy", "rich", "matplotlib") if name in sys.modules]
    if loaded:
        sys.exit(f"{{words}} loads {{loaded}}")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("group", ["refs", "study"])
def test_a_group_alone_shows_its_commands(rankdev, group):
    done = rankdev(group)
    assert (done.status, done.err) == (0, "")
    assert done.out == rankdev(group, "--help").out == rankdev("help", group).out


def test_help_explains_topics_and_commands(rankdev):
    assert all(f"  {topic} " in rankdev("help").out for topic in TOPICS)
    assert max(map(len, rankdev("help").out.splitlines())) <= 80
    assert rankdev("help", "refs", "merge").out == rankdev("refs", "merge", "--help").out


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in ELSEWHERE])
def test_the_example_works_on_the_data_of_the_demo(name, rankdev):
    done = rankdev(*shlex.split(example(name))[1:])
    assert (done.status, "Traceback" in done.err) == (0, False), done.err


@pytest.mark.parametrize("words", [["eval"], ["compare"], ["explain"], ["refs", "preferences"], ["sensitivity"]])
def test_files_are_completed(words):
    found = ShellComplete(cli, {}, "rankdev", "_RANKDEV_COMPLETE").get_completions(words, "pla")
    assert [item.type for item in found] == ["file"]


@pytest.mark.parametrize(
    ("words", "incomplete", "expected"),
    [
        ([], "st", ["stability", "study"]),
        (["refs"], "", ["agreement", "grades", "lists", "merge", "preferences"]),
        (["help"], "re", ["references", "refs", "report"]),
        (["compare"], "--te", ["--test"]),
        (["compare"], "--help", ["--help"]),
        (["compare", "--test"], "", ["randomization", "t"]),
        (["eval", "--format"], "p", ["parquet"]),
        (["eval", "-m"], "RDQ@", ["RDQ@10"]),
    ],
)
def test_commands_options_and_values_are_completed(words, incomplete, expected):
    found = ShellComplete(cli, {}, "rankdev", "_RANKDEV_COMPLETE").get_completions(words, incomplete)
    assert sorted(item.value for item in found) == expected


def test_advice_of_an_error_is_in_the_language_of_the_command_line(rankdev, folder):
    (folder / "apart.csv").write_text("query,winner,loser\nq,a,b\nq,c,d\n")
    done = rankdev("refs", "preferences", "apart.csv", "--disconnected", "error")
    assert done.status == 1
    assert "--disconnected split" in done.err
    assert "disconnected=" not in done.err


def test_the_package_is_a_command_too():
    said = subprocess.run([sys.executable, "-m", "rankdev", "eval"], capture_output=True, text=True, check=False)
    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr == "rankdev: Missing argument 'REFERENCES'. (see rankdev eval --help)\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_an_unknown_option_is_one_line_that_names_it(rankdev, name):
    done = rankdev(*name.split(), "--no-such")
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert "--no-such" in done.err  # click 8.2 and 8.3 word it in their own ways
    assert f"rankdev {name} --help" in done.err


NEEDED = {"explain": ["--query", "q"], "gate": ["--margin", "0.1"], "judge": ["--db", "x.sqlite"]}
READING = [
    name
    for name, command in COMMANDS.items()
    if any(isinstance(p.type, click.Path) for p in command.params if isinstance(p, click.Argument)) or name == "judge"
]


@pytest.mark.parametrize("name", READING)
def test_a_missing_file_is_one_line_that_names_it(rankdev, folder, name):
    count = sum(
        2 if argument.nargs < 0 else 1 for argument in COMMANDS[name].params if isinstance(argument, click.Argument)
    )
    before = sorted(folder.iterdir())
    done = rankdev(*name.split(), *(f"nowhere{i}" for i in range(count)), *NEEDED.get(name, []))
    assert (done.status, done.out) == (2, "")
    said = "nowhere1: there are no runs here" if name == "study track" else "nowhere0: there is no such file"
    assert said in done.err
    assert "Traceback" not in done.err
    assert sorted(folder.iterdir()) == before
