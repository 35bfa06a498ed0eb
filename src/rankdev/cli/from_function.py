"""Commands made of documented functions: the signature names the options, the docstring explains them.

Both are read from the source, so that ``--help`` imports nothing that computes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from functools import cache
from inspect import cleandoc
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple

import click

from rankdev.cli import Part, command, option, shared
from rankdev.cli.inputs import (
    USUAL,
    Source,
    clusters_option,
    each_once,
    matching_runs,
    name_and_value,
    replicates_option,
    segments_option,
    source,
    whole_numbers,
)
from rankdev.cli.outputs import DRAWN, Output, working_progress
from rankdev.errors import UsageError

Adjust = Callable[..., Any]
# what means the same everywhere
OWN: dict[str, click.Option] = {
    "clusters": clusters_option,
    "replicates": replicates_option,
    "segments": segments_option,
    "seed": shared(
        "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="The same seed gives the same numbers."
    ),
    "baselines": option("--baseline", "baselines", multiple=True, help="Compare with this system only; repeat."),
}
# what the source of scores or the terminal gives
GIVEN = frozenset(
    ["scores", "references", "runs", "measure", "measures", "order", "ties", "empty", "read", "progress", "p_value"]
)
_KINDS: dict[str, dict[str, Any]] = {
    "int": {"type": int},
    "float": {"type": float},
    "str": {},
    "bool": {"is_flag": True},
    "Sequence[int]": {"metavar": "N,N,..."},
    "float | Sequence[float]": {"type": float, "multiple": True},
    "int | Sequence[int]": {"type": int, "multiple": True},
    "Mapping[str, Sequence[Any]]": {"metavar": "NAME=V,V,...", "multiple": True},
    "Mapping[str, str]": {"metavar": "NAME=TEXT", "multiple": True},
}
_ENTRY = re.compile(r"^(\w+) : ([^\n]*)\n((?:    [^\n]*\n)+)", re.MULTILINE)


class Parameter(NamedTuple):
    """A parameter of a function: its type as the signature and as the docstring have it, its default, its meaning."""

    name: str
    kind: str
    choices: Sequence[str]
    default: Any
    help: str

    def option(self) -> click.Option:
        """Return the option of a command for it."""
        if self.name in OWN:
            return OWN[self.name]
        kind = {"type": click.Choice(self.choices), "metavar": "NAME"} if self.choices else _KINDS[self.kind]
        many = "multiple" in kind
        usual = {} if many or self.default in (None, False) else {"default": self.default, "show_default": True}
        flag = f"-{self.name}" if len(self.name) == 1 else f"--{self.name.replace('_', '-')}"
        said, _, usually = self.help.partition(". ")
        said = said.removesuffix(".")
        more = f": {' or '.join([', '.join(self.choices[:-1]), self.choices[-1]])}" if self.choices else ""
        text = f"{said}{more}{'; repeat' if many else ''}. {usually}".rstrip()
        return option(flag, self.name, help=text, **kind, **usual)

    def read(self, value: Any) -> Any:
        """Return what the function takes for what the command line gave."""
        if self.kind == "Sequence[int]":
            return whole_numbers(value, f"--{self.name}")
        if self.kind == "Mapping[str, Sequence[Any]]":
            return each_once(map(values_of, value))
        if self.kind == "Mapping[str, str]":
            return each_once(_label(text, f"--{self.name}") for text in value)
        return value


def _label(text: str, option: str) -> tuple[str, str]:
    """Read NAME=TEXT; a name, such as RDQ(alpha=4)@5, may have an equals sign."""
    name, mark, label = text.rpartition("=")
    if not name or not mark or not label:
        raise UsageError("bad-value", name=option, value=text, expected="NAME=TEXT")
    return name, label


def values_of(text: str) -> tuple[str, list[Any]]:
    """Read a name and its values, such as alpha=0.5,1,2."""
    name, values = name_and_value(text, "--grid", "a parameter and its values, such as alpha=0.5,1,2")
    return name, [_value(part.strip()) for part in values.split(",")]


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


@cache
def documented(path: str) -> tuple[str, dict[str, Parameter]]:
    """Return what a function does, and its parameters, from its source; ``path`` is ``module:function``."""
    module, name = path.split(":")
    defined = ast.parse(_source_of(module, name)).body[0]
    assert isinstance(defined, ast.FunctionDef)
    text = cleandoc(ast.get_docstring(defined) or "")
    arguments = [*defined.args.args, *defined.args.kwonlyargs]
    defaults: list[Any] = [*defined.args.defaults, *defined.args.kw_defaults]
    defaults = [None] * (len(arguments) - len(defaults)) + defaults
    explained = {match[1]: match for match in _ENTRY.finditer(text.partition("Parameters\n")[2])}
    found = {}
    for argument, default in zip(arguments, defaults, strict=True):
        entry = explained.get(argument.arg)
        found[argument.arg] = Parameter(
            argument.arg,
            ast.unparse(argument.annotation or ast.Constant("")).removesuffix(" | None"),
            re.findall(r'"([^"]+)"', entry[2]) if entry is not None and entry[2].startswith("{") else (),
            default.value if isinstance(default, ast.Constant) else None,
            "" if entry is None else _short(entry[3]),
        )
    return text.partition("\n\n")[0].replace("\n", " "), found


def _source_of(module: str, function: str) -> str:
    """Read the signature and the docstring of a function; a whole module takes long to parse."""
    root = Path(__file__).parents[1]
    source = root.joinpath(*module.split(".")[1:]).with_suffix(".py").read_text("utf-8")
    begin = source.rindex(f"\ndef {function}(")  # the last one: overloads come before
    end = source.find('\n    """\n', begin)
    return source[begin:].strip() if end < 0 else source[begin:end].strip() + '\n    """\n'


