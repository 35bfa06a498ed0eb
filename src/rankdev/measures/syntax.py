"""Text ↔ measure: ``Name(parameter=value, …)@cutoff``, as in ir_measures."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from rankdev.errors import MeasureError, shown, suggestion
from rankdev.measures.base import COUNT, REGISTRY, Measure

_MEASURE = re.compile(r"\s*(?P<name>\w+)\s*(?:\((?P<parameters>.*)\))?\s*(?:@\s*(?P<cutoff>[^@\s]+))?\s*", re.DOTALL)
_PARAMETER = re.compile(r"\s*(?P<name>\w+)\s*=\s*(?P<value>\[[^\]]*\]|[^,\[\]]+?)\s*(?:,|$)")

PAPER = (
    "RDQ",
    "RDQ(alpha=4)",
    "RDQ(penalty=m1)",
    "RBP(p=0.9)",
    "RBP(p=0.8)",
    "RBP(p=0.5)",
    "nDCG(gains=inverse,dcg=exp-log2)",
    "nDCG(gains=binary)",
    "nDCG(gains=linear,dcg=exp-log2)",
    "Compat(p=0.95)",
    "Compat(p=0.9)",
    "Compat(p=0.8)",
    "AP",
)


def parse(text: str | Measure) -> Measure:
    """Turn text into a measure.

    >>> parse("RDQ(lam=0.2, alpha=4)@5")
    RDQ(cutoff=5, penalty='m2', alpha=4.0, lam=0.2, weights='vertical', tail=None)
    >>> str(parse("RDQ(lam=0.2, alpha=4)@5"))
    'RDQ(alpha=4)@5'
    """
    if isinstance(text, Measure):
        return text
    found = _MEASURE.fullmatch(text) if isinstance(text, str) else None
    if not found:
        raise MeasureError(f"cannot read the measure {text!r}; expected Name(parameter=value, …)@cutoff, such as RDQ@5")
    name = found["name"]
    if name not in REGISTRY:
        known = f"; known are {', '.join(REGISTRY)}"
        raise MeasureError(f"unknown measure {name!r}{suggestion(name, REGISTRY) or known}")
    kind = REGISTRY[name]
    parameters = _read_parameters(kind, found["parameters"] or "")
    return kind(cutoff=_read_cutoff(name, found["cutoff"]), **parameters)


def parse_all(texts: str | Measure | Iterable[str | Measure]) -> list[Measure]:
    """Turn texts into measures, each once; ``paper@5`` stands for the paper's 13 configurations."""
    if not isinstance(texts, str | Measure | Iterable):
        raise MeasureError(f"measures must be texts such as RDQ@5; got {shown(texts)}")
    entries = [texts] if isinstance(texts, str | Measure) else list(texts)
    measures: dict[Measure, None] = {}
    for entry in entries:
        paper = re.fullmatch(r"\s*paper\s*(@.*)?", entry) if isinstance(entry, str) else None
        for text in [f"{name}{paper[1] or ''}" for name in PAPER] if paper else [entry]:
            measures[parse(text)] = None
    if not measures:
        raise MeasureError("no measure was asked for; name at least one, such as RDQ@5")
    return list(measures)


def write(measure: Measure) -> str:
    """Write a measure as text: parameters that differ from their default, and p, which everybody writes."""
    given = [
        f"{entry.name}={_write_value(getattr(measure, entry.name))}"
        for entry in measure.parameters()
        if entry.metadata["written"] or getattr(measure, entry.name) != entry.default
    ]
    parameters = f"({','.join(given)})" if given else ""
    cutoff = "" if measure.cutoff is None else f"@{measure.cutoff}"
    return f"{measure.name}{parameters}{cutoff}"


def _read_parameters(kind: type[Measure], text: str) -> dict[str, Any]:
    known = [entry.name for entry in kind.parameters()]
    values: dict[str, Any] = {}
    end = 0
    while end < len(text.rstrip()):
        found = _PARAMETER.match(text, end)
        if not found:
            raise MeasureError(f"{kind.name}: cannot read {text[end:].strip()!r}; expected parameter=value, …")
        name = found["name"]
        if name not in known:
            names = f"{kind.name} has {', '.join(known) or 'no parameters'}"
            raise MeasureError(f"{kind.name}: unknown parameter {name!r}; {names}{suggestion(name, known)}")
        if name in values:
            raise MeasureError(f"{kind.name}: {name} is given twice; keep one")
        values[name] = _read_value(kind.name, name, found["value"])
        end = found.end()
    return values


def _read_value(measure: str, name: str, text: str) -> Any:
    if text.startswith("["):
        try:
            return tuple(float(part) for part in text[1:-1].split(",") if part.strip())
        except ValueError:
            raise MeasureError(f"{measure}: {name} is {text}; expected a list of numbers") from None
    try:
        return float(text)
    except ValueError:
        return text.strip("'\"")


def _read_cutoff(name: str, text: str | None) -> int | None:
    if text is None:
        return None
    if not re.fullmatch(r"[0-9]{1,12}", text):
        raise MeasureError(f"{name}: the cutoff is {shown(text)}; expected {COUNT.text}")
    return int(text)


def _write_value(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{','.join(_write_value(entry) for entry in value)}]"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return str(value)
