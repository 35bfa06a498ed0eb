"""What is written comes back equal, in every format, or is refused."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from rankdev import DataError, RankdevWarning, References, Run
from rankdev.data.files import read_grades, read_references, read_run, write_references, write_run
from rankdev.data.write import plain_suffix
from tests.common.examples import examples

RUN_NAMES = ["a.run", "a.csv", "a.tsv", "a.jsonl", "a.json", "a.parquet", "a", "a.trec.gz", "a.csv.zst", "a.jsonl.gz"]
REFERENCE_NAMES = ["a.csv", "a.tsv", "a.jsonl", "a.json", "a.parquet", "a.jsonl.gz", "a.csv.zst"]
GRADE_NAMES = ["a.qrels", "a.txt.gz", *(name for name in REFERENCE_NAMES if name != "a.json")]

ODD = ["é", "日本語", '"', 'say"hi"', "'", ",", "a,b", "#", "007", "1e5", "null", "NaN", "true", "{", "[", '{"query"']
ODD += ["\\", "query", "x" * 2000, "PAR1", "x^2", "-", "\x1f", "😀"]
SPACED = ["a b", 'say "hi"', " a", "a ", "a\tb", "a\nb", "a\r\nb", "\u00a0", "a\x00b", "\x0c"]
letters = st.text(st.characters(exclude_categories=["Cs", "Z", "Cc"]), min_size=1, max_size=5)
plain = st.one_of(st.sampled_from(ODD), letters)
anything = st.one_of(plain, st.sampled_from(SPACED), st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
# a name that no file can take for the beginning of another format
steady = plain.map(lambda name: f"q{name}")

scores = st.floats(allow_nan=False, allow_infinity=False)
some = examples(25, suppress_health_check=[HealthCheck.function_scoped_fixture])


def nested(queries: st.SearchStrategy[str], values: st.SearchStrategy[float]) -> st.SearchStrategy[dict]:
    items = st.dictionaries(plain, values, min_size=1, max_size=5)
    return st.dictionaries(queries, items, min_size=1, max_size=4)


@pytest.mark.parametrize("name", RUN_NAMES)
@some
@given(value=nested(steady, scores))
def test_runs_with_scores(tmp_path: Path, name: str, value: dict[str, dict[str, float]]) -> None:
    run = Run.from_scores(value)
    write_run(run, tmp_path / name)
    again = read_run(tmp_path / name)
    assert again == run
    assert again.scores is not None
    assert run.scores is not None
    assert np.array_equal(again.scores, run.scores)


@pytest.mark.parametrize("name", REFERENCE_NAMES)
@some
@given(value=nested(steady, st.sampled_from([0, 1, 2, 3])), judged=st.booleans())
def test_references(tmp_path: Path, name: str, value: dict[str, dict[str, float]], judged: bool) -> None:
    """Tiers, and the nonrelevant items, which JSON cannot hold."""
    judged = judged and plain_suffix(name) != ".json"
    levels = {query: sorted({*items.values()} - {0}) for query, items in value.items()}
    ranks = {q: {item: levels[q].index(v) + 1 for item, v in items.items() if v} for q, items in value.items()}
    nonrelevant = {query: [item for item, v in items.items() if not v] for query, items in value.items()}
    if not judged:
        ranks = {query: items or {"an item": 1} for query, items in ranks.items()}
    references = References.from_ranks(ranks, nonrelevant=nonrelevant if judged else None)
    write_references(references, tmp_path / name)
    assert read_references(tmp_path / name) == references


@pytest.mark.parametrize("name", GRADE_NAMES)
@some
@given(value=nested(steady, st.one_of(st.integers(-2, 5), st.floats(-1e300, 1e300))))
def test_grades(tmp_path: Path, name: str, value: dict[str, dict[str, float]]) -> None:
    references = References.from_grades(value)
    write_references(references, tmp_path / name)
    assert read_references(tmp_path / name) == read_grades(tmp_path / name) == references


RUN = (Run.from_lists, write_run, read_run, (".json", ".jsonl", ".parquet"))
TIERS = (References.from_lists, write_references, read_references, (".json", ".jsonl", ".parquet"))


@pytest.mark.parametrize(
    ("kind", "name"), [(RUN, name) for name in RUN_NAMES] + [(TIERS, name) for name in REFERENCE_NAMES]
)
@some
@given(value=st.dictionaries(anything, st.lists(anything, min_size=1, max_size=3, unique=True), min_size=1, max_size=3))
def test_whatever_the_names_it_comes_back_or_is_refused(
    tmp_path: Path, kind: Any, name: str, value: dict[str, list[str]]
) -> None:
    made, write, read, any_names = kind
    path = tmp_path / name
    try:
        write(made(value), path)
    except DataError:
        assert plain_suffix(name) not in any_names
        assert not list(tmp_path.iterdir())
    else:
        assert read(path) == made(value)
        path.unlink()


@pytest.mark.parametrize("name", RUN_NAMES)
def test_repeats_come_back_or_are_refused(tmp_path: Path, name: str) -> None:
    frame = Run.from_scores({"q1": {"a": 2.0, "b": 1.0}}).to_polars().select("query", "item", "score")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankdevWarning)
        runs = [Run.from_lists({"q1": ["a", "b", "a"]}), Run.of(frame.vstack(frame[1:]))]
        for run in runs:
            try:
                write_run(run, tmp_path / name)
            except DataError as error:
                assert error.kind == "cannot-hold"  # noqa: PT017
            else:
                assert read_run(tmp_path / name) == run
