"""The table of docs/gate.md is what benchmarks/gate found, and what it simulates is what the gate decides."""

import json
from pathlib import Path

import numpy as np
from benchmarks.gate.__main__ import ALPHA, CHANGES, FOUND, decided, drawn, pairs, table, wrong_passes

import rankdev as rd
from rankdev.measures.base import MeasureInfo

PAGE = Path(__file__).parents[2] / "docs/gate.md"


def test_the_page_shows_what_was_found():
    rows = json.loads(FOUND.read_text(encoding="utf-8"))
    page = PAGE.read_text(encoding="utf-8")
    assert table(rows) in page
    assert wrong_passes(rows) in page


def test_no_row_exceeds_the_level_by_more_than_its_error():
    for row in json.loads(FOUND.read_text(encoding="utf-8")):
        limit = ALPHA + 3 * np.sqrt(ALPHA * (1 - ALPHA) / row["trials"])
        assert row["gate fails"] <= limit or row["change"] < -0.02
        assert row["gate passes"] <= limit or row["change"] > -0.02


def scores(systems=12, queries=53):
    """Return scores of systems that differ little, as runs do."""
    rng = np.random.default_rng(0)
    return np.clip(rng.beta(4, 3, (1, queries)) + rng.normal(0, 0.08, (systems, queries)), 0, 1)


def test_what_is_simulated_is_what_the_gate_decides():
    rng = np.random.default_rng(1)
    values = scores()
    for change in CHANGES:
        old, new, margin = drawn(values, pairs(values)["another system"], 50, change, 8, rng)
        found = decided(old, new, margin)
        for trial in range(8):
            both = np.stack([old[trial], new[trial]])[:, :, None]
            kinds = (MeasureInfo("nDCG@10", higher_is_better=True, range=(0.0, 1.0)),)
            known = rd.Scores(("old", "new"), tuple(f"q{i}" for i in range(50)), ("nDCG@10",), both, kinds=kinds)
            verdict = rd.gate(known, baseline="old", margin=float(margin[trial])).verdict
            assert (verdict == "pass", verdict == "fail") == (found["gate passes"][trial], found["gate fails"][trial])
