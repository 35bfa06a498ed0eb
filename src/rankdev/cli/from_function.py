"""Options made of documented functions: the signature names them, the docstring explains them.

Both are read from the source, so that ``--help`` imports nothing that computes.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Sequence
from functools import cache
from inspect import cleandoc
from pathlib import Path
from typing import Any, NamedTuple

import click

from rankdev.cli import SharedOption
from rankdev.errors import UsageError

Reading = Callable[[click.Context, click.Parameter, Any], Any]
_ENTRY = re.compile(r"^(\w+) : ([^\n]*)\n((?:    [^\n]*\n)+)", re.MULTILINE)


def some_text(text: str) -> str:
    """Refuse the empty text where it has no meaning."""
    if not text:
        raise ValueError
    return text


def named_values(
    value: Callable[[str], Any] = some_text, expected: str = "NAME=VALUE", *, commas: bool = False, last: bool = False
) -> Reading:
    """Return what reads NAME=VALUE as a dict: an option that is repeated, or several with ``commas``.

    ``value`` reads what follows the sign: the ``last`` one where names may have others, such as RDQ(alpha=4)@5.
    """

    def read(ctx: click.Context, param: click.Parameter, given: str | Sequence[str] | None) -> dict[str, Any] | None:
        texts = [given] if isinstance(given, str) else given or []
        found: dict[str, Any] = {}
        for text in [part for entry in texts for part in entry.split(",")] if commas else texts:
            name, _, rest = (part.strip() for part in (text.rpartition("=") if last else text.partition("=")))
            try:
                if "=" not in text:
                    raise ValueError
                meaning = value(rest)
                some_text(name)
            except ValueError:
                raise UsageError("bad-value", name=_flag(param), value=text, expected=expected) from None
            if name in found:
                raise UsageError("given-twice", name=name)
            found[name] = meaning
        return found or None

    return read


def whole_numbers(ctx: click.Context, param: click.Parameter, text: str | None) -> list[int] | None:
    """Read a list such as 25,50,100."""
    try:
        return [int(part) for part in text.split(",")] if text else None
    except ValueError:
        raise UsageError(
            "bad-value", name=_flag(param), value=text, expected="whole numbers such as 25,50,100"
        ) from None


def _flag(param: click.Parameter) -> str:
    return max(param.opts, key=len)


def json_or_text(text: str) -> Any:
    """Read a number, or anything else that JSON can say; all else is text."""
    for read in (json.loads, float):
        try:
            return read(text)
        except ValueError:
            continue
    return some_text(text)


_KINDS: dict[str, dict[str, Any]] = {
    "int": {"type": int},
    "float": {"type": float},
    "str": {},
    "bool": {"is_flag": True},
    "Sequence[int]": {"metavar": "N,N,...", "callback": whole_numbers},
    "float | Sequence[float]": {"type": float, "multiple": True},
    "int | Sequence[int]": {"type": int, "multiple": True},
    "Mapping[str, Sequence[Any]]": {
        "metavar": "NAME=V,V,...",
        "multiple": True,
        "callback": named_values(
            lambda text: [json_or_text(part.strip()) for part in text.split(",")],
            "a parameter and its values, such as alpha=0.5,1,2",
        ),
    },
    "Mapping[str, str]": {
        "metavar": "NAME=TEXT",
        "multiple": True,
        "callback": named_values(expected="NAME=TEXT", last=True),
    },
    "Mapping[str, float]": {"metavar": "WORD=NUMBER,...", "callback": named_values(float, "WORD=NUMBER", commas=True)},
}
FILE: dict[str, Any] = {"metavar": "FILE", "type": click.Path()}
# parameters that mean the same everywhere
OWN: dict[str, click.Option] = {
    "clusters": click.Option(["--clusters"], help="Dependent queries: table of query, cluster.", **FILE),
    "segments": click.Option(["--segments"], help="Also by segment: table of query, segment.", **FILE),
    "weights": SharedOption(["--weights"], help="Traffic of queries: table of query, weight.", **FILE),
    "columns": SharedOption(
        ["--columns"],
        metavar="NAME=COLUMN,...",
        callback=named_values(expected="NAME=COLUMN, and more with commas", commas=True),
        help="Columns of tables, such as item=sku,score=points.",
    ),
    "replicates": click.Option(
        ["--replicates"],
        metavar="NAME=RUN*",
        multiple=True,
        callback=named_values(expected="a system and its runs, such as bert=bert-*"),
        help="Runs of one system: bert=bert-*; repeat.",
    ),
    "seed": SharedOption(
        ["--seed"],
        type=click.IntRange(min=0),
        default=0,
        show_default=True,
        help="The same seed gives the same numbers.",
    ),
    "baselines": click.Option(
        ["--baseline", "baselines"], multiple=True, help="Compare with this system only; repeat."
    ),
}


class Parameter(NamedTuple):
    """A parameter of a function: its type as the signature and as the docstring have it, its default, its meaning."""

    name: str
    kind: str
    choices: Sequence[str]
    default: Any
    help: str

    def option(self, made: type[click.Option]) -> click.Option:
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
        return made([flag, self.name], help=text, **kind, **usual)


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


def options_of(path: str, *names: str, made: type[click.Option] = click.Option) -> list[click.Option]:
    """Return the options for some parameters of a function."""
    return [documented(path)[1][name].option(made) for name in names]
