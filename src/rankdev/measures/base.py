"""What a measure is, and how its parameters are declared, checked and registered."""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import Field, dataclass, field, fields
from functools import cache, cached_property
from importlib.util import module_from_spec, spec_from_file_location
from inspect import getdoc
from numbers import Integral, Real
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeAlias

from rankdev.errors import MeasureError, RankdevError, UsageError, nearest

if TYPE_CHECKING:
    from rankdev._common.arrays import Bools, Floats
    from rankdev.measures.match import Match, MixedTies


REGISTRY: dict[str, type[Measure]] = {}
PARSED: dict[str, Measure] = {}  # by their text
UNIT_RANGE = (0.0, 1.0)
Aggregate = Literal["mean", "sum", "geometric"]


@dataclass(frozen=True)
class Number:
    """What a numeric parameter may be; bounds are included unless ``open``."""

    text: str
    low: float
    high: float = math.inf
    open: bool = False
    whole: bool = False

    def read(self, value: object) -> float | int | None:
        """Return the value as a number; None where it is not allowed."""
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
UNIT = Number("a number from 0 to 1", 0, 1)
COUNT = Number("a whole number from 1 to a billion", 1, 10**9, whole=True)


def parameter(
    default: Any,
    help: str,
    *,
    number: Number | None = None,
    choices: tuple[str, ...] = (),
    convert: Callable[[Any], Any] | None = None,
    written: bool = False,
) -> Any:
    """Declare a parameter of a measure: its default, its meaning, what it may be, whether a text always has it.

    ``convert`` reads a value that is neither a number nor one of the choices, and returns None for what it cannot.
    """
    rule = {"help": help, "number": number, "choices": choices, "convert": convert, "written": written}
    return field(default=default, metadata=rule)


@dataclass(frozen=True)
class MeasureInfo:
    """What scores carry of a measure, so that they can be summarized where it is not installed.

    Attributes
    ----------
    label : str
        Text of the measure.
    aggregate : {"mean", "sum", "geometric"}
        How the values of queries are summarized.
    higher_is_better : bool or None
        Whether a higher value is better; None where neither end is, or nothing is known.
    range : tuple of float
        Lowest and highest value that a query can have.
    """

    label: str
    aggregate: Aggregate = "mean"
    higher_is_better: bool | None = None
    range: tuple[float, float] = (-math.inf, math.inf)


