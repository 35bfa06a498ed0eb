"""Settings: values of options that the command line leaves out, from rankdev.toml or pyproject.toml.

A section per command, and in it a key per option: ``[gate]`` in rankdev.toml, ``[tool.rankdev.gate]`` in
pyproject.toml. Only files in the current folder count, so that no number changes for a reason out of sight. They run no
code and name no output: whoever sends a pull request may have written them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from rankdev.cli import SETTINGS_FILES as FILES
from rankdev.cli.outputs import Written
from rankdev.errors import Note, UsageError, nearest, shown

FOUND = "rankdev.settings"  # name of the file, in the context's meta


def read_settings(ctx: click.Context, command: str | None) -> dict[str, Any] | None:
    """Return the settings of a command as click takes them, by the names of its parameters."""
    found = [(name, section) for name in FILES if (section := _section(name)) is not None]
    if len(found) > 1:
        raise UsageError("two-settings", names=FILES)
    if not found or not isinstance(ctx.command, click.Group):
        return None
    ctx.meta[FOUND], sections = found[0]
    try:
        _check_sections(sections, ctx.command, ctx)
        if command is None or command not in sections:
            return None
        chosen = ctx.command.get_command(ctx, command)
        return None if chosen is None else {command: _checked(command, sections[command], chosen, ctx)}
    except UsageError as error:
        raise error.at(path=ctx.meta[FOUND]) from None


def _section(name: str) -> Mapping[str, Any] | None:
    """Read the settings in a file; a pyproject.toml without any is not parsed."""
    try:
        text = Path(name).read_bytes()
    except OSError:
        return None
    if name == FILES[1] and b"rankdev" not in text:
        return None
    try:
        content = tomllib.loads(text.decode())
    except ValueError as error:
        raise UsageError("not-toml", path=name, why=str(error)) from None
    if name == FILES[0]:
        return content
    section = content.get("tool", {}).get("rankdev")
    if section is not None and not isinstance(section, Mapping):
        expected = "sections such as [tool.rankdev.gate]"
        raise UsageError("bad-value", path=name, name="tool.rankdev", value=section, expected=expected)
    return section


def _check_sections(sections: Mapping[str, Any], group: click.Group, ctx: click.Context) -> None:
    known = group.list_commands(ctx)
    for key in sections:
        if key not in known:
            raise UsageError("not-a-section", value=key, near=nearest(key, known))


def _checked(name: str, section: Any, command: click.Command, ctx: click.Context) -> dict[str, Any]:
    """Check keys and values against the options of a command, or each section against those of a subcommand."""
    if not isinstance(section, Mapping):
        raise UsageError("bad-value", name=f"[{name}]", value=section, expected="a section with options")
    if isinstance(command, click.Group):
        _check_sections(section, command, ctx)
        return {
            key: _checked(f"{name}.{key}", value, chosen, ctx)
            for key, value in section.items()
            if (chosen := command.get_command(ctx, key)) is not None
        }
    options = {_key(entry): entry for entry in command.params if _may_be_set(name, entry)}
    found = {}
    for key, value in section.items():
        if key in map(_key, command.params) and key not in options:
            raise UsageError("not-for-settings", section=name, value=key)
        if key not in options:
            raise UsageError("not-a-setting", section=name, value=key, near=nearest(key, options))
        found[str(options[key].name)] = _value(
            f"[{name}] {key}", value, options[key], click.Context(command, parent=ctx)
        )
    return found


def _key(parameter: click.Parameter) -> str:
    return max(parameter.opts, key=len).lstrip("-")


def _may_be_set(command: str, parameter: click.Parameter) -> bool:
    """Tell whether settings may give a parameter: an option, or the references of a gate."""
    if isinstance(parameter, click.Argument):
        return (command, parameter.name) == ("gate", "references")
    return not isinstance(parameter.type, Written) and _key(parameter) not in ("import", "db", "save")


def _value(name: str, value: Any, parameter: click.Parameter, ctx: click.Context) -> Any:
    """Check the value of a parameter; one that may be repeated takes a list too."""
    many, is_flag = getattr(parameter, "multiple", False), bool(getattr(parameter, "is_flag", False))
    if many:
        value = list(value) if isinstance(value, list) else [value]
    for one in value if many else [value]:
        if isinstance(one, bool) != is_flag or not isinstance(one, str | int | float):
            expected = "true or false" if is_flag else "a text or a number"
            raise UsageError("bad-value", name=name, value=value, expected=expected)
        if isinstance(parameter.type, click.Path) and not isinstance(one, str):
            raise UsageError("bad-value", name=name, value=value, expected="the name of a file")
    try:
        parameter.type_cast_value(ctx, value)
    except click.BadParameter as error:
        raise UsageError("bad-setting", name=name, why=error.message) from None
    return value


def note_of(ctx: click.Context) -> list[Note]:
    """State which options of a running command come from a file."""
    settings: Mapping[str, Any] = ctx.default_map or {}
    taken = [
        f"{_key(entry)} = {shown(settings[str(entry.name)])}"
        for entry in ctx.command.params
        if entry.name in settings
        and (isinstance(entry, click.Argument) or ctx.get_parameter_source(entry.name) is ParameterSource.DEFAULT_MAP)
    ]
    return [Note("settings", file=ctx.meta[FOUND], values=taken)] if taken else []
