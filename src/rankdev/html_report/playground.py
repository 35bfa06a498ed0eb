"""The RDQ playground: one page with examples, and the settings that a link to it names."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from rankdev.html_report._html import Assets, self_contained
from rankdev.measures.rdq import RDQ

PLAYGROUND = Assets(
    "playground.html",
    ("page.css", "playground.css"),
    ("page.js", "drag.js", "arithmetic.js", "playground_figures.js", "playground_tour.js", "playground.js"),
)


def playground() -> str:
    """Return the playground as HTML: an answer of the demo, the paper's controlled examples, and caveats."""
    opening, *caveats = _read("html_report/assets/examples.json")
    published = map(_example, _read("data/studies/controlled.json")["experiments"])
    return self_contained("RDQ playground", PLAYGROUND, {"examples": [opening, *published, *caveats]})


def _read(place: str) -> Any:
    return json.loads(files("rankdev").joinpath(place).read_text(encoding="utf-8"))


def playground_settings(measure: RDQ) -> dict[str, str | float] | None:
    """Return how a link to the playground states a measure; None where the playground cannot be set so."""
    weights = measure.position_weights
    if not (measure.cutoff and measure.cutoff <= 20 and 0.1 <= measure.alpha <= 8 and measure.lam <= 2):
        return None
    settings = {"k": measure.cutoff} | {name: getattr(measure, name) for name in ("alpha", "lam", "penalty")}
    if isinstance(measure.weights, str):
        return {**settings, "weights": measure.weights}
    own = [*weights.head, *([] if weights.tail is None else [weights.tail])]
    return {**settings, "weights": "own", "own": ",".join(map(repr, own))}


def _example(entry: dict[str, Any]) -> dict[str, Any]:
    ranks = entry["reference"]
    tiers = [[item for item in ranks if ranks[item] == rank] for rank in sorted(set(ranks.values()))]
    state: dict[str, Any] = {"tiers": tiers, "ranking": entry["ranking"]}
    if "weights" in entry:
        state |= {"weights": "own", "own": ",".join(f"{weight:g}" for weight in entry["weights"])}
    return {
        "name": f"Paper, {entry['experiment']}: {entry['block'].lower()}",
        "story": f"An example of the paper's Table 1: {entry['block'].lower()}.",
        "state": state,
    }
