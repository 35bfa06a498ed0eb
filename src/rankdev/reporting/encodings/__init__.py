"""The formats of a report: one file per format or family of formats, each of which registers itself."""

from importlib import import_module
from pkgutil import iter_modules

from rankdev.reporting.encodings.registry import FORMATS, Format, all_formats, choose_format

for _module in sorted(module.name for module in iter_modules(__path__)):
    import_module(f"{__name__}.{_module}")

__all__ = ["FORMATS", "Format", "all_formats", "choose_format"]
