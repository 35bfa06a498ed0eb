"""Formats of tables, one file each or one per family. A new file with a :class:`TableFormat` in it is all it takes."""

from importlib import import_module
from pkgutil import iter_modules

from rankdev.data.formats.base import TABLE_FORMATS, TableFormat, begins_json

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = ["TABLE_FORMATS", "TableFormat", "begins_json"]
