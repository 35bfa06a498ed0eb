"""Private modules serve their own folder, and no module needs itself to be imported."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
MODULES = {
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in (SOURCE / "rankdev").rglob("*.py")
}


def imported(module: str, nodes: list[ast.stmt], everywhere: bool) -> Iterator[str]:
    """Modules of ours that these statements import, as far as possible; ``everywhere``: also inside functions."""
    for node in nodes:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                whole = alias.name if isinstance(node, ast.Import) else f"{node.module}.{alias.name}"
                yield from (
                    name for name in (whole, getattr(node, "module", None)) if name in MODULES and name != module
                )
        elif everywhere or not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test) and not everywhere:
                continue
            inner = [child for child in ast.walk(node) if isinstance(child, ast.stmt) and child is not node]
            direct = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]
            yield from imported(module, inner if everywhere else direct, everywhere)


def imports(everywhere: bool) -> dict[str, set[str]]:
    return {
        module: set(imported(module, ast.parse(path.read_text(encoding="utf-8")).body, everywhere))
        for module, path in MODULES.items()
    }


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
