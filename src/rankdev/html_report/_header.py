"""The names and texts of a report's page, for its scripts to read."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from rankdev import __version__
from rankdev.display.cells import percent
from rankdev.errors import printable
from rankdev.evaluation.first_positions import KINDS
from rankdev.evaluation.scores import Scores
from rankdev.html_report._arrays import SHOWN, tested_segments
from rankdev.html_report._findings import Comparison
from rankdev.html_report._sentences import (
    by_how_much,
    checks,
    conclusion,
    facts,
    level,
    next_steps,
    notes,
    one_order,
    tests,
)
from rankdev.statistics.decision import VERDICTS
from rankdev.statistics.judgment_uncertainty import UncertainScores
from rankdev.statistics.replicates import in_words, replicated

TEXT = 300  # characters of a text that a page holds


def names_in(found: Comparison) -> dict[str, Any]:
    """Name what is compared, and how it is grouped and ordered."""
    scores = found.scores
    return {
        "systems": scores.systems,
        "measures": scores.measures,
        "lower": [name in scores.lower_is_better for name in scores.measures],
        "queries": [scores.queries[i] for i in found.shown],
        "orders": [[scores.systems.index(name) for name in standing["system"]] for standing in found.standings],
        "segments": _segments(found),
        "tested_segments": tested_segments(found),
        "runs": None if found.single is None else _runs(found.single, found.replicates or {}),
        "explained": found.lists.measure,
        "kinds": KINDS,
    }


def _runs(single: Scores, replicates: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Name the runs, and which of them each system has, by place."""
    return {"names": single.systems, "of": list(replicated(single, replicates).members.values())}


def uncertainty_in(found: UncertainScores, systems: Sequence[str]) -> dict[str, Any]:
    """Write the scores with their intervals, and how often one system beats another."""
    rows = found.to_polars().select("system", "value", "low", "high").rows()
    beats = found.beats().rows()
    return {
        "measure": found.to_polars()["measure"][0],
        "level": percent(1 - found.alpha),
        "scores": [[systems.index(name), *map(_short, numbers)] for name, *numbers in rows],
        "beats": [[systems.index(a), systems.index(b), _short(fraction)] for _, a, b, fraction in beats],
    }


def _short(value: float | None) -> float | None:
    return None if value is None or np.isnan(value) else round(value, SHOWN)


def heading_in(what: str, title: str, author: str, date: str) -> dict[str, str]:
    """Write the title, and below it what is compared, who made the page and when."""
    under = [*([what] if title.strip() else []), author, date]
    return {
        "title": printable(title.strip() or what),
        "subtitle": " · ".join(printable(text.strip()) for text in under if text.strip()),
    }


def sentences_in(found: Comparison, more: Sequence[str]) -> dict[str, Any]:
    """Write conclusions, checks, next steps and notes."""
    return {
        "cards": [
            {"level": level(found, m), "sentence": conclusion(found, m), "by": by_how_much(found, m)}
            for m in range(len(found.scores.measures))
        ],
        "tests": tests(found),
        "checks": [[(one.name, one.level, one.value, one.text) for one in of_measure] for of_measure in checks(found)],
        "next": next_steps(found),
        "facts": facts(found),
        "notes": [*more, *notes(found)],
        "one_order": one_order(found),
        "confidence": percent(1 - found.alpha),
        "correction": "" if found.significance is None else found.significance.correction.capitalize(),
        "margin": None if found.significance is None else found.significance.margin,
        "verdicts": VERDICTS,
    }


def making_of(found: Comparison, command: str) -> list[tuple[str, str]]:
    """State how the page was made."""
    parameters = {} if found.significance is None else found.significance.parameters
    settings = {f"Pairs: {name.replace('_', ' ')}": value for name, value in parameters.items() if value is not None}
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "polars", "scipy"))
    return [
        *([("Command", printable(command))] if command else []),
        ("Versions", f"rankdev {__version__}, Python {platform.python_version()}, {libraries}"),
        ("Intervals of means", f"{_intervals(found)}, {percent(1 - found.alpha)}"),
        *((name, in_words(value) if isinstance(value, dict) else f"{value}") for name, value in settings.items()),
        ("Seed", f"{found.seed}"),
        ("Lists explained by", found.lists.measure),
    ]


def _intervals(found: Comparison) -> str:
    if found.clusters is not None:
        return "Student's t over clusters of queries"
    if found.replicates is not None:
        return "Student's t over queries and runs"
    return "Student's t over queries"


def beginnings(texts: Mapping[str, str], wanted: Iterable[str]) -> dict[str, str]:
    """Keep the beginning of each text that is on the page."""
    kept = {name: str(texts[name]) for name in wanted if name in texts}
    return {name: text if len(text) <= TEXT else text[: TEXT - 1] + "…" for name, text in kept.items()}


def _segments(found: Comparison) -> list[dict[str, Any]]:
    """Return each segment's queries among those shown, and its number of queries."""
    place = {int(i): n for n, i in enumerate(found.shown)}
    return [
        {
            "name": name,
            "size": len(queries),
            "queries": [place[int(i)] for i in queries if int(i) in place],
        }
        for name, queries in found.segments.items()
    ]
