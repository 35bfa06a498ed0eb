"""What the site makes of the code: the API page from docstrings, the command page from ``--help``."""

import re
from collections.abc import Iterator
from inspect import getdoc, getmembers, isclass, isfunction, ismethod, signature
from pathlib import Path
from types import FunctionType
from typing import Any

import click

import rankdev
from rankdev.cli import cli
from rankdev.html_report.html import playground

EXAMPLE = re.compile(r"((?:^>>>.*\n?)(?:^.+\n?)*)", re.MULTILINE)
ROLE = re.compile(r":\w+:`~?\.?([^`]+)`")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Fill in api.md and commands.md where they ask for it."""
    if page.file.src_uri == "api.md":
        public = {name: getattr(rankdev, name) for name in sorted(rankdev.__all__, key=str.lower)}
        functions = {name: value for name, value in public.items() if isfunction(value)}
        classes = {name: value for name, value in public.items() if isclass(value)}
        markdown = markdown.replace("<!-- functions -->", "\n\n".join(_function(*entry) for entry in functions.items()))
        return markdown.replace("<!-- classes -->", "\n\n".join(_class(*entry) for entry in classes.items()))
    if page.file.src_uri == "commands.md":
        return markdown.replace(
            "<!-- commands -->", "\n\n".join(_commands(cli, click.Context(cli, info_name="rankdev")))
        )
    return markdown


def on_post_build(config: Any, **_: Any) -> None:
    """Put the playground beside the pages."""
    Path(config.site_dir, "playground.html").write_text(playground(), encoding="utf-8")


def _function(name: str, function: FunctionType, level: str = "##") -> str:
    return f"{level} {name}\n\n```\n{name}{_signature(function)}\n```\n\n{_documentation(function)}"


def _class(name: str, kind: type) -> str:
    methods = [
        _function(f"{name}.{method}", value, "###")
        for method, value in getmembers(kind, lambda value: isfunction(value) or ismethod(value))
        if not method.startswith("_") and getdoc(value) and method in _own(kind)
    ]
    return "\n\n".join([f"## {name}\n\n{_documentation(kind)}", *methods])


def _own(kind: type) -> set[str]:
    """Names of what rankdev's own classes define; those of the standard library are documented there."""
    return {name for base in kind.__mro__ if base.__module__.startswith("rankdev") for name in vars(base)}


class _Plain(str):
    """An annotation, shown without the quotes that postponed evaluation puts around it."""

    __slots__ = ()
    __repr__ = str.__str__


def _signature(function: FunctionType) -> str:
    shown = signature(function)
    parameters = [entry.replace(annotation=_plain(entry.annotation)) for entry in shown.parameters.values()]
    shown = shown.replace(parameters=parameters, return_annotation=_plain(shown.return_annotation))
    text = str(shown)
    if len(text) < 90:
        return text
    parts = list(map(str, parameters))
    keywords = [parameter.kind.name for parameter in parameters]
    if "KEYWORD_ONLY" in keywords and "VAR_POSITIONAL" not in keywords:
        parts.insert(keywords.index("KEYWORD_ONLY"), "*")
    result = "" if shown.return_annotation is shown.empty else f" -> {shown.return_annotation}"
    return "(\n" + "".join(f"    {part},\n" for part in parts) + f"){result}"


def _plain(annotation: Any) -> Any:
    return _Plain(annotation) if isinstance(annotation, str) else annotation


def _documentation(value: object) -> str:
    text = ROLE.sub(r"`\1`", getdoc(value) or "")
    return EXAMPLE.sub(r"```python\n\1\n```\n", text)


def _commands(command: click.Command, context: click.Context) -> Iterator[str]:
    yield f"## {context.command_path}\n\n```\n{command.get_help(context)}\n```"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            yield from _commands(child, click.Context(child, info_name=name, parent=context))
