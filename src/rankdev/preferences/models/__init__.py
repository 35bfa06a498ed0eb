"""Preference models, one file each. To add one, add a file with a :class:`Model`."""

from importlib import import_module
from pkgutil import iter_modules

from rankdev.preferences.models.base import Fitted, Model, Options

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

_PREFERRED = ("bradley-terry",)  # the default comes first in help and messages
MODELS: dict[str, Model] = {
    model.name: model()
    for model in sorted(Model.__subclasses__(), key=lambda model: (model.name not in _PREFERRED, model.name))
}

__all__ = ["MODELS", "Fitted", "Model", "Options"]
