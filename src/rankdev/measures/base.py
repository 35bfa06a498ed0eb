"""What a measure is: a frozen dataclass whose fields are its parameters, and one method over a match."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import Field, dataclass, field, fields
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

from rankdev.errors import MeasureError, suggestion

if TYPE_CHECKING:
    from rankdev.arrays import Floats
    from rankdev.measures.match import Match

REGISTRY: dict[str, type[Measure]] = {}


@dataclass(frozen=True)
class Number:
    """What a numeric parameter may be; bounds are included unless ``open``."""

    text: str
    low: float
    high: float = math.inf
    open: bool = False
    whole: bool = False

    def read(self, value: object) -> float | int | None:
        """Give the value as the number it stands for; None where it is not allowed."""
        if isinstance(value, bool) or not isinstance(value, Real):
            return None
        try:
            number = float(value)
        except OverflowError:
            return None
        inside = self.low < number < self.high if self.open else self.low <= number <= self.high
        if not inside or not math.isfinite(number) or (self.whole and not number.is_integer()):
            return None
        return int(number) if self.whole else number


POSITIVE = Number("a number above 0", 0, open=True)
NON_NEGATIVE = Number("a number of at least 0", 0)
SHARE = Number("a number between 0 and 1", 0, 1, open=True)
COUNT = Number("a whole number from 1 to a billion", 1, 10**9, whole=True)


def parameter(
    default: Any,
    help: str,
    *,
    number: Number | None = None,
    choices: tuple[str, ...] = (),
    written: bool = False,
) -> Any:
    """Declare a parameter of a measure: its default, its meaning, what it may be, whether a text always has it."""
    rule = {"help": help, "number": number, "choices": choices, "written": written}
    return field(default=default, metadata=rule)


@dataclass(frozen=True, kw_only=True)
class Measure(ABC):
    """A measure with its parameters; ``str(measure)`` is the text that stands for it."""

    name: ClassVar[str]
    summary: ClassVar[str]
    source: ClassVar[str] = ""

    cutoff: int | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        REGISTRY[cls.name] = cls

    def __post_init__(self) -> None:
        if self.cutoff is not None:
            if COUNT.read(self.cutoff) is None or not isinstance(self.cutoff, Integral):
                raise MeasureError(f"{self.name}: the cutoff is {self.cutoff!r}; expected {COUNT.text}")
            object.__setattr__(self, "cutoff", int(self.cutoff))
        for entry in self.parameters():
            value = getattr(self, entry.name)
            object.__setattr__(self, entry.name, _checked(self.name, entry, value))

    @abstractmethod
    def score(self, match: Match) -> Floats:
        """Score every query of the match; NaN where the measure is not available."""

    @classmethod
    def parameters(cls) -> list[Field[Any]]:
        """Give the parameters in the order in which they are written."""
        return [entry for entry in fields(cls) if entry.name != "cutoff"]

    @property
    def reach(self) -> int | None:
        """How many positions of a run the measure looks at; None for all."""
        return self.cutoff

    def __str__(self) -> str:
        from rankdev.measures.syntax import write

        return write(self)


def _checked(name: str, entry: Field[Any], value: Any) -> Any:
    """Give a parameter's value as it is kept, so that equal measures are equal: 4 becomes 4.0."""
    choices, number = entry.metadata["choices"], entry.metadata["number"]
    if choices and value not in choices:
        raise MeasureError(
            f"{name}: {entry.name} is {value!r}; choose from {', '.join(choices)}{suggestion(str(value), choices)}"
        )
    if number is None or (value is None and entry.default is None):
        return value
    read = number.read(value)
    if read is None:
        raise MeasureError(f"{name}: {entry.name} is {value!r}; expected {number.text}")
    return read