def _short(description: str) -> str:
    """Keep the first sentence, and what the default is."""
    sentences = re.split(r"(?<=[.])\s+(?=[A-Z`])", " ".join(description.split()))
    kept = [sentences[0], *(text for text in sentences[1:] if text.startswith("Default:"))]
    return " ".join(kept).replace("``", "")


def options_of(path: str, *names: str) -> list[click.Option]:
    """Return the options for some parameters of a function."""
    return [documented(path)[1][name].option() for name in names]


def function_command(
    name: str,
    path: str,
    *also: click.Option,
    example: str,
    more: str = "Give REFERENCES and RUNs, or --scores.",
    collections: bool = False,
    without: Sequence[str] = (),
    shown: Part = DRAWN,
    adjust: Adjust | None = None,
) -> click.Command:
    """Make a command that calls a function with scores, or with references and runs, and shows its result.

    It has options for the function's parameters, but for those of ``without``, and those of ``also``; ``shown`` are
    those of the output.
    ``adjust(function, scores, asked, **also)`` returns what is called with the scores instead, and with which options.
    """
    summary, parameters = documented(path)
    own = {each: found for each, found in parameters.items() if each not in GIVEN and each not in without}
    of_scores = "scores" in parameters
    usual = parameters["measure"].default if not of_scores and "measure" in parameters else USUAL[0]
    empty = of_scores or "empty" in parameters
    taken = source(required=not of_scores, collections=collections, empty=empty, usual=usual)
    options = [*(each.option() for each in own.values()), *([segments_option] if of_scores else [])]

    def run(source: Source, output: Output, segments: str | None = None, **given: Any) -> None:
        further = {str(one.name): given.pop(str(one.name)) for one in also}
        asked = {each: own[each].read(value) for each, value in given.items() if value not in (None, ())}
        if "clusters" in asked:
            asked["clusters"] = source.clusters(asked["clusters"])

        def call(*data: Any) -> Any:
            function, chosen = resolve_name(path), dict(asked)
            if "replicates" in chosen:
                scores = next(iter(data[0].values())) if isinstance(data[0], dict) else data[0]
                chosen["replicates"] = matching_runs(chosen["replicates"], scores.systems)
            if adjust is not None:
                function, chosen = adjust(function, *data, chosen, **further)
            with working_progress() as progress:
                return function(*data, **chosen, **({"progress": progress} if "progress" in parameters else {}))

        if of_scores:
            found, report = source.analyse(call, segments)
            output.show(found, report)
        else:
            asked |= source.read
            if "measure" in parameters:
                asked["measure"] = source.one_measure(usual)
            elif source.measures:
                asked["measures"] = source.measures
            found = call(source.references, source.systems())
            output.show(found)
        if not getattr(found, "complete", True):
            raise KeyboardInterrupt("only what was finished is shown")

    run.__doc__ = f"{summary}\n\n{more}".rstrip()
    return command(name, taken, *options, *also, shown, example=example)(run)
