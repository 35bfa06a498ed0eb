"""The paper's experiments, and synthetic collections."""

from rankdev._common.lazy import names_on_use

__getattr__, __dir__, __all__ = names_on_use(
    __name__,
    {
        "rankdev.studies.simulation": "simulate",
    },
)  # type checkers read the same names in __init__.pyi
