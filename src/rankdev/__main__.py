"""The command line as a module: ``python -m rankdev``."""

from rankdev.cli import main

if __name__ == "__main__":
    main()
