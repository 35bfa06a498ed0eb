"""Users and items, with ratings, or with nothing but what was chosen; whole numbers as ids; names of measures."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rankdev as rd
from tests.raising import raises


def test_ratings_and_interactions(tmp_path):
    path = tmp_path / "truth.csv"
    path.write_text("user_id,item_id,rating,timestamp\n1,10,5,99\n1,11,3,98\n2,12,4,97\n")
    assert rd.read_references(path) == rd.References.from_grades({1: {10: 5, 11: 3}, 2: {12: 4}})
    path = tmp_path / "truth.inter"
    path.write_text("user_id:token\titem_id:token\ttimestamp:float\n1\t10\t99\n1\t11\t98\n2\t12\t97\n")
    chosen = rd.References.from_tiers({1: [[10, 11]], 2: [[12]]})
    assert rd.read_references(path) == chosen
    assert rd.References.of({1: {10, 11}, 2: frozenset([12])}) == chosen
    assert rd.References.of(pd.DataFrame({"user": [1, 1, 2], "item": [10, 11, 12]})) == chosen
    scores = rd.evaluate(
        {1: {10, 11}}, {"a": pd.DataFrame({"user_id": [1, 1], "item_id": [11, 10], "score": [2, 1]})}, "RDQ@2"
    )
    assert scores.means.item() == 1  # within a tier no order is better


def test_pairs_without_a_user_could_be_in_order(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("query,item\nq,a\nq,b\n")
    with raises("not-references", rd.DataError):
        rd.read_references(path)
    with raises("not-references", rd.DataError):
        rd.References.of(pd.DataFrame({"query": ["q"], "item": ["a"]}))


def test_whole_numbers_are_found():
    references = rd.References.from_lists({1: [10, 11]})
    assert references[1] == references["1"] == references[np.int64(1)]
    assert 1 in references
    assert 2 not in references
    assert True not in references
    assert references[1][10] == 1
    assert rd.Run.from_lists({1: [11]})[1] == ["11"]
    with pytest.raises(KeyError):
        references[2]


def test_whole_numbers_name_queries_and_items_elsewhere(tmp_path):
    truth, lists = {1: [10, 11], 2: [10], 3: [12]}, {1: [11, 10], 2: [10], 3: [9]}
    runs = {"a": lists, "b": {1: [10], 2: [9], 3: [12]}}
    scores = rd.evaluate(truth, runs, "RDQ@2")
    numbers, names = {1: "x", 2: "x", 3: "y"}, {"1": "x", "2": "x", "3": "y"}
    tested = [rd.significance(scores, clusters=clusters, permutations=50).to_polars() for clusters in (numbers, names)]
    assert tested[0].equals(tested[1])
    pages = []
    for one, ten in ((1, 10), ("1", "10")):
        texts = {"query_texts": {one: "the first user"}, "item_texts": {ten: "the tenth item"}}
        rd.report(truth, runs, "RDQ@2", segments={"some": [one]}, **texts).save(tmp_path / "page.html")
        pages.append((tmp_path / "page.html").read_text())
    assert pages[0] == pages[1]
    rd.report(truth, runs, "RDQ@2", segments={"some": [1]}).save(tmp_path / "page.html")
    assert pages[0] != (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    ("text", "measure"),
    [
        ("HR@10", "Success@10"),
        ("Hit@10", "Success@10"),  # RecBole, LensKit
        ("hit_rate@10", "Success@10"),  # ranx
        ("accuracy@1", "Success@1"),  # sentence-transformers
        ("mrr@10", "RR@10"),
        ("MRR@10", "RR@10"),
        ("RecipRank", "RR"),
        ("recall@10", "R@10"),
        ("precision@10", "P@10"),
        ("map@10", "AP@10"),
        ("ndcg@10", "nDCG@10"),
        ("NDCG@10", "nDCG@10"),
        ("ndcg_burges@10", "nDCG(dcg=exp-log2)@10"),
        ("r-precision", "Rprec"),
        *((f"{name}_at_10", f"{ours}@10") for name, ours in {"ndcg": "nDCG", "map": "AP", "mrr": "RR"}.items()),
        *((f"{name}_at_5", f"{ours}@5") for name, ours in {"recall": "R", "precision": "P"}.items()),
        ("hit_rate_at_3", "Success@3"),
    ],
)
def test_names_of_other_programs(text, measure):
    assert str(rd.parse(text)) == measure


@pytest.mark.parametrize(("text", "instead"), [("hits@10", "Success@k"), ("AUC", "AP or nDCG@k")])
def test_what_means_another_number_is_refused(text, instead):
    with raises("not-computed", rd.MeasureError) as caught:
        rd.parse(text)
    assert instead in caught.value.fields["instead"]


@pytest.mark.parametrize("text", ["HX@10", "GAUX", "xprecision@5", "Q@5", "RX", "nauc_ndcg_at_10_max"])
def test_a_suggestion_is_not_another_measure(text):
    with raises("unknown-measure", rd.MeasureError, near=None):
        rd.parse(text)


@pytest.mark.parametrize(
    ("text", "near"), [("RPB@5", "RBP@5"), ("ndgc@5", "nDCG@5"), ("Sucess@5", "Success@5"), ("rdq", "RDQ")]
)
def test_a_slip_is_named(text, near):
    with raises("unknown-measure", rd.MeasureError, near=near):
        rd.parse(text)


RATED = {"user_id": [1, 1, 20], "item_id": [7, 8, 9], "rating": [5, 3, 4]}
MADE = {"user_id": [1, 1, 20], "item_id": [8, 7, 9], "score": [0.9, 0.5, 0.1]}


@pytest.mark.parametrize(
    "rated",
    [
        pl.DataFrame(RATED),
        pd.DataFrame(RATED),
        pd.DataFrame(RATED).astype("Int64"),
        pl.DataFrame(RATED).to_dicts(),
        {1: [7, [8]], 20: [9]},
        {1: {7, 8}, 20: {9}},
        {np.int64(1): np.array([7, 8]), np.int64(20): np.array([9])},
    ],
)
def test_whole_numbers_are_taken_by_their_text(rated):
    references = rd.References.of(rated)
    assert references.to_polars()["item"].to_list() == ["7", "8", "9"]
    assert references[20] == references["20"] == references[np.int64(20)]
    assert 1 in references
    assert True not in references
    scores = rd.evaluate(rated, {"a": pl.DataFrame(MADE), "b": {1: [7, 8], 20: [9]}}, "RR")
    assert scores.to_polars()["query"].to_list() == ["1", "20", "1", "20"]
    assert sorted(scores.differences().to_polars()["query"].to_list()) == ["1", "20"]
    assert rd.Scores.from_table(scores.to_polars()).to_polars().equals(scores.to_polars())


@pytest.mark.parametrize("made", [pl.DataFrame(MADE), {1: [8, 7], 20: [9]}, {1: {8: 0.9, 7: 0.5}, 20: {9: 0.1}}])
def test_whole_numbers_of_runs_are_taken_by_their_text(tmp_path, made):
    run = rd.Run.of(made)
    assert run.to_polars().select("query", "item").rows() == [("1", "8"), ("1", "7"), ("20", "9")]
    assert run == rd.Run.of({"1": ["8", "7"], "20": ["9"]})
    assert run[1] == ["8", "7"]
    for name in ("a.csv", "a.parquet", "a.run"):
        rd.write_run(run, tmp_path / name)
        assert rd.read_run(tmp_path / name) == run


def test_movielens(tmp_path):
    (tmp_path / "ratings.csv").write_text("userId,movieId,rating,timestamp\n1,31,2.5,1260759144\n1,10,4.0,1260759179\n")
    assert rd.read_references(tmp_path / "ratings.csv") == rd.References.from_grades({1: {31: 2.5, 10: 4}})
    chosen = pd.DataFrame({"userId": [1, 1], "movieId": [31, 10]})
    assert rd.References.of(chosen) == rd.References.from_tiers({1: [[31, 10]]})
    assert dict(rd.Run.of(chosen.assign(score=[1, 2]))) == {"1": ["10", "31"]}
