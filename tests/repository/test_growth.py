"""The benchmark of growth gives every command options that it has."""

import click
import pytest
from benchmarks.growth.__main__ import GROWTHS

from rankdev.cli import cli


@pytest.mark.parametrize("one", GROWTHS, ids=lambda one: f"{one.command}, {one.grows}")
def test_commands_have_the_options(one, tmp_path):
    command, context, words = cli, click.Context(cli), one.command.split()
    names = [word for word in words if not word.startswith("-") and word != "trec_eval-10"]
    for name in names:
        command = command.get_command(context, name)
    known = {text for parameter in command.params for text in parameter.opts}
    given = [word for word in [*words, *one.arguments(tmp_path, 6)] if word.startswith("-")]
    assert {word for word in given if not word.lstrip("-").isdigit()} <= known
