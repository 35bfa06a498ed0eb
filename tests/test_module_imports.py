"""Private modules serve their own folder, and no module needs itself to be imported."""

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
MODULES = {
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in (SOURCE / "rankdev").rglob("*.py")
}


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
