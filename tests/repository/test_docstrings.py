"""Everything public is documented as numpydoc asks: each parameter, what is returned, an example that runs.

Source files are parsed rather than imported, so that integrations are checked without the libraries they need.
"""

import ast
import inspect
import re
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import pytest

import rankdev

SOURCE = Path(rankdev.__file__).parent
PUBLIC = ["rankdev", *(f"rankdev.{name}" for name in ("results", "studies", "learning", "preferences", "judging"))]
INTEGRATIONS = sorted(path.stem for path in (SOURCE / "integrations").glob("[!_]*.py"))
SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)
ENTRY = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*)( : .+)?$")
Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def tree(module):
    path = SOURCE.parent.joinpath(*module.split("."))
    return ast.parse((path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text("utf-8"))


def public_nodes():
    """Return {(module, name): node} for every public function and class, bases of rankdev's own included."""
    places = set()
    for package in PUBLIC:
        exporting = import_module(package)
        for name in exporting.__all__:
            value = getattr(exporting, name)
            kinds = value.__mro__ if inspect.isclass(value) else (value,) if inspect.isfunction(value) else ()
            places |= {(kind.__module__, kind.__qualname__) for kind in kinds if kind.__module__.startswith("rankdev")}
    for name in INTEGRATIONS:
        module = f"rankdev.integrations.{name}"
        places |= {(module, node.name) for node in tree(module).body if isinstance(node, Function | ast.ClassDef)}
    nodes = {}
    for module, name in sorted(places):
        named = {node.name: node for node in tree(module).body if isinstance(node, Function | ast.ClassDef)}
        if not name.startswith("_"):
            nodes[module, name] = named[name]
    return nodes


NODES = public_nodes()


@dataclass
class Docstring:
    text: str

    @classmethod
    def of(cls, node):
        return cls(ast.get_docstring(node) or "")

    def section(self, title):
        """Return the text of a section; None where there is none."""
        _, *parts = SECTION.split(self.text)  # title, text, title, text, …
        return dict(zip(parts[::2], parts[1::2], strict=True)).get(title)

    def entries(self, title):
        """Return the names that a section describes, and what its entries lack."""
        lines = (self.section(title) or "").strip("\n").splitlines()
        names, problems = [], []
        for line, following in pairwise([*lines, ""]):
            if not line.strip() or line.startswith(" "):
                continue
            entry = ENTRY.match(line)
            if entry is None or entry[2] is None or not following.startswith("    "):
                problems.append(f"{title}: {line!r} is not 'name : type' with an indented description")
            names += [name.strip("*") for name in (entry[1] if entry else line).split(", ")]
        return names, problems


def parameters(function, *, method):
    """Return the names of a signature's parameters, without self and cls."""
    arguments = function.args
    names = [entry.arg for entry in (*arguments.posonlyargs, *arguments.args)]
    static = any(isinstance(mark, ast.Name) and mark.id == "staticmethod" for mark in function.decorator_list)
    names = names[1:] if method and not static else names
    names += [arguments.vararg.arg] if arguments.vararg else []
    names += [entry.arg for entry in arguments.kwonlyargs]
    return names + ([arguments.kwarg.arg] if arguments.kwarg else [])


def problems_of_parameters(documented, function, *, method):
    wanted = parameters(function, method=method)
    named, problems = documented.entries("Parameters")
    if named != wanted:
        problems.append(f"Parameters are {named}; the signature has {wanted}")
    return problems


def problems_of_function(function, *, method=False):
    documented = Docstring.of(function)
    if not documented.text:
        return ["no docstring"]
    problems = problems_of_parameters(documented, function, method=method)
    nothing = isinstance(function.returns, ast.Constant) and function.returns.value is None
    if not nothing and not (documented.section("Returns") or documented.section("Yields")):
        problems.append("no Returns section")
    if not method and ">>>" not in (documented.section("Examples") or ""):
        problems.append("no Examples section with a doctest")
    return problems


def decorators(node):
    called = [mark.func if isinstance(mark, ast.Call) else mark for mark in node.decorator_list]
    return {mark.attr if isinstance(mark, ast.Attribute) else mark.id for mark in called}


def problems_of_class(node):
    documented = Docstring.of(node)
    if not documented.text:
        return ["no docstring"]
    constructor = [entry for entry in node.body if isinstance(entry, Function) and entry.name == "__init__"]
    if constructor:
        return problems_of_parameters(documented, constructor[0], method=True)
    if "dataclass" not in decorators(node):
        return []
    fields = [
        entry.target.id
        for entry in node.body
        if isinstance(entry, ast.AnnAssign) and "ClassVar" not in ast.unparse(entry.annotation)
    ]
    wanted = [name for name in fields if not name.startswith("_")]
    title = "Parameters" if documented.section("Parameters") else "Attributes"
    named, problems = documented.entries(title)
    if [name for name in named if name in wanted] != wanted:
        problems.append(f"{title} are {named}; the fields are {wanted}")
    if not any(documented.section(section) for section in ("Examples", "See Also")):
        problems.append("neither Examples nor See Also")
    return problems


def methods(node):
    """Return the public methods of a class by name, the last definition of each, so that overloads do not count."""
    return {entry.name: entry for entry in node.body if isinstance(entry, Function) and not entry.name.startswith("_")}


def problems_of(name, node):
    if isinstance(node, Function):
        return [f"{name}: {problem}" for problem in problems_of_function(node)]
    found = [f"{name}: {problem}" for problem in problems_of_class(node)]
    for method, function in methods(node).items():
        if decorators(function) & {"property", "cached_property"}:
            lacking = [] if ast.get_docstring(function) else ["no docstring"]
        else:
            lacking = problems_of_function(function, method=True)
        found += [f"{name}.{method}: {problem}" for problem in lacking]
    return found


@pytest.mark.parametrize("module", sorted({module for module, _ in NODES}))
def test_everything_public_is_documented(module):
    found = [line for (home, name), node in NODES.items() if home == module for line in problems_of(name, node)]
    assert not found, "\n".join(found)


GOOD = '''
def add(first, *rest, scale=1) -> int:
    """Add numbers.

    Parameters
    ----------
    first : int
        One number.
    *rest : int
        More of them.
    scale : int, default 1
        Factor of the sum.

    Returns
    -------
    int
        The sum.

    Examples
    --------
    >>> 1 + 1
    2
    """
'''


def test_a_complete_docstring_passes():
    assert problems_of("add", ast.parse(GOOD).body[0]) == []


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("    *rest : int\n        More of them.\n", "", "the signature has ['first', 'rest', 'scale']"),
        ("first : int\n", "first\n", "is not 'name : type'"),
        ("        One number.\n", "", "is not 'name : type'"),
        ("def add(first, *rest, scale=1)", "def add(*rest, first, scale=1)", "the signature has ['rest', 'first'"),
        ("    Returns\n    -------\n", "", "no Returns section"),
        (">>> ", "", "no Examples section"),
    ],
)
def test_what_is_missing_is_found(old, new, problem):
    assert old in GOOD
    assert problem in "\n".join(problems_of("add", ast.parse(GOOD.replace(old, new)).body[0]))
