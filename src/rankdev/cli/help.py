"""How help is shown: a command's own options in full, shared ones by name with the topic that explains them.

``--help`` loads nothing that computes: the names that a registry offers are looked up when a value is read, or when
``--help-all`` lists them.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from textwrap import fill, indent
from typing import Any

import click

from rankdev.errors import UsageError, nearest

FULL = "rankdev.full_help"
SETTINGS_FILES = ("rankdev.toml", "pyproject.toml")


@cache
def topics() -> dict[str, tuple[str, str]]:
    """Return what ``rankdev help`` explains: a line about each topic, and its text."""
    texts = {path.stem: path.read_text("utf-8") for path in sorted(Path(__file__).with_name("topics").glob("*.md"))}
    parts = {name: text.partition("\n\n") for name, text in texts.items()}
    return {name: (summary, text.rstrip("\n")) for name, (summary, _, text) in parts.items()}


def topic_of(option: str) -> str:
    """Return the topic that explains an option: a line of its text begins with it."""
    line = re.compile(rf"^  {option}\b", re.MULTILINE)
    return next(name for name, (_, text) in topics().items() if line.search(text))


class SharedOption(click.Option):
    """An option that many commands have: ``rankdev help TOPIC`` explains it, ``--help`` names it with its topic."""


class _Helped(click.Command):
    def get_help_option_names(self, ctx: click.Context) -> list[str]:
        """Ask for help by the same names in any context: click keeps those of the first one."""
        return ["-h", "--help"]

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Add --help-all; there are too many commands at the top."""
        return [*super().get_params(ctx), *([_HELP_ALL] if ctx.parent else [])]


class Command(_Helped):
    """A command whose ``--help`` fits a screen; ``--help-all`` explains every option."""

    def invoke(self, ctx: click.Context) -> Any:
        """Note which options come from a file of settings."""
        if ctx.default_map:
            from rankdev.cli.settings import note_of
            from rankdev.cli.terminal import write_notes

            write_notes(note_of(ctx))
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Explain the command's own options, and name the shared ones."""
        if ctx.meta.get(FULL):
            super().format_options(ctx, formatter)
            return
        own = [
            param.get_help_record(ctx)
            for param in self.params
            if isinstance(param, click.Option) and not isinstance(param, SharedOption)
        ]
        if own:
            with formatter.section("Options"):
                formatter.write_dl([record for record in own if record])
        also = also_line(self)
        if also:
            text = fill(also, formatter.width - 2, break_on_hyphens=False)  # an option stays in one piece
            formatter.write(f"\n{indent(text, '  ')}\n")


def also_line(command: click.Command) -> str:
    """Name the options of a command that topics explain."""
    shared = [param.opts[0] for param in command.params if isinstance(param, SharedOption)]
    by_topic: dict[str, list[str]] = {}
    for option in shared:
        by_topic.setdefault(topic_of(option), []).append(option)
    parts = [f"{' '.join(names)} ({topic})" for topic, names in by_topic.items()]
    return f"Also: {'; '.join(parts)}. See rankdev help TOPIC." if parts else ""


def _show_all(ctx: click.Context, param: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        ctx.meta[FULL] = True
        click.echo(ctx.get_help())
        ctx.exit()


_HELP_ALL = click.Option(
    ["--help-all"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_all,
    help="Explain every option, shared ones too.",
)


class Group(_Helped, click.Group):
    """A group that, called alone, shows its commands."""

    command_class = Command

    def get_help(self, ctx: click.Context) -> str:
        """Add, for --help-all, what each command explains."""
        texts = [super().get_help(ctx)]
        for name in self.list_commands(ctx) if ctx.meta.get(FULL) else ():
            command = self.get_command(ctx, name)
            if command is not None:
                texts.append(command.get_help(click.Context(command, info_name=name, parent=ctx)))
        return "\n\n".join(texts)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Suggest a command where there is none of that name."""
        known = self.list_commands(ctx)
        if args and args[0] not in known:
            see = f"{ctx.command_path} --help"
            raise UsageError("unknown-name", what="command", value=args[0], near=nearest(args[0], known), see=see)
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the commands in the order of their definitions."""
        return list(self.commands)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Greet where click would report an error."""
        if not args and not ctx.resilient_parsing:
            click.echo(self.opening(ctx))
            ctx.exit()
        return super().parse_args(ctx, args)

    def opening(self, ctx: click.Context) -> str:
        """Return what the group shows when it is called alone."""
        return self.get_help(ctx)


class RegisteredChoice(click.Choice[str]):
    """One of the names in a registry such as ``"rankdev.statistics.paired:TESTS"``, which is imported on use."""

    def __init__(self, registry: str) -> None:
        self._registry = registry
        self.case_sensitive = True

    @property
    def choices(self) -> tuple[str, ...]:  # type: ignore[override]
        """The names, in the order of the registry."""
        known = resolve_name(self._registry)
        return tuple(known() if callable(known) else known)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        """Show the names where they are asked for; they may take long to load."""
        return super().get_metavar(param, ctx) if ctx.meta.get(FULL) else "NAME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Refuse what is not in the registry; a shell that completes another word does not wait for it."""
        return str(value) if ctx is not None and ctx.resilient_parsing else super().convert(value, param, ctx)
