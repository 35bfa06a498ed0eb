"""What is read is the same through every door, or refused in the same way."""

import io
import json
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rankdev as rd
from rankdev.cli.inputs import Input
from rankdev.data import trec
from tests.data.samples import all_doors, by_query, doors, parquet, references_of, workbook
from tests.fuzz.files import FILES, NO_NUMBERS, NUMBERS, seeds
from tests.raising import raises, warns

ROWS = [("q1", "d1", 0.5), ("q1", "d2", 2.0), ("7", "12", -1.0), ("q1", "d3", 2.0), ("7", "é", 3.5)]
NEAR = [(query, item, -score) for query, item, score in ROWS]
BY_SCORE = {"q1": ["d3", "d2", "d1"], "7": ["é", "12"]}
RANKED = [("q1", "d1", 2), ("q1", "d2", 1), ("7", "12", 2), ("q1", "d3", 3), ("7", "é", 1)]
BY_RANK = {"q1": ["d2", "d1", "d3"], "7": ["é", "12"]}
GRADES = [("q1", "d1", 1), ("q1", "d2", 3), ("7", "12", 0), ("q1", "d3", 3), ("7", "é", 2)]


QUERIES = ["q1", "2", "ü", "q-4"]


def read(door, **options) -> rd.Run:
    return rd.read_run(door, **options) if isinstance(door, Path) else rd.Run.of(door, **options)


def weighted(table: Any) -> rd.Scores:
    return rd.Scores(["s"], QUERIES, ["P@1"], [[[0.0]] * 4]).weighted(table)


def same(chance: Random, kind: str) -> tuple[list[tuple], tuple[str, ...], str]:
    """Rows of a kind with ids that need care, the names of their columns, and how TREC and others write a line."""
    items = chance.sample(["d1", "d2", "é", "007", "7", "x^2", "a,b", '"q"', "d\u00a0e"], 6)
    queries = chance.sample(QUERIES, chance.randint(1, 3))
    pairs = [(query, item) for query in queries for item in chance.sample(items, chance.randint(1, 6))]
    scores = [0.5, 1.0, 1.0, 2.0, -1.0, 1 + 1e-9, 0.1 + 0.2, 1e300]
    if kind == "run":
        return [(*pair, chance.choice(scores)) for pair in pairs], ("query", "item", "score"), "{} Q0 {} 1 {!r} 7\n"
    if kind == "grades":
        return [(*pair, chance.choice([-1, 0, 1, 2, 3])) for pair in pairs], ("query", "item", "grade"), "{} 0 {} {}\n"
    if kind == "references":
        tiers = chance.randint(1, 3)
        places = {pair: [one for one in pairs if one[0] == pair[0]].index(pair) for pair in pairs}
        return [(*pair, 1 + places[pair] % tiers) for pair in pairs], ("query", "item", "rank"), ""
    if kind == "weights":
        return [(query, chance.choice([0.5, 1, 30])) for query in chance.sample(QUERIES, 4)], ("query", "weight"), ""
    if kind == "preferences":
        judged = [(query, item, chance.choice([*{*items} - {item}])) for query, item in pairs]
        return judged, ("query", "winner", "loser"), "{} {} {}\n"
    values = [(system, query, "AP@5", chance.random()) for system in ("a", "b") for query in queries]
    return values, ("system", "query", "measure", "value"), ""


