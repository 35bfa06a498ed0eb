"""Users and items, with ratings, or with nothing but what was chosen; whole numbers as ids; names of measures."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rankdev as rd
from rankdev.data.options import ReadOptions
from tests.raising import raises


def test_ratings_and_interactions(tmp_path):
    path = tmp_path / "truth.csv"
    for header in ("user_id,item_id,rating,timestamp", "userId,movieId,rating,timestamp"):  # MovieLens has the second
        path.write_text(f"{header}\n1,10,5,99\n1,11,2.5,98\n2,12,4,97\n")
        assert rd.read_references(path) == rd.References.from_grades({1: {10: 5, 11: 2.5}, 2: {12: 4}})
    path = tmp_path / "truth.inter"
    path.write_text("user_id:token\titem_id:token\ttimestamp:float\n1\t10\t99\n1\t11\t98\n2\t12\t97\n")
    chosen = rd.References.from_tiers({1: [[10, 11]], 2: [[12]]})
    assert rd.read_references(path) == chosen
    assert rd.References.of({1: {10, 11}, 2: frozenset([12])}) == chosen
    for user, item in (("user", "item"), ("userId", "movieId")):
        assert rd.References.of(pd.DataFrame({user: [1, 1, 2], item: [10, 11, 12]})) == chosen
        run = pd.DataFrame({user: [1, 1], item: [11, 10], "score": [2, 1]})
        assert dict(rd.Run.of(run)) == {"1": ["11", "10"]}
        assert rd.evaluate({1: {10, 11}}, {"a": run}, "RDQ@2").means.item() == 1  # within a tier no order is better
        assert rd.Run.of(run.groupby(user)[item].apply(list)) == rd.Run.of(run)
    for levels, kind in (([1, 5, 1], ["not-grades"]), ([True, False, True], ["not-grades"]), ([1, 2, 3], [])):
        clicks = pd.DataFrame({"user": [1, 1, 2], "item": [10, 11, 12], "clicks": levels})
        assert [note.kind for note in rd.References.of_value(clicks, ReadOptions()).notes] == kind


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


OTHERS = {
    **{"HR@10": "Success@10", "Hit@10": "Success@10", "hit_rate@10": "Success@10"},  # RecBole, LensKit, ranx
    **{"accuracy@1": "Success@1", "hit_rate_at_3": "Success@3", "r-precision": "Rprec", "RecipRank": "RR"},
    **{"mrr@10": "RR@10", "map@10": "AP@10", "ndcg_burges@10": "nDCG(dcg=exp-log2)@10", "NDCG@10": "nDCG@10"},
    **{"recall@10": "R@10", "precision@10": "P@10", "recall_at_5": "R@5", "precision_at_5": "P@5"},
    **{"ndcg_at_10": "nDCG@10", "map_at_10": "AP@10", "mrr_at_10": "RR@10"},
}


def test_names_of_other_programs():
    assert {text: str(rd.parse(text)) for text in OTHERS} == OTHERS
    for text, instead in {"hits@10": "Success@k", "AUC": "AP or nDCG@k"}.items():  # which mean another number
        with raises("not-computed", rd.MeasureError) as caught:
            rd.parse(text)
        assert instead in caught.value.fields["instead"]
    slips = {"RPB@5": "RBP@5", "ndgc@5": "nDCG@5", "Sucess@5": "Success@5", "rdq": "RDQ"}
    others = dict.fromkeys(["HX@10", "GAUX", "xprecision@5", "Q@5", "RX", "nauc_ndcg_at_10_max"])
    for text, near in {**slips, **others}.items():  # a suggestion is not another measure
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
    assert references[1]["7"] == references[1][7] == 1
    assert (1 in references, 2 in references, True in references) == (True, False, False)
    with pytest.raises(KeyError):
        references[2]
    scores = rd.evaluate(rated, {"a": pl.DataFrame(MADE), "b": {1: [7, 8], 20: [9]}}, "RR")
    assert scores.to_polars()["query"].to_list() == ["1", "20", "1", "20"]
    assert rd.Run.of(pl.DataFrame(MADE))[1] == rd.Run.of({1: [8, 7]})["1"] == ["8", "7"]
    assert sorted(scores.differences().to_polars()["query"].to_list()) == ["1", "20"]
    assert rd.Scores.from_table(scores.to_polars()).to_polars().equals(scores.to_polars())
