"""Modules: private ones serve their own folder, no two are called almost the same, none needs itself to be imported."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from itertools import combinations
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
MODULES = {
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in (SOURCE / "rankdev").rglob("*.py")
}

SCANNED = ("cli.commands", "display.encodings", "io.formats", "measures", "preferences.models")  # for what registers
COMMON = ("rankdev", "rankdev._common", "rankdev.cli", "rankdev.integrations")  # for everybody, or the outermost


def run_on_import(nodes: list[ast.stmt]) -> Iterator[ast.AST]:
    """Statements that run when a module is imported: none inside functions, none for type checkers only."""
    for node in nodes:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from run_on_import([child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)])


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def statements(node: ast.AST) -> Iterator[ast.stmt]:
    """All statements below a node; expressions, of which there are far more, hold none."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for child in getattr(node, field, ()) if isinstance(getattr(node, field, None), list) else ():
            if isinstance(child, ast.stmt):
                yield child
            yield from statements(child)


@cache
def imports(everywhere: bool) -> dict[str, set[str]]:
    """Modules of ours that each imports; ``everywhere``: also inside functions."""
    found: dict[str, set[str]] = {}
    for module, path in MODULES.items():
        names: set[str] = set()
        for node in statements(tree(path)) if everywhere else run_on_import(tree(path).body):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                names |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
        found[module] = (names & MODULES.keys()) - {module}
    return found


def home(module: str) -> str | None:
    """The folder that a private module serves; ``_common`` serves all."""
    parts = module.split(".")
    private = [i for i, part in enumerate(parts) if part.startswith("_") and part not in ("_common", "__main__")]
    return ".".join(parts[: private[0]]) if private else None


def test_private_modules_are_imported_in_their_own_folder_only():
    strangers = [
        f"{importer} imports {module}"
        for importer, modules in imports(everywhere=True).items()
        for module in sorted(modules)
        if (folder := home(module)) and not (importer == folder or importer.startswith(f"{folder}."))
    ]
    assert not strangers, "\n".join(strangers)


def test_no_module_needs_itself_to_be_imported():
    try:
        list(TopologicalSorter(imports(everywhere=False)).static_order())
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))


def words(module: str) -> list[str]:
    """The words of a module's name, without what makes them plural or a verb."""
    name = module.rpartition(".")[2].strip("_")
    return [re.sub(r"(?<=..)(ing|es|s|e)$", "", word) for word in name.split("_")]


def are_alike(one: str, other: str) -> bool:
    short, long = sorted((words(one), words(other)), key=len)
    return short in (long[: len(short)], long[-len(short) :])


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("io.tables", "io.table_formats", True),
        ("core.runs", "core.run_builder", True),
        ("statistics.means", "statistics._bounded_mean", True),
        ("evaluation.scores", "evaluation.scoring", True),
        ("statistics.power", "statistics.planning", False),
    ],
)
def test_names_that_are_alike_are_found(one, other, alike):
    assert are_alike(one, other) is alike


def test_no_two_names_differ_by_a_prefix_or_suffix_only():
    names = sorted(module.removeprefix("rankdev.") for module in MODULES)
    pairs = {
        (one, other)
        for one, other in combinations(names, 2)
        if one.rpartition(".")[0] == other.rpartition(".")[0] and are_alike(one, other)
    }
    assert sorted(pairs) == []


def test_what_only_its_own_folder_uses_is_private():
    """But for what a table of public names or a page of the docs names, and folders that are scanned."""
    root = SOURCE.parent
    texts = {module: path.read_text(encoding="utf-8") for module, path in MODULES.items()}
    pages = [*(root / "docs").rglob("*.md"), root / "CONTRIBUTING.md", root / "pyproject.toml"]
    texts["docs"] = "\n".join(path.read_text(encoding="utf-8") for path in pages)
    users: dict[str, set[str]] = {module: set() for module in MODULES}
    for user, text in texts.items():
        for module in {
            *re.findall(r"rankdev(?:\.\w+)+", text),
            *imports(everywhere=True).get(user, ()),
        } & MODULES.keys():
            users[module].add(user)
    own = set()
    for module, path in MODULES.items():
        folder = module.rpartition(".")[0]
        known = folder.removeprefix("rankdev.") in SCANNED or f'"{module}": "' in texts.get(folder, "")
        if path.name == "__init__.py" or home(module) or known or folder in COMMON:
            continue
        exported = folder in users[module] and "__all__" in texts[folder]
        if not exported and all(f"{user}.".startswith(f"{folder}.") for user in users[module]):
            own.add(module.removeprefix("rankdev."))
    assert sorted(own) == []