KINDS = {
    "run": (rd.read_run, rd.Run.of),
    "grades": (rd.read_references, rd.References.of),
    "preferences": (rd.read_preferences, rd.Preferences.from_table),
    "references": (rd.read_references, rd.References.of),
    "scores": (rd.read_scores, rd.Scores.from_table),
    "weights": (lambda path: weighted(Input({}, weights=str(path)).weights_of_queries()), weighted),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    read_file, of = KINDS[kind]
    for seed, chance in enumerate(seeds(max(4, FILES // 60))):
        rows, names, line = same(chance, kind)
        found = all_doors(tmp_path, rows, *names, line=line)
        if kind in ("run", "grades", "references"):
            values = by_query(rows)
            listed = {query: [{"id": item, names[2]: e[item]} for item in e] for query, e in values.items()}
            documents = {"lists": listed} | ({"dict": values} if kind == "run" else {})
            for form, document in documents.items():
                found |= {form: document, f"{form}.json": tmp_path / f"{form}.json"}
                found[f"{form}.json"].write_text(json.dumps(document))
            series = {query: pd.Series(entry, dtype=float) for query, entry in values.items()}
            makes = (rd.Run.from_scores, rd.References.from_grades, rd.References.from_ranks)
            make = makes[("run", "grades", "references").index(kind)]
            found |= {"made": make(values), "series": make(series)}
        if kind == "run":
            found["dict of series"] = series
        if kind == "weights":
            found |= {"dict": dict(rows), "series": pd.Series(dict(rows))}
        if kind == "preferences":
            found["rows"] = rd.Preferences.from_rows(rows).to_polars()
        monkeypatch.setattr(trec, "SMALL", chance.choice([0, 1 << 19]))
        expected = None
        for form, door in found.items():
            made = [(read_file if isinstance(door, Path) else of)(door)]
            if isinstance(door, Path):
                stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(door.read_bytes())))  # type: ignore[arg-type]
                monkeypatch.setattr("sys.stdin", stdin)
                made += [read_file(str(door)), read_file("-")]
                assert not stdin.closed
            for one in made:
                table = one.to_polars()
                expected = table.sort(table.columns) if expected is None else expected
                assert table.sort(table.columns).equals(expected), f"seed {seed}: {form}"


@pytest.mark.parametrize(
    ("rows", "names", "columns", "expected"),
    [
        (ROWS, ("Search Term", "product_id", "score"), {}, BY_SCORE),
        (ROWS, ("userId", "Doc-ID", "Relevance Score"), {}, BY_SCORE),
        (ROWS, ("question", "chunkId", "similarity"), {}, BY_SCORE),
        (ROWS, ("qid", "docno", "prediction"), {}, BY_SCORE),
        (NEAR, ("query", "item", "distance"), {}, BY_SCORE),
        (NEAR, ("query", "item", "far"), {"distance": "far"}, BY_SCORE),
        (RANKED, ("qid", "passage_id", "rank"), {}, BY_RANK),
        (RANKED, ("qid", "passage_id", "position"), {}, BY_RANK),
    ],
)
def test_runs(tmp_path: Path, rows: list[tuple], names: tuple[str, ...], columns: dict, expected: dict) -> None:
    found = doors(tmp_path, rows, *names)
    for kind in (np.float32, np.float64, str, float):
        values = {query: [{names[1]: i, names[2]: kind(e[i])} for i in e] for query, e in by_query(rows).items()}
        found[f"lists of records with {kind}"] = values
    for name, door in found.items():
        assert dict(read(door, columns=columns)) == expected, name


@pytest.mark.parametrize("text", [*NUMBERS, *NO_NUMBERS])
def test_numbers_as_texts(tmp_path: Path, text: str) -> None:
    """A number is what Python reads as one, in ASCII, without underscores, and finite."""
    (tmp_path / "a.run").write_text(f"q Q0 a 1 {text} t\n")
    found = doors(tmp_path, [("q", "a", text)], "query", "item", "score")
    if find_spec("fastexcel"):
        found.pop("xlsx")  # whose cells have types
    for name, door in (found | {"trec": tmp_path / "a.run", "dict": {"q": {"a": text}}}).items():
        if text in NUMBERS:
            assert read(door).scores.tolist() == [float(text)], name
        else:
            with raises("not-finite", rd.DataError, value=text):
                read(door)


def test_references(tmp_path: Path) -> None:
    expected = rd.References.from_grades(by_query(GRADES))
    words = {"E": 0, "some": 1, "most": 2, "very-good": 3}
    names = [*words]
    worded = [(query, item, names[grade]) for query, item, grade in GRADES]
    for name, door in doors(tmp_path, GRADES, "question", "doc", "label").items():
        assert references_of(door) == expected, name
    (tmp_path / "a.qrels").write_text("".join(f"{query} 0 {item} {grade}\n" for query, item, grade in worded))
    assert rd.References.from_grades(by_query(worded), words=words) == expected
    for name, door in ({"trec": tmp_path / "a.qrels"} | doors(tmp_path, worded, "query", "item", "grade")).items():
        path = isinstance(door, Path)
        made = rd.read_references(door, grades=words) if path else rd.References.from_table(door, grades=words)
        assert made == expected, name
        with raises("word-for-grade", rd.DataError):
            rd.evaluate(door, {"a": by_query(ROWS)}, "RR", grades={"none": 0})
        assert rd.evaluate(door, {"a": by_query(ROWS)}, "nDCG@5", grades=words).means.item() > 0


@pytest.mark.parametrize("count", [3, trec.SMALL])
def test_grades_that_stand_for_others(tmp_path: Path, count: int) -> None:
    grades = {f"d{at}": at % 3 for at in range(count)}
    (tmp_path / "a.qrels").write_text("".join(f"q 0 {item} {grade}\n" for item, grade in grades.items()))
    found = rd.read_references(tmp_path / "a.qrels", grades={"1": 5, "2": 0})["q"]
    assert found.grades == {item: 5 for item, grade in grades.items() if grade == 1}


@pytest.mark.parametrize("end", ["_0", "٣"])
@pytest.mark.parametrize("count", [30, trec.SMALL])
def test_ranks_that_only_python_reads_tell_nothing(tmp_path: Path, count: int, end: str) -> None:
    (tmp_path / "a.run").write_text("".join(f"q Q0 d{at} {count - at}{end} {-at} t\n" for at in range(count)))
    assert not rd.read_run(tmp_path / "a.run").notes


TIERS = [
    {"query": "q1", "tiers": [["d2", "d3"], ["d1"]], "nonrelevant": ["x"]},
    {"query": "7", "tiers": [["é"]], "nonrelevant": ["12"]},
]


def test_tiers(tmp_path: Path) -> None:
    tiers = {record["query"]: record["tiers"] for record in TIERS}
    expected = rd.References.from_tiers(tiers, nonrelevant={record["query"]: record["nonrelevant"] for record in TIERS})
    frame = pl.DataFrame(TIERS)
    found = {"records": TIERS, "polars": frame, "pandas": frame.to_pandas(), "arrow": frame.to_arrow()}
    contents = {
        "jsonl": "".join(json.dumps(record) + "\n" for record in TIERS).encode(),
        "json": json.dumps(TIERS).encode(),
        "parquet": parquet(frame),
    }
    for name, content in contents.items():
        found[name] = tmp_path / f"a.{name}"
        found[name].write_bytes(content)
    for name, door in found.items():
        assert references_of(door) == expected, name


def test_a_query_may_be_called_as_a_field_is(tmp_path: Path) -> None:
    tiers = {"gold": [["a", "b"], ["c"]], "hits": ["d"], "tiers": ["e"]}
    (tmp_path / "a.json").write_text(json.dumps(tiers))
    expected = rd.References.from_tiers({"gold": tiers["gold"], "hits": [["d"]], "tiers": [["e"]]})
    assert rd.References.of(tiers) == rd.read_references(tmp_path / "a.json") == expected
    scores = {"gold": {"a": 1.0}, "hits": {"d": 2.0}, "retrieved": {"d": 2.0}}
    (tmp_path / "a.json").write_text(json.dumps(scores))
    lists = {"gold": ["a"], "hits": ["d"], "retrieved": ["d"]}
    assert dict(rd.Run.of(scores)) == dict(rd.read_run(tmp_path / "a.json")) == lists


def test_two_raters(tmp_path: Path) -> None:
    rows = [("q", "a", 1), ("q", "b", 2), ("q", "a", 2), ("q", "c", 3)]
    expected = {"first": {"a": 1}, "last": {"a": 2}, "best": {"a": 2}, "mean": {"a": 1.5}}
    for name, door in doors(tmp_path, rows, "query", "item", "grade").items():
        for duplicates, mine in expected.items():
            grades = {"q": {"b": 2, "c": 3} | mine}
            run = {"a": {"q": ["a", "b", "c"]}}
            known = rd.evaluate(rd.References.from_grades(grades), run, "nDCG@3").means
            assert rd.evaluate(door, run, "nDCG@3", duplicates=duplicates).means == known, (name, duplicates)
        with raises("two-values", rd.DataError):
            rd.evaluate(door, {"a": {"q": ["a"]}}, "RR")
    with raises("no-mean-of-ranks", rd.UsageError):
        ranks = [{"query": "q", "item": "a", "rank": rank} for rank in (1, 2)]
        rd.evaluate(ranks, {"a": {"q": ["a"]}}, "RR", duplicates="mean")


def test_metadata_that_contradict_the_order_of_a_list() -> None:
    for name, low, high in (("score", 1, 2), ("rank", 2, 1), ("distance", 0.5, 0.25)):
        hits = [{"id": 1, "metadata": {name: low, "page": 1}}, {"id": 2, "metadata": {name: high, "page": 2}}]
        with raises("unknown-order", rd.DataError, name=f"metadata.{name}"):
            rd.Run.of({"q": hits})
        assert rd.Run.of({"q": hits}, columns={name: f"metadata.{name}"})["q"] == ["2", "1"]
        assert rd.Run.of({"q": hits[::-1]})["q"] == ["2", "1"]


def test_what_could_be_meant_otherwise_is_refused(tmp_path: Path) -> None:
    for low, high, refused in ((0.5, 2, True), (1, 2, False), (np.float32(0.5), 1, True), ("1e-1", "3", True)):
        hits = [{"id": 1, "x": low}, {"id": 2, "x": high}]
        rising = {"q": hits, "r": [{"id": 1, "x": 1}]}
        parallel = [{"question": "q", "retrieved": [1, 2], "x": [float(low), float(high)]}]
        gold = [{"question": query, "gold": hits} for query, hits in rising.items()]
        for make, value in ((rd.Run.of, rising), (rd.Run.of, parallel), (rd.References.of, gold)):
            no = refused or make == rd.References.of
            with raises("unknown-order", rd.DataError, name="x") if no else warns("unknown-order", name="x"):
                make(value)
        for value in (rising, parallel):
            assert rd.Run.of(value, columns={"score": "x"})["q"] == ["2", "1"]
            assert rd.Run.of(value, order="rank")["q"] == ["1", "2"]
        with raises("unknown-order", rd.DataError, name="x") if refused else warns("unknown-order", name="x"):
            rd.Run.of({"q": [hits[0], {"id": 3}, hits[1]]})
        assert rd.Run.of({"q": hits[::-1]})["q"] == ["2", "1"]
        assert rd.evaluate([{"query": "q", "gold": hits}], {"a": {"q": [2]}}, "P@1", columns={"grade": "x"}).means == 1
    for places in ((3, 1, 2), (2, 1, 0)):  # count the items in another order than they are listed
        with raises("unknown-order", rd.DataError, name="pos"):
            rd.Run.of({"q": [{"id": place, "pos": place} for place in places]})
    metres = [("q", "a", 1, 5.0), ("q", "b", 2, 1.0), ("q", "c", 3, 7.0)]
    for door in doors(tmp_path, metres, "query", "item", "rank", "distance").values():
        assert read(door)["q"] == ["a", "b", "c"]
        assert read(door, columns={"distance": "distance"})["q"] == ["b", "a", "c"]
    for pairs in ([["a", 3], ["b", 1]], [("a", 3)], {"a": 3}, pd.Series([3], index=["a"])):
        with raises("grades-or-ranks", rd.DataError, query="q"):
            rd.References.of({"q": pairs})
    for make in (rd.Run.of, rd.References.of):
        with raises("ids-or-scores", rd.DataError, query="q"):
            make({"q": pd.Series([7, 9])})
        with raises("ids-or-scores", rd.DataError, query="q"):
            make({"q": pd.Series({"a": "7", "b": "9"})})
        with raises("wrong-form", rd.DataError, query="q"):
            make({"q": b"ab"})
    rows = [("q", "a", "x", 1.0)]
    for door in doors(tmp_path, rows, "query", "item", "doc_id", "score").values():
        with raises("two-columns", rd.DataError, name="item", names=("item", "doc_id")):
            read(door)
    for door in doors(tmp_path, [("q", 1.0)], "question", "points").values():
        with raises("no-columns", rd.DataError, names=("item", "score"), known=("question", "points")):
            read(door)
        with raises("not-references", rd.DataError, known=("question", "points")):
            rd.evaluate(door, {"a": {"q": ["a"]}}, "RR")
    both = {"query": "q", "tiers": [["a"]], "items": ["b"]}
    (tmp_path / "a.jsonl").write_text(json.dumps(both) + "\n")
    for attempt in (lambda: rd.read_references(tmp_path / "a.jsonl"), lambda: rd.References.of([both])):
        with raises("two-columns", rd.DataError, name="tiers"):
            attempt()
    with raises("two-columns", rd.DataError, query="q", names=("id", "doc_id")):
        rd.Run.of({"q": [{"id": "a", "doc_id": "d"}]})
    for frame in (pd.DataFrame({"item": ["a"]}), pl.DataFrame({"item": ["a"]})):
        for make in (rd.Run.of, rd.References.of):
            with raises("wrong-form", rd.DataError, query="q"):
                make({"q": frame})
    twice = pd.Series([1.0, 2.0], index=["a", "a"])
    with raises("index-twice", rd.DataError, value="a"):
        rd.Run.of({"q": twice})


def test_what_may_be_wrong_is_noted(tmp_path: Path) -> None:
    rising = [("q", f"d{i}", float(i)) for i in range(30)]
    for door in doors(tmp_path, rising, "query", "item", "score").values():
        with warns("rising-rows"):
            read(door)
    for door in doors(tmp_path, [("q", "d\u200b1", 1.0)], "query", "item", "score").values():
        with warns("hidden-characters", name="d\u200b1"):
            read(door)
    for comment in ("# made by hand\n", "# made\n", "# query Q0 item rank score tag\n", "# a line of several words\n"):
        for read_file, line in ((rd.read_references, "q2 0 d1 1\n"), (rd.read_run, "q2 Q0 d1 1 1 t\n")):
            (tmp_path / "a").write_text(line + comment + line)
            with raises("comment-line", rd.DataError, line=2):
                read_file(tmp_path / "a")
    (tmp_path / "a.qrels").write_text("#q1 0 d1 1\nq2 0 d1 1\n")
    with warns("comment-lines", name="#q1"):
        rd.read_references(tmp_path / "a.qrels")
    if find_spec("fastexcel"):
        dates = [["query", "item", "score"], ["q", "2024-03-01 00:00:00", 1], ["q", "d1", 2]]
        (tmp_path / "a.xlsx").write_bytes(workbook(dates))
        with warns("dates-among-ids", name="item"):
            read(tmp_path / "a.xlsx")


@pytest.mark.parametrize(("begin", "form"), [(b"BZh9", "bzip2"), (b"\xfd7zXZ\0", "xz"), (b"PK\x03\x04", "zip")])
def test_other_archives(tmp_path: Path, begin: bytes, form: str) -> None:
    (tmp_path / "a.run").write_bytes(begin + b"x" * 100)
    with raises("decompress-first", rd.DataError, format=form):
        rd.read_run(tmp_path / "a.run")


@pytest.mark.parametrize("call", [rd.evaluate, rd.losses, rd.bounds, rd.report], ids=lambda call: call.__name__)
def test_options_reach_references_and_runs_in_every_call(call) -> None:
    rated = [("q", "a", "Exact"), ("q", "a", "Bad"), ("q", "b", "Bad"), ("r", "a", "Exact")]
    references = pl.DataFrame(rated, schema=["query", "sku", "stars"], orient="row")
    run = pl.DataFrame({"query": ["q", "q", "r"], "sku": ["a#1", "a#2", "a"], "place": [2, 1, 1]})
    how = {"columns": {"item": "sku", "grade": "stars", "rank": "place"}, "grades": {"Exact": 2, "Bad": 0}}
    call(references, {"x": run, "y": run}, "RDQ@3", **how, duplicates="mean", collapse="#")
    with raises("two-values", rd.DataError):
        call(references, {"x": run, "y": run}, "RDQ@3", **how)
