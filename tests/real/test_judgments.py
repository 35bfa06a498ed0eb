"""Judgments of people and of language models, from the files that their authors published to scores of runs.

The data are looked for in ../shared/data, or where RANKDEV_DATA says; they are never part of this repository.
"""

import gzip
import os
from pathlib import Path

import polars as pl
import pytest

import rankdev as rd
from rankdev import preferences
from rankdev.errors import DataError
from rankdev.preferences import references_from_preferences, strengths
from tests.raising import raises

DATA = Path(os.environ.get("RANKDEV_DATA", Path(__file__).parents[2].parent / "shared/data"))
JUDGED = DATA / "preferences"
RUNS = DATA / "trec-dl/passage/dl21/runs"

pytestmark = pytest.mark.skipif(not JUDGED.exists(), reason=f"{JUDGED} is not there")


def test_arguments_by_worker():
    judged = rd.read_preferences(JUDGED / "arguments/pairs_by_worker.tsv.gz")
    assert (len(judged), len(judged.items), len(judged.workers)) == (84_445, 1_052, 3_815)
    assert judged.remarks == ("Columns not used: pair_id, gold_label.",)
    found = preferences.judge_agreement(judged.select(judged.queries[:4]), resamples=100)
    assert 0.1 < found.krippendorff_low < found.krippendorff < found.krippendorff_high < 0.5
    assert found.intransitive < 0.1


def test_a_crowd_prefers_what_it_sees_first():
    judged = rd.read_preferences(JUDGED / "dl21-crowd/judgments.txt.gz")
    found = preferences.position_bias(judged)
    assert found.bias == pytest.approx(0.527, abs=0.002)
    assert found.p < 1e-5
    some = judged.select(judged.queries[:8])
    references = references_from_preferences(some, disconnected="largest")
    runs = {path.name: path for path in sorted(RUNS.glob("input.*.gz"))[:3]}
    scores = rd.evaluate(references, runs, "RDQ@10")
    assert scores.values.shape == (3, 8, 1)
    assert scores.values.max() > 0


def test_a_language_model_names_the_preferred_passage_first():
    judged = rd.read_preferences(JUDGED / "dl21-llm/rounds/judge.00.gz")
    assert (len(judged), len(judged.items), judged.winner_first) == (22_731, 6_490, None)
    with raises("word-count", DataError):
        rd.read_preferences(JUDGED / "dl21-llm/rounds/judge.human.gz")
    assert len(strengths(judged.select(judged.queries[:2]), disconnected="largest").values) > 50


def test_degrees_of_preference_between_images():
    with gzip.open(JUDGED / "image-serp/image_pairs.tsv.gz", "rt", encoding="utf-8") as lines:
        next(lines)  # the header names three columns, the rows have five
        rows = [line.rstrip("\n").split("\t") for _, line in zip(range(6_000), lines, strict=False)]
    table = pl.DataFrame(
        [(query, *pair.split(","), float(degree)) for query, pair, *degrees in rows for degree in degrees],
        schema=["query", "left", "right", "label"],
        orient="row",
    )
    with pytest.raises(DataError, match="'graded' the first"):
        rd.Preferences.from_table(table)
    judged = rd.Preferences.from_table(table, values="graded")
    degree = table["label"].abs()
    worth = (judged.weight[~judged.tie].sum(), degree.sum() ** 2 / (degree**2).sum())
    assert worth[0] == pytest.approx(worth[1])
    references = references_from_preferences(judged, disconnected="largest")
    pages = {engine: {} for engine in ("baidu", "sogou")}
    for query, reference in references.items():
        for engine, page in pages.items():
            page[query] = [item for item in reference if item.startswith(engine)] or ["nothing"]
    assert rd.evaluate(references, pages, "RDQ@5").mean()["RDQ@5"].min() > 0
