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
    """Return the playground as HTML."""
    examples = [_opening(), *(_judged(example) for example in (*_published(), *_caveats()))]
    return self_contained("RDQ playground", PLAYGROUND, {"examples": examples})


def playground_settings(measure: RDQ) -> dict[str, str | float] | None:
    """Return how a link to the playground states a measure; None where the playground cannot be set so."""
    weights = measure.position_weights
    if not (measure.cutoff and measure.cutoff <= 20 and 0.1 <= measure.alpha <= 8 and measure.lam <= 2):
        return None
    settings: dict[str, str | float] = {
        "k": measure.cutoff,
        "alpha": measure.alpha,
        "lam": measure.lam,
        "penalty": measure.penalty,
    }
    if isinstance(measure.weights, str):
        return {**settings, "weights": measure.weights}
    own = [*weights.head, *([] if weights.tail is None else [weights.tail])]
    return {**settings, "weights": "own", "own": ",".join(map(repr, own))}


def _opening() -> dict[str, Any]:
    """Return an answer of the demo: the first two items are swapped, and one does not belong."""
    demo = files("rankdev").joinpath("data/demo")
    judged = map(json.loads, demo.joinpath("judged.jsonl").read_text(encoding="utf-8").splitlines())
    known = next(entry for entry in judged if entry["query"] == "museums")
    lines = map(str.split, demo.joinpath("popular.run").read_text(encoding="utf-8").splitlines())
    return {
        "name": "Museums: a swap at the top",
        "story": "A search for museums in the demo's town: the first two are swapped, and a gift shop is among them.",
        "state": {
            "tiers": known["tiers"],
            "nonrelevant": known["nonrelevant"],
            "ranking": [line[2] for line in lines if line[0] == "museums"],
        },
        "pool": [],
    }


def _judged(example: dict[str, Any]) -> dict[str, Any]:
    """Let the items outside the reference be judged nonrelevant, as the examples mean them."""
    state = example["state"]
    known = {item for tier in state["tiers"] for item in tier}
    return {**example, "state": {**state, "nonrelevant": [item for item in state["ranking"] if item not in known]}}


def _caveats() -> list[dict[str, Any]]:
    """Load examples of what RDQ does that one might not expect."""
    found: list[dict[str, Any]] = json.loads(
        files("rankdev.html_report").joinpath("assets/caveats.json").read_text("utf-8")
    )
    return found


def _published() -> list[dict[str, Any]]:
    """Load the paper's controlled examples."""
    table = json.loads(files("rankdev").joinpath("data/studies/controlled.json").read_text(encoding="utf-8"))
    return [_example(entry) for entry in table["experiments"]]


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
