"""The reference of the site: pages of the API from the public names and their docstrings, pages of commands from
``--help``.

Signatures and docstrings are read from the source, so that integrations are documented without the libraries they need.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from inspect import cleandoc
from itertools import takewhile
from pathlib import Path
from typing import Any

import click
from mkdocs.structure.files import File, Files

import rankdev
from rankdev import results
from rankdev.cli import cli
from rankdev.commands import GROUPS

TITLES = {
    "data": "Data and files",
    "evaluation": "Evaluation and reports",
    "measures": "Measures",
    "statistics": "Statistics",
    "preferences": "Preferences and judging",
    "integrations": "Integrations and studies",
}
# pages of packages that have none of their own
PAGES = {"errors": "data", "html_report": "evaluation", "_common": "evaluation", "learning": "measures"}
PAGES |= {"judging": "preferences", "studies": "integrations"}
# public names beside those of rankdev and rankdev.results; integrations are read from their source
OTHERS = ["errors.MissingExtraError", "measures.match.Match", "learning.training.training_labels"]
OTHERS += [f"measures.{name}" for name in ("parse_all", "Measure", "parameter", "load_file")]
PACKAGES = ("preferences", "judging", "studies", "learning")
EXAMPLE = re.compile(r"^>>>.*(?:\n.+)*", re.MULTILINE)
ROLE = re.compile(r":\w+:`~?\.?([^`]+)`")
SECTION = re.compile(r"^([A-Z][A-Za-z ]+)\n-{3,}$", re.MULTILINE)
TERM = re.compile(r"^(\S.*)((?:\n[ \t]+.*|\n(?=\n))*)", re.MULTILINE)
LISTS = ("Parameters", "Returns", "Yields", "Raises", "Warns", "Attributes")


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Add a page for each part of the API, and for each group of commands."""
    context = click.Context(cli, info_name="rankdev")
    pages = {f"api/{page}.md": [f"# {TITLES[page]}", *map(reference, names)] for page, names in entries().items()}
    for group, names in GROUPS.items():
        pages[_group_page(group)] = [f"# {group}", *(text for name in names for text in _helps(name, context))]
    for path, parts in pages.items():
        files.append(File.generated(config, path, content="\n\n".join(parts)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Fill in the overviews of the API and of commands."""
    if page.file.src_uri == "commands.md":
        return markdown.replace("<!-- commands -->", _commands())
    if page.file.src_uri == "api.md":
        return markdown.replace("<!-- names -->", _names())
    return markdown


@cache
def entries() -> dict[str, list[str]]:
    """Return the names that each page of the API documents: functions first, then their results."""
    public = [name for name in rankdev.__all__ if name != "__version__"]
    names = [(f"rankdev.{name}", getattr(rankdev, name).__module__) for name in public]
    names += [(f"rankdev.{name}", f"rankdev.{name}") for name in OTHERS]
    known = {path.rpartition(".")[2] for path, _ in names} | {*results.__all__}
    for package in PACKAGES:
        module = f"rankdev.{package}"
        names += [(f"{module}.{name}", module) for name in import_module(module).__all__ if name not in known]
    names += [(path, path) for path in _of_integrations()]
    names += [
        (f"rankdev.results.{name}", getattr(results, name).__module__) for name in results.__all__ if name not in known
    ]
    found: dict[str, list[str]] = {page: [] for page in TITLES}
    for path, module in names:
        package = module.split(".")[1]
        found[PAGES.get(package, package)].append(path)
    return found


def _of_integrations() -> Iterator[str]:
    """Find the public functions and classes of each integration, without the library that it needs."""
    for path in sorted(Path(rankdev.__file__).parent.glob("integrations/[a-z]*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
        yield from (f"rankdev.integrations.{path.stem}.{name}" for name in names if not name.startswith("_"))


def reference(path: str) -> str:
    """Return what a page shows of a function, or of a class with its methods."""
    name, (node, *bases) = path.removeprefix("rankdev."), _definitions(path)
    title = f"## {name} {{ #{_anchor(path)} }}\n\n"
    if isinstance(node, ast.FunctionDef):
        return f"{title}{_signature(name, node)}\n\n{documentation(node)}"
    own = {entry.name: entry for kind in [*reversed(bases), node] for entry in kind.body if hasattr(entry, "name")}
    made = f"{_signature(node.name, own['__init__'], bound=True)}\n\n" if "__init__" in own else ""
    parts = [title + made + documentation(node)]
    for method, entry in sorted(own.items()):
        if not method.startswith("_") and ast.get_docstring(entry):
            full = f"{node.name}.{method}"
            head = f"### {full} {{ #{_anchor(path)}-{method} }}"
            parts += [head, _signature(full, entry, bound=True), documentation(entry)]
    return "\n\n".join(parts)


def _definitions(path: str) -> list[Any]:
    """Find the definition of a name in the source, and of the bases of a class up to one that has its own entry."""
    module, _, name = path.rpartition(".")
    try:
        value = getattr(import_module(module), name)
    except ImportError:  # an integration whose library is not here
        return [_definition(module, name)]
    known = {entry.rpartition(".")[2] for names in entries().values() for entry in names}
    family = [base for base in getattr(value, "__mro__", [value])[1:] if base.__module__.startswith("rankdev.")]
    bases = takewhile(lambda base: base.__name__ not in known, family)
    return [_definition(kind.__module__, kind.__name__) for kind in (value, *bases)]


@cache
def _definition(module: str, name: str) -> Any:
    tree = ast.parse(Path(str(find_spec(module).origin)).read_text(encoding="utf-8"))  # type: ignore[union-attr]
    found = [node for node in tree.body if getattr(node, "name", None) == name]
    assert found, f"{module} defines no {name}"
    return found[-1]  # overloads come before


def _signature(name: str, node: ast.FunctionDef, *, bound: bool = False) -> str:
    """Return a signature as code, on several lines if it is long; without ``self`` if it is bound to an object."""
    kinds = {ast.unparse(decorator) for decorator in node.decorator_list}
    returned = f" -> {ast.unparse(node.returns)}" if node.returns and node.name != "__init__" else ""
    if kinds & {"property", "cached_property"}:
        return f"```python\n{name}{returned}\n```"
    parts = _parameters(node.args)[bound and "staticmethod" not in kinds :]
    line = f"{name}({', '.join(parts)}){returned}"
    if len(line) > 90:
        line = f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){returned}"
    return f"```python\n{line}\n```"


def _parameters(args: ast.arguments) -> list[str]:
    """Write parameters as they are in the source."""

    def shown(arg: ast.arg, default: ast.expr | None = None) -> str:
        text = ast.unparse(arg)
        return text if default is None else f"{text} = {ast.unparse(default)}"

    positional = [*args.posonlyargs, *args.args]
    defaults = [None] * (len(positional) - len(args.defaults)) + args.defaults
    parts = [shown(*pair) for pair in zip(positional, defaults, strict=True)]
    if args.vararg:
        parts.append(f"*{shown(args.vararg)}")
    elif args.kwonlyargs:
        parts.append("*")
    parts += [shown(*pair) for pair in zip(args.kwonlyargs, args.kw_defaults, strict=True)]
    return [*parts, f"**{shown(args.kwarg)}"] if args.kwarg else parts


def documentation(node: Any) -> str:
    """Return the docstring of a definition as Markdown."""
    return as_markdown(ast.get_docstring(node) or "")


def as_markdown(docstring: str) -> str:
    """Turn a docstring, with the sections of numpydoc or without any, into Markdown."""
    head, *rest = SECTION.split(ROLE.sub(r"`\1`", docstring))
    parts = [_prose(head)]
    for title, body in zip(rest[::2], rest[1::2], strict=True):
        parts.append(_in_a_line(body, title) or f"**{title}**\n\n{_section(body, title)}")
    return "\n\n".join(filter(None, parts))


def _prose(text: str) -> str:
    return EXAMPLE.sub(r"```python\n\g<0>\n```", text.strip().replace("::\n", ":\n"))


def _section(body: str, title: str) -> str:
    return _definition_list(body, title) if title in LISTS else _prose(body)


def _in_a_line(body: str, title: str) -> str:
    """Write what is returned next to the title, where it is one type with a paragraph at most."""
    terms = TERM.findall(body.strip())
    if title not in ("Returns", "Yields") or len(terms) > 1 or " : " in terms[0][0]:
        return ""
    kind, text = terms[0][0], _prose(cleandoc(terms[0][1]))
    return "" if "\n\n" in text else f"**{title}** {kind}{f': {text}' if text else ''}"


def _definition_list(body: str, title: str) -> str:
    """Make a definition list of ``name : type`` lines, or types, with indented text below them."""
    parts = []
    for term, text in TERM.findall(body.strip()):
        name, colon, kind = term.partition(" : ")
        described = _prose(cleandoc(text)).replace("\n", "\n    ")
        shown = f"`{name}`" if colon or title == "Parameters" else name
        choices = kind.replace("{", "&#123;")  # or Markdown takes them for attributes, and leaves them out
        parts.append(f"{shown}{colon}{choices}\n:   {described or '&nbsp;'}")
    return "\n\n".join(parts)


def _names() -> str:
    """List all names, each with the first sentence of its docstring."""
    parts = []
    for page, paths in entries().items():
        lines = [f"- [`{p.removeprefix('rankdev.')}`](api/{page}.md#{_anchor(p)}): {_summary(p)}" for p in paths]
        parts.append("\n".join([f"## {TITLES[page]}\n", *lines]))
    return "\n\n".join(parts)


def _summary(path: str) -> str:
    return documentation(_definitions(path)[0]).partition("\n\n")[0].replace("\n", " ")


def _anchor(path: str) -> str:
    return path.removeprefix("rankdev.").replace(".", "-")


def _group_page(group: str) -> str:
    return f"commands/{group.lower().replace(' ', '-')}.md"


def _commands() -> str:
    """List the commands, each with its line of ``rankdev --help``."""
    parts = []
    for group, names in GROUPS.items():
        page = _group_page(group)
        lines = [f"- [`rankdev {name}`]({page}#rankdev-{name}): {says}" for name, (_, says) in names.items()]
        parts.append("\n".join([f"## {group}\n", *lines]))
    return "\n\n".join(parts)


def _whole_help(context: click.Context) -> str:
    """Return the help of a command with the options that ``--help`` only names."""
    command, formatter = context.command, context.make_formatter()
    command.format_usage(context, formatter)
    command.format_help_text(context, formatter)
    (click.Group if isinstance(command, click.Group) else click.Command).format_options(command, context, formatter)
    command.format_epilog(context, formatter)
    return formatter.getvalue().rstrip("\n")


def _helps(name: str, parent: click.Context) -> Iterator[str]:
    """Give the whole help of a command, and of the commands below it."""
    command = parent.command.get_command(parent, name)  # type: ignore[attr-defined]
    context = click.Context(command, info_name=name, parent=parent)
    yield f"## {context.command_path}\n\n```\n{_whole_help(context)}\n```"
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            yield from _helps(child, context)
