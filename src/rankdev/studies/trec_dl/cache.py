"""Steps kept on disk: made once, checked before they are used again, made again where they are damaged."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from rankdev.formats.writing import writing


def default_folder() -> Path:
    """Give the user's cache folder for this study."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "rankdev" / "trec-dl"


@dataclass(frozen=True)
class Cache:
    """A folder of results. Beside each file a seal holds its size, its checksum and what it was made from."""

    folder: Path
    say: Callable[[str], None] = lambda line: None

    def step(self, name: str, inputs: Sequence[str], make: Callable[[], bytes]) -> Path:
        """Give the file of a step, made by ``make`` where it is missing, out of date, cut short or changed.

        ``inputs`` is everything the result depends on; other inputs make it out of date.
        """
        path = self.folder / name
        key = fingerprint("\n".join(inputs).encode())
        state = self._state(path, key)
        if state == "whole":
            return path
        if state == "damaged":
            self.say(f"{path}: damaged or incomplete; redone")
        content = make()
        path.parent.mkdir(parents=True, exist_ok=True)
        _seal(path).unlink(missing_ok=True)
        with writing(path) as stream:
            stream.write(content)
        seal = {"key": key, "size": path.stat().st_size, "sha256": fingerprint(path.read_bytes())}
        with writing(_seal(path)) as stream:
            stream.write(json.dumps(seal).encode())
        return path

    def _state(self, path: Path, key: str) -> str:
        if not path.exists():
            return "missing"
        try:
            seal = json.loads(_seal(path).read_bytes())
            if seal["key"] != key:
                return "out of date"
            whole = path.stat().st_size == seal["size"] and fingerprint(path.read_bytes()) == seal["sha256"]
        except (OSError, ValueError, KeyError, TypeError):
            return "damaged"
        return "whole" if whole else "damaged"


def fingerprint(content: bytes) -> str:
    """Give the checksum of some bytes."""
    return sha256(content).hexdigest()


def _seal(path: Path) -> Path:
    return path.with_name(f"{path.name}.seal")
