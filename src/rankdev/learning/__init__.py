"""Position weights and preferences from clicks; training for RDQ."""

from rankdev._common.lazy import names_on_use

__getattr__, __dir__, __all__ = names_on_use(
    __name__,
    {
        "rankdev.learning.position_weights": "weights_from_clicks",
    },
)  # type checkers read the same names in __init__.pyi
