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
from rankdev.errors import Note, UsageError, nearest, shown

FOUND = "rankdev.settings"  # name of the file, in the context's meta


def read_settings(ctx: click.Context, command: str | None) -> dict[str, Any] | None:
    """Return the settings of a command as click takes them, by the names of its parameters."""
    found = [(name, section) for name in FILES if (section := _section(name)) is not None]
    if len(found) > 1:
        raise UsageError("two-settings", names=FILES)
    if not found or not isinstance(ctx.command, click.Group):
        return None
    name, sections = found[0]
    _check_sections(sections, ctx.command, ctx, path=name)
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
        raise UsageError("not-toml", path=name, why=str(error)) from None
    if name == FILES[0]:
        return content
    section = content.get("tool", {}).get("rankdev")
    if section is not None and not isinstance(section, Mapping):
        expected = "sections such as [tool.rankdev.gate]"
        raise UsageError("bad-value", path=name, name="tool.rankdev", value=section, expected=expected)
    return section


def _check_sections(sections: Mapping[str, Any], group: click.Group, ctx: click.Context, **where: str) -> None:
    known = group.list_commands(ctx)
    for key in sections:
        if key not in known:
            raise UsageError("not-a-section", value=key, near=nearest(key, known), **where)


def _checked(file: str, name: str, section: Any, command: click.Command, ctx: click.Context) -> dict[str, Any]:
    """Check keys and values against the options of a command, or each section against those of a subcommand."""
    if not isinstance(section, Mapping):
        raise UsageError("bad-value", path=file, name=f"[{name}]", value=section, expected="a section with options")
    if isinstance(command, click.Group):
        _check_sections(section, command, ctx, path=file)
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
            raise UsageError("not-a-setting", path=file, section=name, value=key, near=nearest(key, options))
        try:
            found[str(option.name)] = _value(f"[{name}] {key}", value, option, click.Context(command, parent=ctx))
        except UsageError as error:
            raise error.at(path=file) from None
    return found


def _value(name: str, value: Any, option: click.Option, ctx: click.Context) -> Any:
    """Check the value of an option; one that may be repeated takes a list too."""
    if option.multiple:
        value = list(value) if isinstance(value, list) else [value]
    for one in value if option.multiple else [value]:
        if isinstance(one, bool) != bool(option.is_flag) or not isinstance(one, str | int | float):
            expected = "true or false" if option.is_flag else "a text or a number"
            raise UsageError("bad-value", name=name, value=value, expected=expected)
        if isinstance(option.type, click.Path) and not isinstance(one, str):
            raise UsageError("bad-value", name=name, value=value, expected="the name of a file")
    try:
        option.type_cast_value(ctx, value)
    except click.BadParameter as error:
        raise UsageError("bad-setting", name=name, why=error.message) from None
    return value


def note_of(ctx: click.Context) -> list[Note]:
    """State which options of a running command come from a file."""
    taken = [
        f"{max(entry.opts, key=len).lstrip('-')} = {shown((ctx.default_map or {}).get(str(entry.name)))}"
        for entry in ctx.command.params
        if entry.name is not None and ctx.get_parameter_source(entry.name) is ParameterSource.DEFAULT_MAP
    ]
    return [Note("settings", file=ctx.meta[FOUND], values=taken)] if taken else []