@dataclass(frozen=True, kw_only=True)
class Measure(ABC):
    """A measure with its parameters; ``str(measure)`` is its text.

    A class that derives from it is a measure under its ``name``, unless it is declared with ``abstract=True``. One that
    adds parameters is a frozen dataclass; others need not be made one again, which takes a millisecond at each start.

    Attributes
    ----------
    name : str
        Name of the measure in text.
    at : str or None
        Parameter that is written after the @; None for measures without one.
    aggregate : {"mean", "sum", "geometric"}
        How the values of queries are summarized: averaged, added up as counts are, or by their geometric mean.
    higher_is_better : bool or None
        Whether a higher value is better; None where neither end is, as for the number of queries.
    range : tuple of float
        Lowest and highest value that a query can have, as far as known.
    cumulative : bool
        Whether the score is a sum over positions, so that ``explain`` can report what each position adds.
    averages_ties : bool
        Whether the score of a match with unresolved ties (``ties="expected"``) is the mean over all orders of the tied
        items; other measures are refused there.
    unordered : bool
        Whether only the set of the items above the cutoff counts, in whatever order: tied scores matter only if a tie
        straddles the cutoff.
    bounded : str
        An example with a cutoff, for a measure that means nothing without one.
    cutoff : int or None
        Number of positions that are considered; None for all.
    """

    name: ClassVar[str]
    source: ClassVar[str] = ""
    at: ClassVar[str | None] = "cutoff"
    aggregate: ClassVar[Aggregate] = "mean"
    higher_is_better: ClassVar[bool | None] = True
    range: ClassVar[tuple[float, float]] = (-math.inf, math.inf)
    cumulative: ClassVar[bool] = True
    averages_ties: ClassVar[bool] = False
    unordered: ClassVar[bool] = False
    bounded: ClassVar[str] = ""

    cutoff: int | None = None

    def __init_subclass__(cls, abstract: bool = False, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not abstract:
            _register(cls)

    def __post_init__(self) -> None:
        if self.cutoff is None and self.bounded:
            raise MeasureError("needs-cutoff", measure=self.name, what="cutoff", example=self.bounded)
        if self.cutoff is not None:
            if self.at != "cutoff":
                raise MeasureError("no-cutoff", measure=self.name, cutoff=self.cutoff)
            if COUNT.read(self.cutoff) is None or not isinstance(self.cutoff, Integral):
                raise bad_parameter("cutoff", self.cutoff, COUNT.text, measure=self.name)
            object.__setattr__(self, "cutoff", int(self.cutoff))
        for entry in _parameters(type(self)):
            value = getattr(self, entry.name)
            object.__setattr__(self, entry.name, _checked(self.name, entry, value))

    @abstractmethod
    def score(self, match: Match) -> Floats:
        """Score every query of the match; NaN where the measure is not available."""

    def merits(self, match: Match) -> Floats:
        """Return the merit of each reference item: the highest first is the best order of any items, except for RDQ."""
        return -match.ideals.ranks.astype(float)

    def decided_by(self, ties: MixedTies, match: Match) -> Bools:
        """Tell which ties can change the score: of items that differ to it, above the cutoff or across it."""
        differ = self.differ(ties, match)
        if self.unordered and self.cutoff is None:
            return differ & False
        if self.reach is None:
            return differ
        return differ & (ties.begin < self.reach) & ((ties.end > self.reach) | (not self.unordered))

    def differ(self, ties: MixedTies, match: Match) -> Bools:
        """Tell which ties hold items that differ to the measure: of different rank, at least one in the reference."""
        return ties.ranks_differ

    @property
    def ordinal(self) -> bool:
        """Whether it needs an order of the relevant items, and not just grades or a set."""
        return self.higher_is_better is True and type(self).differ is Measure.differ

    @classmethod
    def parameters(cls) -> list[Field[Any]]:
        """Return the parameters between the parentheses in the order in which they are written, its own first."""
        return [entry for entry in _parameters(cls) if entry.name != cls.at]

    @classmethod
    def meaning(cls) -> str:
        """Return the first line of the docstring: in a few words, what is measured."""
        return (getdoc(cls) or "").partition("\n")[0].removesuffix(".")

    @cached_property
    def info(self) -> MeasureInfo:
        """What scores carry of the measure."""
        return MeasureInfo(str(self), self.aggregate, self.higher_is_better, self.range)

    @property
    def reach(self) -> int | None:
        """How many positions of a run the measure looks at; None for all."""
        return self.cutoff

    def __str__(self) -> str:
        return self.text

    @cached_property
    def text(self) -> str:
        """Its text: the parameters that differ from their default, and those that are always written."""
        from rankdev.measures.syntax import write

        return write(self)


@dataclass(frozen=True, kw_only=True)
class JudgedOnly(Measure, abstract=True):
    """A measure that can leave out unjudged items: those below move up."""

    judged_only: bool = parameter(False, "remove unjudged items from the ranking")

    @property
    def reach(self) -> int | None:
        """Positions of the run that can matter: all where those below move up."""
        return None if self.judged_only else self.cutoff

    def score(self, match: Match) -> Floats:
        """Score every query."""
        return self.score_considered(match.judged_only if self.judged_only else match)

    @abstractmethod
    def score_considered(self, match: Match) -> Floats:
        """Score every query of a match that holds only the items that count."""


def _register(kind: type[Measure]) -> None:
    name = getattr(kind, "name", None)
    if not isinstance(name, str) or not name.isidentifier():
        raise MeasureError("nameless-measure", cls=kind.__name__, name=name)
    known = REGISTRY.get(name)
    if known and (known.__module__, known.__qualname__) != (kind.__module__, kind.__qualname__):
        where = f"{known.__module__}.{known.__qualname__}"
        raise MeasureError("name-taken", name=name, cls=kind.__name__, by=where)
    REGISTRY[name] = kind
    PARSED.clear()


def _parameters(kind: type[Measure]) -> list[Field[Any]]:
    own = [text for text in vars(kind).get("__annotations__", {}).values() if "ClassVar" not in str(text)]
    if "__dataclass_fields__" not in vars(kind) and (own or len(kind.__bases__) > 1):
        raise MeasureError("not-a-dataclass", measure=kind.name, cls=kind.__name__)
    entries = [entry for entry in fields(kind) if entry.name != "cutoff"]
    return sorted(entries, key=lambda entry: entry.name not in vars(kind).get("__annotations__", {}))


def _checked(name: str, entry: Field[Any], value: Any) -> Any:
    """Return a parameter's value in one form, so that equal measures are equal: 4 becomes 4.0."""
    rule = {"choices": (), "number": None, "convert": None, **entry.metadata}
    if isinstance(entry.default, bool):
        if not isinstance(value, bool):
            raise bad_parameter(entry.name, value, "True or False", measure=name)
        return value
    if rule["convert"] and not isinstance(value, str):
        converted = rule["convert"](value)
        if converted is not None:
            return converted
    if rule["choices"] and value not in rule["choices"]:
        known = rule["choices"]
        raise MeasureError(
            "not-a-choice", measure=name, name=entry.name, value=value, near=nearest(value, known), known=known
        )
    if rule["number"] is None or (value is None and entry.default is None):
        return value
    read = rule["number"].read(value)
    if read is None:
        raise bad_parameter(entry.name, value, rule["number"].text, measure=name)
    return read


def bad_parameter(name: str, value: object, expected: str, **where: str) -> MeasureError:
    """Return the error about a value that a parameter of a measure cannot have."""
    return MeasureError("bad-value", name=name, value=value, expected=expected, **where)


class OfIrMeasures(Protocol):
    """A measure object of ir_measures, which writes itself as we read it."""

    SUPPORTED_PARAMS: Any


MeasureLike: TypeAlias = str | Measure | OfIrMeasures
"""A measure: its text, ours, or a measure object of ir_measures."""


GROUP = "rankdev.measures"


@cache
def load_installed() -> None:
    """Import what installed packages offer under the entry-point group ``rankdev.measures``, once."""
    from importlib.metadata import entry_points  # takes long to load, and most texts name measures that are known

    for entry in entry_points(group=GROUP):
        try:
            entry.load()
        except Exception as error:
            raise _broken(error).at(path=entry.value) from error


def load_file(path: str | Path) -> None:
    """Run a Python file that defines measures, so that texts can name them."""
    file = Path(path).absolute()
    if not file.is_file():
        raise UsageError("no-file", path=path)
    name = f"rankdev_measures_{file.stem}"
    spec = spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise UsageError("not-python", path=path)
    module = module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look up the module of a class there
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == str(file)]
        line = error.lineno if isinstance(error, SyntaxError) else lines[-1]
        raise _broken(error).at(path=path, line=line) from error
    if not any(kind.__module__ == name for kind in REGISTRY.values()):
        raise MeasureError("defines-no-measure", path=path)


def _broken(error: Exception) -> RankdevError:
    """Return what to raise for an error in somebody's code."""
    if isinstance(error, RankdevError):
        return error
    return MeasureError("broken-code", error=type(error).__name__, text=str(error))
