"""One collection, in memory and in every kind of file gives one number."""

import gzip
import json
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import zstandard

import rankdev as rd
from rankdev.data import trec
from tests.data.samples import doors, table
from tests.fuzz.files import FILES, seeds

MEASURES = ["RDQ@3", "nDCG@3", "AP@5", "RR@10"]
Values = dict[str, dict[str, float]]


def made(chance: Random) -> tuple[Values, Values]:
    items = chance.sample(["d1", "d2", "é", "007", "7", "x^2", "a,b", '"q"', "d\u00a0e"], 6)
    queries = chance.sample(["q1", "2", "ü", "q-4"], chance.randint(1, 3))
    grades = {query: {item: chance.choice([0, 1, 2, 3]) for item in items} | {"best": 4} for query in queries}
    scores = [0.5, 1.0, 1.0, 2.0, -1.0, 1 + 1e-9, 0.1 + 0.2, 1e300]
    returned = [(query, chance.sample([*items, "best", "other"], chance.randint(1, 8))) for query in queries]
    return grades, {query: {item: chance.choice(scores) for item in kept} for query, kept in returned}


def forms(folder: Path, values: Values, name: str, line: str) -> dict[str, Any]:
    """The values through every door, and each file packed."""
    frame = table(values, name)
    folder.mkdir(exist_ok=True)
    (folder / "a.trec").write_text("".join(line.format(*row) + "\n" for row in frame.rows()))
    found = {"trec": folder / "a.trec"} | doors(folder, frame.rows(), *frame.columns)
    for form, door in list(found.items()):
        for ending, pack in ((".gz", gzip.compress), (".zst", zstandard.compress)):
            if isinstance(door, Path):
                found[form + ending] = door.with_name(door.name + ending)
                found[form + ending].write_bytes(pack(door.read_bytes()))
    return found


def test_all_forms_give_one_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed, chance in enumerate(seeds(max(4, FILES // 60))):
        grades, scores = made(chance)
        references = forms(tmp_path / "grades", grades, "grade", "{} 0 {} {}")
        runs = {"dict": scores, "run": rd.Run.from_scores(scores)}
        runs |= forms(tmp_path / "scores", scores, "score", "{} Q0 {} 1 {!r} 7")
        runs["document"] = tmp_path / "run.json"
        runs["document"].write_text(json.dumps(scores))
        monkeypatch.setattr(trec, "SMALL", chance.choice([0, 1 << 19]))
        first = rd.evaluate(rd.References.from_grades(grades), runs, MEASURES).values
        assert (first == first[0]).all(), f"seed {seed}: {grades} {scores}"
        for form, other in references.items():
            values = rd.evaluate(other, {"run": scores}, MEASURES).values
            np.testing.assert_array_equal(values[0], first[0], err_msg=f"seed {seed}: {form}")
