"""What a build adds: the native reader, compiled where there is a C compiler, and a README for the package index."""

import re
from pathlib import Path
from runpy import run_path
from sysconfig import get_platform
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

NATIVE = "src/rankdev/native"
FILE = r"\((?![a-z]+:|#)([^)\s]+)\)"  # of the repository
LINK = re.compile(r"(!?)\[((?:!\[[^\]]*\]\([^)]*\)|[^\]])*)\]" + FILE)
ALONE = re.compile(r" \(\[[^\]]*\]" + FILE + r"\)")  # in brackets


def for_package_index(text: str, repository: str) -> str:
    """Make links to files absolute; where the repository has no address yet, there are none."""

    def absolute(link: re.Match[str]) -> str:
        image, name, path = link.groups()
        if not repository:
            return "" if image else name
        return f"{image}[{name}]({repository}/{'raw' if image else 'blob'}/main/{path})"

    return LINK.sub(absolute, text if repository else ALONE.sub("", text))


class Readme(MetadataHookInterface):
    """Takes the address of the repository from its table in pyproject.toml."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the text and the project's addresses."""
        repository = self.config["repository"]
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": for_package_index(text, repository)}
        pages = {"Documentation": "docs/index.md", "Changes": "CHANGELOG.md"}
        names = {name: f"{repository}/blob/main/{path}" for name, path in pages.items()}
        metadata["urls"] = {"Repository": repository, **names} if repository else {}


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
