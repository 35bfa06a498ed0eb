"""The command line: ``rankdev``, or ``python -m rankdev``."""

from __future__ import annotations

import sys

from rankdev import __version__
from rankdev.commands import greeting, overview


def main() -> None:
    """Run the command; the version and the list of commands are shown without loading what runs commands."""
    match sys.argv[1:]:
        case []:
            text = greeting()
        case ["--help" | "-h"]:
            text = overview()
        case ["--version"]:
            text = f"rankdev, version {__version__}"
        case _:
            text = ""
    if text and sys.stdout is not None:
        try:
            print(text, flush=True)
            return
        except OSError:
            pass  # which is explained below, as for any other command
    from rankdev.cli import main as run

    run()


if __name__ == "__main__":
    main()
