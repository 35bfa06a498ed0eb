"""Position weights and preferences from clicks; training for RDQ."""

from typing import Any

from rankdev._common.lazy import names_on_use

_load, _names = names_on_use(
    __name__,
    {
        "rankdev.learning.interleaving": "verdicts_from_clicks",
        "rankdev.learning.position_weights": "weights_from_clicks",
    },
)  # type checkers read the same names in __init__.pyi

__all__ = [*_names]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    return _load(name)


def __dir__() -> list[str]:
    return list(__all__)
