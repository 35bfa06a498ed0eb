"""The paper's experiments, and synthetic collections."""

from typing import Any

from rankdev._common.lazy import names_on_use

_load, _names = names_on_use(
    __name__,
    {
        "rankdev.studies.missing_judgments": "leave_out",
        "rankdev.studies.maps": "power_map power_maps",
        "rankdev.studies.real_pairs": "place_runs",
        "rankdev.studies.simulation": "simulate",
    },
)  # type checkers read the same names in __init__.pyi

__all__ = [*_names]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    return _load(name)


def __dir__() -> list[str]:
    return list(__all__)
