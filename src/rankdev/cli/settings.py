"""Settings: values of options that the command line leaves out, from rankdev.toml or pyproject.toml.

A section per command, and in it a key per option: ``[gate]`` in rankdev.toml, ``[tool.rankdev.gate]`` in
pyproject.toml. Only files in the current folder count, so that no number changes for a reason out of sight.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from rankdev.cli.help import SETTINGS_FILES as FILES
from rankdev.errors import UsageError, shown, suggestion

FOUND = "rankdev.settings"  # name of the file, in the context's meta


def read_settings(ctx: click.Context, command: str | None) -> dict[str, Any] | None:
    """Return the settings of a command as click takes them, by the names of its parameters."""
    found = [(name, section) for name in FILES if (section := _section(name)) is not None]
    if len(found) > 1:
        raise UsageError(f"{FILES[0]} and {FILES[1]} both have settings; keep them in one of the files")
    if not found or not isinstance(ctx.command, click.Group):
        return None
    name, sections = found[0]
    for key in sections:
        if key not in ctx.command.list_commands(ctx):
            known = suggestion(key, ctx.command.list_commands(ctx))
            raise UsageError(
                f"{name}: {shown(key)} is not a command of rankdev{known or '; settings are [COMMAND] sections'}"
            )
    ctx.meta[FOUND] = name
    chosen = None if command not in sections or command is None else ctx.command.get_command(ctx, command)
    if chosen is None or command is None:
        return None
    return {command: _checked(name, command, sections[command], chosen, ctx)}


def _section(name: str) -> Mapping[str, Any] | None:
    """Read the settings in a file; a pyproject.toml without any is not parsed."""
    try:
        text = Path(name).read_bytes()
    except OSError:
        return None
    if name == FILES[1] and b"rankdev" not in text:
        return None
    import tomllib

    try:
        content = tomllib.loads(text.decode())
    except ValueError as error:
        raise UsageError(f"{name}: not valid TOML ({error}); fix it, or run rankdev in another folder") from None
    if name == FILES[0]:
        return content
    section = content.get("tool", {}).get("rankdev")
    if section is not None and not isinstance(section, Mapping):
        raise UsageError(f"{name}: tool.rankdev is {shown(section)}; expected sections such as [tool.rankdev.gate]")
    return section


def _checked(file: str, name: str, section: Any, command: click.Command, ctx: click.Context) -> dict[str, Any]:
    """Check keys and values against the options of a command, or each section against those of a subcommand."""
    where = f"{file}: [{name}]"
    if not isinstance(section, Mapping):
        raise UsageError(f"{where} is {shown(section)}; expected a section with options")
    if isinstance(command, click.Group):
        for key in section:
            if command.get_command(ctx, key) is None:
                raise UsageError(f"{where}: {shown(key)} is not a command{suggestion(key, command.list_commands(ctx))}")
        return {
            key: _checked(file, f"{name}.{key}", value, chosen, ctx)
            for key, value in section.items()
            if (chosen := command.get_command(ctx, key)) is not None
        }
    options = {
        max(entry.opts, key=len).lstrip("-"): entry for entry in command.params if isinstance(entry, click.Option)
    }
    found = {}
    for key, value in section.items():
        option = options.get(key)
        if option is None:
            near = suggestion(key, options) or f"; {command.name} --help-all lists its options"
            raise UsageError(f"{where}: {shown(key)} is not an option of {command.name}{near}")
        found[str(option.name)] = _value(f"{where}: {key}", value, option, click.Context(command, parent=ctx))
    return found


def _value(where: str, value: Any, option: click.Option, ctx: click.Context) -> Any:
    """Check the value of an option; one that may be repeated takes a list too."""
    if option.multiple:
        value = list(value) if isinstance(value, list) else [value]
    for one in value if option.multiple else [value]:
        if isinstance(one, bool) != bool(option.is_flag) or not isinstance(one, str | int | float):
            expected = "true or false" if option.is_flag else "a text or a number"
            raise UsageError(f"{where} is {shown(value)}; expected {expected}")
        if isinstance(option.type, click.Path) and not isinstance(one, str):
            raise UsageError(f"{where} is {shown(value)}; expected the name of a file")
    try:
        option.type_cast_value(ctx, value)
    except click.BadParameter as error:
        raise UsageError(f"{where}: {error.message}") from None
    return value


def note_of(ctx: click.Context) -> str | None:
    """State which options of a running command come from a file."""
    taken = [
        f"{max(entry.opts, key=len).lstrip('-')} = {shown((ctx.default_map or {}).get(str(entry.name)))}"
        for entry in ctx.command.params
        if entry.name is not None and ctx.get_parameter_source(entry.name) is ParameterSource.DEFAULT_MAP
    ]
    return f"settings of {ctx.meta[FOUND]}: {', '.join(taken)}" if taken else None
