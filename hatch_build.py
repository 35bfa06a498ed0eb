"""Compile the native reader where there is a C compiler; without one the package is pure Python, and works as well."""

from pathlib import Path
from runpy import run_path
from sysconfig import get_platform
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NATIVE = "src/rankdev/native"


class NativeReader(BuildHookInterface[Any]):
    """Puts the library beside its source, where an editable installation finds it and a wheel takes it from."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile; a wheel with the library is for this platform, and for every Python."""
        native = run_path(str(Path(self.root, NATIVE, "build.py")))
        native["LIBRARY"].unlink(missing_ok=True)
        problem = native["build"]()
        if problem is not None:
            self.app.display_info(f"the native reader was not built: {problem}")
            return
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{get_platform().replace('-', '_').replace('.', '_')}"
        build_data["artifacts"].append(f"{NATIVE}/{native['LIBRARY'].name}")
