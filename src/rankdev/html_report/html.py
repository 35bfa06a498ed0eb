"""Assemble self-contained pages under a content security policy, and the RDQ playground."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any


def self_contained(title: str, body: str, *, styles: Sequence[str], scripts: Sequence[str], data: Any) -> str:
    """Assemble a page from files in ``assets``; ``data`` is what its scripts read.

    The page loads nothing from outside, and no script or style in an item's text can run in it.
    """
    style = "\n".join(_read(name) for name in styles)
    script = "\n".join(_read(name) for name in scripts)
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:;"
        " base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n{_read(body)}"
        f'<script type="application/json" id="data">{in_script(data)}</script>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def in_script(data: Any) -> str:
    """Write JSON that is safe inside a script element, whatever its texts.

    >>> in_script({"item": "</script>"})
    '{"item":"\\\\u003c/script>"}'
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _read(name: str) -> str:
    return files("rankdev.html_report").joinpath("assets", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


SCRIPTS = ("page.js", "drag.js", "arithmetic.js", "playground_figures.js", "playground_tour.js", "playground.js")
CAVEATS: list[dict[str, Any]] = [
    {
        "name": "Caveat: M1 gives 1 to a list that is not ideal",
        "story": "Positions 3 and 4 have the same weight, and M1 does not penalize an item for being too low.",
        "state": {"tiers": [["d1"], ["d2"], ["d3"]], "ranking": ["d1", "d2", "x1", "d3"], "k": 4, "penalty": "m1"},
    },
    {
        "name": "Caveat: a nonrelevant item on top leaves the others in their places",
        "story": "Move x1 to the end: every reference item leaves its place, and the score falls.",
        "state": {
            "tiers": [["d1"], ["d2"], ["d3"], ["d4"], ["d5"]],
            "ranking": ["x1", "d2", "d3", "d4", "d5"],
            "penalty": "m1",
        },
    },
    {
        "name": "Caveat: fixing one inversion can lower the score",
        "story": "Swap d2 and d1: one inversion less, and a lower score. Complete reversal is not the worst order.",
        "state": {"tiers": [["d1"], ["d2"], ["d3"]], "ranking": ["d3", "d2", "d1"], "k": 3},
    },
    {
        "name": "Caveat: with M2 a better item far from its place can gain less",
        "story": "Replace d2 by d1: a better item, but two places from where it belongs.",
        "state": {"tiers": [["d1"], ["d2"]], "ranking": ["x1", "d2"], "k": 2},
    },
    {
        "name": "Caveat: with M2 a longer reference is more tolerant",
        "story": "Add items to the reference: the same list scores more, because tolerance grows with √m.",
        "state": {"tiers": [[f"d{i}"] for i in range(1, 7)], "ranking": ["x1", "d1", "d2", "d3", "d4"]},
    },
]


def playground() -> str:
    """Return the playground as HTML."""
    return self_contained(
        "RDQ playground",
        "playground.html",
        styles=["page.css", "playground.css"],
        scripts=SCRIPTS,
        data={"examples": [_opening(), *(_judged(example) for example in (*_published(), *CAVEATS))]},
    )


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
